"""How two evaluation kits read a reply: their own functions."""

from collections.abc import Mapping

from tests.harness.stand_ins import one_file

lmms = one_file("lmms_eval/tasks/vsibench/utils.py", "datasets")
_letters = one_file("vlmeval/utils/matching_util.py", "vlmeval", "vlmeval.smp", "vlmeval.smp.log")
_numbers = one_file("vlmeval/dataset/utils/spatial_bench/matching_func.py")


def vlmeval_letter(answer: str, choices: Mapping[str, str]) -> str | None:
    """The letter, "Z" for a refusal, None where the kit asks a judge model."""
    return _letters.can_infer(answer, dict(choices)) or None


def vlmeval_number(answer: str) -> float | None:
    """What stands in <answer>, else the last number behind the thoughts, else the last of all."""
    found = _numbers.can_match_na(answer)
    return None if found is None else float(found)


def lmms_letter(answer: str) -> str:
    """What stands before the first blank, without trailing dots; compared without case."""
    return str(lmms.fuzzy_matching(answer)).upper()

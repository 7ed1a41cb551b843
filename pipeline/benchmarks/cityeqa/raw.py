"""Raw tasks: a question about a thing of the city and its answer, before there is a place to start from.

Reviewers judge them before the tasks made from them (appendix A.1 of the paper): two annotators look whether question
and answer match the picture and whether the task is a duplicate; the poses of a fifth of the raw tasks are verified in
two rounds.
"""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from scipy.optimize import Bounds, milp
from scipy.sparse import csr_array

from pipeline.benchmarks.benchmark import RAW_POSE, RAW_TASK
from pipeline.benchmarks.cityeqa.wording import Phrase, parse, wordings
from pipeline.core.arrays import FloatArray
from pipeline.core.groups import grouped
from pipeline.core.identity import digest, digest_of, question_ids
from pipeline.core.templates import Operands, Template, load_table, load_template
from pipeline.metrics.number_words import normalised
from pipeline.questions.rules import Measure, first_broken

YES_OR_NO, NUMBER, CLOSED, OPEN = ANSWER_TYPES = ("yes/no", "number", "closed text", "open text")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
# Proper names are open text, common nouns and colours closed: the question tells which it wants.
_ASKS_NAME: Final = re.compile(
    r"\bnames?\b|\bcalled\b|\bwhat (?:does|do)\b.*\b(?:say|read)\b|\bwritten\b", re.IGNORECASE
)


def answer_type(asked: str, answer: str) -> str:
    """Which of `ANSWER_TYPES` an answer is."""
    bare = normalised(answer)
    if bare in {"yes", "no"}:
        return YES_OR_NO
    if _NUMBER.fullmatch(bare):
        return NUMBER
    return OPEN if _ASKS_NAME.search(asked) else CLOSED


YES_NO: Final = ("yes", "no")
TRAIN: Final = 0.7
VALIDATION: Final = 0.1
FEW: Final = 4  # answers: each is given as often as any other
OPEN_BLOCK: Final = 4  # open questions of a sort that come with a block of each other
NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def split_of(city: str, target: str) -> str:
    """The split of a target: a hash deals out seven tenths for training, one for validation and two for the test."""
    share = int(digest_of(f"{city}#{target}")[:8], 16) / 2**32
    return "train" if share < TRAIN else "validation" if share < TRAIN + VALIDATION else "test"


@dataclass(frozen=True)
class RawQuestion:
    """One question about one thing.

    Attributes:
        kind: what is asked; questions of one kind have the same answers.
        target: index of the thing that has to be found.
        operands: what the question is about beside its kind, the target's id first.
        phrases: what the target may be called, the best first; none of them says the answer.
        part: template of the question, whose field ``target`` is the target as it was called.
        z_min_m: lowest height from which its answer is seen.
        fields: its other fields.
        answer_type: see `ANSWER_TYPES`.
        others: what else is answered to questions of the kind.
        shown: indices of the things that a pose must show whole for the answer to be seen there.
        pixels_min: of each of them.
        written: the question as people wrote it, in place of a template.
        pose: from where people saw the answer.
        about: indices of things that the question names: none of them leads to the target.
        checks: rules, in the order in which they are reported, and the numbers that prove the answer.
        even: what one who guesses would go by; questions are as even over their answers as these allow.
        flags: remarks.
        split: of the release, in which the target is.
        pair: what it shares with the question that is asked the other way round: who knows one answer knows both.
        crossed: whether of its target one question of the kind at most has each of its two answers (`_crossed`).
    """

    kind: str
    target: int
    operands: tuple[str, ...]
    phrases: tuple[Phrase, ...]
    part: str
    answer: str
    others: tuple[str, ...]
    answer_type: str
    shown: tuple[int, ...]
    pixels_min: int
    z_min_m: float = 0.0
    fields: Mapping[str, str] = field(default_factory=dict)
    written: str | None = None
    pose: tuple[float, ...] | None = None
    about: tuple[int, ...] = ()
    checks: tuple[Measure, ...] = ()
    even: str = ""
    flags: tuple[str, ...] = ()
    split: str = ""
    pair: tuple[str, ...] = ()
    crossed: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of the question, whatever it is asked from."""
        return (self.kind, *self.operands)

    @property
    def broken(self) -> Measure | None:
        """The first rule that it breaks."""
        return first_broken(self.checks)

    def gives_away(self, called: Phrase) -> bool:
        """Whether its text has the answer among its words and not all other answers too, as one that lists them has."""
        if self.written is not None or not called.is_sayable:
            return False
        for turn in range(len(wordings(self.part))):
            template, fields = self._wording(called, turn)
            text = template.filled(fields)
            if self._has_the_answer(f" {normalised(text)} ") and template.parse(text) == fields:
                return True
        return False

    def _has_the_answer(self, words: str) -> bool:
        if f" {normalised(self.answer)} " not in words:
            return False
        return any(f" {normalised(other)} " not in words for other in self.others)

    def is_told_by(self, passed: Iterable[Phrase]) -> bool:
        """Whether things on the way are called by some of the answers that are offered, and not by all."""
        words = f" {' ; '.join(normalised(str(phrase)) for phrase in passed)} "
        named = [f" {normalised(answer)} " in words for answer in (self.answer, *self.others)]
        return any(named) and not all(named)

    def question(self, called: Phrase, turn: int = 0) -> str:
        """Its text, for a target that was introduced by a phrase. Raises TemplateError where it reads in two ways.

        Args:
            called: the phrase.
            turn: any number, which chooses among its wordings.
        """
        if self.written is not None:
            return self.written
        template, fields = self._wording(called, turn)
        return template.render(fields)

    def _wording(self, called: Phrase, turn: int) -> tuple[Template, Operands]:
        own = wordings(self.part)
        return load_template(own[turn % len(own)]), {"target": called.definite, **self.fields}


def in_turns(raws: Iterable[RawQuestion], scene: str) -> list[RawQuestion]:
    """Raw tasks in an order of which any beginning is varied and even: sorts of questions take turns, answers too.

    A block has one question of each answer to what `Raw.even` says, about the things that were asked about least; open
    questions, which have an answer each, are blocks of their own.
    """
    ranked = sorted(raws, key=lambda raw: digest("raw", scene, *raw.key))
    groups: dict[tuple[str, str], dict[str, list[RawQuestion]]] = {}
    for raw in ranked:
        answer = str(raw.key) if raw.answer_type == OPEN else raw.answer
        groups.setdefault((raw.kind, raw.even), {}).setdefault(answer, []).append(raw)
    blocks: list[tuple[int, bytes, list[RawQuestion]]] = []
    of_kind: dict[str, list[tuple[int, bytes, list[RawQuestion]]]] = {}
    used: Counter[str] = Counter()
    for (kind, even), by_answer in sorted(groups.items()):
        if next(iter(by_answer.values()))[0].answer_type == OPEN:
            for n, one in enumerate(raw for own in by_answer.values() for raw in own):
                blocks.append((n // OPEN_BLOCK, digest("block", scene, *one.key), [one]))
            continue
        turn = 0
        while any(by_answer.values()):
            block = []
            for answer in sorted(by_answer):
                if by_answer[answer]:
                    own = by_answer[answer]
                    one = own.pop(min(range(len(own)), key=lambda k: (used[own[k].operands[0]], k)))
                    used[one.operands[0]] += 1
                    block.append(one)
            of_kind.setdefault(kind, []).append((turn, digest("block", scene, kind, even), block))
            turn += 1
    for own_blocks in of_kind.values():  # a kind that is even within many things takes no more turns than others
        ordered = sorted(own_blocks, key=lambda b: b[:2])
        blocks += [(turn, rank, block) for turn, (_, rank, block) in enumerate(ordered)]
    return [raw for _, _, block in sorted(blocks, key=lambda b: b[:2]) for raw in block]


def evened(raws: Sequence[RawQuestion], spare: int = 1) -> set[tuple[str, ...]]:
    """Keys of the raw tasks that stay when their answers are made even, the first of each answer.

    Within each split, and within what `even` says, each answer stays as often as any other that is there; of two, both
    are, and of up to `FEW` that there may be at least two. Who has read one split must not find the answers of another
    among those that it has, nor among those that it lacks: of more than two answers, a split has of those that train
    lacks no more than of those that train has, and none where train has more than `FEW`. Of open kinds, whose answers
    things have but once, and of what people wrote, all stay. With ``spare`` so many times as many stay, where some will
    still be refused.
    """
    groups: dict[tuple[str, str], dict[str, list[RawQuestion]]] = {}
    crossed = [raw for raw in raws if raw.crossed] if spare == 1 else []
    kept = {raw.key for raw in raws if raw.answer_type == OPEN or raw.written is not None} | _crossed(crossed)
    decided = kept.union(raw.key for raw in crossed)
    for raw in raws:
        if raw.key not in decided:
            groups.setdefault((raw.kind, raw.even), {}).setdefault(raw.answer, []).append(raw)
    for by_answer in groups.values():
        if len(by_answer) < 2:
            continue
        choices = {choice for own in by_answer.values() for raw in own for choice in raw.others}
        given: Collection[str] = ()
        for split in sorted({raw.split for own in by_answer.values() for raw in own}, key=lambda s: (s != "train", s)):
            parts = {answer: [raw for raw in own if raw.split == split] for answer, own in by_answer.items()}
            if len(by_answer) > 2:
                known = [answer for answer, own in parts.items() if own and answer in given]
                other = [answer for answer, own in parts.items() if own and answer not in given]
                most = len(other) if not given else len(known) if len(given) <= FEW else 0
                parts = {answer: parts[answer] for answer in (*known, *other[:most])}
                if len(parts) < 2 and len(choices) <= FEW:
                    continue  # one who knows the answer of others in the split need not look
                given = given or parts
            least = min(map(len, parts.values()), default=0)
            kept |= {raw.key for own in parts.values() for raw in own[: least * spare]}
    return kept


def _crossed(raws: Sequence[RawQuestion]) -> set[tuple[str, ...]]:
    """Keys of as many raw tasks as can stay where each thing has each answer once at most, even as `evened` has it.

    So what is true of one thing is asked of another. Who reads that a shop is asked about two uses knows that it has
    one, and not which: the answers the other way round would fit as well.
    """
    if not raws:
        return set()
    way = np.array([1.0 if raw.answer == raw.others[0] else -1.0 for raw in raws])
    even = _incidence([(raw.kind, raw.even, raw.split) for raw in raws], way)
    once = _incidence([(raw.kind, raw.target, raw.answer) for raw in raws], np.ones(len(raws)))
    lots = [int.from_bytes(digest("crossed", *raw.key)[:4], "big") / 2**32 for raw in raws]  # among as many
    worth = 1 + np.array(lots) / len(raws)
    found = milp(-worth, integrality=1, bounds=Bounds(0, 1), constraints=[(even, 0, 0), (once, 0, 1)])
    return {raw.key for raw, stays in zip(raws, found.x.tolist(), strict=True) if stays > 0.5}


def _incidence(values: Sequence[Hashable], weights: FloatArray) -> csr_array:
    """(groups, n) the weight where a value is that of the group; sparse, for a large city has thousands of each."""
    place = {value: n for n, value in enumerate(dict.fromkeys(values))}
    return csr_array((weights, ([place[value] for value in values], range(len(values)))))


def offered(raws: Sequence[RawQuestion]) -> list[RawQuestion]:
    """Raw tasks that were made even: of up to `FEW` answers those are offered to who guesses that the split has."""
    choices: dict[tuple[str, str], set[str]] = {}
    given: dict[tuple[str, str, str], set[str]] = {}
    for raw in raws:
        choices.setdefault((raw.kind, raw.even), set()).update(raw.others)
        given.setdefault((raw.kind, raw.even, raw.split), set()).add(raw.answer)

    def narrowed(raw: RawQuestion) -> RawQuestion:
        if raw.answer_type == OPEN or raw.written is not None or len(choices[raw.kind, raw.even]) > FEW:
            return raw
        own = given[raw.kind, raw.even, raw.split]
        return replace(raw, others=tuple(other for other in raw.others if other in own))

    return [narrowed(raw) for raw in raws]


def one_way(raws: Sequence[RawQuestion]) -> set[tuple[str, ...]]:
    """Keys of the raw tasks that stay where no two things are asked of each other (`RawQuestion.pair`).

    Of two ways round, the one stays whose answers its split has less often so far, or a lot decides.
    """
    kept = {raw.key for raw in raws if not raw.pair}
    pairs: dict[tuple[str, ...], dict[int, list[RawQuestion]]] = {}
    for raw in raws:
        if raw.pair:
            pairs.setdefault(raw.pair, {}).setdefault(raw.target, []).append(raw)
    given: Counter[tuple[str, ...]] = Counter()
    for pair, ways in sorted(pairs.items(), key=lambda item: (len(item[1]), digest("one way", *item[0]))):
        ranked = sorted(ways.values(), key=lambda own: digest("one way", *pair, *own[0].operands))
        own = min(ranked, key=lambda own: sum(given[raw.kind, raw.even, raw.split, raw.answer] for raw in own))
        given.update((raw.kind, raw.even, raw.split, raw.answer) for raw in own)
        kept |= {raw.key for raw in own}
    return kept


POSES_OF: Final = 5  # one raw task in so many has its poses checked
_SHOWN: Final = "The picture is the view from the observation pose"
_OPTIONS: Final[dict[str, list[str]]] = load_table("cityeqa/raw_review")


def raw_checks(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The raw tasks behind some questions, and the poses of each whose id is a multiple of `POSES_OF` (`Benchmark`)."""
    found = grouped(rows, lambda row: (row["scene"], *row["operands"][:-2]))  # without start and landmarks
    return [check for _, own in sorted(found.items()) for check in _checks(own)]


def _checks(rows: list[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    one = rows[0]
    asked = min(told.question if (told := parse(row["text"])) else row["text"] for row in rows)
    raw = f"{one['task']}: “{asked}”"
    texts = {
        RAW_TASK: f"{raw} Answer: “{one['answer']}”. {_SHOWN}.",
        RAW_POSE: f"{raw} {_SHOWN}, with the target outlined.",
    }
    operands = one["operands"][:-2]
    for task, text in texts.items():
        (number,) = question_ids(one["scene"], task, "", [operands])
        if task == RAW_POSE and number % POSES_OF:
            continue
        yield {
            **one,
            "id": number,
            "task": task,
            "operands": operands,
            "group": None,
            "text": text,
            "options": list(_OPTIONS[task]),
            "ground_truth": "A",
            "evidence": [fact for fact in one["evidence"] if fact["name"] in {"observation_pose", "target_pose"}],
            "asked": sorted(row["id"] for row in rows),
        }

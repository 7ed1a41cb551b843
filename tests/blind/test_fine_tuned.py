"""The attacker that is fine-tuned: with a model that counts, and where torch is installed with a tiny real one."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.blind import fine_tuned as attacker
from pipeline.blind.config import PruneConfig
from pipeline.blind.filtering import filtered, text_only
from pipeline.blind.fine_tuned import FineTunedScores, PromptAnswers, _Clock, _scored, fine_tuned
from pipeline.blind.items import BlindItem, folds_of
from pipeline.blind.prune import debiased
from pipeline.core.errors import ConfigError, MissingExtraError, is_installed
from pipeline.llm import lora
from tests.blind.panel import directions, nearest_items, number_item, questions_table
from tests.environment import times

NAME = "LoRA fine-tuned m"


class Counting:
    """In place of a language model: an answer is as likely as its words were frequent; letters do not matter."""

    learned: list[tuple[set[str], set[str]]]
    on_processor = True

    def __init__(self, folder: Path) -> None:
        Counting.learned = []

    def adapt_and_score(self, known: Any, asked: Any, seed: int, tick: Any) -> list[np.ndarray]:
        Counting.learned.append(({prompt for prompt, _ in known}, {choice.prompt for choice in asked}))
        often = Counter(answer.partition(". ")[2] or answer for _, answer in known)
        for _ in known:
            tick(lora.PASSES * lora.EPOCHS)
        for choice in asked:
            tick(len(choice.answers))
        return [np.log([often[a.partition(". ")[2] or a] + 1e-9 for a in choice.answers]) for choice in asked]


def run(items: Sequence[BlindItem], folder: Path = Path("m")) -> tuple[FineTunedScores, list[tuple[str, int, int]]]:
    told: list[tuple[str, int, int]] = []
    fold = folds_of([item.group for item in items])
    return fine_tuned(items, fold, folder, lambda *one: told.append(one)), told


def test_folds_are_answered_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lamp is always nearest; 2 is right in three of four counts, where 2 earns 1 and any other less."""
    monkeypatch.setattr(attacker, "LocalModel", Counting)
    counts = [number_item(100 + n, 2 if n % 4 else 10, ("chair",), f"scene{n}") for n in range(20)]
    items = [*nearest_items(20, shortcut=True), *counts]
    items = [replace(item, text=f"{item.id} {item.text}") for item in items]
    found, told = run(items)
    assert found.name == NAME
    assert found.earned[:20].tolist() == found.bias[:20].tolist() == [1.0] * 20
    assert found.earned[20:].tolist() == [float(n % 4 > 0) for n in range(20)]
    assert len(Counting.learned) == 5
    known, asked = (set.union(*parts) for parts in zip(*Counting.learned, strict=True))
    assert known == asked
    assert not any(before & after for before, after in Counting.learned)
    assert "A. " in min(asked)
    label, done, total = told[-1]
    assert done == total == lora.PASSES * lora.EPOCHS * 4 * 40 + 20 * 4 + 20 * 2
    assert label == "fine-tuning on the processor (no GPU found), about 1 min"
    order = np.random.default_rng(0).permutation(40)
    assert run([items[n] for n in order])[0].bias.tobytes() == found.bias[order].tobytes()


def test_the_number_that_earns_most_is_guessed_and_equal_options_share_the_point() -> None:
    """4 earns 0.7 where it is 5, and 5 a half where it is 4: at 45 to 55 the less likely one is the better guess."""
    two = PromptAnswers("", ["4", "5"])
    assert _scored(number_item(0, 5), two, np.array([0.45, 0.55])) == pytest.approx((0.7, 0.7))
    assert _scored(number_item(0, 5), two, np.array([0.2, 0.8])) == (1.0, 1.0)
    (item,) = nearest_items(1, shortcut=True)
    likely = np.where(np.arange(4) == item.right, 0.3, [0.3, 0.2, 0.3, 0.2])
    scores = _scored(item, PromptAnswers("", ["", "", "", ""]), likely)
    assert scores == pytest.approx((0.3, 1 / (likely == 0.3).sum()))


def test_numbers_that_no_other_fold_has_stay_at_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attacker, "LocalModel", Counting)
    items = [*nearest_items(20, shortcut=True), number_item(99, 2, ("chair",), "scene0")]
    assert run(items)[0].earned[-1] == 0
    assert run([items[-1]])[0].earned.tolist() == [0]


def test_a_build_has_it_in_each_split_and_prunes_by_it() -> None:
    """It has every left right and no other one, which nothing else knows: lefts go first."""
    questions = questions_table(directions({"left": 20, "right": 20, "back": 20}))

    def tuned(items: Sequence[BlindItem], fold: np.ndarray) -> FineTunedScores:
        assert all(len({f for f, i in zip(fold, items, strict=True) if i.group == item.group}) == 1 for item in items)
        scores = np.array([float(item.options[item.right or 0] == "left") for item in items])
        return FineTunedScores(NAME, scores, np.where(scores > 0, 1.0, 0.2))

    table = filtered(questions, [], tuned=tuned)
    pruned = debiased(questions, table, PruneConfig(), lambda done, of: None)
    (found,) = text_only(questions, table, pruned, [])
    assert found.asked.earned[NAME] == pytest.approx((20 + 0.2 * 40) / 60)
    assert found.debiased is not None
    assert found.debiased.n < 60
    assert found.debiased.earned[NAME] < found.asked.earned[NAME] - 0.05


INDEX = "model.safetensors.index.json"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no folder of a model"),
        ({"config.json": "{}"}, "found no weights"),
        ({"config.json": "{}", "pytorch_model.bin": ""}, "found pytorch_model.bin. .* pickles"),
        ({"config.json": "{}", "a.safetensors": "", INDEX: '{"weight_map": {"w": "../b.bin"}}'}, r"found \.\./b\.bin"),
        ({"config.json": "{}", "a.safetensors": "", INDEX: "{"}, f"{INDEX}: cannot be read"),
        ({"config.json": "{}", "a.safetensors": "", "adapter_model.bin": ""}, "an adapter; merge it"),
    ],
)
def test_a_folder_without_safetensors_is_refused(files: dict[str, str], said: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=said):
        lora.identity_of(tmp_path)


def test_a_model_is_known_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config.json", "a.safetensors", "notes.md"):
        (tmp_path / name).write_text("{}")
    before = lora.identity_of(tmp_path)
    (tmp_path / "notes.md").write_text("other")
    assert lora.identity_of(tmp_path) == before
    (tmp_path / "a.safetensors").write_text("[ ]")
    assert lora.identity_of(tmp_path) != before
    monkeypatch.setattr("pipeline.core.errors.is_installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r"scan2qa\[finetune\]"):
        lora.LocalModel(tmp_path)


def write_tiny_model(folder: Path, texts: Sequence[str]) -> None:
    """A model of two layers with random weights, and a tokenizer of bytes and what is frequent in texts."""
    import tokenizers
    import torch
    import transformers

    torch.set_num_threads(1)
    words = tokenizers.Tokenizer(tokenizers.models.BPE())
    words.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    words.train_from_iterator(
        texts, tokenizers.trainers.BpeTrainer(vocab_size=600, special_tokens=["<end>"], initial_alphabet=alphabet)
    )
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token=words.id_to_token(0)).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.LlamaConfig(vocab_size=words.get_vocab_size(), eos_token_id=0, bos_token_id=None, **size)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)


@pytest.mark.skipif(not all(map(is_installed, ("torch", "transformers", "peft"))), reason="in the extra [finetune]")
@pytest.mark.filterwarnings("default")
@pytest.mark.slow
def test_a_language_model_finds_a_planted_leak_and_no_other(tmp_path: Path) -> None:
    leaking, fair = (nearest_items(times(150, 100), shortcut) for shortcut in (True, False))
    write_tiny_model(tmp_path / "m", [f"{item.text} {' '.join(item.options)}" for item in fair])
    found, _ = run(leaking, tmp_path / "m")
    assert found.earned.mean() > 0.8
    assert (
        run([replace(item) for item in leaking[::-1]], tmp_path / "m")[0].bias[::-1].tobytes() == found.bias.tobytes()
    )
    none, _ = run(fair, tmp_path / "m")
    assert abs(none.earned.mean() - 0.25) < 3 * math.sqrt(0.25 * 0.75 / len(fair))
    (tmp_path / "m" / "config.json").write_text('{"model_type": "llama", "auto_map": {"AutoModelForCausalLM": "x.Y"}')
    with pytest.raises(ConfigError, match="no causal language model that can be read"):
        run(fair, tmp_path / "m")


def test_the_time_on_a_processor_is_told_by_the_batches_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """After nine batches of 10 passes, the last at 64 s: 64 s for 80, and 1,201 take 16 minutes and a bit."""
    seconds = (n * n for n in range(99))
    monkeypatch.setattr("pipeline.blind.fine_tuned.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    told: list[tuple[str, int, int]] = []
    for on_processor in (True, False):
        clock = _Clock(lambda *args: told.append(args), 1201, on_processor)
        for _ in range(11):
            clock.tick(10)
    label = "fine-tuning on the processor (no GPU found), about 17 min"
    assert told == [(label, 100, 1201), (label, 110, 1201), ("fine-tuning", 100, 1201), ("fine-tuning", 110, 1201)]

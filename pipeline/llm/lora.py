"""Low-rank adaptation (LoRA, arXiv 2106.09685) of a causal language model that lies in a folder of this machine.

The folder is untrusted: weights are read as safetensors alone, since other formats are pickles, whose reading runs
code; code that comes with a model is not run, and nothing is fetched.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from pydantic import BaseModel, ValidationError

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError, require_extra
from pipeline.core.files import read_file, sha256_of_file
from pipeline.core.identity import digest_of

if TYPE_CHECKING:
    import torch

RANK: Final = 16
ALPHA: Final = 32
LEARNING_RATE: Final = 2e-4  # at first; it falls to 0 evenly
EPOCHS: Final = 3
BATCH: Final = 8  # answers
MOST_TOKENS: Final = 2_048  # of a prompt with its answer; of a longer one the beginning is left out
PASSES: Final = 3  # forward passes that learning from a text is worth
_READ: Final = ("*.json", "*.jinja", "*.txt", "*.model", "*.safetensors")

Tick = Callable[[int], None]  # is told how many forward passes of one text are done


class PromptAnswers(NamedTuple):
    """A prompt and the answers between which its model decides."""

    prompt: str
    answers: Sequence[str]


class _Index(BaseModel):
    weight_map: dict[str, str]


def checked_folder(folder: Path) -> Path:
    """The folder, if it holds a model whose weights are safetensors. Raises ConfigError."""
    if not (folder / "config.json").is_file():
        raise ConfigError(f"{folder}: no folder of a model, which has config.json and *.safetensors; correct the path")
    if next(folder.rglob("adapter_*"), None):
        raise ConfigError(f"{folder}: an adapter; merge it into its model, and name the folder of that")
    weights, parts = {path.name for path in folder.glob("*.safetensors")}, set[str]()
    for index in folder.rglob("*.safetensors.index.json"):
        try:
            parts |= set(_Index.model_validate_json(read_file(index)).weight_map.values())
        except (OSError, ValidationError) as error:
            raise ConfigError(f"{index}: cannot be read: {error}") from error
    if not weights or not parts <= weights:
        others = (path.name for path in folder.iterdir() if path.suffix in {".bin", ".pt", ".pth"})
        found = next(iter(sorted(parts - weights) or sorted(others)), "no weights")
        raise ConfigError(
            f"{folder}: weights are read from *.safetensors in this folder alone; found {found}. Files such as "
            ".bin are pickles, which can run code: take the model as safetensors, or convert it where you trust it"
        )
    return folder


def identity_of(folder: Path) -> str:
    """Digest of all of a model that is read. Raises ConfigError."""
    files = sorted({path for pattern in _READ for path in checked_folder(folder).glob(pattern)})
    stats = [(path, path.stat()) for path in files]
    return digest_of([_hashed(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats])


@lru_cache
def _hashed(path: Path, size: int, mtime_ns: int) -> list[str]:
    return [path.name, sha256_of_file(path)]


class LocalModel:
    """A model to be adapted again and again, each time from its own weights.

    Attributes:
        on_processor: no GPU was found.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ConfigError for a folder that holds no model, and MissingExtraError."""
        checked_folder(folder)
        require_extra("finetune", "a fine-tuned attacker")
        os.environ["HF_HUB_OFFLINE"] = "1"  # read as transformers is imported
        import torch
        import transformers

        transformers.utils.logging.disable_progress_bar()
        self.on_processor = not torch.cuda.is_available()
        self._device = "cpu" if self.on_processor else "cuda"
        try:
            self._words: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                attn_implementation="sdpa",  # a configuration may name code elsewhere
                dtype=torch.float32 if self.on_processor else torch.bfloat16,
            ).to(self._device)
        except Exception as error:  # of any kind: the folder is anybody's
            raise ConfigError(f"{folder}: no causal language model that can be read: {error}") from error
        self._end = [] if self._words.eos_token_id is None else [self._words.eos_token_id]

    def adapt_and_score(
        self, known: Sequence[tuple[str, str]], asked: Sequence[PromptAnswers], seed: int, tick: Tick
    ) -> list[FloatArray]:
        """Learns from prompts with their answers, then scores other ones.

        The same on the same machine with the same packages; others round differently.

        Returns:
            For each choice the log-likelihood (k,) of its k answers.
        """
        import peft
        import torch

        torch.manual_seed(seed)
        warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")  # between it and peft
        config = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear", task_type="CAUSAL_LM")
        adapted: Any = peft.get_peft_model(self._model, config)
        try:
            self._learn(adapted, [self._tokens(*pair) for pair in known], seed, tick)
            texts = [self._tokens(choice.prompt, answer) for choice in asked for answer in choice.answers]
            found = np.zeros(len(texts))
            adapted.eval()
            with torch.inference_mode():
                for rows in _batches(np.argsort([len(ids) for ids, _ in texts], kind="stable")):
                    found[rows] = self._likelihoods(adapted, [texts[n] for n in rows]).tolist()
                    tick(len(rows))
        finally:
            self._model = adapted.unload()
        return np.split(found, np.cumsum([len(choice.answers) for choice in asked])[:-1])

    def _learn(self, adapted: Any, texts: Sequence[tuple[list[int], int]], seed: int, tick: Tick) -> None:
        import torch

        rng = np.random.default_rng(seed)
        trained = [weight for weight in adapted.parameters() if weight.requires_grad]
        steps = EPOCHS * math.ceil(len(texts) / BATCH)
        optimizer = torch.optim.AdamW(trained, LEARNING_RATE)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
        adapted.train()
        for _ in range(EPOCHS):
            for rows in _batches(rng.permutation(len(texts))):
                mine = [texts[n] for n in rows]
                loss = -self._likelihoods(adapted, mine).sum() / sum(answer for _, answer in mine)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(trained, 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                tick(PASSES * len(rows))

    def _tokens(self, prompt: str, answer: str) -> tuple[list[int], int]:
        """Tokens of both, and how many of them are the answer's."""
        target = self._words(answer, add_special_tokens=False).input_ids + self._end
        return (self._words(prompt).input_ids + target)[-MOST_TOKENS:], len(target)

    def _likelihoods(self, model: Any, texts: Sequence[tuple[list[int], int]]) -> torch.Tensor:
        """Log-likelihood (b,) of the answers at the end of texts, given what is before them."""
        import torch

        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(tokens) for tokens, _ in texts], batch_first=True)
        length = torch.tensor([len(tokens) for tokens, _ in texts])[:, None]
        place = torch.arange(ids.shape[1])[None]
        answer = (place < length) & (place >= length - torch.tensor([n for _, n in texts])[:, None])
        row, column = torch.nonzero(answer, as_tuple=True)
        logits = model(input_ids=ids.to(self._device), attention_mask=(place < length).long().to(self._device)).logits
        logs = logits[row, column - 1].float().log_softmax(1)[torch.arange(len(row)), ids[row, column]]
        return torch.zeros(len(texts), device=logs.device).index_add(0, row.to(logs.device), logs)


def _batches(order: Sequence[int] | np.ndarray) -> Iterator[list[int]]:
    rows = [int(n) for n in order]
    return (rows[first : first + BATCH] for first in range(0, len(rows), BATCH))

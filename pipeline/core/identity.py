"""Identity: every id, rank and random draw comes from what a thing is, never from when it was made."""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from typing import Any, Final

import numpy as np

# 53 bits: a question id is an integer, as in the released benchmarks, and stays exact where a reader (pandas
# with a missing value, JavaScript, a spreadsheet) turns integers into doubles. `export` refuses two equal ids.
ID_BITS = 53
_SEPARATOR = "\x1f"
DIGEST_CHARS: Final = 32  # hex; 128 bits
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False)  # made once: a plan takes thousands of digests


def digest(*parts: str) -> bytes:
    """SHA-256 of the parts, which are separated so that ("ab", "c") and ("a", "bc") differ."""
    return hashlib.sha256(_SEPARATOR.join(parts).encode()).digest()


def rng_for(*identity: str | int) -> np.random.Generator:
    """A random generator that depends on nothing but the identity, for example (question id, "option_order")."""
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest(*map(str, identity)), "big")))


def shard_of(scene: str, of: int) -> int:
    """The shard of a scene, by the first bits of its hash: no scene moves another one, and twice as many halve each."""
    return int.from_bytes(digest("shard", scene)[:4], "big") * of >> 32


SHARD_BYTES: Final = 500_000_000  # of a file of a released table, before compression, on average at most


def shards_for(load: float) -> int:
    """The number of shards, a power of two, of which each bears at most 1 of a load."""
    return 1 << max(0, math.ceil(math.log2(max(load, 1))))


def random_order(ids: Sequence[int], what: str, most: int) -> list[int]:
    """Places of some ids, in an order that depends on nothing but them."""
    return nsmallest(most, range(len(ids)), key=lambda place: digest(what, str(ids[place])))


def question_ids(scene: str, task: str, template: str, operands: Iterable[Sequence[str]]) -> list[int]:
    """One id per operand tuple: the first 53 bits of SHA-256 over scene, task, template id and operands.

    Operands are given in canonical order (see the task), so that a question asked twice has one id; the answer
    takes no part, so that a corrected answer keeps its id.
    """
    sha256, join, number = hashlib.sha256, _SEPARATOR.join, int.from_bytes  # there are hundreds of thousands
    prefix = join((scene, task, template, "")).encode()
    return [
        number(sha256(prefix + join(operand).encode()).digest()[:8], "big") >> (64 - ID_BITS) for operand in operands
    ]


def digest_of(value: Any) -> str:
    """Digest of a JSON-like value, or of bytes."""
    raw = value if isinstance(value, bytes) else _CANONICAL.encode(value).encode()
    return hashlib.sha256(raw).hexdigest()[:DIGEST_CHARS]

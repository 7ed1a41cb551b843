"""Objects in a pickle: records of classes known by name alone, and numpy's arrays of numbers from their bytes.

Nothing here looks up or calls what a pickle names (`formats/pickles.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np

from pipeline.core.errors import FormatError

_RECONSTRUCT: Final = frozenset(
    {
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
    }
)
_FROM_BUFFER: Final = frozenset({("numpy.core.numeric", "_frombuffer"), ("numpy._core.numeric", "_frombuffer")})
_SCALAR: Final = frozenset({("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar")})
_ENCODE: Final = ("_codecs", "encode")  # how protocol 2 writes bytes
_BYTES: Final = ("__builtin__", "bytes")  # and how it writes none
_ARRAY: Final = ("numpy", "ndarray")
_DTYPE: Final = ("numpy", "dtype")
NAME_MAX: Final = 200  # characters of a class shown in a message
_NUMBERS: Final = re.compile(r"b1|[iu][1248]|f[248]")  # an array of objects, texts or records is none of ours
_BYTE_ORDERS: Final = ("<", ">", "=", "|")
_SHOWN: Final = 30  # characters of a dtype in a message
_AXES: Final = 8
_BUFFER_ARGUMENTS: Final = 4  # bytes, dtype, shape, order
_SCALAR_ARGUMENTS: Final = 2  # dtype, bytes
_STATE: Final = 5  # of an array: version, shape, dtype, whether columns come first, bytes


@dataclass
class PickledRecord:
    """An object of a class known by name alone; ``fields`` is what it was given."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PickledName:
    """A class or function that the pickle names. It is never looked up."""

    module: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """Both parts, as the tables of what is known have them."""
        return self.module, self.name

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"[:NAME_MAX]


@dataclass
class Dtype:
    """A numpy dtype under construction."""

    code: str
    order: str = "|"


@dataclass
class Array:
    """A numpy array under construction; its numbers come with its state."""

    values: Any = None


KNOWN: Final = {_ARRAY, _DTYPE, _ENCODE, _BYTES} | _RECONSTRUCT | _FROM_BUFFER | _SCALAR


def called(function: PickledName, arguments: tuple[Any, ...]) -> Any:
    """The value that one of the known functions makes. Raises FormatError where they are asked for anything else."""
    if function.key == _DTYPE and arguments and isinstance(arguments[0], str):
        return Dtype(arguments[0])
    if function.key in _RECONSTRUCT and arguments and arguments[0] == PickledName(*_ARRAY):
        return Array()
    if function.key in _FROM_BUFFER and len(arguments) == _BUFFER_ARGUMENTS:
        buffer, dtype, shape, order = arguments
        return Array(_numbers(shape, dtype, order == "F", buffer))
    if function.key in _SCALAR and len(arguments) == _SCALAR_ARGUMENTS:
        return Array(_numbers((), arguments[0], False, arguments[1]))
    if function.key == _BYTES and not arguments:
        return b""
    if function.key == _ENCODE and arguments[1:] == ("latin1",) and isinstance(arguments[0], str):
        return arguments[0].encode("latin1")
    raise FormatError("foreign_pickle", f"it calls {function} in a way that data does not")


def finished(value: Any) -> Any:
    """A value as part of a tuple: an array must have its numbers by now."""
    if not isinstance(value, Array):
        return value
    if value.values is None:
        raise FormatError("bad_pickle", "an array without numbers")
    return value.values


def data(value: Any) -> Any:
    """A value as it is handed on: no class, and nothing half made."""
    if isinstance(value, PickledName | Dtype):
        raise FormatError("foreign_pickle", f"it holds {kind_of(value)} in place of data")
    return finished(value)


def kind_of(value: Any) -> str:
    """The name of a value in messages."""
    return (
        str(value) if isinstance(value, PickledName) else f"a value of type {type(value).__name__.strip('_').lower()}"
    )


def byte_order(state: Any) -> str:
    """Byte order from the state of a dtype of plain numbers."""
    if not isinstance(state, tuple) or len(state) < _STATE or state[1] not in _BYTE_ORDERS:
        raise FormatError("foreign_pickle", "a dtype other than plain numbers")
    if any(part is not None for part in state[2:_STATE]):
        raise FormatError("foreign_pickle", "a dtype of several fields")
    return str(state[1])


def filled(state: Any) -> Any:
    """Numbers from the state of an array."""
    if not isinstance(state, tuple) or len(state) != _STATE:
        raise FormatError("foreign_pickle", "an array whose state is not numpy's")
    _, shape, dtype, columns_first, buffer = state
    return _numbers(shape, dtype, bool(columns_first), buffer)


def _numbers(shape: Any, dtype: Any, columns_first: bool, buffer: Any) -> Any:
    """A view of bytes as numbers; a number alone where there is no shape."""
    if not isinstance(dtype, Dtype) or not _NUMBERS.fullmatch(dtype.code):
        shown = repr(getattr(dtype, "code", kind_of(dtype)))[:_SHOWN]
        raise FormatError("foreign_pickle", f"an array of {shown}, not of numbers")
    kind = np.dtype(dtype.order.replace("|", "=") + dtype.code)
    whole = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not whole or not isinstance(buffer, bytes | bytearray) or prod(shape) * kind.itemsize != len(buffer):
        raise FormatError("bad_pickle", f"an array of {kind} whose bytes do not fit its shape")
    if len(shape) > _AXES:
        raise FormatError("pickle_too_deep", f"an array of {len(shape)} axes")
    flat = np.frombuffer(buffer, dtype=kind)
    return flat.reshape(shape, order="F" if columns_first else "C") if shape else flat[0].item()

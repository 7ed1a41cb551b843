"""Pickles of untrusted origin, read as data: numpy arrays, plain values and inert records, and nothing else.

A pickle is a program. This is an interpreter of its own for the part of that language which makes data: it imports
nothing, calls nothing that a pickle names, and knows each class only by its name. What it does not know it refuses by
name. The opcodes come from `pickletools.genops`, which only takes bytes apart (protocols 2 to 5). Objects are records
of classes known by name alone, and numpy's arrays of numbers from their bytes.
"""

import pickletools
import re
from collections.abc import Callable, Collection
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


OPCODES_MAX: Final = 5_000_000  # an observation of RLBench takes 650
PARTS_MAX: Final = 1_000_000  # lists, tuples, dicts, arrays and records: some 200 bytes each
DEPTH_MAX: Final = 32  # a demonstration has 6
DIGITS_MAX: Final = 64  # bytes of a whole number
KEY_BITS_MAX: Final = 32  # of a whole number that is a key
_TRUNCATED: Final = ("exhausted", "not enough data", "expected", "no newline")  # what `genops` says of a cut file

_PLAIN: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES: Final = frozenset(
    {
        *("BININT", "BININT1", "BININT2", "BINFLOAT"),
        *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
        *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    }
)


class _Mark:
    """Where a run of values on the stack begins."""


_MARK: Final = _Mark()


def read_pickle(raw: bytes, records: Collection[str], steps_max: int = OPCODES_MAX, parts_max: int = PARTS_MAX) -> Any:
    """The content of a pickle: plain values, lists, tuples, dicts, numpy arrays of numbers, and `Record`.

    Args:
        raw: the file.
        records: classes that may stand in it, as "module.Name"; they become records of that kind.
        steps_max: opcodes that it may take.
        parts_max: lists, tuples, dicts, arrays and records that it may make.

    Raises:
        FormatError: ``foreign_pickle`` (it names something else, or asks for anything but data), ``truncated_pickle``,
            ``bad_pickle`` (no pickle, or a broken one), ``pickle_too_large``, ``pickle_too_deep``.
    """
    return _Machine(frozenset(records), steps_max, parts_max).run(raw)


class _Machine:
    """The stack, the memo, and how deep everything on them is."""

    def __init__(self, records: frozenset[str], steps_max: int, parts_max: int) -> None:
        self._records, self._steps_max, self._parts_max = records, steps_max, parts_max
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._parts: dict[int, Any] = {}  # by id: kept alive, so that no id is used again
        self._depth: dict[int, int] = {}
        self._within: set[int] = set()  # parts of others: they are finished, so that nothing can hold itself
        self._size = self._made = 0

    def run(self, raw: bytes) -> Any:
        """The value that the pickle makes."""
        count, self._size = 0, len(raw)
        try:
            for opcode, argument, _ in pickletools.genops(raw):
                count += 1
                if count > self._steps_max:
                    raise FormatError("pickle_too_large", f"over {self._steps_max:,} steps")
                if opcode.name == "STOP":
                    return self._result()
                self._step(opcode.name, argument)
        except (ValueError, OverflowError) as error:  # of `genops`, and of texts that are no UTF-8
            cut = any(word in str(error) for word in _TRUNCATED)
            finding = "truncated_pickle" if cut else "bad_pickle"
            raise FormatError(finding, " ".join(str(error).split())[:NAME_MAX]) from error
        raise FormatError("truncated_pickle", "it ends before its end")

    def _result(self) -> Any:
        if len(self._stack) != 1:
            raise FormatError("bad_pickle", f"{len(self._stack)} values are left at its end, not one")
        return data(self._top())

    def _step(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self._stack.append(argument)
        elif name in _PLAIN:
            self._stack.append(_PLAIN[name])
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        else:
            raise FormatError("foreign_pickle", f"it has the step {name}, which plain data never needs")

    # Values

    def whole_number(self, argument: int) -> None:
        if argument.bit_length() > 8 * DIGITS_MAX:
            raise FormatError("pickle_too_large", f"a whole number of {argument.bit_length():,} bits")
        self._stack.append(argument)

    def nothing(self, argument: object) -> None:
        """PROTO and FRAME: how the bytes are laid out."""

    def mark(self, argument: object) -> None:
        self._stack.append(_MARK)

    def put(self, argument: int) -> None:
        self._memo[argument] = self._top()

    def memoize(self, argument: object) -> None:
        self._memo[len(self._memo)] = self._top()

    def get(self, argument: int) -> None:
        if argument not in self._memo:
            raise FormatError("bad_pickle", f"it takes value {argument}, which it never kept")
        self._stack.append(self._memo[argument])

    # Containers

    def tuple_of(self, count: int) -> None:
        items = [self._pop() for _ in range(count)][::-1]
        self._part(tuple(map(finished, items)), items)

    def marked_tuple(self, argument: object) -> None:
        items = self._to_mark()
        self._part(tuple(map(finished, items)), items)

    def empty_list(self, argument: object) -> None:
        self._part([], ())

    def empty_dict(self, argument: object) -> None:
        self._part({}, ())

    def append(self, argument: object) -> None:
        self._extend([self._pop()])

    def appends(self, argument: object) -> None:
        self._extend(self._to_mark())

    def set_item(self, argument: object) -> None:
        value, key = self._pop(), self._pop()
        self._update([key, value])

    def set_items(self, argument: object) -> None:
        self._update(self._to_mark())

    def _extend(self, items: list[Any]) -> None:
        target = self._open(list)
        self._deepen(target, items)
        target.extend(map(data, items))

    def _update(self, items: list[Any]) -> None:
        target = self._open(dict)
        keys = items[::2]
        if len(items) % 2:
            raise FormatError("bad_pickle", "a key without a value")
        for key in keys:
            if not isinstance(key, str | int):
                raise FormatError("foreign_pickle", f"a key is {kind_of(key)}, not text or a whole number")
            if isinstance(key, int) and key.bit_length() > KEY_BITS_MAX:  # larger ones can all hash alike
                raise FormatError("foreign_pickle", f"a key is a whole number of {key.bit_length()} bits")
        self._deepen(target, items[1::2])
        target.update(zip(keys, map(data, items[1::2]), strict=True))

    # Classes

    def named(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._name(module, name)

    def stack_named(self, argument: object) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise FormatError("foreign_pickle", "the name of a class is no text")
        self._name(module, name)

    def _name(self, module: str, name: str) -> None:
        named = PickledName(module, name)
        if named.key not in KNOWN and str(named) not in self._records:
            raise FormatError("foreign_pickle", f"it names {named}, which is no part of this data")
        self._stack.append(named)

    def reduce(self, argument: object) -> None:
        arguments, function = self._pop(), self._pop()
        if not isinstance(function, PickledName) or not isinstance(arguments, tuple):
            raise FormatError("foreign_pickle", f"it calls {kind_of(function)}")
        if str(function) in self._records:
            self._record(function, arguments)
            return
        made = called(function, arguments)
        self._made += len(made) if isinstance(made, bytes) else 0
        if self._made > self._size:  # the only step that copies: one text could be copied without end
            raise FormatError("pickle_too_large", f"{self._made:,} bytes made of a file of {self._size:,}")
        self._part(made, arguments)

    def new_object(self, argument: object) -> None:
        arguments, kind = self._pop(), self._pop()
        self._record(kind, arguments)

    def _record(self, kind: Any, arguments: Any) -> None:
        if not isinstance(kind, PickledName) or str(kind) not in self._records or arguments != ():
            raise FormatError("foreign_pickle", f"it makes {kind_of(kind)} with arguments of its own")
        self._part(PickledRecord(str(kind)), ())

    def build(self, argument: object) -> None:
        state = self._pop()
        target = self._open(PickledRecord, Array, Dtype)
        if isinstance(target, PickledRecord):
            if not isinstance(state, dict) or not all(isinstance(key, str) for key in state) or target.fields:
                raise FormatError("foreign_pickle", f"the state of {target.kind} is {kind_of(state)}, not its fields")
            self._deepen(target, (state,))
            target.fields = state
        elif isinstance(target, Dtype):
            target.order = byte_order(state)
        else:
            target.values = filled(state)

    # The stack

    def _top(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise FormatError("bad_pickle", "it takes a value that is not there")
        return self._stack[-1]

    def _pop(self) -> Any:
        value = self._top()
        self._stack.pop()
        return value

    def _to_mark(self) -> list[Any]:
        at = len(self._stack) - 1
        while at >= 0 and self._stack[at] is not _MARK:
            at -= 1
        if at < 0:
            raise FormatError("bad_pickle", "it takes values from a mark that is not there")
        items = self._stack[at + 1 :]
        del self._stack[at:]
        return items

    def _open(self, *kinds: type) -> Any:
        """The topmost value, to be filled. What is already part of another is finished."""
        target = self._top()
        if not isinstance(target, kinds) or id(target) in self._within:
            raise FormatError("bad_pickle", f"it fills {kind_of(target)}, which cannot be filled here")
        return target

    def _part(self, value: Any, inner: Collection[Any]) -> None:
        if len(self._parts) >= self._parts_max:
            raise FormatError("pickle_too_large", f"over {self._parts_max:,} lists, dicts, tuples and arrays")
        self._parts[id(value)] = value
        self._stack.append(value)
        self._deepen(value, inner)

    def _deepen(self, target: Any, inner: Collection[Any]) -> None:
        if any(item is target for item in inner):
            raise FormatError("bad_pickle", f"{kind_of(target)} that holds itself")
        known = self._depth
        deepest = max((known.get(id(item), 0) for item in inner), default=0)
        depth = max(known.get(id(target), 0), 1 + deepest)
        if depth > DEPTH_MAX:
            raise FormatError("pickle_too_deep", f"values within values, over {DEPTH_MAX} deep")
        known[id(target)] = depth
        self._within.update(id(item) for item in inner if id(item) in known)


_ACTIONS: Final[dict[str, Callable[[_Machine, Any], None]]] = {
    "PROTO": _Machine.nothing,
    "FRAME": _Machine.nothing,
    "LONG1": _Machine.whole_number,
    "LONG4": _Machine.whole_number,
    "MARK": _Machine.mark,
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": _Machine.memoize,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "EMPTY_TUPLE": lambda machine, _: machine.tuple_of(0),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "TUPLE": _Machine.marked_tuple,
    "EMPTY_LIST": _Machine.empty_list,
    "EMPTY_DICT": _Machine.empty_dict,
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "GLOBAL": _Machine.named,
    "STACK_GLOBAL": _Machine.stack_named,
    "REDUCE": _Machine.reduce,
    "NEWOBJ": _Machine.new_object,
    "BUILD": _Machine.build,
}

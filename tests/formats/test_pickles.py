"""Pickles: data comes out as it went in, and no program in one runs."""

import io
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import FormatError
from pipeline.formats.pickles import DEPTH_MAX, PickledRecord, read_pickle

DEMO = ("rlbench.demo.Demo", "rlbench.backend.observation.Observation")
FINDINGS = {"foreign_pickle", "bad_pickle", "truncated_pickle", "pickle_too_large", "pickle_too_deep"}
ARRAYS = {
    "plain": np.arange(6).reshape(2, 3),
    "columns first": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "big-endian": np.arange(3, dtype=">f4"),
    "none": np.zeros((0, 3)),
    "truth": np.array([True, False]),
    "one": np.array(3.5),
    "scalar": np.float32(2.5),
}
PLAIN = {
    "text": "ä",
    "bytes": b"\x00\xff",
    "no bytes": b"",
    "list": [1, -(10**12), None, True, 0.5],
    "pair": (1, ("a",)),
}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_data_comes_out_as_it_went_in(protocol: int) -> None:
    found = read_pickle(pickle.dumps({"arrays": ARRAYS, "plain": PLAIN}, protocol), ())
    assert found["plain"] == PLAIN
    assert found["arrays"].keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert np.array_equal(found["arrays"][name], array), name
        assert isinstance(found["arrays"][name], float) or found["arrays"][name].dtype == array.dtype


def test_an_array_that_two_hold_is_one_array() -> None:
    array = np.arange(3)
    first, second = read_pickle(pickle.dumps([array, array]), ())
    assert first is second


@settings(max_examples=15, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3) | st.tuples(inner),
        max_leaves=8,
    ),
    st.integers(2, 5),
)
def test_plain_values_are_read_as_python_reads_them(value: Any, protocol: int) -> None:
    assert read_pickle(pickle.dumps(value, protocol), ()) == value


def test_a_mark_may_lie_lowest() -> None:
    raw = b"\x80\x02(K\x01K\x02t."
    assert read_pickle(raw, ()) == (1, 2)
    with pytest.raises(FormatError, match="from a mark that is not there"):
        read_pickle(b"\x80\x02K\x01t.", ())


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=6), st.integers(0, 400))
def test_whatever_the_bytes_there_is_one_kind_of_error(at: int, wrong: bytes, cut: int) -> None:
    sound = pickle.dumps({"arrays": ARRAYS["plain"], "plain": PLAIN}, 4)
    raw = (sound[:at] + wrong + sound[at + len(wrong) :])[: max(1, len(sound) - cut)]
    finding = "bad_pickle"
    try:
        read_pickle(raw, DEMO)
    except FormatError as error:
        finding = error.finding
    assert finding in FINDINGS


# Hostile ones, by hand: what they would run writes the file PWNED.


def text(word: str) -> bytes:
    return b"\x8c" + bytes([len(word)]) + word.encode()


def call(module: str, name: str, *arguments: str) -> bytes:
    """Opcodes that leave on the stack what a function makes of texts (protocol 4)."""
    return text(module) + text(name) + b"\x93(" + b"".join(map(text, arguments)) + b"tR"


def old(module: str, name: str, *arguments: str) -> bytes:
    """The same as protocol 0 says it: GLOBAL and texts on lines."""
    said = b"".join(b"V" + argument.encode() + b"\n" for argument in arguments)
    return b"c" + f"{module}\n{name}\n".encode() + b"(" + said + b"tR."


def four(body: bytes) -> bytes:
    return b"\x80\x04" + body + b"."


class Reduces:
    """An object that pickles as a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.made = function, arguments

    def __reduce__(self) -> Any:
        return self.made


def persistent(protocol: int) -> bytes:
    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> str | None:
            return "PWNED" if obj == "secret" else None

    out = io.BytesIO()
    Pickler(out, protocol).dump(["secret"])
    return out.getvalue()


TOUCH = "touch PWNED"
OPEN = "open('PWNED','w')"
NDARRAY = b"cnumpy\nndarray\n"
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n(" + NDARRAY + b"K\x00\x85C\x01btR"
F8 = (
    b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8\x89\x88tR(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
)
OBJECT = F8.replace(b"f8", b"O8").replace(b"<", b"|")


def array(shape: bytes, dtype: bytes, data: bytes) -> bytes:
    return b"\x80\x02" + RECONSTRUCT + b"(K\x01" + shape + dtype + b"\x89" + data + b"tb."


ABORT = old("os", "abort")[:-1]
COPY = text("_codecs") + text("encode") + b"\x93h\x00" + text("latin1") + b"\x86R"
HOSTILE: dict[str, bytes] = {
    # Calls, in every way that a pickle can say them
    "os.system": pickle.dumps(Reduces(os.system, TOUCH)),
    "posix.system": four(call("posix", "system", TOUCH)),
    "nt.system": four(call("nt", "system", TOUCH)),
    "os.popen": four(call("os", "popen", TOUCH)),
    "os.execvp": four(call("os", "execvp", "touch", TOUCH)),
    "os.remove": four(call("os", "remove", "keep")),
    "shutil.rmtree": four(call("shutil", "rmtree", ".")),
    "subprocess.Popen": pickle.dumps(Reduces(subprocess.Popen, TOUCH)),
    "subprocess.check_output": four(call("subprocess", "check_output", TOUCH)),
    "eval": pickle.dumps(Reduces(eval, OPEN)),
    "exec": pickle.dumps(Reduces(exec, OPEN)),
    "compile": four(call("builtins", "compile", OPEN, "x", "exec")),
    "open": four(call("builtins", "open", "PWNED", "w")),
    "__import__": four(call("builtins", "__import__", "antigravity")),
    "getattr": four(call("builtins", "getattr", "x", "upper")),
    "Python 2's eval": old("__builtin__", "eval", OPEN),
    "protocol 0 os.system": old("posix", "system", TOUCH),
    "protocol 0 by INST": b"(S'" + TOUCH.encode() + b"'\niposix\nsystem\n.",
    "by OBJ": b"(" + b"cposix\nsystem\n" + b"V" + TOUCH.encode() + b"\no.",
    "by NEWOBJ": four(text("posix") + text("system") + b"\x93" + text(TOUCH) + b"\x85\x81"),
    "by NEWOBJ_EX": four(text("posix") + text("system") + b"\x93" + text(TOUCH) + b"\x85}\x92"),
    "by BUILD with slots": four(text("types") + text("SimpleNamespace") + b"\x93)R}" + text("a") + b"Nsb"),
    "code object": four(call("types", "CodeType", OPEN)),
    "function": four(call("types", "FunctionType", OPEN)),
    "importlib": four(call("importlib", "import_module", "antigravity")),
    "runpy": four(call("runpy", "run_path", "/PWNED")),
    "pickle within a pickle": four(call("pickle", "loads", "x")),
    "operator.attrgetter": four(call("operator", "attrgetter", "system")),
    "functools.partial": four(call("functools", "partial", "x")),
    "ctypes": four(call("ctypes", "CDLL", "libc.so.6")),
    "socket": four(call("socket", "create_connection", "x")),
    "webbrowser": four(call("webbrowser", "open", "http://127.0.0.1")),
    "numpy.load": four(call("numpy", "load", "x")),
    "numpy's exec": four(call("numpy.testing._private.utils", "runstring", OPEN, "x")),
    "dotted name": four(call("numpy", "ndarray.__class__.__subclasses__", "x")),
    "a name within a known one": four(call("rlbench.demo", "Demo.__init__.__globals__", "x")),
    "codecs": four(call("_codecs", "lookup", "x")),
    "codecs with another codec": four(call("_codecs", "encode", "x", "zlib_codec")),
    # Nested
    "reduce within reduce": pickle.dumps(Reduces(getattr, Reduces(__import__, "os"), "system")),
    "call as an argument of an array": b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n(" + ABORT + b"tR.",
    "call within the state of a record": b"\x80\x02crlbench.demo\nDemo\n)\x81}X\x01\x00\x00\x00a" + ABORT + b"sb.",
    "record made with arguments": b"\x80\x02crlbench.demo\nDemo\nK\x01\x85R.",
    "state of a record that is no dict": b"\x80\x02crlbench.demo\nDemo\n)\x81K\x01\x85b.",
    "call in a list of a record": pickle.dumps([1, {"a": Reduces(os.system, TOUCH)}]),
    # Ids, extensions, classes in place of data
    "persistent id": persistent(4),
    "persistent id, protocol 0": persistent(0),
    "extension code": b"\x80\x02\x82\x01.",
    "out-of-band buffer": b"\x80\x05\x97.",
    "a class alone": b"\x80\x02cnumpy\nndarray\n.",
    "an array of objects": array(b"K\x01\x85", OBJECT, b"]Nax"[:3]),
    # Memory and depth
    "array without its bytes": array(b"J\x00\xe1\xf5\x05\x85", F8, b"C\x08" + bytes(8)),
    "array of negative length": array(b"J\xff\xff\xff\xff\x85", F8, b"C\x08" + bytes(8)),
    "bytes that are not there": b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"x.",
    "text that is not there": b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"x.",
    "frame that is not there": b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"N",
    "a number of a million bits": b"\x80\x02\x8b" + struct.pack("<I", 200_000) + b"\x01" * 200_000 + b".",
    "a number of a million digits": b"L" + b"9" * 1_000_000 + b"L\n.",
    "one text copied a thousand times": four(
        b"\x8cdX" + b"x" * 99 + b"\x94(" + COPY * 999 + b"t"
    ),
    "tuples within tuples": four(b")" + b"\x85" * 100_000),
    "lists within lists": four(b"]" * 100_000 + b"a" * 99_999),
    "lists filled from above": four(b"]\x94" + b"".join(b"]\x94aj" + struct.pack("<I", n) for n in range(1, 5000))),
    "a list within itself": four(b"]\x94h\x00a"),
    "a dict within itself": four(b"}\x94" + text("a") + b"h\x00s"),
    "a key that is a tuple": four(b"})" + b"\x85" * 20 + b"Ns"),
    "keys that all hash alike": four(
        b"}(" + b"".join(b"\x8a\x10" + (n * (2**61 - 1)).to_bytes(16, "little") + b"N" for n in range(1, 50_000)) + b"u"
    ),
    "dup for ever": four(b"N" + b"2" * 10_000),
    "memo that was never filled": four(b"j" + struct.pack("<I", 2**31)),
    "stack that is empty": four(b"0"),
    "mark that is not there": four(b"t"),
}  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        b"NNa",  # None is no list
        b"]" + text("a") + b"Ns",  # nor is a list a dict
        b"]\x94]\x94ah\x01Na0",  # a list that is already part of another
        b"]\x94}\x94ah\x01" + text("a") + b"Ns0",
    ],
)
def test_only_what_is_open_is_filled(body: bytes) -> None:
    with pytest.raises(FormatError, match="which cannot be filled here") as refused:
        read_pickle(four(body), DEMO)
    assert refused.value.finding == "bad_pickle"


def test_there_are_fifty_of_them() -> None:
    assert len(HOSTILE) >= 50


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_pickles_are_refused_by_name_and_run_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keep").write_text("")
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    with pytest.raises(FormatError) as refused:
        read_pickle(HOSTILE[name], DEMO)
    assert set(sys.modules) == before, "nothing was imported"
    assert [path.name for path in tmp_path.iterdir()] == ["keep"]
    assert refused.value.finding in FINDINGS
    if name in {"os.system", "eval", "subprocess.Popen"}:
        assert name.rpartition(".")[2] in refused.value.message


def test_audit_hooks_see_no_import_no_call_no_file() -> None:
    code = (
        "import sys, pathlib\n"
        "from tests.formats.test_pickles import DEMO, HOSTILE, FormatError, read_pickle\n"
        "seen, on = [], False\n"
        "sys.addaudithook(lambda name, _: seen.append(name) if on and name != 'builtins.id' else None)\n"
        "on = True\n"
        "for raw in HOSTILE.values():\n"
        "    try:\n"
        "        read_pickle(raw, DEMO)\n"
        "    except FormatError:\n"
        "        pass\n"
        "on = False\n"
        "print(sorted(set(seen)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_too_many_steps_or_parts_are_refused() -> None:
    with pytest.raises(FormatError, match="over 100 steps"):
        read_pickle(four(b"N" * 120), (), steps_max=100)
    with pytest.raises(FormatError, match="over 100 lists"):
        read_pickle(four(b"(" + b"]" * 101 + b"t"), (), parts_max=100)


@pytest.mark.parametrize(("deep", "refused"), [(DEPTH_MAX, False), (DEPTH_MAX + 1, True)])
def test_the_limit_of_depth_is_exact(deep: int, refused: bool) -> None:
    raw = four(b")" + b"\x85" * (deep - 1))
    if refused:
        with pytest.raises(FormatError, match=f"over {DEPTH_MAX} deep"):
            read_pickle(raw, ())
    else:
        assert read_pickle(raw, ()) is not None


def test_records_are_known_by_name_alone() -> None:
    raw = b"\x80\x02crlbench.demo\nDemo\n)\x81}X\x01\x00\x00\x00aK\x07sb."
    assert read_pickle(raw, DEMO) == PickledRecord("rlbench.demo.Demo", {"a": 7})
    with pytest.raises(FormatError, match="rlbench"):
        read_pickle(raw, ())

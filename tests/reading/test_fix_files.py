"""Files of fixes: what is wrong in them is told with file, line, entry and remedy, and nothing of them is believed."""

from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.fixes import FixEntry, target_of
from pipeline.reading.fix_files import BYTES_MAX, SHIPPED, read_fixes
from pipeline.worlds.registry import FIXES

COUNT = (
    "{id: made-0001, scene: a, target: count, of: table, expect: 2, set: 3, why: counted, who: me, date: 2026-01-31}"
)
DROP = (
    "{id: made-0002, scene: a, target: drop_object, of: table, instance: 1, expect: {center_m: [0, 0, 0]}, set: null,"
    " why: counted, who: me, date: 2026-01-31}"
)
BOX = (
    "{id: made-0003, scene: a, target: box, of: table, instance: 1, expect: {lengths_m: [1, 1, 1]},"
    " set: {lengths_m: [1, 1, 2]}, why: measured, who: me, date: 2026-01-31}"
)


def read(folder: Path, *entries: str, file: str = "made.yaml") -> list[FixEntry]:
    folder.mkdir(exist_ok=True)
    (folder / file).write_text("".join(f"- {entry}\n" for entry in entries), encoding="utf-8")
    return read_fixes([folder], FIXES)


def test_entries_have_their_place_and_their_scene(tmp_path: Path) -> None:
    one, two = read(tmp_path, COUNT, DROP)
    assert (one.scene, one.line, two.line, one.file) == ("made/a", 1, 2, tmp_path / "made.yaml")
    assert one.fix.change == "count of table 2 -> 3"
    assert one.place == "fix made-0001 (line 1)"


def test_an_entry_is_the_same_wherever_it_stands(tmp_path: Path) -> None:
    alone = read(tmp_path / "one", COUNT)[0]
    moved = read(tmp_path / "two", DROP, COUNT)[1]
    other = read(tmp_path / "three", COUNT.replace("set: 3", "set: 4"))[0]
    assert alone.digest == moved.digest != other.digest


def test_an_empty_file_is_one_of_no_fixes(tmp_path: Path) -> None:
    (tmp_path / "made.yaml").write_text("# nothing yet\n", encoding="utf-8")
    assert read_fixes([tmp_path], FIXES) == []


def test_what_is_shipped_is_sound_and_every_target_has_one_kind() -> None:
    assert len(read_fixes([SHIPPED], FIXES)) >= 10
    targets = [target_of(kind) for kind in FIXES]
    assert len(set(targets)) == len(targets)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (COUNT.replace("set: 3", "sett: 3"), r"line 1: fix made-0001: no set; line 1: fix made-0001: unknown key sett"),
        (COUNT.replace("set: 3", "set: three"), r"fix made-0001: set: .*valid integer.*three"),
        (COUNT.replace("set: 3", "set: 3.0"), "fix made-0001: set: .*valid integer"),
        (COUNT.replace("set: 3", "set: -1"), "greater than or equal to 0"),
        (COUNT.replace("target: count", "target: counts"), "unknown target counts; there are .*count.*drop_scene"),
        (COUNT.replace("target: count, ", ""), "made-0001: no target; there are"),
        (COUNT.replace("2026-01-31", "2026-02-31"), "date: Input should be a valid date"),
        (COUNT.replace("2026-01-31", "1767139200"), "date: write a date as 2025-03-31"),
        (COUNT.replace("2026-01-31", "2026-01-31 10:00:00"), "date: write a date as 2025-03-31"),
        (COUNT.replace("made-0001", "'No 1!'"), "fix No 1!: id: String should match pattern"),
        (COUNT.replace("of: table", "of: 'a, b'"), "cannot stand in a question"),
        (COUNT.replace("why: counted", "why: ''"), "why: "),
        (COUNT.replace("who: me", "who: your name"), 'who: "your name" is what trace writes: put your own words'),
        (BOX.replace("[1, 1, 2]", "[1000, 400, 750]"), "are these millimetres"),
        (BOX.replace("set: {lengths_m", "set: {lengths_cm"), "unknown key set.lengths_cm; values carry their unit"),
        (BOX.replace("set: {lengths_m: [1, 1, 2]}", "set: {center_m: [1, 1, 2]}"), "expect gives lengths_m, set gives"),
        (BOX.replace("[1, 1, 2]", "[.nan, 1, 1]"), "finite number"),
        ("just words", "line 1: a fix is a mapping, not str"),
        ("{id: made-0001, id: made-0002}", "line 1: the key 'id' is given twice"),
        ("[" * 40 + "]" * 40, "nested more than 10 deep"),
        ("{a: &x [1, 2], b: *x}", r"line 1: an alias \(\*x\); write the value out"),
        ("!!python/object/apply:os.system ['true']", "cannot be read as YAML"),
        ("{id: made", "cannot be read as YAML"),
    ],
)
def test_what_is_wrong_is_told(entry: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"{tmp_path}/made.yaml: .*{says}"):
        read(tmp_path, entry)


def test_all_wrong_entries_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 1: .*; line 3: "):
        read(tmp_path, COUNT.replace("set: 3", "set: x"), DROP, BOX.replace("box", "bocks"))


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, "; and 1 more")])
def test_five_wrong_entries_are_named_with_as_much_of_their_values_as_fits(
    count: int, more: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, *(f"{{id: {'x' * length}, target: t}}" for length in range(58, 58 + count)))
    known = ", ".join(sorted(target_of(kind) for kind in FIXES))
    named = ["x" * 58, "x" * 59, "x" * 60, "x" * 59 + "…", "x" * 59 + "…"]
    told = [f"line {n}: fix {name}: unknown target t; there are {known}" for n, name in enumerate(named, start=1)]
    assert str(raised.value) == f"{tmp_path}/made.yaml: {'; '.join(told)}{more}"


def test_a_bomb_of_aliases_is_refused_before_it_grows(tmp_path: Path) -> None:
    levels = "\n".join(f"- &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10))
    (tmp_path / "made.yaml").write_text(f"- &l0 [lol]\n{levels}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 2: an alias \(\*l0\)"):
        read_fixes([tmp_path], FIXES)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"#" * (BYTES_MAX + 1), "larger than 2 MB"),
        (b"- \xff\xfe", "byte 2 is not UTF-8"),
        (b"made: {}", "line 1: a file of fixes is a list"),
        (b"- a\n---\n- b\n", "expected a single document"),
    ],
)
def test_files_that_hold_no_list_are_refused(raw: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "made.yaml").write_bytes(raw)
    with pytest.raises(ConfigError, match=says):
        read_fixes([tmp_path], FIXES)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ((COUNT, COUNT.replace("set: 3", "set: 4")), "made.yaml:1 and .*made.yaml:2: two fixes have the id made-0001"),
        ((COUNT, COUNT.replace("0001", "0009")), "fixes made-0001 and made-0009 are about the same value of made/a"),
        ((DROP, BOX), "made-0002 and made-0003 are about the same value"),
        ((COUNT, "{id: made-0004, scene: a, target: drop_scene, why: w, who: w, date: 2026-01-31}"), "same value"),
    ],
)
def test_two_fixes_on_one_value_are_refused(entries: tuple[str, ...], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        read(tmp_path, *entries)


def test_two_fixes_on_two_values_are_none(tmp_path: Path) -> None:
    other = COUNT.replace("0001", "0009")
    assert len(read(tmp_path, COUNT, DROP, other.replace("scene: a", "scene: b"))) == 3
    per_reader = (COUNT[:-1] + ", reader: scannet}", other[:-1] + ", reader: vsi_meta}")
    assert len(read(tmp_path, *per_reader)) == 2


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder of fixes"):
        read_fixes([tmp_path / "none"], FIXES)

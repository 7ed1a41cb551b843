"""A release without answers: nothing in it tells them, and nobody can change them unseen."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import table_bytes
from pipeline.core.templates import load_table
from pipeline.questions.published import published_rows
from pipeline.release.released import checksums
from pipeline.release.tables import SCHEMA_METADATA
from pipeline.release.withheld import SALT, _commitments, _words
from tests.builds import Cli
from tests.release.test_training import release_of
from tests.scoring.made import said, vsi

ANSWER = "7345"


@pytest.fixture
def open_release(tmp_path: Path) -> Path:
    """Two questions; their answers stand in the evidence, a drawing, a file for a harness and the card."""
    release = release_of(tmp_path / "own", [vsi(1, truth=ANSWER), vsi(2, truth="3", scene="room2")])
    for name in ("README.md", "pictures/made/room1/1.svg", "eval/vlmevalkit/a.tsv", "without_video.json"):
        (release / name).parent.mkdir(parents=True, exist_ok=True)
        (release / name).write_text(
            f"# Rooms\nlicense: cc-by-4.0\nthe answer is {ANSWER}" if ".json" not in name else "[]"
        )
    (release / "croissant.json").write_text('{"name": "Rooms", "license": "LICENSES.md", "version": "1.0.0"}')
    files = [path for path in sorted(release.rglob("*")) if path.is_file() and path.name != "checksums.sha256"]
    sums = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.relative_to(release)}\n" for f in files]
    (release / "checksums.sha256").write_text("".join(sums))
    return release


def withheld(scan2qa: Cli, release: Path, to: Path) -> Path:
    run = scan2qa("withhold", "vsi", release, "--to", to, "--answers", to.with_suffix(".parquet"))
    assert run.code == 0, run.err
    return to


def test_nothing_that_is_published_tells_the_answer(scan2qa: Cli, open_release: Path, tmp_path: Path) -> None:
    public = withheld(scan2qa, open_release, tmp_path / "public")
    files = {str(path.relative_to(public)) for path in public.rglob("*") if path.is_file()}
    table = "test-00000-of-00001.parquet"
    assert files == {
        "README.md",
        "LICENSES.md",
        "checksums.sha256",
        "croissant.json",
        f"data/{table}",
        f"commitments/{table}",
    }
    for file in files:
        read = str(pq.read_table(public / file).to_pylist()) if file.endswith(".parquet") else ""
        assert ANSWER not in read, file
        assert ANSWER.encode() not in (public / file).read_bytes(), file
    assert pq.read_schema(public / "data" / table).names == pq.read_schema(open_release / "data" / table).names
    assert "license: cc-by-4.0" in (public / "README.md").read_text()
    checks = {one["name"]: one["holds"] for one in json.loads(scan2qa("publish", public, "--json").out)["checks"]}
    assert {name for name, holds in checks.items() if not holds} == {"a contact", "a date", "it was made of real data"}


def test_pictures_that_questions_show_come_along_and_no_others(scan2qa: Cli, tmp_path: Path) -> None:
    asked, other = ("views/made/p1/a.jpg", "views/made/p1/b.jpg"), "views/made/p2/a.jpg"
    release = release_of(tmp_path / "own", [vsi(1, truth=ANSWER)])
    row = {"id": 1, "panorama": "p1", "dimension": "d", "task": "Distance", "setting": "views", "form": "open"}
    row |= {"dataset": "made", "question": "How far?", "ground_truth": ANSWER, "images": list(asked)}
    table = pa.Table.from_pylist([row], BENCHMARKS["ergeobench"].columns.schema)
    files = {name: name.encode() for name in (*asked, other)}
    files |= {
        "data/test-00000-of-00001.parquet": table_bytes(table, 1, SCHEMA_METADATA),
        "README.md": b"license: cc0-1.0",
    }
    files |= {"LICENSES.md": b"", "croissant.json": b'{"name": "Views", "license": "LICENSES.md"}'}
    for name, raw in files.items():
        (release / name).parent.mkdir(parents=True, exist_ok=True)
        (release / name).write_bytes(raw)
    sums = {name: hashlib.sha256(raw).hexdigest() for name, raw in files.items()}
    (release / "checksums.sha256").write_bytes(checksums(sums))
    to = tmp_path / "public"
    run = scan2qa("withhold", "ergeobench", release, "--to", to, "--answers", tmp_path / "answers.parquet")
    assert run.code == 0, run.err
    assert not any(path.stat().st_nlink > 1 for path in to.rglob("*.jpg")), "the release's own would change with it"
    told = dict(reversed(line.split("  ")) for line in (to / "checksums.sha256").read_text().splitlines())
    assert {path.relative_to(to).as_posix() for path in to.rglob("*.jpg")} == {*asked}
    assert {name: told[name] for name in asked} == {name: sums[name] for name in asked}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_is_kept_of_a_benchmark_is_named_and_its_answer_is_not(name: str) -> None:
    kept = set(load_table("card/withheld")["asked"][name])
    for columns in BENCHMARKS[name].all_columns:
        secret = {field: None if field in kept else ANSWER for field in columns.schema.names}
        shared = columns.row(secret | {"id": 1} if "id" in kept else secret)
        assert shared is None or shared["ground_truth"] == ANSWER
        public = {field: None if field not in kept else "x" for field in columns.schema.names}
        assert ANSWER not in str(columns.row(public))
    assert kept <= {field for columns in BENCHMARKS[name].all_columns for field in columns.schema.names}


def test_a_commitment_is_a_digest_that_others_compute(scan2qa: Cli, open_release: Path, tmp_path: Path) -> None:
    public = withheld(scan2qa, open_release, tmp_path / "public")
    answers = pq.read_table(tmp_path / "public.parquet")
    (first, _) = answers.to_pylist()
    assert {name: first[name] for name in ("id", "ground_truth")} == {"id": 1, "ground_truth": ANSWER}
    assert len(first["salt"]) == 32
    told = f'{first["salt"]}\n1\n{{"ground_truth": "7345", "pruned": false}}\n'
    (row, _) = pq.read_table(next((public / "commitments").iterdir())).to_pylist()
    assert row == {"id": "1", "sha256": hashlib.sha256(told.encode()).hexdigest()}
    assert row == _commitments(answers.select(answers.column_names[::-1]), "id")[0], "in whatever order of columns"


def test_salts_are_kept_with_the_answers_and_drawn_anew_without(
    scan2qa: Cli, open_release: Path, tmp_path: Path
) -> None:
    def of(folder: Path) -> bytes:
        return (folder / "checksums.sha256").read_bytes()

    first = withheld(scan2qa, open_release, tmp_path / "a")
    other = withheld(scan2qa, open_release, tmp_path / "b")
    (tmp_path / "c.parquet").write_bytes((tmp_path / "a.parquet").read_bytes())
    assert of(withheld(scan2qa, open_release, tmp_path / "c")) == of(first) != of(other)


def test_the_score_is_that_of_the_open_release(scan2qa: Cli, open_release: Path, tmp_path: Path) -> None:
    public = withheld(scan2qa, open_release, tmp_path / "public")
    replies = said(tmp_path / "p.jsonl", {1: ANSWER, 2: "9"})
    command = ("score", "vsi", replies, "--json", "--release")
    whole, later = scan2qa(*command, open_release), scan2qa(*command, public, "--answers", tmp_path / "public.parquet")
    assert json.loads(later.out)["figures"] == json.loads(whole.out)["figures"]
    board = ("leaderboard", "vsi", public, f"m={replies}", "--json")
    ranked = json.loads(scan2qa(*board, "--answers", tmp_path / "public.parquet").out)["standings"]
    assert ranked == json.loads(scan2qa("leaderboard", "vsi", open_release, f"m={replies}", "--json").out)["standings"]
    for without in (scan2qa(*command, public), scan2qa(*board)):
        assert without.code == 2
        assert "its answers are withheld; give them with --answers" in without.err


def test_an_answer_that_was_changed_is_refused(scan2qa: Cli, open_release: Path, tmp_path: Path) -> None:
    public = withheld(scan2qa, open_release, tmp_path / "public")
    table = pq.read_table(tmp_path / "public.parquet")
    place = table.schema.get_field_index("ground_truth")
    pq.write_table(table.set_column(place, "ground_truth", pa.array(["7345", "4"])), tmp_path / "other.parquet")
    replies = said(tmp_path / "p.jsonl", {1: "4"})
    run = scan2qa("score", "vsi", replies, "--release", public, "--answers", tmp_path / "other.parquet")
    assert run.code == 2
    assert "the answer to question 2 is not the one that commitments/" in run.err


def test_questions_without_answers_can_be_asked(scan2qa: Cli, open_release: Path, tmp_path: Path) -> None:
    path = next((withheld(scan2qa, open_release, tmp_path / "public") / "data").iterdir())
    rows: list[Any] = pq.read_table(path).to_pylist()
    asked = published_rows(path, rows, BENCHMARKS["vsi"].all_columns, withheld=True)
    assert [(one.id, one.ground_truth) for one in asked] == [(1, ""), (2, "")]


@pytest.mark.parametrize(
    ("scene", "answers", "told"),
    [
        ("room1", "public/answers.parquet", "lies in what is published"),
        ("Lyon-4", "answers.parquet", "tells its answer (lyon); rename the scene's folder"),
    ],
)
def test_what_would_tell_an_answer_is_refused(
    scene: str, answers: str, told: str, scan2qa: Cli, tmp_path: Path
) -> None:
    release = release_of(tmp_path / "own", [vsi(1, "route_planning", "Lyon", scene)])
    run = scan2qa("withhold", "vsi", release, "--to", tmp_path / "public", "--answers", tmp_path / answers)
    assert run.code == 2
    assert told in run.err
    other = scan2qa("withhold", "cityeqa", release, "--to", tmp_path / "city", "--answers", tmp_path / "city.parquet")
    assert (other.code, "holds questions of vsi, not of cityeqa" in other.err) == (2, True)
    (old := tmp_path / "old.csv").write_text("id,answer\n")
    other = scan2qa("withhold", "vsi", release, "--to", tmp_path / "more", "--answers", old)
    assert (other.code, f"{old}: cannot be read as Parquet" in other.err) == (2, True)
    assert other.err.endswith("; give a new file with --answers\n")


def test_what_a_name_may_hold_by_chance_tells_nothing() -> None:
    """Letters of options, short words and numbers; of an answer in parts each part counts."""
    parts = '{"street": "Rue Hoche", "number": 44}'
    held = {"a": "C", "b": "yes", "c": "7345", "d": "Lyon", "e": None, SALT: "abcdef", "f": parts}
    assert _words(held) == ["lyon", parts.casefold(), "rue hoche"]

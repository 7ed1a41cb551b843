import gzip
import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.parquet import table_bytes
from pipeline.core.schema import SCHEMA_VERSION
from pipeline.core.tables import CHECKSUMS, WITHOUT_VIDEO
from pipeline.questions.published import Published
from pipeline.scoring import predictions
from pipeline.scoring.predictions import CELL_MOST, LMMS_EVAL, PLAIN, TRAJECTORIES, VLMEVALKIT, read_predictions
from pipeline.scoring.score import answered, split_of
from tests.scoring.made import file_of, said

REPLY = 'NA, "so" to say\n007'
BIG_ID = 9_007_199_254_740_991  # 53 bits


def pairs(*paths: Path) -> list[tuple[str | None, Any]]:
    return [(row.id, row.reply) for row in read_predictions(paths).rows]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx", "jsonl", "json", "parquet"])
def test_plain_tables(suffix: str, tmp_path: Path) -> None:
    """Nothing becomes a number or a missing value on its way."""
    path = tmp_path / f"p.{suffix}"
    rows: list[dict[str, Any]] = [
        {"id": BIG_ID, "answer": REPLY},
        {"id": 7, "answer": "2.50"},
        {"id": 8, "answer": "NA"},
    ]
    frame = pd.DataFrame(rows)
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "xlsx": lambda: frame.to_excel(path, index=False),
        "jsonl": lambda: file_of(path, rows),
        "json": lambda: file_of(path, rows),
        "parquet": lambda: pq.write_table(pa.Table.from_pylist(rows), path),
    }[suffix]()
    assert read_predictions([path]).form == PLAIN
    assert pairs(path) == [(str(BIG_ID), REPLY), ("7", "2.50"), ("8", "NA")]


@pytest.mark.parametrize("name", ["question_id", "Question_id"])
def test_ids_as_the_benchmarks_name_them(name: str, tmp_path: Path) -> None:
    assert pairs(file_of(tmp_path / "p.jsonl", [{name: "a1", "answer": "B"}])) == [("a1", "B")]


def sample(**other: Any) -> dict[str, Any]:
    """A line of lmms-eval 0.7.3: the question's own row is left out, its place is kept."""
    return {"doc_id": 1, "target": "B", "filtered_resps": "The B", "doc_hash": "x", "input": "Which?"} | other


@pytest.mark.parametrize(
    ("line", "id_", "place", "reply"),
    [
        (sample(), None, 1, "The B"),
        (sample(vsibench_overall={"id": 41, "prediction": "The B"}), "41", None, "The B"),
        (sample(doc={"Question_id": 5}, filtered_resps=["B"]), "5", None, "B"),  # older versions
        (sample(filtered_resps=[["B"]]), None, 1, "B"),
        ({"doc_id": 0, "target": "B", "resps": ["B"]}, None, 0, "B"),
        (sample(filtered_resps=["B", "C"]), None, 1, ["B", "C"]),
    ],
)
def test_samples_of_lmms_eval(
    line: dict[str, Any], id_: str | None, place: int | None, reply: Any, tmp_path: Path
) -> None:
    found = read_predictions([file_of(tmp_path / "20261122_samples_vsibench.jsonl", [line])])
    (row,) = found.rows
    assert (found.form, row.id, row.place, row.reply) == (LMMS_EVAL, id_, place, reply)


def question(number: int, truth: str = "B") -> Published:
    return Published(number, "made", "room1", "route_planning", "?", ("A. x", "B. y"), truth)


def test_a_place_counts_only_with_the_truth_that_stands_there(tmp_path: Path) -> None:
    """lmms-eval tells rows: of another file, or another split, they are other questions."""
    asked = [question(10, "A"), question(20)]
    found = read_predictions([file_of(tmp_path / "s.jsonl", [sample()])])
    assert [a.reply for a in answered(asked, found, Path("q"))[0]] == [None, "The B"]
    with pytest.raises(ConfigError, match="its truth is 'B', and that of row 1 in q is 'A'"):
        answered(asked[::-1], found, Path("q"))
    with pytest.raises(ConfigError, match="there is no row 1 in q"):
        answered(asked[:1], found, Path("q"))


@pytest.mark.parametrize("suffix", ["tsv", "xlsx"])
def test_results_of_vlmevalkit(suffix: str, tmp_path: Path) -> None:
    """Its `answer` is the truth."""
    frame = pd.DataFrame([{"index": 3, "question": "?", "A": "x", "answer": "A", "prediction": "B"}])
    path = tmp_path / f"model_VSI.{suffix}"
    frame.to_excel(path, index=False) if suffix == "xlsx" else frame.to_csv(path, sep="\t", index=False)
    assert read_predictions([path]).form == VLMEVALKIT
    assert pairs(path) == [("3", "B")]


def test_an_id_of_its_own_goes_before_the_index(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text("index\tid\tprediction\n0\t77\tB\n")
    assert pairs(tmp_path / "m.tsv") == [("77", "B")]


def test_forms_are_not_mixed(tmp_path: Path) -> None:
    plain, harness = said(tmp_path / "p.jsonl", {1: "B"}), file_of(tmp_path / "s.jsonl", [sample()])
    with pytest.raises(ConfigError, match=r"p.jsonl, row 1 is of table of id and answer, .*s.jsonl, row 1 of lmms-"):
        read_predictions([plain, harness])
    with pytest.raises(ConfigError, match="row 2 of lmms-eval's samples"):
        read_predictions([file_of(tmp_path / "m.jsonl", [{"id": 1, "answer": "B"}, sample()])])
    rows = [{"id": 1, "steps": [[0] * 6], "answer": "B"}, {"id": 2, "answer": "B"}]
    assert read_predictions([file_of(tmp_path / "t.jsonl", rows)]).form == TRAJECTORIES


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.txt", "id,answer", "results are read as .csv, .tsv, .xlsx"),
        ("p.csv", "\n", "cannot be read as .csv: it is empty$"),
        ("p.csv", "id;answer\n1;2,5\n", "cells are separated by ';'; write a .csv with commas, or a .tsv with tabs"),
        ("p.csv", "id\tanswer\n1\t2\n", r"cells are separated by '\\t'"),
        ("p.csv", "id,answer\n", "holds no answers"),
        ("p.csv", "doc_id,target\n1,2\n", "row 1: its columns are doc_id, target; give columns id and answer"),
        ("p.csv", "id,answer\n,B\n", "row 1: id is None; give the question's id"),
        ("p.csv", "id,answer\n1,B,so\n2,C,so\n", "Expected 2 fields in line 2, saw 3"),
        ("p.csv", "id,answer,answer\n1,B,C\n", "two columns are named answer"),
        ("p.jsonl", "{", "cannot be read as .jsonl: line 1: "),
        ("p.jsonl", '{"id": 1, "answer": "B"}\n{"id": 2, "ans', "line 2: Unterminated string"),
        ("p.json", "5", "it holds int, not a list of answers$"),
        ("p.json", '"the results"', "it holds str, not a list of answers$"),
        ("p.pkl", "no", "pickles are never opened, .*PRED_FORMAT=tsv"),
        ("p.jsonl.gz", "no", "cannot be read as .jsonl: Not a gzipped file"),
        ("p.jsonl", "7", "row 1: it is '7'; give columns id"),
        ("p.jsonl", '{"id": true, "answer": "B"}', "id is True"),
        ("p.json", '{"results": {}}', "of lmms-eval give the samples"),
        ("p.json", "[" * 100_000, "cannot be read as .json"),
        ("p.xlsx", "no", "cannot be read as .xlsx"),
        ("p.parquet", "no", "cannot be read as .parquet"),
        ("p.jsonl", json.dumps(sample(doc_id="x")), "doc_id is 'x'"),
    ],
)
def test_what_is_no_result_file(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message) as refused:
        read_predictions([tmp_path / name])
    assert name in str(refused.value)


def test_a_damaged_spreadsheet_and_one_too_large_are_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole.xlsx"
    pd.DataFrame({"id": range(50), "answer": "B"}).to_excel(whole, index=False)
    raw = bytearray(whole.read_bytes())
    for at in range(60, len(raw) - 60, 97):
        broken = raw[:at] + bytes(60) + raw[at + 60 :]
        (tmp_path / "p.xlsx").write_bytes(broken)
        with suppress(ConfigError):  # some bytes matter to nobody
            read_predictions([tmp_path / "p.xlsx"])
    monkeypatch.setattr(predictions, "TABLE_BYTES_MAX", 1000)
    for name, text in {"p.csv": b"id,answer\n" * 200, "p.csv.gz": gzip.compress(b"id,answer\n" * 200)}.items():
        (tmp_path / name).write_bytes(text)
        with pytest.raises(ConfigError, match=r"p\.csv.*: cannot be read as \.csv: .*1000"):
            read_predictions([tmp_path / name])


def test_logs_of_inspect_hold_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They are not parsed, so that they count to the limit of rows alone; what only begins as one is a reply."""
    monkeypatch.setattr(predictions, "TABLE_BYTES_MAX", 1000)
    log = tmp_path / "log.json"
    sample = {"id": 1, "epoch": 1, "output": {"completion": "data:image/png;base64,AB is B"}}
    log.write_text(
        json.dumps({"eval": {}, "samples": [sample | {"attachments": {"x": f"data:image/jpeg;base64,{'A' * 3000}"}}]})
    )
    assert [row.reply for row in read_predictions([log]).rows] == ["data:image/png;base64,AB is B"]
    monkeypatch.setattr(predictions, "ROWS_BYTES_MAX", 1000)
    with pytest.raises(ConfigError, match=r"bytes, over 1000; run inspect eval with --no-log-images"):
        read_predictions([log])
    log.write_text(json.dumps([{"id": n, "answer": "B"} for n in range(40)]))
    monkeypatch.undo()
    monkeypatch.setattr(predictions, "TABLE_BYTES_MAX", 500)
    with pytest.raises(ConfigError, match="bytes without pictures, over 500"):
        read_predictions([log])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json"])
def test_encodings_that_spreadsheets_write(suffix: str, encoding: str, tmp_path: Path) -> None:
    text = {
        "csv": "id,answer\r\n1,größer\r\n",
        "jsonl": '{"id": 1, "answer": "größer"}\r\n',
        "json": '[{"id": 1, "answer": "größer"}]',
    }[suffix]
    (tmp_path / f"p.{suffix}").write_bytes(text.encode(encoding))
    assert pairs(tmp_path / f"p.{suffix}") == [("1", "größer")]


def test_what_is_no_utf8_is_said(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_bytes("id,answer\n1,größer\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"p.csv: .*byte 14 is not UTF-8; save it as UTF-8"):
        read_predictions([tmp_path / "p.csv"])


def test_samples_in_a_folder_packed_or_not(tmp_path: Path) -> None:
    """What lmms-eval writes below --output_path, whatever else lies there."""
    runs = tmp_path / "runs" / "model"
    runs.mkdir(parents=True)
    file_of(runs / "20261122_samples_scan2qa_vsi_test.jsonl", [sample(doc_id=0)])
    (runs / "20261122_results.json").write_text('{"results": {}}')
    (runs / "20261123_samples_scan2qa_vsi_test.jsonl.gz").write_bytes(gzip.compress(json.dumps(sample()).encode()))
    found = read_predictions([tmp_path / "runs"])
    assert (found.form, [row.place for row in found.rows]) == (LMMS_EVAL, [0, 1])


def test_other_folders_say_what_is_in_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this folder holds no results"):
        read_predictions([tmp_path])
    (tmp_path / "model_VSI.tsv").write_text("index\tprediction\n3\tB\n")
    with pytest.raises(ConfigError, match=r"give the files that hold the replies, of .*/model_VSI.tsv$"):
        read_predictions([tmp_path])


@pytest.mark.parametrize(
    ("name", "row"),
    [
        (
            "m_samples_t.jsonl",
            sample(id=1, filtered_resps="[LMMS_EVAL_REQUEST_FAILED after 5 retries] Error code: 401"),
        ),
        ("m.jsonl", {"index": 1, "prediction": "Failed to obtain answer via API."}),
        ("log.json", {"id": 1, "epoch": 1, "output": {"completion": "B"}, "error": {"message": "timeout"}}),
    ],
)
def test_a_request_that_failed_is_no_reply(name: str, row: dict[str, Any], tmp_path: Path) -> None:
    log = {"status": "error", "eval": {}, "error": {"message": "no such model"}}
    (tmp_path / name).write_text(json.dumps(log | {"samples": [row]} if name == "log.json" else row))
    (found,) = read_predictions([tmp_path / name]).rows
    assert (found.reply, found.has_failed) == (None, True)
    (tmp_path / "log.json").write_text(json.dumps(log))
    with pytest.raises(ConfigError, match="ended as error without a sample: no such model"):
        read_predictions([tmp_path / "log.json"])


def test_replies_that_a_spreadsheet_cut_off_are_counted(tmp_path: Path) -> None:
    path, thoughts = tmp_path / "m.xlsx", "a" * CELL_MOST
    pd.DataFrame([{"index": 1, "prediction": thoughts}, {"index": 2, "prediction": "B"}]).to_excel(path, index=False)
    answers, found = answered([question(1), question(2)], read_predictions([path]), Path("q"))
    assert found == {"cut_off": ["1"]}
    assert [a.reply for a in answers] == [thoughts, "B"]


def test_halves_of_characters_can_be_written(tmp_path: Path) -> None:
    """JSON escapes them, and no file takes them."""
    (tmp_path / "p.jsonl").write_text('{"id": 1, "answer": "\\ud83d B"}\n{"id": "\\ud800", "answer": "B"}\n')
    answers, found = answered([question(1)], read_predictions([tmp_path / "p.jsonl"]), Path("q"))
    assert (answers[0].reply, found) == ("? B", {"unknown_id": ["?"]})


def test_what_does_not_fit_is_counted_by_name(tmp_path: Path) -> None:
    asked = [question(n) for n in range(1, 9)]
    rows: list[dict[str, Any]] = [
        {"id": 1, "answer": "B"},
        {"id": 1, "answer": "B"},
        {"id": 2, "answer": ["B"]},
        {"id": 3, "answer": None},
        {"id": 4, "answer": " "},
        {"id": 5, "answer": 4.0},
        {"id": 6, "answer": True},
        {"id": 8, "answer": float("nan")},
        {"id": 99, "answer": "B"},
    ]
    answers, found = answered(asked, read_predictions([file_of(tmp_path / "p.jsonl", rows)]), Path("q"))
    assert [a.reply for a in answers] == ["B", None, None, None, "4", None, None, None]
    assert found == {
        "said_twice": ["1"],
        "not_a_text": ["2", "6", "8"],
        "unanswered": ["3", "4", "7"],
        "unknown_id": ["99"],
    }


def test_two_replies_to_one_question_are_refused(tmp_path: Path) -> None:
    rows = [{"id": 1, "answer": "B"}, {"id": 1, "answer": "C"}]
    with pytest.raises(ConfigError, match=r"row 2: question 1 has another reply in .*row 1; delete one"):
        answered([question(1)], read_predictions([file_of(tmp_path / "p.jsonl", rows)]), Path("q"))


def test_replies_to_other_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none of the ids \(77, …\) is in q"):
        answered([question(1)], read_predictions([said(tmp_path / "p.jsonl", {77: "B"})]), Path("q"))


@pytest.mark.parametrize(
    "steps", ["here", [], [[1, 2, 3]], [[1, 2, 3, 4, 5, "6"]], [[1, 2, 3, 4, 5, float("nan")]], [[1, 2, 3, 4, 5, True]]]
)
def test_trajectories_that_are_none(steps: Any, tmp_path: Path) -> None:
    rows = [{"id": 1, "steps": steps, "answer": "B"}]
    answers, found = answered([question(1)], read_predictions([file_of(tmp_path / "p.jsonl", rows)]), Path("q"))
    assert found == {"bad_steps": ["1"]}
    assert (answers[0].reply, answers[0].steps) == ("B", None)


def test_a_trajectory_may_be_one_pose(tmp_path: Path) -> None:
    rows = [{"id": 1, "steps": [[1, 2, 3, 0, 0, 90]], "answer": "B"}]
    answers, found = answered([question(1)], read_predictions([file_of(tmp_path / "p.jsonl", rows)]), Path("q"))
    assert found == {}
    assert answers[0].steps is not None
    assert answers[0].steps.tolist() == [[1, 2, 3, 0, 0, 90]]


def released(folder: Path, *files: str, version: int = SCHEMA_VERSION) -> Path:
    """A release of such tables."""
    raw = table_bytes(pa.table({"id": [1]}), metadata={"scan2qa_schema_version": str(version)})
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(raw)
    (folder / CHECKSUMS).write_text("".join(f"{sha256(raw).hexdigest()}  {file}\n" for file in files))
    return folder


def test_splits_of_a_release(tmp_path: Path) -> None:
    """The full one is asked for unless another is named; the blind table is about answers of the whole video."""
    one = "-00000-of-00001.parquet"
    shards = [f"data/test-0000{n}-of-00002.parquet" for n in (0, 1)]
    others = [f"{name}{one}" for name in ("data/debiased", "16_frame/test", "twins/test", "rejected/test")]
    release = released(tmp_path / "r", WITHOUT_VIDEO, *others, *shards)
    full, blind = release / "data" / "test-*-of-00002.parquet", release / WITHOUT_VIDEO
    assert split_of(release) == ("test", full, blind, None)
    assert split_of(release, "debiased") == ("debiased", release / others[0], blind, full)
    assert split_of(release, "16_frame") == ("16_frame", release / others[1], None, None)
    assert split_of(release, "twins") == ("twins", release / others[2], None, None)
    with pytest.raises(ConfigError, match="no split 'rejected'; there are 16_frame, debiased, test, twins"):
        split_of(release, "rejected")
    only = released(tmp_path / "only", others[1])
    assert split_of(only).name == "16_frame", "there is no other"
    with pytest.raises(ConfigError, match="no split ''; there are 16_frame, debiased"):
        split_of(released(tmp_path / "parts", *others[:2]))
    with pytest.raises(ConfigError, match=f"schema version {SCHEMA_VERSION - 1}"):
        split_of(released(tmp_path / "old", *shards, version=SCHEMA_VERSION - 1))

"""Verdict files: what people fill comes back, and every kind of bad file and row is told."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import ConfigError
from pipeline.review.review_bundle import pack_tables, read_review_bundle
from pipeline.review.sheets import interface, neutral, plain, read_rows, sheet, taken, tasks, verdict_sheet
from pipeline.review.verdicts import REASONS, ReviewVerdict, verdicts_of
from tests.review.label_studio_schema import problems_of
from tests.review.made import AT, EVIDENCE_NAME, pack_of, rooms, write_table

PACK = pack_of(rooms(4), "made/room.mp4")
ITEMS = {item.id: item for item in PACK.items}
HEAD = "id,reviewer,answer,reason,note\n"


def read(path: Path, raw: bytes | str) -> list[tuple[int, dict[str, str]]]:
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    return read_rows(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.csv"


def test_what_reviewers_open_holds_no_truth() -> None:
    tables = pack_tables(PACK)
    assert read_review_bundle(tables) == PACK
    assert not {"truth", "answer", "ground_truth", "evidence", "operands"} & set(tables["items"].column_names)
    for raw in (
        sheet(PACK.items),
        tasks(PACK.items, "/", "videos"),
        interface(PACK.items),
        str(tables["items"].to_pylist()).encode(),
    ):
        assert EVIDENCE_NAME.encode() not in raw
    rows = list(csv.DictReader(io.StringIO(sheet(PACK.items).decode("utf-8-sig"))))
    assert {row["answer"] for row in rows} == {""}


def test_a_filled_sheet_comes_back_whatever_spreadsheet_saved_it(path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(sheet(PACK.items).decode("utf-8-sig"))))
    rows[0] |= {"reviewer": "Ann Ö.", "answer": "b"}
    rows[2] |= {"reviewer": "Ann Ö.", "answer": "2.5", "note": "=1+1"}
    rows[3] |= {"reviewer": "Ann Ö.", "reason": "object not visible"}
    found = []
    for delimiter, encoding in ((",", "utf-8"), (";", "utf-8-sig"), ("\t", "utf-16")):
        out = io.StringIO()
        writer = csv.DictWriter(out, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows([rows[0], rows[2], rows[3]])
        got = taken(read(path, out.getvalue().encode(encoding)), ITEMS, PACK.truths, [], AT)
        assert got.left_out == []
        found.append(got.events)
    assert found[0] == found[1] == found[2]
    said = {v.item: (v.answer, v.decision, v.reason, v.note) for v in verdicts_of(found[0])}
    # 1: B is the truth and so accepted; 3: so is 2.5; 4: flagged without an answer.
    assert said == {
        1: ("B", "accept", None, None),
        3: ("2.5", "accept", None, "=1+1"),
        4: (None, "flag", "not_visible", None),
    }


def test_all_that_can_be_wrong_with_a_row_is_told_with_its_line(path: Path) -> None:
    lines = {
        "99,ann,A,,": "this build has no question 99",
        "9" * 5000 + ",ann,A,,": f"id '{'9' * 300}… (5,000 characters)' is no whole number",
        "1.23E+15,ann,A,,": "id '1.23E+15' is no whole number",
        "1,,A,,": "no reviewer is named",
        "1,ann,F,,": "answer 'F' is not a letter up to D",
        "3,ann,wide,,": "answer 'wide' is not a number",
        "1,ann,A,nonsense,": "unknown reason 'nonsense'",
        "1,ann,,,": "says nothing: no answer and no reason",
        "1,ann,,other,": "the reason other without a note",
        f"1,{'x' * 41},A,,": "the reviewer's name has more than 40 characters, or some that cannot be printed",
        "2,bo,C,,": None,
        '2,bo,C,,"kept, with a comma"': "bo says otherwise on question 2 in line 12",
        "4,bo,A,,": None,
        "4,bo,A,, ": None,  # the same again
    }
    found = taken(read(path, HEAD + "\n".join(lines)), ITEMS, PACK.truths, [], AT)
    expected = [(line, said) for line, said in enumerate(lines.values(), start=2) if said]
    assert [(row.line, row.finding) for row in found.left_out] == expected
    assert all(row.remedy for row in found.left_out)
    assert ({e.item for e in found.events}, found.already_known) == ({2, 4}, 1)


def test_the_first_answer_stays_and_a_file_imported_twice_adds_nothing(path: Path) -> None:
    rows = read(path, HEAD + "1,ann,B,,\n2,ann,A,,\n")
    first = taken(rows, ITEMS, PACK.truths, [], AT)
    known = verdicts_of(first.events)
    again = taken(rows, ITEMS, PACK.truths, known, "later")
    assert (again.events, again.already_known, again.left_out) == ([], 2, [])
    other = taken(read(path, HEAD + "1,ann,C,,\n2,ann,A,direction,\n"), ITEMS, PACK.truths, known, AT)
    assert [row.finding for row in other.left_out] == ["ann says otherwise on question 1 in what is stored"]
    assert [(e.item, e.kind, e.reason) for e in other.events] == [(2, "flag", "direction")]


def test_verdicts_exported_and_imported_again_are_the_same(path: Path) -> None:
    content = ITEMS[1].content
    verdicts = [
        ReviewVerdict(1, content, "=cmd|' /C calc'!A0", answer="B", decision="accept", at=AT),
        ReviewVerdict(
            1, content, "bo", answer="A", decision="flag", reason="direction", note="'+x", correction="C", at=AT
        ),
        ReviewVerdict(1, content, "bo", "adjudicate", answer="A", decision="accept", at=AT),
        ReviewVerdict(3, "before", "@bo", answer="-2", decision=None, note="\tx", at=AT),
    ]
    raw = verdict_sheet(verdicts)
    cells = [cell for row in csv.reader(io.StringIO(raw.decode("utf-8-sig"))) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    found = taken(read(path, raw), ITEMS, PACK.truths, [], "now")
    assert found.left_out == []
    back = verdicts_of(found.events)
    assert [(v.reviewer, v.answer, v.decision, v.correction, v.at) for v in back] == [
        (v.reviewer, v.answer, v.decision, v.correction, v.at) for v in verdicts
    ]
    assert back[1].note == "'+x"


@settings(max_examples=50)
@given(st.text("=+-@\t\r'a é", max_size=5))
def test_no_cell_is_a_formula_and_none_is_changed_for_good(cell: str) -> None:
    assert not neutral(cell).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert plain(neutral(cell)) == cell


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("id,reviewer,answer\n1,Zoë,A\n".encode("latin-1"), r"byte 23 is not UTF-8; save it as CSV in UTF-8"),
        ("\ufeffid;reviewer\n".encode("utf-16-le")[:-1], "byte .* is not UTF-16"),
        (b"number,answer\n1,A\n", "has no column id, reviewer"),
        (b"id,reviewer,answer\n", "holds no verdict: it has no row below its header"),
        (b"id,reviewer,answer\n1,ann\n", "line 2 has 2 cells, and the header 3"),
        (b"id,reviewer,id\n1,ann,1\n", "a column is named twice"),
        (b'id,reviewer\n1,"ann\n', "line 2 is no CSV"),
        (b"PK\x03\x04\0\0", "neither CSV nor Parquet"),
        (b"PAR1 and no more", "damaged Parquet"),
    ],
)
def test_files_of_another_kind_are_refused_with_a_remedy(path: Path, raw: bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=rf"verdicts\.csv: .*{said}"):
        read(path, raw)


def test_parquet_is_read_too(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "v.parquet", pa.table({"id": [1], "reviewer": ["ann"], "answer": ["B"], "note": [None]})
    )
    assert read_rows(path) == [(1, {"id": "1", "reviewer": "ann", "answer": "B", "note": ""})]
    with pytest.raises(ConfigError, match="cannot be read"):
        read_rows(tmp_path / "absent.csv")


def test_label_studio_takes_the_tasks_and_the_interface() -> None:
    one, two, *_ = PACK.items
    shown = [replace(one, video=None, pictures=("review/pictures/b.jpg", "review/pictures/a.png")), two]
    for items in (PACK.items, shown):
        listed, xml = json.loads(tasks(items, "/data/local-files/?d=", "videos")), interface(items).decode()
        assert problems_of(xml, listed) == []
        assert all(words in xml for words in REASONS.values())
        assert problems_of(xml.replace('toName="options"', 'toName="nowhere"'), listed) != []
        assert problems_of(xml, [{"data": {"question": "?"}}]) != []
        assert not any(item.scene in json.dumps(task["data"]) for item, task in zip(items, listed, strict=True))
    choices = "\n".join(f'    <Choice value="{letter}" hotkey="{letter.lower()}" />' for letter in "ABCDEFGH")
    reasons = "\n".join(f'    <Choice value="{words}" />' for words in REASONS.values())
    assert (
        xml
        == f"""<View>
  <Header value="$question" />
  <Video name="video" value="$video" />
  <Image name="pictures" valueList="$pictures" />
  <Text name="options" value="$options" />
  <Choices name="answer" toName="options" choice="single" showInline="true">
{choices}
  </Choices>
  <Number name="number" toName="options" />
  <Choices name="reason" toName="options" choice="multiple">
{reasons}
  </Choices>
  <TextArea name="note" toName="options" placeholder="note" maxSubmissions="1" />
</View>
"""
    )
    given = {key: listed[0]["data"][key] for key in ("id", "content", "task", "question", "options")}
    texts = (one.question, "\n".join(one.options or ()))
    assert list(given.values()) == [one.id, one.content, one.task, *texts]
    number = json.loads(tasks([PACK.items[2]], "", ""))[0]["data"]
    assert (number["question"], number["options"]) == (PACK.items[2].question, "Give a number.")
    told = [(task["data"]["video"], task["data"]["pictures"]) for task in listed]
    assert 'valueList="$pictures"' in xml
    below = "/data/local-files/?d="
    assert told == [
        ("", [f"{below}review/pictures/b.jpg", f"{below}review/pictures/a.png"]),
        (f"{below}videos/made/room.mp4", []),
    ]
    rows = list(csv.DictReader(io.StringIO(sheet(shown).decode("utf-8-sig"))))
    assert [row["pictures"] for row in rows] == ["review/pictures/b.jpg | review/pictures/a.png", ""]

"""Replies judged by hand, with what three parsers make of them: `python -m tests.metrics.judged` writes the file again.

``judged`` is what a careful reader takes for the answer (null: there is none, or more than one). A letter's options are
`OPTIONS`; a number is judged in the unit of its question. The other columns are ours, VLMEvalKit's and lmms-eval's.
"""

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pipeline.metrics.letters import find_letter
from pipeline.metrics.numbers import find_number, unit_of_question
from tests.oracles.reply_parsers import lmms, lmms_letter, vlmeval_letter, vlmeval_number

FILE: Final = Path(__file__).with_name("replies_judged.jsonl")
OPTIONS: Final = {"A": "chair", "B": "table", "C": "lamp", "D": "door"}
PARSERS: Final = ("ours", "vlmevalkit", "lmms_eval")


def read() -> list[dict[str, Any]]:
    """The rows of the file."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def parsed(row: dict[str, Any]) -> dict[str, str | None]:
    """What each parser makes of a reply; numbers as decimals without trailing zeros."""
    reply = row["reply"]
    if row["kind"] == "letter":
        ours = find_letter(reply, len(OPTIONS), tuple(OPTIONS.values())).value
        theirs, first = vlmeval_letter(reply, OPTIONS), lmms_letter(reply)
        return dict(zip(PARSERS, (ours, theirs, first if first in OPTIONS else None), strict=True))
    number = find_number(reply, unit_of_question(row["question"])).value
    values = (number, vlmeval_number(reply), lmms.extract_number(reply))
    return dict(zip(PARSERS, (None if value is None else shown(value) for value in values), strict=True))


def shown(value: Decimal | float | str) -> str:
    """A number as the file has it."""
    return f"{Decimal(str(value)).normalize():f}"


def verdicts(rows: list[dict[str, Any]], parser: str) -> Counter[str]:
    """How often a parser reads what was judged: ``right``, ``wrong`` (another answer) or ``unread`` (none)."""
    found: Counter[str] = Counter()
    for row in rows:
        if row[parser] == row["judged"]:
            found["right"] += 1
        else:
            found["unread" if row[parser] is None else "wrong"] += 1
    return found


def main() -> None:
    rows = [row | parsed(row) for row in read()]
    FILE.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    for kind in ("letter", "number"):
        of_kind = [row for row in rows if row["kind"] == kind]
        print(kind, len(of_kind), {parser: dict(verdicts(of_kind, parser)) for parser in PARSERS})


if __name__ == "__main__":
    main()

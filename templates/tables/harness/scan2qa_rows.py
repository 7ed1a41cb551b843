"""The questions beside this file for evaluation harnesses: where what they show lies, and what a reply earns.

It needs nothing but Python. `scan2qa score` reads replies with more care, and has the figures of the paper: of those
that this file gives, only letters and MRA are among them.
"""

import json
import math
import os
import re
from itertools import islice
from pathlib import Path

VIDEOS = "SCAN2QA_VIDEOS"
EVAL = Path(__file__).resolve().parent
FARTHEST_KM = 20_037.5


def tables():
    """The tables of questions by name."""
    return {path.stem: path for path in sorted(EVAL.glob("*.jsonl"))}


def rows_of(table, most=None):
    """The questions of a table, or the first of them. Raises ValueError for a name that no table has."""
    if table not in tables():
        raise ValueError(f"no table {table!r}; this release has {', '.join(tables())}")
    with tables()[table].open(encoding="utf-8") as file:
        return [json.loads(line) for line in islice(file, most)]


def budget_of(table):
    """The number of frames that a table is asked of; None: any."""
    return rows_of(table, 1)[0]["frames"]


def root():
    """The folder with the videos: as named, beside the release, or its own. Raises RuntimeError where there is none."""
    if os.environ.get(VIDEOS):
        return Path(os.environ[VIDEOS])
    for own in (EVAL.parents[1] / "videos", EVAL.parent / "media"):
        if own.is_dir():
            return own
    raise RuntimeError(f"set {VIDEOS} to the folder with the videos, such as outputs/BUILD/videos")


def video_of(row):
    """The path of a question's video, None where it has none. Raises FileNotFoundError where it is not there."""
    if not row["video"]:
        return None
    path = root() / row["video"]
    if not path.is_file():
        how = (
            "frames write VIDEOS --release RELEASE"
            if row["frames"]
            else "videos make BENCHMARK RELEASE --root READER=DIR"
        )
        hint = f" If it is: make them with scan2qa {how}"
        raise FileNotFoundError(
            f"{path} is missing: is {VIDEOS} the folder with this release's videos?"
            f"{hint}{' --twins' * (row['mark'] == 'twin')}"
        )
    return str(path)


def images_of(row):
    """The paths of a question's pictures, which lie in the release; the last is its legend, where it has one."""
    paths = [EVAL.parent / name for name in [*row["images"], *filter(None, [row["legend"]])]]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise FileNotFoundError(f"{missing[0]} is missing: the folder eval belongs into the release")
    return [str(path) for path in paths]


def mark(row, reply):
    """What a reply earns, from 0 to 1; of twins 1 where something is made up."""
    text = re.sub(r"(?s).*</think(?:ing)?>", "", str(reply)).strip()
    return MARKS[row["mark"]](row, text)


def _letter(row, text):
    """The first capital letter that stands alone: not "I", nor "A" where it is the article."""
    found = re.search(r"(?<![A-Za-z'])(?:A(?! (?!because|since|as |is )[a-z])|[B-H])(?![A-Za-z'])", text)
    return float(bool(found) and found[0] == row["answer"])


def _number(text):
    """The first number of the last line that has one."""
    for line in reversed(text.splitlines()):
        found = re.search(r"(?<![\w.])-?\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3}\b)", "", line))
        if found:
            return float(found[0])
    return None


def _mra(row, text):
    """Mean relative accuracy over the thresholds .5 to .95."""
    said, truth = _number(text), float(row["answer"])
    if said is None or truth == 0:
        return 0.0
    return sum(abs(said - truth) / truth <= n / 20 for n in range(1, 11)) / 10


def _near(row, text):
    """1 for the truth, falling to 0 where the reply is off by a tenth of it."""
    said, truth = _number(text), float(row["answer"])
    if said is None or truth == 0:
        return float(said == truth)
    return max(0.0, 1 - abs(said - truth) / (0.1 * abs(truth)))


def _plain(text):
    words = " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())
    return re.sub(r"^(?:the answer is |answer )?(?:the |an? )?", "", words)


def _words(row, text):
    """One of the accepted answers, as the whole reply or its last line."""
    lines = text.splitlines()
    forms = {_plain(form) for form in [row["answer"], *row["accepted"]]}
    return float(bool(forms & {_plain(text), _plain(lines[-1]) if lines else ""}))


def _place(row, text):
    """S_err of one reply (ERGeoBench, equation 7); a reply without coordinates earns nothing."""
    truth = json.loads(row["answer"])
    said = [re.search(rf'"(?:{axis})[a-z]*"\s*:\s*"?(-?\d+(?:\.\d+)?)', text) for axis in ("lat", "lon|lng")]
    if not all(said):
        return 0.0
    lat, lon, at, on = map(math.radians, [*(float(found[1]) for found in said), truth["lat"], truth["lon"]])
    half = math.sin((lat - at) / 2) ** 2 + math.cos(lat) * math.cos(at) * math.sin((lon - on) / 2) ** 2
    away = min(2 * 6371.0 * math.asin(math.sqrt(min(half, 1.0))), FARTHEST_KM)
    return max(0.0, 1 - math.log(away + 1) / math.log(FARTHEST_KM + 1))


def _made_up(row, text):
    """1 where the reply does not say that what is asked for cannot be told, or is not among the options."""
    letter = re.match(r"\(?([A-E])\b", text)
    if row["answer"].isalpha() and letter:
        return float(letter[1] != row["answer"])
    told = re.search(r"(?i)cannot be told|can ?not|can't|unable|impossible|not (shown|visible|seen)", text)
    return float(bool(text) and not told and text.rstrip(".") != "0")


MARKS = {"letter": _letter, "mra": _mra, "number": _near, "words": _words, "place": _place, "twin": _made_up}


def means(marks):
    """The mean of all, and of each task, of pairs of a row and its mark.

    Questions of VSI-Bench and ReVSI have families. The mean of all is that of the families that are asked, and that of
    a family is the mean of its types, as published; further tasks stand beside them.
    """
    by_type = {}
    for row, value in marks:
        by_type.setdefault((row["family"], row["question_type"]), []).append(value)
    tasks, families = {}, {}
    for (family, name), own in by_type.items():
        mean = sum(own) / len(own)
        if family:
            families.setdefault(family, []).append(mean)
        else:
            tasks[name] = mean
    families = {name: sum(own) / len(own) for name, own in families.items()}
    whole = list(families.values()) or [value for _, value in marks]
    return sum(whole) / len(whole), families | tasks

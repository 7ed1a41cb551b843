"""A release without its answers: these lie in a file of their own, and commitments to them are published.

What is published is chosen by name (``templates/tables/card/withheld.yaml``), so that a column or file that a later
version adds is withheld until somebody names it.
"""

import hashlib
import json
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.parquet import files_of, read_files, table_bytes
from pipeline.core.tables import CHECKSUMS, check_files, sums_of
from pipeline.core.templates import load_table
from pipeline.questions.asking import AskedOf
from pipeline.questions.published import published_rows
from pipeline.release.contents import ZSTD_LEVEL
from pipeline.release.metadata import CROISSANT_FILE, CroissantPart, croissant
from pipeline.release.released import checksums
from pipeline.release.tables import COMMITMENTS, SCHEMA_METADATA, columns_of
from pipeline.release.terms import TERMS_FILE

NO_CONTACT: Final = "not stated yet (`export.contact`)."
SALT: Final = "salt"  # column of the answers
_SALT_BYTES: Final = 16
_SHORT: Final = 4  # letters: a shorter answer ("yes", "two") stands in many a name
_COMMITTED: Final = pa.schema([("id", pa.string()), ("sha256", pa.string())])


def withhold(benchmark: Benchmark[Any, Any], questions: Path, release: Path, to: Path, answers: Path) -> int:
    """Writes a release without answers, and the answers; the number of questions.

    Args:
        benchmark: whose questions they are.
        questions: the split that is published.
        release: of which it is.
        to: the new folder; it must not be there.
        answers: the file of answers. Where it is there, its salts are kept, so that the release comes out the same.

    Raises ConfigError where the answers would lie in what is published, and where a name tells an answer.
    """
    if to.exists() and any(to.iterdir()):
        raise ConfigError(f"{to}: holds files already; give a new folder with --to")
    if answers.resolve().is_relative_to(to.resolve()):
        raise ConfigError(f"{answers}: lies in what is published; give another folder with --answers")
    paths = files_of(questions)
    table, rows = read_files(paths), [pq.read_metadata(path).num_rows for path in paths]
    known = {name for columns in benchmark.all_columns for name in columns.schema.names}
    if others := [name for name in table.column_names if name not in known]:
        raise ConfigError(f"{questions}: is no table of {benchmark.name}, which has no column {others[0]}")
    key, split = table.schema.names[0], paths[0].name.partition("-0")[0]
    kept = set(load_table("card/withheld")["asked"][benchmark.name])
    held = [name for name in table.column_names if name not in kept]
    old = _answers(answers, key, "give a new file with --answers") if answers.exists() else None
    salted = {} if old is None else dict(zip(map(str, old[key].to_pylist()), old[SALT].to_pylist(), strict=True))
    ids = [str(one) for one in table[key].to_pylist()]
    salts = [salted.get(one) or secrets.token_hex(_SALT_BYTES) for one in ids]
    private = table.select([key, *held]).append_column(SALT, pa.array(salts, pa.string()))
    public = table
    for name in held:
        place = table.schema.get_field_index(name)
        public = public.set_column(place, table.schema.field(name), pa.nulls(len(ids), table.schema.field(name).type))
    _refuse_telling(questions, public, private, benchmark)
    committed = pa.Table.from_pylist([{"id": row.pop("id"), **row} for row in _commitments(private, key)], _COMMITTED)
    files = {
        f"{name}/{path.name}": table_bytes(own.slice(sum(rows[:n]), rows[n]), ZSTD_LEVEL, SCHEMA_METADATA)
        for name, own in (("data", public), (COMMITMENTS, committed))
        for n, path in enumerate(paths)
    } | {
        TERMS_FILE: (release / TERMS_FILE).read_bytes(),
        "README.md": _card(benchmark, release, split, held, len(ids)).encode(),
    }
    sums = {name: hashlib.sha256(raw).hexdigest() for name, raw in files.items()}
    parts = [
        CroissantPart(folder, split, own.schema, own.num_rows, own.nbytes, len(paths))
        for folder, own in (("data", public), (COMMITMENTS, committed))
    ]
    described = _described(release, benchmark, parts, sums)
    files[CROISSANT_FILE], sums[CROISSANT_FILE] = described, hashlib.sha256(described).hexdigest()
    pictures = _pictures(benchmark, questions, table, release, split)
    for name, raw in files.items():
        write_atomically(to / name, raw)
    for name in pictures:
        write_atomically(to / name, (release / name).read_bytes())
    write_atomically(answers, table_bytes(private, ZSTD_LEVEL, SCHEMA_METADATA))
    write_atomically(to / CHECKSUMS, checksums(sums | pictures))
    return len(ids)


def is_withheld(release: Path) -> bool:
    """Whether a release is one without answers."""
    return (release / COMMITMENTS).is_dir()


def restored(questions: Path, release: Path, answers: Path) -> pa.Table:
    """The questions with their answers. Raises ConfigError where these are not those that were committed to."""
    paths = files_of(questions)
    table, files = read_files(paths), [f"{COMMITMENTS}/{path.name}" for path in paths]
    key, sums = table.schema.names[0], sums_of(release)
    if not sums.keys() >= {*files}:
        raise ConfigError(f"{release}: has no {COMMITMENTS}/ for {questions.name}: its answers are not withheld")
    check_files(release, sums, files)
    private = _answers(answers, key, "give the answers of this release")
    promised = {str(row["id"]): row["sha256"] for row in read_files([release / f for f in files]).to_pylist()}
    found = {row["id"]: row["sha256"] for row in _commitments(private, key)}
    other = next((one for one, digest in promised.items() if found.get(one) != digest), None)
    if other is not None:
        raise ConfigError(f"{answers}: the answer to question {other} is not the one that {COMMITMENTS}/ commits to")
    place = {one: n for n, one in enumerate(private[key].to_pylist())}
    rows = private.take(pa.array([place[one] for one in table[key].to_pylist()], pa.int64()))
    for name in set(rows.column_names) & set(table.column_names) - {key}:
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(name), rows[name])
    return table


@contextmanager
def with_answers(questions: Path, release: Path | None, answers: Path | None) -> Iterator[Path]:
    """Yields the file of questions, with the answers that its release withholds once they were checked.

    Raises ConfigError where these are needed and not given, or given and not needed (`restored`).
    """
    if release is None or answers is None:
        if release is not None and is_withheld(release):
            message = "its answers are withheld; give them with --answers, or send the replies to it"
            raise ConfigError(f"{release}: {message}")
        yield questions
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / files_of(questions)[0].name
        pq.write_table(restored(questions, release, answers), path)
        yield path


def _commitments(private: pa.Table, key: str) -> list[dict[str, str]]:
    """Id and commitment of each row: SHA-256 over its salt, its id and the JSON of its other columns, a line each."""
    found = []
    for row in private.to_pylist():
        salt, one = row.pop(SALT), str(row.pop(key))
        text = json.dumps(row, sort_keys=True, ensure_ascii=False)
        found.append({"id": one, "sha256": hashlib.sha256(f"{salt}\n{one}\n{text}\n".encode()).hexdigest()})
    return found


def _answers(file: Path, key: str, remedy: str) -> pa.Table:
    """A file of answers. Raises ConfigError, with the remedy, for anything else."""
    try:
        private = pq.read_table(file)
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"{file}: cannot be read as Parquet ({error}); {remedy}") from error
    if not {key, SALT} <= set(private.column_names):
        raise ConfigError(f"{file}: has no columns {key} and {SALT}; {remedy}")
    return private


def _refuse_telling(questions: Path, public: pa.Table, private: pa.Table, benchmark: Benchmark[Any, Any]) -> None:
    """Raises ConfigError where a published name, such as a folder's, holds the words of an answer."""
    asked = {"question", "options"}
    rows = zip(public.to_pylist(), private.to_pylist(), strict=True)
    for row, answer in rows:
        names = {name: value for name, value in row.items() if isinstance(value, str) and name not in asked}
        for word in _words(answer):
            name = next((name for name, value in names.items() if word in value.casefold()), None)
            if name is not None:
                number = row[public.schema.names[0]]
                message = f"{name} {row[name]!r} of question {number} tells its answer ({word})"
                raise ConfigError(f"{questions}: {message}; rename the scene's folder, and build again")


def _words(answer: Mapping[str, Any]) -> list[str]:
    """The words of withheld values that nobody can have by chance in a name."""
    texts = [value for name, value in answer.items() if isinstance(value, str) and name != SALT]
    found = [text.casefold() for text in texts]
    for text in texts:
        if text.startswith("{"):
            found += [value.casefold() for value in json.loads(text).values() if isinstance(value, str)]
    return [text for text in found if len(text) >= _SHORT and any(map(str.isalpha, text))]


def _pictures(
    benchmark: Benchmark[Any, Any], questions: Path, table: pa.Table, release: Path, split: str
) -> dict[str, str]:
    """SHA-256 of the pictures of the release that questions show, by the names that it has for them."""
    if benchmark.asking is None:
        return {}
    of = AskedOf(split, False, "", release, lambda question, make: None)
    sums, shown = sums_of(release), set[str]()
    for asked in published_rows(questions, table.to_pylist(), benchmark.all_columns):
        prompt = benchmark.asking.prompt(asked, of)
        shown |= {*prompt.images, *([prompt.legend] if prompt.legend else [])}
    found = {name: sums[name] for name in sorted(shown & sums.keys())}
    check_files(release, sums, found)
    return found


def _described(
    release: Path, benchmark: Benchmark[Any, Any], parts: Sequence[CroissantPart], sums: Mapping[str, str]
) -> bytes:
    """The description for machines; licence, version and date are those of the open release."""
    card = json.loads((release / CROISSANT_FILE).read_bytes())
    export = {"pretty_name": card["name"], "version": card.get("version"), "published": card.get("datePublished")}
    if card["license"] != TERMS_FILE:
        export["license"] = card["license"]
    return croissant(export, benchmark.card, parts, lambda folder: columns_of(benchmark, folder), sums)


def _card(benchmark: Benchmark[Any, Any], release: Path, split: str, held: list[str], n: int) -> str:
    lines = (release / "README.md").read_text(encoding="utf-8").splitlines()
    licence = next((line.partition(": ")[2] for line in lines if line.startswith("license: ")), "other")
    title = next((line.removeprefix("# ") for line in lines if line.startswith("# ")), benchmark.title)
    contact = next((line.rpartition("Contact: ")[2] for line in lines if "Contact: " in line), NO_CONTACT)
    words = {
        "contact": contact,
        "license": licence,
        "split": split,
        "title": title,
        "n": n,
        "name": benchmark.name,
        "terms": TERMS_FILE,
    }
    return str(load_table("card/withheld")["text"]).format(**words, withheld=", ".join(f"`{name}`" for name in held))

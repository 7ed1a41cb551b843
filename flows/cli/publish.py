"""The commands `scan2qa publish`, which checks a release and prints how to publish it, and `scan2qa withhold`."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow.parquet as pq

from flows.cli.output.console import console, count_of, print_json
from flows.cli.output.tables import print_listing
from flows.cli.release_reader import split_for
from flows.cli.score import scorable
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import sha256_of_file
from pipeline.core.parquet import files_of
from pipeline.core.tables import ReleaseListing, sums_of
from pipeline.release.history import candidate, newest_release
from pipeline.release.metadata import CROISSANT_FILE
from pipeline.release.terms import ALL_SAMPLES, NOT_STATED, TERMS_FILE
from pipeline.release.withheld import withhold
from pipeline.scoring.score import split_of

_CARD: Final = "README.md"
_REPO: Final = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


class PublishCheck(NamedTuple):
    """One thing that must hold of a release before it is published; ``remedy`` where it does not."""

    name: str
    found: str
    remedy: str = ""


def publish(release: Path, repo: str) -> bool:
    """Shows what was checked and how to upload the release; False where something does not hold.

    Nothing is sent anywhere. Raises ConfigError where the folder is no whole release.
    """
    if not _REPO.fullmatch(repo):
        raise ConfigError(f"--repo {repo}: write it as USER/NAME, of letters, digits, '-', '_' and '.'")
    checks = list(_checks(release))
    failed = [check for check in checks if check.remedy]
    rows = [(check.name, "fails" if check.remedy else "holds", check.found, check.remedy) for check in checks]
    heads = ("before publishing", "", "found", "what to do")
    print_listing(ReleaseListing(str(release), heads, rows, words=heads[1:], sentences=("found", "what to do")))
    version = json.loads((release / CROISSANT_FILE).read_bytes()).get("version") if not failed else None
    commands = [f"hf upload {repo} {shlex.quote(str(release))} . --repo-type dataset --exclude '*.pyc'"]
    commands += [f"hf repos tag create {repo} v{version} --repo-type dataset"] if version else []
    if not failed:
        console.print("Ready. With your own token (`hf auth login`, of the package huggingface_hub):")
        for command in commands:
            console.print(f"    {command}")
    else:
        console.print(f"Not ready to publish: {len(failed)} of {count_of(len(checks), 'check')} failed.")
    told = [check._asdict() | {"holds": not check.remedy} for check in checks]
    print_json({"release": str(release), "checks": told, "commands": [] if failed else commands})
    return not failed


def _checks(release: Path) -> Iterator[PublishCheck]:
    sums = sums_of(release)
    changed = {file for file, digest in sums.items() if not _is_as_released(release / file, digest)}
    is_edited = _CARD in changed and (release / _CARD).is_file()  # as people edit it before they publish
    bad = sorted(changed - {_CARD} if is_edited else changed)
    there = {str(p.relative_to(release)) for p in release.rglob("*") if p.is_file() and p.name != "checksums.sha256"}
    strangers = sorted(file for file in there - set(sums) if not file.endswith(".pyc"))  # harnesses compile their tasks
    remedy = "build the release again, and remove what is not of it" if bad or strangers else ""
    found = f"{len(sums)} files" if not bad and not strangers else ", ".join([*bad, *strangers][:3])
    found += f"; {_CARD} was edited, and is not that of the checksums" if is_edited else ""
    yield PublishCheck("every file is as it was released, and no other is there", found, remedy)
    if bad:
        return  # what they say is not what was released
    yield from _of_build(release)
    card, terms = ((release / name).read_text(encoding="utf-8") for name in (_CARD, TERMS_FILE))
    is_sample = ALL_SAMPLES in terms
    remedy = "build from your data: --root READER=DIR" if is_sample else ""
    yield PublishCheck("it was made of real data", "scan2qa's own samples" if is_sample else "yes", remedy)
    unstated = terms.count(NOT_STATED)
    remedy = "build with --set export.terms.DATASET=…" if unstated else ""
    yield PublishCheck("the terms of every source are stated", f"{unstated} not stated" if unstated else "all", remedy)
    licence = next((line.partition(": ")[2] for line in card.splitlines() if line.startswith("license: ")), "")
    own = "if all of it is yours: --set export.license=cc-by-4.0"
    yield PublishCheck("a licence", licence if licence != "other" else f"other, as {TERMS_FILE} says ({own})")
    has_contact = "not stated yet (`export.contact`)" not in card
    yield PublishCheck(
        "a contact", "stated" if has_contact else "none", "" if has_contact else "build with --set export.contact=…"
    )
    described = json.loads((release / CROISSANT_FILE).read_bytes())
    for name, key, what in (("version", "version", "a version"), ("datePublished", "published", "a date")):
        yield PublishCheck(
            what, described.get(name, "none"), "" if name in described else f"build with --set export.{key}=…"
        )
    rows = sum(pq.read_metadata(path).num_rows for path in files_of(split_of(release).questions))
    yield PublishCheck(
        "it has questions", count_of(rows, "row") if rows else "none", "" if rows else "build it from more data"
    )


def _of_build(release: Path) -> Iterator[PublishCheck]:
    """What the build says of its release; nothing where the release lies elsewhere."""
    build = release.parent
    if newest_release(build) is None:
        return
    waiting = candidate(build)
    remedy = f"scan2qa release {shlex.quote(str(build))} shows why, and accepts it" if waiting else ""
    yield PublishCheck("no candidate waits beside it", waiting.missed_gates if waiting else "none", remedy)


def _is_as_released(path: Path, digest: str) -> bool:
    try:
        return sha256_of_file(path) == digest
    except OSError:
        return False


def withhold_answers(name: str, release: Path, split: str | None, to: Path, answers: Path) -> None:
    """Writes what may be published, and the answers. Raises ConfigError where something published tells an answer."""
    scorable(name)
    source = split_for(name, release, split)
    n = withhold(BENCHMARKS[name], source.questions, release, to, answers)
    console.print(f"{count_of(n, 'question')} without answers: {to}")
    console.print(f"Answers, not to be published: {answers}")
    print_json({"release": str(to), "answers": str(answers), "questions": n, "split": source.name})

"""The commands `scan2qa review` and `import-review`: hand questions to reviewers and import their verdicts."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import yaml
from rich.table import Table

from flows.cli.output.console import console, count_of
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import numbers, print_table, sentences
from flows.cli.trace import fix_entry
from flows.orchestration.folders import OUTPUTS
from flows.orchestration.saved_build import raw_files, read_saved_build
from flows.orchestration.watchdog import LOOPBACK
from pipeline.benchmarks.benchmark import Benchmark, no_blind_pictures
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError, RawDataError, StoreError
from pipeline.core.files import write_atomically
from pipeline.core.groups import grouped
from pipeline.core.identity import digest_of
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.schema import AnyScene
from pipeline.core.tables import pictures_in, selected_questions
from pipeline.core.video_spec import VIDEOS
from pipeline.engine.code import code_digest
from pipeline.engine.config import config_model
from pipeline.engine.manifest import released_manifest
from pipeline.engine.rerun import last_scenes
from pipeline.engine.stage import STORE
from pipeline.engine.store import Result, Store
from pipeline.formats.videos import VideoPictures
from pipeline.release.card import figure
from pipeline.release.history import RELEASE
from pipeline.release.media import media_of, pictures_of
from pipeline.release.tables import removed_blind
from pipeline.rendering.glossary import glossary
from pipeline.review import sheets
from pipeline.review.checks import category_fix, check_row, fix_of, scene_row
from pipeline.review.database import AnsweredBeforeError, ReviewDatabase
from pipeline.review.review_bundle import (
    CHECKS,
    FIXED,
    ReviewBundle,
    ReviewItem,
    make_review_bundle,
    pack_tables,
    read_review_bundle,
)
from pipeline.review.reviewed import Reviewed, review, states_of, verdicts_table
from pipeline.review.sheets import LeftOutRow, read_rows, sheet, taken, verdict_sheet
from pipeline.review.verdicts import STATES, ReviewVerdict, consensus_of, verdicts_of
from pipeline.stages.review import FOLDER, SALT_FILE, VERDICTS_FILE
from pipeline.stages.verify import VERIFY, doubts_in
from pipeline.worlds.registry import WORLDS, read_scene, takes_videos

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from flows.review_app.routes import WrittenRoutes

DATABASE: Final = "review.sqlite"
BACKUP: Final = "review.backup.sqlite"
TOKEN: Final = "SCAN2QA_REVIEW_TOKEN"  # noqa: S105 - the name of the environment variable
LEAST_TOKEN: Final = 16  # characters
SALT_BYTES: Final = 32
SHOWN_ROWS: Final = 20
LOCAL_FILES: Final = "/data/local-files/?d="  # where Label Studio serves the build's folder, once it is mounted
PICTURES: Final = "pictures"  # folder of a review
NAME_CHARS: Final = 32  # hex; 128 bits
FIXES: Final = "fixes"  # folder of a review
_MADE_FROM: Final = b"made_from"
_JPEG: Final = b"\xff\xd8"


def serve(
    folder: Path, host: str, port: int, pack_only: bool, without_video: bool, checked: bool | None = None
) -> None:
    """Writes the review pack of a build, and serves the page until it is stopped; ``checked`` as in `pack_of`.

    Raises ConfigError where questions show nothing, unless that was asked for.
    """
    from flows.review_app.app import Pages
    from flows.review_app.site import ReviewSite

    benchmark = benchmark_of(folder)
    salt = salt_of(folder, make=True)
    pack = pack_of(folder, benchmark, salt, checked)
    checks = sum(item.task in CHECKS for item in pack.items)
    if checked and not checks:
        raise ConfigError(
            f"{folder}: there is nothing to check before its questions: it has no panoramas, no raw tasks, and "
            "no question about a thing of a scan whose video was examined for it"
        )
    blind = sum(item.video is None and not item.pictures for item in pack.items)
    if blind and not without_video:
        raise ConfigError(
            f"{blind} of {len(pack.items)} questions have neither video nor picture, and verdicts on them would be "
            f"blind. {video_remedy(folder)}; or review them so: --without-video"
        )
    place = folder / FOLDER
    if pack_only:
        console.print(
            f"{count_of(len(pack.items), 'question')}: {place / 'sheet.csv'}, or label_studio.json and .xml beside it."
        )
        return
    token = token_for(host)
    with _alone(place):
        database = ReviewDatabase(place / DATABASE)
        database.back_up(place / BACKUP)
        try:
            shown = f"[{host}]" if ":" in host else host
            more = f" and {count_of(checks, 'check')}" if checks else ""
            console.print(
                f"{count_of(len(pack.items) - checks, 'question')}{more}. http://{shown}:{port} (Ctrl-C ends it)"
            )
            console.print(f"Verdicts go to {place / DATABASE}; scan2qa import-review --from-page imports them.")
            figures = pictures_of(_results(folder, "figures"), folder)  # reviewers see the videos in any case
            drawings = {number: picture.svg for number, picture in figures.items()}
            if captioned := BENCHMARKS[benchmark].card.captioned:
                files = {item.id: folder / RELEASE / captioned / f"{item.id}.png" for item in pack.items}
                drawings |= {number: file for number, file in files.items() if file.is_file()}
            site = ReviewSite(folder.resolve().name, pack, database, folder, salt, drawings)
            pages = Pages(site, salt, token, _routes_of(folder, benchmark), BENCHMARKS[benchmark].flags)
            run_server(pages.app(only_loopback=host in LOOPBACK), host, port)
        finally:
            database.close()


def _routes_of(folder: Path, benchmark: str) -> WrittenRoutes | None:
    """What people may write routes with; None where the benchmark asks for none, or no scene has a video."""
    from flows.review_app.routes import FILE, WrittenRoutes

    writing, of = BENCHMARKS[benchmark].routes, BENCHMARKS[benchmark]
    scenes, store = last_scenes(released_manifest(folder).results()), Store(folder / STORE)
    videos = {name: path for name in scenes if (path := folder / VIDEOS / f"{name}.mp4").is_file()}
    if writing is None or not videos:
        return None
    config = config_model(benchmark).model_validate(read_saved_build(folder).configured)
    rules = config.generate.resolved_rules()

    def view_of(scene: str) -> Any:
        return of.view(read_scene(store.get(scenes[scene])), rules)

    return WrittenRoutes((folder / FOLDER / FILE).absolute(), videos, view_of, writing, glossary(benchmark))


def import_review(folder: Path, file: Path | None) -> bool:
    """Verdicts of the page, and of a file if one is given, into the build; whether all rows were taken."""
    if not (folder / FOLDER).is_dir():
        raise ConfigError(f"{folder} holds no review: begin one with scan2qa review")
    salt = salt_of(folder)
    place = folder / FOLDER
    filled, benchmark = read_rows(file) if file else [], benchmark_of(folder)
    pack = pack_of(folder, benchmark, salt)
    checks = {item.id: item for item in pack.items if item.task in FIXED}
    database = ReviewDatabase(place / DATABASE)
    try:
        left_out: list[LeftOutRow] = []
        if file is not None:
            items = {item.id: item for item in pack.items}
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            found = taken(filled, items, pack.truths, verdicts_of(database.events()), now)
            try:
                database.append(found.events)
            except AnsweredBeforeError as error:
                raise StoreError(f"{file}: the page stored one of these answers just now; import it again") from error
            left_out = found.left_out
            new = count_of(len(filled) - len(left_out) - found.already_known, "row")
            console.print(f"{file}: {new} taken, {found.already_known} known already.")
        verdicts = verdicts_of(database.events())
    finally:
        database.close()
    _show_left_out(file, left_out)
    _write_fixes(folder, pack, checks, verdicts)
    fixed = _fixed(place / FIXES)  # what was said of categories and scenes
    verdicts = [v for v in verdicts if v.item not in checks and f"review-{v.item}" not in fixed]
    write_atomically(place / VERDICTS_FILE, table_bytes(verdicts_table(verdicts)))
    write_atomically(place / "verdicts.csv", verdict_sheet(verdicts))
    rows = _selected(folder)
    raw = BENCHMARKS[benchmark].checks(rows)
    for number, answers in enumerate(_answers_of_people(pack, verdicts, raw), start=1):
        write_atomically(place / f"people_{number}.csv", answers)
    _report(review(rows, verdicts, salt, raw), len(verdicts), sum(item.task not in CHECKS for item in pack.items))
    console.print(f"{place / VERDICTS_FILE}: the next build takes it into the release.")
    return not left_out


def _answers_of_people(
    pack: ReviewBundle, verdicts: Sequence[ReviewVerdict], raw: Sequence[Mapping[str, Any]]
) -> list[bytes]:
    """Of each reviewer, by name, the blind answers to today's questions, as `score --people` reads them.

    Whoever judged the raw task of a question knew its answer.
    """
    items = {(item.id, item.content): item for item in pack.items if item.task not in CHECKS}
    asked = {check["id"]: check["asked"] for check in raw}
    told = {(question, verdict.reviewer) for verdict in verdicts for question in asked.get(verdict.item, ())}
    found: dict[str, dict[int, str]] = {}
    for verdict in verdicts:
        item = items.get((verdict.item, verdict.content))
        if item is not None and verdict.answer is not None and (item.id, verdict.reviewer) not in told:
            option = (text for text in item.options or () if text.startswith(f"{verdict.answer}. "))
            found.setdefault(verdict.reviewer, {})[item.id] = next(option, verdict.answer)
    return [sheets.written(("id", "answer"), sorted(own.items())) for _, own in sorted(found.items())]


def _write_fixes(
    folder: Path, pack: ReviewBundle, checks: Mapping[int, ReviewItem], verdicts: Sequence[ReviewVerdict]
) -> None:
    """Puts what reviewers decided about categories and scenes into the review's own files of fixes; says what to do.

    An entry is that of the last import; one whose screen is gone stays.
    """
    place, outputs, store = folder / FOLDER / FIXES, released_manifest(folder).results(), Store(folder / STORE)
    entries, disputed = _fixed(place), list[str]()
    for number, own in grouped(verdicts, lambda verdict: verdict.item).items():
        if (item := checks.get(number)) is None:
            continue
        read = read_scene(store.get(outputs["unify"][item.scene]))
        world, operands = WORLDS[read.facts.world], pack.truths[number].operands
        if operands:
            boxes = sum(thing.label == operands[0] for thing in world.top_down_map(read).things)
            draft = partial(category_fix, operands[0], boxes)
        elif world.scene_check is not None:
            draft = partial(world.scene_check.fix, read)
        entries.pop(f"review-{number}", None)
        if (entry := fix_of(item, draft, own)) is not None:
            entries[entry["id"]] = (item.scene.partition("/")[0], entry)
        elif consensus_of(own, item.content).state == "disputed":
            disputed.append(item.scene)
    for dataset in sorted({dataset for dataset, _ in entries.values()} | {path.stem for path in place.glob("*.yaml")}):
        told = "".join(f"{fix_entry(entry)}\n" for of, entry in entries.values() if of == dataset)
        write_atomically(place / f"{dataset}.yaml", told.encode())
    if disputed:
        console.print(f"Reviewers differ, and no fix is written: {', '.join(sorted(disputed))}.")
    if entries:
        console.print(
            f"{count_of(len(entries), 'check')} decided: {place}. Build with --set fixes.folder={place}, or put them "
            "among your own fixes."
        )


def _fixed(place: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """The entries of the review's own files of fixes by id, with their datasets. Raises ConfigError."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for path in sorted(place.glob("*.yaml")):
        try:
            found |= {entry["id"]: (path.stem, entry) for entry in yaml.safe_load(path.read_bytes()) or ()}
        except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
            raise ConfigError(f"{path}: is no list of fixes ({error}); mend it, or move it away") from error
    return found


def folder_of(build: str | None, out: Path | None) -> Path:
    """The folder of a build; of the only one with a review where none is named. Raises ConfigError."""
    if out is not None or build is not None:
        return out or OUTPUTS / str(build)
    found = sorted(path.parent for path in OUTPUTS.glob(f"*/{FOLDER}"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise ConfigError(f"which build is meant? Name it with --build; of those in {OUTPUTS}, with a review: {names}")
    return found[0]


def benchmark_of(folder: Path) -> str:
    """The benchmark of the build in a folder. Raises ConfigError where there is none."""
    kept = read_saved_build(folder).configured
    if kept.get("benchmark") not in BENCHMARKS:
        raise ConfigError(f"{folder} holds no build: build first")
    return str(kept["benchmark"])


def video_remedy(folder: Path) -> str:
    """How the build in a folder comes by its videos, as one sentence without a full stop."""
    saved = read_saved_build(folder)
    name, benchmark = saved.configured.get("build", folder.name), BENCHMARKS.get(saved.configured.get("benchmark", ""))
    where = "" if folder == OUTPUTS / name else f" --out {quote(str(folder))}"
    if benchmark is not None and benchmark.blind_pictures is not no_blind_pictures:
        return f"scan2qa review {name}{where} shows the map around each start, and views, instead"
    again = f"scan2qa build {name}{where}"
    if not saved.configured.get("video", True):
        return f"Build them with: {again} --set video=true"
    if videos := saved.settings.get("videos"):
        return f"Add those that lack in {videos}, and build again"
    if any(map(takes_videos, saved.roots)):
        return f"Give the benchmark's videos, DIR/DATASET/SCENE.mp4: {again} --videos DIR"
    return "Their raw data hold none: add them there, and build again"


def salt_of(folder: Path, make: bool = False) -> bytes:
    """The secret with which contents are keyed; made once, and kept with the review."""
    path = folder / FOLDER / SALT_FILE
    try:
        return path.read_bytes()
    except FileNotFoundError:
        if not make or (folder / FOLDER / DATABASE).exists():
            raise ConfigError(
                f"{path} is missing, and verdicts are bound to it: put it back, "
                f"or move {path.parent} away and begin a new review"
            ) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror}); give it read permission") from error
    write_atomically(path, secrets.token_bytes(SALT_BYTES), mode=0o600)
    return path.read_bytes()


def token_for(host: str) -> str | None:
    """The token that reviewers must know; none is needed on the own machine. Raises ConfigError."""
    token = os.environ.get(TOKEN)
    if host in LOOPBACK:
        return token or None
    if not token or len(token) < LEAST_TOKEN:
        raise ConfigError(
            f"--host {host} lets others in: export {TOKEN}=… first, {LEAST_TOKEN} characters or more "
            "(openssl rand -hex 16 makes one), and give it to the reviewers"
        )
    return token


def pack_of(folder: Path, benchmark: str, salt: bytes, checked: bool | None = None) -> ReviewBundle:
    """The review pack of the newest release, made again only where the build has changed.

    ``checked``: with a screen for each category of a filmed scene that questions name, and those of `Benchmark.checks`;
    None: as it was made last.
    """
    place = folder / FOLDER
    outputs = released_manifest(folder).results()
    observed = last_scenes(outputs)
    if not outputs.get("select") or not observed:
        raise ConfigError(f"{folder} holds no questions yet: build first, then review it")
    root = folder / VIDEOS
    videos = frozenset(path.relative_to(root).as_posix() for path in root.rglob("*.mp4"))
    parts = [
        [u, r.digest]
        for stage in ("select", "observe", "describe", "filter", "views", "landmark_pictures", "verify")
        for u, r in sorted(outputs.get(stage, {}).items())
    ]
    own = BENCHMARKS[benchmark]
    drawing = (own.blind_pictures.__module__, *(w.top_down_map.__module__ for w in own.worlds))
    code = code_digest(("pipeline.review.review_bundle", *drawing))
    map_before = {task: sorted(layers) for task, layers in sorted(own.map_before.items())}
    if checked is None:
        checked = _has_checks(place)
    made_of = [parts, sorted(videos), code, map_before, digest_of(salt), *(["checks"] if checked else [])]
    made_from = digest_of(made_of).encode()
    known = _read_pack(place, made_from)
    if known is not None:
        return known
    store = Store(folder / STORE)
    scenes = {unit: read_scene(store.get(result)) for unit, result in observed.items()}
    maps = {unit: WORLDS[scene.facts.world].top_down_map(scene) for unit, scene in scenes.items()}
    selected = _selected(folder)
    tables = [removed_blind(read_table(raw)) for raw in _results(folder, "filter")]
    removed = {number for table in tables if table is not None for number in table["id"].to_pylist()}
    questions = [row for row in selected if row["id"] not in removed]
    checks = list(_category_checks(folder, questions, scenes, outputs.get("video", {}))) if checked else []
    if checked:
        kept = {row["id"] for row in questions}
        questions += [check for check in own.checks(selected) if not kept.isdisjoint(check["asked"])]
        checks += _scene_checks(folder, scenes)
    pictures = _place_pictures(folder, own, questions, scenes, {row["id"]: shown for row, shown in checks})
    questions += [row for row, _ in checks]
    doubts = doubts_in(map(read_table, _results(folder, VERIFY.name)))
    pack = make_review_bundle(questions, maps, videos, own.map_before, salt, pictures, doubts)
    for name, table in pack_tables(pack).items():
        write_atomically(place / f"{name}.parquet", table_bytes(table.replace_schema_metadata({_MADE_FROM: made_from})))
    write_atomically(place / "sheet.csv", sheet(pack.items))
    write_atomically(place / "label_studio.json", sheets.tasks(pack.items, LOCAL_FILES, VIDEOS))
    write_atomically(place / "label_studio.xml", sheets.interface(pack.items))
    return pack


def _has_checks(place: Path) -> bool:
    """Whether the pack that is there has screens of what is no question."""
    try:
        return not CHECKS.keys().isdisjoint(read_table((place / "items.parquet").read_bytes())["task"].to_pylist())
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return False


def _category_checks(
    folder: Path, questions: Sequence[Mapping[str, Any]], scenes: Mapping[str, AnyScene], films: Mapping[str, Result]
) -> Iterator[tuple[dict[str, Any], tuple[bytes, ...]]]:
    """A screen for each category that the questions of a filmed scene name."""
    named: dict[str, set[str]] = {}
    for row in questions:
        named.setdefault(row["scene"], set()).update(row["operands"] or ())
    store = Store(folder / STORE)
    with progress_shown() as progress:
        for number, (unit, names) in enumerate(sorted(named.items()), start=1):
            show = WORLDS[scenes[unit].facts.world].categories
            film: dict[str, Any] = json.loads(store.get(films[unit])) if unit in films else {"video": None}
            progress("scenes", number, len(named))
            if show is None or film["video"] is None:
                continue
            video = VideoPictures(folder / film["video"])
            shown = show(scenes[unit], sorted(names), film["fps"], partial(video.at, 0.0, scene=unit))
            yield from ((check_row(unit, one), (*one.crops, *one.marked, *one.unmarked)) for one in shown)
            video.close()


def _scene_checks(folder: Path, scenes: Mapping[str, AnyScene]) -> Iterator[tuple[dict[str, Any], tuple[bytes, ...]]]:
    """A screen for each scene that people decide about, asked about or not."""
    wanted = {unit: scene for unit, scene in scenes.items() if WORLDS[scene.facts.world].scene_check}
    raw = raw_files(folder, {scene.source.reader for scene in wanted.values()})
    gone = sorted(wanted.keys() - raw.keys())
    with progress_shown() as progress:
        for number, unit in enumerate(sorted(wanted.keys() & raw.keys()), start=1):
            world = WORLDS[wanted[unit].facts.world]
            if world.scene_check is not None and world.pictures is not None:
                try:
                    (picture,) = world.pictures(raw[unit][1], wanted[unit], [world.scene_check.picture])
                    yield scene_row(unit, world.scene_check, picture), (picture,)
                except (RawDataError, OSError):
                    gone.append(unit)
            progress("pictures", number, len(wanted))
    if gone:
        console.print(f"No screen for {len(gone)} whose raw data are gone or damaged: {', '.join(gone)}")


def _place_pictures(
    folder: Path,
    benchmark: Benchmark[Any, Any],
    questions: Sequence[Mapping[str, Any]],
    scenes: Mapping[str, AnyScene],
    checks: Mapping[int, Sequence[bytes]],
) -> dict[int, list[str]]:
    """Puts what is shown into the review's folder, under names that tell nothing; the files of each item.

    The pictures in their order (views, whole panoramas), those of what a question names, and those drawn for who
    reviews; of a category those of its things.
    """
    place, found = folder / FOLDER / PICTURES, dict[int, list[str]]()
    views = {one.file: one for one in media_of(_results(folder, "views"), folder)}
    named = pictures_in(map(read_table, _results(folder, "landmark_pictures")))
    kept: set[Path] = set()

    def put(number: int, raw: bytes, suffix: str) -> None:
        path = place / f"{hashlib.sha256(raw).hexdigest()[:NAME_CHARS]}{suffix}"
        if path not in kept and not path.exists():
            write_atomically(path, raw)
        kept.add(path)
        found.setdefault(number, []).append(path.relative_to(folder).as_posix())

    for row in questions:
        shown = benchmark.views.of(row) if benchmark.views and benchmark.views.of else ()
        for file in (file for file, _ in shown if file in views and views[file].path.is_file()):
            put(row["id"], views[file].path.read_bytes(), Path(file).suffix)
        if row["id"] in named:
            put(row["id"], named[row["id"]], ".png")
    done = 0
    with progress_shown() as progress:
        for unit, rows in sorted(grouped(questions, itemgetter("scene")).items()):
            for number, drawn in benchmark.blind_pictures(rows, scenes[unit]):
                for raw in drawn:
                    put(number, raw, ".jpg" if raw.startswith(_JPEG) else ".png")
                progress("questions", done := done + 1, len(questions))
    for check, own in checks.items():
        for jpeg in own:
            put(check, jpeg, ".jpg")
    for path in set(place.glob("*.*")) - kept:
        path.unlink()
    return found


def _read_pack(place: Path, made_from: bytes) -> ReviewBundle | None:
    """The pack that was made from the same; None where there is none, or a damaged one."""
    tables = {}
    for name in ("items", "truths", "maps"):
        try:
            tables[name] = read_table((place / f"{name}.parquet").read_bytes())
        except (OSError, ValueError, pa.ArrowException):
            return None
        if (tables[name].schema.metadata or {}).get(_MADE_FROM) != made_from:
            return None
    return read_review_bundle(tables)


def _results(folder: Path, stage: str) -> Iterator[bytes]:
    """The results of a stage behind the newest release, in the order of their scenes."""
    outputs, store = released_manifest(folder).results(), Store(folder / STORE)
    return (store.get(result) for _, result in sorted(outputs.get(stage, {}).items()))


def _selected(folder: Path) -> list[dict[str, Any]]:
    """The questions of the newest release, with those that models guessed."""
    return [row for raw in _results(folder, "select") for row in selected_questions(read_table(raw)).to_pylist()]


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Two servers of one review would each keep their own list of who looks at what."""
    with (place / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"{place}: its page is being served already; stop that server first") from error
        yield


def run_server(app: Starlette, host: str, port: int) -> None:
    """Serves an application until it is stopped. Raises ConfigError where the port cannot be used."""
    import uvicorn

    from flows.review_app.app import configured

    server = uvicorn.Server(configured(app, host, port))
    server.run()
    if not server.started:
        raise ConfigError(f"port {port} of {host} cannot be used; give another with --port")


def _show_left_out(file: Path | None, left_out: Sequence[LeftOutRow]) -> None:
    if not left_out:
        return
    heads = (*numbers("line"), *sentences("finding", "remedy"))
    table = Table(*heads, title=f"Left out of {file}: {count_of(len(left_out), 'row')}")
    for row in left_out[:SHOWN_ROWS]:
        table.add_row(str(row.line), row.finding, row.remedy)
    print_table(table)
    if len(left_out) > SHOWN_ROWS:
        console.print(f"… and {len(left_out) - SHOWN_ROWS} more.")


def _report(reviewed: Reviewed, verdicts: int, items: int) -> None:
    """Prints the status of the questions and the agreement of reviewers."""
    states = states_of(reviewed)
    states["waiting"] += items - len(reviewed.stands)
    title = f"{count_of(verdicts, 'verdict')} on {len(reviewed.stands):,} of {count_of(items, 'question')}"
    table = Table("state", *numbers("questions"), *sentences(""), title=title)
    for state, words in STATES.items():
        table.add_row(state, str(states[state]), words)
    print_table(table)
    if reviewed.gone:
        console.print(f"Kept on questions that this build no longer asks: {count_of(reviewed.gone, 'verdict')}.")
    shared = [row for row in reviewed.agreements if row.items]
    if not shared:
        return
    # Short, for one table at 80 columns: its rows have two names.
    heads = numbers("questions", "raw", "kappa", "alpha")
    table = Table("task", "of", *heads, title="Agreement: raw, Cohen's kappa, Krippendorff's alpha (n/a: not defined)")
    for row in shared:
        table.add_row(row.task, f"{row.about}s", str(row.items), *map(figure, (row.raw, row.kappa, row.alpha)))
    print_table(table)

"""Pages to look at questions one by one: a page of a few, and a gallery of all with its data in files beside it.

The gallery opens from disk, where a browser lets a page read no other files but scripts and pictures. So its data are
scripts that hand over what they hold, in parts, each loaded when it is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from pipeline.rendering.details import Detail, RejectionDetail, SceneDetail, doubts_of
from pipeline.rendering.report import environment_of_pages, policy_hash

INDEX: Final = "index.html"
ROWS: Final = 2000  # in a file of the list
DETAILS: Final = 40  # in a file of what is opened
TEXT_CHARS: Final = 280  # of a question in the list
Picture = tuple[str, str]  # address, and what it shows


class GalleryQuestion(NamedTuple):
    """A question in the gallery with its pictures, first its thumbnail.

    Attributes:
        near: address of the picture of its near miss, or empty.
        video: address of the video that it is asked about, or empty.
    """

    detail: Detail
    pictures: Sequence[Picture]
    near: str = ""
    video: str = ""


class GalleryRejection(NamedTuple):
    """A rejected candidate in the gallery; ``picture`` is an address, or empty."""

    dropped: RejectionDetail
    picture: str


class GalleryHeader(NamedTuple):
    """The gallery's head of a release; ``reasons``: how many candidates each dropped, ``each``: shown of them."""

    title: str
    about: str
    name: str
    reasons: Mapping[str, int]
    each: int


def one_page(
    heading: str,
    title: str,
    name: str,
    *,
    questions: Sequence[tuple[Detail, Sequence[Picture]]] = (),
    dropped: Sequence[RejectionDetail] = (),
    scenes: Sequence[SceneDetail] = (),
) -> bytes:
    """One self-contained page; ``title`` and ``name`` are the release's."""
    environment = environment_of_pages()
    style = "".join(environment.get_template(name).render() for name in ("report.css", "detail.css"))
    page = environment.get_template("show.html.jinja").render(
        heading=heading,
        title=title,
        name=name,
        questions=questions,
        dropped=dropped,
        scenes=scenes,
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=policy_hash(style),
    )
    return page.encode()


def gallery(
    about: GalleryHeader, questions: Sequence[GalleryQuestion], refused: Sequence[GalleryRejection]
) -> Iterator[tuple[str, bytes]]:
    """File below the gallery's folder -> bytes, the page last: what it needs is there by then."""
    environment = environment_of_pages()
    macros: Any = environment.get_template("detail.html.jinja").module
    tasks = sorted({q.detail.shown.task for q in questions} | {r.dropped.task for r in refused})
    scenes = sorted({q.detail.shown.scene for q in questions} | {r.dropped.scene for r in refused})
    reasons = sorted({r.dropped.reason for r in refused})
    doubts = doubts_of([q.detail for q in questions])
    places = [{name: n for n, name in enumerate(names)} for names in (tasks, scenes, reasons, doubts)]
    of_task, of_scene, of_reason, of_doubt = places

    def row_of(number: int, one: GalleryQuestion | GalleryRejection) -> list[Any]:
        file = _details_file(number // DETAILS)
        if isinstance(one, GalleryQuestion):
            shown = one.detail.shown
            picture = one.pictures[0][0] if one.pictures else ""
            own = [of_doubt[name] for name in one.detail.doubtful]
            head = [str(shown.id), of_task[shown.task], of_scene[shown.scene], -1]
            return [*head, _cut(" ".join(shown.text.split())), _cut(shown.answer), picture, own, file]
        lost = one.dropped
        head = [str(lost.id), of_task[lost.task], of_scene[lost.scene], of_reason[lost.reason]]
        return [*head, _cut(", ".join(lost.about)), lost.told, one.picture, [], file]

    everything: list[GalleryQuestion | GalleryRejection] = [*questions, *refused]
    for number, part in enumerate(_parts(everything, DETAILS)):
        made = {
            (
                str(one.detail.shown.id)
                if isinstance(one, GalleryQuestion)
                else f"{one.dropped.id}.{of_reason[one.dropped.reason]}"
            ): (
                macros.question(one.detail, one.pictures, one.near, one.video)
                if isinstance(one, GalleryQuestion)
                else macros.dropped(one.dropped, one.picture)
            )
            for one in part
        }
        yield f"data/{_details_file(number)}", _script("details", made)
    rows = [row_of(number, one) for number, one in enumerate(everything)]
    chunks = list(_parts(rows, ROWS))
    for number, some in enumerate(chunks):
        yield f"data/rows-{number:04}.js", _script("rows", some)
    style = "".join(environment.get_template(name).render() for name in ("report.css", "detail.css", "gallery.css"))
    script = environment.get_template("gallery.js").render()
    page = environment.get_template("gallery.html.jinja").render(
        about._asdict(),
        questions=len(questions),
        dropped=sum(about.reasons.values()),
        kept=len(refused),
        tasks=tasks,
        scenes=scenes,
        reasons=[(name, about.reasons[name]) for name in reasons],
        doubts=doubts,
        chunks=len(chunks),
        details=DETAILS,
        style=Markup(style),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704
        style_hash=policy_hash(style),
        script_hash=policy_hash(script),
    )
    yield INDEX, page.encode()


def _details_file(number: int) -> str:
    return f"details-{number:04}.js"


def _script(call: str, held: Any) -> bytes:
    """A script that hands something over. The two line separators end a line in JavaScript's eyes, not in JSON's."""
    text = json.dumps(held, ensure_ascii=False, separators=(",", ":"))
    for end in "\u2028\u2029":
        text = text.replace(end, f"\\u{ord(end):04x}")
    return f"gallery.{call}({text});\n".encode()


def _parts(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]}…"

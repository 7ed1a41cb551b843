"""Pages to look at questions one by one: a page of a few, and a gallery of all with its data in files beside it.

The gallery opens from disk, where a browser lets a page read no other files but scripts and pictures. So its data are
scripts that hand over what they hold, in parts, each loaded when it is needed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from pipeline.benchmarks.benchmark import PictureMark
from pipeline.drawing.sheet import MAP_VIEW
from pipeline.rendering.details import QuestionDetail, RejectionDetail, SceneDetail, doubts_of
from pipeline.rendering.report import environment_of_pages, policy_hash
from pipeline.scoring.leaderboard import FAILED

INDEX: Final = "index.html"
ROWS: Final = 2000  # in a file of the list
DETAILS: Final = 40  # in a file of what is opened
TEXT_CHARS: Final = 280  # of a question in the list
REPLY_CHARS: Final = 1500
MARGINS: Final = (0.01, 0.05, 0.1, 0.25, 0.5)  # by which one may filter, in shares of a limit


class Picture(NamedTuple):
    """A picture: its address, what it shows, and what is marked in it."""

    address: str
    shows: str
    marks: Sequence[PictureMark] = ()


class GalleryReply(NamedTuple):
    """The reply of a model to a question.

    Attributes:
        budget: the number of frames that it was shown; None: the whole video.
        reply: its words; empty: it said nothing.
        mark: in shares of the highest one; None: it was not measured.
        unread: why no answer was found in the reply, or empty.
    """

    model: str
    budget: int | None
    reply: str
    mark: float | None
    unread: str = ""

    @property
    def is_right(self) -> bool | None:
        """Whether it earned at least half of the highest mark; None: it was not measured."""
        return None if self.mark is None else self.mark >= FAILED

    @property
    def shown(self) -> str:
        """As much of the reply as the page shows: its end, where the answer mostly stands."""
        return self.reply if len(self.reply) <= REPLY_CHARS else f"… {self.reply[-REPLY_CHARS:]}"


class GalleryQuestion(NamedTuple):
    """A question in the gallery with its pictures, first its thumbnail.

    Attributes:
        near: address of the picture of its near miss, or empty.
        video: address of the video that it is asked about, or empty.
        budgets: numbers of frames in which it has an answer.
        replies: of models.
    """

    detail: QuestionDetail
    pictures: Sequence[Picture]
    near: str = ""
    video: str = ""
    budgets: Sequence[int] = ()
    replies: Sequence[GalleryReply] = ()

    @property
    def thumbnail(self) -> str:
        """Address of the first picture; of a drawing in several parts that of its map alone."""
        picture = self.pictures[0].address if self.pictures else ""
        return f"{picture}#{MAP_VIEW}" if picture.endswith(".svg") else picture


class GalleryRejection(NamedTuple):
    """A rejected candidate in the gallery; ``picture`` is an address, or empty."""

    dropped: RejectionDetail
    picture: str


class GalleryHeader(NamedTuple):
    """The gallery's head of a release.

    Attributes:
        reasons: how many candidates each dropped.
        each: so many are shown of each task and reason.
        replied: each model, and the number of frames that it was shown (None: the whole video).
    """

    title: str
    about: str
    name: str
    reasons: Mapping[str, int]
    each: int
    replied: Sequence[tuple[str, int | None]] = ()


def one_page(
    heading: str,
    title: str,
    name: str,
    *,
    questions: Sequence[tuple[QuestionDetail, Sequence[Picture]]] = (),
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
    budgets = sorted({n for q in questions for n in q.budgets} | {n for _, n in about.replied if n is not None})
    places = [{name: n for n, name in enumerate(names)} for names in (tasks, scenes, reasons, doubts)]
    of_task, of_scene, of_reason, of_doubt = places

    def row_of(number: int, one: GalleryQuestion | GalleryRejection) -> list[Any]:
        file = _details_file(number // DETAILS)
        if isinstance(one, GalleryQuestion):
            shown = one.detail.shown
            picture = one.thumbnail
            own = [of_doubt[name] for name in one.detail.doubtful]
            head = [str(shown.id), of_task[shown.task], of_scene[shown.scene], -1]
            right = {(reply.model, reply.budget): reply.is_right for reply in one.replies}
            marks = [None if (is_right := right.get(column)) is None else int(is_right) for column in about.replied]
            margin = None if shown.margin is None else float(f"{shown.margin:.4g}")
            text = _cut(" ".join(shown.text.split()))
            return [*head, text, _cut(shown.answer), picture, own, file, margin, list(one.budgets), marks]
        lost = one.dropped
        head = [str(lost.id), of_task[lost.task], of_scene[lost.scene], of_reason[lost.reason]]
        return [*head, _cut(", ".join(lost.about)), lost.measured_text, one.picture, [], file, None, [], []]

    everything: list[GalleryQuestion | GalleryRejection] = [*questions, *refused]
    for number, part in enumerate(_parts(everything, DETAILS)):
        made = {
            (
                str(one.detail.shown.id)
                if isinstance(one, GalleryQuestion)
                else f"{one.dropped.id}.{of_reason[one.dropped.reason]}"
            ): (
                macros.question(one.detail, one.pictures, one.near, one.video, one.replies)
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
        asked_scenes=len({q.detail.shown.scene for q in questions}),
        dropped=sum(about.reasons.values()),
        kept=len(refused),
        tasks=tasks,
        scenes=scenes,
        reasons=[(name, about.reasons[name]) for name in reasons],
        doubts=doubts,
        budgets=budgets,
        margins=MARGINS,
        models=list(dict.fromkeys(model for model, _ in about.replied)),
        columns=json.dumps(about.replied, ensure_ascii=False),
        chunks=len(chunks),
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

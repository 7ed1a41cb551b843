"""The common base of the visual tasks: wording by identity, views drawn after the answer, and named rejections.

A text must not tell its answer. So, wherever a view can make any answer true, the answer is drawn first, by identity,
and then a view in which it is true; and where it cannot, a question is asked only together with its counterparts: the
same words about other views, each answer as often as any other, and no answer is offered that has no counterpart.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from numpy.random import Generator

from pipeline.benchmarks.ergeobench.images import PictureRef, show
from pipeline.benchmarks.ergeobench.rules import SURROUNDINGS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.errors import TemplateError
from pipeline.core.identity import digest, rng_for
from pipeline.core.schema import Rejection
from pipeline.core.templates import load_template
from pipeline.geometry.views import PinholeView
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.gate import NamedThing
from pipeline.questions.model_authoring import MODEL_ASSISTED
from pipeline.questions.rules import Measure, first_broken, rule

TRIES: Final = 24  # views that are drawn for an answer


class SeenTask(CaseTask[ErgeoView]):
    """Base of tasks about what a panorama shows."""

    share = 1

    def obstacle(self, view: ErgeoView) -> Rejection | None:
        """Nothing is asked of panoramas that are out of distribution, lean, have a gap or no known object."""
        facts, rules = view.facts, view.rules
        tilt = max(abs(facts.camera_pitch_deg or 0.0), abs(facts.camera_roll_deg or 0.0))
        crop = facts.picture.crop
        across_deg = 360.0 if crop is None else 360.0 * facts.picture.width / crop.full_width
        measures = (
            rule("out_of_distribution", float(view.is_out_of_distribution), "<=", 0, "tags"),
            rule("camera_not_level", tilt, "<=", rules.level_max_deg, "deg"),
            rule("not_all_around", across_deg, ">=", 360, "deg"),  # what is beyond is black in views
            rule("no_objects_known", self.known(view), ">=", 1, "objects"),
            *self.required(view),
        )
        broken = first_broken(measures)
        return broken.rejection() if broken else None

    def flags(self, view: ErgeoView) -> list[str] | None:
        """Says so where two models, and not people, say what the panorama shows."""
        return [MODEL_ASSISTED] if view.facts.looked_at and self.name not in SURROUNDINGS else None

    def known(self, view: ErgeoView) -> int:
        """How many things a panorama has that the task may ask about."""
        return len(view.objects) or len(view.landmarks)

    def required(self, view: ErgeoView) -> tuple[Measure, ...]:
        """Further requirements of a panorama, so that the task can be asked."""
        return ()

    def ask_once(self, view: ErgeoView, cases: Iterable[Case]) -> None:
        """The same words about another view are another question."""

    def rng(self, view: ErgeoView, *operands: str) -> Generator:
        """The generator that draws a candidate's answer and view."""
        return rng_for(view.scene.id, self.name, *operands)

    def word(self, view: ErgeoView, case: Case, template: str | None = None, **fields: str) -> Case:
        """Gives a candidate its text, in one of the template's wordings."""
        try:
            case.wording = worded(template or self.template, (view.scene.id, *case.operands), **fields)
        except TemplateError:
            case.wording = ""
            case.refuse("reads_in_two_ways")
        return case

    def about(self, view: ErgeoView, *members: int, more: Sequence[str] = (), is_named: bool = True) -> Case:
        """A candidate about objects, with what makes them usable."""
        case = Case(*(view.objects[i].id for i in members), *more, wording="")
        for i in members:
            seen = view.objects[i]
            if is_named:
                case.name(self.named(view, i))
            for measure in view.measures(i, is_named=is_named):
                case.measured(replace(measure, subject=seen.id))
            case.fact("yaw", seen.id, seen.yaw_deg, "deg")
            case.fact("width", seen.id, seen.width_deg, "deg")
            if seen.distance_m is not None:
                case.fact("distance", seen.id, seen.distance_m, "m")
        return case

    def named(self, view: ErgeoView, i: int) -> NamedThing:
        """An object as its label names it; a landmark of the map has a proper name."""
        seen = view.objects[i]
        thing = NamedThing(seen.label, seen.label, seen.visible_share, view.rules.visible_share_min, "share")
        own = view.landmarks.get(seen.id)
        return thing if own is None else replace(thing, doubles=own.others, mark=own.name)

    def lay(self, view: ErgeoView, case: Case, *shots: PictureRef, members: Sequence[int] = ()) -> None:
        """Writes the views of a candidate, and where objects lie in the first that shows them."""
        show(case, *shots)
        for i in members:
            shot = next((own for own in shots if isinstance(own, PinholeView) and view.shown_whole(own)[i]), None)
            if shot is not None:
                names = ("left_edge", "right_edge", "lower_edge", "upper_edge")
                for name, value in zip(names, view.extent(i, shot).tolist(), strict=True):
                    case.fact(name, view.objects[i].id, value, "half pictures")

    def unshown(self, case: Case, tried: int) -> Case:
        """Refuses a candidate for which no view was found."""
        if case.refusal is None:
            case.refuse("no_view_shows_it_alone", 0, 1, f"views of {tried}")
        return case


def by_digest(view: ErgeoView, task: str, members: Iterable[int]) -> list[int]:
    """Objects in an order that only their identity tells."""
    return sorted(members, key=lambda i: digest(view.scene.id, task, "order", view.objects[i].id))


def usable(view: ErgeoView) -> Iterator[int]:
    """Indices of the objects that can be asked about by their label."""
    return (i for i in range(len(view.objects)) if view.usable(i))


def worded(template: str, identity: Sequence[str], **fields: str) -> str:
    """A question's text in one of the wordings of a template (its ``text`` and those in ``also_parsed``).

    Raises TemplateError where a field would make it read in two ways.
    """
    found = load_template(template)
    wordings = (found.text, *found.also_parsed)
    drawn = int.from_bytes(digest("wording", found.id, *identity)[:8], "big") % len(wordings)
    return found.model_copy(update={"text": wordings[drawn]}).render(dict(fields))

"""Foundational Perception: what of a slot a declared view shows, as multiple choice and as true or false.

Each question is one of a set that has the same words: the views differ, and with them the answer. Of a statement as
many views make it true as make it false; of a choice each option is right in one view. So the words tell nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from pipeline.benchmarks.ergeobench.images import WHOLE
from pipeline.benchmarks.ergeobench.tasks.base import SeenTask, by_digest
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.identity import digest
from pipeline.core.templates import load_table
from pipeline.geometry.views import PinholeView
from pipeline.questions.cases import Case
from pipeline.questions.model_authoring import MODEL_ASSISTED
from pipeline.questions.rules import Measure, rule

MOST: Final = 4  # options
CUES: Final = load_table("panorama/cues")
DRIVING_SIDE: Final = "driving side"
TRUE, FALSE = ANSWERS = ("True", "False")
"""Possible answer -> the views that show it, and it alone of all that may, each with its object."""


class Perception(SeenTask):
    """Questions of one slot."""

    reads = "kind"

    def __init__(self, slot: str) -> None:
        self.name = slot
        self.template = "ergeobench/questions/shows_which"
        self.parts = (
            "ergeobench/questions/cue",
            "ergeobench/questions/shows_label",
            "ergeobench/questions/attribute",
            "ergeobench/questions/is_attribute",
            "ergeobench/questions/reads",
        )

    def required(self, view: ErgeoView) -> tuple[Measure, ...]:
        """Something of the slot must be known."""
        return (rule("slot_not_known", self.known(view), ">=", 1, "objects"),)

    def known(self, view: ErgeoView) -> int:
        """Objects and cues of the slot."""
        return sum(seen.slot == self.name for seen in view.objects) + len(self._known_cues(view))

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Of labels: which is shown, and whether one is; of an attribute: which value, and whether one; of names."""
        yield from self._cues(view)
        members = [i for i, seen in enumerate(view.objects) if seen.slot == self.name]
        for i in members:
            if not view.usable(i):
                yield self.word(view, self.about(view, i), "ergeobench/questions/shows_label", label=view.labels[i])
        labels = sorted({view.labels[i] for i in members} & set(view.facts.complete))
        yield from self._presence(view, labels)
        yield from self._which_cases(view, labels)
        for label in labels:
            yield from self._attributes(view, label)
        yield from self._names(view, members)

    def _known_cues(self, view: ErgeoView) -> dict[str, str]:
        """The cues of the slot that are known."""
        return {cue: value for cue, value in view.facts.cues.items() if CUES["cues"][cue]["slot"] == self.name}

    def _cues(self, view: ErgeoView) -> Iterator[Case]:
        """What the whole scene tells of where it is (table 6), asked of the whole panorama."""
        for cue, value in sorted(self._known_cues(view).items()):
            case = Case("cue", cue, wording="")
            self.word(view, case, "ergeobench/questions/cue", question=CUES["cues"][cue]["question"])
            code = view.facts.place.country_code if view.facts.place else None
            if cue == DRIVING_SIDE and code is not None:
                is_so = (value == "left") == (code in CUES["left_driving"])
                case.require("unlike_its_country", float(is_so), ">=", 1, "sides that fit", code)
            self.lay(view, case, WHOLE)
            if f"cues.{cue}" in view.facts.source_tags and not view.facts.looked_at:
                case.flags.append(MODEL_ASSISTED)
            others = [own for own in CUES["cues"][cue]["values"] if own != value]
            drawn = self.rng(view, "cue", cue).permutation(len(others)).tolist()[: MOST - 1]
            yield case.ask(value, [others[k] for k in sorted(drawn)], least=1)

    def _presence(self, view: ErgeoView, labels: Sequence[str]) -> Iterator[Case]:
        """A statement for each label, in a view that shows it and in one that shows nothing of it."""
        for label in labels:
            own = view.of_label(label)
            shows = [(v, i) for v in view.around for i in own.tolist() if view.usable(i) and view.shown_whole(v)[i]]
            lacks = [v for v in view.around if not view.touched(v)[view.may_be(label)].any()]
            for answer, found in ((TRUE, shows[:1]), (FALSE, [(v, None) for v in lacks[:1]])):
                shot, i = found[0] if found else (None, None)
                case = self._case(view, "there", label, answer, shot, i)
                self.word(view, case, "ergeobench/questions/shows_label", label=label)
                case.require("always_in_view", len(lacks), ">=", 1, "views without it")
                case.require("no_view_shows_it_alone", len(shows), ">=", 1, "views")
                yield case.ask(answer, ANSWERS, least=1)

    def _which_cases(self, view: ErgeoView, labels: Sequence[str]) -> Iterator[Case]:
        """Labels in fixed groups: each is right in a view that shows nothing of the others."""
        shows = {label: self._lone_views(view, [label], labels) for label in labels}
        ordered = sorted((label for label in labels if shows[label]), key=lambda x: digest(view.scene.id, "which", x))
        for group in grouped(ordered):
            found = {label: self._lone_views(view, [label], group) for label in group}
            alone = [label for label in group if found[label]]
            for label in alone:
                shot, i = found[label][0]
                case = self._case(view, "which", ", ".join(sorted(alone)), label, shot, i)
                self.word(view, case, things=", ".join(sorted(alone)))
                case.fact("alternatives", label, len(alone), "labels")
                yield case.ask(label, alone, least=1)

    def _lone_views(self, view: ErgeoView, own: Sequence[str], group: Sequence[str]) -> list[tuple[PinholeView, int]]:
        """Views that show an object of some labels whole, and of all others of a group nothing."""
        members = [i for label in own for i in view.of_label(label).tolist() if view.usable(i)]
        others = [i for label in group if label not in own for i in view.may_be(label).tolist()]
        return [
            (shot, i)
            for shot in view.around
            if not view.touched(shot)[others].any()
            for i in members
            if view.shown_whole(shot)[i]
        ]

    def _attributes(self, view: ErgeoView, label: str) -> Iterator[Case]:
        """An attribute of which objects of one label have different values: which it is, and whether it is one."""
        own = [i for i in by_digest(view, self.name, view.of_label(label).tolist()) if view.usable(i)]
        for key in sorted({key for i in own for key in view.objects[i].attributes}):
            found: dict[str, tuple[PinholeView, int]] = {}
            for i in own:
                value = view.objects[i].attributes.get(key)
                shot = view.first_lone(i, view.around) if value is not None and value not in found else None
                if value is not None and shot is not None:
                    found[value] = (shot, i)
            values = sorted(found)[:MOST]
            for n, value in enumerate(values):
                shot, i = found[value]
                case = self._case(view, f"which {key}", label, value, shot, i)
                self.word(view, case, "ergeobench/questions/attribute", label=label, key=key)
                case.require("one_value_alone", len(values), ">=", 2, "values")
                yield case.ask(value, values, least=1)
                if len(values) > 1:  # a statement is true in one view, and false in another
                    for answer, (shot, i) in zip(ANSWERS, (found[value], found[values[n - 1]]), strict=True):
                        case = self._case(view, f"is {key} {value}", label, answer, shot, i)
                        self.word(view, case, "ergeobench/questions/is_attribute", label=label, key=key, value=value)
                        yield case.ask(answer, ANSWERS, least=1)

    def _names(self, view: ErgeoView, members: Sequence[int]) -> Iterator[Case]:
        """Names that can be read: each is right in a view that shows it and none of the others."""
        named: dict[str, list[int]] = defaultdict(list)
        for i in by_digest(view, f"{self.name} names", members):
            name = view.objects[i].name
            is_read = all(measure.holds for measure in view.legible(i))
            if name is not None and is_read and self.name == "Signage" and view.usable(i):
                named[name].append(i)
        everywhere: dict[str, list[int]] = defaultdict(list)
        for i, seen in enumerate(view.objects):
            if seen.name:
                everywhere[seen.name].append(i)
        ordered = sorted(named, key=lambda x: digest(view.scene.id, "names", x))
        for group in grouped(ordered):
            found: dict[str, tuple[PinholeView, int]] = {}
            for name in group:
                others = [i for other in group if other != name for i in everywhere[other]]
                shows = ((s, i) for s in view.around for i in named[name] if view.shown_whole(s)[i])
                first = next(((s, i) for s, i in shows if not view.touched(s)[others].any()), None)
                if first is not None:
                    found[name] = first
            for name, (shot, i) in found.items():
                case = self._case(view, "reads", ", ".join(sorted(found)), name, shot, i)
                self.word(view, case, "ergeobench/questions/reads")
                case.require("one_name_alone", len(found), ">=", 2, "names")
                yield case.ask(name, sorted(found), least=1)

    def _case(
        self, view: ErgeoView, kind: str, what: str, answer: str, shot: PinholeView | None, i: int | None
    ) -> Case:
        """A candidate about a view; its operands tell the view and not the answer."""
        seen_from = "" if shot is None else f"{shot.yaw_deg:.2f} {shot.pitch_deg:.2f} {shot.fov_deg:.2f}"
        case = Case(kind, what, seen_from or f"no view {answer}", wording="")
        if i is not None:
            for measure in view.measures(i):
                case.measured(measure)
        if shot is not None:
            self.lay(view, case, shot, members=[] if i is None else [i])
        return case


def grouped(ordered: Sequence[str]) -> list[Sequence[str]]:
    """Parts of at most `MOST`, as even as they can be, each of two or more."""
    parts = -(-len(ordered) // MOST)
    return [ordered[n::parts] for n in range(parts) if len(ordered[n::parts]) > 1]

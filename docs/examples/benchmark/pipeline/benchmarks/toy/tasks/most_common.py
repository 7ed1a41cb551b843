"""most_common: of which kind of object there are most; a task that yields cases."""

from collections.abc import Iterator

from pipeline.benchmarks.toy.rules import RoomView
from pipeline.questions.cases import Case, CaseTask


class MostCommon(CaseTask[RoomView]):
    """One question per scan, without operands. Truth: the category with the largest count; the next three are wrong."""

    name = "most_common"
    reads = "count"
    share = 1
    template = "toy/most_common"

    def cases(self, view: RoomView) -> Iterator[Case]:
        """The one case, where two categories can be counted."""
        counts = {str(view.names[i]): int(view.count[i]) for i in view.usable("counted")}
        ranked = sorted(counts, key=lambda name: (-counts[name], name))[:4]
        if len(ranked) >= 2:
            case = Case()
            for name in ranked:
                case.fact("count", name, counts[name], "objects")
            lead = counts[ranked[0]] - counts[ranked[1]]
            case.require("lead_too_small", lead, ">=", view.rules.lead_min, "objects")
            yield case.ask(ranked[0], ranked[1:])

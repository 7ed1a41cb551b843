"""The benchmark of yards: one task over indoor scans."""

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
from pydantic import Field

from pipeline.benchmarks.benchmark import Benchmark, Card
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.published import Columns
from pipeline.worlds.indoor.view import IndoorRules, IndoorView
from pipeline.worlds.indoor.world import INDOOR


class Rules(IndoorRules):
    """Limits; any can be set in a build's configuration."""

    lead_min: int = Field(default=1, ge=1, description="how many more than of any other kind")


YardView = IndoorView[Rules]


class MostCommon(CaseTask[YardView]):
    """One question per yard, without operands: of which kind of thing there are most."""

    name = "yard_most_common"
    reads = "count"
    share = 1
    template = "yard/most_common"

    def cases(self, view: YardView) -> Iterator[Case]:
        """The one case, where two categories can be counted."""
        counts = {str(view.names[i]): int(view.count[i]) for i in view.usable("counted")}
        ranked = sorted(counts, key=lambda name: (-counts[name], name))[:4]
        if len(ranked) >= 2:
            case = Case()
            for name in ranked:
                case.fact("count", name, counts[name], "objects")
            case.require("lead_too_small", counts[ranked[0]] - counts[ranked[1]], ">=", view.rules.lead_min, "objects")
            yield case.ask(ranked[0], ranked[1:])


SCHEMA = pa.schema(
    [("id", pa.int64()), ("question", pa.string()), ("options", pa.list_(pa.string())), ("ground_truth", pa.string())]
)
HOLDS = {"id": "of the question", "question": "its text", "options": "in order", "ground_truth": "the right letter"}


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The released table of questions (`core.tables.QUESTIONS`)."""
    return pa.table([asked[name] for name in ("id", "text", "options", "ground_truth")], schema=SCHEMA)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """A released row in the shared form; None for a row with other columns."""
    return raw | {"question_type": MostCommon.name, "scene_name": ""} if set(raw) == set(SCHEMA.names) else None


YARD = Benchmark[YardView, Rules](
    name="yard",
    title="Yard",
    worlds=(INDOOR,),
    tasks=(MostCommon(),),
    profiles={"strict": Rules(distance="exact", refuse_doubts=True, refuse_lookalikes=True, refuse_unseen=True)},
    view=IndoorView,
    columns=Columns(SCHEMA, table, row, HOLDS),
    card=Card(module=__name__, about="What there is most of in yards.", media="there are none"),
)

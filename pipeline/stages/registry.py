"""All stages, in the order in which a build runs them."""

from __future__ import annotations

from typing import Final

from pipeline.engine.stage import Stage
from pipeline.stages.author import AUTHOR
from pipeline.stages.blind import BLIND, FILTER, PRUNE
from pipeline.stages.export import EXPORT
from pipeline.stages.film import CLIP, DRAW, FILM
from pipeline.stages.fix import FIX
from pipeline.stages.generate import GENERATE
from pipeline.stages.legend import LEGEND
from pipeline.stages.look import LOOK
from pipeline.stages.observe import OBSERVE
from pipeline.stages.picture import PICTURE
from pipeline.stages.review import REVIEW
from pipeline.stages.select import SELECT
from pipeline.stages.unify import UNIFY
from pipeline.stages.views import DECLARE, VIEWS

_ALL: Final[tuple[Stage, ...]] = (
    UNIFY,
    FIX,
    FILM,
    OBSERVE,
    DRAW,
    LOOK,
    GENERATE,
    DECLARE,
    AUTHOR,
    SELECT,
    CLIP,
    VIEWS,
    LEGEND,
    PICTURE,
    BLIND,
    FILTER,
    PRUNE,
    REVIEW,
    EXPORT,
)
STAGES: Final[dict[str, Stage]] = {stage.name: stage for stage in _ALL}

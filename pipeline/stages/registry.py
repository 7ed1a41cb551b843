"""All stages, in the order in which a build runs them."""

from typing import Final

from pipeline.engine.stage import Stage
from pipeline.stages.author import AUTHOR
from pipeline.stages.author_views import AUTHOR_VIEWS
from pipeline.stages.bev_video import BEV_VIDEO
from pipeline.stages.blind import BLIND
from pipeline.stages.clip import CLIP
from pipeline.stages.describe import DESCRIBE
from pipeline.stages.export import EXPORT
from pipeline.stages.figures import FIGURES
from pipeline.stages.filter import FILTER
from pipeline.stages.fix import FIX
from pipeline.stages.frames import FRAMES_STAGE
from pipeline.stages.generate import GENERATE
from pipeline.stages.landmark_pictures import LANDMARK_PICTURES
from pipeline.stages.observe import OBSERVE
from pipeline.stages.prune import PRUNE
from pipeline.stages.review import REVIEW
from pipeline.stages.select import ANSWER_COUNTS, BALANCE, SELECT
from pipeline.stages.twins import TWINS_STAGE
from pipeline.stages.unify import UNIFY
from pipeline.stages.verify import VERIFY
from pipeline.stages.video import VIDEO
from pipeline.stages.views import VIEWS

_ALL: Final[tuple[Stage, ...]] = (
    UNIFY,
    FIX,
    VIDEO,
    OBSERVE,
    BEV_VIDEO,
    DESCRIBE,
    GENERATE,
    AUTHOR_VIEWS,
    AUTHOR,
    ANSWER_COUNTS,
    BALANCE,
    SELECT,
    CLIP,
    VERIFY,
    FRAMES_STAGE,
    TWINS_STAGE,
    VIEWS,
    LANDMARK_PICTURES,
    FIGURES,
    BLIND,
    FILTER,
    PRUNE,
    REVIEW,
    EXPORT,
)
STAGES: Final[dict[str, Stage]] = {stage.name: stage for stage in _ALL}

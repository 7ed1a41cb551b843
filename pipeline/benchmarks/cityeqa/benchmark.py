"""CityEQA."""

from typing import Final

from pipeline.benchmarks.benchmark import Benchmark, SceneViews
from pipeline.benchmarks.cityeqa import author
from pipeline.benchmarks.cityeqa.agent import ASKING
from pipeline.benchmarks.cityeqa.audit import AUDIT
from pipeline.benchmarks.cityeqa.columns import CARD, COLUMNS
from pipeline.benchmarks.cityeqa.pictures import blind_pictures, task_pictures
from pipeline.benchmarks.cityeqa.raw import raw_checks
from pipeline.benchmarks.cityeqa.rules import PROFILES, CityRules
from pipeline.benchmarks.cityeqa.score import HARNESS, SCORE
from pipeline.benchmarks.cityeqa.tasks.registry import CITY_TASKS
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.worlds.city.world import CITY

CITYEQA: Final = Benchmark[CityView, CityRules](
    name="cityeqa",
    title="CityEQA",
    worlds=(CITY,),
    tasks=tuple(CITY_TASKS.values()),
    profiles=PROFILES,
    view=CityView,
    columns=COLUMNS,
    card=CARD,
    pictures=task_pictures,
    views=SceneViews(author.__name__, None, author.declared),
    author=author.CityAuthor(),
    audit=AUDIT,
    blind_pictures=blind_pictures,
    checks=raw_checks,
    flags=("duplicate", "spelling", "start_blocked", "wrong_pose", "not_unique"),
    score=SCORE,
    harness=HARNESS,
    tiny={"Object Recognition": 47, "Attribute Recognition": 29, "Counting": 29, "Existence Judgement": 39}
    | {"Spatial Reasoning": 29, "World Knowledge": 27},  # 200 as the paper evaluates, by its table 4
    asking=ASKING,
)

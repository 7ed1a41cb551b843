"""What CityEQA says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card

CITATION: Final = """\
@article{zhao2025cityeqa,
  title = {CityEQA: A Hierarchical LLM Agent on Embodied Question Answering Benchmark in City Space},
  author = {Zhao, Yong and Xu, Kai and Zhu, Zhengqiu and Hu, Yue and Zheng, Zhiheng and Chen, Yingfeng and Ji, Yatai
            and Gao, Chen and Li, Yong and Huang, Jincai},
  journal = {arXiv preprint arXiv:2502.12532},
  year = {2025}
}"""

CARD: Final = Card(
    module=__name__,
    about="Questions that an agent answers by finding their object in a city, after CityEQA, built with scan2qa.",
    captioned="maps",
    media="`city` names them: poses are metres and degrees in that city's frame, x east, y north, yaw clockwise",
    citation=CITATION,
    chosen=frozenset({"answer_more_frequent"}),
    terms={"sample_cities": "procedural cities, made by scan2qa: none"},
    parts={
        "maps": "`maps/<question_id>.png`: the map about a task with start, landmarks, target and the oracle's way."
    },
)

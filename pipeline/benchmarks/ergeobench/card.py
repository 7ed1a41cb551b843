"""What ERGeoBench says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card

CITATION: Final = """\
@article{xue2026ergeobench,
  title = {ERGeoBench: A Comprehensive Benchmark for Embodied Reasoning and Geo-localization in Multimodal Large
           Language Models},
  author = {Xue, Kaiwen and Wei, Tao and Zhang, Guoxin and Ou, Zhonghong and Lu, Kaoyan and Feng, Yu and Zhu, Yifan
            and Luo, Haoran},
  journal = {arXiv preprint arXiv:2605.31251},
  year = {2026}
}"""

CARD: Final = Card(
    module=__name__,
    about="Questions about where a panorama was taken and what is seen from there, after ERGeoBench, built with "
    "scan2qa. Faces and number plates were not looked for: whoever publishes pictures blurs them before.",
    media="`images` are the pictures that go with a question, in order; they carry no metadata (EXIF, XMP)",
    citation=CITATION,
    chosen=frozenset({"too_many_pairs"}),
    pixels={"views": "views of the panoramas"},
    terms={"sample_panoramas": "procedural street panoramas, made by scan2qa: none"},
    parts={
        "views": "`views/<panorama>/<name>.jpg`: what questions show. Each panorama's licence, author and source "
        "stand in `panoramas.jsonl`; pictures are under the terms of their own panorama.",
        "environments": "`environments/<panorama>.json`: of the embodied setting, where an agent starts.",
        "agent": "`agent/<split>.jsonl`: geo-localization as a harness asks it, with the prompt and the schema "
        "of replies (`agent/reply.schema.json`).",
    },
)

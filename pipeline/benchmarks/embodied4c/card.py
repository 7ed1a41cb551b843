"""What Embodied4C says of itself in the dataset card."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.benchmark import Card

CITATION: Final = """\
@misc{sohn2025embodied4c,
  title = {Embodied4C: Measuring What Matters for Embodied Vision-Language Navigation},
  author = {Sohn, Tin Stribor and Dillitzer, Maximilian and Kandil, Can and Corso, Jason J. and Sax, Eric},
  year = {2025}
}"""

SOURCES: Final = {
    "argoverse2": """\
@inproceedings{wilson2021argoverse2,
  title = {Argoverse 2: Next Generation Datasets for Self-Driving Perception and Forecasting},
  author = {Wilson, Benjamin and others},
  booktitle = {NeurIPS Datasets and Benchmarks Track},
  year = {2021}
}""",
    "kitti_tracking": """\
@inproceedings{geiger2012kitti,
  title = {Are we ready for Autonomous Driving? The KITTI Vision Benchmark Suite},
  author = {Geiger, Andreas and Lenz, Philip and Urtasun, Raquel},
  booktitle = {Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition (CVPR)},
  year = {2012}
}""",
    "carla": """\
@inproceedings{dosovitskiy2017carla,
  title = {CARLA: An Open Urban Driving Simulator},
  author = {Dosovitskiy, Alexey and Ros, German and Codevilla, Felipe and Lopez, Antonio and Koltun, Vladlen},
  booktitle = {Proceedings of the 1st Annual Conference on Robot Learning (CoRL)},
  year = {2017}
}""",
    "rlbench": """\
@article{james2020rlbench,
  title = {RLBench: The Robot Learning Benchmark \\& Learning Environment},
  author = {James, Stephen and Ma, Zicong and Arrojo, David Rovick and Davison, Andrew J.},
  journal = {IEEE Robotics and Automation Letters},
  year = {2020}
}""",
}

CARD: Final = Card(
    module=__name__,
    about="Questions over logs of driving, flying and manipulating, proven by what the logs record, after Embodied4C, "
    "built with scan2qa. Questions are free-form: numbers with their unit and reference points, or a few words.",
    media="`log` names them; a question stands at second `until_s` and may use what came before, `video` where the log "
    "has pictures",
    citation=CITATION,
    chosen=frozenset({"answer_too_frequent"}),
    terms={
        "argoverse2": "Argoverse 2: CC BY-NC-SA 4.0 (<https://www.argoverse.org/about.html>)",
        "kitti_tracking": "KITTI: CC BY-NC-SA 3.0 (<https://www.cvlibs.net/datasets/kitti/>)",
        "rlbench": "the licence of RLBench: research (<https://github.com/stepjam/RLBench/blob/master/LICENSE>)",
        "sample_city": "procedural flights, made by scan2qa: none",
    },
    sources=SOURCES,
    parts={"pictures": "`pictures/<question_id>.png`: of a question about a drive what was measured, with the answer."},
)

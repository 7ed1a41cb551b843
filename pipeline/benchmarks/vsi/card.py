"""The release of VSI-Bench: public columns, dataset card, and files for lmms-eval and VLMEvalKit.

Both harnesses mark it with their own functions of VSI-Bench.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card
from pipeline.questions.harness import ABOUT, FOLDER, lmms_eval, vlmevalkit
from pipeline.questions.published import REQUIRED, Columns

# What attackers earn on the 2,203 released questions of 122 scenes (`scan2qa stress-test`, folds by scene), best first.
GIVEN_AWAY: Final = {
    "obj_appearance_order": {
        "forest": 0.336,
        "by letter": 0.256,
        "by length": 0.250,
        "by likeness": 0.250,
        "by name": 0.250,
        "by text": 0.250,
        "most frequent": 0.248,
    },
    "object_abs_distance": {"forest": 0.340, "by name": 0.327, "median": 0.289, "most frequent": 0.237},
    "object_counting": {"median": 0.632, "most frequent": 0.632, "forest": 0.627, "by name": 0.600},
    "object_rel_direction_easy": {
        "forest": 0.505,
        "by likeness": 0.500,
        "by text": 0.500,
        "by letter": 0.478,
        "by name": 0.473,
        "by length": 0.462,
        "most frequent": 0.462,
    },
    "object_rel_direction_hard": {
        "forest": 0.489,
        "by name": 0.433,
        "most frequent": 0.433,
        "by length": 0.404,
        "by likeness": 0.250,
        "by text": 0.250,
        "by letter": 0.242,
    },
    "object_rel_direction_medium": {
        "by name": 0.523,
        "most frequent": 0.523,
        "forest": 0.497,
        "by length": 0.416,
        "by likeness": 0.333,
        "by text": 0.333,
        "by letter": 0.305,
    },
    "object_rel_distance": {
        "by name": 0.364,
        "forest": 0.360,
        "most frequent": 0.326,
        "by length": 0.277,
        "by likeness": 0.252,
        "by text": 0.250,
        "by letter": 0.240,
    },
    "object_size_estimation": {"by name": 0.609, "forest": 0.601, "most frequent": 0.302, "median": 0.301},
    "room_size_estimation": {"forest": 0.342, "by name": 0.339, "median": 0.339, "most frequent": 0.308},
    "route_planning": {
        "forest": 0.337,
        "most frequent": 0.334,
        "by name": 0.316,
        "by length": 0.303,
        "by text": 0.284,
        "by likeness": 0.251,
        "by letter": 0.241,
    },
}

CITATION: Final = """\
@article{yang2024think,
  title = {Thinking in Space: How Multimodal Large Language Models See, Remember, and Recall Spaces},
  author = {Yang, Jihan and Yang, Shusheng and Gupta, Anjali W. and Han, Rilyn and Fei-Fei, Li and Xie, Saining},
  journal = {arXiv preprint arXiv:2412.14171},
  year = {2024}
}"""
SOURCES: Final = {
    "scannet": """\
@inproceedings{dai2017scannet,
  title = {ScanNet: Richly-annotated 3D Reconstructions of Indoor Scenes},
  author = {Dai, Angela and Chang, Angel X. and Savva, Manolis and Halber, Maciej and Funkhouser, Thomas
            and Nie{\\ss}ner, Matthias},
  booktitle = {Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition (CVPR)},
  year = {2017}
}""",
    "scannetpp": """\
@inproceedings{yeshwanth2023scannetpp,
  title = {ScanNet++: A High-Fidelity Dataset of 3D Indoor Scenes},
  author = {Yeshwanth, Chandan and Liu, Yueh-Cheng and Nie{\\ss}ner, Matthias and Dai, Angela},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision (ICCV)},
  year = {2023}
}""",
    "arkitscenes": """\
@inproceedings{baruch2021arkitscenes,
  title = {ARKitScenes: A Diverse Real-World Dataset for 3D Indoor Scene Understanding Using Mobile RGB-D Data},
  author = {Baruch, Gilad and others},
  booktitle = {NeurIPS Datasets and Benchmarks Track},
  year = {2021}
}""",
}
TERMS: Final = {
    "scannet": "ScanNet Terms of Use: non-commercial research and education; each user asks the owners for the scans "
    "(<http://www.scan-net.org/>)",
    "scannetpp": "ScanNet++ Terms of Use: non-commercial research; each user asks the owners for the scans "
    "(<https://kaldir.vc.in.tum.de/scannetpp/>)",
    "arkitscenes": "the licence of ARKitScenes: non-commercial research "
    "(<https://github.com/apple/ARKitScenes/blob/main/LICENSE>)",
    "samples": "procedural rooms, made by scan2qa: none",
}

CARD: Final = Card(
    module=__name__,
    about='Spatial questions about indoor scans, after VSI-Bench ("Thinking in Space"), built with scan2qa.',
    media="`dataset` and `scene_name` name them",
    parts={FOLDER: ABOUT},
    quirks={"official": "Profile `official` repeats quirks of the released benchmark (docs/audit.md of scan2qa)."},
    citation=CITATION,
    terms=TERMS,
    sources=SOURCES,
    given_away=GIVEN_AWAY,
)


# The columns of the released VSI-Bench, as its scorers expect them.
SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("dataset", pa.string()),
        pa.field("scene_name", pa.string()),
        pa.field("question_type", pa.string()),
        pa.field("question", pa.string()),
        pa.field("options", pa.list_(pa.string())),
        pa.field("ground_truth", pa.string()),
        pa.field("pruned", pa.bool_()),
    ]
)


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The columns of the released VSI-Bench (`SCHEMA`). ``pruned``: ids of questions that are not in `debiased`."""
    scenes = [s.split("/", 1) for s in asked["scene"].to_pylist()]
    columns = {
        "id": asked["id"],
        "dataset": pa.array([dataset for dataset, _ in scenes], pa.string()),
        "scene_name": pa.array([name for _, name in scenes], pa.string()),
        "question_type": asked["task"],
        "question": asked["text"],
        "options": asked["options"],
        "ground_truth": asked["ground_truth"],
        "pruned": pa.array([i in pruned for i in asked["id"].to_pylist()], pa.bool_()),
    }
    return pa.table(columns, schema=SCHEMA)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The row unchanged: the shared form has these columns."""
    return raw if set(REQUIRED) <= set(raw) else None


SAID: Final = {
    "id": "of the question; the key of all other tables",
    "dataset": "that the scan comes from",
    "scene_name": "of the scan in its dataset",
    "question_type": "one of the ten of VSI-Bench",
    "question": "its text",
    "options": '"A. …" in order; empty where the answer is a number',
    "ground_truth": "the right letter, or the number as text",
    "pruned": "whether bias pruning took it out of `debiased`",
}
COLUMNS: Final = Columns(SCHEMA, table, row, SAID)


_OWN: Final = "lmms_eval.tasks.vsibench.utils.vsibench"
_METRICS: Final = (
    "overall",
    "obj_appearance_order_accuracy",
    "object_abs_distance_mra",
    "object_counting_mra",
    "object_rel_distance_accuracy",
    "object_size_estimation_mra",
    "room_size_estimation_mra",
    "route_planning_accuracy",
    "object_rel_direction_accuracy",
)
_REST: Final = f"""doc_to_text: !function {_OWN}_doc_to_text
doc_to_target: ground_truth
process_results: !function {_OWN}_process_results
lmms_eval_specific_kwargs:
  default:
    mca_post_prompt: Answer with the option's letter from the given choices directly.
    na_post_prompt: Please answer the question using a single word or phrase.
metric_list:  # which need questions of all three levels of direction
""" + "".join(
    f"  - metric: {'vsibench_overall' if metric == 'overall' else metric}\n"
    f"    aggregation: !function {_OWN}_aggregate_{metric}\n"
    "    higher_is_better: true\n"
    for metric in _METRICS
)
_UTILS: Final = """def video_of(doc):
    return f"{doc['dataset']}/{doc['scene_name']}.mp4"
"""


def harness_files(split: str, file: str, table: pa.Table) -> dict[str, bytes]:
    """Files below the release for one of its splits, a public table that lies in ``file``."""
    rows = [
        {
            "index": row["id"],
            "video": f"{row['dataset']}/{row['scene_name']}.mp4",
            "question_type": row["question_type"],
            "question": row["question"],
            "candidates": row["options"] or (),
            "answer": row["ground_truth"],
        }
        for row in table.to_pylist()
    ]
    name = f"scan2qa_vsi_{split}"
    return lmms_eval(name, split, file, _REST, _UTILS) | vlmevalkit(name, rows)

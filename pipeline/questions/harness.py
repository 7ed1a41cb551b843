"""Files with which lmms-eval and VLMEvalKit run a release as it is.

lmms-eval: ``--include_path RELEASE/eval/lmms_eval --tasks NAME``.

VLMEvalKit: a table of each split, and `python RELEASE/eval/vlmevalkit/scan2qa_run.py --data NAME_32frame --model …`,
which is VLMEvalKit's own command line with the tables beside the file among its datasets.

Both read the videos' folder from the environment variable `VIDEOS`. Questions of a frame budget are asked of videos
that have its frames alone (`scan2qa frames write`), so that every model is shown these whatever its loader takes of a
video: ``16_frame/DATASET/SCENE.mp4``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pipeline.core.tables import TWIN

FOLDER: Final = "eval"
ABOUT: Final = "`eval/`: tasks for lmms-eval, tables and datasets for VLMEvalKit, that ask these questions as they are."
VIDEOS: Final = "SCAN2QA_VIDEOS"
UTILS: Final = "scan2qa_utils"  # module beside the tasks
WRITE_FRAMES: Final = "make them with: scan2qa frames write VIDEOS --release RELEASE"
VISUAL: Final = f'''"""What lmms-eval needs of this release: where its videos lie."""

import os
from pathlib import Path


def doc_to_visual(doc):
    root = os.environ.get("{VIDEOS}")
    if not root:
        raise RuntimeError("set {VIDEOS} to the folder with the videos, such as outputs/BUILD/videos")
    path = Path(root) / video_of(doc)
    if not path.is_file():
        raise FileNotFoundError(f"{{path}} is missing: is {VIDEOS} the folder with this release's videos?{{HINT}}")
    return [str(path)]
'''


def lmms_eval(name: str, split: str, file: str, rest: str, utils: str, frames: str = "") -> dict[str, bytes]:
    """The task of a split, and the module beside it.

    Args:
        name: of the task.
        split: of the release.
        file: its table, below the release.
        rest: how its questions are asked and marked, YAML.
        utils: functions that ``rest`` names, beside `VISUAL`.
        frames: configuration of the release that is asked of videos of some frames alone; empty: of the videos.
    """
    module = f"{UTILS}_{frames}" if frames else UTILS
    hint = f" If they are: {WRITE_FRAMES}{' --twins' * (frames == TWIN)}" if frames else ""
    task = (
        f"task: {name}\n"
        "dataset_path: parquet\n"
        f"dataset_kwargs:\n  data_files:\n    {split}: ../../{file}\n"
        f"test_split: {split}\n"
        "output_type: generate_until\n"
        f"doc_to_visual: !function {module}.doc_to_visual\n"
        "generation_kwargs:\n  max_new_tokens: 16\n  temperature: 0\n  do_sample: false\n"
    )
    folder = f"{FOLDER}/lmms_eval"
    return {
        f"{folder}/{name}.yaml": f"{task}{rest}".encode(),
        f"{folder}/{module}.py": f"{VISUAL}\n\nHINT = {hint!r}\n\n\n{utils}".encode(),
    }


COLUMNS: Final = ("index", "video", "question_type", "question", "candidates", "answer")
RUN: Final = f"{FOLDER}/vlmevalkit/scan2qa_run.py"
_RUN: Final = f'''"""VLMEvalKit's run.py, which also knows the tables beside this file; it takes the same arguments.

{VIDEOS}=outputs/BUILD/videos python scan2qa_run.py --data TABLE_32frame --model MODEL --judge exact_matching

TABLE is the name of a table without its ending; after it stands what a model is shown, as of VSI-Bench: 16, 32, 64 or
128 frames, 1fps or 2fps; without it, the video. A table of a frame budget is asked with that number: TABLE is then
NAME_16_frame, and --data NAME_16_frame_16frame.
"""

import hashlib
import os
import re
from functools import partial
from pathlib import Path

from vlmeval.dataset import DATASET_CLASSES
from vlmeval.dataset.video_dataset_config import VSI_FRAME_VARIANTS, supported_video_datasets
from vlmeval.dataset.vsibench import VsiBench
from vlmeval.smp import LMUDataRoot, dump, load

HINT = " If they are: {WRITE_FRAMES}"


def budget_of(table):
    found = re.search(r"_(\\d+)_frame$", table)
    return int(found[1]) if found else None


TABLES = {{path.stem: path for path in sorted(Path(__file__).resolve().parent.glob("*.tsv"))}}


class Release(VsiBench):
    """Questions of this release over videos of one's own, from which frames are taken as for VSI-Bench."""

    @classmethod
    def supported_datasets(cls):
        return list(TABLES)

    def prepare_dataset(self, dataset_name):
        table, root = TABLES[dataset_name], os.environ.get("{VIDEOS}")
        if not root:
            raise RuntimeError("set {VIDEOS} to the folder with the videos, such as outputs/BUILD/videos")
        missing = [video for video in sorted(set(load(str(table))["video"])) if not (Path(root) / video).is_file()]
        if missing:
            at = Path(root) / missing[0]
            hint = HINT + " --twins" * ("_twins_" in dataset_name) if budget_of(dataset_name) else ""
            raise FileNotFoundError(
                f"{{at}} is missing ({{len(missing)}} in all): is {VIDEOS} the folder with this release's videos?"
                f"{{hint}}"
            )
        return {{"data_file": str(table), "root": root}}

    def __init__(self, dataset, pack=False, nframe=0, fps=-1, **_):  # run.py hands on all of its arguments
        budget = budget_of(dataset)
        if budget and (fps > 0 or nframe not in (0, budget)):
            raise ValueError(f"{{dataset}} is of {{budget}} frames; ask it with --data {{dataset}}_{{budget}}frame")
        super().__init__(dataset, pack=pack, nframe=nframe, fps=fps)
        if budget:
            self.frame_tmpl = "frame-{{}}-of-{{}}.png"  # which changes no pixel
        digest = hashlib.sha256(TABLES[dataset].read_bytes()).hexdigest()[:12]
        # Apart from the frames of another release, whose tables have the same names.
        self.frame_root = os.path.join(LMUDataRoot(), "images", f"{{dataset}}_{{digest}}")
        os.makedirs(self.frame_root, exist_ok=True)

'''
_END: Final = """

DATASET_CLASSES.append(Release)
for name in TABLES:
    supported_video_datasets[name] = partial(Release, dataset=name)
    for suffix, shown in VSI_FRAME_VARIANTS:
        supported_video_datasets[f"{name}_{suffix}"] = partial(Release, dataset=name, **shown)

if __name__ == "__main__":
    from vlmeval.run import main
    from vlmeval.smp import load_env

    load_env()
    main()
"""


def vlmevalkit(name: str, rows: Sequence[Mapping[str, Any]], own: str = "") -> dict[str, bytes]:
    """The table of a split, and how to run VLMEvalKit on it.

    Args:
        name: of the table.
        rows: `COLUMNS` of each question; ``candidates`` are its options with their letters.
        own: methods of the class `Release` where VSI-Bench's do not fit.
    """
    sink = io.StringIO()
    write = csv.writer(sink, delimiter="\t", lineterminator="\n")
    write.writerow(COLUMNS)
    for row in rows:
        write.writerow([list(row[column]) if column == "candidates" else row[column] for column in COLUMNS])
    return {f"{FOLDER}/vlmevalkit/{name}.tsv": sink.getvalue().encode(), RUN: f"{_RUN}{own}{_END}".encode()}

"""Files that let lmms-eval ask a release as it lies there.

``--include_path RELEASE/eval/lmms_eval --tasks NAME``, with the videos' folder in the environment variable `VIDEOS`.
"""

from __future__ import annotations

from typing import Final

FOLDER: Final = "eval"
ABOUT: Final = "`eval/`: tasks for lmms-eval, tables and datasets for VLMEvalKit, that ask these questions as they are."
VIDEOS: Final = "SCAN2QA_VIDEOS"
UTILS: Final = "scan2qa_utils"  # module beside the tasks
VISUAL: Final = f'''"""What lmms-eval needs of this release: where its videos lie."""

import os
from pathlib import Path


def doc_to_visual(doc):
    root = os.environ.get("{VIDEOS}")
    if not root:
        raise RuntimeError("set {VIDEOS} to the folder with the videos, such as outputs/BUILD/videos")
    path = Path(root) / video_of(doc)
    if not path.is_file():
        raise FileNotFoundError(f"{{path}} is missing: is {VIDEOS} the folder with this release's videos?")
    return [str(path)]
'''


def lmms_eval(name: str, split: str, file: str, rest: str, utils: str) -> dict[str, bytes]:
    """The task of a split, and the module beside it.

    Args:
        name: of the task.
        split: of the release.
        file: its table, below the release.
        rest: how its questions are asked and marked, YAML.
        utils: functions that ``rest`` names, beside `VISUAL`.
    """
    task = (
        f"task: {name}\n"
        "dataset_path: parquet\n"
        f"dataset_kwargs:\n  data_files:\n    {split}: ../../{file}\n"
        f"test_split: {split}\n"
        "output_type: generate_until\n"
        f"doc_to_visual: !function {UTILS}.doc_to_visual\n"
        "generation_kwargs:\n  max_new_tokens: 16\n  temperature: 0\n  do_sample: false\n"
    )
    folder = f"{FOLDER}/lmms_eval"
    return {
        f"{folder}/{name}.yaml": f"{task}{rest}".encode(),
        f"{folder}/{UTILS}.py": f"{VISUAL}\n\n{utils}".encode(),
    }

"""VLMEvalKit's run.py, which also knows the tables of this release; it takes the same arguments.

SCAN2QA_VIDEOS=outputs/BUILD/videos python scan2qa_run.py --data TABLE_32frame --model MODEL --judge exact_matching

TABLE is the name of a table in the folder above, without its ending; after it stands what a model is shown, as of
VSI-Bench: 16, 32, 64 or 128 frames, 1fps or 2fps; without it, the video. A table of a frame budget is asked with that
number: TABLE is then NAME_16_frame, and --data NAME_16_frame_16frame.
"""

import hashlib
import json
import os
import sys
from functools import partial
from pathlib import Path

import pandas as pd
from vlmeval.dataset import DATASET_CLASSES
from vlmeval.dataset.video_dataset_config import VSI_FRAME_VARIANTS, supported_video_datasets
from vlmeval.dataset.vsibench import VsiBench
from vlmeval.smp import LMUDataRoot, dump, load

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scan2qa_rows import budget_of, images_of, mark, means, root, rows_of, tables, video_of


class Release(VsiBench):
    """Questions of this release over videos of one's own, from which frames are taken as for VSI-Bench.

    Those of VSI-Bench are asked and marked as VLMEvalKit does it, all others with the prompt in their table.
    """

    @classmethod
    def supported_datasets(cls):
        return list(tables())

    def prepare_dataset(self, dataset_name):
        self.rows = {str(row["id"]): row for row in rows_of(dataset_name)}
        self.with_options = {row["question_type"] for row in self.rows.values() if row["candidates"]}
        videos = {row["video"]: row for row in self.rows.values() if row["video"]}
        missing = []
        for row in videos.values():
            try:
                video_of(row)
            except FileNotFoundError as error:
                missing.append(error)
        if missing:
            raise FileNotFoundError(f"{missing[0]} ({len(missing)} of {len(videos)} videos are missing)")
        folder = Path(LMUDataRoot()) / "scan2qa"
        folder.mkdir(parents=True, exist_ok=True)
        kept = [
            {
                "index": row["id"],
                "video": row["video"] or "-",  # what pandas reads as no text is not to be sorted
                "question_type": row["question_type"],
                "question": row["question"] or row["prompt"],
                "candidates": json.dumps(row["candidates"]),
                "answer": row["answer"],
            }
            for row in self.rows.values()
        ]
        digest = hashlib.sha256(tables()[dataset_name].read_bytes()).hexdigest()[:12]
        self.digest, table = digest, folder / f"{dataset_name}_{digest}.tsv"
        pd.DataFrame(kept).to_csv(table, sep="\t", index=False)
        return {"data_file": str(table), "root": str(root()) if videos else ""}

    def __init__(self, dataset, pack=False, nframe=0, fps=-1, **_):  # run.py hands on all of its arguments
        budget = budget_of(dataset)
        if budget and (fps > 0 or nframe not in (0, budget)):
            raise ValueError(f"{dataset} is of {budget} frames; ask it with --data {dataset}_{budget}frame")
        super().__init__(dataset, pack=pack, nframe=nframe, fps=fps)
        if budget:
            self.frame_tmpl = "frame-{}-of-{}.png"  # which changes no pixel
        # Apart from the frames of another release, whose tables have the same names.
        self.frame_root = os.path.join(LMUDataRoot(), "images", f"{dataset}_{self.digest}")
        os.makedirs(self.frame_root, exist_ok=True)

    def get_task_type(self, question_type):
        try:
            return super().get_task_type(question_type)
        except ValueError:  # a task that VSI-Bench does not have
            return "MCQ" if question_type in self.with_options else "NA"

    def build_prompt(self, line, video_llm):
        line = self.data.iloc[line] if isinstance(line, int) else line
        row = self.rows[str(line["index"])]
        if row["video"] and not video_llm and self.nframe <= 0 and self.fps <= 0:
            raise ValueError(
                f"this model takes no video (VIDEO_LLM is not set): ask it of frames, such as "
                f"--data {self.dataset_name}_{budget_of(self.dataset_name) or 32}frame"
            )
        if row["marked_as"] == "vsibench":
            return super().build_prompt(line, video_llm)
        shown = []
        if row["video"] and video_llm:
            shown = [{"type": "video", "value": os.path.join(self.data_root, row["video"])}]
        elif row["video"]:
            frames, _, _ = self.save_video_frames(row["video"], video_llm)
            shown = [{"type": "image", "value": frame} for frame in frames]
        shown += [{"type": "image", "value": path} for path in images_of(row)]
        return [*shown, {"type": "text", "value": row["prompt"]}]

    def evaluate(self, eval_file, **judge_kwargs):
        """Percent of what could be earned, in all and of each task."""
        if any(row["marked_as"] == "vsibench" for row in self.rows.values()):
            return super().evaluate(eval_file, **judge_kwargs)
        said = load(eval_file).sort_values(by="index")
        said["hit"] = [mark(self.rows[str(n)], reply) for n, reply in zip(said["index"], said["prediction"])]
        dump(said, eval_file.rsplit(".", 1)[0] + "_marks.tsv")
        whole, tasks = means([(self.rows[str(n)], value) for n, value in zip(said["index"], said["hit"])])
        return {"overall": 100 * whole, **{name: 100 * value for name, value in tasks.items()}}

    def _aggregate(self, mcq_df, na_df):
        """As VSI-Bench does it, over the types that are asked: of a release without one level of direction too.

        Types that VSI-Bench does not have are marked as in `mark`, and stand beside the overall figure.
        """
        own, marks = [], []
        for df, name in ((mcq_df, "hit"), (na_df, "MRA:.5:.95:.05")):
            rows = [self.rows[str(n)] for n in df["index"]]
            known = [row["marked_as"] == "vsibench" for row in rows]
            own.append(df[known])
            values = df[name] if len(df) else ()
            theirs = zip(rows, known, values, df["prediction"])
            marks += [(row, value if is_known else mark(row, said)) for row, is_known, value, said in theirs]
        found = super()._aggregate(*own)
        whole, tasks = means(marks)
        found["overall"] = 100 * whole
        if "object_rel_direction" in tasks:
            found["object_rel_direction_accuracy"] = 100 * tasks["object_rel_direction"]
        further = {row["question_type"] for row, _ in marks if not row["family"]}
        found |= {f"{name}_accuracy": 100 * value for name, value in tasks.items() if name in further}
        figures = {name: value for name, value in found.items() if not name.startswith("tabulated")}
        found["tabulated_keys"] = ", ".join(figures)
        found["tabulated_results"] = ", ".join(f"{value:.3f}" for value in figures.values())
        return found


DATASET_CLASSES.append(Release)
for name in tables():
    supported_video_datasets[name] = partial(Release, dataset=name)
    for suffix, shown in VSI_FRAME_VARIANTS:
        supported_video_datasets[f"{name}_{suffix}"] = partial(Release, dataset=name, **shown)

if __name__ == "__main__":
    from vlmeval.run import main
    from vlmeval.smp import load_env

    load_env()
    main()

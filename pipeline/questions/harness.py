"""Files with which lmms-eval, VLMEvalKit and inspect_ai run a release as it is, below ``eval/``.

A table of each split (``NAME.jsonl``) has what its questions show, the prompt with which `scan2qa ask` asks them, and
the answer. The modules beside it are those of templates/tables/harness, unchanged:

    python -m lmms_eval --include_path RELEASE/eval/lmms_eval --tasks NAME
    python RELEASE/eval/vlmevalkit/scan2qa_run.py --data NAME_32frame --model …
    inspect eval RELEASE/eval/inspect_ai/scan2qa_task.py -T table=NAME --model …

They read the videos' folder from the environment variable SCAN2QA_VIDEOS. Questions of a frame budget are asked of
videos that have its frames alone (`scan2qa frames write`), so that every model is shown these whatever its loader takes
of a video: ``16_frame/DATASET/SCENE.mp4``.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import yaml

from pipeline.core.tables import TWIN, budget_of
from pipeline.core.templates import load_source, load_table
from pipeline.questions.asking import AskedOf, Asking
from pipeline.questions.published import Columns, Published, published
from pipeline.questions.twins import TWIN_FRAMES

FOLDER: Final = "eval"
_MODULES: Final = {
    f"{FOLDER}/scan2qa_rows.py": load_source("harness/scan2qa_rows.py"),
    f"{FOLDER}/lmms_eval/scan2qa_utils.py": load_source("harness/scan2qa_utils.py"),
    f"{FOLDER}/vlmevalkit/scan2qa_run.py": load_source("harness/scan2qa_run.py"),
    f"{FOLDER}/inspect_ai/scan2qa_task.py": load_source("harness/scan2qa_task.py"),
}


class Marking(NamedTuple):
    """How a harness marks replies to a question.

    Attributes:
        mark: "letter", "mra", "number" (a tenth of the truth is all wrong), "words", "place" or "twin", as
            ``scan2qa_rows.py`` has them.
        accepted: further right answers, of words.
        family: the task of the benchmark's overall figure that its type counts to; None: none.
        marked_as: the benchmark whose functions mark it where a harness has some, "vsibench" or "revsi".
    """

    mark: str
    accepted: tuple[str, ...] = ()
    family: str | None = None
    marked_as: str | None = None


@dataclass(frozen=True)
class Harness:
    """How the questions of a benchmark are asked and marked by public harnesses.

    Attributes:
        marking: of a question of a split; None: it is left out, as one for an agent that acts.
        also: further files below the release for a split and its public table.
        proprietary: names of lmms-eval's models that are asked with the prompt for those behind their makers' own
            interface.
    """

    marking: Callable[[Published, str], Marking | None]
    also: Callable[[str, pa.Table], dict[str, bytes]] = lambda split, table: {}
    proprietary: tuple[str, ...] = ()

    def files(
        self,
        benchmark: str,
        asking: Asking,
        split: str,
        table: pa.Table,
        columns: Columns,
        present: Collection[str],
        heads: dict[str, Any] | None = None,
    ) -> dict[str, bytes]:
        """The files of one split below the release, and the modules that all splits share; none without questions.

        Args:
            benchmark: whose questions they are, as the names of tables have it.
            asking: how the benchmark's questions are put to a model.
            split: of the release, or a frame budget of it.
            table: its public table.
            columns: of this table.
            present: files of the release: a legend that is not there is not named.
            heads: the first row of each metric in earlier shards of the split, to which this one adds its own; rows of
                the files are those of this shard.
        """
        rows = [row for question in published(table, columns) if (row := self._row(question, asking, split, present))]
        also = self.also(split, table)
        if not rows:
            return also
        name = f"scan2qa_{benchmark}_{split}"
        heads = {} if heads is None else heads
        for row in rows:
            heads.setdefault(row["family"] or row["question_type"], row)
        lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        task = {f"{FOLDER}/lmms_eval/{name}.yaml": self._lmms_eval(name, heads, asking).encode()}
        texts = load_table("harness/readme")
        figure = texts["figures"].get(benchmark, "the mean of its marks of each reply")
        readme = texts["text"].format(name=benchmark, figure=figure)
        own = {f"{FOLDER}/{name}.jsonl": lines.encode(), f"{FOLDER}/README.md": readme.encode()}
        return own | task | _MODULES | also

    def _row(self, question: Published, asking: Asking, split: str, present: Collection[str]) -> dict[str, Any] | None:
        marking = self.marking(question, split)
        if marking is None:
            return None
        of = AskedOf(split, False, "", Path(), _no_scene)
        plain = asking.prompt(question, of)
        special = asking.prompt(question, replace(of, proprietary=True)) if self.proprietary else plain
        own = marking.marked_as == "vsibench"  # VLMEvalKit words these itself
        return {
            "id": question.id,
            "scene": "/".join(filter(None, (question.dataset, question.scene_name))),
            "question_type": question.question_type,
            "prompt": "\n\n".join(filter(None, (asking.system, plain.text))),
            "prompt_proprietary": special.text if special.text != plain.text else None,
            "question": question.question if own else None,
            "candidates": list(question.options or ()) if own else [],
            "video": plain.video,
            "images": list(plain.images),
            "legend": plain.legend if plain.legend in present else None,
            "answer": question.ground_truth,
            "accepted": list(marking.accepted),
            "mark": marking.mark,
            "family": marking.family,
            "marked_as": marking.marked_as,
            "frames": TWIN_FRAMES if split == TWIN else budget_of(split),
            "temperature": asking.temperature,
            "max_tokens": asking.max_tokens,
        }

    def _lmms_eval(self, name: str, heads: dict[str, Any], asking: Asking) -> str:
        """lmms-eval's task of a table that lies in the folder above."""
        better = next(iter(heads.values()))["mark"] != "twin"
        metrics = {"score": "score"} | dict.fromkeys(heads)
        document = {
            "task": name,
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": f"../{name}.jsonl"}},
            "test_split": "test",
            "output_type": "generate_until",
            "generation_kwargs": {
                "max_new_tokens": asking.max_tokens,
                "temperature": asking.temperature,
                "do_sample": asking.temperature > 0,
            },
            **{key: _Function(f"scan2qa_utils.{key}") for key in ("doc_to_visual", "doc_to_text", "process_results")},
            "doc_to_target": "answer",
            "metric_list": [
                {
                    "metric": metric,
                    "aggregation": _Function(f"scan2qa_utils.{how or 'task_score'}"),
                    "higher_is_better": better,
                }
                for metric, how in metrics.items()
            ],
        }
        if self.proprietary:
            own = {"prompt": "prompt_proprietary"}
            document["lmms_eval_specific_kwargs"] = {"default": {}} | {model: dict(own) for model in self.proprietary}
        return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


class _Function(str):
    """The name of a function, which lmms-eval's YAML marks by a tag."""


class _Dumper(yaml.CSafeDumper):
    """YAML with `_Function`."""


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


def _no_scene(question: Published, make: Callable[[Any], Any]) -> Any:
    raise AssertionError(f"question {question.id} is for an agent that acts")

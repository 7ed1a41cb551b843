"""lmms-eval on tasks in a folder, with a model that gives prepared replies: FOLDER REPLIES OUT.

``REPLIES``: JSON, task -> run -> its replies in the order of the questions. ``OUT``: the folder of the results that
lmms-eval writes, ``TASK/RUN``. Printed as JSON: by task and run what it marks, and as ``shown`` what the model was
shown in the last run.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.harness.stand_ins import install

install()

from lmms_eval.api.model import lmms  # noqa: E402
from lmms_eval.evaluator import simple_evaluate  # noqa: E402
from lmms_eval.loggers import EvaluationTracker  # noqa: E402
from lmms_eval.tasks import TaskManager  # noqa: E402

folder, replies, out = sys.argv[1:]


class Prepared(lmms):  # type: ignore[misc]
    """A model as lmms-eval knows one."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said
        self.shown: list[Any] = []

    def generate_until(self, requests: list[Any]) -> list[str]:
        for request in requests:
            text, _, visual, number, name, split = request.args
            seen = [
                v if isinstance(v, str) else v.getpixel((0, 0)) for v in visual(self.task_dict[name][split][number])
            ]
            self.shown.append([text, seen])
        return [self.said[request.args[3]] for request in requests]

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: list[Any]) -> list[str]:
        raise NotImplementedError


told: dict[str, Any] = {}
manager = TaskManager(include_path=folder, include_defaults=False)
for task, runs in json.loads(Path(replies).read_text()).items():
    told[task] = {}
    for run, said in runs.items():
        tracker = EvaluationTracker(output_path=f"{out}/{task}/{run}")
        tracker.general_config_tracker.log_experiment_args("", "pretrained=prepared", "", "", False)
        tracker.date_id = "20261122"
        model = Prepared(said)
        found = simple_evaluate(model, tasks=[task], task_manager=manager, batch_size=1, evaluation_tracker=tracker)
        tracker.save_results_samples(task, found["samples"][task])
        told[task][run] = found["results"][task]
        told[task]["shown"] = model.shown
print(json.dumps(told))

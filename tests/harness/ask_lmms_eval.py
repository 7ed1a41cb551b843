"""lmms-eval on a task in a folder, with a model that gives prepared replies: FOLDER TASK REPLIES SHOWN OUT.

``REPLIES``: JSON, for each run the replies in the order of the questions. ``SHOWN``: what the model was shown.
``OUT``: the folder of the results that lmms-eval writes, one for each run. What it marks is printed as JSON.
"""

from __future__ import annotations

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

folder, task, replies, shown, out = sys.argv[1:]


class Prepared(lmms):  # type: ignore[misc]
    """A model as lmms-eval knows one."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    def generate_until(self, requests: list[Any]) -> list[str]:
        with Path(shown).open("w") as file:
            for request in requests:
                text, _, visual, number, name, split = request.args
                seen = [
                    v if isinstance(v, str) else v.getpixel((0, 0)) for v in visual(self.task_dict[name][split][number])
                ]
                file.write(json.dumps([text, seen]) + "\n")
        return [self.said[request.args[3]] for request in requests]

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: list[Any]) -> list[str]:
        raise NotImplementedError


told = []
for run, said in enumerate(json.loads(Path(replies).read_text())):
    tracker = EvaluationTracker(output_path=f"{out}/{run}")
    tracker.general_config_tracker.log_experiment_args("", "pretrained=prepared", "", "", False)
    tracker.date_id = "20261122"
    manager = TaskManager(include_path=folder, include_defaults=False)
    found = simple_evaluate(
        Prepared(said), tasks=[task], task_manager=manager, batch_size=1, evaluation_tracker=tracker
    )
    tracker.save_results_samples(task, found["samples"][task])
    told.append(found["results"][task])
print(json.dumps(told))

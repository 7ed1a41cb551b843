"""inspect_ai on a release's task, with a model that gives prepared replies: FILE REPLIES OUT.

``REPLIES``: JSON, table -> run -> its replies in the order of the questions. Logs are written to ``OUT/TABLE/RUN``; the
metrics are printed as JSON, and what the model was shown of each question of the last run.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.harness.stand_ins import install

install()

from inspect_ai import eval as evaluate  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

file, replies, out = map(Path, sys.argv[1:])
os.chdir(file.parent)  # inspect_ai takes no absolute path of a task
shown: list[Any] = []


def said(reply: str) -> ModelOutput:
    """A reply whose tokens are counted, since a counter needs a vocabulary that is downloaded."""
    output = ModelOutput.from_content("prepared", reply)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def model(prepared: list[str]) -> Any:
    """A model that gives these one after the other."""
    left: Iterator[str] = iter(prepared)

    def give(messages: list[Any], *_: Any) -> ModelOutput:
        (message,) = messages
        shown.append([(part.type, part.text if part.type == "text" else "") for part in message.content])
        return said(next(left))

    return get_model("mockllm/model", custom_outputs=give)


told: dict[str, Any] = {}
for table, runs in json.loads(replies.read_text()).items():
    for run, prepared in runs.items():
        shown.clear()
        (log,) = evaluate(
            file.name,
            task_args={"table": table, "frames": 16 if "16_frame" in table else 4},
            model=model(prepared),
            log_dir=f"{out}/{table}/{run}",
            log_format="json",
            display="none",
            max_samples=1,
            max_connections=1,
        )
        if log.status != "success":
            raise RuntimeError(str(log.error))
        found = {metric: value.value for score in log.results.scores for metric, value in score.metrics.items()}
        told.setdefault(table, {})[run] = found
    told[table]["shown"] = list(shown)
print(json.dumps(told))

"""VLMEvalKit as a release runs it, with models that give prepared replies: RUN REPLIES SHOWN [ARGUMENTS of run.py].

``REPLIES``: JSON, model -> dataset -> its replies in the table's order. ``SHOWN``: what models were shown, JSON lines
of model, dataset and message.
"""

import json
import runpy
import sys
from functools import partial
from pathlib import Path

from tests.harness.stand_ins import install

install()

from vlmeval.config import supported_VLM  # noqa: E402

run, replies, shown = map(Path, sys.argv[1:4])


class Prepared:
    """A model as VLMEvalKit knows one."""

    def __init__(self, name: str, said: dict[str, list[str]]) -> None:
        self._name, self._left = name, {dataset: iter(own) for dataset, own in said.items()}

    def generate(self, message: list[dict[str, str]], dataset: str) -> str:
        with shown.open("a") as file:
            file.write(json.dumps([self._name, dataset, message]) + "\n")
        return next(self._left[dataset])


for name, said in json.loads(replies.read_text()).items():
    supported_VLM[name] = partial(Prepared, name, said)
sys.argv = [str(run), *sys.argv[4:]]
runpy.run_path(str(run), run_name="__main__")

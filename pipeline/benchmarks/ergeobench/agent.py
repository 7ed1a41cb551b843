"""Geo-localization as a harness of one's own asks it: prompts, the schema of replies (section B.4), environments.

Of section B.4 the paper's text gives the four fields; what stands within them is in a figure, and here ours
(templates/tables/ergeobench/reply_schema.yaml). And ``panoramas.jsonl``: licence, author and source of each panorama
that is asked about.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, Final

import pyarrow as pa
from pydantic import ValidationError

from pipeline.benchmarks.ergeobench.images import EMBODIED, FOV_DEG
from pipeline.benchmarks.ergeobench.rules import GEO
from pipeline.benchmarks.ergeobench.tasks.geo import COARSE
from pipeline.core.templates import load_table
from pipeline.formats.images import jpeg_bytes
from pipeline.llm.base import Image
from pipeline.llm.prompts import load_prompt
from pipeline.metrics.replies import json_objects
from pipeline.questions.asking import AskedOf, Asking, QuestionPrompt, StepPrompt
from pipeline.questions.published import Published
from pipeline.worlds.panorama.embodied import Action, ActionRefusedError, EmbodiedView, ViewObservation

FOLDER: Final = "agent"
SCHEMA_FILE: Final = f"{FOLDER}/reply.schema.json"
ENVIRONMENTS: Final = "environments"
PROMPT: Final = "agent_ergeobench"
PICTURE_QUALITY: Final = 92  # F.1
_SEEN_CHARS: Final = 300  # of what was seen in a view, when it is told again
MODES: Final[dict[str, str]] = load_table("ergeobench/asking")["modes"]
LIMITS: Final = {"pitch_deg": [-60.0, 60.0], "zoom": [1.0, 5.0], "yaw_step_min_deg": 45.0}  # section 4.1
SIZE: Final = (640, 480)
FILE: Final = "panoramas.jsonl"


def agent_files(split: str, table: pa.Table) -> dict[str, bytes]:
    """Files below the release for one of its splits, a public table: tasks, schema and environments."""
    rows = [row for row in table.to_pylist() if row["task"] in GEO]
    if not rows:
        return {}
    files = {SCHEMA_FILE: _json(load_table("ergeobench/reply_schema"))}
    lines = []
    for row in rows:
        environment = None
        if row["setting"] == EMBODIED:
            environment = f"{ENVIRONMENTS}/{row['dataset']}/{row['panorama']}.json"
            files[environment] = _json(_environment(row))
        task = {
            "id": row["id"],
            "setting": row["setting"],
            "images": row["images"] if environment is None else row["images"][1:],
            "environment": environment,
            "prompt": _geo_prompt(row, SCHEMA_FILE),
            "reply_schema": SCHEMA_FILE,
        }
        lines.append(json.dumps(task, ensure_ascii=False))
    return files | {f"{FOLDER}/{split}.jsonl": "".join(f"{line}\n" for line in lines).encode()}


def prompt(question: Published, asked: AskedOf) -> QuestionPrompt:
    """Geo-localization as table 7 has it, with the schema of section B.4; all else with its options, if it has any."""
    images = tuple(question.rest["images"])
    if question.rest["task"] in GEO:
        return QuestionPrompt(_geo_prompt(question.rest, _schema_text(), base=asked.prompt == BASE), images=images)
    after = [*question.options, load_table("ergeobench/asking")["choice"]] if question.options else []
    return QuestionPrompt("\n".join([question.question, *after]), images=images)


BASE: Final = "base"  # the minimal prompt of table 8
_BARE: Final[dict[str, Any]] = dict.fromkeys(("actions", "history", "hypothesis", "left", "now"))


def _geo_prompt(row: Mapping[str, Any], schema: str, *, base: bool = False, **step: Any) -> str:
    fields = {"mode": MODES[row["setting"]], "question": row["question"], "schema": schema, "base": base}
    return load_prompt(PROMPT).render(**fields, **_BARE | step)


def _schema_text() -> str:
    return f"this JSON schema: {json.dumps(load_table('ergeobench/reply_schema'), ensure_ascii=False)}"


class LookingAround:
    """Geo-localization by an agent that looks about in a panorama (equation 9): section B.5 step by step.

    At each step it sees the current view, is told of its last views and of its best hypothesis, and replies with a new
    one and an action. It ends where it says so, where its confidence is high, and with its last step. An action that
    is not allowed costs the step.

    Args:
        question: whose setting is "embodied".
        view: its environment.
        base: whether it is asked with the minimal prompt of table 8.
    """

    def __init__(self, question: Published, view: EmbodiedView, *, base: bool) -> None:
        self._question, self._view, self._base = question, view, base
        self._seen: ViewObservation | None = view.reset()
        self._settings = load_table("ergeobench/asking")
        self._log: list[dict[str, Any]] = []
        self._history: list[dict[str, Any]] = []
        self._hypothesis = ""

    def prompt(self) -> StepPrompt | None:
        """See `AgentEpisode`."""
        left = self._settings["steps_max"] - len(self._log)
        if self._seen is None or left == 0:
            return None
        text = _geo_prompt(
            self._question.rest,
            _schema_text(),
            base=self._base,
            actions=True,
            history=self._history[-self._settings["history"] :],
            hypothesis=self._hypothesis,
            left=left,
            now=self._pose(),
        )
        picture = self._seen.picture
        return StepPrompt(text, lambda: Image(jpeg_bytes(picture, PICTURE_QUALITY), "image/jpeg"))

    def take(self, reply: str) -> None:
        """See `AgentEpisode`."""
        document = next((o for o in json_objects(reply) if o.keys() & {"hypothesis_update", "next_action"}), {})
        here, refused = self._pose(), None
        hypothesis, action = document.get("hypothesis_update"), document.get("next_action")
        is_sure = isinstance(hypothesis, dict) and _number(hypothesis.get("confidence")) >= self._settings["confidence"]
        try:
            if is_sure:
                self._seen = self._view.step(Action(stop=True), document)
            elif isinstance(action, dict):
                self._seen = self._view.step(action, document)
            else:
                refused = "no_action: the reply holds no JSON object with next_action"
        except ActionRefusedError as error:
            refused = str(error)
        except ValidationError as error:
            refused = f"no_action: {error.errors()[0]['loc']}: {error.errors()[0]['msg']}"
        if isinstance(hypothesis, dict):
            self._hypothesis = json.dumps(hypothesis, ensure_ascii=False)
        self._log.append({"step": len(self._log), **here, "reply": reply, "refused": refused})
        seen = document.get("structured_observation")
        summary = "; ".join(f"{slot}: {words}" for slot, words in seen.items()) if isinstance(seen, dict) else ""
        self._history.append({"step": len(self._log) - 1, **here, "seen": summary[:_SEEN_CHARS], "refused": refused})

    def result(self) -> dict[str, Any]:
        """The last reply is the answer; the log has each step's view, whole reply and refusal."""
        return {"answer": self._log[-1]["reply"], "log": self._log}

    def by_oracle(self, draw: Random, prompt: StepPrompt) -> str:
        """A reply of who knows the place."""
        place = json.loads(self._question.ground_truth)
        names = {"latitude": place["lat"], "longitude": place["lon"], "confidence": 1.0}
        return json.dumps({"hypothesis_update": place | names, "next_action": {"stop": True}})

    def at_random(self, draw: Random, prompt: StepPrompt) -> str:
        """A reply of who looks about at random, and names a place on the sphere at random."""
        place = {
            "country": draw.choice(sorted(set(load_table("ergeobench/countries")))),
            "city": "Springfield",
            "street": None,
            "latitude": math.degrees(math.asin(draw.uniform(-1, 1))),
            "longitude": draw.uniform(-180, 180),
            "confidence": 0.0,
        }
        low, high = self._view.environment.limits.pitch_deg
        pitch = draw.uniform(low, high) - self._pose()["pitch"]
        turn = draw.choice([-135, -90, -45, 45, 90, 135, 180])
        return json.dumps(
            {"hypothesis_update": place, "next_action": {"delta_yaw_deg": turn, "delta_pitch_deg": pitch}}
        )

    def _pose(self) -> dict[str, float]:
        seen = self._view.observe() if self._seen is None else self._seen
        return {"yaw": seen.yaw_deg, "pitch": seen.pitch_deg, "zoom": seen.zoom}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def episode(question: Published, asked: AskedOf) -> LookingAround | None:
    """The embodied setting is an agent's; all others are asked once."""
    if question.rest["setting"] != EMBODIED or question.rest["task"] not in GEO:
        return None
    file = f"{ENVIRONMENTS}/{question.dataset}/{question.scene_name}.json"
    return LookingAround(question, EmbodiedView.open(asked.release, file), base=asked.prompt == BASE)


AGENTS: Final = {"oracle": LookingAround.by_oracle, "random": LookingAround.at_random}
ASKING: Final = Asking.of("ergeobench", prompt, episode=episode, prompts=(BASE,), agents=AGENTS)


def _environment(row: dict[str, Any]) -> dict[str, Any]:
    """The input of `EmbodiedView`: the picture it renders from, the start, and the allowed actions."""
    start = row["views"][1]
    return {
        "panorama": f"{row['dataset']}/{row['panorama']}",
        "picture": row["images"][0],
        "start": {"yaw_deg": start["yaw_deg"], "pitch_deg": start["pitch_deg"], "zoom": 1.0},
        "limits": LIMITS,
        "fov": {"mode": "optical", "base_deg": FOV_DEG},
        "size": list(SIZE),
    }


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def source_lines(asked: pa.Table, scenes: Callable[[], Iterable[Any]]) -> dict[str, bytes]:
    """A line per panorama. A source's address may tell where it is: where positions are coarsened it is left out."""
    named = set(asked["scene"].to_pylist())
    coarse = any(COARSE in (flags or ()) for flags in asked["flags"].to_pylist())
    lines = []
    for scene in scenes():
        if scene.id in named:
            facts = scene.facts
            told = {
                "panorama": scene.id,
                "licence": facts.licence,
                "author": facts.author,
                "source_url": None if coarse else facts.source_url,
                "captured": facts.captured.isoformat() if facts.captured else None,
                "tags": list(facts.tags),
            }
            lines.append(json.dumps(told, ensure_ascii=False) + "\n")
    return {FILE: "".join(lines).encode()} if lines else {}

"""Geo-localization as a harness of one's own asks it: prompts, the schema of replies (section B.4), environments.

Of section B.4 the paper's text gives the four fields; what stands within them is in a figure, and here ours.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.ergeobench.dimensions import GEO, SLOTS
from pipeline.benchmarks.ergeobench.images import FOV_DEG
from pipeline.llm.prompts import load_prompt

FOLDER: Final = "agent"
SCHEMA_FILE: Final = f"{FOLDER}/reply.schema.json"
ENVIRONMENTS: Final = "environments"
PROMPT: Final = "agent_ergeobench"
MODES: Final = {  # table 7
    "single": "You see one fixed perspective view. You cannot change it: next_action says what you would inspect.",
    "panorama": "You see the whole panorama at once. next_action says which part (yaw, pitch, zoom) you attend to.",
    "embodied": "You see one view at a time and control yaw, pitch and zoom. next_action is executed and gives your "
    "next view. Turn by 45 degrees or more, or not at all; pitch stays within -60 to 60 degrees, zoom within 1 to 5.",
}
LIMITS: Final = {"pitch_deg": [-60.0, 60.0], "zoom": [1.0, 5.0], "yaw_step_min_deg": 45.0}  # section 4.1
SIZE: Final = (640, 480)


def _text(about: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": about}


def _number(low: float, high: float, about: str) -> dict[str, Any]:
    return {"type": "number", "minimum": low, "maximum": high, "description": about}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


REPLY_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Reply of an agent to ERGeoBench's geo-localization (section B.4)",
    **_object(
        structured_observation=_object(**{slot: _text("what is seen of it") for slot in SLOTS}),
        evidence_evaluation=_object(
            supporting={"type": "array", "items": {"type": "string"}},
            contradicting={"type": "array", "items": {"type": "string"}},
            uncertainty=_text("what cannot be told yet"),
        ),
        hypothesis_update=_object(
            country=_text("its usual English name"),
            city=_text("city or town"),
            street=_text("street or area"),
            latitude=_number(-90, 90, "degrees WGS84"),
            longitude=_number(-180, 180, "degrees WGS84"),
            confidence=_number(0, 1, "that the hypothesis is right"),
        ),
        next_action=_object(
            stop={"type": "boolean"},
            delta_yaw_deg=_number(-180, 180, "clockwise; 0, or 45 and more either way"),
            delta_pitch_deg=_number(-120, 120, "upwards; the pitch stays within -60 to 60"),
            zoom=_number(1, 5, "magnification of the next view"),
            goal=_text("what is to be verified, and what that decides"),
        ),
    ),
}


def harness_files(split: str, file: str, table: pa.Table) -> dict[str, bytes]:
    """Files below the release for one of its splits, a public table: tasks, schema and environments."""
    rows = [row for row in table.to_pylist() if row["task"] in GEO]
    if not rows:
        return {}
    files = {SCHEMA_FILE: _json(REPLY_SCHEMA)}
    lines = []
    for row in rows:
        environment = None
        if row["setting"] == "embodied":
            environment = f"{ENVIRONMENTS}/{row['dataset']}/{row['panorama']}.json"
            files[environment] = _json(_environment(row))
        prompt = load_prompt(PROMPT).render(mode=MODES[row["setting"]], schema=SCHEMA_FILE, question=row["question"])
        task = {
            "id": row["id"],
            "setting": row["setting"],
            "images": row["images"] if environment is None else row["images"][1:],
            "environment": environment,
            "prompt": prompt,
            "reply_schema": SCHEMA_FILE,
        }
        lines.append(json.dumps(task, ensure_ascii=False))
    return files | {f"{FOLDER}/{split}.jsonl": "".join(f"{line}\n" for line in lines).encode()}


def _environment(row: dict[str, Any]) -> dict[str, Any]:
    """What `EmbodiedView` needs: the picture it renders from, where one starts, and what one may do."""
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

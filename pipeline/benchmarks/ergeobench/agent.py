"""Geo-localization as a harness of one's own asks it: prompts, the schema of replies (section B.4), environments.

Of section B.4 the paper's text gives the four fields; what stands within them is in a figure, and here ours
(templates/tables/ergeobench/reply_schema.yaml). And ``panoramas.jsonl``: licence, author and source of each panorama
that is asked about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.ergeobench.images import FOV_DEG
from pipeline.benchmarks.ergeobench.rules import GEO
from pipeline.benchmarks.ergeobench.tasks.geo import COARSE
from pipeline.core.templates import load_table
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
FILE: Final = "panoramas.jsonl"


def harness_files(split: str, file: str, table: pa.Table) -> dict[str, bytes]:
    """Files below the release for one of its splits, a public table: tasks, schema and environments."""
    rows = [row for row in table.to_pylist() if row["task"] in GEO]
    if not rows:
        return {}
    files = {SCHEMA_FILE: _json(load_table("ergeobench/reply_schema"))}
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

"""The items as tasks for Label Studio (https://labelstud.io), and the labelling interface for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from pipeline.review.pack import Item
from pipeline.review.verdicts import REASONS

LETTERS: Final = "ABCDEFGH"


def tasks(items: Sequence[Item], videos: str) -> bytes:
    """The items as a list of tasks, JSON; no truth is in it.

    ``videos`` is the address below which Label Studio finds the build's folder of videos, for example
    ``/data/local-files/?d=videos``.
    """
    listed = [
        {
            "data": {
                "id": item.id,
                "content": item.content,
                "task": item.task,
                "scene": item.scene,
                "video": f"{videos}/{item.video}" if item.video else "",
                "question": item.question,
                "options": "\n".join(item.options or ("Give a number.",)),
            }
        }
        for item in items
    ]
    return json.dumps(listed, ensure_ascii=False, indent=1).encode()


def interface() -> bytes:
    """The labelling interface: the video, the question, a letter or a number, and flags from the closed list."""
    view = ET.Element("View")
    ET.SubElement(view, "Header", value="$question")
    ET.SubElement(view, "Video", name="video", value="$video")
    ET.SubElement(view, "Text", name="options", value="$options")
    letters = ET.SubElement(view, "Choices", name="answer", toName="options", choice="single", showInline="true")
    for letter in LETTERS:
        ET.SubElement(letters, "Choice", value=letter, hotkey=letter.lower())
    ET.SubElement(view, "Number", name="number", toName="options")
    flags = ET.SubElement(view, "Choices", name="reason", toName="options", choice="multiple")
    for reason in REASONS.values():
        ET.SubElement(flags, "Choice", value=reason)
    ET.SubElement(view, "TextArea", name="note", toName="options", placeholder="note", maxSubmissions="1")
    ET.indent(view)
    return ET.tostring(view, encoding="utf-8", xml_declaration=False) + b"\n"

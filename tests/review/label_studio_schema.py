"""What Label Studio's importer checks, without its SDK, whose 30 packages (OpenCV, NLTK, …) are too many for this.

`label_config_schema.json` is that of label-studio-sdk 2.1.2 (Apache-2.0), and the checks are those of its
`LabelInterface.validate` and `validate_task`. With the SDK itself, in an environment of its own, on a pack:

    python tests/review/label_studio_schema.py outputs/vsi/review
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET


def problems_of(interface: str, tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong with a labelling interface, or with tasks for it."""
    import jsonschema

    schema = json.loads((Path(__file__).parent / "label_config_schema.json").read_text(encoding="utf-8"))
    root = ET.fromstring(interface)  # noqa: S314 - our own
    found = [error.message for error in jsonschema.Draft6Validator(schema).iter_errors({root.tag: _badgerfish(root)})]
    names = re.findall(r'(?:^|[^\w])name="([^"]*)"', interface)
    if len(set(names)) < len(names):
        found.append("a name is given twice")
    found += [f"{name} is not there" for name in re.findall(r'toName="([^"]*)"', interface) if name not in names]
    values = [node.get(name, "") for node in root.iter() for name in ("value", "valueList")]
    needed = {value[1:] for value in values if value.startswith("$")}
    found += [f"{name} is missing" for task in tasks for name in sorted(needed) if task["data"].get(name) is None]
    return found


def _badgerfish(node: ET.Element) -> dict[str, Any]:
    """An element as JSON in the BadgerFish notation, which the schema is about."""
    value: dict[str, Any] = {f"@{name}": text for name, text in node.attrib.items()}
    if node.text and node.text.strip():
        value["$"] = node.text
    for child in node:
        value.setdefault(child.tag, []).append(_badgerfish(child))
    several = {"Choice", "Label"}  # the SDK makes a list of a single one of these too
    return {
        name: own[0] if isinstance(own, list) and len(own) == 1 and name not in several else own
        for name, own in value.items()
    }


if __name__ == "__main__":
    from label_studio_sdk.label_interface import LabelInterface  # type: ignore[import-not-found]

    folder = Path(sys.argv[1])
    checked = LabelInterface((folder / "label_studio.xml").read_text(encoding="utf-8"))
    checked.validate()
    all_tasks = json.loads((folder / "label_studio.json").read_text(encoding="utf-8"))
    sys.exit(0 if all(checked.validate_task(task) for task in all_tasks) else "a task does not fit")

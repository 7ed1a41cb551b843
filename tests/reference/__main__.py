"""``python -m tests.reference``: pages of the documentation, and an example picture of each reason and finding."""

import shutil
from pathlib import Path
from typing import Final

from flows.orchestration.folders import BUILDS
from pipeline.core.files import write_atomically
from tests.reference.drawings import picture
from tests.reference.examples import EXAMPLES, everything, read_examples
from tests.reference.pages import PICTURES, references

ROOT: Final = Path(__file__).resolve().parents[2]


def reference(folder: Path) -> None:
    """Draws the examples anew and writes the pages. Raises ConfigError for a line that is no example."""
    examples = read_examples(folder / EXAMPLES)
    place = folder / PICTURES
    shutil.rmtree(place, ignore_errors=True)
    drawn = missing = 0
    for group, words in everything().items():
        for name, meaning in words.items():
            example = examples.get(group, {}).get(name)
            if example is None:
                missing += 1
            else:
                write_atomically(place / group / f"{name}.svg", picture(example, meaning))
                drawn += 1
    for file, text in references(BUILDS, folder).items():
        write_atomically(folder / file, text.encode())
    print(f"{drawn} pictures of examples; {missing} reasons and findings have none")


if __name__ == "__main__":
    reference(ROOT / "docs" / "reference")

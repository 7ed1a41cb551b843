"""Makes the words of ``templates/tables/cityeqa/telling.yaml``: what shops and offices are called in 89 languages.

    npm pack @openstreetmap/id-tagging-schema@7.2.0    # ISC licence
    python -m tests.kind_words FOLDER                  # where it was unpacked, with dist/translations

They are the words of the presets' translated names: whole names, and words of at least four letters that few sorts
share ("shop" and its like are left out). Words with one of the table's beginnings are told by it already.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Final

import yaml

from pipeline.benchmarks.cityeqa.view import words_of
from pipeline.core.templates import load_table

FILE: Final = Path(__file__).parents[1] / "templates" / "tables" / "cityeqa" / "telling.yaml"
SHORTEST: Final = 4  # letters of a word that is not a whole name
NAMED: Final = 2  # sorts whose names may share such a word
SOUGHT: Final = 4  # sorts that people may seek by it


def kind_words(translations: Path, beginnings: tuple[str, ...]) -> list[str]:
    """The words in order; ``translations`` is the package's folder of one JSON file for each language."""
    whole: set[str] = set()
    named, sought = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    premises = load_table("city/kinds")["premises"]
    presets = [(f"{key}/{value}", noun) for key, nouns in premises.items() for value, noun in nouns.items()]
    for path in sorted(translations.glob("*.min.json")):
        for language in json.loads(path.read_text(encoding="utf-8")).values():
            texts = language.get("presets", {}).get("presets", {})
            for preset, noun in presets:
                text = texts.get(preset, {})
                name = words_of(text.get("name") or "")
                whole.update(name if len(name) == 1 else ())
                terms = text.get("terms") or []
                for word in name:
                    named[word].add(noun)
                for word in (*name, *words_of(terms if isinstance(terms, str) else " ".join(terms))):
                    sought[word].add(noun)
    few = {w for w, of in named.items() if len(w) >= SHORTEST and len(of) <= NAMED and len(sought[w]) <= SOUGHT}
    return sorted(word for word in whole | few if len(word) > 1 and not word.startswith(beginnings))


def main() -> None:
    """Writes the table's last part anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    head = FILE.read_text(encoding="utf-8").partition("words: >-\n")[0]
    found = kind_words(folder / "dist" / "translations", tuple(yaml.safe_load(head)["beginnings"]))
    lines = textwrap.wrap(" ".join(found), 118, break_on_hyphens=False)
    FILE.write_text(head + "words: >-\n" + "".join(f"  {line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()

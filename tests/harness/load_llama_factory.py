"""LLaMA-Factory's own loader on a training export: FOLDER OUT. What it makes of each example is written as JSON."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from tests.harness.stand_ins import install

install()

from datasets import load_dataset  # noqa: E402
from llamafactory.data.converter import get_dataset_converter  # noqa: E402
from llamafactory.data.mm_plugin import MMPluginMixin  # noqa: E402
from llamafactory.data.parser import get_dataset_list  # noqa: E402

folder, out = map(Path, sys.argv[1:])
(told,) = get_dataset_list(["scan2qa"], str(folder))
rows = load_dataset("json", data_files=str(folder / told.dataset_name), split=told.split, cache_dir=str(out.parent))
convert = get_dataset_converter(told.formatting, told, SimpleNamespace(media_dir=str(folder)))
read = [convert(row) for row in rows]
for one in read:  # raises ValueError where media and their places in the text differ
    MMPluginMixin._validate_messages(None, one["_prompt"], one["_images"] or [], one["_videos"] or [], [])
out.write_text(json.dumps(read))

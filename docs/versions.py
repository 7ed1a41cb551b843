"""Hook of mkdocs: lists the versions of the site for its selector, and leads to the newest."""

import json
from pathlib import Path
from typing import Any

from packaging.version import Version


def on_post_build(config: Any) -> None:
    """Writes versions.json, as Material's selector reads it, and index.html into the folder of all versions."""
    folder = Path(config.site_dir).parent
    sites = [site.parent.name for site in folder.glob("[0-9]*/index.html")]  # other folders may stand beside them
    names = sorted(sites, key=Version, reverse=True)
    listed = [{"version": name, "title": name, "aliases": []} for name in names]
    (folder / "versions.json").write_text(json.dumps(listed), encoding="utf-8")
    leads = f'<!doctype html><meta http-equiv="refresh" content="0; url={names[0]}/index.html">'
    (folder / "index.html").write_text(leads, encoding="utf-8")

"""Reader of yards: ``NAME.csv``, a box a line: label, centre x y z, sides x y z, metres, z up."""

import hashlib
from collections import Counter
from pathlib import Path

from pipeline.core.errors import ConfigError
from pipeline.core.findings import Findings
from pipeline.reading.checks import check_box, check_name
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.reader import Reader
from pipeline.worlds.indoor.facts import IndoorScene, Scan, SceneObject

UPRIGHT = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]


class YardBoxes(Reader):
    """Boxes of yards as CSV: no mesh, no camera, no video."""

    name = "yard_boxes"
    world = "indoor"  # the world that its scenes are of
    version = 1

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        paths = sorted(root.glob("*.csv"))
        if not paths:
            raise ConfigError(f"{root}: no *.csv here")
        stamps = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        refs = [SceneRef(f"yard/{p.stem}", (p.name,), stamp) for p, stamp in zip(paths, stamps, strict=True)]
        return Listing(tuple(refs), ())

    def read(self, files: SceneFiles) -> IndoorScene:
        """See `Reader.read`."""
        findings, objects = Findings(), []
        seen: Counter[str] = Counter()
        for number, line in enumerate(files.text(files.path).splitlines(), start=1):
            label, *words = [word.strip() for word in line.split(",")]
            try:
                numbers = [float(word) for word in words]
            except ValueError as error:
                raise files.fault(files.path, "wrong_type", f"line {number}: {error}", "correct the line") from error
            raw = {"centroid": numbers[:3], "axesLengths": numbers[3:], "normalizedAxes": UPRIGHT}
            box = check_box(raw, f"line {number}", label, findings)
            if check_name(label, findings) and box is not None:
                objects.append(SceneObject(category=label, instance=seen[label], box=box))
                seen[label] += 1
        files.raise_faults(files.path, findings)
        facts = Scan(objects=tuple(objects), counts=dict(sorted(seen.items())))
        return files.scene_of(IndoorScene, self, "annotated", facts, findings)

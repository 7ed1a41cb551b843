"""How often a category is the nearest: ``python -m tests.benchmarks.vsi.nearness_table`` prints the table."""

from collections import defaultdict
from collections.abc import Iterable

from pipeline.benchmarks.vsi.benchmark import VSI
from pipeline.benchmarks.vsi.tasks.relations import RelDistance
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.registry import READERS

SCENES_OF_ANY = 0.5  # what is thought of a category before it is seen, beside the scenes in which it is


def nearness(scenes: Iterable[IndoorScene]) -> dict[str, float]:
    """By category, the share of the askable candidates of `strict` that offer it in which it is right; scenes alike."""
    right: dict[str, float] = defaultdict(float)
    offered: dict[str, float] = defaultdict(float)
    for scene in scenes:
        table = RelDistance().candidates(VSI.view(scene, VSI.profiles["strict"]))
        own: dict[str, list[int]] = defaultdict(list)
        for answer, operands in zip(table["answer"].to_pylist(), table["operands"].to_pylist(), strict=True):
            if answer is not None:
                for name in operands[1:]:
                    own[name].append(name == answer)
        for name, found in own.items():
            right[name] += sum(found) / len(found)
            offered[name] += 1
    return {
        name: round((right[name] + 0.25 * SCENES_OF_ANY) / (offered[name] + SCENES_OF_ANY), 2)
        for name in sorted(offered)
    }


if __name__ == "__main__":
    from tests.conftest import REAL_DATA

    reader, root = READERS["vsi_meta"], REAL_DATA / "vsi" / "meta_info"
    real = [reader.read(SceneFiles(root, ref)) for ref in reader.scenes(root).scenes]
    for name, share in nearness(real).items():
        print(f"{name}: {share}")

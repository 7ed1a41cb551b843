"""Episodes for the tests: reading one, and pickles as RLBench writes them."""

import pickle
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.quantized_series import pack
from pipeline.core.schema import Finding, Source
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader
from pipeline.worlds.arm.facts import Episode, EpisodeScene


def read(root: Path, reader: Reader, name: str | None = None) -> EpisodeScene:
    """The one scene of a root, or that of a name."""
    (ref,) = (ref for ref in reader.scenes(root).scenes if name is None or ref.id.endswith(f"/{name}"))
    scene: EpisodeScene = reader.read(SceneFiles(root, ref))
    return scene


def episode(times_s: FloatArray, **facts: Any) -> EpisodeScene:
    """A scene of facts that no file holds."""
    source = Source(reader="made", reader_version=1, files=(), sha256="")
    known = Episode(seconds=pack(times_s, 1e-5), clock="recorded", **facts)
    return EpisodeScene(id="made/one", dataset="made", name="one", source=source, facts=known)


def found(scene: EpisodeScene) -> dict[str, Finding]:
    """The findings of a scene by name."""
    return {finding.name: finding for finding in scene.findings}


@contextmanager
def rlbench() -> Iterator[Any]:
    """Two empty classes under RLBench's names, so that Python can pickle them: Demo and Observation."""
    modules = {name: types.ModuleType(name) for name in ("rlbench", "rlbench.demo", "rlbench.backend")}
    modules["rlbench.backend.observation"] = types.ModuleType("rlbench.backend.observation")
    demo = type("Demo", (), {"__module__": "rlbench.demo"})
    observation = type("Observation", (), {"__module__": "rlbench.backend.observation"})
    modules["rlbench.demo"].Demo = demo  # type: ignore[attr-defined]
    modules["rlbench.backend.observation"].Observation = observation  # type: ignore[attr-defined]
    sys.modules.update(modules)
    try:
        yield demo, observation
    finally:
        for name in modules:
            del sys.modules[name]


def observations_of(path: Path) -> list[dict[str, Any]]:
    """The fields of a trusted demonstration, by Python's own unpickler."""

    class Unpickler(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)

    with rlbench(), path.open("rb") as file:
        demo = Unpickler(file).load()
        return [vars(one) for one in demo._observations]


def rows(count: int = 40, step_s: float = 0.05) -> list[dict[str, Any]]:
    """Observations of two joints that turn evenly, and of a gripper that moves along x."""
    time_s = np.arange(count) * step_s
    return [
        {
            "joint_positions": np.array([0.4 * t, -0.2 * t]),
            "joint_velocities": np.array([0.4, -0.2]),
            "joint_forces": np.array([1.0, 2.0]),
            "gripper_open": 1.0 if t < 1 else 0.0,
            "gripper_pose": np.array([0.1 * t, 0.0, 0.8, 0.0, 0.0, 0.0, 1.0]),
            "gripper_joint_positions": np.array([0.04, 0.04]),
            "gripper_touch_forces": np.zeros(6),
            "task_low_dim_state": np.array([0.3, 0.1, 0.8]),
            "misc": {},
        }
        for t in time_s.tolist()
    ]


def write_demo(root: Path, fields: list[dict[str, Any]], task: str = "push_button", episode: int = 0) -> Path:
    """An episode folder with ``low_dim_obs.pkl``."""
    folder = root / task / "variation0" / "episodes" / f"episode{episode}"
    folder.mkdir(parents=True)
    (folder / "low_dim_obs.pkl").write_bytes(demo_bytes(fields))
    return folder


def demo_bytes(fields: list[dict[str, Any]]) -> bytes:
    """A demonstration as RLBench pickles it."""
    with rlbench() as (demo, observation):
        whole = demo()
        whole._observations = []
        for row in fields:
            one = observation()
            vars(one).update(row)
            whole._observations.append(one)
        return pickle.dumps(whole, 4)

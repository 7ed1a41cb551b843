"""What evenly spaced frames of a ScanNet++ scan show, and what follows for questions, by other means than our own.

A renderer of its own: triangles are filled into a depth buffer at 160 x 120, from the raw files (mesh, segments, boxes,
camera poses). Nothing is imported from `pipeline`, and no ray is cast. What is close to a limit is left open: pixels
within a sixth of it, shares within 0.04.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

WIDTH, HEIGHT = 160, 120
SEEN, SLACK = 20, 4  # pixels
SHARE, SHARE_SLACK = 0.9, 0.04
CELL_M = 0.25
NEAR_M = 0.02
ALIAS = {"office chair": "chair", "ceiling lamp": "ceiling light"}
STRUCTURE = {"wall", "floor", "ceiling", "window"}


class OracleFilm:
    """One filmed scan.

    Args:
        folder: of the scan, in the layout of ScanNet++ ("scans", "iphone").
        frames: of its video, and ``fps`` of them a second; delivered are 30.
    """

    def __init__(self, folder: Path, frames: int, fps: float) -> None:
        self.mesh = trimesh.load(folder / "scans" / "mesh_aligned_0.05.ply", process=False)
        segments = np.array(json.loads((folder / "scans" / "segments.json").read_text())["segIndices"])
        groups = json.loads((folder / "scans" / "segments_anno.json").read_text())["segGroups"]
        self.things = [group for group in groups if group["label"] not in STRUCTURE]
        owner = np.full(len(self.mesh.vertices), -1)
        for number, thing in enumerate(self.things):
            owner[np.isin(segments, thing["segments"])] = number
        self.names = [ALIAS.get(thing["label"], thing["label"]) for thing in self.things]
        corners = owner[self.mesh.faces]
        same = (corners == corners[:, :1]).sum(1) >= 2
        self.label = np.where(same, corners[:, 0], np.where(corners[:, 1] == corners[:, 2], corners[:, 1], -1))
        self.poses = json.loads((folder / "iphone" / "pose_intrinsic_imu.json").read_text())
        self.delivered = [int(tick * fps / 30 + 1e-9) for tick in range(round(frames * 30 / fps))]
        self.fps = fps
        self._shown: dict[int, Any] = {}

    def chosen(self, budget: int) -> list[int]:
        """The source's frames in a budget, each once."""
        step = (len(self.delivered) - 1) / (budget - 1)
        return sorted({self.delivered[int(step * k + 1e-9)] for k in range(budget)})

    def shown(self, frame: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of a frame: pixels of each thing, the label of each pixel, and where it is in the world."""
        if frame not in self._shown:
            label, place = self._render(frame)
            self._shown[frame] = (np.bincount(label[label >= 0], minlength=len(self.things)), label, place)
        return self._shown[frame]

    def _render(self, frame: int) -> tuple[np.ndarray, np.ndarray]:
        raw = self.poses[f"frame_{frame:06d}"]
        pose, lens = np.array(raw["aligned_pose"]), np.array(raw["intrinsic"])
        scale = WIDTH / (2 * lens[0, 2] + 1)
        fx, fy = lens[0, 0] * scale, lens[1, 1] * scale
        cx, cy = (lens[0, 2] + 0.5) * scale - 0.5, (lens[1, 2] + 0.5) * scale - 0.5
        camera = (np.asarray(self.mesh.vertices) - pose[:3, 3]) @ pose[:3, :3]
        depth = camera[:, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = camera[:, 0] / depth * fx + cx, camera[:, 1] / depth * fy + cy
        faces = np.flatnonzero((depth[self.mesh.faces] > NEAR_M).all(1))
        of = self.mesh.faces[faces]
        low_x, high_x = np.ceil(x[of].min(1)).clip(0), np.floor(x[of].max(1)).clip(-1, WIDTH - 1)
        low_y, high_y = np.ceil(y[of].min(1)).clip(0), np.floor(y[of].max(1)).clip(-1, HEIGHT - 1)
        wide, high = (high_x - low_x + 1).clip(0).astype(int), (high_y - low_y + 1).clip(0).astype(int)
        n = wide * high
        which = np.repeat(np.arange(len(faces)), n)
        inner = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        column = (low_x[which] + inner % np.maximum(wide[which], 1)).astype(int)
        row = (low_y[which] + inner // np.maximum(wide[which], 1)).astype(int)
        a, b, c = of[which].T
        area = (x[b] - x[a]) * (y[c] - y[a]) - (x[c] - x[a]) * (y[b] - y[a])
        with np.errstate(divide="ignore", invalid="ignore"):
            u = ((x[b] - column) * (y[c] - row) - (x[c] - column) * (y[b] - row)) / area
            v = ((x[c] - column) * (y[a] - row) - (x[a] - column) * (y[c] - row)) / area
        w = 1 - u - v
        hit = (area != 0) & (u >= 0) & (v >= 0) & (w >= 0)
        which, row, column = which[hit], row[hit], column[hit]
        inverse = u[hit] / depth[a[hit]] + v[hit] / depth[b[hit]] + w[hit] / depth[c[hit]]  # linear on the screen
        pixel = row * WIDTH + column
        order = np.lexsort((-inverse, pixel))
        first = np.unique(pixel[order], return_index=True)[1]
        nearest = order[first]
        label = np.full(WIDTH * HEIGHT, -1)
        label[pixel[nearest]] = self.label[faces[which[nearest]]]
        z = 1 / inverse[nearest]
        local = np.stack([(column[nearest] - cx) / fx * z, (row[nearest] - cy) / fy * z, z], axis=1)
        place = np.full((WIDTH * HEIGHT, 3), np.nan)
        place[pixel[nearest]] = local @ pose[:3, :3].T + pose[:3, 3]
        return label, place

    def pixels(self, budget: int) -> np.ndarray:
        """Pixels (frames, things) in each frame of a budget."""
        return np.array([self.shown(frame)[0] for frame in self.chosen(budget)])

    def instances(self, name: str) -> list[int]:
        """The things of a category."""
        return [number for number, own in enumerate(self.names) if own == name]

    def extent(self, name: str, budget: int) -> float:
        """Share of the longest side of the one thing of a category between what the frames show of it."""
        (number,) = self.instances(name)
        box = self.things[number]["obb"]
        axis = int(np.argmax(box["axesLengths"]))
        along = np.array(box["normalizedAxes"]).reshape(3, 3)[axis]
        met = [self.shown(frame) for frame in self.chosen(budget)]
        places = np.concatenate([place[label == number] for _, label, place in met])
        if not len(places):
            return 0.0
        at = (places - box["centroid"]) @ along
        half = box["axesLengths"][axis] / 2
        return float((min(at.max(), half) - max(at.min(), -half)) / (2 * half))

    def plan(self, frames: list[int]) -> set[int]:
        """Cells of the plan over which frames show something."""
        places = np.concatenate([self.shown(frame)[2] for frame in frames])
        cells = np.floor(places[~np.isnan(places[:, 0]), :2] / CELL_M).astype(int)
        return set((cells[:, 0] * 10_000 + cells[:, 1]).tolist())

    def wrong(self, row: dict[str, Any], own: dict[str, Any]) -> str | None:
        """What is wrong with a question's answer or refusal in a budget; None: nothing."""
        answer, budget, names = own["answer"], own["budget"], row["operands"]
        pixels = self.pixels(budget)
        if row["task"] == "object_counting":
            return self._count(pixels, names[0], own)
        if row["task"] == "obj_appearance_order":
            return self._order(pixels, names, own)
        if row["task"] == "room_size_estimation":
            return None if answer in {None, row["answer"]} else "another area"
        return self._relation(pixels, row, own)

    def _relation(self, pixels: np.ndarray, row: dict[str, Any], own: dict[str, Any]) -> str | None:
        answer, budget, names = own["answer"], own["budget"], row["operands"]
        most = {name: min(pixels[:, number].max() for number in self.instances(name)) for name in names}
        single = names if row["task"] != "object_rel_distance" else names[:1]
        alone = all(len(self.instances(name)) == 1 for name in single)
        least, is_size = min(most.values()), row["task"].startswith("object_size")
        if answer is None:
            holds = {
                "extent_not_shown": is_size and self.extent(names[0], budget) < SHARE + SHARE_SLACK,
                "not_shown_in_frames": least < SEEN + SLACK,
                "not_unique": not alone,
            }
            return None if holds[own["reason"]] else f"refused for {own['reason']}: {most}"
        if answer != row["answer"]:
            return "another answer than in the video"
        if least < SEEN - SLACK or not alone:
            return f"asked of what is not shown, or not alone: {most}"
        too_little = is_size and self.extent(names[0], budget) < SHARE - SHARE_SLACK
        return "too little of it is shown" if too_little else None

    def _count(self, pixels: np.ndarray, name: str, own: dict[str, Any]) -> str | None:
        most = pixels[:, self.instances(name)].max(0)
        surely, possibly = int((most >= SEEN + SLACK).sum()), int((most >= SLACK).sum())
        maybe = int((most >= SEEN - SLACK).sum())
        if own["answer"] is not None:
            fits = surely <= int(own["answer"]) <= maybe and possibly - maybe == 0
            return None if fits else f"{own['answer']} counted, pixels {most.tolist()}"
        if own["reason"] == "too_few_instances":
            return None if surely < 2 else f"refused though {surely} are shown"
        doubtful = ((most < SEEN + SLACK) & (most < np.inf)).any()
        return (
            None if own["reason"] == "barely_visible" and doubtful else f"refused for {own['reason']}: {most.tolist()}"
        )

    def _order(self, pixels: np.ndarray, names: list[str], own: dict[str, Any]) -> str | None:
        best = {name: pixels[:, self.instances(name)].max(1) for name in names}

        def first(name: str, least: int) -> int:
            shows = best[name] >= least
            return int(shows.argmax()) if shows.any() else len(pixels)

        if own["answer"] is not None:
            order = own["answer"].split(", ")
            late = [first(name, SEEN - SLACK) for name in order]
            fits = sorted(late) == late and len(set(late)) == len(late)
            glimpses = [first(name, SLACK) for name in order]
            apart = all(a < b for a, b in zip(late, glimpses[1:], strict=False))
            return None if fits and apart else f"{own['answer']}: seen {late}, glimpsed {glimpses}"
        surely = sorted((first(name, SEEN + SLACK), name) for name in names)
        glimpsed = [first(name, 1) for _, name in surely]
        clear = all(late < shown for (late, _), shown in zip(surely, glimpsed[1:], strict=False))
        return f"refused for {own['reason']}: {surely}" if clear and surely[-1][0] < len(pixels) else None

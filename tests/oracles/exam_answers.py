"""Questions about drives answered again, from the files of an Argoverse 2 log: no line of the package takes part.

Boxes are turned into the city's frame by matrices of their own, gaps are shapely's, speeds come from the positions half
a second before and after. `Log.answer` takes what a question is about (its operands); it gives the number or the words.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely
from pyarrow import feather

WORDS = {"REGULAR_VEHICLE": "car", "CONSTRUCTION_CONE": "traffic cone", "BICYCLIST": "cyclist", "BOX_TRUCK": "truck"}
WORDS |= {"ARTICULATED_BUS": "bus", "SCHOOL_BUS": "bus", "DOG": "animal", "TRUCK_CAB": "truck"}
WORDS |= {"VEHICULAR_TRAILER": "trailer", "RAILED_VEHICLE": "tram", "CONSTRUCTION_BARREL": "construction barrel"}
VEHICLES = {"car", "van", "truck", "bus", "tram", "large vehicle", "motorcycle", "motorcyclist", "vehicle"}
USERS = VEHICLES | {"trailer", "cyclist", "pedestrian", "wheelchair user"}
SIDES = {"ahead": 0, "to the left": 90, "behind": 180, "to the right": 270}
EIGHTHS = ["ahead", "ahead on the left", "on the left", "behind on the left", "behind", "behind on the right"]
EIGHTHS += ["on the right", "ahead on the right"]
FACING = ["the same direction", "to the left", "the opposite direction", "to the right"]
Array = npt.NDArray[np.float64]


def matrix(w: float, x: float, y: float, z: float) -> Array:
    """A rotation by Rodrigues' formula, from a quaternion."""
    angle = 2 * math.atan2(math.sqrt(x * x + y * y + z * z), w)
    axis = np.array([x, y, z]) / (np.linalg.norm([x, y, z]) or 1.0)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross)


def wrapped(angle: float) -> float:
    return (angle + 180) % 360 - 180


class Thing:
    """One track: what it is, its size, and (x, y, yaw) by sweep."""

    def __init__(self, kind: str, size: tuple[float, float, float]) -> None:
        self.kind, self.size = kind, size
        self.at: dict[int, tuple[float, float, float]] = {}

    @cache  # noqa: B019
    def outline(self, sweep: int) -> shapely.Polygon:
        x, y, yaw = self.at[sweep]
        a, b = (n / 2 for n in self.size[:2])
        c, s = math.cos(math.radians(yaw)), math.sin(math.radians(yaw))
        corners = [(a, b), (-a, b), (-a, -b), (a, -b)]
        return shapely.Polygon([(x + c * u - s * v, y + s * u + c * v) for u, v in corners])


class Log:
    """A log as its files have it."""

    def __init__(self, folder: Path) -> None:
        poses = feather.read_table(folder / "city_SE3_egovehicle.feather").to_pylist()
        by_stamp = {row["timestamp_ns"]: row for row in poses}
        named = folder / "annotations_with_ego.feather"
        rows = feather.read_table(named if named.exists() else folder / "annotations.feather").to_pylist()
        stamps = sorted({row["timestamp_ns"] for row in rows} & set(by_stamp))
        sweep_of = {stamp: n for n, stamp in enumerate(stamps)}
        self.t = np.array([(stamp - stamps[0]) / 1e9 for stamp in stamps])
        self.own: list[tuple[float, float, float]] = []
        turns = []
        for stamp in stamps:
            row = by_stamp[stamp]
            turn = matrix(row["qw"], row["qx"], row["qy"], row["qz"])
            turns.append((turn, np.array([row["tx_m"], row["ty_m"], row["tz_m"]])))
            self.own.append((row["tx_m"], row["ty_m"], math.degrees(math.atan2(turn[1, 0], turn[0, 0]))))
        self.things: list[Thing] = []
        self.ego: tuple[Thing, Array] | None = None
        tracks: dict[str, Thing] = {}
        for row in rows:
            if row["timestamp_ns"] not in sweep_of:
                continue
            sweep = sweep_of[row["timestamp_ns"]]
            size = (row["length_m"], row["width_m"], row["height_m"])
            local = np.array([row["tx_m"], row["ty_m"], row["tz_m"]])
            if row["category"] == "EGO_VEHICLE":
                self.ego = self.ego or (Thing("ego", size), local)
                continue
            kind = WORDS.get(row["category"], row["category"].lower().replace("_", " "))
            thing = tracks.setdefault(row["track_uuid"], Thing(kind, size))
            turn, origin = turns[sweep]
            x, y, _ = turn @ local + origin
            own = turn @ matrix(row["qw"], row["qx"], row["qy"], row["qz"])
            thing.at[sweep] = (float(x), float(y), math.degrees(math.atan2(own[1, 0], own[0, 0])))
        self.things = [tracks[name] for name in sorted(tracks)]
        maps = sorted((folder / "map").glob("log_map_archive_*.json"))
        self.map: dict[str, Any] = json.loads(maps[0].read_text()) if maps else {}

    @classmethod
    def of_labels(cls, labels: Path) -> Log:
        """A file of labels of KITTI's tracking benchmark, where it is not known how the camera moved.

        Boxes stand about the camera: x right, y down, z ahead; the turn is about y, clockwise seen from above.
        """
        log = cls.__new__(cls)
        rows = [line.split() for line in labels.read_text().splitlines()]
        log.t = np.arange(max(int(row[0]) for row in rows) + 1) / 10
        log.own, log.ego, log.map = [(0.0, 0.0, 0.0)] * len(log.t), None, {}
        tracks: dict[str, Thing] = {}
        for frame, track, kind, *_, height, width, length, x, _y, z, turn in (row[:17] for row in rows):
            if kind == "DontCare":
                continue
            word = {"Person": "pedestrian", "Person_sitting": "pedestrian", "Misc": "object"}.get(kind, kind.lower())
            thing = tracks.setdefault(track, Thing(word, (float(length), float(width), float(height))))
            thing.at[int(frame)] = (float(z), -float(x), wrapped(-90 - math.degrees(float(turn))))
        log.things = [tracks[name] for name in sorted(tracks)]
        return log

    # What is where

    def sweep(self, t_s: float) -> int:
        return int(np.abs(self.t - t_s).argmin())

    @cache  # noqa: B019 -- a log lives as long as its test
    def us(self, sweep: int) -> shapely.Geometry:
        x, y, yaw = self.own[sweep]
        if self.ego is None:
            return shapely.Point(x, y)
        thing, middle = self.ego
        c, s = math.cos(math.radians(yaw)), math.sin(math.radians(yaw))
        thing.at[sweep] = (x + c * middle[0] - s * middle[1], y + s * middle[0] + c * middle[1], yaw)
        return thing.outline(sweep)

    @cache  # noqa: B019
    def gap(self, thing: Thing, sweep: int) -> float:
        return float(self.us(sweep).distance(thing.outline(sweep)))

    @cache  # noqa: B019
    def bearing(self, thing: Thing, sweep: int) -> float:
        x, y, yaw = self.own[sweep]
        u, v, _ = thing.at[sweep]
        return wrapped(math.degrees(math.atan2(v - y, u - x)) - yaw)

    def there(self, sweep: int, kind: str = "", side: str = "") -> list[Thing]:
        found = [thing for thing in self.things if sweep in thing.at]
        if kind:
            found = [
                thing for thing in found if thing.kind == kind or (kind == "motor vehicle" and thing.kind in VEHICLES)
            ]
        if side:
            middle = SIDES[side.removesuffix(" of the ego vehicle").removesuffix(" the ego vehicle")]
            found = [thing for thing in found if abs(wrapped(self.bearing(thing, sweep) - middle)) <= 45]
        return found

    @cache  # noqa: B019
    def named(self, key: str, sweep: int) -> Thing:
        kind, _, side = key.partition("@")
        return min(self.there(sweep, kind, side), key=lambda thing: self.gap(thing, sweep))

    @cache  # noqa: B019
    def around(self, sweep: int) -> tuple[int, int]:
        """Sweeps half a second before and after."""
        return self.sweep(self.t[sweep] - 0.5), self.sweep(self.t[sweep] + 0.5)

    @cache  # noqa: B019
    def own_speed(self, sweep: int) -> float:
        a, b = self.around(sweep)
        return math.dist(self.own[a][:2], self.own[b][:2]) / float(self.t[b] - self.t[a])

    def way(self, first: int, last: int) -> float:
        return sum(
            math.dist(a[:2], b[:2]) for a, b in zip(self.own[first:last], self.own[first + 1 : last + 1], strict=True)
        )

    def velocity(self, thing: Thing, sweep: int) -> tuple[float, float]:
        a, b = self.around(sweep)
        lasted = float(self.t[b] - self.t[a])
        return tuple((thing.at[b][i] - thing.at[a][i]) / lasted for i in (0, 1))  # type: ignore[return-value]

    @cache  # noqa: B019
    def lane(self, place: tuple[float, float, float]) -> dict[str, Any] | None:
        found = []
        for lane in self.map["lane_segments"].values():
            left, right = ([(p["x"], p["y"]) for p in lane[f"{side}_lane_boundary"]] for side in ("left", "right"))
            if not shapely.Polygon([*left, *right[::-1]]).contains(shapely.Point(place[:2])):
                continue
            line = shapely.LineString(left)
            at = line.project(shapely.Point(place[:2]))
            a, b = line.interpolate(max(0.0, at - 1)), line.interpolate(min(line.length, at + 1))
            if abs(wrapped(math.degrees(math.atan2(b.y - a.y, b.x - a.x)) - place[2])) <= 35:
                found.append(lane)
        return found[0] if len(found) == 1 else None

    @cache  # noqa: B019
    def areas(self, name: str) -> shapely.Geometry:
        if name == "drivable_areas":
            rings = [[(p["x"], p["y"]) for p in area["area_boundary"]] for area in self.map[name].values()]
        else:
            edges = [
                [[(p["x"], p["y"]) for p in one[edge]] for edge in ("edge1", "edge2")]
                for one in self.map[name].values()
            ]
            rings = [list(shapely.MultiPoint([*a, *b]).convex_hull.exterior.coords) for a, b in edges]
        return shapely.unary_union([shapely.Polygon(ring).buffer(0) for ring in rings])

    # Answers

    def answer(self, kind: str, t_s: float, *more: str) -> str | float | None:
        """A number, or words; None: nothing here knows this kind."""
        known: Callable[..., str | float] | None = getattr(self, kind, None)
        return None if known is None else known(self.sweep(t_s), *more)

    def cl_side(self, n: int, side: str) -> str:
        users = (thing for thing in self.there(n, side=side) if thing.kind in USERS)
        return min(users, key=lambda thing: self.gap(thing, n)).kind

    def cl_most(self, n: int, radius: str) -> str:
        near = (t for t in self.there(n) if t.kind in USERS and self.gap(t, n) <= int(radius))
        return Counter(thing.kind for thing in near).most_common(1)[0][0]

    def cl_lane(self, n: int) -> str:
        lane = self.lane(self.own[n])
        return {"VEHICLE": "vehicle lane", "BUS": "bus lane", "BIKE": "bicycle lane"}[lane["lane_type"]] if lane else ""

    def at_marking(self, n: int, side: str) -> str:
        lane = self.lane(self.own[n])
        return f"{lane[f'{side}_lane_mark_type'].lower().replace('_', ' ')} line" if lane else ""

    def at_size(self, n: int, key: str, dimension: str) -> float:
        return self.named(key, n).size[("length", "width", "height").index(dimension)]

    def st_motion(self, n: int, key: str) -> str:
        vx, vy = self.velocity(self.named(key, n), n)
        if math.hypot(vx, vy) < 0.6:
            return "standing still"
        off = abs(wrapped(math.degrees(math.atan2(vy, vx)) - self.own[n][2]))
        if off < 45:
            return "moving in the same direction as the ego vehicle"
        return "moving in the opposite direction" if off > 135 else "moving across the ego vehicle's direction"

    def lc_sector(self, n: int, key: str) -> str:
        return EIGHTHS[round(self.bearing(self.named(key, n), n) / 45) % 8]

    def lc_lane(self, n: int, key: str) -> str:
        """By the offset to the side along our lane's own boundaries: it need not be straight."""
        own, theirs = self.lane(self.own[n]), self.lane(self.named(key, n).at[n])
        if own is None or theirs is None:
            return ""
        lanes = self.map["lane_segments"]

        def row(lane: dict[str, Any]) -> set[str]:
            found, edge = {str(lane["id"])}, [lane]
            for links in ("successors", "predecessors"):
                edge = [lane]
                for _ in range(5):
                    edge = [lanes[str(i)] for one in edge for i in one[links] if str(i) in lanes]
                    found |= {str(one["id"]) for one in edge}
            return found

        if str(theirs["id"]) in row(own):
            return "in the same lane"
        for side in ("left", "right"):
            beside = {str(lanes[i].get(f"{side}_neighbor_id")) for i in row(own)}
            if str(theirs["id"]) in beside:
                return f"in the lane to the {side}"
        return ""

    def dt_near(self, n: int, key: str) -> float:
        return self.gap(self.named(key, n), n)

    def dt_between(self, n: int, first: str, second: str) -> float:
        a, b = (self.named(key, n).outline(n) for key in (first, second))
        return float(a.distance(b))

    def or_heading(self, n: int, key: str) -> float:
        return abs(wrapped(self.named(key, n).at[n][2] - self.own[n][2]))

    def or_facing(self, n: int, key: str) -> str:
        return FACING[round(wrapped(self.named(key, n).at[n][2] - self.own[n][2]) / 90) % 4]

    def tp_ground(self, n: int, key: str) -> str:
        at = shapely.Point(self.named(key, n).at[n][:2])
        if self.areas("pedestrian_crossings").contains(at):
            return "on a pedestrian crossing"
        return "on the roadway" if self.areas("drivable_areas").contains(at) else "off the roadway"

    def tp_next(self, n: int, key: str) -> str:
        own = self.named(key, n)
        outline = own.outline(n)
        others = (t for t in self.there(n) if t is not own and t.kind in USERS)
        return min(others, key=lambda t: outline.distance(t.outline(n))).kind

    def ct_near(self, n: int, kind: str, radius: str) -> float:
        return sum(self.gap(thing, n) <= int(radius) for thing in self.there(n, kind))

    def ct_ahead(self, n: int, kind: str, radius: str) -> float:
        near = [thing for thing in self.there(n, kind) if self.gap(thing, n) <= int(radius)]
        return sum(abs(self.bearing(thing, n)) < 90 for thing in near)

    def rs_size(self, n: int, first: str, second: str, more: str) -> str:
        axis = {"longer": 0, "taller": 2}[more]
        larger = max((first, second), key=lambda key: self.named(key, n).size[axis])
        return f"the nearest {larger.replace('@', ' ')}"

    def rp_place(self, n: int, first: str, second: str) -> str:
        a, b = self.named(first, n), self.named(second, n)
        side = "left" if wrapped(self.bearing(a, n) - self.bearing(b, n)) > 0 else "right"
        return f"{side} and {'nearer' if self.gap(a, n) < self.gap(b, n) else 'farther'}"

    def rd_rank(self, n: int, *keys: str) -> str:
        return ", ".join(sorted(keys, key=lambda key: self.gap(self.named(key, n), n)))

    def mt_own_speed(self, n: int) -> float:
        return self.own_speed(n) * 3.6

    def mt_speed(self, n: int, key: str) -> float:
        return math.hypot(*self.velocity(self.named(key, n), n)) * 3.6

    def sm_driven(self, n: int, seconds: str) -> float:
        return self.way(self.sweep(self.t[n] - float(seconds)), n)

    def sm_turned(self, n: int, seconds: str) -> float:
        part = self.own[self.sweep(self.t[n] - float(seconds)) : n + 1]
        return abs(sum(wrapped(b[2] - a[2]) for a, b in pairwise(part)))

    def lm_driven(self, n: int) -> float:
        return self.way(self.sweep(self.t[n] - 8), n)

    def lm_seen(self, n: int, kind: str, radius: str) -> float:
        tracks = [t for t in self.things if t.kind == kind or (kind == "motor vehicle" and t.kind in VEHICLES)]
        first = self.sweep(self.t[n] - 8)
        return sum(any(self.gap(t, i) <= int(radius) for i in t.at if first <= i <= n) for t in tracks)

    def acceleration(self, n: int) -> float:
        a, b = self.around(n)
        return (self.own_speed(b) - self.own_speed(a)) / float(self.t[b] - self.t[a])

    def turn(self, n: int) -> float:
        a, b = self.around(n)
        return wrapped(self.own[b][2] - self.own[a][2]) / float(self.t[b] - self.t[a])

    def md_state(self, n: int) -> str:
        if self.own_speed(n) < 0.6:
            return "standing still"
        gain, turn = self.acceleration(n), self.turn(n)
        move = "driving at constant speed" if abs(gain) < 0.45 else "accelerating" if gain > 0 else "braking"
        if abs(turn) < 4:
            return f"{move} straight ahead"
        return f"{move} while turning {'left' if turn > 0 else 'right'}"

    def md_acceleration(self, n: int) -> float:
        return abs(self.acceleration(n))

    def md_sideways(self, n: int) -> float:
        return self.own_speed(n) * math.radians(abs(self.turn(n)))

    def cs_stopping(self, n: int, friction: str, reaction: str) -> float:
        v = self.own_speed(n)
        return v * float(reaction) + v * v / (2 * float(friction) * 9.81)

    def cs_time_to(self, n: int, key: str) -> float:
        return self.gap(self.named(key, n), n) / self.own_speed(n)

"""Questions about episodes of an arm answered again, from their numbers in plain arithmetic."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.core.schema import AnyScene


class Episode:
    """An episode's numbers, by name."""

    def __init__(self, scene: AnyScene) -> None:
        facts = scene.facts
        self.t = facts.seconds.array[:, 0]
        self.grip = facts.gripper.place_m.array
        self.joints = {j.name: facts.arm.position.array[:, n] for n, j in enumerate(facts.arm.joints)}
        rates = facts.arm.velocity
        self.rates = {} if rates is None else {j.name: rates.array[:, n] for n, j in enumerate(facts.arm.joints)}
        self.units = {j.name: j.unit for j in facts.arm.joints}
        self.every = facts.items
        kinds = [one.category for one in facts.items]
        called = [
            f"the {one.category}"
            if facts.items_complete and kinds.count(one.category) == 1
            else f"the {one.attributes.get('colour', '')} {one.category}".replace("  ", " ")
            for one in facts.items
        ]
        self.items = {name: one for name, one in zip(called, facts.items, strict=True) if called.count(name) == 1}
        turn, opening = facts.gripper.turn_wxyz, facts.gripper.opening
        self.turn = turn.array if turn else None
        self.opening = opening.array[:, 0] if opening else None
        self.reach, self.base = facts.arm.reach_m, facts.arm.base_m

    def at(self, name: str, n: int) -> Any:
        return self.items[name].place_m.array[n]

    def answer(self, kind: str, t_s: float, *more: str) -> str | float | None:
        known = getattr(self, kind, None)
        return None if known is None else known(int(np.abs(self.t - t_s).argmin()), *more)

    def nearest(self, n: int, things: Sequence[Any] | None = None, kind: str = "id") -> Any:
        """The nearest in space, unless one of another kind is 2 cm nearer from above."""

        def away(one: Any, axes: int) -> float:
            return math.dist(one.place_m.array[n][:axes], self.grip[n][:axes])

        things = self.every if things is None else things
        best = min(things, key=lambda one: away(one, 3))
        others = [one for one in things if getattr(one, kind) != getattr(best, kind)]
        return None if any(away(best, 2) - away(one, 2) >= 0.02 for one in others) else best

    def arm_cl(self, n: int) -> str:
        return str(self.nearest(n, kind="category").category)

    def arm_at_near(self, n: int) -> str:
        return str(self.nearest(n).attributes["colour"])

    def arm_dt(self, n: int, name: str) -> float:
        return 100 * self.away(name, n)

    def arm_rd(self, n: int, *names: str) -> str:
        return ", ".join(sorted(names, key=lambda name: math.dist(self.at(name, n)[:2], self.grip[n][:2])))

    def arm_rp(self, n: int, first: str, second: str) -> str:
        x, y, _ = self.at(first, n) - self.at(second, n)
        return f"{'left' if y > 0 else 'right'} and {'farther' if x > 0 else 'nearer'}"

    def arm_lc(self, n: int, name: str) -> str:
        x, y, _ = self.at(name, n) - self.grip[n]
        return ("ahead" if x > 0 else "behind") if abs(x) > abs(y) else "left" if y > 0 else "right"

    def arm_rs(self, n: int, first: str, then: str, more: str) -> str:
        def size(name: str) -> float:
            sides = self.items[name].size_m
            return float(sides[2] if more == "taller" else max(sides))

        return max((first, then), key=size)

    def arm_lm_moved(self, n: int) -> float:
        return 100 * max(math.dist(self.at(name, n), self.at(name, 0)) for name in self.items)

    def before(self, n: int, seconds: str) -> int:
        return int(np.abs(self.t - self.t[n] + float(seconds)).argmin())

    def away(self, name: str, n: int) -> float:
        return math.dist(self.at(name, n), self.grip[n])

    def matrix(self, n: int) -> Any:
        """Rows of the rotation of the gripper, by turning its axes about a quaternion's."""
        w, axis = float(self.turn[n][0]), np.array(self.turn[n][1:])
        return np.stack([e + 2 * np.cross(axis, np.cross(axis, e) + w * e) for e in np.eye(3)], axis=1)

    def arm_or(self, n: int) -> float:
        return math.degrees(math.acos(-self.matrix(n)[2, 2]))

    def arm_or_turned(self, n: int, seconds: str) -> float:
        between = self.matrix(n) @ self.matrix(self.before(n, seconds)).T
        return math.degrees(math.acos(max(-1.0, (float(np.trace(between)) - 1) / 2)))

    def arm_or_between(self, n: int, *names: str) -> float:
        a, b = ((self.at(name, n) - self.grip[n])[:2] for name in names)
        return math.degrees(math.acos(float(a @ b) / math.hypot(*a) / math.hypot(*b)))

    def arm_sm_net(self, n: int, seconds: str) -> float:
        return 100 * math.dist(self.grip[n], self.grip[self.before(n, seconds)])

    def arm_lm_net(self, n: int) -> float:
        return 100 * math.dist(self.grip[n], self.grip[self.before(n, "6")])

    def arm_st(self, n: int) -> str:
        return "open" if self.opening[n] > 0.5 else "closed"

    def arm_st_slide(self, n: int, name: str) -> str:
        slide = self.items[name].slide
        return "open" if slide.position.array[n, 0] > (slide.low + slide.high) / 2 else "closed"

    def arm_sm_nearest(self, n: int, seconds: str) -> str:
        before = self.before(n, seconds)
        best = self.nearest(before, list(self.items.values()))
        return next((name for name, one in self.items.items() if one is best), "none")

    def arm_md(self, n: int, joint: str, seconds: str) -> float:
        return abs(math.degrees(self.joints[joint][n] - self.joints[joint][self.before(n, seconds)]))

    def arm_cs_reach(self, n: int, name: str) -> float:
        return abs(100 * (self.reach - math.dist(self.at(name, n)[:2], self.base[:2])))

    def arm_tp(self, n: int, name: str) -> str:
        x, y, z = self.at(name, n)
        top = z + self.items[name].size_m[2] / 2
        heights = {
            other: self.at(other, n)[2] - one.size_m[2] / 2 for other, one in self.items.items() if other != name
        }
        over = {o: h for o, h in heights.items() if math.dist(self.at(o, n)[:2], (x, y)) < 0.15}
        return min(over, key=lambda other: abs(over[other] - top))

    def arm_ct(self, n: int, told: str, side: str) -> float:
        axis = 0 if "ahead" in side or "nearer" in side else 1
        sign = 1 if "ahead" in side or "left" in side else -1
        there = [one.place_m.array[n] for one in self.every if told in (one.category, one.attributes["colour"])]
        return sum(sign * (place[axis] - self.grip[n][axis]) > 0 for place in there)

    arm_ct_colour = arm_ct

    def arm_at(self, n: int, name: str) -> str:
        return str(next(one.attributes["colour"] for one in self.every if one.id == name))

    def around(self, n: int, window_s: float) -> tuple[int, int]:
        """The times nearest to half a window before and after."""
        before, after = (int(np.abs(self.t - self.t[n] - d).argmin()) for d in (-window_s / 2, window_s / 2))
        return before, after

    def arm_mt(self, n: int) -> float:
        a, b = self.around(n, 0.2)
        return 100 * math.dist(self.grip[a], self.grip[b]) / float(self.t[b] - self.t[a])

    def rate(self, n: int, joint: str) -> float:
        if joint in self.rates:
            return math.degrees(self.rates[joint][n])
        a, b = self.around(n, 0.2)
        return math.degrees(self.joints[joint][b] - self.joints[joint][a]) / float(self.t[b] - self.t[a])

    def arm_md_rate(self, n: int, joint: str) -> float:
        return abs(self.rate(n, joint))

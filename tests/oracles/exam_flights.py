"""Questions about flights made by hand or drawn, answered again from their poses in plain arithmetic."""

import math
from bisect import bisect_left
from collections.abc import Iterator

from pipeline.worlds.flight.facts import FlightScene

SLACK = 0.002  # speeds are those of samples 0.2 s apart
COMPASS = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"]
EIGHTHS = ["ahead", "ahead on the right", "on the right", "behind on the right", "behind", "behind on the left"]
EIGHTHS += ["on the left", "ahead on the left"]


class Poses:
    """Where the drone was, looked up by time."""

    def __init__(self, made: FlightScene) -> None:
        moved = made.facts.motion
        self.t, self.place, self.nose = moved.t_s, moved.enu_m, moved.heading_deg
        self.places = {one.label: one for one in made.facts.landmarks}
        self.segments = moved.segments
        marks = made.facts.landmarks
        self.views = {marks[view.landmark].label: sorted(view.intervals) for view in moved.views or ()}
        if made.video is None:
            self.views = {name: [(t, t) for t in self.on_map(name)] for name in self.places}
        self.asked = {name for name, spans in self.views.items() if spans}

    def on_map(self, name: str) -> Iterator[float]:
        """When the middle of a mark is on the drawn map of 480 x 360 m about the drone, above its last 22 m."""
        (x, y) = self.places[name].center
        for t_s, (east, north, _) in zip(self.t, self.place, strict=True):
            if -236 <= x - east <= 236 and -154 <= y - north <= 176:
                yield t_s

    def at(self, t_s: float) -> int:
        n = bisect_left(self.t, t_s)
        return min(range(max(n - 1, 0), min(n + 1, len(self.t))), key=lambda n: abs(self.t[n] - t_s))

    def gap(self, name: str, n: int) -> float:
        one = self.places[name]
        return math.dist(one.center, self.place[n][:2]) - one.radius_m

    def bearing(self, name: str, n: int) -> float:
        east, north = (a - b for a, b in zip(self.places[name].center, self.place[n], strict=False))
        return (math.degrees(math.atan2(east, north)) - (self.nose[n] or 0.0)) % 360

    def velocity(self, t_s: float) -> list[float]:
        a, b = self.at(t_s - 0.5 - 0.01), self.at(t_s + 0.5 - 0.01)  # of two as near the earlier
        return [(v - u) / (self.t[b] - self.t[a]) for u, v in zip(self.place[a], self.place[b], strict=True)]

    def way(self, first: int, last: int) -> float:
        return sum(math.dist(self.place[n], self.place[n + 1]) for n in range(first, last))

    def answer(self, kind: str, t_s: float, *more: str) -> str | float | None:
        known = getattr(self, kind, None)
        return None if known is None else known(t_s, self.at(t_s), *more)

    def air_dt(self, t_s: float, n: int, name: str) -> float:
        return self.gap(name, n)

    def air_dt_home(self, t_s: float, n: int) -> float:
        return math.dist(self.place[n][:2], self.place[self.at(t_s - 20)][:2])

    def air_dt_height(self, t_s: float, n: int) -> float:
        return self.place[n][2]

    def air_or(self, t_s: float, n: int) -> float:
        return self.nose[n] or 0.0

    def air_or_compass(self, t_s: float, n: int) -> str:
        return COMPASS[round((self.nose[n] or 0.0) / 45) % 8]

    def air_lc(self, t_s: float, n: int, name: str) -> str:
        return EIGHTHS[round(self.bearing(name, n) / 45) % 8]

    def air_rd(self, t_s: float, n: int, *names: str) -> str:
        return ", ".join(sorted(names, key=lambda name: self.gap(name, n)))

    def air_rs(self, t_s: float, n: int, *names: str) -> str:
        return max(names, key=lambda name: self.places[name].top_m or 0.0)

    def air_rp(self, t_s: float, n: int, *names: str) -> str:
        east, north = (a - b for a, b in zip(*(self.places[name].center for name in names), strict=True))
        return COMPASS[round(math.degrees(math.atan2(east, north)) / 45) % 8]

    def air_rp_seen(self, t_s: float, n: int, *names: str) -> str:
        a, b = (self.bearing(name, n) for name in names)
        near, far = (self.gap(name, n) for name in names)
        return f"{'right' if (a - b) % 360 < 180 else 'left'} and {'nearer' if near < far else 'farther'}"

    def air_at_height(self, t_s: float, n: int, name: str) -> float:
        return self.places[name].top_m or 0.0

    def air_lm(self, t_s: float, n: int) -> float:
        return self.way(self.at(t_s - 20), n)

    def air_sm(self, t_s: float, n: int, seconds: str) -> float:
        return self.way(self.at(t_s - float(seconds)), n)

    def air_sm_height(self, t_s: float, n: int, seconds: str) -> str:
        change = self.place[n][2] - self.place[self.at(t_s - float(seconds))][2]
        return "it stayed the same" if abs(change) < 1 else "it climbed" if change > 0 else "it descended"

    def air_mt(self, t_s: float, n: int) -> float:
        return math.hypot(*self.velocity(t_s)[:2]) * 3.6

    def air_st_height(self, t_s: float, n: int) -> str:
        up = self.velocity(t_s)[2]
        return "keeping its height" if abs(up) < 0.3 else "climbing" if up > 0 else "descending"

    def air_cs_reach(self, t_s: float, n: int, name: str, speed: str) -> float:
        return self.gap(name, n) / float(speed)

    def air_ct_near(self, t_s: float, n: int, radius: str, *names: str) -> float:
        return sum(self.gap(name, n) <= float(radius) for name in names)

    def air_ct_shown(self, t_s: float, n: int, *names: str) -> float:
        spans = {name: self.views.get(name, ()) for name in names}
        return sum(any(first <= t_s and last > t_s - 15 for first, last in found) for found in spans.values())

    def air_tp(self, t_s: float, n: int, name: str) -> str:
        one = self.places[name]
        gaps = {
            other: math.dist(one.center, place.center) - one.radius_m - place.radius_m
            for other, place in self.places.items()
            if other in self.asked and other != name
        }
        return str(min(gaps, key=gaps.__getitem__))

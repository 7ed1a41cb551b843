"""An agent that acts in a city: what it sees and is told at each step (CityEQA, section 4 and figure 7)."""

import json
from collections.abc import Mapping
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.errors import ConfigError
from pipeline.core.identity import rng_for
from pipeline.core.templates import load_table
from pipeline.formats.images import jpeg_bytes
from pipeline.llm.base import Image
from pipeline.llm.prompts import load_prompt
from pipeline.metrics.replies import json_objects
from pipeline.questions.asking import AskedOf, Asking, QuestionPrompt, StepPrompt
from pipeline.questions.published import Published
from pipeline.worlds.city.facts import City, Pose
from pipeline.worlds.city.paths import CELL_M, FreeSpace, Paths, Slab
from pipeline.worlds.city.render import CityRenderer, Picture, captioned
from pipeline.worlds.city.visibility import WIDTH, pixel_rays
from pipeline.worlds.city.walk import MOVE_M, TURN_DEG, Walkway

SIDE_M: Final = 400.0  # of the map about the start (section 4.1)
SHOWN_M: Final = 30.0  # ours: depth farther off leaves the map unknown, since nothing small can be recognised there
UNKNOWN, FREE, SOLID = -1, 0, 1
_BESIDE: Final = ((0, 1), (1, 0), (0, -1), (-1, 0))  # rows and columns


class FrontierMap:
    """Frontier-based exploration (appendix A.3): what depth has shown at the agent's height, and a way to its end.

    Args:
        start: the middle of the map.

    Attributes:
        cells: (rows, columns) of 1 m, row 0 in the south: `UNKNOWN`, `FREE` or `SOLID`.
    """

    def __init__(self, start: Pose) -> None:
        count = round(SIDE_M / CELL_M)
        self.cells = np.full((count, count), UNKNOWN, dtype=np.int8)
        self._slab = Slab(start[2], self.cells == FREE, np.floor(np.array(start[:2])) - SIDE_M / 2)

    def add(self, pose: Pose, depth_m: npt.NDArray[np.float32]) -> None:
        """Enters what a level view shows at the agent's height.

        Args:
            pose: of the camera.
            depth_m: (height, width), metres along the camera's axis, infinite where nothing is hit; its middle row
                counts.
        """
        height, width = depth_m.shape
        rays = pixel_rays(np.array(pose), width, height)[:, 3:5].reshape(height, width, 2)[height // 2]
        depth = depth_m[height // 2]
        length = np.linalg.norm(rays, axis=1)
        away = np.minimum(depth * length, SHOWN_M)
        # Half a cell short of what is hit: the cell of that is solid.
        share = np.arange(0.0, SHOWN_M, CELL_M / 2)
        open_ = share[:, None] < away - CELL_M / 2
        points = np.array(pose[:2]) + share[:, None, None] * (rays / length[:, None])
        self._enter(points[open_], FREE)
        hit = depth * length <= SHOWN_M
        self._enter(np.array(pose[:2]) + rays[hit] * depth[hit, None], SOLID)
        self._enter(np.array([pose[:2]]), FREE)

    def block(self, point: FloatArray) -> None:
        """Enters that a place (2 or 3,) cannot be gone to."""
        self._enter(point[None], SOLID)

    def _enter(self, points: FloatArray, what: int) -> None:
        row, column = self._slab.cells(points).T
        inside = (row >= 0) & (column >= 0) & (row < len(self.cells)) & (column < len(self.cells))
        row, column = row[inside], column[inside]
        if what == FREE:  # what was solid once stays so
            unknown = self.cells[row, column] == UNKNOWN
            row, column = row[unknown], column[unknown]
        self.cells[row, column] = what

    def frontiers(self) -> IntArray:
        """Rows and columns (n, 2) of free cells beside unknown ones."""
        return np.argwhere((self.cells == FREE) & self._neighbours_of(self.cells == UNKNOWN))

    def way(self, pose: Pose, rng: np.random.Generator) -> tuple[FloatArray, float] | None:
        """Middles (k, 3) of the cells beyond the own one to a frontier that is drawn, and the yaw to look beyond it.

        None: none can be reached.

        Ways keep a cell away from what is solid, where the agent does not stand beside it already.
        """
        solid = self.cells == SOLID
        open_ = (self.cells == FREE) & ~(solid | self._neighbours_of(solid))
        here = self._slab.cells(np.array([pose[:2]]))[0]
        open_[tuple(here)] = True
        paths = Paths(self._slab._replace(free=open_), SIDE_M / 2)
        ends = self.frontiers()
        middles = self._slab.middles(ends)
        can = np.flatnonzero(np.isfinite(paths.lengths(np.array(pose[:3]), middles)))
        n = int(rng.choice(can)) if len(can) else -1
        path = paths.path(np.array(pose[:3]), middles[n]) if len(can) else None
        if path is None:
            return None
        unknown = np.array([side for side in _BESIDE if self._is_unknown(ends[n] + side)])
        row, column = unknown.mean(axis=0) if unknown.sum(axis=0).any() else unknown[0]
        return path[1:], float(np.degrees(np.arctan2(column, row)) % 360.0)

    def _is_unknown(self, cell: IntArray) -> bool:
        inside = (cell >= 0).all() and (cell < len(self.cells)).all()
        return bool(inside and self.cells[tuple(cell)] == UNKNOWN)

    def _neighbours_of(self, which: np.ndarray) -> np.ndarray:
        """Cells with one of some cells on one of four sides."""
        padded = np.pad(which, 1)
        rows, columns = which.shape
        return np.any([padded[1 + r : 1 + r + rows, 1 + c : 1 + c + columns] for r, c in _BESIDE], axis=0)


KEEP_STILL: Final = "KeepStill"
STOP: Final = "Stop"
CONTINUE: Final = "Continue"
# The nine actions of the paper (appendix A.2), as `Walkway` names them.
ACTIONS: Final[Mapping[str, str]] = {
    "MoveForward": "forward",
    "MoveBack": "back",
    "MoveLeft": "left",
    "MoveRight": "right",
    "MoveUp": "rise",
    "MoveDown": "sink",
    "TurnLeft": "turn left",
    "TurnRight": "turn right",
    KEEP_STILL: "",
}
EXPLORING: Final = ("MoveForward", "TurnLeft", "TurnRight", KEEP_STILL)  # of the paper's agents that explore; stopping
FOUR: Final = (*EXPLORING[:3], STOP)  # of people (H-EQA)
FOUR_ACTIONS, RANDOM, FRONTIER, PMA, VQA, SOCRATIC = "four_actions", "random", "frontier", "pma", "vqa", "socratic"
PROMPTS: Final = (FOUR_ACTIONS, RANDOM, FRONTIER, PMA, VQA, SOCRATIC)
_EXPLORERS: Final = (RANDOM, FRONTIER)  # the policy acts; the model answers, and says when to stop
_CHOICES: Final = {FOUR_ACTIONS: FOUR, RANDOM: (CONTINUE, STOP), FRONTIER: (CONTINUE, STOP)}
_NAMES: Final = {action: name for name, action in ACTIONS.items()}
_COMPASS: Final = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
_NEAR_M: Final = MOVE_M  # from where the answer is seen, for the oracle: less than what counts as success
_FOUND_PIXELS: Final = 400  # of 640 x 480, of a target that the Explorer has found: as `CityRules.pixels_min`


class NavigableCity(NamedTuple):
    """A city to act in."""

    space: FreeSpace
    renderer: CityRenderer


def _place(facts: Any) -> NavigableCity:
    if not isinstance(facts, City) or facts.bounds is None:
        raise ConfigError("the tasks are set in a place without a map; agents need one")
    return NavigableCity(FreeSpace(facts), CityRenderer(facts))


class CityObservation(NamedTuple):
    """What the paper's agents are given at each step.

    Attributes:
        color: (480, 640, 3), with the words of signs.
        depth_m: (480, 640), metres along the camera's axis; infinite: the sky.
        pose: x east, y north, z up, metres; roll, pitch, yaw, degrees.
    """

    color: Picture
    depth_m: npt.NDArray[np.float32]
    pose: Pose


class CitySearch:
    """One task: the agent moves, looks, and keeps its best answer.

    Args:
        question: a row of the release.
        place: its city.
        way: who acts, one of `PROMPTS`; empty: the model does all, with the nine actions.
    """

    def __init__(self, question: Published, place: NavigableCity, way: str = "") -> None:
        self._question, self._place, self._way = question, place, way
        self._walk = Walkway(place.space, _pose_of(question, "initial_pose"))
        self._settings = load_table("cityeqa/asking")
        moving, collecting = self._settings["navigation_steps"], self._settings["collection_steps"]
        self._most: int = {RANDOM: moving, FRONTIER: moving, PMA: collecting}.get(way, moving + collecting)
        self._log: list[dict[str, Any]] = []
        self._answer: str | None = None
        self._is_over = False
        self._plan: list[str] | None = None
        self._rng = rng_for(question.id, way)
        self._map = FrontierMap(self._walk.pose)
        if way == PMA:
            self._navigate(moving)

    def prompt(self) -> StepPrompt | None:
        """See `AgentEpisode`."""
        left = self._most - len(self._log)
        if self._is_over or left == 0:
            return None
        _, _, z, _, pitch, yaw = self._walk.pose
        text = load_prompt("agent_cityeqa").render(
            question=self._question.question,
            reference=self._answer,
            height=f"{z:g}",
            toward=_COMPASS[round(yaw / 45.0) % 8],
            yaw=f"{yaw:g}",
            pitch=f"{pitch:g}" if pitch else "",
            left=left,
            history=self._log[-self._settings["history"] :],
            actions=", ".join(_CHOICES.get(self._way, tuple(ACTIONS))),
            move=f"{MOVE_M:g}",
            turn=f"{TURN_DEG:g}",
            way=self._way,
        )
        return StepPrompt(text, lambda: _picture(self.observe().color))

    def observe(self) -> CityObservation:
        """Colour, depth and pose where the agent is now."""
        shot = self._place.renderer.shoot(np.array(self._walk.pose))
        return CityObservation(captioned(shot), shot.depth_m, self._walk.pose)

    def take(self, reply: str) -> None:
        """See `AgentEpisode`."""
        said = next((found for found in json_objects(reply) if found.keys() & {"answer", "action"}), {})
        answer, action = said.get("answer"), said.get("action")
        if isinstance(answer, str | int | float) and str(answer).strip():
            self._answer = str(answer).strip()
        refused = None
        if action in (KEEP_STILL, STOP):
            self._is_over = True
        elif self._way in _EXPLORERS:
            action, refused = self._explore()
        elif action in _CHOICES.get(self._way, ACTIONS):
            refused = self._act(str(action), said.get("metres", MOVE_M))
        else:
            refused = f"{str(action)[:40]!r} is none of the actions"
        self._log.append({"step": len(self._log), "action": action, "refused": refused, "reply": reply})

    def _act(self, action: str, metres: Any) -> str | None:
        """Does one of `ACTIONS`; a move of `FOUR_ACTIONS` goes any whole metre."""
        if self._way != FOUR_ACTIONS or action != "MoveForward":
            return self._walk.act(ACTIONS[action])
        if isinstance(metres, bool) or metres not in range(1, round(MOVE_M) + 1):
            return f"metres are a whole number from 1 to {MOVE_M:g}"
        return self._walk.act(ACTIONS[action], float(metres))

    def _explore(self) -> tuple[str, str | None]:
        """Does the next action of an exploring agent (appendix A.3)."""
        if self._way == RANDOM:
            action = str(self._rng.choice(EXPLORING))
            self._is_over = action == KEEP_STILL
            return action, None if self._is_over else self._walk.act(ACTIONS[action])
        level = self._place.renderer.shoot(np.array(self._walk.pose), WIDTH, 2)  # the rows at the agent's height
        self._map.add(self._walk.pose, level.depth_m)
        found = self._map.way(self._walk.pose, self._rng)
        if found is None:
            self._is_over = True
            return STOP, "no frontier is left that can be reached"
        stopped = self._walk.follow(*found)
        if stopped is not None:
            self._map.block(stopped)
        return "MoveToFrontier", None if stopped is None else "something is in the way"

    def _navigate(self, most: int) -> None:
        """Navigator and Explorer of the paper's agent, with the oracle's way in place of its plan and its map.

        They go to the first stop from where the target is seen, and look to the four sides there until it is.
        """
        rest = self._question.rest
        for x, y in zip(rest["oracle_x"], rest["oracle_y"], strict=True):
            pose, walked = self._walk.pose, self._walk.steps
            if (x, y) != pose[:2]:
                yaw = round(float(np.degrees(np.arctan2(x - pose[0], y - pose[1])) % 360.0), 1)
                walked.append((x, y, pose[2], pose[3], 0.0, yaw))
            looks = [(*self._walk.pose[:5], (self._walk.pose[5] + turn) % 360.0) for turn in (0.0, 90.0, 180.0, 270.0)]
            seen = next((n for n, look in enumerate(looks) if self._shows_the_target(look)), None)
            if seen is not None:
                walked += looks[1 : seen + 1]
            if seen is not None or len(walked) > most:
                break
        del self._walk.steps[most + 1 :]

    def _shows_the_target(self, pose: Pose) -> bool:
        own = str(self._question.rest["group"]).partition("/")[2]
        shot = self._place.renderer.shoot(np.array(pose), 160, 120)
        ids = [thing.id for thing in self._place.space.city.things]
        return own in ids and 16 * int((shot.thing == ids.index(own)).sum()) >= _FOUND_PIXELS

    def result(self) -> dict[str, Any]:
        """The last answer, the poses, and each step's whole reply and refusal."""
        return {"answer": self._answer, "steps": [list(pose) for pose in self._walk.steps], "log": self._log}

    def by_oracle(self, draw: Random, prompt: StepPrompt) -> str:
        """A reply of who knows the way to where the answer is seen, and the answer."""
        if self._plan is None:
            self._plan = _plan(self._walk, self._question)
        action = self._plan.pop(0) if self._plan else KEEP_STILL
        return json.dumps({"answer": self._question.ground_truth, "action": action}, ensure_ascii=False)


class CityPictures:
    """One task without acting: the paper's VQA agents and its Socratic ones (appendix A.3).

    VQA shows where the answer is seen. Socratic has a model caption the last five views on the way there, and answers
    by the captions alone.
    """

    def __init__(self, question: Published, place: NavigableCity, way: str) -> None:
        self._question, self._renderer = question, place.renderer
        self._said: Mapping[str, str] = load_table("cityeqa/asking")["socratic"]
        self._poses = [_pose_of(question, "observation_pose")]
        self._is_captioned = way == SOCRATIC
        if self._is_captioned:
            walk = Walkway(place.space, _pose_of(question, "initial_pose"))
            for action in _plan(walk, question):
                walk.act(ACTIONS[action])
            self._poses = walk.steps[-_CAPTIONED:]
        self._replies: list[str] = []

    def prompt(self) -> StepPrompt | None:
        """See `AgentEpisode`."""
        n = len(self._replies)
        if n < len(self._poses):
            pose = np.array(self._poses[n])
            text = self._said["caption"] if self._is_captioned else self._question.question
            return StepPrompt(text, lambda: _picture(captioned(self._renderer.shoot(pose))))
        if not self._is_captioned or n > len(self._poses):
            return None
        captions = "\n".join(f"{k}. {' '.join(reply.split())}" for k, reply in enumerate(self._replies, start=1))
        return StepPrompt(self._said["answer"].format(captions=captions, question=self._question.question), None)

    def take(self, reply: str) -> None:
        """See `AgentEpisode`."""
        self._replies.append(reply)

    def result(self) -> dict[str, Any]:
        """The last reply; no poses, since nobody moved."""
        return {"answer": self._replies[-1], "log": self._replies}


_CAPTIONED: Final = 5  # views (appendix A.3)


def _picture(color: Picture) -> Image:
    return Image(jpeg_bytes(color), "image/jpeg")


def _plan(walk: Walkway, question: Published) -> list[str]:
    """The paper's actions from where an agent is to where the answer is seen."""
    return [_NAMES[action] for action in walk.way_to(_pose_of(question, "observation_pose"), _NEAR_M) or ()]


def _pose_of(question: Published, name: str) -> Pose:
    x, y, z, roll, pitch, yaw = (float(value) for value in question.rest[name])
    return (x, y, z, roll, pitch, yaw)


def prompt(question: Published, asked: AskedOf) -> QuestionPrompt:
    """The question alone: what the paper's blind agents are asked (appendix C)."""
    return QuestionPrompt(question.question)


def episode(question: Published, asked: AskedOf) -> CitySearch | CityPictures:
    """Every task is an agent's."""
    place = asked.scene(question, _place)
    how = CityPictures if asked.prompt in (VQA, SOCRATIC) else CitySearch
    return how(question, place, asked.prompt)


_UNASKED: Final = dict.fromkeys(_EXPLORERS, lambda episode, draw, prompt: '{"answer": "no idea"}')
ASKING: Final = Asking.of(
    "cityeqa", prompt, episode=episode, prompts=PROMPTS, agents={"oracle": CitySearch.by_oracle, **_UNASKED}
)

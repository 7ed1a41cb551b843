"""The rules that decide whether a question is asked, in three complete profiles.

`official` reproduces the released VSI-Bench, quirks included; `strict` is what its rules were meant to be. The
numbers come from the paper ("Thinking in Space", appendix B.1) and from the released files where the paper is silent.
`revsi` asks the types of ReVSI under the limits of its public generator (arXiv 2604.24300).
"""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal

import numpy as np
from pydantic import Field

from pipeline.core.arrays import BoolArray, StrArray
from pipeline.core.schema import Degrees, Metres, Model, Ratio, Seconds, Share, SquareMetres
from pipeline.core.templates import load_table
from pipeline.worlds.indoor.view import IndoorRules, IndoorView


class NameLists(Model):
    """Names that a profile does not ask about, and answers that it asks less often than they occur.

    Attributes:
        never_counted: names that are not counted.
        challenging: names of which a count of 1 is asked too.
        challenging_shares: count -> share of the questions about challenging names that are asked.
        challenging_four_share: of two challenging names that are 4 together, the share that is asked.
        common_counts: count -> the largest share of it that a scene's counts may have, on average.
        never_sized: names whose size is known by the name.
        usual_factor: sizes so near to the usual ones of their name are usual, and all of a name half of whose boxes are
            so near to each other.
        usual_share: share of these that is asked.
        whole_factor: names of which one box in twenty, at most, is larger than the median times this have one size: a
            box smaller than the median by more than this may be that of a part; None: boxes are taken for whole.
        usual_area_factor: areas so near to the usual one of a room with as much furniture are usual.
        usual_area_share: share of these that is asked.
        usual_cm: name -> least and most of the usual sizes, in centimetres, and the share of these that is asked.
        distance_shares: metres and the share that is asked of shorter distances, in ascending order.
        ahead_factor: of hard directions at most so many times as many are ahead as behind, or the other way round, on
            average in each scene; None: all are asked.
        sprawling: phrases in names of things that no box describes well, so that no distance to them is asked.
        overhead: phrases in names of things that relative distances do not name either.
    """

    never_counted: frozenset[str] = frozenset()
    challenging: frozenset[str] = frozenset()
    challenging_shares: dict[int, Share] = Field(default_factory=dict)
    challenging_four_share: Share = 1.0
    common_counts: dict[int, Share] = Field(default_factory=dict)
    never_sized: frozenset[str] = frozenset()
    usual_factor: Ratio = 1.0
    usual_share: Share = 1.0
    whole_factor: Ratio | None = None
    usual_area_factor: Ratio = 1.0
    usual_area_share: Share = 1.0
    usual_cm: dict[str, tuple[float, float, Share]] = Field(default_factory=dict)
    distance_shares: tuple[tuple[Metres, Share], ...] = ()
    ahead_factor: Ratio | None = None
    sprawling: tuple[str, ...] = ()
    overhead: tuple[str, ...] = ()


_TABLE: Final[dict[str, Any]] = load_table("vsi/words")
WORDS: Final[dict[str, NameLists]] = {profile: NameLists.model_validate(words) for profile, words in _TABLE.items()}


def among(names: StrArray, words: Iterable[str]) -> BoolArray:
    """Which names (n,) are some of the words, in whatever case."""
    return np.isin(np.char.lower(names.astype(str)), sorted(words))


def containing(names: StrArray, phrases: Iterable[str]) -> BoolArray:
    """Which names (n,) contain one of the phrases as whole words, in whatever case."""
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(phrase)}(?!\w)" for phrase in phrases) or r"(?!)", re.IGNORECASE)
    kinds, which = np.unique(names.astype(str), return_inverse=True)
    return np.array([pattern.search(kind) is not None for kind in kinds], dtype=bool)[which]


class Rules(IndoorRules):
    """Limits of one profile; metres, square metres, degrees. Any of them can be set in a build's configuration."""

    words: Literal["official", "strict", "revsi"] = Field(
        description="names that are not asked about, and answers asked less often (templates/tables/vsi/words.yaml)"
    )
    first_gap_min_s: Seconds = Field(default=1.0, description="appearance order: between any two first times")
    turn_margin_min_deg: Degrees = Field(default=10.0, lt=45, description="routes: from 30 and 135 degrees of turn")
    turn_reading_deg: float = Field(
        ge=0, le=45, description="routes: closer to 135 degrees, neither reading of a turn is wrong"
    )
    back_turns_max: int = Field(default=1, ge=0, description="routes: no released option turns back twice")
    leg_min_m: Metres = Field(default=0.5, description="routes: shortest way between two turns")
    body_radius_m: Metres = Field(default=0.2, description="routes: what passes between the objects")
    routes_by_people: bool = Field(default=False, description="routes: only those that people wrote")
    min_count: int = Field(default=2, ge=0, description="counting: smaller counts are not asked (B.1)")
    extent_seen_min: float | None = Field(
        ge=0,
        le=1,
        description="size: share of the longest side that the video must show, where it was examined; null: none",
    )
    abs_distance_min_m: Metres = Field(default=0.2, description="absolute distance: smallest asked (released file)")
    nearest_min_m: Metres = Field(default=0.15, description="relative distance: the nearest is at least this far")
    gap_min_m: Metres = Field(default=0.15, description="relative distance: between any two distances (B.1)")
    gap_min_large_room_m: Metres = Field(description="the same in rooms over large_room_m2 (B.1: 0.30)")
    lead_share_min: Share = Field(
        default=0.0, description="relative distance: of the nearest's distance, by which the next is farther"
    )
    large_room_m2: SquareMetres = Field(default=40.0, description="B.1")
    pair_min_m: Metres = Field(description="direction: any two of the three objects (released file: 0.30)")
    pair_max_m: Metres | None = Field(
        default=5.0, description="direction: any two of the three objects (released file); null: none"
    )
    pair_plan_min_m: Metres = Field(default=0.0, description="direction: any two of the three objects, from above")
    side_max_m: Metres | None = Field(
        default=None, description="direction: horizontal sides of the three objects; null: none"
    )
    horizontal_min_m: Metres = Field(description="direction: from where one stands to the others, on the floor plane")
    margin_min_deg: Degrees = Field(
        default=10.0, lt=45, description="direction: to the sector boundaries (released file)"
    )
    position_error_m: Metres = Field(
        description="direction: the margin is also at least the angle that this length takes up where it is nearest"
    )
    hard_margin_two_sided: bool = Field(description="direction, hard: also refuse just past a boundary")
    corners_max: int = Field(
        default=2, ge=0, le=8, description="direction: of the 8 corners of the asked box in another sector"
    )
    map_cells: int = Field(
        default=10, ge=2, le=1000, description="cognitive maps: cells along each side of the grid (B.4)"
    )
    hold_around: bool = Field(
        description="direction: the answer holds from every place beside the object where a person can stand, not only "
        "from its centre, and overhead objects are not named"
    )


ScanView = IndoorView[Rules]  # as the tasks see a scan
PROFILES: Final[dict[str, Rules]] = {
    name: Rules.model_validate(limits) for name, limits in load_table("vsi/profiles").items()
}
STRICT, OFFICIAL, REVSI = (PROFILES[name] for name in ("strict", "official", "revsi"))

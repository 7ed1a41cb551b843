"""The world of arms."""

from typing import Final

from pipeline.core.schema import Model
from pipeline.worlds.arm.bev_video import drawn, known_in, sight, top_down_map
from pipeline.worlds.arm.facts import Episode
from pipeline.worlds.arm.quality_checks import examine
from pipeline.worlds.arm.readers.lerobot import LeRobot
from pipeline.worlds.arm.readers.rlbench import RLBench
from pipeline.worlds.world import World


class ArmConfig(Model):
    """Nothing of an episode is observed ahead: its series say what was where."""


ARM: Final = World(
    name="arm",
    units="episodes",
    facts=Episode,
    readers=(RLBench(), LeRobot()),
    config=ArmConfig,
    known=known_in,
    visibility=sight,
    examine=examine,
    quick=(RLBench.name, LeRobot.name),
    top_down_map=top_down_map,
    bev_video=drawn,
)

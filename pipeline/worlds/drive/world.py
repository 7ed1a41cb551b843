"""The world of drives."""

from typing import Final

from pipeline.core.schema import Model
from pipeline.worlds.drive.bev_video import drawn, known_in, sight, top_down_map
from pipeline.worlds.drive.facts import Drive
from pipeline.worlds.drive.quality_checks import examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.carla import Carla
from pipeline.worlds.drive.readers.kitti_tracking import KittiTracking
from pipeline.worlds.drive.readers.nuscenes import NuScenes
from pipeline.worlds.world import World


class DriveConfig(Model):
    """Nothing of a drive is observed ahead: its tracks say where everything was."""


DRIVE: Final = World(
    name="drive",
    units="drives",
    facts=Drive,
    readers=(Argoverse2(), Carla(), KittiTracking(), NuScenes()),
    config=DriveConfig,
    known=known_in,
    visibility=sight,
    examine=examine,
    quick=(Argoverse2.name, Carla.name, KittiTracking.name),
    bulky=("actors", "lanes", "drivable"),
    top_down_map=top_down_map,
    bev_video=drawn,
)

"""The common words for what is seen on roads, and the families that questions speak of."""

from __future__ import annotations

from typing import Final

CARS: Final = frozenset({"car", "van"})
HEAVY: Final = frozenset({"truck", "bus", "trailer", "tram", "large vehicle"})
TWO_WHEELED: Final = frozenset({"bicycle", "motorcycle", "scooter"})
RIDERS: Final = frozenset({"cyclist", "motorcyclist"})  # whoever rides, with what is ridden where the source joins them
PEOPLE: Final = frozenset({"pedestrian", "wheelchair user"})
VEHICLES: Final = CARS | HEAVY | frozenset({"motorcycle", "motorcyclist", "vehicle"})
ROAD_USERS: Final = VEHICLES | RIDERS | PEOPLE  # what every source labels; not all label cones or parked bicycles
FURNITURE: Final = frozenset({"bollard", "traffic cone", "construction barrel", "sign", "stop sign", "message board"})
ALONGSIDE: Final = frozenset({"stroller", "wheelchair", "animal", "wheeled device", "object"})
CATEGORIES: Final = CARS | HEAVY | TWO_WHEELED | RIDERS | PEOPLE | VEHICLES | FURNITURE | ALONGSIDE

# Argoverse 2, sensor dataset: av2/datasets/sensor/constants.py, AnnotationCategories.
ARGOVERSE2: Final[dict[str, str]] = {
    "ANIMAL": "animal",
    "ARTICULATED_BUS": "bus",
    "BICYCLE": "bicycle",
    "BICYCLIST": "cyclist",
    "BOLLARD": "bollard",
    "BOX_TRUCK": "truck",
    "BUS": "bus",
    "CONSTRUCTION_BARREL": "construction barrel",
    "CONSTRUCTION_CONE": "traffic cone",
    "DOG": "animal",
    "LARGE_VEHICLE": "large vehicle",
    "MESSAGE_BOARD_TRAILER": "message board",
    "MOBILE_PEDESTRIAN_CROSSING_SIGN": "sign",
    "MOTORCYCLE": "motorcycle",
    "MOTORCYCLIST": "motorcyclist",
    "OFFICIAL_SIGNALER": "pedestrian",
    "PEDESTRIAN": "pedestrian",
    "RAILED_VEHICLE": "tram",
    "REGULAR_VEHICLE": "car",
    "SCHOOL_BUS": "bus",
    "SIGN": "sign",
    "STOP_SIGN": "stop sign",
    "STROLLER": "stroller",
    "TRAFFIC_LIGHT_TRAILER": "trailer",
    "TRUCK": "truck",
    "TRUCK_CAB": "truck",
    "VEHICULAR_TRAILER": "trailer",
    "WHEELCHAIR": "wheelchair",
    "WHEELED_DEVICE": "wheeled device",
    "WHEELED_RIDER": "pedestrian",
}
# KITTI, tracking benchmark, devkit's readme. `DontCare` marks stretches of the picture, not things.
KITTI: Final[dict[str, str]] = {
    "Car": "car",
    "Cyclist": "cyclist",
    "Misc": "object",
    "Pedestrian": "pedestrian",
    "Person": "pedestrian",
    "Person_sitting": "pedestrian",
    "Tram": "tram",
    "Truck": "truck",
    "Van": "van",
}
# CARLA, blueprint library: `base_type` where the blueprint has it (0.9.14), else these, else by the number of wheels.
CARLA_TYPES: Final[dict[str, str]] = {
    "bicycle": "cyclist",
    "bus": "bus",
    "car": "car",
    "motorcycle": "motorcyclist",
    "truck": "truck",
    "van": "van",
}
CARLA_VEHICLES: Final[dict[str, str]] = {
    "vehicle.bh.crossbike": "cyclist",
    "vehicle.carlamotors.carlacola": "truck",
    "vehicle.carlamotors.european_hgv": "truck",
    "vehicle.carlamotors.firetruck": "truck",
    "vehicle.diamondback.century": "cyclist",
    "vehicle.ford.ambulance": "van",
    "vehicle.gazelle.omafiets": "cyclist",
    "vehicle.mercedes.sprinter": "van",
    "vehicle.mitsubishi.fusorosa": "bus",
    "vehicle.volkswagen.t2": "van",
    "vehicle.volkswagen.t2_2021": "van",
}
CARLA_PROPS: Final[dict[str, str]] = {
    "static.prop.constructioncone": "traffic cone",
    "static.prop.trafficcone01": "traffic cone",
    "static.prop.trafficcone02": "traffic cone",
}

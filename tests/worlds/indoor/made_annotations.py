"""One furnished room as annotations of datasets state it: the same boxes in each format's own words."""

import gzip
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.core.errors import is_installed
from tests.worlds.indoor.made_capture import BOXES, LENS, SIZE, color, png, room_mesh, walk
from tests.worlds.indoor.readers.tiny_scans import ply, put, put_json

Turn = Callable[[np.ndarray], np.ndarray]  # of what a format writes, to plant a fault in it


class Thing(NamedTuple):
    """A box of the room, z up, metres; ``turn_deg`` counter-clockwise seen from above."""

    label: str
    center: tuple[float, float, float]
    size: tuple[float, float, float]
    turn_deg: float

    @property
    def rotation(self) -> np.ndarray:
        return Rotation.from_euler("z", self.turn_deg, degrees=True).as_matrix()

    @property
    def corners(self) -> np.ndarray:
        return corners(np.array(self.center), np.array(self.size), self.rotation.T)


THINGS: Final = (
    Thing("bed", (1.2, 1.1, 0.3), (1.4, 2.0, 0.6), 25.0),
    Thing("nightstand", (2.3, 0.7, 0.25), (0.45, 0.4, 0.5), 25.0),
    Thing("desk", (3.4, 2.9, 0.37), (1.3, 0.6, 0.74), -40.0),
    Thing("chair", (3.0, 2.2, 0.45), (0.5, 0.45, 0.9), 65.0),
    Thing("chair", (0.7, 3.1, 0.45), (0.5, 0.45, 0.9), 110.0),
    Thing("lamp", (2.3, 0.7, 0.7), (0.2, 0.25, 0.4), 30.0),
)
SHELL: Final = Thing("floor", (2.0, 1.75, -0.05), (4.0, 3.5, 0.1), 0.0)  # never asked about
YUP: Final = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], dtype=float)  # file_R_world of a right-handed y-up frame


def corners(center: np.ndarray, size: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The eight corners (8, 3) of a box, in an order of their own."""
    signs = np.stack(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5]), axis=-1).reshape(-1, 3)
    places = (signs * size) @ axes + center
    return places[np.lexsort(places.round(4).T)]


def same(values: np.ndarray) -> np.ndarray:
    return values


def quat_xyzw(rotation: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(rotation).as_quat()


FILMED: Final = tuple(
    Thing(label, tuple((np.array(low) + high) / 2), tuple(np.array(high) - low), 0.0) for label, low, high in BOXES
)  # what the camera of `made_capture` walks around
ALIGN: Final = np.array([[0.8, 0.6, 0, 0.4], [-0.6, 0.8, 0, 1.1], [0, 0, 1, 0.2], [0, 0, 0, 1]])  # aligned <- scan


def embodiedscan(
    root: Path, change: Turn = same, things: tuple[Thing, ...] = THINGS, film: bool = False, protocol: int = 4
) -> None:
    """``change`` of poses (N, 4, 4), camera-to-world of the scan; without ``film`` no picture is there."""
    pose = change(np.linalg.inv(ALIGN) @ walk().pose)
    lens = np.eye(4)
    lens[[0, 1, 0, 1], [0, 1, 2, 2]] = LENS
    names = sorted({thing.label for thing in (*things, SHELL)})
    images = []
    for i in range(len(pose)):
        stem = f"scannet/posed_images/scene0000_00/{i:05d}"
        told = {"img_path": f"{stem}.jpg", "depth_path": f"{stem}.png", "cam2global": pose[i]}
        images.append(told | {"visible_instance_ids": [0, 1]})
        if film:
            put(root / f"{stem}.jpg", color(i))
            put(root / f"{stem}.png", png(walk().depth_mm(i)))
    instances = [
        {
            "bbox_3d": [*thing.center, *thing.size, np.radians(thing.turn_deg), 0.0, 0.0],
            "bbox_label_3d": names.index(thing.label),
            "bbox_id": number,
        }
        for number, thing in enumerate((*things, SHELL))
    ]
    scene = {"sample_idx": "scannet/scene0000_00", "images": images, "instances": instances}
    scene |= {"axis_align_matrix": ALIGN, "cam2img": lens, "depth_cam2img": lens}
    meta = {"categories": {name: number for number, name in enumerate(names)}, "DATASET": "EmbodiedScan"}
    raw = pickle.dumps({"metainfo": meta, "data_list": [scene]}, protocol)
    put(root / "embodiedscan_infos_val.pkl", raw)


def threerscan(
    root: Path, change: Turn = same, things: tuple[Thing, ...] = THINGS, turn: Turn = same, film: bool = False
) -> None:
    """``change`` of poses (N, 4, 4), ``turn`` of each box's axes (3, 3), a row per axis."""
    groups = [
        {
            "objectId": number + 1,
            "label": thing.label,
            "obb": {
                "centroid": list(thing.center),
                "axesLengths": list(thing.size),
                "normalizedAxes": turn(thing.rotation.T).ravel().tolist(),
            },
        }
        for number, thing in enumerate((*things, SHELL))
    ]
    put(root / "semseg.v2.json", json.dumps({"scan_id": "0", "segGroups": groups}, default=float))
    put(root / "labels.instances.annotated.v2.ply", ply(*room_mesh()) if things is FILMED else room_ply())
    if not film:
        return
    pose, lens = change(walk().pose), np.eye(4)
    lens[[0, 1, 0, 1], [0, 1, 2, 2]] = LENS
    info = {"m_colorWidth": SIZE[0], "m_colorHeight": SIZE[1], "m_depthShift": 1000, "m_frames.size": len(pose)}
    info["m_calibrationColorIntrinsic"] = " ".join(map(str, lens.ravel()))
    put(root / "sequence/_info.txt", "\n".join(f"{key} = {value}" for key, value in info.items()))
    for i in range(len(pose)):
        stem = f"sequence/frame-{i:06d}"
        put(root / f"{stem}.color.jpg", color(i))
        depth = walk().depth_mm(i)
        put(root / f"{stem}.depth.pgm", b"P5\n%d %d\n65535\n" % depth.shape[::-1] + depth.astype(">u2").tobytes())
        put(root / f"{stem}.pose.txt", "\n".join(" ".join(map(str, row)) for row in pose[i]))


def matterport(root: Path, change: Turn = same, regions: int = 1) -> None:
    """``change`` of the radii (3,). A second region has the floor alone. Blanks are written as #."""
    names = sorted({thing.label for thing in (*THINGS, SHELL)})
    lines = ["ASCII 1.1", "H x x 0 0 0 0 0 7 6 2 0 1", "L 0 2 ~ 0 0 0 0 0 0 4 4 3"]
    lines += [f"R {i} 0 0 0 b 0 0 0 0 0 0 4 4 3 2.5 0 0 0 0" for i in range(2)]
    words = [name.replace("nightstand", "night#stand") for name in names]
    lines += [f"C {i} {40 + i} {word} 3 misc 0 0 0 0 0" for i, word in enumerate(words)]
    for number, thing in enumerate((*THINGS, *[SHELL] * regions)):
        axes, radii = thing.rotation.T, change(np.array(thing.size) / 2)
        rest = " ".join(f"{n:.9g}" for n in (*thing.center, *axes[0], *axes[1], *radii))
        lines.append(f"O {number} {int(number > 6)} {names.index(thing.label)} {rest} 0 0 0 0 0 0 0 0")
    put(root / "house_segmentations/x.house", "\n".join(lines))
    put(root / "region_segmentations/region0.ply", room_ply())


def replica(root: Path, change: Turn = same, gravity: tuple[float, ...] = (0.0, 0.0, -1.0)) -> None:
    """``change`` of each quaternion x y z w."""
    shift = np.array([0.5, -0.3, 0.0])
    objects = [
        {
            "id": number,
            "class_id": number,
            "class_name": thing.label,
            "oriented_bbox": {
                "abb": {"center": (thing.rotation.T @ (thing.center - shift)).tolist(), "sizes": list(thing.size)},
                "orientation": {
                    "rotation": change(quat_xyzw(thing.rotation)).tolist(),
                    "translation": shift.tolist(),
                },
            },
        }
        for number, thing in enumerate((*THINGS, SHELL))
    ]
    told = {"classes": [], "gravity_dir": list(gravity), "id_to_label": list(range(7)), "objects": objects}
    put_json(root / "habitat/info_semantic.json", told)
    put(root / "mesh.ply", room_ply())


def room_ply() -> bytes:
    """The surfaces of all things and of the floor, as triangles."""
    places, faces = [], []
    for thing in (*THINGS, SHELL):
        grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        start = sum(map(len, places))
        places.append((grid * thing.size) @ thing.rotation.T + thing.center)
        for axis in range(3):
            for side in (0, 3):
                at = np.take(np.arange(64).reshape(4, 4, 4), side, axis)
                a, b, c, d = at[:-1, :-1].ravel(), at[:-1, 1:].ravel(), at[1:, 1:].ravel(), at[1:, :-1].ravel()
                faces += [start + np.stack([a, b, c], 1), start + np.stack([a, c, d], 1)]
    return ply(np.concatenate(places), np.concatenate(faces))


def aria(root: Path, change: Turn = same, gravity: tuple[float, ...] = (0.0, -9.81, 0.0)) -> None:
    """``change`` of each quaternion w x y z. A cup is carried away, and a person is no object."""
    header = "object_uid,timestamp[ns],t_wo_x[m],t_wo_y[m],t_wo_z[m],q_wo_w,q_wo_x,q_wo_y,q_wo_z"
    sides = ",".join(f"p_local_obj_{axis}{end}[m]" for axis in "xyz" for end in ("min", "max"))
    rows, boxes, instances = [header], [f"object_uid,timestamp[ns],{sides}"], {}
    cup = Thing("cup", (3.4, 2.9, 0.8), (0.1, 0.1, 0.12), 20.0)
    for number, thing in enumerate((*THINGS, cup, cup._replace(label="person", center=(1.0, 2.2, 0.9)))):
        uid = 5_000_000_000_000_001 + number
        low = np.array([-0.2, 0.0, 0.1])  # the object's frame is not the middle of its box
        size = np.array(thing.size)[[0, 2, 1]]
        turn = YUP @ thing.rotation @ YUP.T
        origin = YUP @ thing.center - turn @ (low + size / 2)
        quat = change(np.roll(quat_xyzw(turn), 1))
        for step in range(2 if thing.label in {"cup", "person"} else 1):
            time = 87551170910700 + step if thing.label in {"cup", "person"} else -1
            rows.append(f"{uid},{time}," + ",".join(f"{n:.12g}" for n in (*(origin + step), *quat)))
        ends = np.stack([low, low + size], axis=1).ravel()
        boxes.append(f"{uid},-1," + ",".join(f"{n:.12g}" for n in ends))
        kind = "human" if thing.label == "person" else "object"
        instances[str(uid)] = {"instance_id": uid, "category": thing.label, "instance_type": kind}
    put_json(root / "instances.json", instances)
    put(root / "scene_objects.csv", "\n".join(rows))
    put(root / "3d_bounding_box.csv", "\n".join(boxes))
    names = ",".join(f"gravity_{axis}_world" for axis in "xyz")
    put(root / "aria_trajectory.csv", f"{names}\n{','.join(map(str, gravity))}\n")


def house() -> tuple[dict[str, Any], dict[str, Any]]:
    """A house of ProcTHOR with the things, the lamp upon the nightstand, and its assets."""

    def xyz(values: Any) -> dict[str, float]:
        return dict(zip("xyz", map(float, values), strict=True))

    assets: dict[str, Any] = {}
    items = []
    for number, thing in enumerate(THINGS):
        kind = {"nightstand": "NightStand", "lamp": "TVStand"}.get(thing.label, thing.label.title())
        asset = {"assetId": f"{kind}_{number}", "boundingBox": xyz(np.array(thing.size)[[0, 2, 1]])}
        assets.setdefault(kind, []).append(asset)
        place, turn = np.array(thing.center)[[0, 2, 1]], (0.0, -thing.turn_deg % 360, 0.0)  # clockwise, as in Unity
        items.append(
            {"id": f"{kind}|{number}", "assetId": asset["assetId"], "position": xyz(place), "rotation": xyz(turn)}
        )
    items[1]["children"] = [items.pop()]
    rooms = [
        {"id": f"room|{i}", "floorPolygon": [xyz((x, 0, z)) for x, z in ((a, 0), (a, 3.5), (b, 3.5), (b, 0))]}
        for i, (a, b) in enumerate(((0.0, 1.9), (1.9, 4.0)))
    ]
    return {"objects": items, "rooms": rooms, "walls": [], "doors": [], "proceduralParameters": {}}, assets


def procthor(root: Path, change: Turn = same) -> None:
    told, assets = house()
    put_json(root / "house_1.json", told)
    put_json(root / "asset-database.json", assets)


def procthor_lines(root: Path, count: int = 2) -> None:
    told, assets = house()
    put(root / "val.jsonl.gz", gzip.compress("\n".join([json.dumps(told)] * count).encode()))
    put_json(root / "asset-database.json", assets)


def hdf5(numbers: Any) -> bytes:
    """A file with one array; in NumPy's format without h5py, which `test_annotations` then has read."""
    out = io.BytesIO()
    if not is_installed("h5py"):
        np.save(out, np.asarray(numbers))
        return out.getvalue()
    import h5py

    with h5py.File(out, "w") as file:
        file["dataset"] = numbers
    return out.getvalue()


INCH: Final = 0.0254
SHIFTED: Final = np.array([[1, 0, 0], [0, np.cos(0.1), -np.sin(0.1)], [0, np.sin(0.1), np.cos(0.1)]])


def hypersim(
    root: Path,
    change: Turn = same,
    things: tuple[Thing, ...] = THINGS,
    film: bool = False,
    scale: float = INCH,
    planar: bool = False,
) -> None:
    """``change`` of world_R_camera (N, 3, 3) of the keyframes; pictures are those of a lens whose axis leans by 0.1."""
    scene, matrix = root / "ai_001_001", np.eye(3)
    matrix[[0, 1, 0, 1], [0, 1, 2, 2]] = LENS
    gl = np.diag([1.0, -1.0, -1.0])
    px_from_uv = np.array([[SIZE[0] / 2, 0, SIZE[0] / 2], [0, -SIZE[1] / 2, SIZE[1] / 2], [0, 0, 1]])
    rays = 0.7 * SHIFTED @ gl @ np.linalg.inv(matrix) @ px_from_uv
    told = {"scene_name": "ai_001_001", "settings_output_img_width": float(SIZE[0])}
    told |= {"settings_output_img_height": float(SIZE[1]), "settings_units_info_meters_scale": INCH}
    told |= {f"M_cam_from_uv_{row}{column}": rays[row, column] for row in range(3) for column in range(3)}
    put(root / "metadata_camera_parameters.csv", f"{','.join(told)}\n{','.join(map(str, told.values()))}\n")
    put(scene / "_detail/metadata_scene.csv", f"parameter_name,parameter_value\nmeters_per_asset_unit,{scale}\n")
    camera = scene / "_detail/cam_00"
    pose = walk().pose
    put(camera / "camera_keyframe_positions.hdf5", hdf5(pose[:, :3, 3] / INCH))
    turns = change(pose[:, :3, :3] @ gl @ SHIFTED.T)
    put(camera / "camera_keyframe_orientations.hdf5", hdf5(turns))
    labels = {"bed": 4, "nightstand": 32, "desk": 14, "chair": 5, "lamp": 35, "floor": 2, "table": 7}
    labels |= {"refrigerator": 24, "sofa": 6}
    boxed = (*things, SHELL, Thing("chair", (1.0, 1.0, 1.0), (2.0, 0.5, 1.0), 0.0))  # the last: two, as one instance
    own = [*range(2, 2 + len(boxed)), 1 + len(boxed), -1]
    rows = [f"mesh_{'abcdefghij'[i]}" for i in range(len(boxed) - 1)] + ["chair_1", "chair_2", "mesh_z"]
    put(scene / "_detail/mesh/metadata_objects.csv", "object_name\n" + "\n".join(rows) + "\n")
    put(scene / "_detail/mesh/mesh_objects_sii.hdf5", hdf5(np.array(own)[:, None]))
    classes = [labels[thing.label] for thing in boxed]
    put(scene / "_detail/mesh/mesh_objects_si.hdf5", hdf5(np.array([*classes, classes[-1], -1])[:, None]))
    empty = [[np.inf] * 3] * 2  # of instances 0 and 1
    boxes = scene / "_detail/mesh/metadata_semantic_instance_bounding_box_object_aligned_2d"
    put(Path(f"{boxes}_positions.hdf5"), hdf5(np.array(empty + [thing.center for thing in boxed]) / INCH))
    put(Path(f"{boxes}_extents.hdf5"), hdf5(np.array(empty + [thing.size for thing in boxed]) / INCH))
    axes = [np.eye(3)] * 2 + [thing.rotation for thing in boxed]
    put(Path(f"{boxes}_orientations.hdf5"), hdf5(np.array(axes)))
    if not film:
        return
    y, x = np.mgrid[: SIZE[1], : SIZE[0]] + 0.5
    stretch = np.linalg.norm(np.stack([x, y, np.ones(x.shape)], -1) @ np.linalg.inv(matrix).T, axis=-1)
    for i in range(len(pose)):
        put(scene / f"images/scene_cam_00_final_preview/frame.{i:04d}.tonemap.jpg", color(i))
        metres = walk().depth_mm(i) / 1000 * (1 if planar else stretch)
        path = scene / f"images/scene_cam_00_geometry_hdf5/frame.{i:04d}.depth_meters.hdf5"
        put(path, hdf5(metres.astype(np.float16)))

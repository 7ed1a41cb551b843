"""Single steps at real size, each in this process."""

import contextlib
import io
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import py360convert
import trimesh
from PIL import Image
from pymavlink import mavutil
from pymavlink.DFReader import DFReader_binary
from pymavlink.dialects.v20 import ardupilotmega as mav
from pyulog import ULog
from scipy.signal import savgol_filter

from flows.cli.review import benchmark_of
from pipeline.benchmarks.embodied4c.benchmark import EMBODIED4C
from pipeline.core.parquet import read_table
from pipeline.core.schema import OrientedBox, Source, Video
from pipeline.core.tables import selected_questions
from pipeline.engine.config import build_config
from pipeline.engine.manifest import read_manifest
from pipeline.engine.stage import STORE, StageContext
from pipeline.engine.store import Store
from pipeline.formats import carla_log
from pipeline.formats.carla_log import TABLES, AddedActor, Records
from pipeline.formats.images import decoded
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.scans import CameraFrames, SceneGeometry
from pipeline.geometry.tracks import Buildings, FlightTrack
from pipeline.geometry.views import PinholeView
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive.carla import recording_bytes
from pipeline.samples.indoor.metadata import write_sample_metadata
from pipeline.stages import figures
from pipeline.worlds.drive.quality_checks import examine
from pipeline.worlds.flight.facts import FlightCamera, Landmark
from pipeline.worlds.flight.observe.motion import MotionConfig, paths
from pipeline.worlds.flight.observe.movements import segments
from pipeline.worlds.flight.observe.views import PosesAt, ViewInputs, views
from pipeline.worlds.flight.tracks.read import read_tracks
from pipeline.worlds.indoor.facts import IndoorScene, Scan, SceneObject
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from pipeline.worlds.registry import READERS, read_scene
from tests.bench.measuring import Figure, apart, peak_mib, temporary, timed
from tests.builds import build
from tests.environment import REAL_DATA
from tests.formats.logs.made_logs import dataflash, structured, tlog, ulog
from tests.geometry.test_equirect import POSES
from tests.oracles.sphere_dots import found_in, painted
from tests.worlds.flight.observe.planted import fly, logged, random_phases
from tests.worlds.indoor.readers.tiny_scans import write_arkitscenes, write_scannet, write_scannetpp

# Scans

FRAMES: Final = 500
STEP_M: Final = 0.024  # between vertices: some 50,000 of them
SCANS: Final[dict[str, Callable[[Path], Path]]] = {
    "scannet, .sens": lambda root: write_scannet(root, frames=FRAMES, step=STEP_M),
    "scannet, exported": lambda root: write_scannet(root, frames=FRAMES, step=STEP_M, exported=True),
    "scannetpp": lambda root: write_scannetpp(root, frames=FRAMES, step=STEP_M),
    "arkitscenes": lambda root: write_arkitscenes(root, frames=FRAMES, step=STEP_M),
}


def scans() -> Iterator[Figure]:
    """Each reader of scans; memory is what reading adds at its peak, measured on a run of its own."""
    for name, write in SCANS.items():
        with temporary() as root:
            write(root)
            reader = READERS[name.partition(",")[0]]
            listing_s, listing = timed(lambda reader=reader, root=root: reader.scenes(root))
            files = SceneFiles(root, listing.scenes[0])
            unify_s, scene = timed(lambda reader=reader, files=files: reader.read(files))
            geometry_s, geometry = timed(lambda reader=reader, files=files, scene=scene: reader.geometry(files, scene))
            assert geometry is not None
            size = f"{len(geometry.vertices):,} vertices, {len(geometry.frames.time_s):,} frames"
            bytes_s, raw = timed(lambda root=root: sum(len(p.read_bytes()) for p in root.rglob("*") if p.is_file()))
            yield Figure(
                f"{name}: list and stamp; baseline: reading all bytes", listing_s.cpu_s, "s", baseline=bytes_s.cpu_s
            )
            yield Figure(f"{name}: unify, {size}", unify_s.cpu_s, "s", 1.0)
            yield Figure(f"{name}: geometry", geometry_s.cpu_s, "s", 1.0)
            tracemalloc.start()
            reader.read(files)
            traced_mib = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            yield Figure(f"{name}: unify, peak; baseline: raw files", traced_mib, "MiB", baseline=raw / 2**20)


def visibility() -> Iterator[Figure]:
    """Stage observe of a scan: 500 frames, 2 a second, 160 x 120 rays; baseline: without budgets."""
    scene, geometry = _furnished_room()
    plain = None
    for what, config in {"at 2 a second alone": ObserveConfig(budgets=()), "with budgets": ObserveConfig()}.items():
        cost, seen = timed(lambda config=config: observe(scene, geometry, config))
        assert seen.facts.observation is not None
        size = f"{len(geometry.vertices):,} vertices, {seen.facts.observation.frames_examined} frames"
        yield Figure(f"observe, {size}, {what}", cost.cpu_s, "s", 6.0, baseline=plain)
        plain = cost.cpu_s


def _furnished_room() -> tuple[IndoorScene, SceneGeometry]:
    """A room of 6 x 5 x 2.6 m with 40 pieces of furniture, filmed by a camera that turns round twice."""
    rng = np.random.default_rng(0)
    meshes = [trimesh.creation.box(extents=(6, 5, 2.6)).subdivide_to_size(0.05)]
    for _ in range(40):
        extents = rng.uniform(0.3, 0.9, 3)
        piece = trimesh.creation.box(extents=extents).subdivide_to_size(0.05)
        meshes.append(piece.apply_translation([*rng.uniform(-2.3, 2.3, 2), -1.3 + extents[2] / 2]))
    offsets = np.cumsum([0, *(len(m.vertices) for m in meshes)])
    vertices = np.concatenate([m.vertices for m in meshes])
    faces = np.concatenate([m.faces + o for m, o in zip(meshes, offsets, strict=False)]).astype(np.int32)
    owner = np.repeat(np.arange(-1, 40), [len(m.vertices) for m in meshes]).astype(np.int32)
    a, zero = np.linspace(0, 4 * np.pi, FRAMES), np.zeros(FRAMES)
    forward = np.stack([np.cos(a), np.sin(a), zero - 0.2], axis=1)
    forward /= np.linalg.norm(forward, axis=1)[:, None]
    right = np.stack([np.sin(a), -np.cos(a), zero], axis=1)
    poses = np.tile(np.eye(4), (FRAMES, 1, 1))
    poses[:, :3, :3] = np.stack([right, np.cross(forward, right), forward], axis=2)
    poses[:, :3, 3] = np.stack([0.5 * np.cos(a), 0.5 * np.sin(a), zero + 0.2], axis=1)
    camera, depth = np.tile([577.0, 577, 319.5, 239.5], (FRAMES, 1)), np.full((480, 640), np.nan)
    frames = CameraFrames(np.arange(FRAMES) / 30, np.arange(FRAMES), poses, camera, (640, 480), {}, lambda _: depth)
    box = OrientedBox(center=(0, 0, 0), lengths=(1, 1, 1), axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    scene = IndoorScene(
        id="bench/room",
        dataset="bench",
        name="room",
        source=Source(reader="bench", reader_version=1, files=(), sha256=""),
        facts=Scan(objects=tuple(SceneObject(category=f"thing {i}", instance=0, box=box) for i in range(40))),
        video=Video(path="", frames=FRAMES),
    )
    return scene, SceneGeometry(vertices, faces, owner, frames)


# Flights

RATE_HZ: Final = 50
N: Final = 900 * RATE_HZ
START_S: Final = 1_700_000_000.0
T_S: Final = np.arange(N) / RATE_HZ
EAST: Final = 200 * np.cos(T_S / 60)  # circles of 200 m, a climb of 20 m and back every 5 minutes
NORTH: Final = 200 * np.sin(T_S / 60)
UP: Final = 30 + 20 * np.sin(T_S / 48)
LAT: Final = 47.4 + NORTH / 111_000
LON: Final = 8.5 + EAST / 75_000


def _write_ulog(path: Path) -> None:
    zero, valid = np.zeros(N, np.float32), np.ones(N, bool)
    velocity = dict.fromkeys(("vx", "vy", "vz"), zero)
    place = dict(zip("xyz", (part.astype(np.float32) for part in (NORTH, EAST, -UP)), strict=True))
    local = structured(
        timestamp=(T_S * 1e6 + 5e6).astype(np.uint64),
        **place,
        **velocity,
        ref_lat=np.full(N, 47.4),
        ref_lon=np.full(N, 8.5),
        ref_alt=np.full(N, 400, np.float32),
        **dict.fromkeys(("xy_valid", "z_valid", "xy_global", "z_global"), valid),
    )
    q = np.stack([np.cos(T_S / 120), 0 * T_S, 0 * T_S, np.sin(T_S / 120)], axis=-1).astype(np.float32)
    attitude = structured(timestamp=local["timestamp"], q=q)
    # A logger's usual load: some twenty topics that no track needs.
    load = structured(timestamp=local["timestamp"], data=np.zeros((N, 6), np.float32))
    topics = {("vehicle_local_position", 0): local, ("vehicle_attitude", 0): attitude}
    path.write_bytes(ulog(topics | {("sensor_combined", i): load for i in range(4)}))


def _write_dataflash(path: Path) -> None:
    time_us = (T_S * 1e6 + 5e6).astype(np.int64)
    place = {"Lat": np.round(LAT * 1e7), "Lng": np.round(LON * 1e7)}
    pos = {"TimeUS": time_us, **place, "Alt": UP + 400, "RelHomeAlt": UP}
    gps = {"TimeUS": time_us, "Status": np.full(N, 3), **place, "Alt": np.round((UP + 400) * 100)}
    zero = np.zeros(N)
    att = {"TimeUS": time_us, "Roll": zero, "Pitch": zero, "Yaw": np.round(np.degrees(T_S / 60) % 360 * 100)}
    path.write_bytes(dataflash({"POS": ("QLLff", pos), "GPS": ("QBLLe", gps), "ATT": ("QccC", att)}))


def _write_tlog(path: Path) -> None:
    """A minute, and the same again: pymavlink takes seconds to pack one."""
    minutes = N // (60 * RATE_HZ)
    sent = []
    for i in range(60 * RATE_HZ):
        lat, lon, up_mm = int(LAT[i] * 1e7), int(LON[i] * 1e7), int(UP[i] * 1e3)
        place = mav.MAVLink_global_position_int_message(20 * i, lat, lon, up_mm + 400_000, up_mm, 0, 0, 0, 0)
        turn = mav.MAVLink_attitude_message(20 * i, 0.0, 0.0, float(np.sin(T_S[i])), 0, 0, 0)
        sent += [(START_S + T_S[i], 1, place), (START_S + T_S[i], 1, turn)]
    minute = np.frombuffer(tlog(sent), np.uint8)
    records = [np.frombuffer(tlog([one]), np.uint8).size for one in sent[:2]]
    starts = np.cumsum([0] + records * (60 * RATE_HZ))[:-1]
    copies = []
    for number in range(minutes):
        copy = minute.copy()
        times = np.array([(START_S + 60 * number + T_S[i // 2]) * 1e6 for i in range(len(starts))]).astype(">u8")
        copy[starts[:, None] + np.arange(8)] = times.view(np.uint8).reshape(-1, 8)
        copies.append(copy.tobytes())
    path.write_bytes(b"".join(copies))


def _write_srt(path: Path) -> None:
    cues = []
    for i, t in enumerate(T_S):
        begin, end = (
            f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d},{ms % 1000:03d}"
            for ms in (round(t * 1000), round(t * 1000) + 1000 // RATE_HZ)
        )
        cues.append(
            f'{i + 1}\n{begin} --> {end}\n<font size="28">FrameCnt: {i + 1}, DiffTime: 20ms\n'
            f"[latitude: {LAT[i]:.6f}] [longitude: {LON[i]:.6f}] "
            f"[rel_alt: {UP[i]:.3f} abs_alt: {UP[i] + 400:.3f}]</font>\n\n"
        )
    path.write_text("".join(cues), encoding="utf-8")


def _write_csv(path: Path) -> None:
    frame = {
        "time(millisecond)": np.round(T_S * 1000).astype(int),
        "latitude": np.round(LAT, 8),
        "longitude": np.round(LON, 8),
        "height_above_takeoff(feet)": np.round(UP / 0.3048, 2),
        "compass_heading(degrees)": np.round(np.degrees(T_S / 60) % 360, 1),
        "pitch(degrees)": np.zeros(N),
        "roll(degrees)": np.zeros(N),
        "gimbal_pitch(degrees)": np.full(N, -30.0),
    }
    pd.DataFrame(frame).to_csv(path, index=False)


def _all_of(connection: Any, *kinds: str) -> None:
    while connection.recv_match(type=[*kinds]) is not None:
        pass
    connection.close()


# Name of the file, how to write it, and what the library of the format does with it.
LOGS: Final[dict[str, tuple[Callable[[Path], None], str, Callable[[Path], object]]]] = {
    "log.ulg": (_write_ulog, "pyulog", lambda path: ULog(str(path), ["vehicle_local_position", "vehicle_attitude"])),
    "log.bin": (_write_dataflash, "pymavlink", lambda path: _all_of(DFReader_binary(str(path)), "POS", "GPS", "ATT")),
    "log.tlog": (
        _write_tlog,
        "pymavlink",
        lambda path: _all_of(mavutil.mavlink_connection(str(path)), "GLOBAL_POSITION_INT", "ATTITUDE"),
    ),
    "log.srt": (_write_srt, "splitting lines", lambda path: path.read_text(encoding="utf-8").split("\n")),
    "log.csv": (_write_csv, "pandas", pd.read_csv),
}


def logs() -> Iterator[Figure]:
    """Flight logs to tracks, 15 minutes at 50 Hz; baseline: the format's library decodes the file."""
    for name, (write, library, decode) in LOGS.items():
        with temporary() as folder:
            path = folder / name
            write(path)
            cost, ((_, assembled),) = timed(lambda path=path: read_tracks(path), 2)
            with contextlib.redirect_stdout(io.StringIO()):
                theirs = timed(lambda path=path, decode=decode: decode(path))[0]
            size = f"{path.stat().st_size / 2**20:.0f} MiB, {len(assembled.track):,} samples kept"
            yield Figure(f"{name} to track, {size}; baseline: {library}", cost.cpu_s, "s", 1.25, baseline=theirs.cpu_s)


def motion() -> Iterator[Figure]:
    """Stage observe of a flight: 15 minutes at 50 Hz to segments, beside one smoothing, and views of 20 landmarks."""
    rng = np.random.default_rng(0)
    phases = random_phases(rng, 180)
    flown, _ = fly(phases, list(rng.uniform(0.5, 1, len(phases) - 1)))
    log = logged(flown, 50.0, rng, over_ground_m=0.3, height_m=0.2)
    track: FlightTrack = replace(log, **{name: value[:N] for name, value in vars(log).items() if value is not None})
    config = MotionConfig()
    assert len(track) == N
    cost, (found, fits) = timed(lambda: paths(track, config))
    told_s, moved = timed(lambda: [s for path in found for s in segments(path, fits, config)])
    smoothing, _ = timed(lambda: savgol_filter(track.enu_m, 51, 2, axis=0))
    seconds = cost.cpu_s + told_s.cpu_s
    what = f"15 minutes at 50 Hz to {len(moved)} segments; baseline: smoothing them"
    yield Figure(what, seconds, "s", 0.5, baseline=smoothing.cpu_s)
    rng = np.random.default_rng(1)
    path = found[0]
    spread = path.enu_m[rng.integers(0, len(path), 500), :2] + rng.uniform(-150, 150, (500, 2))
    square = np.array([[-8.0, -8], [8, -8], [8, 8], [-8, 8]])
    city = Buildings(tuple(square + c for c in spread), np.full(500, -20.0), rng.uniform(0, 40, 500))
    landmarks = [
        Landmark(name=f"place {i}", center=(float(x), float(y)), radius_m=11.3, base_m=-20.0, top_m=float(top))
        for i, ((x, y), top) in enumerate(zip(spread[:20], city.top_m[:20], strict=True))
    ]
    camera = FlightCamera(horizontal_fov_deg=80, width=1280, height=720)
    level, part = np.full(len(path), -20.0), np.zeros(len(path), dtype=np.intp)
    poses = PosesAt(path.t_s, path.enu_m, path.heading_deg, level, part)
    cost, seen = timed(lambda: views(poses, landmarks, ViewInputs(camera, 0.0, city, config)))
    yield Figure(f"views of {len(landmarks)} landmarks among 500 buildings, {len(seen)} seen", cost.cpu_s, "s", 4.0)


# Drives


def drives(*minutes: str) -> Iterator[Figure]:
    """From the file to every candidate: an Argoverse log of 12,078 boxes; minutes of CARLA, 100 actors at 20 Hz."""
    if (REAL_DATA / "driving").is_dir():
        yield from apart(_drive, "Argoverse 2, 12,078 boxes", "argoverse2", REAL_DATA / "driving" / "av2", 2.0)
    for length in map(int, minutes or ("2",)):
        with temporary() as root:
            size = (root / "long.log").write_bytes(_recording(length)) / 2**20
            yield from apart(_drive, f"CARLA, {length} minutes, {size:.0f} MiB", "carla", root, 2.0 + length)


def _drive(name: str, dataset: str, root: Path, most_s: float) -> list[Figure]:
    reader = READERS[dataset]
    (ref,) = reader.scenes(root).scenes
    read, scene = timed(lambda: reader.read(SceneFiles(root, ref)))
    doubting, doubts = timed(lambda: examine(scene))
    view = EMBODIED4C.view(
        scene.model_copy(update={"findings": (*scene.findings, *doubts)}), EMBODIED4C.profiles["strict"]
    )
    asking, count = timed(lambda: sum(len(task.candidates(view)) for task in EMBODIED4C.tasks))
    seconds, peak = read.cpu_s + doubting.cpu_s + asking.cpu_s, peak_mib()
    raw = scene.model_dump_json().encode()
    again, same = timed(lambda: read_scene(raw))
    assert same == scene
    return [
        Figure(f"{name}: to {count} candidates; baseline: reading the file", seconds, "s", most_s, baseline=read.cpu_s),
        Figure(f"{name}: peak", peak, "MiB", 1024),
        Figure(f"{name}: read from {len(raw) / 2**20:.1f} MiB of JSON", again.cpu_s, "s", baseline=read.cpu_s),
    ]


def _recording(minutes: float, actors: int = 100, rate_hz: int = 20) -> bytes:
    """A recording in which everybody drives in circles around one middle, 4 m apart, one of them our car."""
    times_s = np.arange(round(minutes * 60 * rate_hz)) / rate_hz
    ids = np.arange(1, actors + 1)
    radius, speed = 20.0 + 4 * ids, 5.0 + ids % 10
    angle = times_s[:, None] * speed / radius
    tables: dict[int, Records] = {}
    for kind in (carla_log.POSITION, carla_log.KINEMATICS, carla_log.VEHICLE, carla_log.LAMPS, carla_log.BOX):
        tables[kind] = np.zeros((len(times_s), actors), dtype=TABLES[kind])
        tables[kind]["id"] = ids
    place = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=-1)
    tables[carla_log.POSITION]["place"] = 100 * place
    tables[carla_log.POSITION]["rotation"][..., 2] = np.degrees(angle) + 90
    tables[carla_log.KINEMATICS]["velocity"][..., 0] = -speed * np.sin(angle)
    tables[carla_log.KINEMATICS]["velocity"][..., 1] = speed * np.cos(angle)
    tables[carla_log.VEHICLE]["throttle"] = np.abs(np.sin(angle))
    tables[carla_log.LAMPS]["lit"] = np.where(np.sin(angle) > 0.9, 8, 0)
    tables[carla_log.BOX]["extent"] = (220.0, 90.0, 75.0)
    kinds = ("vehicle.tesla.model3", "vehicle.carlamotors.carlacola", "vehicle.volkswagen.t2", "vehicle.bh.crossbike")
    roles, nowhere = ["hero", *["autopilot"] * (actors - 1)], (0.0, 0.0, 0.0)
    added = [
        AddedActor(0, number, 1, nowhere, nowhere, kinds[number % len(kinds)], {"role_name": role})
        for number, role in zip(ids.tolist(), roles, strict=True)
    ]
    return recording_bytes("Town", times_s, added, {kind: list(table) for kind, table in tables.items()})


# Pictures

AROUND: Final = tuple(PinholeView(yaw_deg=yaw) for yaw in range(-180, 180, 30))


def spheres(width: str = "4096") -> Iterator[Figure]:
    """Views of a panorama of so many columns: where their pixels look, and what one takes, beside py360convert."""
    color = painted(int(width), int(width) // 2)
    sphere = Sphere(Image.fromarray(color))

    def other(view: PinholeView) -> Any:
        fov = (view.fov_deg, float(np.degrees(2 * np.arctan(view.height / 2 / view.focal_px))))
        return py360convert.e2p(color, fov, view.yaw_deg, view.pitch_deg, (view.height, view.width))

    off = [max(found_in(view, render(view)).worst_deg for view in POSES) for render in (sphere.render, other)]
    yield Figure(f"dots of a grid in {len(POSES)} views are off by at most", off[0], "degrees", 0.003, baseline=off[1])

    def once(render: Callable[[PinholeView], Any], shown: tuple[PinholeView, ...]) -> float:
        return 1e3 * timed(lambda: [render(view) for view in shown], 2)[0].cpu_s / len(shown)

    theirs = once(other, AROUND[:3])
    yield Figure(
        "640 x 480 at the horizon; baseline: py360convert", once(sphere.render, AROUND), "ms", 15.0, baseline=theirs
    )
    yield Figure(f"{len(POSES)} tilts, known by then", once(sphere.render, POSES), "ms", baseline=theirs)
    raw = io.BytesIO()
    Image.fromarray(color).save(raw, "JPEG", quality=90)
    read, image = timed(lambda: decoded(raw.getvalue(), color.shape[0] * color.shape[1]))
    assert image is not None
    fresh = Sphere(image)
    viewed, _ = timed(lambda: [fresh.render(view) for view in AROUND])
    seconds = read.cpu_s + viewed.cpu_s
    yield Figure(f"{len(AROUND)} views from the file; baseline: decoding", seconds, "s", baseline=read.cpu_s)


def drawings(*builds: str) -> Iterator[Figure]:
    """Drawings of a thousand questions: of sample metadata, and of builds that are there, with pictures of videos.

    Two cores share the work scene by scene, so a build takes about half of the processor's seconds.
    """
    with temporary() as folder:
        write_sample_metadata(folder / "meta")
        build(folder / "meta", folder / "out")
        for place, name in ((folder / "out", "vsi"), *((Path(one), benchmark_of(Path(one))) for one in builds)):
            plain = None
            for png in ("video", "all"):
                cost, count = timed(lambda place=place, name=name, png=png: _drawn(place, name, png))
                what = f"{place.name}: 1,000 of {name}, PNGs of {'all' if png == 'all' else 'those that show a video'}"
                yield Figure(what, cost.cpu_s / count * 1e3, "s", 120.0, baseline=plain)
                plain = cost.cpu_s / count * 1e3


def _drawn(folder: Path, benchmark: str, png: str) -> int:
    """Draws all questions of a build again."""
    outputs, store, count = read_manifest(folder).results(), Store(folder / STORE), 0
    settings = figures.settings(build_config({"build": benchmark, "benchmark": benchmark, "png": png}))
    for unit, selected in outputs["select"].items():
        results = {stage: ((unit, outputs[stage][unit]),) for stage in ("describe", "video") if stage in outputs}
        results.setdefault("describe", ((unit, outputs["observe"][unit]),))
        results["select"] = ((unit, selected),)
        figures.run(StageContext(unit, settings, folder, results))
        count += selected_questions(read_table(store.get(selected))).num_rows
    return count

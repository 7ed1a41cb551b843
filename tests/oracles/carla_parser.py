"""Recordings of CARLA read packet by packet with `struct` alone, to hold our reader against; in Unreal's frame."""

import struct
from typing import NamedTuple

Place = tuple[float, float, float, float, float, float]  # centimetres, degrees: x, y, z, roll, pitch, yaw


class Parsed(NamedTuple):
    elapsed_s: list[float]
    added: dict[int, str]  # id -> blueprint
    places: list[dict[int, Place]]  # by frame
    velocities: list[dict[int, tuple[float, float, float]]]  # by frame


class Cursor:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def take(self, form: str) -> tuple:  # type: ignore[type-arg]
        values = struct.unpack_from("<" + form, self.raw, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def text(self) -> str:
        (length,) = self.take("H")
        self.at += length
        return self.raw[self.at - length : self.at].decode()


def parse(raw: bytes) -> Parsed:
    cursor, found = Cursor(raw), Parsed([], {}, [], [])
    assert cursor.take("H") == (1,)
    assert cursor.text() == "CARLA_RECORDER"
    cursor.take("q")
    cursor.text()
    while cursor.at < len(raw):
        kind, size = cursor.take("BI")
        end = cursor.at + size
        if kind == 0:
            found.elapsed_s.append(cursor.take("Qdd")[2])
            found.places.append({})
            found.velocities.append({})
        elif kind == 2:
            for _ in range(cursor.take("H")[0]):
                number = cursor.take("IB6fI")[0]
                found.added[number] = cursor.text()
                for _ in range(cursor.take("H")[0]):
                    cursor.take("B")
                    cursor.text()
                    cursor.text()
        elif kind == 6:
            for _ in range(cursor.take("H")[0]):
                number, *place = cursor.take("I6f")
                found.places[-1][number] = tuple(place)
        elif kind == 12:
            for _ in range(cursor.take("H")[0]):
                number, *six = cursor.take("I6f")
                found.velocities[-1][number] = tuple(six[:3])
        else:
            cursor.at = end
        assert cursor.at == end, f"packet {kind}"
    return found

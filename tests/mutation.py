"""Seeded damage to files: the same inputs in every run, and none of them fatal to a reader."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Iterator, Sequence

# What has meaning to some reader: numbers out of range, marks of CSV, JSON and XML, and words of formats.
TOKENS = (
    b"0", b"-1", b"1e308", b"1e999", b"NaN", b"Infinity", b"nan", b"null", b"true", b'""', b'"', b"'",
    b",", b";", b"\t", b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"[", b"]", b"{", b"}",
    b"[[", b"]]", b":", b"\\", b"\\u0000", b"\\ud800", b"181", b"-181", b"91", b"1e-320", b"9" * 30,
    b"99999999999999999999999", b"Polygon", b"MultiPolygon", b"Point", b"GeometryCollection", b"Feature",
    b'"type"', b'"crs"', b"EPSG:27700", b"EPSG:0", b"</row>", b"<row r='99999999'>", b"<c r='XFD1'>",
    b"&amp;", b"&#0;", b"<![CDATA[", b"<!DOCTYPE x>", b"D", b"C", b"E1 0AA", b"lat", b"lon", b"value",
    b"-", b"+", b"=1+1", b"\xe9", b" ", b"(", b"EPSG", b"\x1f\x8b", b"PK\x03\x04",
)  # fmt: skip


def damaged(data: bytes, chance: random.Random) -> bytes:
    """One to six random changes: bytes flipped, set, cut out, doubled or moved, and tokens put in."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        if not made:
            made += chance.choice(TOKENS)
        at = chance.randrange(len(made))
        size = min(chance.choice((1, 1, 2, 4, 8, 40, 400)), len(made) - at)
        action = chance.randrange(8)
        if action == 0:
            made[at] ^= 1 << chance.randrange(8)
        elif action == 1:
            made[at] = chance.randrange(256)
        elif action == 2:
            del made[at : at + size]
        elif action == 3:
            made[at:at] = made[at : at + size]
        elif action == 4:
            part = bytes(made[at : at + size])
            del made[at : at + size]
            place = chance.randrange(len(made) + 1)
            made[place:place] = part
        elif action == 5:
            del made[at + 1 :]
        elif action == 6:
            made[at:at] = chance.choice(TOKENS)
        else:
            made[at : at + size] = chance.choice(TOKENS)
    return bytes(made)


def repacked(data: bytes, chance: random.Random) -> bytes:
    """A zip file of which one member is damaged before it is packed again."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice(list(members))
    members[name] = damaged(members[name], chance)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in members.items():
            archive.writestr(zipfile.ZipInfo(each), content)
    return held.getvalue()


def mutants(seeds: Sequence[bytes], count: int, *, inside_zip: bool = False) -> Iterator[bytes]:
    """`count` damaged copies of the seeds in turn; of zip files every other one is damaged inside."""
    chance = random.Random(20)
    for number in range(count):
        seed = seeds[number % len(seeds)]
        if inside_zip and number % 2:
            yield repacked(seed, chance)
        else:
            yield damaged(seed, chance)

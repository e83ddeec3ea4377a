"""What lies in a bundle: names of its files, how large each may be, and their checksums."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from workflow.bundle.errors import BundleError

CELLS = "cells.geojson"
REGIONS = "regions.geojson"
BOUNDARY = "boundary.geojson"
PATHS = "paths.parquet"
STATEMENT = "statement.json"
SCHEMA = "statement-1.schema.json"
REGISTRY = "registry.yaml"
LABEL = "label.html"
MAP = "map.png"
REDRAW = "redraw.py"
README = "README.txt"
ATTRIBUTION = "ATTRIBUTION.txt"
SUMS = "SHA256SUMS"

MEGABYTE = 1_000_000
# Largest accepted size of each file, bytes: generous for 200,000 cells, small enough to be read into memory.
MAX_BYTES: dict[str, int] = {
    CELLS: 300 * MEGABYTE,
    REGIONS: 300 * MEGABYTE,
    BOUNDARY: 50 * MEGABYTE,
    PATHS: 400 * MEGABYTE,
    STATEMENT: 2 * MEGABYTE,
    SCHEMA: MEGABYTE,
    REGISTRY: MEGABYTE,
    LABEL: 10 * MEGABYTE,
    MAP: 30 * MEGABYTE,
    REDRAW: MEGABYTE,
    README: MEGABYTE,
    ATTRIBUTION: MEGABYTE,
    SUMS: MEGABYTE,
}
FILES: tuple[str, ...] = tuple(MAX_BYTES)
MAX_TOTAL_BYTES = 600 * MEGABYTE

_SUM_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._-]{0,63})")


def sums_text(contents: Mapping[str, bytes]) -> str:
    """`SHA256SUMS` for `sha256sum -c`: one line a file, sorted by name, itself left out."""
    lines = [f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents)]
    return "".join(lines)


def check_sums(contents: Mapping[str, bytes]) -> None:
    """Compare every file with `SHA256SUMS`; BundleError names the first that differs, lacks or is extra."""
    stated: dict[str, str] = {}
    for line in contents[SUMS].decode("utf-8", "replace").splitlines():
        match = _SUM_LINE.fullmatch(line)
        if match is None or match[2] in stated:
            raise BundleError(f"{SUMS} is damaged: one of its lines is not a checksum and a file name.")
        stated[match[2]] = match[1]
    present = set(contents) - {SUMS}
    if missing := sorted(set(stated) - present):
        raise BundleError(f"The bundle is incomplete: {missing[0]} is listed in {SUMS} but not there.")
    if extra := sorted(present - set(stated)):
        raise BundleError(f"The bundle has a file that {SUMS} does not list: {extra[0]}.")
    for name in sorted(stated):
        if hashlib.sha256(contents[name]).hexdigest() != stated[name]:
            raise BundleError(f"{name} was changed after the bundle was made: its checksum differs.")

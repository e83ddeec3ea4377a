"""What lies in a bundle: names of its files, how large each may be, and their checksums."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping

from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.exports.registry import EXPORTS

CELLS = "cells.geojson"
REGIONS = "regions.geojson"
BOUNDARY = "boundary.geojson"
PATHS = "paths.parquet"
DRAWS = "draws.parquet"
RELEASED_SUMS = "sums.parquet"
LAYERS = "layers.geojson"
PUBLIC_FIELD = "public_field.csv"
COVARIATES = "covariates.csv"
STATEMENT = "statement.json"
SCHEMA = "statement-2.schema.json"
REGISTRY = "registry.yaml"  # in bundles of earlier versions
LABEL = "label.html"
MAP = "map.png"
PAGE = "map.html"
REDRAW = "redraw.py"
README = "README.txt"
ATTRIBUTION = "ATTRIBUTION.txt"
SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
_AGAIN = "get the bundle again from where it was published"

MEGABYTE = 1_000_000
# Largest accepted size of each file, bytes: generous for 200,000 cells, small enough to be read into memory.
MAX_BYTES: dict[str, int] = {
    CELLS: 300 * MEGABYTE,
    REGIONS: 300 * MEGABYTE,
    BOUNDARY: 50 * MEGABYTE,
    PATHS: 400 * MEGABYTE,
    DRAWS: 200 * MEGABYTE,
    RELEASED_SUMS: 20 * MEGABYTE,
    PUBLIC_FIELD: 20 * MEGABYTE,
    COVARIATES: 60 * MEGABYTE,
    LAYERS: 3 * MEGABYTE,
    STATEMENT: 2 * MEGABYTE,
    SCHEMA: MEGABYTE,
    REGISTRY: MEGABYTE,
    LABEL: 10 * MEGABYTE,
    MAP: 30 * MEGABYTE,
    PAGE: 3 * MEGABYTE,
    REDRAW: MEGABYTE,
    README: MEGABYTE,
    ATTRIBUTION: MEGABYTE,
    SUMS: MEGABYTE,
    SIGNATURE: 1_000,
}
# A file of a format that a package adds (`hexcursion.exports`). Readers without that package pass it over.
# Its name ends as files of data do: a bundle lies on web servers, and none of these is run by a browser.
_ADDED = re.compile(
    r"[a-z0-9][a-z0-9._-]{0,55}\.(?:arrow|csv|fgb|geojson|gpkg|json|jsonl|nc|parquet|tif|tsv|txt)"
)
_MOST_ADDED, _MOST_ADDED_BYTES = 20, 60 * MEGABYTE
_NAMES_IN_SMALL = frozenset(name.lower() for name in MAX_BYTES)  # the same files on some machines
# These may be left out; a file that is neither required nor optional is refused.
_SOME = {DRAWS, RELEASED_SUMS, PUBLIC_FIELD, COVARIATES, LAYERS, PAGE, REGISTRY, SIGNATURE}
REQUIRED = frozenset(MAX_BYTES) - _SOME


def optional_files() -> frozenset[str]:
    """The files that a bundle may have besides."""
    return frozenset(_SOME | set(EXPORTS.own))


def added_files(names: Collection[str]) -> list[str]:
    """The files of formats that the program itself does not write, by name; the statement lists them."""
    return sorted(set(names) - set(MAX_BYTES) - set(EXPORTS.own))


def may_be_added(name: str) -> bool:
    """Whether a package may add a file of that name: it ends as files of data do, and is none of ours."""
    return _ADDED.fullmatch(name) is not None and name not in _NAMES_IN_SMALL


def most_bytes(name: str) -> int | None:
    """Largest accepted size of a file, bytes; None for a file that no bundle may have."""
    if name in EXPORTS:
        return EXPORTS[name].most_bytes
    return MAX_BYTES.get(name, _MOST_ADDED_BYTES if may_be_added(name) else None)


def most_files() -> int:
    """More files than this no bundle has."""
    return len(MAX_BYTES) + len(EXPORTS.own) + _MOST_ADDED


MAX_TOTAL_BYTES = 600 * MEGABYTE

_SUM_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._-]{0,63})")


def sums_text(contents: Mapping[str, bytes]) -> str:
    """`SHA256SUMS` for `sha256sum -c`: one line a file, sorted by name, itself left out."""
    lines = [f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents)]
    return "".join(lines)


def check_names(names: Collection[str]) -> None:
    """Raise BundleError if a file is missing, or one is there that no bundle has."""
    if missing := sorted(REQUIRED - set(names)):
        raise BundleError(f"This is not a complete bundle: it has no {missing[0]}.")
    added = [name for name in added_files(names) if may_be_added(name)]
    if strange := sorted(set(names) - REQUIRED - optional_files() - set(added)):
        raise BundleError(f"A bundle has no file named {strange[0]!r}.")


def check_added(names: Collection[str], listed: Collection[str]) -> None:
    """Raise BundleError, naming the first file of another format that is not listed, or is listed and not
    there."""
    for name in sorted(set(added_files(names)) ^ set(listed)):
        why = "is listed by the privacy statement and not there" if name in listed else "is not listed there"
        raise BundleError(f"The privacy statement and the bundle disagree about {name}: it {why}; {_AGAIN}.")


def check_sums(contents: Mapping[str, bytes]) -> None:
    """Raise BundleError, naming the first file that differs from `SHA256SUMS`, is missing or not listed. The
    signature of that file itself is left out."""
    stated: dict[str, str] = {}
    for line in contents[SUMS].decode("utf-8", "replace").splitlines():
        match = _SUM_LINE.fullmatch(line)
        if match is None or match[2] in stated:
            raise BundleError(
                f"{SUMS} is damaged: one of its lines is not a checksum and a file name; {_AGAIN}."
            )
        stated[match[2]] = match[1]
    present = set(contents) - {SUMS, SIGNATURE}
    if missing := sorted(set(stated) - present):
        raise BundleError(
            f"The bundle is incomplete: {missing[0]} is listed in {SUMS} but not there; {_AGAIN}."
        )
    if extra := sorted(present - set(stated)):
        raise BundleError(f"The bundle has a file that {SUMS} does not list: {extra[0]}; {_AGAIN}.")
    for name in sorted(stated):
        if hashlib.sha256(contents[name]).hexdigest() != stated[name]:
            raise BundleError(
                f"{name} was changed after the bundle was made, as its checksum differs: {_AGAIN}."
            )

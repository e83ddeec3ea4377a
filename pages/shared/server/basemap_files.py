"""Basemap files: how browsers read one in parts, at an address that says nothing about where it lies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route
from streamlit import config

from geo.basemap import SUFFIX, read_basemap

VARIABLE = "HEXCURSION_BASEMAP"
FOLDER = "basemap"
_NAMES: dict[tuple[Path, int, int], str] = {}  # by chance: nobody can tell an address from a path
_OFFERED: dict[str, Path] = {}


def check_the_operators() -> None:
    """Try the file in HEXCURSION_BASEMAP, where one is named; `GeoError` with one sentence for a bad one."""
    if named := os.environ.get(VARIABLE):
        read_basemap(named)


def offered(path: Path) -> str:
    """The address at which browsers read a file in parts; it says nothing about where the file lies."""
    place = path.resolve()
    facts = place.stat()
    name = _NAMES.setdefault((place, facts.st_size, facts.st_mtime_ns), uuid4().hex)
    _OFFERED[name] = place
    return f"{_base()}/{FOLDER}/{name}.{SUFFIX}"


def route() -> Route:
    """Where the server answers for the files offered; whole or in parts (HTTP ranges)."""
    return Route(f"{_base()}/{FOLDER}/{{name}}.{SUFFIX}", _answer, methods=["GET", "HEAD"])


async def _answer(request: Request) -> Any:
    path = _OFFERED.get(request.path_params["name"])
    if path is None or not path.is_file():
        raise HTTPException(404)
    # Never compressed on the way: a part of a file has no meaning inside a compressed answer.
    headers = {"cache-control": "private, max-age=3600", "content-encoding": "identity"}
    return FileResponse(path, media_type="application/vnd.pmtiles", headers=headers)


def _base() -> str:
    stripped = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{stripped}" if stripped else ""

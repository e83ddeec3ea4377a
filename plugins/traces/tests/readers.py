"""The readers of trips and readings, for the house's tests of hostile files and its fuzzer."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hexcursion_traces.loading import load_traces
from hexcursion_traces.readings import read_readings
from tests.readers.hostile import at_a_path

CORPUS = Path(__file__).parent / "corpus"
READERS: dict[str, Callable[[bytes], Any]] = {
    "traces": load_traces,
    "readings": at_a_path(read_readings, ".csv"),
}


def hostile(put: Callable[[str, str, bytes, str], None]) -> None:
    """Put small files that unfold to large ones: name, reader, content, part of the sentence."""
    points = gzip.compress(b"<gpx>" + b"<a/>" * 20_000_000, 9)
    put("elements.gpx.gz", "traces", points, "records: split it into smaller files")
    rows = gzip.compress(b"time,lat,lon\n" + b"\n" * 20_000_000)
    put("rows.csv.gz", "traces", rows, "split it into smaller")
    lists = gzip.compress(b'{"type":"FeatureCollection","a":[' + b"[]," * 8_000_000)
    put("lists.json.gz", "traces", lists, "split it into smaller")
    put("entities.gpx", "traces", b'<!DOCTYPE a [<!ENTITY a "b">]><gpx>&a;</gpx>', "declares entities")

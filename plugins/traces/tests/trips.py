"""A trip for tests: an hour at one record per 30 s, ten minutes of it at one place, written as GPX."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
STOP = "2026-05-01T12:25:00/2026-05-01T12:34:30"


def write_trip(folder: Path, records: int = 120) -> Path:
    """The trip as a GPX file; records 50 to 69 are the stop."""
    rng = np.random.default_rng(1)
    x = y = 0.0
    points = []
    for record in range(records):
        if not 50 <= record < 70:
            x, y = x + 40.0, y + 20.0 * float(np.sin(record / 10.0))
        lat, lon = 52.5 + (y + 3.0 * rng.normal()) / 111_000.0, 13.4 + (x + 3.0 * rng.normal()) / 67_700.0
        time = (START + timedelta(seconds=30 * record)).isoformat()
        points.append(f'<trkpt lat="{lat:.6f}" lon="{lon:.6f}"><time>{time}</time></trkpt>')
    path = folder / "trip.gpx"
    path.write_text(
        '<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>Trip</name><trkseg>'
        + "".join(points)
        + "</trkseg></trk></gpx>"
    )
    return path

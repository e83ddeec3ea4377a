"""GPX as it is written, to the letter, and read again by the loader."""

from __future__ import annotations

from hexcursion_traces.loading import load_traces
from hexcursion_traces.loading.gpx import track_gpx

WRITTEN = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="Us &amp; co">'
    "<trk><name>A &lt; B</name><trkseg>"
    '<trkpt lat="52.123457" lon="-0.000001"><time>2026-05-01T12:00:00Z</time></trkpt>'
    '<trkpt lat="-1.500000" lon="179.999999"><time>2026-05-01T12:00:30Z</time></trkpt></trkseg></trk></gpx>\n'
)


def test_a_track_to_the_letter_and_back() -> None:
    records = [
        ("2026-05-01T12:00:00Z", -0.0000006, 52.1234567),
        ("2026-05-01T12:00:30Z", 179.9999993, -1.5),
    ]
    made = track_gpx("Us & co", "A < B", records)
    assert made == WRITTEN
    (trace,), _ = load_traces(made.encode())
    assert trace.name == "A < B"
    assert trace.longitude.tolist() == [-0.000001, 179.999999]
    assert trace.latitude.tolist() == [52.123457, -1.5]
    assert trace.time.tolist() == [1_777_636_800.0, 1_777_636_830.0]

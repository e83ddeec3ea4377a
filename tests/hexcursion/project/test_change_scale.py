"""The public scale of a change, and cells found by their spots."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import Observations
from geo import domain_from_bbox
from hexcursion.project.load import change_response
from hexcursion.project.records import located
from hexcursion.settings import ReleaseSettings, SourceSettings


def settings(**changes: object) -> ReleaseSettings:
    base: dict[str, object] = {
        "data": SourceSettings("s.csv", value="no2", x="lon", y="lat"),
        "threshold": 2.0,
        "bbox": (-0.12, 51.49, -0.05, 51.53),
        "transform": "identity",
    }
    return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spread", "changes", "centre", "clip"),
    [
        (1.0, {}, 0.0, 2.5),
        (3.0, {}, 0.0, 3.0),
        (1.23456, {"threshold": 0.1}, 0.0, 1.235),
        (1.0, {"centre": 1.0}, 1.0, 1.25),
        (0.0, {"threshold": 0.0}, 0.0, 1e-6),
        (1.0, {"centre": 1.0, "clip": 7.0}, 1.0, 7.0),
        (0.1, {"threshold": np.e, "transform": "log"}, 0.0, 1.25),
    ],
)
def test_a_change_is_clipped_beyond_its_spread_and_a_quarter_beyond_the_threshold(
    spread: float, changes: dict[str, object], centre: float, clip: float
) -> None:
    made = change_response(settings(**changes), spread)
    assert (made.centre, made.clip) == (centre, pytest.approx(clip, rel=1e-9))
    given = {"centre", "clip"} <= changes.keys()
    assert made.origin == (
        "given by the curator as public" if given else "from the reference data around their own map"
    )


def test_rows_of_a_spot_have_its_cell_the_first_row_included() -> None:
    """Two spots, of which the first has the first row alone; a third lies outside."""
    domain = domain_from_bbox(-0.06, 51.49, -0.04, 51.505, 8)
    (a, b), out = domain.centres_lonlat[:2], (5.0, 5.0)
    places = np.array([b, a, out, a])
    made = Observations(
        places[:, 0], places[:, 1], "EPSG:4326", np.arange(4.0), "ppb", "reading", "made",
        spot=np.array([0, 1, 2, 1], dtype=np.int32),
    )  # fmt: skip
    index, sure = located(made, domain)
    assert index.tolist() == [1, 0, -1, 0]
    assert sure is None

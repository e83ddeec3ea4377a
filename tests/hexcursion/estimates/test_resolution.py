"""The resolution that is proposed suits area and records, and tells nothing that neighbours differ in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shapely.geometry import MultiPolygon, box

from geo import domain_from_bbox
from geo.domains.hexagons import outlines
from hexcursion.cli.main import build_parser
from hexcursion.cli.options import settings_from_options, with_resolution
from hexcursion.estimates.resolution import around, propose

CITY = MultiPolygon([box(-0.5, 51.3, 0.3, 51.7)])
COUNTRY = MultiPolygon([box(5.0, 47.0, 15.0, 55.0)])


@pytest.mark.parametrize(
    ("shape", "records", "resolution", "cells"),
    [
        (CITY, 0, 7, 478),
        (CITY, 1_000, 7, 478),
        (CITY, 12_000, 8, 3_348),
        (CITY, 10_000_000, 9, 23_434),
        (COUNTRY, 132, 4, 351),
        (COUNTRY, 15_000, 5, 2_459),
        (MultiPolygon([box(0.0, 51.5, 0.001, 51.501)]), 100_000, 10, 0.511),
    ],
)
def test_hexagons_are_a_third_of_the_records_but_neither_few_nor_very_many(
    shape: MultiPolygon, records: int, resolution: int, cells: float
) -> None:
    found = propose(shape, records)
    assert (found.resolution, found.records) == (resolution, records)
    assert found.cells == pytest.approx(cells, rel=0.01)


def test_every_hexagon_that_may_be_released_lies_around_the_area() -> None:
    bounds = (179.6, -17.2, -179.7, -16.6)  # beyond the date line
    shape = domain_from_bbox(*bounds, 6, crosses_date_line=True).region
    coarsest = propose(shape, 0).resolution
    for resolution in (coarsest, coarsest + 1):
        domain = domain_from_bbox(*bounds, resolution, crosses_date_line=True)
        corners = np.concatenate([ring for rings in outlines(domain.cells) for ring in rings])
        lon = (corners[:, 0] + 180.0) % 360.0 - 180.0
        assert around(shape, lon, corners[:, 1]).all()
    far = np.array([[178.0, -17.0], [-178.0, -17.0], [180.0, -18.0], [0.0, 0.0]])
    assert not around(shape, *far.T).any()


def test_the_command_line_proposes_only_where_nobody_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{at % 30 / 40 - 0.45},{51.31 + at // 30 / 80},{at},s{at % 4}" for at in range(900)]
    path.write_text("\n".join(["x,y,v,who", *rows, "9,9,9,s9"]) + "\n", encoding="utf-8")

    def chosen(*words: str) -> tuple[int, str]:
        options = build_parser().parse_args(
            ["release", "--data", str(path), "--value", "v", "--lon", "x", "--lat", "y", "--threshold", "9",
             "--value-unit", "u", "--bbox", "-0.5", "51.3", "0.3", "51.7", "--out", "o", *words]
        )  # fmt: skip
        return with_resolution(settings_from_options(options), options).resolution, capsys.readouterr().err

    assert chosen() == (
        7,
        "By default resolution 7, about 480 hexagons of 5.2 km², suits this area and about 900 records "
        "(--resolution takes another).\n",
    )
    assert chosen("--resolution", "8") == (8, "")
    assert "about 4 records" in chosen("--owner", "who", "--records-per-owner", "300")[1]
    guess = ("--relation", "add-or-remove", "--records-about", "12000")
    path.write_text("not read", encoding="utf-8")
    assert chosen(*guess)[0] == 8
    assert chosen("--unit", "cell")[0] == 8

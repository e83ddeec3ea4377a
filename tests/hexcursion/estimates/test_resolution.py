"""The resolution that is proposed suits area and a stated number of records, and no data are read for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shapely.geometry import MultiPolygon, box

from geo.context import shores
from hexcursion.cli.main import build_parser
from hexcursion.cli.options import settings_from_options, with_resolution
from hexcursion.errors import WorkflowError
from hexcursion.estimates.forecasts import propose, propose_resolution
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings

CITY = MultiPolygon([box(-0.5, 51.3, 0.3, 51.7)])
COUNTRY = MultiPolygon([box(5.0, 47.0, 15.0, 55.0)])


@pytest.mark.parametrize(
    ("shape", "records", "resolution", "cells"),
    [
        (CITY, None, 7, 478),
        (COUNTRY, None, 5, 2_459),
        (CITY, 0, 7, 478),
        (CITY, 1_000, 7, 478),
        (CITY, 12_000, 8, 3_348),
        (CITY, 10_000_000, 9, 23_434),
        (COUNTRY, 132, 3, 50.2),
        (COUNTRY, 351, 3, 50.2),
        (COUNTRY, 352, 4, 351),
        (CITY, 60, 5, 9.76),
        (COUNTRY, 15_000, 5, 2_459),
        (MultiPolygon([box(0.0, 51.5, 0.001, 51.501)]), 100_000, 10, 0.511),
    ],
)
def test_hexagons_are_a_third_of_the_records_but_neither_few_nor_very_many(
    shape: MultiPolygon, records: int | None, resolution: int, cells: float
) -> None:
    found = propose(shape, records)
    assert (found.resolution, found.records) == (resolution, records)
    assert found.cells == pytest.approx(cells, rel=0.01)


def test_the_command_line_proposes_only_where_nobody_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("not read", encoding="utf-8")

    def chosen(*words: str) -> tuple[int, str]:
        options = build_parser().parse_args(
            ["release", "--data", str(path), "--value", "v", "--lon", "x", "--lat", "y", "--threshold", "9",
             "--value-unit", "u", "--bbox", "-0.5", "51.3", "0.3", "51.7", "--out", "o", *words]
        )  # fmt: skip
        return with_resolution(settings_from_options(options), options).resolution, capsys.readouterr().err

    assert chosen() == (
        7,
        "By default resolution 7, about 480 hexagons of 5.2 km², suits this area "
        "(--resolution sets another, --records-about N chooses one for N records).\n",
    )
    assert chosen("--resolution", "8") == (8, "")
    assert chosen("--records-about", "12000") == (
        8,
        "By default resolution 8, about 3,300 hexagons of 0.74 km², suits this area and about 12,000 records "
        "(--resolution sets another).\n",
    )
    assert chosen("--relation", "add-or-remove", "--records-about", "12000")[0] == 8
    assert chosen("--unit", "cell")[0] == 7
    with pytest.raises(WorkflowError, match="leave `records_about`"):
        chosen("--records-about", "12000", "--resolution", "8")
    for wrong in ("-3", "many"):
        with pytest.raises(WorkflowError, match=r"records.about"):
            chosen("--records-about", wrong)


def test_the_sea_of_a_box_speaks_for_no_resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box that is sea but for a strip of 0.1 degrees has the hexagons of the strip alone."""
    shore = np.array([[3.9, 50.0], [4.1, 50.0], [4.1, 60.0], [3.9, 60.0]])
    monkeypatch.setattr(shores, "land_near", lambda box: (shore,))
    source = SourceSettings("t.csv", value="v", x="x", y="y")
    sea = ReleaseSettings(data=source, threshold=9.0, value_unit="u", bbox=(0.0, 52.0, 4.0, 55.0))
    assert propose_resolution(sea, None).resolution == 7
    assert propose_resolution(sea.with_changes(land_only=False), None).resolution == 6

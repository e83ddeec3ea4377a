"""Areas by the name of a place: which one is meant, and the box around it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from geo import DomainError
from geo.context import named_areas, surroundings
from geo.context.named_areas import box_around, place_named
from geo.context.surroundings import Place

ROWS = [
    "London\t-0.1257\t51.5085\t8961989",
    "London\t-81.233\t42.9834\t346765",
    "Cambridge\t0.1167\t52.2\t158434",
    "Cambridge\t-71.1056\t42.3751\t110402",
]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A gazetteer of four places."""
    with gzip.open(tmp_path / "places.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(ROWS))
    for module in (named_areas, surroundings):
        monkeypatch.setattr(module, "folder", lambda: tmp_path)
    yield tmp_path
    surroundings._gazetteer.cache_clear()


def test_a_much_larger_place_is_the_one_that_is_meant(built: Path) -> None:
    assert place_named(" london ").population == 8_961_989
    assert place_named("London@-81,43").population == 346_765


def test_where_two_are_alike_a_person_says_which(built: Path) -> None:
    with pytest.raises(
        DomainError, match=r"name the one that is meant, Cambridge@0.12,52.20, Cambridge@-71.11,42.38"
    ):
        place_named("Cambridge")
    assert place_named("Cambridge@-71.11,42.38").longitude == -71.1056


def test_an_unknown_place_is_refused_with_a_remedy(built: Path) -> None:
    with pytest.raises(DomainError, match="no place called 'Cam' is known: did you mean 'Cambridge'"):
        place_named("Cam")
    with pytest.raises(DomainError, match="give a bounding box"):
        place_named("Xanadu")


def test_without_the_files_it_is_said_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_areas, "folder", lambda: None)
    with pytest.raises(DomainError, match="make maps"):
        place_named("London")


def test_the_box_reaches_as_far_to_all_sides() -> None:
    west, south, east, north = box_around(Place("x", 10.0, 60.0, 1), 111.195)
    assert (north - south) / 2 == pytest.approx(1.0, abs=1e-3)
    assert (east - west) / 2 == pytest.approx(2.0, abs=2e-3)  # a degree is half as long there
    assert ((west + east) / 2, (south + north) / 2) == pytest.approx((10.0, 60.0), abs=1e-4)


def test_a_box_may_cross_the_date_line_but_not_reach_the_pole() -> None:
    west, _, east, _ = box_around(Place("Suva", 178.44, -18.1, 1), 300.0)
    assert west == pytest.approx(175.60, abs=0.02)
    assert east == pytest.approx(-178.72, abs=0.02)
    with pytest.raises(DomainError, match="85 degrees"):
        box_around(Place("Alert", -62.3, 82.5, 1), 300.0)
    for reach in (0.4, 501.0, float("nan")):
        with pytest.raises(DomainError, match=r"0\.5 to 500 km"):
            box_around(Place("x", 0.0, 0.0, 1), reach)

"""The yardstick after a release: the curator's own records, and advice that follows from them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.excursion import Direction
from hexcursion.bundle.products import MapValues, products_at
from hexcursion.comparing.own_records import OwnRecords, own_records


def project(direction: Direction = "above", **changes: Any) -> Any:
    """Ten records at 6, of which 8 are above 5, ten at 3, of which 9 are not, and two outside of J."""
    value = [6.0] * 8 + [4.0] * 2 + [3.0] * 9 + [9.0] + [9.0, 9.0]
    cell = [0] * 10 + [1] * 10 + [2] * 2
    order = np.argsort(np.arange(22) % 2, kind="stable")  # parts of both hexagons in every fold
    placed = SimpleNamespace(index=np.array(cell)[order], value=np.array(value)[order], year=None)
    settings = SimpleNamespace(threshold=5.0, direction=direction, unit="point")
    lattice = SimpleNamespace(
        domain_centres=np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), spacing=1.0, size=3
    )
    known = {"answers": None, "exposure": None, **changes}
    return SimpleNamespace(
        private=SimpleNamespace(placed=placed), settings=settings, lattice=lattice, **known
    )


def products(direction: Direction = "above", mean: tuple[float, ...] = (1.0, -1.0, 5.0)) -> Any:
    field = (np.array(mean), np.ones(3))
    records = np.array([10.0, 10.0, 0.0])
    return products_at(MapValues(field[0][None], field, records=records), 0.0, direction, cutoff=0.5)


def test_records_are_counted_where_the_map_is_judged() -> None:
    """17 of 20 on their side; one colour has 11, a public map that is wrong in both hexagons 3."""
    own = own_records(project(), products(), np.array([False, True, True]))
    assert own == OwnRecords(20, 17 / 20, 11 / 20, 17 / 20, 3 / 20)
    assert own.gain == pytest.approx(6 / 20)
    assert own.advice == ""
    assert own.words == (
        "Of your 20 records where the map is judged 85 in 100 are on the side the map shows; public map 15; "
        "one colour 55; a table of means 85."
    )


def test_a_question_from_below_turns_the_sides() -> None:
    own = own_records(project("below"), products("below"))
    assert own is not None
    assert (own.release, own.colour, own.public) == (17 / 20, 11 / 20, None)


def test_a_map_that_gains_less_than_nothing_is_advised_against() -> None:
    own = own_records(project(), products(mean=(-1.0, 1.0, 5.0)))
    assert own is not None
    assert own.gain == pytest.approx(3 / 20 - 11 / 20)
    assert own.advice == (
        "Do not publish this map: a map of one colour shows more of your records on their right side."
    )
    assert "the public map shows more" in OwnRecords(20, 0.7, 0.6, 0.8, 0.71).advice
    assert OwnRecords(20, 0.7, 0.6, 0.8, 0.7).advice == ""


@pytest.mark.parametrize("what", ["answers", "exposure"])
def test_answers_and_counts_have_no_side_of_their_own(what: str) -> None:
    assert own_records(project(**{what: object()}), products()) is None

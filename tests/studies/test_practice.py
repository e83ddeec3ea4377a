"""Today's rules and their attacks: small tables by hand, and the sales of Lucas County that ship."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from data_loaders.lucas_county import SALES
from hexcursion.project.load import load_project
from studies.agreement.practice import lucas_settings, records_of
from studies.practice.attacks import changes, own_medians, told_apart, two_editions
from studies.practice.rules import RULES, Records, filled, minimum, rounded, smoothed, two_digits

ROW = Records(
    np.array([0, 0, 0, 1, 1, 3]), np.array([10.0, 12.0, 50.0, 40.0, 60.0, 35.0]), 30.0,
    np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [9.0, 0.0]]), 1.0,
)  # fmt: skip
"""Five hexagons in a row, the last far away: 3, 2, 0, 1 and 0 records."""


@pytest.fixture(scope="module")
def lucas() -> Records:
    return records_of(load_project(lucas_settings()))


def test_the_shipped_sales_are_those_of_the_note(lucas: Records) -> None:
    count = lucas.count
    assert SALES.stat().st_size < 400_000
    assert (lucas.cell.size, lucas.size) == (4_206, 888)
    assert [int((count == k).sum()) for k in (1, 2)] == [63, 42]
    assert [int((count >= k).sum()) for k in (1, 3, 5, 10)] == [414, 309, 252, 170]


def test_the_shipped_columns_and_years() -> None:
    sales = pandas.read_csv(SALES)
    assert list(sales.columns) == ["price", "lon", "lat", "year"]
    assert sales["year"].value_counts().sort_index().tolist() == [3260, 3719, 4130, 4838, 5032, 4378]


@pytest.mark.parametrize(
    ("least", "held", "exact", "own"),
    [(3, 0.96505, 0.94508, 0.7171), (5, 0.9175, 0.88778, 0.5268), (10, 0.78626, 0.74822, 0.3415)],
)
def test_minimum_counts_on_lucas_county(
    lucas: Records, least: int, held: float, exact: float, own: float
) -> None:
    table = minimum(lucas, least)
    assert float(table.shown[lucas.cell].mean()) == pytest.approx(held, abs=1e-5)
    assert two_editions(lucas, "minimum", least) == pytest.approx(exact, abs=1e-5)
    assert own_medians(table, lucas) == pytest.approx(own, abs=1e-4)


def test_classes_alone_change_for_few_and_rounding_hides_exact_values(lucas: Records) -> None:
    assert changes(lucas, "minimum", 5, numbers=False) == pytest.approx(0.049, abs=2e-3)
    assert changes(lucas, "smoothed", 10, numbers=False) == pytest.approx(0.111, abs=2e-3)
    assert told_apart(0.049) == pytest.approx(0.5245)
    small = Records(lucas.cell[:400], lucas.value[:400], lucas.threshold, lucas.centres, lucas.spacing)
    assert two_editions(small, "rounded", 5) == 0.0


def test_a_minimum_count_blanks_hexagons_and_shows_medians() -> None:
    table = minimum(ROW, 2)
    assert table.shown.tolist() == [True, True, False, False, False]
    assert table.inside.tolist() == [False, True, False, False, False]
    assert table.mean is not None
    assert table.mean[:2].tolist() == [24.0, 50.0]
    assert filled(table, ROW).tolist() == [False, True, True, True, True]
    assert two_editions(ROW, "minimum", 2) == 0.5  # the three of the first hexagon
    assert two_editions(ROW, "minimum", 1) == 1.0
    assert changes(ROW, "minimum", 2, numbers=True) == pytest.approx(5 / 6)
    # The first hexagon turns without the 10 alone (the median of 12 and 50 is 31); the second gets blank.
    assert changes(ROW, "minimum", 2, numbers=False) == pytest.approx(3 / 6)


def test_a_kernel_weighs_neighbours_and_ends() -> None:
    table = smoothed(ROW, 1.0)
    assert table.count is not None
    assert table.count[2] == pytest.approx(3 * np.exp(-2.0) + 2 * np.exp(-0.5) + np.exp(-0.5))
    assert table.count[4] == 0.0
    assert not table.shown[4]
    assert two_editions(ROW, "smoothed", 1.0) == 1.0
    assert two_editions(ROW, "smoothed", 100.0) == 0.0
    assert changes(ROW, "smoothed", 1.0, numbers=True) == 1.0


def test_rounding_caps_and_keeps_two_digits() -> None:
    assert two_digits(np.array([123.0, 0.0456, 0.0, 99.6])).tolist() == pytest.approx(
        [120.0, 0.046, 0.0, 100.0]
    )
    table = rounded(ROW, 2)
    assert table.count is not None
    assert table.mean is not None
    assert table.count.tolist() == [5.0, 0.0, 0.0, 0.0, 0.0]
    assert table.mean[1] == 49.0  # 40 and the cap of 57.5


def test_a_record_is_taken_out_under_the_cap_of_all_that_stay() -> None:
    """Of ten records one is dear, and dearer ones lie elsewhere: the cap of 900 does not touch it."""
    value = np.concatenate([np.full(9, 100.0), [400.0], np.full(30, 900.0)])
    centres = np.array([[0.0, 0.0], [9.0, 0.0]])
    town = Records(np.repeat([0, 1], [10, 30]), value, 30.0, centres, 1.0)
    # The mean of 130 stays 130 (of 133) without a cheap record, and becomes 100 without the dear one.
    assert changes(town, "rounded", 5, numbers=True) == pytest.approx(1 / 40)


def test_every_rule_has_its_attack() -> None:
    from studies.agreement.practice import ATTACKED

    assert list(ATTACKED) == list(RULES)

"""Rounding and larger units: small tables by hand, and the sales of Lucas County that ship."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hexcursion.comparing.practice import Records
from hexcursion.project.load import load_project
from studies.agreement.practice import lucas_settings
from studies.attacks.table_rules import (
    Merged,
    Rounded,
    changes,
    merged,
    rounded,
    rules_of,
    two_digits,
    two_editions,
    units_of,
)
from tests.hexcursion.comparing.test_practice import ROW


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
    assert changes(town, Rounded(5)) == pytest.approx(1 / 40)


def test_few_records_send_their_hexagon_and_its_siblings_to_larger_units() -> None:
    """3, 2, 0, 1 and 0 records: of the pairs the second has one, so that four hexagons are one unit."""
    above = (np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 1]))
    row = ROW
    table = merged(row, 3, above)
    assert table.shown.tolist() == [True, True, True, True, False]
    assert table.inside.tolist() == [True, True, True, True, False]
    assert table.mean is not None
    assert table.median is not None
    assert table.mean[:4].tolist() == [34.5] * 4
    assert table.median[:4].tolist() == [37.5] * 4
    # The one record on the right sends its pair, and then both pairs; with a minimum of one nothing moves.
    assert units_of(row, 2, above).tolist() == [1, 1, 1, 1, 0]
    assert units_of(row, 1, above).tolist() == [0, 1, 2, 3, 4]
    left = replace(row, cell=np.array([0, 0, 0, 1]), value=row.value[:4])
    assert units_of(left, 2, above).tolist() == [
        3,
        3,
        0,
        1,
        2,
    ]  # one step is enough where nobody is on the right
    rule = Merged(3, above)
    assert (two_editions(row, rule), changes(row, rule)) == (1.0, 1.0)
    # A minimum of 7 hides all of them, in every edition.
    assert not merged(row, 7, above).shown.any()
    assert (two_editions(row, Merged(7, above)), changes(row, Merged(7, above))) == (0.0, 0.0)


def test_larger_units_and_rounding_on_lucas_county() -> None:
    """The note's figures: three quarters of the hexagons are shown, and every value follows."""
    project = load_project(lucas_settings())
    lucas, rules = Records.of(project), rules_of(project.domain.cells)
    larger = rules["at least 5, by larger units"]
    assert float(larger.apply(lucas).shown.mean()) == pytest.approx(0.75, abs=0.01)
    assert two_editions(lucas, larger) > 0.99
    assert changes(lucas, larger) > 0.99
    small = Records(lucas.cell[:400], lucas.value[:400], lucas.threshold, lucas.centres, lucas.spacing)
    assert two_editions(small, rules["at least 5, rounded"]) == 0.0

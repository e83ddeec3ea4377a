"""The study of two looks: the maps without privacy that it compares with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studies.agreement.looks import SMOOTH, kriged, smoothed


def test_the_map_without_privacy_is_kriging() -> None:
    """A value of 1 at the first of two hexagons: .25/(.25 + .433^2) of it there, half of that next to it."""
    found = kriged(np.array([[0.25, 0.125], [0.125, 0.25]]), np.array([0]), np.array([1.0]))
    np.testing.assert_allclose(found, [0.57144, 0.28572], atol=1e-5)


def test_the_smooth_map_is_blind_to_all_but_the_largest_directions() -> None:
    """Of 302 directions the two least are left out: what a record shows of them is in the other map alone."""
    covariance = np.diag(np.concatenate([[0.01, 0.02], np.linspace(0.1, 1.0, SMOOTH)]))
    smooth, index, value = smoothed(covariance), np.array([1, 301]), np.ones(2)
    assert SMOOTH == 300
    np.testing.assert_allclose(smooth[2:, 2:], covariance[2:, 2:], atol=1e-12)
    np.testing.assert_allclose(smooth[:2], 0.0, atol=1e-12)
    np.testing.assert_allclose(kriged(covariance, index, value)[index], [0.09639, 0.84211], atol=1e-5)
    np.testing.assert_allclose(kriged(smooth, index, value)[index], [0.0, 0.84211], atol=1e-5)


@pytest.mark.parametrize("epsilon", ["0.25", "0.5", "1", "3"])
def test_the_page_quotes_the_stored_errors_from_the_smooth_map(epsilon: str) -> None:
    root = Path(__file__).resolve().parents[3]
    stored = [line.split() for line in (root / "studies/results/looks.txt").read_text("utf-8").splitlines()]
    rows = [row for row in stored if row[:1] == [epsilon]]
    one = next(row for row in rows if row[1:5] == ["one", "look,", "usual", "clip"])
    two = next(row for row in rows if row[1:3] == ["two", "looks"] and row[3].startswith("0."))
    told = [f"{error[1:]}, {agreement[1:]}" for *_, error, agreement in (one, two)]
    page = (root / "docs" / "spectral-statistics.md").read_text("utf-8")
    table = page.split("| two looks, smooth |")[1].split("\n\n")[0]
    assert f"| {epsilon.removeprefix('0')} | {told[0]} | {told[1]} |" in table

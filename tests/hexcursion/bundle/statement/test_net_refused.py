"""Safety net: which epsilon of format 1 a reader takes, and which words about a sanitised trip."""

from __future__ import annotations

import math

import pytest

from dpgp_core.accounting.gaussian import gaussian_epsilon
from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.statement.build import build_statement
from hexcursion.bundle.statement.format1 import _checked_mu
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.project.trip import TripProtection
from tests.hexcursion.bundle.bundle_samples import make_release

CURVE = {"orders": [2.0, 4.0], "values": [0.25, 0.5]}


@pytest.mark.parametrize(
    ("gaussian", "order", "proves"),
    [(True, None, 1.9930914), (True, 4.0, 3.5878616), (False, None, 3.5878616)],
)
def test_format_1_may_say_what_its_curve_proves_and_no_less(
    gaussian: bool, order: float | None, proves: float
) -> None:
    """Of mu 0.5 at delta 1e-5 the Gaussian mechanism alone proves 1.993, and the curve 3.588."""
    said = {"rdp": CURVE, "delta": 1e-5, "order": order, "group": []}
    for epsilon in (proves + 1e-6, 2.0 * proves):
        _checked_mu({**said, "epsilon": epsilon}, gaussian)
    for epsilon in (proves - 1e-6, 0.5 * proves, 0.0):
        with pytest.raises(BundleError, match="smaller than what its own RDP curve proves"):
            _checked_mu({**said, "epsilon": epsilon}, gaussian)


def test_format_1_is_allowed_one_part_in_a_billion_and_a_billionth() -> None:
    """To the last digit: what lies on the bound is taken, the next number below is not."""
    least = gaussian_epsilon(0.5, 1e-5) * (1.0 - 1e-9) - 1e-9
    said = {"rdp": CURVE, "delta": 1e-5, "order": None, "group": []}
    assert _checked_mu({**said, "epsilon": least}, True) == pytest.approx(0.5)
    with pytest.raises(BundleError, match="smaller than what its own RDP curve proves"):
        _checked_mu({**said, "epsilon": math.nextafter(least, 0.0)}, True)


@pytest.mark.parametrize("changed", ["mu_at_most", "radius_m", "in_words", "notes", None])
def test_what_is_said_of_a_trip_follows_from_its_numbers_and_stands_in_the_notes(
    domain: Domain, changed: str | None
) -> None:
    trip = TripProtection("0123456789abcdef", 3, 1.235, 200.0)
    statement = build_statement(make_release(domain, trip=trip, notes=(trip.in_words, "Another note.")))
    if changed is None:
        assert check_statement(statement) == statement
        return
    if changed == "notes":
        statement["release"]["notes"] = ["Another note."]
    else:
        statement["trip"][changed] = "Nobody finds it." if changed == "in_words" else 0.5
    with pytest.raises(BundleError, match="contradicts itself about the trip that tells its places"):
        check_statement(statement)

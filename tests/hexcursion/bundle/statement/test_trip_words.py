"""Which words about a sanitised trip a reader takes."""

from __future__ import annotations

import pytest

from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.statement.build import build_statement
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.project.trip import TripProtection
from tests.hexcursion.bundle.bundle_samples import make_release


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

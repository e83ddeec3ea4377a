"""Small rules of a release: when a smaller delta is priced, for whom a group line stands."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from hexcursion.bundle.statement.receipt import _delta_line
from hexcursion.record import Release
from hexcursion.releasing.transaction import groups_of
from tests.hexcursion.bundle.bundle_samples import guarded


@pytest.mark.parametrize(("records", "priced"), [(999, False), (1001, True)])
def test_a_smaller_delta_is_priced_from_a_hundredth_of_a_record_on(records: int, priced: bool) -> None:
    """At delta 1e-5, 1,000 records are exposed by .01 of a record; the order without a value is not asked."""
    assert ("the same release has epsilon" in _delta_line(replace(guarded(), n=records)).text) is priced
    bare = replace(guarded(), n=records, cost=None, rdp_orders=(), rdp_values=())
    assert "the same release" not in _delta_line(bare).text


@pytest.mark.parametrize(
    ("most", "groups"),
    [(None, (2, 5, 10)), (1, (2, 5, 10)), (2, (2, 5, 10)), (3, (2, 3, 5, 10)), (12, (2, 5, 10, 12))],
)
def test_groups_are_the_usual_ones_and_the_most_of_an_owner(
    most: int | None, groups: tuple[int, ...]
) -> None:
    assert groups_of(most) == groups


def test_a_release_is_neither_generated_nor_simulated_unless_it_says_so() -> None:
    unless = {field.name: field.default for field in fields(Release)}
    assert (unless["generated"], unless["simulation"]) == (False, False)

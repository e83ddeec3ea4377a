"""Small rules of a release and words of its receipt: smaller deltas, groups, quantities, reference data."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest

from dpgp_core.accounting.guarantee import group_epsilon
from hexcursion.bundle.statement.receipt import _centre, _clip, _delta_line, _tuning
from hexcursion.ledger import open_ledger
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.record import Release, Tuning
from hexcursion.releasing.transaction import plan_release
from hexcursion.search.tuning import Tuned
from hexcursion.settings.names import TuningKind
from tests.hexcursion.bundle.bundle_samples import guarded


@pytest.mark.parametrize(("records", "priced"), [(999, False), (1001, True)])
def test_a_smaller_delta_is_priced_from_a_hundredth_of_a_record_on(records: int, priced: bool) -> None:
    """At delta 1e-5, 1,000 records are exposed by .01 of a record; the order without a value is not asked."""
    assert ("the same release has epsilon" in _delta_line(replace(guarded(), n=records)).text) is priced
    bare = replace(guarded(), n=records, cost=None, rdp_orders=(), rdp_values=())
    assert "the same release" not in _delta_line(bare).text


def test_a_release_is_neither_generated_nor_simulated_unless_it_says_so() -> None:
    unless = {field.name: field.default for field in fields(Release)}
    assert (unless["generated"], unless["simulation"]) == (False, False)


def test_the_group_lines_of_a_plan(hamlet: Project, hamlet_tuned: Tuned) -> None:
    """At the delta of one record, by the sharpest that is proved of the release."""
    privacy = plan_release(hamlet, hamlet_tuned.choice, open_ledger()).privacy
    assert privacy.epsilon == pytest.approx(2.0, rel=1e-6)
    assert [records for records, _, _ in privacy.group] == [2, 5, 10]
    assert [delta for _, _, delta in privacy.group] == [1e-5] * 3
    found = [epsilon for _, epsilon, _ in privacy.group]
    assert found == pytest.approx([4.4811, 14.2903, 39.5631], rel=1e-4)
    assert privacy.cost is not None
    assert found == [group_epsilon(privacy.cost, q, 1e-5).epsilon for q in (2, 5, 10)]


def test_a_centre_and_a_clip_bound_are_said_with_these_digits() -> None:
    log = ResponseScale("log", math.log(1234567.0), math.log(2.345), "literal")
    assert _centre(log, "m") == "1,234,570 m (log 14.026)"
    assert _clip(log, "m") == "a factor of 2.35 either way (log 0.8523)"


def test_without_a_logarithm_they_are_plain_quantities() -> None:
    plain = ResponseScale("identity", 26.5, 7.25, "literal")
    assert (_centre(plain, "m"), _clip(plain, "m")) == ("26.5 m", "7.25 m either way")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("public reference data", "public reference data: b.csv"),
        (
            "reference data",
            "reference data: b.csv. Records in the reference data are not protected by this statement.",
        ),
    ],
)
def test_only_reference_data_that_were_set_aside_are_said_to_be_unprotected(
    kind: TuningKind, said: str
) -> None:
    assert _tuning(Tuning(kind, "b.csv")) == said

"""The guarantee in words and numbers, written out: relations, places, groups, costs without a curve."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgp_core.accounting.composition import Cost, compose
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.accounting.rdp import ORDERS
from geo import Domain
from hexcursion.bundle import BundleError, untrusted
from hexcursion.bundle.page.facts import _what_not
from hexcursion.bundle.read import _same
from hexcursion.bundle.statement.build import build_statement
from hexcursion.bundle.statement.guarantee import check_guarantee, stated_cost, with_words
from hexcursion.bundle.statement.schema_check import check_statement
from tests.hexcursion.bundle.bundle_samples import guarded, make_release

MU = 0.5
AT_FIVE = gaussian_epsilon(5 * MU, 1e-5)  # five records of one person: a Gaussian mechanism of 5 mu


def guarantee(domain: Domain, cost: Cost | None = None, **changes: Any) -> dict[str, Any]:
    """The block of a release of a Gaussian mechanism at mu 0.5, through JSON."""
    paid = Cost.gaussian(MU) if cost is None else cost
    group = changes.pop("group", ())
    privacy = replace(
        guarded(),
        epsilon=gaussian_epsilon(MU, 1e-5),
        order=None,
        bound="gaussian-mechanism",
        cost=paid,
        gaussian_mu=paid.gaussian_mu,
        rdp_orders=tuple(ORDERS.tolist()),
        rdp_values=tuple(paid.curve.values.tolist()),
        group=group,
    )
    release = make_release(domain, privacy=privacy, **changes)
    made: dict[str, Any] = json.loads(json.dumps(build_statement(release)["guarantee"]))
    return made


def test_one_record_more_or_less_is_said_so(domain: Domain) -> None:
    found = guarantee(domain, Cost.gaussian(MU).among("add-or-remove", 0.7), relation="add-or-remove")
    assert found["n_is_public"] is False
    assert found["neighbours"] == (
        "Two datasets that differ in one record, which one of them has and the other has not, within the "
        "area and the filters of the release."
    )
    assert found["protected"] == "One sale: its value and its place, among about 30,123 sales."
    assert found["in_words"].startswith("Adding or removing one sale can make any published result up to ")
    assert not any("number of sales" in text for text in found["not_protected"])
    check_guarantee(found)


def test_equal_rows_that_are_records_are_said_so(domain: Domain) -> None:
    """In the statement and on the page; where they count once nothing is said."""
    release = make_release(domain, privacy=replace(guarded(), each_row=True))
    statement = json.loads(json.dumps(build_statement(release)))
    found = check_statement(statement)["guarantee"]
    assert found["equal_rows"] == "each"
    again = (
        "Equal rows without an identifier count as sales of their own, so one sale that is listed several "
        "times is protected less"
    )
    assert found["not_protected"][:2] == [
        "A person with more than one sale is protected less: see the group lines.",
        f"{again}: see the group lines.",
    ]
    assert _what_not(statement).text.endswith(f"more than one sale is protected less. {again}.")
    once = build_statement(make_release(domain))
    assert "equal_rows" not in once["guarantee"]
    assert not any("Equal rows" in text for text in once["guarantee"]["not_protected"])
    assert _what_not(once).text.endswith("A person with more than one sale is protected less.")


def test_public_places_are_said_so(domain: Domain) -> None:
    found = guarantee(domain, Cost.gaussian(MU).among("values-only"), protects="values")
    assert found["neighbours"].endswith(
        "for another within the area and the filters of the release: in its value only; its place stays."
    )
    assert found["protected"] == "One sale: its value, among 30,123 sales. Its place is public."
    assert "The places of the sales are treated as public." in found["not_protected"]
    assert "The number of sales is treated as public." in found["not_protected"]
    check_guarantee(found)


@pytest.mark.parametrize(
    ("cost", "changes"),
    [
        (Cost.gaussian(MU), {"relation": "add-or-remove"}),
        (Cost.gaussian(MU), {"protects": "values"}),
        (Cost.gaussian(MU).among("values-only"), {}),
        (Cost.gaussian(MU).among("add-or-remove"), {}),
    ],
)
def test_a_cost_for_other_neighbours_than_the_promise_is_refused(
    domain: Domain, cost: Cost, changes: dict[str, Any]
) -> None:
    with pytest.raises(BundleError, match="other neighbours than its promise"):
        check_guarantee(guarantee(domain, cost, **changes))


def test_a_part_for_other_neighbours_is_not_added(domain: Domain) -> None:
    found = guarantee(domain, compose((Cost.gaussian(0.3), Cost.gaussian(0.4))))
    check_guarantee(found)
    found["cost"]["parts"][0]["neighbours"] = "add-or-remove"
    with pytest.raises(BundleError, match="other neighbours than its promise"):
        check_guarantee(found)


def test_a_bundle_from_before_costs_named_their_neighbours_still_opens(domain: Domain) -> None:
    found = guarantee(domain)
    del found["cost"]["neighbours"]
    check_guarantee(found)
    with pytest.raises(BundleError, match="for which neighbours it holds"):
        check_guarantee(found, complete=True)
    assert stated_cost({**found, "relation": "add-or-remove"}).neighbours == "add-or-remove"


def test_a_group_may_be_priced_from_the_cost_and_not_below(domain: Domain) -> None:
    """By the rule of thumb five records cost 9.97 at delta 0.15; from mu, 13.2 at the delta of one."""
    assert pytest.approx(13.2067, abs=1e-3) == AT_FIVE
    check_guarantee(guarantee(domain, group=((5, AT_FIVE, 1e-5),)))
    with pytest.raises(BundleError, match="group line"):
        check_guarantee(guarantee(domain, group=((5, 0.999 * AT_FIVE, 1e-5),)))
    with pytest.raises(BundleError, match="group line"):
        check_guarantee(guarantee(domain, group=((5, AT_FIVE, 0.9e-5),)))


def test_a_group_without_a_guarantee_has_no_number(domain: Domain) -> None:
    (line,) = guarantee(domain, group=((10, np.inf, 1.0),))["groups"]
    assert line == {
        "records": 10,
        "epsilon": None,
        "delta": 1.0,
        "in_words": "Someone with up to 10 sales: no useful guarantee.",
    }
    check_guarantee(guarantee(domain, group=((10, np.inf, 1.0), (20, 0.1, 1.0))))


def test_a_cost_without_a_curve_is_proved_from_mu(domain: Domain) -> None:
    found = {**guarantee(domain), "curve": None}
    assert stated_cost(found).gaussian_mu == 0.5
    check_guarantee(found)
    with pytest.raises(BundleError, match="smaller than what its own cost proves"):
        check_guarantee(with_words({**found, "epsilon": 1.98}))
    with pytest.raises(BundleError, match="states no cost"):
        check_guarantee({**found, "cost": {"distance": 0.0}})


def test_a_distance_from_the_ideal_is_taken_off_delta(domain: Domain) -> None:
    found = guarantee(domain)
    cost = {"gaussian_mu": 0.5, "neighbours": "replace-one"}
    with pytest.raises(BundleError, match="smaller than what its own cost proves"):
        check_guarantee({**found, "cost": {**cost, "distance": 1e-7}})
    check_guarantee({**found, "cost": {**cost, "distance": 1e-22}})


@pytest.mark.parametrize(("off", "same"), [(0.0, True), (0.0001, True), (-0.0001, True), (0.0002, False)])
def test_a_share_may_differ_by_its_last_digit(off: float, same: bool) -> None:
    assert _same([0.25 + off, 0.5], [0.25, 0.5]) is same
    assert not _same([True, 0.5], [1.0, 0.5])
    assert not _same([0.25], [0.25, 0.5])
    assert not _same(["a", "c"], ["a", "b"])
    assert not _same([1, 0], [True, False])


@pytest.mark.parametrize(("most", "accepted"), [(10**6, True), (1000, False)])
def test_a_file_is_refused_by_the_bytes_that_it_would_unpack_to(
    monkeypatch: pytest.MonkeyPatch, most: int, accepted: bool
) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"h3": ["x"] * 2000, "path_1": np.arange(2000.0)}), sink)
    monkeypatch.setattr(untrusted, "MAX_UNPACKED", most)
    if accepted:
        assert untrusted.checked_parquet(sink.getvalue(), "x", 2).metadata.num_rows == 2000
        return
    with pytest.raises(BundleError, match="would unpack to more than"):
        untrusted.checked_parquet(sink.getvalue(), "x", 2)

"""Overlapping data: whatever holds some of the same records is charged together, and the receipt says so."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.accounting.rdp import ORDERS, RdpCurve
from dpgp_core.mechanisms.design import Protects
from dpgp_core.releasing import Relation
from hexcursion.ledger import BudgetExceeded, Charge, Ledger, LedgerError
from hexcursion.ledger.account import encode, written_cost
from hexcursion.ledger.book import Book
from hexcursion.ledger.entry import Draft
from hexcursion.ledger.overlap import Shared
from hexcursion.ledger.sentences import account_lines, neighbours_text, shared_text
from hexcursion.promises import Protected
from tests.hexcursion.ledger.overlap.market import DELTA, MU, Market, market, pay, says
from tests.hexcursion.ledger.places import DIGEST, charge_for, recognised, release

# Charged together


def test_three_parts_of_one_file_share_what_they_spend(ledger: Ledger) -> None:
    """The finding: the same flats were in three releases of epsilon 1 with a budget each."""
    all_sales = market()
    flats, homes = all_sales.part(slice(0, 421)), all_sales.part(slice(0, 800))
    first = pay(ledger, flats.charge(ledger), "flats")
    planned = homes.charge(ledger)
    assert says(ledger, planned)["Earlier releases"] == (
        "Some or all of these records were part of releases that cost epsilon 1 before; together 1.466. How "
        "many they are is not published."
    )
    assert recognised(ledger, planned.records, planned.dataset) == {first: Shared(421, 421, True)}
    assert ledger.account(first, "point").charged == (3,)
    assert ledger.account(first, "point").spent == pytest.approx(1.0, abs=1e-9)
    second = pay(ledger, planned, "homes")
    third = all_sales.charge(ledger)
    standing = ledger.preview(third).standing
    assert standing is not None
    assert shared_text(standing).startswith("800 of these 1,000 records were part of earlier releases.")
    preview = ledger.preview(third)
    assert preview.before == pytest.approx(1.4651699603554176, rel=1e-9)
    assert preview.after == pytest.approx(1.8349654335037495, rel=1e-9)
    pay(ledger, third, "all")
    for dataset in (first, second, third.dataset):
        assert ledger.account(dataset, "point").spent == pytest.approx(1.8349654335037495, rel=1e-9)
    assert ledger.verify() == []


def test_the_budget_of_one_part_protects_its_records_from_the_others(ledger: Ledger) -> None:
    sales = market(200)
    flats = pay(ledger, sales.part(slice(0, 50)).charge(ledger), "flats", budget=1.2)
    planned = sales.charge(ledger)
    ledger.set_budget(planned.dataset, "point", 50.0, DELTA)
    preview = ledger.preview(planned)
    assert not preview.fits
    assert f"of dataset {flats[:12]}, which holds some of the same records" in preview.refused
    rows = ledger.entries()
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(planned)
    assert (refused.value.sharing, refused.value.budget) == (flats, 1.2)
    assert refused.value.after == pytest.approx(1.4651699603554176, rel=1e-9)
    assert ledger.entries() == rows, "a refusal writes nothing"


def test_new_data_that_overlap_take_the_smallest_budget_of_the_others(ledger: Ledger) -> None:
    sales = market(300)
    pay(ledger, sales.part(slice(0, 100)).charge(ledger), "a", budget=3.0)
    pay(ledger, sales.part(slice(200, 300)).charge(ledger), "b", budget=2.0)
    planned = sales.charge(ledger)
    preview = ledger.preview(planned)
    assert preview.budget is not None
    assert (preview.budget.epsilon, preview.budget.delta) == (2.0, DELTA)
    release(ledger, planned, "all")
    assert [entry.kind for entry in ledger.entries()][-5:] == [
        "records",
        "budget",
        "reserve",
        "draw",
        "commit",
    ]
    account = ledger.account(planned.dataset, "point")
    assert account.budget is not None
    assert (account.budget.epsilon, account.inherited, len(account.others)) == (2.0, False, 2)
    assert len(account.shares) == 2
    assert "Counted here too: 2 releases" in account.note


@pytest.mark.parametrize("larger", [0, 1])
def test_of_two_inherited_budgets_each_part_is_the_stricter_one(ledger: Ledger, larger: int) -> None:
    """Epsilon of the one, delta of the other: a total at a smaller delta allows less."""
    sales, parts = market(300), (slice(0, 100), slice(200, 300))
    budgets = [(3.0, DELTA / 10.0), (2.0, DELTA)]
    for part, (epsilon, delta) in zip(parts, (budgets[larger], budgets[1 - larger]), strict=True):
        charge = sales.part(part).charge(ledger)
        ledger.set_budget(charge.dataset, charge.unit, epsilon, delta)
        release(ledger, charge, f"{part.start}")
    budget = ledger.preview(sales.charge(ledger)).budget
    assert budget is not None
    assert (budget.epsilon, budget.delta) == (2.0, DELTA / 10.0)


def test_parts_that_share_no_record_do_not_pay_for_each_other(ledger: Ledger) -> None:
    """East and west both overlap the whole, but no record is in east and in west."""
    sales = market(300)
    west, east = sales.part(slice(0, 100)), sales.part(slice(200, 300))
    pay(ledger, west.charge(ledger), "west")
    assert recognised(ledger, east.charge(ledger).records) == {}
    assert "Earlier releases" not in says(ledger, east.charge(ledger))
    pay(ledger, east.charge(ledger), "east")
    pay(ledger, sales.charge(ledger), "all")
    spent = [ledger.account(part.charge(ledger).dataset, "point").spent for part in (west, east, sales)]
    assert spent == pytest.approx([1.4651699603554176, 1.4651699603554176, 1.8349654335037495], rel=1e-9)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sets(st.integers(0, 6), min_size=1), st.floats(0.01, 1.0)), min_size=1, max_size=6)
)
def test_an_account_bounds_the_cost_of_every_record_in_it(releases: list[tuple[set[int], float]]) -> None:
    """For each record, the releases that held it cost no more than each of its accounts says."""
    keys = {frozenset(held): f"{number:064x}" for number, (held, _) in enumerate(releases)}
    book, last = Book(), None
    drafts = [Draft("genesis", {"schema": 4, "ledger": "x", "key": "k"}, curve=encode(ORDERS))]
    for held, mu in releases:
        name = keys[frozenset(held)]
        if not any(draft.kind == "records" and draft.dataset == name for draft in drafts):
            before = {
                other: len(held & set(group))
                for group, other in keys.items()
                if any(draft.kind == "records" and draft.dataset == other for draft in drafts)
            }
            shares = {other: count for other, count in before.items() if count}
            drafts.append(Draft("records", {"n": len(held), "digest": DIGEST, "shares": shares}, name))
            budget = {"epsilon": 1e6, "delta": DELTA, "reason": "", "person": ""}
            drafts.append(Draft("budget", budget, name, "point"))
        facts = {"facts": {}, "cost": written_cost(Cost.gaussian(mu))}
        drafts.append(Draft("reserve", facts, name, "point", curve=encode(RdpCurve.gaussian(mu).values)))
    for draft in drafts:
        last = draft.after(last)
        book.accept(last)
    for record in range(7):
        mus = [mu for held, mu in releases if record in held]
        true = gaussian_epsilon(math.sqrt(sum(mu * mu for mu in mus)), DELTA) if mus else 0.0
        for group, name in keys.items():
            if record in group:
                assert book.account(name, "point").epsilon(DELTA) >= true * (1 - 1e-12)


# Decisions


def test_a_person_keeps_data_apart_that_agree_by_chance(ledger: Ledger) -> None:
    sales = market(100)
    one = pay(ledger, sales.part(slice(0, 60)).charge(ledger), "one")
    planned = sales.part(slice(59, 100)).charge(ledger)
    assert ledger.preview(planned).before == pytest.approx(1.0, abs=1e-9)
    for reason, person in (("", "Ada"), ("stations of 2022", " ")):
        with pytest.raises(LedgerError, match="give both"):
            ledger.decide(planned.dataset, one, False, reason=reason, person=person)
    ledger.decide(planned.dataset, one, False, reason="other stations of 2022.", person="Ada")
    preview = ledger.preview(planned, DELTA)
    assert (preview.before, preview.budget) == (0.0, None)
    entry = ledger.entries()[-1].number
    assert says(ledger, planned)["Kept apart"] == (
        f"By a person's decision (ledger entry {entry}) releases of another dataset that seemed to hold some "
        "of the same records are not counted: other stations of 2022."
    )
    assert recognised(ledger, planned.records, planned.dataset).keys() == {one}
    pay(ledger, planned, "two")
    assert ledger.account(one, "point").spent == pytest.approx(1.0, abs=1e-9)
    ledger.decide(one, planned.dataset, True, reason="the same stations after all", person="Ada")
    for dataset in (one, planned.dataset):
        assert ledger.account(dataset, "point").spent == pytest.approx(1.4651699603554176, rel=1e-9)


def test_a_person_joins_data_whose_hashes_cannot_agree(ledger: Ledger) -> None:
    """Prices in another currency: nothing is recognised, so the curator says it."""
    sales = market(100)
    pounds = pay(ledger, sales.charge(ledger), "pounds", budget=1.2)
    euros = Market(sales.x, sales.y, 1.17 * sales.price).charge(ledger)
    assert recognised(ledger, euros.records, euros.dataset) == {}
    ledger.decide(euros.dataset, pounds, True, reason="the same sales in euros", person="Ada")
    assert says(ledger, euros)["Earlier releases"].startswith("Some or all of these records were part")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(euros)
    with pytest.raises(LedgerError, match="two different"):
        ledger.decide(pounds, pounds, True, reason="r", person="p")


# The other unit, other areas, unknown accounts


def test_releases_of_the_other_unit_are_not_free_and_the_receipt_says_what_they_cost(ledger: Ledger) -> None:
    sales = market(100)
    pay(ledger, sales.charge(ledger, "cell"), "cells")
    text = says(ledger, sales.charge(ledger, "point"))["Other unit"]
    assert text == (
        "1 release of these data protected whole hexagons, at epsilon 1 at delta 1e-5 together. Exchanging "
        "one observation can change the records of two hexagons, so for it they cost at most epsilon "
        "2.155 at the same delta, provided that the number of non-empty hexagons stays the same. Not counted "
        "in this epsilon."
    )
    pay(ledger, sales.charge(ledger, "point"), "points")
    back = says(ledger, sales.charge(ledger, "cell"))["Other unit"]
    assert "protected single observations, at epsilon 1 at delta 1e-5 together" in back
    assert "only as a group of that many" in back
    part = says(ledger, sales.part(slice(0, 10)).charge(ledger, "cell"))
    assert "protected single observations" in part["Other unit"], "of overlapping data too"


def test_numbers_over_two_areas_are_said_to_reveal_the_strip(ledger: Ledger) -> None:
    """The finding: nested areas printed n = 293 and 284, so nine sensors lie in the strip."""
    sensors = market(400)
    pay(ledger, sensors.charge(ledger, area="outer", n=293), "outer")
    same = says(ledger, sensors.charge(ledger, area="outer", n=293))
    assert "Other numbers" not in same
    nested = says(ledger, sensors.charge(ledger, area="inner", n=284))["Other numbers"]
    assert nested == (
        "Earlier releases over other areas or filters stated 293 records. From two such numbers it can be "
        "computed exactly how many records lie in one area and not in the other, and no epsilon accounts for "
        "that."
    )
    filtered = says(ledger, sensors.part(slice(0, 300)).charge(ledger, area="outer", n=200))
    assert "stated 293 records" in filtered["Other numbers"], "another filter is another number too"


@pytest.mark.parametrize(("rows", "other"), [(slice(0, 400), False), (slice(1, 400), True)])
def test_another_column_of_the_very_records_states_no_other_number(
    ledger: Ledger, rows: slice, other: bool
) -> None:
    """A second gas of the same named sensors is no other area or filter; of one sensor fewer it is one."""
    sensors, names = market(400), np.array([f"sensor {number}" for number in range(400)])

    def charge(part: Market, names: np.ndarray, n: int) -> Charge:
        made = part.charge(ledger, area="town", n=n)
        return replace(made, records=ledger.record_keys(part.x, part.y, part.price, identity=names))

    first = pay(ledger, charge(sensors, names, 390), "first gas")
    part = sensors.part(rows)
    second = charge(Market(part.x, part.y, 1.7 * part.price[::-1]), names[rows], 389)
    assert set(recognised(ledger, second.records, second.dataset)) == {first}
    assert ("Other numbers" in says(ledger, second)) == other


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("point", "number of sales, which differ in one sale"),
        ("cell", "number of non-empty hexagons, which differ in one hexagon's record"),
    ],
)
def test_every_release_says_what_neighbours_are(ledger: Ledger, unit: str, words: str) -> None:
    text = says(ledger, market(10).charge(ledger, unit))["Neighbours"]
    assert words in text
    assert "exchanged for another within the area and the filters of this release" in text


@pytest.mark.parametrize(
    ("relation", "values_only", "how"),
    [
        ("replace-one", False, "exchanged for others"),
        ("replace-one", True, "in their values only,"),
        ("add-or-remove", False, "which may be there, be gone or be others,"),
    ],
)
def test_of_an_owner_all_readings_are_compared(relation: Relation, values_only: bool, how: str) -> None:
    protects: Protects = "values" if values_only else "values and places"
    alone = Protected("reading", relation=relation, protects=protects)
    said = neighbours_text(replace(alone, owner={"word": "sensor", "records": 12, "apart": False}))
    assert said.startswith(f"Two datasets that differ in all readings of one sensor, {how} within the area")
    assert "a single record is counted" in said
    assert "one sensor" not in neighbours_text(alone)


def test_accounts_without_hashes_are_said_to_be_unknown_until_they_are_charged_again(ledger: Ledger) -> None:
    """A dataset that an earlier version charged: nothing is known, then its records come with a charge."""
    sales = market(100)
    old = sales.charge(ledger)
    bare = charge_for(old.dataset, MU)
    ledger.set_budget(old.dataset, "point", 1.6, DELTA)
    release(ledger, bare, "old")
    part = sales.part(slice(0, 40)).charge(ledger)
    assert "1 dataset from before it kept hashes" in says(ledger, part)["Not compared"]
    pay(ledger, part, "part")
    preview = ledger.preview(old)
    assert "Not compared" not in says(ledger, old)
    assert preview.before > 1.4651699603554176 - 1e-9, "its own release and that of the part"
    with pytest.raises(BudgetExceeded):
        ledger.reserve(old)
    ledger.set_budget(old.dataset, "point", 5.0, DELTA, reason="agreed", person="Ada")
    release(ledger, old, "again")
    spent = [ledger.account(charge.dataset, "point").spent for charge in (old, part)]
    assert spent[0] == spent[1] > 1.83


def test_a_late_registration_counts_the_old_releases_against_the_others(ledger: Ledger) -> None:
    """A charge that brings an old dataset's records brings its old costs to the others' budgets too."""
    sales = market(100)
    old = sales.charge(ledger)
    ledger.set_budget(old.dataset, "point", 9.0, DELTA)
    release(ledger, charge_for(old.dataset, MU), "old")
    part = pay(ledger, sales.part(slice(0, 40)).charge(ledger), "part", budget=1.6)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(old)
    assert refused.value.sharing == part
    assert refused.value.after > 1.8


def test_where_a_record_may_be_added_no_line_counts_records(ledger: Ledger) -> None:
    sales = market(100)
    pay(ledger, sales.charge(ledger), "one")
    standing = ledger.preview(sales.charge(ledger), DELTA).standing
    assert standing is not None
    lines = {
        line.topic: line.text for line in account_lines(standing, Protected("sale", relation="add-or-remove"))
    }
    assert lines["Earlier releases"].endswith("How many they are is not published.")
    assert "whether it is there at all is hidden too" in lines["Neighbours"]
    assert not any("100" in text for text in lines.values())


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
def test_nothing_that_is_published_tells_whose_record_an_earlier_release_held(
    ledger: Ledger, relation: Relation
) -> None:
    """2,999 or 3,000 of 3,000, or rows beyond the area: a count tells whether one person was in both."""
    sales = market(301)
    pay(ledger, sales.part(slice(0, 200)).charge(ledger), "one")
    told = []
    for part in (slice(0, 200), slice(1, 201), slice(0, 300), slice(1, 301)):
        standing = ledger.preview(sales.part(part).charge(ledger), DELTA).standing
        assert standing is not None
        told.append(account_lines(replace(standing, other_numbers=()), Protected("sale", relation=relation)))
    assert told[0] == told[1] == told[2] == told[3]
    assert "Some or all of these records" in told[0][1].text

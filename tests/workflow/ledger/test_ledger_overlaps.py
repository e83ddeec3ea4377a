"""Overlapping data: whatever holds some of the same records is charged together, and the receipt says so."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.curve import RdpCurve
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.accounting.orders import ORDERS
from tests.workflow.ledger.places import DIGEST, Place, charge_for, release
from workflow.ledger import BudgetExceeded, Charge, Ledger, LedgerDamaged, LedgerError, Overlap, open_ledger
from workflow.ledger import records as records_module
from workflow.ledger.book import Book
from workflow.ledger.charge import encode
from workflow.ledger.entry import BUDGET, GENESIS, RECORDS, RESERVE, Draft
from workflow.ledger.key import LedgerKey
from workflow.ledger.records import Sketch, count_shared, matched, record_keys
from workflow.ledger.sentences import account_lines

DELTA = 1e-5
MU = 0.26805112321129176  # epsilon 1 at delta 1e-5
KEY = LedgerKey(Path("a.key"), bytes(range(32)))


@dataclass(frozen=True)
class Market:
    """Sales: places, prices and identifiers; a part of them is a dataset of its own."""

    x: np.ndarray
    y: np.ndarray
    price: np.ndarray

    def part(self, chosen: slice | np.ndarray) -> Market:
        return Market(self.x[chosen], self.y[chosen], self.price[chosen])

    def with_row(self, x: float, y: float, price: float) -> Market:
        return Market(np.append(self.x, x), np.append(self.y, y), np.append(self.price, price))

    def charge(self, ledger: Ledger, unit: str = "point", mu: float = MU, **facts: object) -> Charge:
        return Charge(
            ledger.fingerprint(self.x, self.y, self.price),
            unit,
            Cost.gaussian(mu),
            facts,
            ledger.record_keys(self.x, self.y, self.price),
        )


def market(n: int = 1000, seed: int = 3) -> Market:
    rng = np.random.default_rng(seed)
    return Market(
        rng.uniform(-0.5, 0.3, n), rng.uniform(51.3, 51.7, n), rng.integers(2000, 20000, n).astype(float) * 50
    )


def pay(ledger: Ledger, charge: Charge, name: str, budget: float = 10.0) -> str:
    """A whole release with a budget of its own; returns the fingerprint."""
    if ledger.preview(charge, DELTA).budget is None:
        ledger.set_budget(charge.dataset, charge.unit, budget, DELTA)
    release(ledger, charge, name)
    return charge.dataset


def says(ledger: Ledger, charge: Charge) -> dict[str, str]:
    standing = ledger.preview(charge, DELTA).standing
    assert standing is not None
    return {line.topic: line.text for line in account_lines(standing, "sale")}


# Charged together


def test_three_parts_of_one_file_share_what_they_spend(ledger: Ledger) -> None:
    """The finding: the same flats were in three releases of epsilon 1 with a budget each."""
    all_sales = market()
    flats, homes = all_sales.part(slice(0, 421)), all_sales.part(slice(0, 800))
    first = pay(ledger, flats.charge(ledger), "flats")
    planned = homes.charge(ledger)
    assert says(ledger, planned)["Earlier releases"] == (
        "421 of these 800 records were part of releases that cost epsilon 1 before; together 1.466. These "
        "numbers of records are treated as public."
    )
    (overlap,) = ledger.overlaps(planned.records, planned.dataset)
    assert (overlap.dataset, overlap.shared, overlap.exact, overlap.counted) == (first, 421, True, True)
    assert [account.charged for account in overlap.accounts] == [(3,)]
    assert overlap.accounts[0].spent == pytest.approx(1.0, abs=1e-9)
    second = pay(ledger, planned, "homes")
    third = all_sales.charge(ledger)
    assert "800 of these 1,000 records" in says(ledger, third)["Earlier releases"]
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


def test_parts_that_share_no_record_do_not_pay_for_each_other(ledger: Ledger) -> None:
    """East and west both overlap the whole, but no record is in east and in west."""
    sales = market(300)
    west, east = sales.part(slice(0, 100)), sales.part(slice(200, 300))
    pay(ledger, west.charge(ledger), "west")
    assert ledger.overlaps(east.charge(ledger).records) == ()
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
    drafts = [Draft(GENESIS, {"schema": 2, "ledger": "x", "key": "k"}, curve=encode(ORDERS))]
    for held, mu in releases:
        name = keys[frozenset(held)]
        if not any(draft.kind == RECORDS and draft.dataset == name for draft in drafts):
            before = {
                other: len(held & set(group))
                for group, other in keys.items()
                if any(draft.kind == RECORDS and draft.dataset == other for draft in drafts)
            }
            shares = {other: count for other, count in before.items() if count}
            drafts.append(Draft(RECORDS, {"n": len(held), "digest": DIGEST, "shares": shares}, name))
            budget = {"epsilon": 1e6, "delta": DELTA, "reason": "", "person": ""}
            drafts.append(Draft(BUDGET, budget, name, "point"))
        facts = {"facts": {}, "gaussian_mu": mu.hex()}
        drafts.append(Draft(RESERVE, facts, name, "point", curve=encode(RdpCurve.gaussian(mu).values)))
    for draft in drafts:
        last = draft.after(last)
        book.accept(last)
    for record in range(7):
        mus = [mu for held, mu in releases if record in held]
        true = gaussian_epsilon(math.sqrt(sum(mu * mu for mu in mus)), DELTA) if mus else 0.0
        for group, name in keys.items():
            if record in group:
                assert book.account(name, "point").epsilon(DELTA) >= true * (1 - 1e-12)


# What makes no fresh dataset


@pytest.mark.parametrize(
    "changed",
    [
        lambda m: m.with_row(150.0, -30.0, 1.0),
        lambda m: Market(m.x, m.y, m.price + 1e-9),
        lambda m: Market(m.x, m.y, np.where(np.arange(m.price.size) == 7, m.price + 1e-9, m.price)),
        lambda m: Market(m.x + 1e-9, m.y - 1e-9, m.price),
        lambda m: m.part(np.random.default_rng(0).permutation(m.x.size)),
    ],
    ids=["a far-away row", "all values by 1e-9", "one value by 1e-9", "all places by 1e-9", "another order"],
)
def test_a_small_change_makes_no_fresh_dataset(ledger: Ledger, changed: Callable[[Market], Market]) -> None:
    sales = market(500)
    pay(ledger, sales.charge(ledger), "first", budget=1.2)
    again = changed(sales).charge(ledger)
    assert ledger.preview(again).before == pytest.approx(1.0, abs=1e-9)
    shared = ledger.overlaps(again.records, "")[0].shared
    assert shared >= 499
    with pytest.raises(BudgetExceeded):
        ledger.reserve(again)


def test_an_identifier_is_recognised_whatever_else_was_changed() -> None:
    names = [f"{{A{number:05d}}}" for number in range(50)]
    x, y, value = np.linspace(0, 1, 50), np.linspace(50, 51, 50), np.linspace(1, 2, 50)
    sketch = record_keys(KEY, x, y, value, identity=names).sketch()
    moved = record_keys(KEY, x + 1, y, 7 * value, identity=[name.lower() for name in names])
    assert int(matched(moved, sketch).sum()) == 50
    others = record_keys(KEY, x, y, value, identity=[f"{{B{number:05d}}}" for number in range(50)])
    assert int(matched(others, sketch).sum()) == 0, "other transactions at the same place and price"
    unnamed = record_keys(KEY, x, y, value)
    assert int(matched(unnamed, sketch).sum()) == 50, "without identifiers, place and value tell"


def test_another_column_taken_for_the_name_makes_no_new_records() -> None:
    """The same 50 readings, first named by one column and then by another: they are still the same ones."""
    x, y, value = np.linspace(0, 1, 50), np.linspace(50, 51, 50), np.linspace(1, 2, 50)
    hours = np.datetime64("2023-01-01T00", "h") + np.arange(50)
    sketch = record_keys(KEY, x, y, value, time=hours, identity=[f"a{k}" for k in range(50)]).sketch()

    def shared(rows: int, hour: int) -> int:
        """Of 50 rows under new names so many are old ones; the rest are of another time."""
        time = hours + np.where(np.arange(50) < rows, 0, hour)
        keys = record_keys(KEY, x, y, value, time=time, identity=[f"b{k}" for k in range(50)])
        return int(matched(keys, sketch).sum())

    assert [shared(rows, 1000) for rows in (50, 25, 5)] == [50, 25, 5]
    assert [shared(rows, 1000) for rows in (4, 0)] == [0, 0], "a few agree by chance"


def test_times_tell_equal_readings_apart() -> None:
    x, y, value = np.zeros(24), np.full(24, 51.0), np.full(24, 20.0)
    hours = np.datetime64("2023-01-01T00", "h") + np.arange(24)
    day = record_keys(KEY, x, y, value, time=hours).sketch()
    next_day = record_keys(KEY, x, y, value, time=hours + 24)
    half = record_keys(KEY, x, y, value, time=hours + 12)
    assert [int(matched(keys, day).sum()) for keys in (next_day, half)] == [0, 12]
    with pytest.raises(LedgerError, match="one for each record"):
        record_keys(KEY, x, y, value, time=np.full(24, np.datetime64("NaT")))


def test_a_place_is_the_same_within_its_step_and_no_further() -> None:
    """18 m from north to south: around 0 the step of 1.618034e-4 degrees reaches from -6.70e-5 to 9.48e-5."""
    sketch = record_keys(KEY, [0.0], [0.0], [1.0]).sketch()

    def same(x: float) -> bool:
        return bool(matched(record_keys(KEY, [x], [0.0], [1.0]), sketch).all())

    assert [same(x) for x in (-6.8e-5, -6.6e-5, 9.4e-5, 9.6e-5)] == [False, True, True, False]


def test_equal_rows_count_as_often_as_they_stand_there() -> None:
    def keys(count: int) -> records_module.RecordKeys:
        return record_keys(KEY, np.zeros(count), np.zeros(count), np.ones(count))

    assert int(matched(keys(5), keys(3).sketch()).sum()) == 3
    assert int(matched(keys(3), keys(5).sketch()).sum()) == 3


def test_keys_of_another_ledger_share_nothing() -> None:
    sales = market(100)
    other = LedgerKey(Path("b.key"), bytes(32))
    sketch = record_keys(KEY, sales.x, sales.y, sales.price).sketch()
    assert not matched(record_keys(other, sales.x, sales.y, sales.price), sketch).any()


@pytest.mark.parametrize(
    "given",
    [
        {"longitude": [], "latitude": [], "value": []},
        {"longitude": [1.0], "latitude": [1.0, 2.0], "value": [1.0]},
        {"longitude": [1.0], "latitude": [math.nan], "value": [1.0]},
        {"longitude": [1.0], "latitude": [1.0], "value": [math.inf]},
        {"longitude": [1.0, 2.0], "latitude": [1.0, 2.0], "value": [1.0, 2.0], "identity": ["a", " "]},
        {"longitude": [1.0], "latitude": [1.0], "value": [1.0], "identity": ["a", "b"]},
        {"longitude": [1.0], "latitude": [1.0], "value": [1.0], "time": ["noon"]},
    ],
)
def test_records_that_cannot_be_hashed_are_refused(given: dict[str, list[float]]) -> None:
    with pytest.raises(LedgerError):
        record_keys(KEY, **given)  # type: ignore[arg-type]


# Large files


def test_a_sketch_keeps_few_hashes_and_errs_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 records sampled at rate 1/16: the number shared is estimated, its bound holds each time."""
    monkeypatch.setattr(records_module, "EXACT_RECORDS", 1300)
    rng = np.random.default_rng(8)
    far = market(40_000, seed=9)
    sketch = record_keys(KEY, *_columns(far.part(slice(0, 20_000)))).sketch()
    assert (sketch.n, sketch.shift, sketch.exact) == (20_000, 4, False)
    assert 1000 < sketch.kept["place"].size < 1500
    for shared in (20_000, 5_000, 300, 0):
        chosen = np.concatenate([rng.choice(20_000, shared, replace=False), 20_000 + np.arange(3000)])
        each, together = count_shared(record_keys(KEY, *_columns(far.part(chosen))), {"a": sketch})
        found = each["a"]
        assert not found.exact
        assert found.count <= found.most
        assert found.most >= shared, "the bound holds"
        assert abs(found.count - shared) <= 5 * math.sqrt(16 * shared) + 1
        assert found.most - shared <= 6 * math.sqrt(16 * shared) + 16 * 40
        assert together.count == found.count
    assert count_shared(record_keys(KEY, *_columns(market(50, 1))), {"a": sketch})[0]["a"].most == 50


def test_a_sampled_overlap_is_marked_as_an_estimate(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_module, "EXACT_RECORDS", 200)
    sales = market(2000)
    pay(ledger, sales.charge(ledger), "all")
    text = says(ledger, sales.part(slice(0, 1000)).charge(ledger))["Earlier releases"]
    assert text.startswith("About ")
    assert "(at most 1,000) of these 1,000 records" in text
    estimate = int(text.split()[1].replace(",", ""))
    assert 600 <= estimate <= 1000


def _columns(sales: Market) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return sales.x, sales.y, sales.price


def test_a_sketch_is_read_back_as_it_was_and_a_changed_one_is_refused() -> None:
    sales = market(30)
    names = [str(number) for number in range(30)]
    sketch = record_keys(KEY, *_columns(sales), identity=names, time=np.arange(30)).sketch()
    data = sketch.to_bytes()
    back = Sketch.from_bytes(data, hashlib.sha256(data).hexdigest())
    assert (back.n, back.shift, list(back.kept)) == (30, 0, ["identity", "moment", "place"])
    assert all(np.array_equal(back.kept[kind], sketch.kept[kind]) for kind in sketch.kept)
    with pytest.raises(LedgerDamaged):
        Sketch.from_bytes(data[:-1] + b"\x00", hashlib.sha256(data).hexdigest())


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
    assert not ledger.overlaps(planned.records, planned.dataset)[0].counted
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
    assert ledger.overlaps(euros.records, euros.dataset) == ()
    ledger.decide(euros.dataset, pounds, True, reason="the same sales in euros", person="Ada")
    assert says(ledger, euros)["Earlier releases"].startswith("All 100 records were part of releases")
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


# What lies in the database


def test_the_hashes_tell_nothing_without_the_key_and_a_change_is_found(place: Place, ledger: Ledger) -> None:
    sales = market(50)
    pay(ledger, sales.charge(ledger), "first")
    if place.sqlite:
        content = Path(place.address).read_bytes()
        for value in (*sales.x[:5], *sales.y[:5], *sales.price[:5]):
            for kind in ("<f8", ">f8"):
                assert value.astype(kind).tobytes() not in content
    for statement in ("DELETE FROM ledger_records", "UPDATE ledger_records SET dataset = 'x'"):
        with pytest.raises(Exception, match="append-only"):
            place.sql(statement)
    place.tamper("DELETE FROM ledger_records")
    assert "record hashes of dataset" in str(place.open().verify()[0])
    with pytest.raises(LedgerDamaged):
        place.open().preview(sales.part(slice(0, 10)).charge(ledger), DELTA)


def test_a_dataset_is_registered_once_and_read_by_another_process(place: Place, ledger: Ledger) -> None:
    sales = market(50)
    for name in ("first", "second"):
        pay(ledger, sales.charge(ledger), name)
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds.count("records") == 1
    found: tuple[Overlap, ...] = open_ledger(place.address, place.key).overlaps(sales.charge(ledger).records)
    assert [overlap.shared for overlap in found] == [50]


def test_where_a_record_may_be_added_no_line_counts_records(ledger: Ledger) -> None:
    sales = market(100)
    pay(ledger, sales.charge(ledger), "one")
    standing = ledger.preview(sales.charge(ledger), DELTA).standing
    assert standing is not None
    lines = {line.topic: line.text for line in account_lines(standing, "sale", "add-or-remove")}
    assert lines["Earlier releases"].endswith("How many they are is not published.")
    assert "whether it is there at all is hidden too" in lines["Neighbours"]
    assert not any("100" in text for text in lines.values())

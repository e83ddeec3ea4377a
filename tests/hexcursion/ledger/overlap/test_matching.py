"""Less telling kinds are believed where many agree; likeness warns, and a person's word joins the account."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hexcursion.ledger import BudgetExceeded, Ledger, LedgerError
from hexcursion.ledger import overlap as matching_module
from hexcursion.ledger.overlap import Likeness, Links, count_shared, likeness, matched
from hexcursion.ledger.places import LedgerKey
from hexcursion.ledger.records import RecordKeys, Sketch, _agreeing, record_keys
from hexcursion.ledger.sentences import Alike, alike_text
from tests.hexcursion.ledger.overlap.market import DELTA, MU, Market, market, pay, says

KEY = LedgerKey(Path("a.key"), bytes(range(32)))
N = 50
X, Y, VALUE, TIME = np.linspace(0, 1, N), np.linspace(50, 51, N), np.linspace(10, 20, N), np.arange(N)
FILE, OTHER_FILE = "ab" * 32, "cd" * 32


@pytest.mark.parametrize(
    ("agree", "found"), [(50, 50), (6, 6), (5, 5), (4, 0), (0, 0)], ids=["all", "six", "five", "four", "none"]
)
def test_places_and_times_are_believed_where_a_tenth_of_the_records_agree(agree: int, found: int) -> None:
    """The threshold: a tenth of 50 records. All values were exchanged for those of another column."""
    sketch = record_keys(KEY, X, Y, VALUE, time=TIME).sketch()
    time = np.where(np.arange(N) < agree, TIME, TIME + 1000)
    assert int(matched(record_keys(KEY, X, Y, 100 + VALUE, time=time), sketch).sum()) == found


def test_at_least_five_records_must_agree_or_all_of_fewer() -> None:
    sketch = record_keys(KEY, X[:20], Y[:20], VALUE[:20], time=TIME[:20]).sketch()

    def shared(rows: int, agree: int) -> int:
        time = np.where(np.arange(rows) < agree, TIME[:rows], TIME[:rows] + 1000)
        return int(matched(record_keys(KEY, X[:rows], Y[:rows], 100 + VALUE[:rows], time=time), sketch).sum())

    assert [shared(20, 5), shared(20, 4), shared(3, 3), shared(3, 2)] == [5, 0, 3, 0]


@pytest.mark.parametrize(("values", "found"), [(7, 0), (1000, N)], ids=["coarse", "fine"])
def test_values_so_coarse_that_chance_agrees_are_not_believed(values: int, found: int) -> None:
    """One station, 50 readings, the clock off by a day: 7 different values repeat, 1,000 do not."""
    level = np.random.default_rng(1).permutation(np.arange(N) % values).astype(float) + 1
    sketch = record_keys(KEY, np.zeros(N), np.zeros(N), level, time=TIME).sketch()
    again = record_keys(KEY, np.zeros(N), np.zeros(N), level, time=TIME + 10**6)
    assert int(matched(again, sketch).sum()) == found


def test_rows_that_a_planner_adds_do_not_hide_the_others() -> None:
    """Equal rows far away cost nothing in the map, and so many agreed by chance that nothing was believed."""
    names = np.arange(N).astype(str)
    sketch = record_keys(KEY, X, Y, VALUE, identity=np.char.add("a", names)).sketch()
    far = np.full(2 * N, 60.0)
    x, y, value = (np.concatenate([part, far]) for part in (X, Y, VALUE))
    disguised = record_keys(KEY, x, y, value, identity=np.char.add("b", np.arange(3 * N).astype(str)))
    assert int(matched(disguised, sketch).sum()) == N


COUNTERS = [
    np.arange(N),
    [str(k) for k in range(N)],
    [f"{k:09d}" for k in range(N)],
    [f"{k}.0" for k in range(N)],
]
LONG = [str(10_000_000 + k) for k in range(N)]


@pytest.mark.parametrize("names", COUNTERS, ids=["whole numbers", "texts", "padded", "with a point"])
def test_tables_of_strangers_that_are_both_numbered_share_nothing(names: list[str]) -> None:
    sketch = record_keys(KEY, X, Y, VALUE, identity=names, time=TIME).sketch()
    for time in (None, TIME, TIME + 10**6):
        others = record_keys(KEY, X + 3, Y, 100 + VALUE, identity=names, time=time)
        assert int(matched(others, sketch).sum()) == 0


@pytest.mark.parametrize(("names", "found"), [(LONG, N), ([f"well {k}" for k in range(N)], N)])
def test_any_other_identity_is_believed_whatever_was_changed(names: list[str], found: int) -> None:
    sketch = record_keys(KEY, X, Y, VALUE, identity=names).sketch()
    changed = record_keys(KEY, X + 3, Y, 100 + VALUE, identity=names)
    assert int(matched(changed, sketch).sum()) == found


@pytest.mark.parametrize(("agree", "found"), [(50, 50), (6, 6), (5, 5), (4, 0)])
def test_a_number_is_believed_with_its_place_or_its_value_where_a_tenth_agree(agree: int, found: int) -> None:
    names, other = np.arange(N), np.arange(N) >= agree
    sketch = record_keys(KEY, X, Y, VALUE, identity=names).sketch()
    revalued = record_keys(KEY, X + 3 * other, Y, 100 + VALUE, identity=names)
    moved = record_keys(KEY, X + 3, Y, VALUE + 100 * other, identity=names)
    assert [int(matched(keys, sketch).sum()) for keys in (revalued, moved)] == [found, found]
    renumbered = record_keys(KEY, X, Y, 100 + VALUE, identity=names[::-1])
    assert int(matched(renumbered, sketch).sum()) == 0


def test_a_number_is_not_believed_with_coarse_values_or_many_rows_of_a_place() -> None:
    names, place = np.arange(N), np.repeat(np.arange(5), 10)
    sketch = record_keys(KEY, place, place, VALUE, identity=names).sketch()
    assert int(matched(record_keys(KEY, place, place, 100 + VALUE, identity=names), sketch).sum()) == 0
    coarse = record_keys(KEY, X, Y, names % 2, identity=names)
    assert int(matched(record_keys(KEY, X + 3, Y, names % 2, identity=names), coarse.sketch()).sum()) == 0


def test_numbers_among_other_names_are_no_identity_and_the_names_are() -> None:
    """Each record by itself: of one place and value, or by its name."""
    names = [f"a{k}" if k % 2 else str(k) for k in range(N)]
    sketch = record_keys(KEY, X, Y, VALUE, identity=names).sketch()
    changed = record_keys(KEY, X + 3, Y, 100 + VALUE, identity=names)
    assert matched(changed, sketch).tolist() == [bool(k % 2) for k in range(N)]
    one = np.arange(N) == 4  # of which place and value are as they were
    changed = record_keys(KEY, np.where(one, X, X + 3), Y, np.where(one, VALUE, 100 + VALUE), identity=names)
    assert matched(changed, sketch).tolist() == [k % 2 == 1 or k == 4 for k in range(N)]


def test_a_row_of_the_same_file_is_the_same_record_whatever_was_chosen() -> None:
    sketch = record_keys(KEY, X, Y, VALUE, row=np.arange(N), file=FILE).sketch()

    def shared(**named: object) -> int:
        keys = record_keys(KEY, X[10:] + 5, Y[10:], 100 + VALUE[10:], **named)  # type: ignore[arg-type]
        return int(matched(keys, sketch).sum())

    rows = np.arange(10, N)
    assert shared(row=rows, file=FILE) == 40
    assert shared(row=rows, file=OTHER_FILE) == 0
    assert shared(row=rows, file=FILE, layer="another sheet") == 0
    assert shared(row=rows + 30, file=FILE) == 10
    assert shared(row=rows) == 0


def test_a_sampled_sketch_counts_the_kind_of_which_most_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A union of samples, one for each kind, would count a record as often as it is in one of them."""
    monkeypatch.setattr("hexcursion.ledger.records.EXACT_RECORDS", 1300)
    sales = market(20_000, seed=9)

    def keys_of(n: int) -> RecordKeys:
        at = np.arange(n)
        return record_keys(KEY, sales.x[:n], sales.y[:n], sales.price[:n], time=at, row=at, file=FILE)

    keys = keys_of(20_000)
    sketch = keys.sketch()
    shared = count_shared(keys, {"a": sketch})[0]["a"]
    assert sketch.shift == 4
    assert 18_000 <= shared.count <= 20_000
    assert 8_500 <= count_shared(keys_of(10_000), {"a": sketch})[1].count <= 10_000


# Likeness


@pytest.mark.parametrize(("common", "share"), [(10, 1.0), (8, 0.8), (7, None)])
def test_places_are_alike_from_four_in_five(common: int, share: float | None) -> None:
    sketch = record_keys(KEY, X, Y, VALUE).sketch()
    x = np.where(np.arange(10) < common, X[:10], X[:10] + 3)
    keys = record_keys(KEY, np.repeat(x, 3), np.repeat(Y[:10], 3), np.arange(30) + 500.0)
    assert likeness(keys, sketch) == (None if share is None else Likeness(share, False))


def test_a_file_is_alike_by_its_content() -> None:
    sketch = record_keys(KEY, X, Y, VALUE, row=TIME, file=FILE).sketch()
    other = record_keys(KEY, X + 3, Y, VALUE, row=TIME + N, file=FILE)
    assert likeness(other, sketch) == Likeness(0.0, True)
    assert likeness(record_keys(KEY, X + 3, Y, VALUE, row=TIME + N, file=OTHER_FILE), sketch) is None
    assert likeness(record_keys(KEY, X + 3, Y, VALUE), record_keys(KEY, X + 9, Y, VALUE).sketch()) is None


def test_many_places_are_compared_as_far_as_both_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("hexcursion.ledger.records", matching_module.__name__):
        monkeypatch.setattr(f"{module}.EXACT_RECORDS", 100)
    sales = market(1000)
    sketch = record_keys(KEY, sales.x, sales.y, sales.price).sketch()
    assert sketch.spots.size == 100
    assert likeness(record_keys(KEY, sales.x, sales.y, 2 * sales.price), sketch) == Likeness(1.0, False)
    assert likeness(record_keys(KEY, sales.x[:50], sales.y[:50], sales.price[:50] * 2), sketch) is not None
    far = market(1000, seed=77)
    assert likeness(record_keys(KEY, far.x, far.y, far.price), sketch) is None


def test_hashes_of_an_older_ledger_are_read_and_compared() -> None:
    """Until now a sketch held three kinds and nothing of files, places and chance."""
    keys = record_keys(KEY, X, Y, VALUE, time=TIME)
    kinds = ["moment", "place"]
    header = json.dumps({"n": N, "shift": 0, "kinds": kinds, "sizes": [N, N]}).encode()
    parts = [np.sort(keys.hashes[kind]).astype(">u8").tobytes() for kind in kinds]  # type: ignore[index]
    data = b"hexcursion-records-1\n" + header + b"\n" + b"".join(parts)
    sketch = Sketch.from_bytes(data, hashlib.sha256(data).hexdigest())
    assert (list(sketch.kept), sketch.spots.size, dict(sketch.chance), sketch.file) == (kinds, 0, {}, "")
    assert int(matched(keys, sketch).sum()) == N
    assert int(matched(record_keys(KEY, X, Y, VALUE, time=TIME + 7200), sketch).sum()) == N, "the clock"
    assert int(matched(record_keys(KEY, X, Y, 100 + VALUE, time=TIME), sketch).sum()) == 0
    assert likeness(record_keys(KEY, X, Y, 100 + VALUE), sketch) is None
    today = keys.sketch().to_bytes()
    assert Sketch.from_bytes(today, hashlib.sha256(today).hexdigest()).spots.size == N


# A person's word


def test_alike_data_are_shown_to_the_curator_and_stand_in_no_receipt(ledger: Ledger) -> None:
    sales = market(100)
    pounds = pay(ledger, sales.charge(ledger, title="Prices"), "pounds", budget=1.2)
    euros = Market(sales.x, sales.y, 1.17 * sales.price).charge(ledger)
    seen = ledger.preview(euros, DELTA)
    (alike,) = seen.alike
    assert (alike.dataset, alike.title, alike.places, alike.file, seen.before) == (
        pounds,
        "Prices",
        1.0,
        False,
        0,
    )
    assert set(says(ledger, euros)) == {"Neighbours"}
    ledger.decide(euros.dataset, pounds, True, reason="the same sales", person="Ada")
    joined = ledger.preview(euros, DELTA)
    assert joined.alike == ()
    assert joined.before == pytest.approx(1.0, abs=1e-9)
    assert ledger.entries()[-1].facts["person"] == "Ada"


def test_a_charge_may_say_whose_records_it_holds(ledger: Ledger) -> None:
    sales = market(100)
    pounds = pay(ledger, sales.charge(ledger), "pounds", budget=1.5)
    euros = replace(Market(sales.x, sales.y, 1.17 * sales.price).charge(ledger), same_as=(pounds,))
    assert "Earlier releases" in says(ledger, euros)
    before = ledger.entries()
    with pytest.raises(BudgetExceeded):
        ledger.reserve(replace(euros, cost=type(euros.cost).gaussian(2 * MU)))
    assert ledger.entries() == before, "a refusal writes nothing, no decision either"
    ledger.reserve(euros)
    assert [entry.kind for entry in ledger.entries()[len(before) :]] == [
        "link",
        "records",
        "budget",
        "reserve",
    ]
    assert ledger.account(pounds, "point").spent == pytest.approx(1.4651699603554176, rel=1e-9)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(euros)
    ledger.set_budget(pounds, "point", 9.0, DELTA, reason="agreed", person="Ada")
    ledger.set_budget(euros.dataset, "point", 9.0, DELTA, reason="agreed", person="Ada")
    ledger.reserve(euros)
    assert [entry.kind for entry in ledger.entries()].count("link") == 1
    assert ledger.verify() == []


def test_who_was_kept_apart_is_joined_by_a_decision_first(ledger: Ledger) -> None:
    sales = market(100)
    pounds = pay(ledger, sales.charge(ledger), "pounds")
    euros = replace(Market(sales.x, sales.y, 1.17 * sales.price).charge(ledger), same_as=(pounds,))
    ledger.decide(euros.dataset, pounds, False, reason="other sales", person="Ada")
    with pytest.raises(LedgerError, match="kept apart"):
        ledger.preview(euros, DELTA)
    assert ledger.preview(replace(euros, same_as=()), DELTA).alike == (), "a person has decided"


def test_charges_name_their_datasets(ledger: Ledger) -> None:
    pounds = pay(ledger, market(30).charge(ledger), "pounds")
    number = next(entry.number for entry in ledger.entries() if entry.kind == "reserve")
    assert ledger.datasets_of([number, number]) == (pounds,)
    with pytest.raises(LedgerError, match="is not a charge"):
        ledger.datasets_of([0])


@pytest.mark.parametrize(
    ("places", "file", "why"),
    [
        (1.0, False, "100% of its places"),
        (0.3, True, "its file"),
        (0.8, True, "80% of its places and its file"),
    ],
)
def test_what_is_alike_is_said(places: float, file: bool, why: str) -> None:
    assert alike_text(Alike("ab" * 32, 7, "Prices", places, file)).startswith(
        f"The release of ledger entry 7 (Prices) shares {why} with these data, but no record was recognised"
    )


def test_of_two_datasets_of_which_one_is_not_known_nothing_is() -> None:
    links = Links()
    links.register("known", {"n": 10, "digest": "0", "shares": {}})
    assert links.between("known", "other") == links.between("other", "known") == "unknown"
    assert links.between("one", "other") == "unknown"


@pytest.mark.parametrize(
    ("size", "agree", "many"), [(1_000, 7, True), (1_000, 4, False), (8, 5, True), (8, 4, False)]
)
def test_how_many_are_many_goes_by_what_a_sample_can_show(size: int, agree: int, many: bool) -> None:
    """Of 1,000 records a sample at rate 2^-4 shows 62: a tenth of these is enough. A kind of which nobody
    knows the chance is believed as one without."""
    keys = SimpleNamespace(n=size, chance={})
    sketch = SimpleNamespace(shift=4, kept={"place": np.arange(2_000)}, chance={"place": 1.0})
    again, found = np.arange(size) < agree, np.zeros(size, dtype=bool)
    sketch.shift = 4 if size == 1_000 else 0
    assert matching_module._many(again, found, keys, sketch, "place") is many  # type: ignore[arg-type]


def test_long_lists_of_places_are_compared_as_far_as_both_were_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching_module, "EXACT_RECORDS", 3)
    one, other = np.array([1, 2, 3], np.uint64), np.array([1, 3, 5], np.uint64)
    assert matching_module._share(one, other) == 1.0, "up to 3 the second has 1 and 3, and so has the first"


def test_numbers_from_a_sample_err_upwards() -> None:
    """P(Binomial(208, 1/16) <= 0) = 1.5e-6 and at 215 it is below 1e-6: 214 is the most for none found."""
    none, some = matching_module._scaled(0, 4, 10_000), matching_module._scaled(3, 4, 10_000)
    assert (none.count, none.most, none.exact) == (0, 214, False)
    assert (some.count, some.exact) == (48, False)
    assert some.most > none.most
    assert matching_module._scaled(0, 4, 100).most == 100


def test_the_chance_that_two_records_agree_is_that_of_pairs() -> None:
    """Three, two and one alike of six: 8 of 30 ordered pairs."""
    assert _agreeing(np.array([5, 5, 5, 7, 7, 9])) == pytest.approx(8.0 / 30.0)
    assert _agreeing(np.array([5, 5])) == 1.0
    assert _agreeing(np.array([5])) == 0.0


def test_hashes_of_places_may_be_missing() -> None:
    """As in a ledger of an earlier version: then nothing is alike by its places."""
    keys, sketch = RecordKeys({"place": np.arange(3, dtype=np.uint64)}), Sketch(3, 0, {})
    assert keys.spots.tolist() == sketch.spots.tolist() == []
    assert likeness(keys, sketch) is None

"""Records are recognised: what makes no fresh dataset, sketches of large files, what lies in the database."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hexcursion.ledger import BudgetExceeded, Ledger, LedgerDamaged, LedgerError, open_ledger
from hexcursion.ledger import records as records_module
from hexcursion.ledger.overlap import count_shared, matched
from hexcursion.ledger.places import LedgerKey
from hexcursion.ledger.records import Sketch, record_keys
from hexcursion.ledger.sentences import shared_text
from tests.hexcursion.ledger.overlap.market import DELTA, Market, market, pay
from tests.hexcursion.ledger.places import Place, recognised

KEY = LedgerKey(Path("a.key"), bytes(range(32)))


def test_a_sample_keeps_what_begins_with_zeros() -> None:
    """Of 64 bits; ledgers hold samples of years ago, so this rule stays as it is."""
    values = np.array([0, 2**60 - 1, 2**60, 2**61 - 1, 2**63], dtype=np.uint64)
    assert records_module.sampled(values, 4).tolist() == [True, True, False, False, False]
    assert records_module.sampled(values, 3).tolist() == [True, True, True, True, False]
    assert records_module.sampled(values, 0).all()


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
    (shared,) = recognised(ledger, again.records).values()
    assert shared.count >= 499
    with pytest.raises(BudgetExceeded):
        ledger.reserve(again)


def test_an_identifier_is_recognised_whatever_else_was_changed() -> None:
    names = [f"{{A{number:05d}}}" for number in range(50)]
    x, y, value = np.linspace(0, 1, 50), np.linspace(50, 51, 50), np.linspace(1, 2, 50)
    sketch = record_keys(KEY, x, y, value, identity=names).sketch()
    moved = record_keys(KEY, x + 1, y, 7 * value, identity=[name.lower() for name in names])
    assert int(matched(moved, sketch).sum()) == 50
    others = [f"{{B{number:05d}}}" for number in range(50)]
    other = np.arange(50) >= 4
    few = record_keys(KEY, x, y, np.where(other, value + 1, value), identity=others)
    assert int(matched(few, sketch).sum()) == 0, "four other transactions at the same place and price"
    renamed = record_keys(KEY, x, y, value, identity=others)
    assert int(matched(renamed, sketch).sum()) == 50, "all of them are the same ones under other names"
    unnamed = record_keys(KEY, x, y, value)
    assert int(matched(unnamed, sketch).sum()) == 50, "without identifiers, place and value tell"


def test_another_column_taken_for_the_name_makes_no_new_records() -> None:
    """The same 50 readings, first named by one column and then by another: they are still the same ones."""
    x, y, value = np.linspace(0, 1, 50), np.linspace(50, 51, 50), np.linspace(1, 2, 50)
    hours = np.datetime64("2023-01-01T00", "h") + np.arange(50)
    sketch = record_keys(KEY, x, y, value, time=hours, identity=[f"a{k}" for k in range(50)]).sketch()

    def shared(rows: int) -> int:
        """Of 50 rows under new names so many are old ones; the rest are of another time and value."""
        old = np.arange(50) < rows
        time, values = hours + np.where(old, 0, 1000), np.where(old, value, value + 5)
        keys = record_keys(KEY, x, y, values, time=time, identity=[f"b{k}" for k in range(50)])
        return int(matched(keys, sketch).sum())

    assert [shared(rows) for rows in (50, 25, 6, 5)] == [50, 25, 6, 5]
    assert [shared(rows) for rows in (4, 0)] == [0, 0], "a few agree by chance"


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


@pytest.mark.parametrize(("records", "shift"), [(200, 0), (201, 1), (400, 1), (401, 1), (402, 2)])
def test_every_hash_is_kept_of_as_many_records_as_the_limit(
    records: int, shift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_module, "EXACT_RECORDS", 200)
    assert record_keys(KEY, *_columns(market(records))).sketch().shift == shift


def test_a_sampled_overlap_is_marked_as_an_estimate(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_module, "EXACT_RECORDS", 200)
    sales = market(2000)
    pay(ledger, sales.charge(ledger), "all")
    standing = ledger.preview(sales.part(slice(0, 1000)).charge(ledger), DELTA).standing
    assert standing is not None
    text = shared_text(standing)
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
    assert (back.n, back.shift, list(back.kept)) == (
        30,
        0,
        ["identity", "moment", "place", "occasion", "reading", "numbered place", "numbered value"],
    )
    assert all(np.array_equal(back.kept[kind], sketch.kept[kind]) for kind in sketch.kept)
    with pytest.raises(LedgerDamaged):
        Sketch.from_bytes(data[:-1] + b"\x00", hashlib.sha256(data).hexdigest())


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
    found = recognised(open_ledger(place.address, place.key), sales.charge(ledger).records)
    assert [shared.count for shared in found.values()] == [50]


@pytest.mark.filterwarnings("error")
def test_values_that_no_measure_reaches_are_taken_for_each_other() -> None:
    seen = [
        record_keys(KEY, [0.1], [51.5], [value]).hashes["place"].tolist()
        for value in (1e308, 1.7e308, -1e308)
    ]
    assert seen[0] == seen[1] != seen[2]

"""A plan leaves no ledger behind: an empty one answers it, and the charge that follows begins it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpgp_core.accounting.composition import Cost
from hexcursion.ledger import Charge, LedgerError, begin, ledger_to_plan, open_ledger
from hexcursion.ledger.chain import witness_path
from hexcursion.ledger.places import create_key, witness_folder
from tests.hexcursion.ledger.places import recognised

DATASET, DELTA = "ab" * 32, 1e-5


def charge(epsilon: float) -> Charge:
    """A pure one, so that it costs what it says."""
    return Charge(DATASET, "point", Cost.pure(epsilon))


def test_a_plan_asks_an_empty_ledger_and_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "new" / "ledger.sqlite"
    ledger = ledger_to_plan(place)
    preview = ledger.preview(charge(0.5), DELTA)
    assert (preview.budget, preview.before) == (None, 0.0)
    assert preview.asked == pytest.approx(0.5, rel=1e-4)
    assert ledger.accounts() == ()
    assert recognised(ledger, ledger.record_keys([0.1, 0.2], [51.0, 51.1], [1.0, 2.0])) == {}
    with pytest.raises(LedgerError, match="is not begun: open it before anything is charged"):
        ledger.set_budget(DATASET, "point", 1.0, DELTA)
    assert list(tmp_path.iterdir()) == []
    assert not witness_path(ledger._key).exists()


def test_what_was_planned_is_begun_under_the_same_key(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    planned = ledger_to_plan(place)
    begun = begin(planned)
    assert begun.identity == planned.identity
    assert begun.fingerprint([1.0, 2.0]) == planned.fingerprint([1.0, 2.0])
    begun.set_budget(DATASET, "point", 1.0, DELTA)
    begun.reserve(charge(0.5))
    assert begin(begun) is begun
    again = ledger_to_plan(str(place))
    assert again.preview(charge(0.25), DELTA).before == pytest.approx(0.5, rel=1e-4)
    assert again.identity == open_ledger(place).identity == planned.identity


def test_a_ledger_begun_by_another_in_the_meantime_has_another_identity(tmp_path: Path) -> None:
    planned = ledger_to_plan(tmp_path / "ledger.sqlite")
    first = open_ledger(tmp_path / "ledger.sqlite")
    begun = begin(planned)
    assert begun.identity == first.identity != planned.identity
    assert begun.verify() == []


def test_all_plans_of_a_process_have_one_key_until_it_is_begun(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    first, second = ledger_to_plan(place), ledger_to_plan(place)
    assert first.identity == second.identity != ledger_to_plan(tmp_path / "other.sqlite").identity
    begin(first).set_budget(DATASET, "point", 1.0, DELTA)
    assert begin(second).account(DATASET, "point").budget is not None
    for file in (place, first._key.path, witness_path(first._key)):
        file.unlink()
    assert ledger_to_plan(place).identity != first.identity


def test_a_key_that_waits_is_the_one_that_is_planned_with(tmp_path: Path) -> None:
    key = tmp_path / "ledger.key"
    key.write_text("5a" * 32 + "\n", encoding="ascii")
    key.chmod(0o600)
    planned = ledger_to_plan(tmp_path / "ledger.sqlite")
    assert key.read_text(encoding="ascii") == "5a" * 32 + "\n"
    assert begin(planned).identity == planned.identity


def test_a_plan_made_while_another_begins_with_the_same_key_reads_what_is_begun(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    create_key(tmp_path / "ledger.key")  # the other process has come so far
    planned = ledger_to_plan(place)
    assert planned.preview(charge(0.25), DELTA).before == 0.0
    other = open_ledger(place)
    other.set_budget(DATASET, "point", 1.0, DELTA)
    keys = other.record_keys([0.1, 0.2], [51.0, 51.1], [1.0, 2.0])
    other.reserve(Charge(DATASET, "point", Cost.pure(0.5), records=keys))
    assert planned.preview(charge(0.25), DELTA).before == pytest.approx(0.5, rel=1e-4)
    assert list(recognised(planned, keys)) == [DATASET]
    assert planned.verify() == []
    assert begin(planned).entries() == other.entries()


def test_a_ledger_that_was_lost_is_no_empty_one(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    open_ledger(place).set_budget(DATASET, "point", 1.0, DELTA)
    place.unlink()
    with pytest.raises(LedgerError, match="is empty or gone, but its key remembers 2 entries"):
        ledger_to_plan(place)


def test_where_no_ledger_can_be_begun_a_plan_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "ledger.sqlite"
    with pytest.raises(LedgerError) as error:
        ledger_to_plan(place)
    assert str(error.value) == (
        f"The ledger {place} cannot be created: nothing can be written in {tmp_path / 'file'}."
    )
    assert list(witness_folder().iterdir()) == []

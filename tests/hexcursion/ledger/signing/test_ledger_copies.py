"""Old copies are found by the witness, and the database itself refuses to change the past."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hexcursion.ledger import LedgerDamaged, LedgerError, open_ledger
from hexcursion.ledger.chain import Witness, advance_witness, read_witness
from hexcursion.ledger.places import read_key
from tests.hexcursion.ledger.damaged import fill, named
from tests.hexcursion.ledger.places import Place, charge_for, release

# Old copies


def test_a_restored_old_copy_is_found_by_the_witness(make_place: Callable[[str], Place]) -> None:
    place = fill(make_place("sqlite"))
    backup = Path(place.address).with_suffix(".backup")
    shutil.copy(place.address, backup)
    ledger = place.open()
    dataset = ledger.accounts()[0].dataset
    number = release(ledger, charge_for(dataset, 0.1), "after the backup")
    seal = f"{number}:{ledger.entries()[number].hash}"
    shutil.copy(backup, place.address)
    assert "was cut short or an old copy was restored" in str(place.open().verify()[0])
    with pytest.raises(LedgerDamaged):
        place.open().reserve(charge_for(dataset, 0.1))

    place.witness.unlink()  # the thorough attacker; a released bundle still tells
    assert place.open().verify() == []
    assert named(place) == []
    assert [finding.entry for finding in place.open().verify([seal])] == [number]


def test_a_chain_regrown_from_an_old_copy_is_not_the_one_remembered(
    make_place: Callable[[str], Place],
) -> None:
    place = fill(make_place("sqlite"))
    dataset = place.open().accounts()[0].dataset
    backup, memory = Path(place.address).read_bytes(), place.witness.read_bytes()
    number = release(place.open(), charge_for(dataset, 0.1), "one history")
    seal = f"{number}:{place.open().entries()[number].hash}"
    remembered = place.witness.read_bytes()
    Path(place.address).write_bytes(backup)
    place.witness.write_bytes(memory)
    release(place.open(), charge_for(dataset, 0.2), "another history")
    assert named(place) == []
    assert "not the entry that was noted elsewhere" in str(place.open().verify([seal])[0])
    place.witness.write_bytes(remembered)
    assert "is not the entry that this machine has seen" in str(place.open().verify()[0])


def test_a_changed_witness_is_reported(filled: Place) -> None:
    text = filled.witness.read_text()
    for bad in (
        text.replace("10", "11"),
        text.replace("10", "9"),
        "{}",
        "[]",
        "",
        text[:-3],
        '{"entries": 1}',
    ):
        filled.witness.write_text(bad)
        findings = filled.open().verify()
        assert len(findings) == 1
        assert "was changed by another hand" in str(findings[0])
        with pytest.raises(LedgerDamaged):
            filled.open().accounts()
    filled.witness.write_text(text)
    assert named(filled) == []


def test_a_late_writer_does_not_turn_the_witness_back(filled: Place) -> None:
    """Two processes commit in one order and reach the witness in the other."""
    key = read_key(filled.key)
    latest = read_witness(key)
    assert latest is not None
    advance_witness(key, Witness(latest.entries - 1, "0" * 64))
    assert read_witness(key) == latest
    advance_witness(key, Witness(latest.entries + 1, "0" * 64))
    assert read_witness(key) == Witness(latest.entries + 1, "0" * 64)


def test_a_second_machine_begins_its_own_witness(
    filled: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = tmp_path / "second"
    machine.mkdir(mode=0o700)
    shutil.copy2(filled.key, machine / "copy.key")
    dataset = filled.open().accounts()[0].dataset
    release(filled.open(), charge_for(dataset, 0.01), "from the first")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("HEXCURSION_WITNESS", str(machine / "state"))
        second = open_ledger(filled.address, machine / "copy.key")
        release(second, charge_for(dataset, 0.01), "from the second")
        assert second.verify() == []
        own = read_witness(read_key(machine / "copy.key"))
    assert filled.open().verify() == []
    first = read_witness(read_key(filled.key))
    assert own is not None
    assert first is not None
    assert (own.entries, first.entries) == (16, 13)


def test_seals_are_checked_for_their_form(filled: Place) -> None:
    ledger = filled.open()
    entry = ledger.entries()[2]
    assert ledger.verify([f"2:{entry.hash}"]) == []
    assert [finding.entry for finding in ledger.verify([f"2:{'0' * 64}", f"99:{entry.hash}"])] == [2, 99]
    for bad in ("", "2", "two:abc", "-1:abc"):
        with pytest.raises(LedgerError, match="NUMBER:HASH"):
            ledger.verify([bad])


# The database's own guard


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_entries SET curve = ''",
        "DELETE FROM ledger_entries",
        "DELETE FROM ledger_entries WHERE number = 9",
        "UPDATE ledger_head SET entries = 5",
        "UPDATE ledger_head SET hash = ''",
        "UPDATE ledger_head SET id = 2, entries = entries + 1",
        "DELETE FROM ledger_head",
        "INSERT INTO ledger_entries SELECT number + 5, kind, created, dataset, unit, refers_to, curve, body, "
        "previous, hash FROM ledger_entries WHERE number = 9",
    ],
)
def test_plain_sql_cannot_change_the_past(filled: Place, statement: str) -> None:
    with pytest.raises(Exception, match=r"append-only|without gaps|only moves forward"):
        filled.sql(statement)
    assert named(filled) == []


def test_insert_or_replace_and_truncate_are_refused_too(filled: Place) -> None:
    statements = (
        ["REPLACE INTO ledger_entries SELECT * FROM ledger_entries WHERE number = 3"]
        if filled.sqlite
        else ["TRUNCATE ledger_entries", "TRUNCATE ledger_head"]
    )
    for statement in statements:
        with pytest.raises(Exception, match=r"append-only|without gaps"):
            filled.sql(statement)
    assert named(filled) == []


def test_a_missing_trigger_is_a_finding(filled: Place) -> None:
    if filled.sqlite:
        filled.sql("DROP TRIGGER ledger_entries_no_update")
    else:
        filled.sql("ALTER TABLE ledger_entries DISABLE TRIGGER ledger_entries_no_update")
    assert [str(finding) for finding in filled.open().verify()] == [
        "The append-only trigger ledger_entries_no_update is missing or switched off."
    ]


def test_a_weakened_trigger_is_a_finding(make_place: Callable[[str], Place]) -> None:
    place = fill(make_place("sqlite"))
    with sqlite3.connect(place.address) as connection:
        connection.execute("DROP TRIGGER ledger_entries_no_update")
        connection.execute(
            "CREATE TRIGGER ledger_entries_no_update BEFORE UPDATE ON ledger_entries BEGIN SELECT 1; END"
        )
    connection.close()
    assert "ledger_entries_no_update" in str(place.open().verify()[0])

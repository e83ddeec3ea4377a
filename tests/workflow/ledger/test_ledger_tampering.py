"""Tampering: whatever is changed behind the ledger's back is found, and the row is named."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from tests.workflow.ledger.places import Place, charge_for, release
from workflow.ledger import Entry, LedgerDamaged, LedgerError, chain, open_ledger
from workflow.ledger.chain import check_chain, sign_head
from workflow.ledger.key import read_key
from workflow.ledger.store import Head, Snapshot, Store
from workflow.ledger.witness import Witness, advance_witness, read_witness

COLUMNS = [field.name for field in fields(Entry)]


@pytest.fixture
def filled(place: Place) -> Place:
    """Rows of every kind but `orders`."""
    return fill(place)


def fill(place: Place) -> Place:
    ledger = place.open()
    dataset = ledger.fingerprint(np.arange(3.0))
    ledger.set_budget(dataset, "point", 2.0, 1e-5)
    release(ledger, charge_for(dataset, 0.1, note="first"), "first")
    ledger.reserve(charge_for(dataset, 0.1)).release_unused()
    broken = ledger.reserve(charge_for(dataset, 0.1))
    ledger.void(broken.number, "power cut", "Ada")
    ledger.set_budget(dataset, "point", 3.0, 1e-5, reason="agreed", person="Ada")
    assert ledger.verify() == []
    return place


def named(place: Place) -> list[int | None]:
    return [finding.entry for finding in place.open().verify()]


def snapshot_of(place: Place) -> Snapshot:
    return Store(place.url).read()


# Single bits


def test_any_bit_flip_of_any_byte_names_the_row(make_place: Callable[[str], Place]) -> None:
    """Every byte of every column of every row, one random bit each (seeded: the choice is not the point)."""
    place = fill(make_place("sqlite"))
    snapshot, key = snapshot_of(place), read_key(place.key)
    choose = random.Random(20260617)
    flips = 0
    for entry in snapshot.entries:
        for column in COLUMNS:
            value = getattr(entry, column)
            if value is None or isinstance(value, int):
                continue  # below
            data = value.encode()
            for position in range(len(data)):
                flipped = bytearray(data)
                flipped[position] ^= 1 << choose.randrange(8)
                text = bytes(flipped).decode("utf-8", "surrogateescape")
                bad = replace(entry, **{column: text})
                findings = list(chain._rows([*snapshot.entries[: entry.number], bad]))
                assert [finding.entry for finding in findings] == [entry.number], (entry.number, column)
                flips += 1
    assert flips > 20_000
    assert check_chain(snapshot, key, read_witness(key)) == []


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flip_in_the_database_names_that_row_and_no_other(filled: Place, step: int) -> None:
    """Every column of every row (every `step`-th pair), in the database itself; then it is put back."""
    choose = random.Random(4)
    before = snapshot_of(filled)
    for entry in before.entries:
        for column in COLUMNS[1 + entry.number % step :: step]:
            value = getattr(entry, column)
            if isinstance(value, str) and value:
                position = choose.randrange(len(value))
                flipped = chr(ord(value[position]) ^ (1 << choose.randrange(5)))
                bad: object = value[:position] + flipped + value[position + 1 :]
            else:
                bad = 2 if value is None else value + 1 if isinstance(value, int) else "x"
            change = f"UPDATE ledger_entries SET {column} = :value WHERE number = :number"
            filled.tamper(change, value=bad, number=entry.number)
            assert named(filled) == [entry.number], column
            with pytest.raises(LedgerDamaged, match=f"entry {entry.number}"):
                filled.open().accounts()
            filled.tamper(change, value=value, number=entry.number)
    assert named(filled) == []
    assert snapshot_of(filled) == before


def test_undecodable_bytes_and_other_types_are_reported_not_raised(
    make_place: Callable[[str], Place],
) -> None:
    place = fill(make_place("sqlite"))
    for column in ("kind", "body", "hash", "curve"):
        kept = getattr(snapshot_of(place).entries[2], column)
        place.tamper(
            f"UPDATE ledger_entries SET {column} = CAST(:value AS TEXT) WHERE number = 2",
            value=b"\xff\x80\x00a",
        )
        assert named(place) == [2]
        place.tamper(f"UPDATE ledger_entries SET {column} = :value WHERE number = 2", value=kept)
    assert named(place) == []


def test_a_flipped_row_number_is_a_missing_row(filled: Place) -> None:
    filled.tamper("UPDATE ledger_entries SET number = 4098 WHERE number = 2")
    assert 2 in named(filled)
    with pytest.raises(LedgerDamaged):
        filled.open().accounts()


def test_a_flip_anywhere_in_the_file_is_found_or_changes_no_entry(make_place: Callable[[str], Place]) -> None:
    """300 random bits of the raw SQLite file: found, refused, or in space that holds nothing."""
    place = fill(make_place("sqlite"))
    path, before = Path(place.address), snapshot_of(place)
    original = path.read_bytes()
    choose = random.Random(7)
    found = 0
    for _ in range(300):
        data = bytearray(original)
        data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        path.write_bytes(data)
        try:
            damaged = bool(place.open().verify())
        except LedgerError:
            damaged = True
        found += damaged
        if not damaged:
            assert snapshot_of(place) == before
    assert found > 150
    path.write_bytes(original)
    assert named(place) == []


@pytest.mark.parametrize("column", ["entries", "hash", "signature"])
def test_a_flip_in_the_head_is_the_heads(filled: Place, column: str) -> None:
    head = snapshot_of(filled).head
    assert head is not None
    value = getattr(head, column)
    bad = value + 1 if isinstance(value, int) else ("1" if value[0] == "0" else "0") + value[1:]
    filled.tamper(f"UPDATE ledger_head SET {column} = :value", value=bad)
    assert named(filled) == [None]
    filled.tamper("DELETE FROM ledger_head")
    assert "head record is missing" in str(filled.open().verify()[0])


# Whole rows


def test_deleted_rows_are_named_wherever_they_stood(filled: Place) -> None:
    count = len(snapshot_of(filled).entries)
    for number in (count - 1, 3, 0):
        rows = snapshot_of(filled)
        filled.tamper("DELETE FROM ledger_entries WHERE number = :number", number=number)
        assert named(filled) == [number]
        with pytest.raises(LedgerDamaged):
            filled.open().set_budget("ab" * 32, "point", 1.0, 1e-5)
        values = {name: getattr(rows.entries[number], name) for name in COLUMNS}
        names = ", ".join(COLUMNS)
        marks = ", ".join(f":{name}" for name in COLUMNS)
        filled.tamper(f"INSERT INTO ledger_entries ({names}) VALUES ({marks})", **values)
        assert named(filled) == []


def test_an_emptied_database_is_not_begun_anew(filled: Place) -> None:
    filled.tamper("DELETE FROM ledger_entries", "DELETE FROM ledger_head")
    with pytest.raises(LedgerError, match="its key remembers 10 entries"):
        filled.open()
    if filled.sqlite:
        Path(filled.address).unlink()
        with pytest.raises(LedgerError, match="its key remembers 10 entries"):
            filled.open()


def test_a_rewritten_chain_fails_without_the_key(filled: Place) -> None:
    """The charge is made smaller and every later hash recomputed: only the signature can tell."""
    rows = list(snapshot_of(filled).entries)
    rows[2] = replace(rows[2], curve=rows[4].curve[:-16] + "0" * 16)
    for number in range(2, len(rows)):
        rows[number] = replace(rows[number], previous=rows[number - 1].hash).sealed()
    for row in rows[2:]:
        filled.tamper(
            "UPDATE ledger_entries SET curve = :curve, previous = :previous, hash = :hash "
            "WHERE number = :number",
            **{name: getattr(row, name) for name in ("curve", "previous", "hash", "number")},
        )
    texts = [str(finding) for finding in filled.open().verify()]
    assert any("not the entry that the head signs" in text for text in texts)
    filled.tamper("UPDATE ledger_head SET hash = :hash", hash=rows[-1].hash)
    assert "signature does not hold" in str(filled.open().verify()[0])


def test_a_replaced_row_does_not_fit_the_next(filled: Place) -> None:
    """A row that is consistent in itself: the next row quotes another hash."""
    row = snapshot_of(filled).entries[2]
    cheaper = replace(row, body=row.body.replace("first", "worst")).sealed()
    filled.tamper(
        "UPDATE ledger_entries SET body = :body, hash = :hash WHERE number = 2",
        body=cheaper.body,
        hash=cheaper.hash,
    )
    assert [str(finding) for finding in filled.open().verify()] == [
        "entry 3: does not follow the entry before it: one of the two was replaced."
    ]


def test_rows_appended_without_the_key_are_named(filled: Place) -> None:
    last = snapshot_of(filled).entries[-1]
    extra = replace(last, number=last.number + 1, previous=last.hash).sealed()
    names = ", ".join(COLUMNS)
    marks = ", ".join(f":{name}" for name in COLUMNS)
    filled.tamper(
        f"INSERT INTO ledger_entries ({names}) VALUES ({marks})",
        **{name: getattr(extra, name) for name in COLUMNS},
    )
    assert named(filled) == [extra.number]
    assert "without the key" in str(filled.open().verify()[0])


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


# What a holder of the key could still get wrong


def test_a_signed_row_that_may_not_stand_there_is_named(make_place: Callable[[str], Place]) -> None:
    place = fill(make_place("sqlite"))
    snapshot, key = snapshot_of(place), read_key(place.key)
    last = snapshot.entries[-1]

    def extended(**changes: object) -> list[int | None]:
        extra = replace(last, number=last.number + 1, previous=last.hash, **changes).sealed()  # type: ignore[arg-type]
        rows = (*snapshot.entries, extra)
        return [finding.entry for finding in check_chain(Snapshot(rows, sign_head(key, extra)), key, None)]

    assert extended() == []
    for bad in (
        {"kind": "genesis"},
        {"kind": "refund"},
        {"kind": "void", "refers_to": 2, "body": '{"person":"Eve","reason":"because"}'},
        {"kind": "commit", "refers_to": 5, "body": '{"digest":"","release_id":"x"}'},
        {"kind": "draw", "refers_to": 1},
        {"body": "{}"},
        {"body": "not json"},
        {"unit": "sale"},
        {"body": '{"delta":1e-05,"epsilon":1e9,"person":"","reason":""}'},
        {"kind": "reserve", "curve": "00" * 8, "body": '{"facts":{},"gaussian_mu":null}'},
    ):
        assert extended(**bad) == [last.number + 1], bad


def test_heads_of_other_keys_do_not_pass(filled: Place) -> None:
    snapshot, key = snapshot_of(filled), read_key(filled.key)
    stranger = replace(key, secret=bytes(32))
    signed = Snapshot(snapshot.entries, sign_head(stranger, snapshot.entries[-1]))
    assert [finding.entry for finding in check_chain(signed, key, None)] == [None]
    assert [finding.entry for finding in check_chain(signed, stranger, None)] == [0]
    for signature in (None, 3, b"", "é"):
        assert snapshot.head is not None
        odd = Head(snapshot.head.entries, snapshot.head.hash, signature)  # type: ignore[arg-type]
        assert check_chain(Snapshot(snapshot.entries, odd), key, None)

"""Tampering with bits and rows: whatever is changed behind the ledger's back is found, and the row named."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from hexcursion.ledger import Entry, LedgerDamaged, LedgerError, chain
from hexcursion.ledger.chain import check_chain, read_witness, sign_head
from hexcursion.ledger.places import read_key
from hexcursion.ledger.store import Head, Snapshot
from tests.hexcursion.ledger.damaged import fill, named, snapshot_of
from tests.hexcursion.ledger.places import Place
from tests.patience import LONG

COLUMNS = [field.name for field in fields(Entry)]


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


def test_a_flip_in_the_database_names_that_row_and_no_other(filled: Place) -> None:
    """Every column of every row (every `step`-th pair), in the database itself; then it is put back."""
    step, choose = 1 if LONG else 7, random.Random(4)
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


@pytest.mark.slow
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

"""The key: who may read it, which ledger it belongs to, and the names it gives to datasets."""

from __future__ import annotations

import hmac
import math
import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hexcursion.ledger import LedgerError, open_ledger
from hexcursion.ledger.places import LedgerKey, create_key
from tests.hexcursion.ledger.places import Place, charge_for, release

KEY = LedgerKey(Path("a.key"), bytes(range(32)))
OTHER = LedgerKey(Path("b.key"), bytes(range(1, 33)))
TABLES = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.just(3)))


def test_a_new_key_belongs_to_no_ledger_yet() -> None:
    assert not KEY.used


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(table: np.ndarray, random: object) -> None:
    order = list(range(len(table)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert KEY.fingerprint(*table.T) == KEY.fingerprint(*table[order].T)
    assert KEY.fingerprint(*table.T) != OTHER.fingerprint(*table.T)


@given(TABLES, st.data())
def test_any_other_record_is_another_dataset(table: np.ndarray, data: st.DataObject) -> None:
    changed = table.copy()
    row = data.draw(st.integers(0, len(table) - 1))
    column = data.draw(st.integers(0, 2))
    old = table[row, column]
    changed[row, column] = 1.0 if np.isnan(old) or old == 0 else math.nextafter(old, 0.0)
    assert KEY.fingerprint(*changed.T) != KEY.fingerprint(*table.T)
    assert KEY.fingerprint(*np.vstack([table, table[:1]]).T) != KEY.fingerprint(*table.T)


def test_equal_numbers_have_one_name() -> None:
    assert KEY.fingerprint([0.0, np.nan], [1, 2]) == KEY.fingerprint([-0.0, -np.nan], [1.0, 2.0])
    assert KEY.fingerprint([1, 2], [3, 4]) != KEY.fingerprint([1, 3], [2, 4]), "columns are not mixed up"
    assert KEY.fingerprint([1, 2], [3, 4]) != KEY.fingerprint([1, 2], [4, 3]), "records stay together"
    assert KEY.fingerprint([1, 2, 3, 4]) != KEY.fingerprint([1, 3], [2, 4]), "nor is the shape"
    with pytest.raises(LedgerError, match="no records"):
        KEY.fingerprint([], [])


def test_a_dataset_keeps_its_name_from_version_to_version() -> None:
    """By hand: HMAC of "dataset", a zero byte, "3x2:" and the sorted rows. Another name is a fresh budget."""
    rows = struct.pack(">6d", 1, 2, 1, 4, 3, 5)
    right = hmac.new(bytes(range(32)), b"dataset\0" + b"3x2:" + rows, "sha256").hexdigest()
    assert KEY.fingerprint([3, 1, 1], [5, 4, 2]) == right


def test_a_key_is_on_the_disk_whole_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut leaves the whole key or none: without it, nobody could open the ledger again."""
    path, seen = tmp_path / "ledger.key", []

    def synced(handle: int) -> None:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        seen.append((os.fstat(handle).st_size if is_file else "folder", path.exists()))

    monkeypatch.setattr(os, "fsync", synced)
    create_key(path, bytes(range(32)))
    assert seen == [(65, False), ("folder", True)], "64 hex digits and the end of the line, then the name"
    assert path.read_text() == bytes(range(32)).hex() + "\n"
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.key"]


def test_the_key_never_shows() -> None:
    secret = KEY.secret.hex()
    assert secret not in repr(KEY)
    assert secret not in KEY.identity
    assert str(KEY.secret) not in repr(KEY)


def test_a_ledger_opens_only_with_its_own_private_key(place: Place, tmp_path: Path) -> None:
    place.open()
    assert place.key.stat().st_mode & 0o777 == 0o600
    secret, witness = place.key.read_text(), place.witness

    place.key.chmod(0o640)
    with pytest.raises(LedgerError, match="chmod 600"):
        place.open()
    place.key.unlink()
    with pytest.raises(LedgerError, match="restore it from its backup"):
        place.open()
    assert not place.key.exists(), "a lost key is not replaced by a new one"
    for text in ("", "zz" * 32, "ab" * 31, "\x00" * 64):
        place.key.write_text(text)
        place.key.chmod(0o600)
        with pytest.raises(LedgerError, match="not a ledger key"):
            place.open()
    place.key.write_text("ab" * 32)
    witness.unlink()
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        place.open()
    place.key.write_text(secret)
    assert place.open().verify() == []


def test_the_database_holds_neither_the_key_nor_a_record(make_place: Callable[[str], Place]) -> None:
    """Canaries: a price, a coordinate and the key are searched for, as text and as binary numbers."""
    place = make_place("sqlite")
    ledger = place.open()
    x, y, price = np.array([530123.4375, 531987.625]), np.array([180456.75, 181e3]), np.array([442413.0, 1e6])
    dataset = ledger.fingerprint(x, y, price)
    ledger.set_budget(dataset, "point", 1.0, 1e-5)
    release(ledger, charge_for(dataset, n=2), "first")
    files = {path: path.read_bytes() for path in place.key.parent.iterdir() if path != place.key}
    canaries = [str(value).removesuffix(".0").encode() for value in (*x, *y[:1], *price[:1])]
    canaries += [value.astype(kind).tobytes() for value in (*x, *y, *price) for kind in ("<f8", ">f8")]
    secret = place.key.read_text().split()[0]
    canaries += [bytes.fromhex(secret), secret.encode()]
    assert Path(place.address) in files
    for path, content in files.items():
        assert not [canary for canary in canaries if canary in content], path


def test_two_ledgers_do_not_share_a_key(make_place: Callable[[str], Place]) -> None:
    first, second = make_place("sqlite"), make_place("sqlite")
    first.open()
    with pytest.raises(LedgerError, match="use another key for a new ledger"):
        open_ledger(second.address, first.key)

"""The ledger's limits on either side, and what it makes of damaged rows and files."""

from __future__ import annotations

import argparse
import shutil
from collections import namedtuple
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from hexcursion.ledger import (
    Ledger,
    LedgerError,
    RequestTaken,
    chain,
    open_ledger,
    places,
)
from hexcursion.ledger.account import Budget, Charge
from hexcursion.ledger.assess import Meeting
from hexcursion.ledger.book import Book
from hexcursion.ledger.chain import Witness, seal_of, seals_beside
from hexcursion.ledger.cli import _entry_text, _words
from hexcursion.ledger.entry import Draft, Entry, seconds_behind
from hexcursion.ledger.ledger import charge_trace, check_trace, trace_marks
from hexcursion.ledger.overlap import Links, Shared
from hexcursion.ledger.places import LedgerKey, create_key, ledger_url, read_key
from hexcursion.ledger.records import record_keys
from hexcursion.ledger.sentences import (
    Standing,
    account_lines,
    neighbours_text,
    other_numbers_text,
)
from hexcursion.ledger.store import Store
from hexcursion.promises import Protected
from tests.hexcursion.ledger.places import charge_for

KEY = LedgerKey(Path("a.key"), bytes(range(32)))
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def begun(tmp_path: Path) -> Ledger:
    return open_ledger(tmp_path / "ledger.sqlite")


def test_the_secret_is_not_printed() -> None:
    assert repr(KEY) == "LedgerKey(path=PosixPath('a.key'), used=False)"


def test_a_ledger_begins_with_private_files_and_a_row_after_64_zeros(begun: Ledger) -> None:
    (first,) = begun.entries()
    kept = chain.witness_path(begun._key)
    for path in (kept, kept.with_suffix(".lock"), begun._key.path):
        assert path.stat().st_mode & 0o777 == 0o600
    assert first.previous == "0" * 64
    assert first.facts["schema"] == 4
    assert first.facts["key"] == begun.identity


@pytest.mark.parametrize(("free", "room"), [(10_000_000, True), (9_999_999, False)])
def test_a_charge_asks_for_ten_million_bytes(
    begun: Ledger, free: int, room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, free))
    if room:
        begun.check_room()
        return
    with pytest.raises(LedgerError, match="is nearly full: nothing was charged"):
        begun.check_room()


def test_the_facts_of_a_charge_have_65536_characters_of_json_at_most() -> None:
    brackets = len('{"a":""}')
    assert charge_for("ab" * 32, a="x" * (65_536 - brackets)).facts
    with pytest.raises(LedgerError, match="longer than 65536 characters"):
        charge_for("ab" * 32, a="x" * (65_537 - brackets))


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("x" * 1000, True),
        ("x" * 1001, False),
        ("\ud7ff\ue000", True),
        ("a\ud800", False),
        ("\udfffa", False),
    ],
)
def test_a_reason_is_a_thousand_characters_of_utf_8(text: str, taken: bool) -> None:
    if taken:
        assert _words(text) == text
        return
    with pytest.raises(argparse.ArgumentTypeError, match="at most 1,000 characters of text"):
        _words(text)


def test_marks_of_a_trace_are_those_of_its_records_in_any_order(begun: Ledger) -> None:
    """Twelve digits each, the 2,000 smallest of them; zero has no sign."""
    time = np.arange(3.0)
    marks = trace_marks(begun, time, [0.0, 1.0, 2.0], [5.0, 6.0, 7.0])
    assert [len(mark) for mark in marks] == [12, 12, 12]
    assert marks == trace_marks(begun, time[::-1], [2.0, 1.0, -0.0], [7.0, 6.0, 5.0])
    assert len({*marks} & {*trace_marks(begun, [0.0, 9.0], [0.0, 9.0], [5.0, 9.0])}) == 1
    many = trace_marks(begun, np.arange(2500.0), np.zeros(2500), np.zeros(2500))
    rows = (np.array([t, 0.0, 0.0], ">f8").tobytes() for t in range(2500))
    every = {begun._key.mac("trace", row)[:12] for row in rows}
    assert many == tuple(sorted(every)[:2000])
    with pytest.raises(LedgerError, match="There are no records of a trace to mark"):
        trace_marks(begun, [], [], [])


def test_a_trace_is_charged_once_by_its_request_and_by_its_records(begun: Ledger) -> None:
    one, other = ("a" * 12, "b" * 12), ("b" * 12, "c" * 12)
    check_trace(begun, one)
    assert charge_trace(begun, one, {"title": "a walk"}, "request").number == 1
    with pytest.raises(RequestTaken, match=r"as entry 1 \(a released trace\)"):
        charge_trace(begun, ("d" * 12,), {}, "request")
    for repeat in (check_trace, partial(charge_trace, facts={}, request="another")):
        with pytest.raises(LedgerError, match="of this trace were released before, as entry 1"):
            repeat(begun, other)
    assert charge_trace(begun, ("c" * 12,), {}, "another").number == 2
    assert _entry_text(begun.entries()[1]).endswith('  trace  {"title": "a walk"}')


ROW = Entry(3, "commit", "2026-01-01T00:00:00+00:00", "", "", None, "", "{}", "")


@pytest.mark.parametrize("body", ["{", "[]", "{}", "7"])
def test_a_damaged_row_is_shown_as_unreadable(body: str) -> None:
    """No JSON, no table, a fact that is missing."""
    assert _entry_text(replace(ROW, body=body)).endswith("  commit  unreadable")
    assert _entry_text(replace(ROW, kind="draw", body="{}")).endswith("  draw")


@pytest.mark.parametrize(
    ("created", "before", "behind"),
    [
        ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:07+00:00", 7),
        ("2026-01-01T00:00:07+00:00", "2026-01-01T00:00:00+00:00", 0),
        ("yesterday", "2026-01-01T00:00:07+00:00", 0),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:07+00:00", 0),
    ],
)
def test_by_how_much_a_clock_ran_backwards(created: str, before: str, behind: int) -> None:
    """A time that cannot be read, and one without a zone beside one with it, say nothing."""
    assert seconds_behind(created, before) == behind
    entry = Draft("genesis", {}).after(replace(ROW, created="2999-01-01T00:00:00+00:00"))
    assert entry.facts["clock_behind"] > 10**9
    assert "clock_behind" not in Draft("genesis", {}).after(ROW).facts


def homeless() -> NoReturn:
    raise RuntimeError("no home")


def test_where_things_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEXCURSION_HOME", "HEXCURSION_WITNESS", "HEXCURSION_BUNDLES", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert places.home() == Path(".hexcursion")
    assert places.sites_folder() == Path(".hexcursion/sites")
    assert places.bundles_folder() == Path(".hexcursion/releases")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert places.witness_folder() == tmp_path / ".local" / "state" / "hexcursion"
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(LedgerError, match=r"has no home folder .* name one by HEXCURSION_WITNESS"):
        places.witness_folder()
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert places.witness_folder() == Path("/state/hexcursion")


def test_addresses_that_name_no_ledger(tmp_path: Path) -> None:
    assert ledger_url(tmp_path / ("a" * 200)).database == str(tmp_path / ("a" * 200))
    for address, said in (
        (tmp_path / ("a" * 201), "name its file in at most 200 bytes"),
        ("a\0b", "name one without NUL characters"),
        (tmp_path, f"is a folder: name the file of a ledger, as {tmp_path}/ledger.sqlite"),
        ("postgresql://host:port/database", "not a database URL"),
        ("://", "not a database URL"),
        ("sqlite://", "lives in a SQLite file or in a PostgreSQL database"),
        ("mysql://host/database", "lives in a SQLite file or in a PostgreSQL database"),
    ):
        with pytest.raises(LedgerError, match=said):
            ledger_url(address)


def test_a_key_is_32_bytes_on_a_line_of_its_own(tmp_path: Path) -> None:
    def kept(text: str) -> Path:
        path = tmp_path / "a.key"
        path.write_text(text, encoding="ascii")
        path.chmod(0o600)
        return path

    right = bytes(range(32)).hex()
    assert read_key(kept(right + "\n")) == LedgerKey(tmp_path / "a.key", bytes(range(32)))
    assert read_key(kept(right + "\n\n# used\n")).used
    assert read_key(kept(f"{right}\n#{'x' * (10_000 - 66)}")).used
    for text in ("", right[2:], right + "00", f"{right}\n{right}", "no hex", f"{right}\n# a\nb"):
        with pytest.raises(LedgerError, match="is not a ledger key: restore the key"):
            read_key(kept(text))
    (tmp_path / "folder.key").mkdir(mode=0o700)
    with pytest.raises(LedgerError, match=r"folder\.key cannot be read \(Is a directory\)"):
        read_key(tmp_path / "folder.key")
    create_key(tmp_path / "new.key")
    assert len((tmp_path / "new.key").read_text(encoding="ascii")) == 65


@pytest.mark.parametrize("mode", [0o640, 0o602, 0o611])
def test_a_key_that_others_may_open_is_refused(tmp_path: Path, mode: int) -> None:
    create_key(tmp_path / "a.key")
    (tmp_path / "a.key").chmod(mode)
    with pytest.raises(LedgerError, match="is open to other users: run `chmod 600"):
        read_key(tmp_path / "a.key")


def test_a_signature_is_a_text_of_64_digits_or_its_first_ones() -> None:
    mac = KEY.mac("seal", b"1")
    assert KEY.matches("seal", b"1", mac)
    assert KEY.matches("seal", b"1", mac[:16], 16)
    for wrong in (mac[:16], mac[:63], mac + "0", None, 7, b"1", ""):
        assert not KEY.matches("seal", b"1", wrong)
    assert not KEY.matches("head", b"1", mac)


def test_a_seal_is_looked_for_in_the_first_four_million_bytes(tmp_path: Path) -> None:
    row = Draft("reserve", {}).after(ROW)
    seal = f'"{seal_of(row, KEY)}"'
    assert len(seal) == len('"4:"') + 64 + len(":") + 16
    for name, before in (("in", 4_000_000 - len(seal)), ("out", 4_000_001 - len(seal))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "statement.json").write_text(" " * before + seal, encoding="ascii")
    assert [seen.where.name for seen in seals_beside([tmp_path], KEY)] == ["in"]


def test_places_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXCURSION_WITNESS", str(tmp_path / "witness"))
    path = chain.witness_path(KEY)
    path.with_suffix(".lock").mkdir(parents=True)
    with pytest.raises(LedgerError, match=r"cannot be kept in .*witness \(Is a directory\)"):
        chain.advance_witness(KEY, Witness(1, "0"))
    (tmp_path / "file").write_text("", encoding="ascii")
    monkeypatch.setenv("HEXCURSION_WITNESS", str(tmp_path / "file" / "witness"))
    with pytest.raises(LedgerError, match=r"file/witness cannot be created: Not a directory\.$"):
        chain.advance_witness(KEY, Witness(1, "0"))
    with pytest.raises(LedgerError, match=r"file/ledger\.sqlite cannot be created: File exists\.$"):
        Store(ledger_url(tmp_path / "file" / "ledger.sqlite")).create(homeless)


def test_a_ledger_is_begun_by_the_faster_of_two(begun: Ledger) -> None:
    """What the slower one would write is not even asked for."""
    assert begun._store.create(homeless) is False
    assert len(begun.entries()) == 1


def test_a_charge_is_an_entry_that_reserves_with_this_very_hash(begun: Ledger) -> None:
    begun.set_budget("ab" * 32, "point", 3.0, 1e-5)
    charge = begun.reserve(charge_for("ab" * 32)).entry
    number, digest, book = charge.number, charge.hash, begun._book()
    assert book.is_charge(number, digest)
    assert not book.is_charge(number, "0" * 64)
    assert not book.is_charge(number - 1, digest)
    assert not book.is_charge(number + 1, digest)


def test_a_refused_larger_budget_names_the_dataset_by_twelve_digits() -> None:
    book = Book()
    book.set_budget("0123456789abcdef" * 4, "point", Budget(1.0, 1e-5))
    with pytest.raises(LedgerError, match=r"budget 0123456789ab --unit point --epsilon 2 --delta 1e-05 "):
        book.set_budget("0123456789abcdef" * 4, "point", Budget(2.0, 1e-5))


def test_a_charge_without_records_shares_none() -> None:
    assert Meeting({}).together(("ab" * 32,)) == Shared(0, 0, True)
    assert Meeting({}).found == ()


@pytest.mark.parametrize(
    "shares", [{"c": 1}, {"b": 1}, {"a": 0}, {"a": -1}], ids=["unknown", "itself", "none", "fewer"]
)
def test_what_is_on_record_of_shared_records_is_possible(shares: dict[str, int]) -> None:
    links = Links()
    links.register("a", {"n": 2, "digest": "", "shares": {}})
    with pytest.raises(LedgerError, match="shares records only with datasets that are known"):
        links.register("b", {"n": 2, "digest": "", "shares": shares})
    links = Links()
    links.register("a", {"n": 2, "digest": "", "shares": {}})
    links.register("b", {"n": 2, "digest": "", "shares": {"a": 1}})
    assert links.neighbours("a") == ("b",)
    with pytest.raises(LedgerError, match="are written down once"):
        links.register("a", {"n": 2, "digest": "", "shares": {}})


@pytest.mark.parametrize(
    ("many", "said"),
    [
        (10, " 9, 10 records"),
        (11, " 10 and 1 more number of records"),
        (12, " 10 and 2 more numbers of records"),
    ],
)
def test_ten_numbers_of_records_are_listed(many: int, said: str) -> None:
    assert said in other_numbers_text(tuple(range(1, many + 1)))


def test_lines_about_earlier_releases_are_warnings_where_something_is_given_away() -> None:
    plain = Standing("point", 1e-5, 9, 0, 0, True, before=0.0, after=1.0)
    (line,) = account_lines(plain, Protected("observation"))
    assert (line.topic, line.warning) == ("Neighbours", False)
    assert "value only" not in line.text
    told = account_lines(replace(plain, shared=1, unknown=2, other_numbers=(7,)), Protected("observation"))
    assert [(each.topic, each.warning) for each in told[1:]] == [
        ("Earlier releases", False),
        ("Other numbers", True),
        ("Not compared", True),
    ]
    added = Protected("observation", relation="add-or-remove")
    hidden = account_lines(replace(plain, other_numbers=(7,)), added)
    assert [each.topic for each in hidden] == ["Neighbours"]


def test_neighbours_are_records_of_one_value_that_are_exchanged_unless_more_is_said() -> None:
    plain = neighbours_text(Protected("sale"))
    assert plain.startswith("Two datasets with the same number of sales, which differ in one")
    standing = Standing("point", 1e-5, 9, 0, 0, True, before=0.0, after=1.0)
    assert account_lines(standing, Protected("sale"))[0].text == plain
    for values, said in ((1, "its value"), (3, "its values")):
        (line,) = account_lines(standing, Protected("sale", protects="values", values=values))
        assert f"which differ in one sale, in {said} only, within the area" in line.text


def test_chance_of_one_record_more_at_a_place_by_hand() -> None:
    """Two records at each of two places; of six pairs of values one is equal: 2 (4/2) (1/6)."""
    found = record_keys(KEY, [0.0, 0.0, 1.0, 1.0], [51.0] * 4, [1.0, 2.0, 1.0, 3.0])
    assert found.chance["place"] == pytest.approx(2.0 / 3.0)
    twice = record_keys(KEY, [0.0, 0.0, 1.0, 1.0, 2.0], [51.0] * 5, [1.0, 1.0, 2.0, 3.0, 4.0])
    assert twice.chance["place"] == pytest.approx(0.4)  # one of five comes again


def test_a_charge_is_one_release_of_a_positive_cost() -> None:
    charge: Any = charge_for("ab" * 32)
    assert charge.records is None
    assert charge.accepts_weaker is False
    short, high = {"dataset": "ab"}, {"dataset": "AB" * 32}
    for wrong in (short, high, {"unit": "hexagon"}, {"same_as": ("ab",)}):
        with pytest.raises(LedgerError):
            Charge(**{**vars(charge), **wrong})

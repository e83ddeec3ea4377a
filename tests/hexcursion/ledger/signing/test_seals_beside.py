"""Seals in bundles that lie about: in folders and zips, each once, of this key alone."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from hexcursion.ledger import LedgerError
from hexcursion.ledger.chain import parse_seal, seals_beside

MINE = SimpleNamespace(matches=lambda kind, text, tag, digits: (kind, tag) == ("seal", "ab" * 8))


def statement(number: int, tag: str = "ab" * 8) -> str:
    return f'{{"ledger": {{"seal": "{number}:{"cd" * 32}:{tag}"}}}}'


def test_every_folder_is_looked_into_though_one_is_missing(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "bundle").mkdir(parents=True)
        (tmp_path / name / "bundle" / "statement.json").write_text(statement(len(name)))
    (tmp_path / "two" / "bundle.zip").write_bytes(b"the same, whose folder is beside it")
    (tmp_path / "two" / "broken.zip").write_bytes(b"no archive")
    (tmp_path / "two" / "other").mkdir()
    with zipfile.ZipFile(tmp_path / "two" / "packed.zip", "w") as archive:
        archive.writestr("packed/readme.txt", "nothing")
        archive.writestr("packed/statement.json", statement(7))
    folders = [tmp_path / "none", tmp_path / "one", tmp_path / "two", tmp_path / "one"]
    found = seals_beside(folders, MINE)  # type: ignore[arg-type]
    assert [(one.number, one.where.name) for one in found] == [
        (3, "bundle"),
        (3, "bundle"),
        (7, "packed.zip"),
    ]


def test_seals_of_another_key_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "statement.json").write_text(statement(3, "ef" * 8))
    assert seals_beside([tmp_path], MINE) == ()  # type: ignore[arg-type]


def test_a_seal_is_a_number_and_a_hash() -> None:
    assert parse_seal("123456789012:abc:tag") == (123_456_789_012, "abc")
    assert parse_seal("7:abc") == (7, "abc")
    for seal in ("1234567890123:abc", "x:abc", "7:", "7", ""):
        with pytest.raises(
            LedgerError, match=r"A seal is written NUMBER:HASH, not .*: copy it from a bundle"
        ):
            parse_seal(seal)


@pytest.mark.parametrize(("late", "found"), [(0, 1), (1, 0)])
def test_no_more_than_four_million_bytes_are_read_of_a_file(tmp_path: Path, late: int, found: int) -> None:
    """The seal's last sign is byte 4,000,000, or the one behind it."""
    text = statement(3)
    (tmp_path / "bundle").mkdir()
    blanks = " " * (4_000_000 - len(text.rstrip("}")) + late)
    (tmp_path / "bundle" / "statement.json").write_text(blanks + text)
    assert len(seals_beside([tmp_path], MINE)) == found  # type: ignore[arg-type]

"""Bad words on the command line and in a settings file: one sentence each, status 2, nothing written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hexcursion.cli import main
from hexcursion.ledger import open_ledger
from tests.town import BOX, Town


def test_a_table_without_a_value_is_not_answered_in_words_of_sales(
    town: Town, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["release", "--data", str(town.private), "--out", str(tmp_path / "bundle"), "--threshold", "30"]
    given += ["--bbox", *map(str, BOX)]
    column = "name the measured column of a table with `value` (--value)"
    assert main(given) == 2
    assert column in capsys.readouterr().err
    assert main([*given, "--lon", "lon", "--lat", "lat", "--owner", "station"]) == 2
    assert column in capsys.readouterr().err
    assert main([*given, "--years", "2022"]) == 2
    assert "Price Paid rows carry postcodes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["release", "--data", "x.csv", "--value", "v", "--lon", "lon", "--lat", "lat", "--value-unit", "m",
         "--bbox", *map(str, BOX), "--threshold", "30"],
        ["compare", "--data", "x.csv", "--threshold", "30"],
        ["demo"],
        ["site", "x.zip"],
        ["areas", "x.zip", "--polygons", "x.geojson"],
    ],
)  # fmt: skip
def test_a_place_that_cannot_be_new_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    kind = "file" if words[0] == "areas" else "folder"
    for place, sentence in (
        ("", f"Name a new {kind}: . is none."),
        (".", f"Name a new {kind}: . is none."),
        ("..", f"Name a new {kind}: .. is none."),
        (str(file), f"{file} exists already: name a new {kind}, nothing is overwritten."),
        (f"{file}\0", f"Name a new {kind} without NUL characters: '{file}\\x00' has one."),
        (f"{file}/out", f"Nothing can be written in {file}: name a new {kind} in another place."),
        ("x" * 201, f"A name of 201 bytes is too long: name a new {kind} in at most 200."),
        ("maps\udcff", f"Name a new {kind} in UTF-8: 'maps\\udcff' is not."),
        ("/proc/x/y", f"Nothing can be written in /proc: name a new {kind} in another place."),
    ):
        assert main([*words, "--out", place]) == 2
        assert capsys.readouterr().err == f"error: {sentence}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["view", ""], "No bundle can be read at '': name a bundle's folder or zip file."),
        (["view", "a\0b"], "No bundle can be read at 'a\\x00b': name a bundle's folder or zip file."),
        (["lint", "a\0b"], "No bundle can be read at 'a\\x00b': name a bundle's folder or zip file."),
        (
            ["release", "--config", "a\0b", "--out", "new"],
            "The settings file 'a\\x00b' cannot be read: name a TOML file.",
        ),
        (
            ["ledger", "verify", "--ledger", "a\0b"],
            "No ledger is called 'a\\x00b': name one without NUL characters.",
        ),
        (
            ["demo", "--out", "new", "--ledger", "a\0b"],
            "No ledger is called 'a\\x00b': name one without NUL characters.",
        ),
        (["ledger", "verify", "--key", "a\0b"], "a\0b is not a ledger key: restore the key from its backup."),
    ],
)
def test_no_file_has_a_name_with_a_zero_byte(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if "--key" in words:
        open_ledger(create=True)
    assert main(words) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"


def test_a_demo_with_an_impossible_ledger_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--out", str(tmp_path / "demo"), "--ledger", "mysql://a/b"]) == 2
    assert capsys.readouterr().err == (
        "error: A ledger lives in a SQLite file or in a PostgreSQL database: name one of the two.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "show", "--ledger", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path} is a folder: name the file of a ledger, as {tmp_path}/ledger.sqlite.\n"
    )


def test_what_is_no_bundle_is_told_what_would_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sales.csv").write_text("x,y\n1,2\n")
    assert main(["view", str(tmp_path / "sales.csv")]) == 2
    assert main(["view", str(tmp_path)]) == 2
    (tmp_path / "demo" / "bundle").mkdir(parents=True)
    (tmp_path / "demo" / "bundle" / "statement.json").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["view", "demo"]) == 2
    monkeypatch.chdir(tmp_path / "demo")
    assert main(["view", "."]) == 2
    (tmp_path / "demo" / "bundle").rename("a\x1b[2J")
    assert main(["view", "../demo"]) == 2
    assert capsys.readouterr().err == (
        "error: This file is no zip of a bundle: name a bundle's folder, or its zip as it was written.\n"
        "error: A bundle has no file named 'sales.csv': name the folder or zip of one bundle, as it was "
        "written.\n"
        "error: 'demo' is a folder of bundles: name one of them, such as 'demo/bundle'.\n"
        "error: '.' is a folder of bundles: name one of them, such as 'bundle'.\n"
        "error: '../demo' is a folder of bundles: name one of them, such as '../demo/a\\x1b[2J'.\n"
    )


def test_a_file_that_cannot_be_written_is_refused_before_a_bundle_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", "none", "--density", "2", "--out", str(tmp_path / "dense.txt")]) == 2
    assert capsys.readouterr() == (
        "", "error: dense.txt is neither .csv nor .geojson: name the file for one of them.\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("", "error: Stopped; nothing was released.\n"),
        ("Entry 3 stands.", "error: Stopped. Entry 3 stands.\n"),
    ],
)
def test_who_stops_after_the_charge_is_told_that_it_stands(
    note: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It used to say that nothing was released, and not that the epsilon was spent."""

    def stopped(_options: object) -> int:
        stop = KeyboardInterrupt()
        if note:
            stop.add_note(note)  # as `charge_stands` does
        raise stop

    monkeypatch.setattr(sys.modules[main.__module__], "run_view", stopped)
    assert main(["view", "any"]) == (6 if note else 7)
    assert capsys.readouterr().err == said


def test_who_stops_while_the_options_are_read_sees_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(command: str) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules[main.__module__], "build_parser", stopped)
    assert main(["view", "any"]) == 7
    assert capsys.readouterr().err == "error: Stopped; nothing was released.\n"

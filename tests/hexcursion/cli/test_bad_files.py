"""Names and files that no command can use: one sentence, nothing left behind, nothing begun."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from hexcursion.cli import main
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Ledger, LedgerError, open_ledger
from hexcursion.ledger.places import home
from hexcursion.new_place import made_whole
from tests.hexcursion.cli.test_cli import arguments
from tests.town import BOX, Town

LONG = "x" * 256


def said(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    assert main(words) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["view", LONG], f"No bundle can be read at '{LONG}': name a bundle's folder or zip file."),
        (
            ["site", LONG, "--out", "new"],
            f"No bundle can be read at '{LONG}': name a bundle's folder or zip file.",
        ),
        (["lint", LONG], f"No bundle can be read at '{LONG}': name a bundle's folder or zip file."),
        (["lint", f"{LONG}.toml"], f"The plan '{LONG}.toml' cannot be read: name a TOML file."),
        (["lint", "a\0.toml"], "The plan 'a\\x00.toml' cannot be read: name a TOML file."),
        (
            ["ledger", "show", "--ledger", LONG],
            "The ledger's name is too long: name its file in at most 200 bytes.",
        ),
        (
            ["ledger", "show", "--ledger", "postgresql://u:p@host:port/base"],
            "The ledger's address is not a database URL: write a file name or "
            "postgresql+psycopg://user:password@host/database.",
        ),
    ],
)
def test_a_name_that_no_file_has_is_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert said(capsys, words) == f"error: {sentence}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["verify", "--key", LONG],
            f"The ledger's key {LONG} cannot be read (File name too long): name its file.",
        ),
        (
            ["verify", "--seal", "²:00"],
            "A seal is written NUMBER:HASH, not '²:00': copy it from a bundle's statement.",
        ),
        (
            ["budget", "", "--unit", "point", "--epsilon", "9", "--delta", "1e-6", "--reason", "more"],
            "Name a dataset by its fingerprint or the beginning of it: see `ledger show`.",
        ),
    ],
)
def test_words_that_name_nothing_in_a_ledger(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    open_ledger(create=True).set_budget("a" * 64, "point", 1.0, 1e-6)
    assert said(capsys, ["ledger", *words]) == f"error: {sentence}\n"
    assert [entry.kind for entry in open_ledger().entries()] == ["genesis", "budget"]


def test_what_has_no_end_is_not_read_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe waited for ever for who writes it, and a device filled the memory."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    no_bundle = "error: No bundle can be read at {!r}: name a bundle's folder or zip file.\n"
    assert said(capsys, ["view", str(pipe)]) == no_bundle.format("pipe")
    assert said(capsys, ["view", "/dev/zero"]) == no_bundle.format("zero")


def test_a_region_and_limits_without_an_end(
    town: Town, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "limits.csv"
    table.symlink_to("/dev/zero")
    asked = arguments(town, out, **{"--limits": str(table)})
    assert said(capsys, asked).endswith(
        "error: The limits cannot be used: limits.csv is larger than 64 MiB: keep the rows of the map's "
        "hexagons.\n"
    )
    place = asked.index("--bbox")
    area = [*asked[:place], "--region", "/dev/zero", *asked[place + 5 :]]
    assert said(capsys, area).endswith(
        "error: the region file is larger than 64 MiB: simplify the polygons first.\n"
    )


def test_an_outline_that_crosses_itself_is_said(
    town: Town, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    west, south, east, north = BOX
    ring = [[west, south], [east, north], [east, south], [west, north], [west, south]]
    outline = tmp_path / "bowtie.geojson"
    outline.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    asked = arguments(town, out, **{"--lengthscale": "500", "--ridge": "3", "--priors": "car"})
    place = asked.index("--bbox")
    assert main([*asked[:place], "--region", str(outline), *asked[place + 5 :], "--dry-run"]) == 0
    assert "The region's outline crossed or touched itself and was repaired.\n" in capsys.readouterr().err


def test_names_that_are_no_text_are_refused_before_the_charge(
    town: Town, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder's name that is no UTF-8 was found out after the charge, when the statement quoted it."""
    asked = arguments(town, tmp_path / "maps\udcff")
    assert said(capsys, asked) == f"error: Name a new folder in UTF-8: '{tmp_path}/maps\\udcff' is not.\n"
    assert said(capsys, arguments(town, tmp_path / "new", **{"--data": "s\udcff.csv"})) == (
        "error: data.path must be text in UTF-8, not 's\\udcff.csv': write it anew, or give the file that it "
        "names another name.\n"
    )
    assert list(home().glob("ledger*")) == []
    assert not (tmp_path / "new").exists()


def test_data_with_a_name_that_is_too_long(town: Town, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, arguments(town, out, **{"--data": f"{LONG}.csv"})) == (
        f"error: {LONG}.csv cannot be opened: check that the file exists and may be read.\n"
    )


def test_a_file_goes_into_a_folder_that_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "none" / "shares.csv"
    words = ["areas", "x.zip", "--polygons", "x.geojson", "--out", str(place)]
    assert said(capsys, words) == (
        f"error: There is no folder {tmp_path / 'none'}: make it first, or name a file elsewhere.\n"
    )


def test_what_breaks_off_leaves_nothing_and_nothing_is_written_over(tmp_path: Path) -> None:
    place = tmp_path / "above" / "maps"

    def half() -> None:
        with made_whole(place) as folder:
            folder.mkdir()
            (folder / "half").write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def too_late() -> None:
        with made_whole(place) as file:
            file.write_text("ours")
            place.write_text("theirs")  # somebody else was faster

    with pytest.raises(WorkflowError, match=r"maps cannot be written \(No space left on device\): name"):
        half()
    assert list((tmp_path / "above").iterdir()) == []
    with pytest.raises(WorkflowError, match=r"maps cannot be written \(File exists\): name"):
        too_late()
    assert place.read_text() == "theirs"
    assert [one.name for one in place.parent.iterdir()] == ["maps"]


def test_settings_and_plans_may_begin_with_a_mark_of_byte_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As some editors write it."""
    plan = tmp_path / "plan.toml"
    plan.write_bytes(b'\xef\xbb\xbfunit = "point"\nn = 30000\ndelta = 1e-5\nn_handling = "taken as public"\n')
    assert main(["lint", str(plan)]) == 0
    assert "delta-close-to-1/n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("epsilon", "sentence"),
    [
        ("1e300", "epsilon must be of a size from 1e-50 to 1e+50, not 1e+300: choose a less extreme number."),
        ("inf", "epsilon must be a positive finite number, not inf: try 1."),
        ("0", "epsilon must be a positive finite number, not 0.0: try 1."),
    ],
)
def test_a_comparison_takes_the_epsilons_that_a_release_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], epsilon: str, sentence: str
) -> None:
    words = ["compare", "--data", "x.csv", "--threshold", "30", "--epsilons", "1", epsilon]
    assert said(capsys, [*words, "--out", str(tmp_path / "new")]) == f"error: {sentence}\n"


def test_a_comparison_refuses_a_design_that_it_would_not_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "--data", "x.csv", "--threshold", "30", "--ridge", "5", "--pilot", "0.3"]
    assert said(capsys, [*words, "--out", str(tmp_path / "new")]) == (
        "error: A comparison finds every design by a search that is free: leave --ridge and --pilot out.\n"
    )


def test_a_demo_that_its_ledger_refuses_leaves_its_name_free(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It left its folder behind, and then it was refused because that stood there."""
    ledger, out = tmp_path / "ledger.sqlite", tmp_path / "demo"

    def refuse(*_: object) -> None:
        raise LedgerError("The budget is spent.")

    monkeypatch.setattr(Ledger, "check_charge", refuse)
    assert said(capsys, ["demo", "--out", str(out), "--ledger", str(ledger)]).endswith(
        "error: The budget is spent.\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "text"), [("--reason", "x" * 1_001), ("--reason", "\udcff"), ("--person", "x" * 1_001)]
)
def test_a_reason_that_nobody_could_read_does_not_enter_the_ledger(
    capsys: pytest.CaptureFixture[str], option: str, text: str
) -> None:
    open_ledger(create=True)
    with pytest.raises(SystemExit, match="2"):
        main(["ledger", "void", "1", "--reason", "none", option, text])
    assert capsys.readouterr().err == (
        f"error: argument {option}: takes at most 1,000 characters of text in UTF-8; compare "
        "`python -m hexcursion ledger void --help`.\n"
    )
    assert [entry.kind for entry in open_ledger().entries()] == ["genesis"]

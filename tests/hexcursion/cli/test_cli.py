"""The command line: the main job headless, and one sentence for every bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from hexcursion.bundle import read_bundle
from hexcursion.bundle.published.office_key import new_key, public_line
from hexcursion.bundle.statement.expected import how_right
from hexcursion.cli import main
from hexcursion.ledger.places import home, witness_folder
from hexcursion.settings import settings_to_toml
from tests.town import BOX, THRESHOLD, Town

PASSWORD = "correct horse battery staple"


def arguments(town: Town, out: Path, **changes: str | None) -> list[str]:
    options: dict[str, str | None] = {
        "--data": str(town.private),
        "--value": "no2",
        "--lon": "lon",
        "--lat": "lat",
        "--value-unit": "ug/m3",
        "--reference": str(town.reference),
        "--resolution": "8",
        "--unit": "point",
        "--epsilon": "2",
        "--delta": "1e-5",
        "--paths": "1",
        "--mechanisms": "posterior-sampling",
        "--threshold": str(THRESHOLD),
        "--out": str(out),
    }
    options.update(changes)
    words = ["release", "--quick", "--accept-low-agreement", "--bbox", *(str(x) for x in BOX)]
    for name, value in options.items():
        if value is not None:
            words += [name, value]
    return words


def test_release_writes_a_bundle_and_prints_the_receipt(
    town: Town, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments(town, out), "--show-baseline", "--detection-limit", "0.5"]) == 0
    printed = capsys.readouterr()
    assert "Unit of protection" in printed.out
    assert printed.err.count("Curator only, do not publish:") == 2
    for private in ("rows lie inside the domain", "IoU of the released set with the non-private baseline"):
        assert private in printed.err
        assert private not in printed.out
    bundle = read_bundle(out)
    statement = bundle.statement
    right = how_right(statement, bundle.published)
    assert right
    assert all(f"  {line}\n" in printed.out for line in right)
    assert statement["guarantee"]["delta"] == 1e-5
    assert statement["release"]["notes"] == [
        "Readings below a limit of measurement count as their limit, 0.5 where they name none; those above "
        "one, as the limit."
    ]
    assert main(["view", str(out), "--threshold", "25"]) == 0
    assert main(["ledger", "verify"]) == 0


def test_a_map_no_better_than_one_colour_is_stopped_until_somebody_accepts_it(
    town: Town, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hexcursion.cli.run.try_remedies", lambda *_: ())  # tried in tests/hexcursion/door
    asked = arguments(town, out, **{"--resolution": "7", "--priors": "car", "--epsilon": "0.02"})
    assert main([word for word in asked if word != "--accept-low-agreement"]) == 4
    assert (
        "This release is stopped, and nothing was charged: a map of one colour would show as many records "
        "or more on their right side."
    ) in capsys.readouterr().err
    assert not out.exists()
    assert not list(home().glob("ledger*"))
    assert main(asked) == 0
    assert "! Low agreement" in capsys.readouterr().out
    said = {line["topic"]: line["text"] for line in read_bundle(out).statement["receipt"]}
    assert said["Low agreement"].endswith("The curator released it anyway.")


def test_a_dry_run_leaves_no_trace(town: Town, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nameless = arguments(town, out, **{"--out": None})
    assert main([*nameless, "--dry-run"]) == 0
    assert "nothing was drawn" in capsys.readouterr().out
    assert not out.exists()
    assert not list(home().glob("ledger*"))
    assert list(witness_folder().iterdir()) == []
    assert main(nameless) == 2
    assert "Name a new folder for the bundle: --out DIR." in capsys.readouterr().err
    assert main([*arguments(town, out), "--dry-run", "--ledger", str(out / "own.sqlite")]) == 0
    assert not out.exists()


def test_a_release_is_signed_with_the_offices_key(
    town: Town, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place, signers = tmp_path / "office.key", tmp_path / "signers.toml"
    signers.write_text(f'"Office of Maps" = "{public_line(new_key(place, PASSWORD))}"\n')
    monkeypatch.setenv("HEXCURSION_SIGNING_PASSWORD", PASSWORD)
    assert main([*arguments(town, out), "--sign", str(place)]) == 0
    said = capsys.readouterr().out
    signature = read_bundle(out).signature
    assert signature is not None
    assert f"Signed with the key {signature.fingerprint}." in said
    for bundle in (out, out.with_suffix(".zip")):
        assert main(["verify", str(bundle), "--signers", str(signers)]) == 0
        assert capsys.readouterr().out.startswith("Signed by Office of Maps (fingerprint ")


@pytest.mark.parametrize(
    ("password", "mode", "said"),
    [
        (PASSWORD + "r", 0o600, "The password does not open the signing key"),
        (None, 0o600, "set HEXCURSION_SIGNING_PASSWORD"),
        (PASSWORD, 0o644, "is open to other users"),
        (PASSWORD, None, "cannot be read"),
    ],
    ids=["wrong", "no password", "open", "missing"],
)
def test_a_key_that_does_not_open_stops_a_release_before_anything_is_charged(
    town: Town,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    password: str | None,
    mode: int | None,
    said: str,
) -> None:
    place = tmp_path / "office.key"
    if mode is not None:
        new_key(place, PASSWORD)
        place.chmod(mode)
    if password is None:
        monkeypatch.delenv("HEXCURSION_SIGNING_PASSWORD", raising=False)
        monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    else:
        monkeypatch.setenv("HEXCURSION_SIGNING_PASSWORD", password)
    assert main([*arguments(town, out), "--sign", str(place)]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert printed.out == ""
    assert list(home().glob("ledger*")) == []
    assert not out.exists()


def test_a_dry_run_and_a_release_refuse_the_same_and_write_nothing(
    town: Town, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in (["--dry-run"], []):
        assert main([*arguments(town, out, **{"--epsilon": "1"}), "--budget", "0.5", *run]) == 3
        said = capsys.readouterr()
        assert "This release does not fit the point budget of epsilon 0.5" in said.err
        assert "nothing was drawn" not in said.out
    assert list(home().glob("ledger*")) == []
    assert not out.exists()


def test_settings_file_is_the_same_release(town: Town, out: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(settings_to_toml(town.settings()), encoding="utf-8")
    words = ["release", "--config", str(file), "--epsilon", "1.5", "--out", str(out)]
    assert main(words) == 2, "the data lie outside of the file's folder"
    assert main([*words, "--trust-settings"]) == 0
    assert read_bundle(out).statement["guarantee"]["epsilon"] <= 1.5


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"--data": "missing.csv"}, "missing.csv"),
        ({"--value": "pm25"}, "pm25"),
        ({"--lon": "lat", "--lat": "lon"}, "exchange"),
        ({"--crs": "EPSG:27700"}, "degrees"),
        ({"--crs": "EPSG:99999999"}, "EPSG"),
        ({"--epsilon": "1e-9", "--delta": "1e-13", "--unit": "cell"}, "smallest feasible epsilon"),
        ({"--resolution": "0"}, "resolution"),
        ({"--reference": None}, "centre"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    town: Town, out: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, str | None], word: str
) -> None:
    assert main(arguments(town, out, **changes)) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("error: ")
    assert word in message
    assert "Traceback" not in message
    assert not out.exists()
    assert not out.with_name("bundle.zip").exists()

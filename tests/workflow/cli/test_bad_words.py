"""Bad words on the command line and in a settings file: one sentence each, status 2, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.town import BOX, Town
from workflow.cli import main
from workflow.settings import settings_to_toml


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--priors", "cubic"],
            "priors must be a list of at least one name among exponential, car, matern32, "
            "squared-exponential, not 'cubic'.",
        ),
        (
            ["--centre", "nan"],
            "centre must be a finite number in transformed units, not nan: name a public value near the "
            "middle of the data.",
        ),
        (["--centre", "inf"], "centre must be a finite number in transformed units, not inf: name a public "
         "value near the middle of the data."),
        (["--loader", "parquet"], "data.loader must be 'price-paid' or 'sensor-table', not 'parquet'."),
        (["--paths", ""], "paths must be a whole number from 1 to 1000, not '': try 1."),
        (["--clip", "0"], "clip must be a positive finite number in transformed units, not 0.0."),
    ],
)  # fmt: skip
def test_a_bad_word_is_one_sentence(
    town: Town, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    out = tmp_path / "bundle"
    given = ["release", "--data", str(town.private), "--value", "no2", "--lon", "lon", "--lat", "lat"]
    given += ["--bbox", *map(str, BOX), "--threshold", "30", "--out", str(out)]
    assert main([*given, *words]) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('paths = ""', "paths must be a whole number from 1 to 1000, not '': try 1."),
        ("paths = []", "paths must be a whole number from 1 to 1000, not (): try 1."),
        ("paths = true", "paths must be a whole number from 1 to 1000, not True: try 1."),
        ('priors = "cubic"', "priors must be a list of at least one name among exponential, car, matern32, "
         "squared-exponential, not 'cubic'."),
        ("centre = nan", "centre must be a finite number in transformed units, not nan: name a public value "
         "near the middle of the data."),
    ],
)  # fmt: skip
def test_a_bad_line_of_a_settings_file_is_one_sentence(
    town: Town, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, sentence: str
) -> None:
    name = line.split(" ")[0]
    lines = [
        kept for kept in settings_to_toml(town.settings()).splitlines() if not kept.startswith(f"{name} =")
    ]
    file, out = tmp_path / "settings.toml", tmp_path / "bundle"
    file.write_text("\n".join([line, *lines]), encoding="utf-8")
    assert main(["release", "--config", str(file), "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"
    assert not out.exists()

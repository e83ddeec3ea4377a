"""The command `outline` writes areas by name, or says which names there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from geo import part_names
from hexcursion.cli import main


def test_areas_by_name_become_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "areas.geojson"
    assert main(["outline", "Kent", "Antwerp", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith(
        f"Written: Kent, United Kingdom; Antwerp, Belgium.\n2 areas in {out}: --region takes the file"
    )
    assert part_names(out) == ("Antwerp", "Kent")
    assert main(["outline", "Kent", "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["outline", "Kemt", "--out", str(tmp_path / "b.geojson")]) == 2
    assert "did you mean 'Kent, United Kingdom'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [out]


def test_names_are_listed_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["outline", "limburg", "qqq"]) == 0
    assert capsys.readouterr().out == (
        "Limburg, Belgium\nLimburg, Netherlands\nNo area's name contains 'qqq'.\n"
    )

"""The command `outline` writes areas by name, or says which names there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from geo import part_names
from geo.context.named_areas import SOURCE, areas_like
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


def test_the_file_keeps_its_letters_and_the_words_say_where_they_come_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "areas.geojson"
    assert main(["outline", "Agaléga, Mauritius", "--out", str(out)]) == 0
    assert "Agaléga" in out.read_text(encoding="utf-8")
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"1 area in {out}: --region takes the file as the area,",
        f"--layers draws its areas and answers for each. {SOURCE}",
    ]


def test_five_areas_are_named_and_the_rest_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = areas_like("a")[:6]
    for many in (5, 6):
        assert main(["outline", *names[:many], "--out", str(tmp_path / f"{many}.geojson")]) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert (first.count("; "), first.endswith("; ....")) == ((4, False) if many == 5 else (5, True))

"""The report: every figure that it shows is drawn from a stored study, and its sources are all there."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from studies import report

TEXT = report.SOURCE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", report.figures_of(TEXT))
def test_each_figure_is_drawn_from_what_is_stored(name: str) -> None:
    picture = ElementTree.fromstring(report.drawn(name))
    assert len(picture.findall("{http://www.w3.org/2000/svg}circle")) > 5


def test_the_contours_of_london_are_those_of_the_stored_sales() -> None:
    drawn = report.contours()
    assert list(drawn) == ["london-map", "london-map-paper"]
    for name, drawing in drawn.items():
        assert (report.PICTURES / f"{name}.svg").read_text(encoding="utf-8") == drawing


def test_a_figure_that_no_study_draws_is_refused() -> None:
    assert len(report.figures_of(TEXT)) == 3
    with pytest.raises(LookupError, match="which no stored study draws"):
        report.drawn("audit-nothing")


def test_every_source_that_is_cited_is_listed_and_none_is_idle() -> None:
    cited = set(re.findall(r"@(\w+)", TEXT))
    listed = (report.SOURCE.parent / "sources.yml").read_text(encoding="utf-8")
    assert cited == set(re.findall(r"^(\w+):$", listed, re.M))
    assert len(cited) == 5


def test_without_the_compiler_one_sentence_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(report, "import_module", missing)
    assert report.main() == 1
    assert "run `make report`" in capsys.readouterr().err

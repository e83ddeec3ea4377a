"""Many rows left out are a question: which rows count, who is asked, and that nothing is charged before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest

import hexcursion
from hexcursion import CuratorWarning
from hexcursion.cli.main import main
from hexcursion.ledger import Ledger, open_ledger
from hexcursion.project import model
from hexcursion.project.example import example_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project, RowsDropped
from hexcursion.search.pilot import run_pilot
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings

SEA = (-5.4, 50.05, -5.0, 50.35)  # the west of Cornwall: land on either side of a coast


@pytest.fixture(autouse=True)
def _asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_DROPPED", 0.05)


def table(**lost: int) -> pandas.DataFrame:
    """100 readings inland; as many as named lie at sea, out of the box, are empty or listed again."""
    rng = np.random.default_rng(5)
    n = 100 - sum(lost.values())
    rows = pandas.DataFrame(
        {
            "lon": rng.uniform(-5.30, -5.25, 100),
            "lat": rng.uniform(50.11, 50.16, 100),
            "no2": rng.normal(30.0, 4.0, 100).round(3),
            "kind": "a",
        }
    )
    at = n
    for what, count in lost.items():
        part = rows.index[at : at + count]
        at += count
        if what == "sea":
            rows.loc[part, ["lon", "lat"]] = rng.uniform((-5.38, 50.30), (-5.33, 50.34), (count, 2))
        elif what == "box":
            rows.loc[part, "lon"] = 5.0
        elif what == "empty":
            rows.loc[part, "no2"] = np.nan
        elif what == "again":
            rows.loc[part] = rows.iloc[:count].to_numpy()
        elif what == "filtered":
            rows.loc[part, "kind"] = "b"
    return rows.astype({"lon": float, "lat": float, "no2": float})


def settings(folder: Path, rows: pandas.DataFrame, **changes: object) -> ReleaseSettings:
    path = folder / "table.csv"
    rows.to_csv(path, index=False)
    source = SourceSettings(str(path), value="no2", x="lon", y="lat", where=(("kind", "a"),))
    base: dict[str, object] = {
        "data": source, "bbox": SEA, "resolution": 7, "threshold": 30.0,
        "epsilon": 2.0, "value_name": "NO2", "value_unit": "ug/m3", "centre": 28.0, "clip": 15.0,
        "mechanisms": ("spectral-statistics",), "accept_low_agreement": True,
    }  # fmt: skip
    return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["sea", "box", "empty", "again"])
def test_more_than_one_row_in_twenty_is_a_question(what: str, tmp_path: Path) -> None:
    few = load_project(settings(tmp_path, table(**{what: 5})))
    assert (few.dropped, few.drops_many) == ((5, 100), False)
    few.refuse_dropped()
    many = load_project(settings(tmp_path, table(**{what: 6})))
    assert (many.dropped, many.drops_many) == ((6, 100), True)
    with pytest.raises(RowsDropped, match=r"more than 5% of the rows .* --accept-dropped") as refused:
        many.refuse_dropped()
    assert not any(figure in str(refused.value) for figure in ("6", "100"))
    replace(many, settings=many.settings.with_changes(accept_dropped=True)).refuse_dropped()


def test_what_a_filter_or_a_drawn_area_leaves_out_is_no_question(tmp_path: Path) -> None:
    rows = table(filtered=60, empty=2)
    kept = load_project(settings(tmp_path, rows))
    assert (kept.dropped, kept.drops_many) == ((2, 40), False)
    rows.loc[97:, "no2"] = np.nan  # those two and one more of the 40
    rows.loc[:0, "no2"] = np.nan
    assert load_project(settings(tmp_path, rows)).dropped == (3, 40)
    area = tmp_path / "area.geojson"
    corners = [[-5.28, 50.10], [-5.22, 50.10], [-5.22, 50.17], [-5.28, 50.17], [-5.28, 50.10]]
    area.write_text(f'{{"type": "Polygon", "coordinates": [{corners}]}}', encoding="utf-8")
    drawn = load_project(settings(tmp_path, table(), bbox=None, region=str(area), resolution=8))
    assert drawn.private.placed.outside > 20
    assert (drawn.dropped[0], drawn.drops_many) == (0, False)


def test_rows_without_a_logarithm_count_where_the_number_is_hidden(tmp_path: Path) -> None:
    rows = table()
    rows.loc[:6, "no2"] = -1.0 - np.arange(7)
    hidden = {
        "relation": "add-or-remove",
        "records_about": 100,
        "transform": "log",
        "centre": 3.4,
        "clip": 1.0,
    }
    source = {"data": replace(settings(tmp_path, rows).data, missing=("none",))}
    project = load_project(settings(tmp_path, rows, **hidden, **source))
    assert project.dropped == (7, 100)
    assert project.private.placed.index.size == 93


def test_nothing_is_charged_before_the_answer(tmp_path: Path) -> None:
    made = settings(tmp_path, table(sea=30))
    with pytest.warns(CuratorWarning, match="30 rows lie outside the domain"), pytest.raises(RowsDropped):
        hexcursion.plan(made)
    ledger = open_ledger()
    piloted = load_project(made.with_changes(pilot=0.3, mechanisms=("posterior-sampling",)))
    with pytest.raises(RowsDropped):
        run_pilot(piloted, ledger)
    assert charged(ledger) == 0
    with pytest.warns(CuratorWarning, match="30 rows lie outside the domain"):
        assert isinstance(hexcursion.plan(made, accept_dropped=True), hexcursion.Planned)


def charged(ledger: Ledger) -> int:
    return sum(entry.kind == "reserve" for entry in ledger.entries())


def test_the_command_line_stops_with_the_option_that_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.csv"
    table(empty=20).to_csv(path, index=False)
    words = [
        "release", "--data", str(path), "--value", "no2", "--lon", "lon", "--lat", "lat", "--bbox",
        *map(str, SEA), "--resolution", "7", "--threshold", "30", "--epsilon", "2", "--value-name", "NO2",
        "--value-unit", "ug/m3", "--centre", "28", "--clip", "15", "--accept-low-agreement", "--dry-run",
    ]  # fmt: skip
    assert main(words) != 0
    assert "--accept-dropped" in capsys.readouterr().err
    assert main([*words, "--accept-dropped"]) == 0


def test_the_shipped_examples_are_not_stopped(demo: Project) -> None:
    assert not demo.drops_many


@pytest.fixture
def demo(tmp_path: Path) -> Project:
    return load_project(example_settings(tmp_path))

"""A finding of the first rows is shown with the click that answers it, until its field holds the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pages.data import findings, own_table, row_filters, sources, table_columns
from pages.shared.session.previews import propose_columns
from pages.shared.session.workspace import Workspace
from tests.pages.recorded import Recorded

ASKED = "Table of places and values (.csv, .xlsx) or points (.gpkg, .geojson)"
OWNER = "Protect all rows of one station together"
KIND = "Keep the rows of one entry of parameter"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded({"Where are the files?": "path"})
    for module in (findings, own_table, row_filters, sources, table_columns):
        monkeypatch.setattr(module, "st", recorded)
    monkeypatch.setattr(
        own_table, "ask_file", lambda label, where, key, work, help=None: recorded.answers.get(label)
    )
    return recorded


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Twelve readings of three stations, of two pollutants."""
    rows = [f"13.0{k},52.5{k},{7 + k / 10:.1f},S{k % 3},{('NO2', 'O3')[k % 2]}" for k in range(12)]
    path = tmp_path / "air.csv"
    path.write_text("\n".join(["lon,lat,value,station,parameter", *rows]) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("held", "shown"),
    [
        ({}, [KIND, OWNER]),
        ({"owner": "station"}, [KIND]),
        ({"owner": "parameter"}, [KIND, OWNER]),
        ({"where": ["parameter"]}, [OWNER]),
        ({"where": ["lon", "parameter"], "owner": "station"}, []),
    ],
)
def test_a_finding_is_shown_until_its_field_holds_its_column(
    screen: Recorded, table: str, held: dict[str, Any], shown: list[str]
) -> None:
    screen.session_state.update({f"sensors_{name}_{table}": value for name, value in held.items()})
    findings.offer_findings(propose_columns(table, None), table)
    assert screen.said("button") == shown
    assert len(screen.said("expander")) == bool(shown)


def test_owners_are_asked_about_once(screen: Recorded, table: str) -> None:
    screen.answers |= {ASKED: table, "Keep only rows where": []}
    own_table.ask_sensors(Workspace())
    assert OWNER in screen.said("button")
    assert [text for text in screen.said("caption") if ":material/help:" in text] == []

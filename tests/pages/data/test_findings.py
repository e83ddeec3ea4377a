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


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        ("", ["0", "9999", "Every"]),
        ("0", ["9999"]),
        ("9999,  0", []),
        ("none", []),
    ],
)
def test_odd_numbers_are_asked_about_until_the_field_answers(
    screen: Recorded, tmp_path: Path, stated: str, shown: list[str]
) -> None:
    values = [*["0"] * 12, *["9999"] * 3, *(f"{20 + k / 7:.3f}" for k in range(40))]
    rows = [f"13.{k:03d},52.{k:03d},{value}" for k, value in enumerate(values)]
    path = tmp_path / "lead.csv"
    path.write_text("\n".join(["lon,lat,lead", *rows]) + "\n", encoding="utf-8")
    screen.session_state[f"sensors_missing_{path}"] = stated
    findings.offer_findings(propose_columns(str(path), None), str(path))
    assert [label.split()[0] for label in screen.said("button")] == shown


@pytest.mark.parametrize(
    ("held", "code", "after"), [("", "0", "0"), ("0", "9999", "0 9999"), ("", "none", "none")]
)
def test_a_click_writes_the_answer_into_the_field(screen: Recorded, held: str, code: str, after: str) -> None:
    screen.session_state["sensors_missing_town.csv"] = held
    findings._take_code(code, "town.csv")
    assert screen.session_state["sensors_missing_town.csv"] == after

"""Screens run as scripts, without a browser: what the ledger and the start say, ask and lead to."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from hexcursion.errors import WorkflowError
from hexcursion.settings.data_settings import SourceSettings
from pages.data import public_files, sources
from pages.ledger import view as ledger_view
from pages.ledger.view import AccountView, LedgerView
from pages.shared import panels
from pages.shared.session import workspace
from pages.shared.session.previews import Preview
from pages.shared.session.workspace import Workspace
from tests.pages.recorded import Recorded

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT = AccountView(
    "lead.csv", "Each record protected", "abab", "1e-05", "2", "0.5", "1.5", 0.25, "1 release", ""
)
SEEN = LedgerView((ACCOUNT,), ({"No.": 0}, {"No.": 1}), (), (), ())


def run(monkeypatch: pytest.MonkeyPatch, address: str, recorded: Recorded) -> Recorded:
    """A page as Streamlit runs it, before nobody."""
    monkeypatch.setitem(sys.modules, "streamlit", recorded)
    runpy.run_path(str(ROOT / "pages" / address / "page.py"))
    return recorded


def ledger(monkeypatch: pytest.MonkeyPatch, seen: Any, **answers: Any) -> Recorded:
    def view() -> Any:
        if isinstance(seen, Exception):
            raise seen
        return seen

    monkeypatch.setattr(ledger_view, "view_ledger", view)
    return run(monkeypatch, "ledger", Recorded(answers.get("answers")))


def test_a_sound_ledger_is_said_to_be_verified_with_its_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ledger(monkeypatch, SEEN)
    assert found.said("success") == ["2 entries verified: nothing was changed, as far as can be known."]
    assert found.said("error", "warning", "info") == []
    assert found.said("header") == ["Budgets", "Entries"]
    assert [named["anchor"] for name, _, named in found.calls if name == "header"] == [False, False]
    assert [given for name, given, _ in found.calls if name == "metric"] == [
        ("Budget ε", "2"),
        ("Spent ε", "0\\.5"),
        ("Left ε", "1\\.5"),
    ]
    ((_, given, named),) = [call for call in found.calls if call[0] == "progress"]
    assert (given, named) == ((0.25,), {"text": "1 release charged"})
    assert found.said("dataframe") == [[{"No.": 1}, {"No.": 0}]], "the newest first"
    assert found.said("form", "selectbox") == [], "there is nothing to void"
    assert found.said("columns")[0] == [3, 1, 1, 1]
    assert [named for name, _, named in found.calls if name == "container"] == [{"border": True}]


def test_damage_and_clocks_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = LedgerView((), (), ("entry 1 was changed", "entry 2 is gone"), ("a clock went back",), ())
    found = ledger(monkeypatch, damaged)
    assert found.said("error") == ["entry 1 was changed", "entry 2 is gone"]
    assert found.said("success", "warning") == []
    assert "No dataset has a budget yet: the first release sets one." in found.said("caption")
    noted = ledger(monkeypatch, LedgerView((), (), (), ("a clock went back",), ()))
    assert noted.said("warning") == ["a clock went back"]


def test_no_ledger_and_one_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "There is no ledger yet" in ledger(monkeypatch, None).said("info")[0]
    assert ledger(monkeypatch, WorkflowError("It is locked.")).said("error") == ["It is locked."]


@pytest.mark.parametrize("refused", [False, True])
def test_a_charge_is_voided_with_name_and_reason(monkeypatch: pytest.MonkeyPatch, refused: bool) -> None:
    voided: list[tuple[int, str, str]] = []

    def void(number: int, reason: str, person: str) -> None:
        voided.append((number, reason, person))
        if refused:
            raise WorkflowError("A reason is missing.")

    monkeypatch.setattr(ledger_view, "void_charge", void)
    why = "Why it is certain that nothing was released"
    answers = {"Entry": 4, "Your name": "Ada", why: "power cut", "Void this charge": True}
    seen = LedgerView((), (), (), (), (3, 4))
    found = ledger(monkeypatch, seen, answers=answers)
    assert found.asked("Entry")["_"] == ((3, 4),)
    assert voided == [(4, "power cut", "Ada")]
    assert found.said("error") == (["A reason is missing."] if refused else [])
    assert ("rerun" in [name for name, _, _ in found.calls]) is not refused


def test_the_start_leads_to_tour_data_viewer_and_help(monkeypatch: pytest.MonkeyPatch) -> None:
    found, taken = Recorded(), Recorded({"Take the two-minute tour": True})
    monkeypatch.setattr(panels, "st", found)
    run(monkeypatch, "start", found)
    assert found.said("button") == ["Take the two-minute tour", "Open the finished example"]
    links = [(given[0], named["label"]) for name, given, named in found.calls if name == "page_link"]
    assert links == [
        ("pages/data/page.py", "Begin with the data"),
        ("pages/viewer/page.py", "Open the viewer"),
        ("pages/help/page.py", "How this works"),
    ]
    pictures = [(given[0], named["width"]) for name, given, named in found.calls if name == "image"]
    assert [(place.name, wide) for place, wide in pictures] == [
        ("path.svg", 260),
        ("help-data.svg", "stretch"),
        ("help-region.svg", "stretch"),
    ]
    assert all(place.is_file() for place, _ in pictures)
    assert "switch_page" not in [name for name, _, _ in found.calls]
    monkeypatch.setattr(panels, "st", taken)
    run(monkeypatch, "start", taken)
    assert taken.said("switch_page") == ["pages/tour/page.py"]


READ = Preview(("5 readings were kept.", "1 was not."), 5, "ppb", "reading", False, (), (), (), ())
LATER = {"data": SourceSettings("/a.csv", value="v", x="x", y="y", crs="EPSG:4326"), "value_name": "no2"}


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """The recorder for the step Data, and as calls what it asks other modules to ask."""
    recorded = Recorded()
    for module in (sources, panels, public_files):
        for name in ("refill", "ask_places_public", "ask_basemap"):
            monkeypatch.setattr(module, name, getattr(recorded, name), raising=False)
    return recorded


def data_page(monkeypatch: pytest.MonkeyPatch, recorded: Recorded, **held: Any) -> list[str]:
    monkeypatch.setattr(workspace, "current", lambda: Workspace(**held))
    run(monkeypatch, "data", recorded)
    return [name for name, _, _ in recorded.calls]


def test_without_data_the_examples_are_offered_first(monkeypatch: pytest.MonkeyPatch, data: Recorded) -> None:
    called = data_page(monkeypatch, data)
    assert data.said("button") == ["Use the sales of Lucas County", "Use the generated example"]
    assert data.asked("What kind of data?")["default"] == "example"
    assert {"success", "header", "dataframe", "warning", "refill", "ask_places_public"}.isdisjoint(called)
    assert "ask_basemap" in called


NONE = "None: one fixed design will be taken"
NEEDED = (
    f"{NONE}, for which two public numbers are asked on the screen Privacy and utility: a usual value, and "
    "how far values go from it."
)
COUNTED = f"{NONE}. Records that are counted need no reference data."


@pytest.mark.parametrize(
    ("values", "asked", "none"),
    [("amount", True, NEEDED), ("yes-no", True, f"{NONE}."), ("count", False, COUNTED)],
)
def test_what_was_read_is_shown_and_places_may_be_public_unless_they_are_the_secret(
    monkeypatch: pytest.MonkeyPatch, data: Recorded, values: str, asked: bool, none: str
) -> None:
    called = data_page(monkeypatch, data, private=READ, choices={**LATER, "values": values})
    assert ("ask_places_public" in called) is asked
    assert "refill" in called, "the widgets show what stands in the workspace"
    assert data.session_state["data_kind"] == "sensors"
    assert data.said("success") == ["5 readings were kept."]
    assert data.said("header") == ["What was read"]
    assert {"Nothing on this screen is released.", none} <= set(data.said("caption"))
    assert "- 1 was not." in data.said("markdown")
    ((_, _, shown),) = [call for call in data.calls if call[0] == "dataframe"]
    assert shown["hide_index"] is True


@pytest.mark.parametrize(("public", "word"), [(True, "public"), (False, "set aside")])
def test_reference_data_are_public_or_set_aside(
    monkeypatch: pytest.MonkeyPatch, data: Recorded, public: bool, word: str
) -> None:
    choices = {**LATER, "reference": LATER["data"], "reference_public": public}
    data_page(monkeypatch, data, private=READ, reference=READ, choices=choices)
    assert f"**Reference data** ({word})" in data.said("markdown")


def test_settings_are_taken_from_an_uploaded_file_alone(
    monkeypatch: pytest.MonkeyPatch, data: Recorded
) -> None:
    data.answers["Take these settings"] = True
    data_page(monkeypatch, data)
    assert data.said("error") == ["Upload the settings file (TOML) first."]

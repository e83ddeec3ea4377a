"""The guided tour as a screen: five steps forward, one back, for readers too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.bundle.page.html import ONE_HOUSE
from hexcursion.bundle.statement.expected import shown_words
from pages.shared.shipped import shelved, shipped
from pages.shared.steps import TOUR, VIEWER
from pages.tour.view import tour
from tests.pages.conftest import press, texts


def figures(app: AppTest) -> list[str]:
    """What stands in large type, without the marks that keep it plain text."""
    return [metric.value.replace("\\", "") for metric in app.metric]


def test_the_tour_is_told_in_five_steps_with_the_numbers_of_the_viewer(
    open_app: Callable[..., AppTest],
) -> None:
    app = open_app(TOUR.path)
    assert "3,108 house sales of 1993" in texts(app)
    assert "4,206 sales of 1998 are private" in texts(app)
    press(app, "Next")
    assert "not 91 but 138 hexagons are above" in texts(app)
    press(app, "Next")
    said = texts(app)
    assert "111 hexagons are likely above" in said
    assert "96 % of the orange hexagons are above there" in said
    assert figures(app) == ["0.6", "0.81"]
    press(app, "Next")
    assert "leaves 72 % of the hexagons blank" in texts(app)
    assert figures(app) == ["0.63", "0.87", "0.85", "0.81"]
    press(app, "Next")
    told = texts(app).replace("\\", "")
    assert "22 sales at a mean of $72,731.82, less 21 at $72,766.67, leave **$72,000**." in told
    assert "89 of 100 sales" in told
    assert "interval 20 times as wide" in told
    assert "A 50:50 guess about one sale becomes at most 56:44." in told
    assert not [button for button in app.button if button.label.startswith("Next")]
    press(app, "Back")
    assert len(app.metric) == 4
    app.query_params["release"] = shelved().name
    app.switch_page(VIEWER.path).run()
    seen = texts(app).replace("\\", "")
    assert (
        "111 of 316 hexagons (35 %) are likely above the threshold, 55 it cannot tell, 150 likely not" in seen
    )
    for sentence in (
        shown_words(shipped().bundle.published, shipped().bundle.statement),
        "A 50:50 guess about one sale becomes at most 56:44",
    ):
        assert sentence in seen
        assert sentence.startswith("A 50:50") or sentence in said


def test_the_page_of_every_map_has_the_figures_of_the_stored_study() -> None:
    seen = tour()
    before, after = seen.house.editions
    assert before is not None
    assert after is not None
    for count, mean in (before, after):
        assert f"{count} " in ONE_HOUSE
        assert f"${mean:,.2f}" in ONE_HOUSE
    assert f"${seen.house.price:,.0f}." in ONE_HOUSE
    assert f"at least {seen.least} sales" in ONE_HOUSE
    assert f"{100 * seen.exact:.0f} of 100 prices" in ONE_HOUSE
    assert f"{seen.house.times} times as wide" in ONE_HOUSE
    assert f"Ohio, in {seen.years[1]} " in ONE_HOUSE


def test_start_leads_to_the_tour_and_names_the_protection(open_app: Callable[..., AppTest]) -> None:
    app = open_app()
    assert "differential privacy" in texts(app)
    press(app, "Take the two-minute tour")
    assert app.title[0].value == "Guided tour"


def test_a_reader_s_tour_does_not_lead_to_private_data(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_MODE", "viewer")
    app = open_app(TOUR.path)
    for _ in range(4):
        [following] = [button for button in app.button if button.label.startswith("Next")]
        following.click().run()
        assert not app.exception
    assert "12 Maple Court" in texts(app)
    assert "Begin with your own data" not in str(app.get("page_link"))

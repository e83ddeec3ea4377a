"""The guided tour as a screen: five steps forward, one back, for readers too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.steps import TOUR
from tests.pages.conftest import press, texts


def figures(app: AppTest) -> list[str]:
    """What stands in large type, without the marks that keep it plain text."""
    return [metric.value.replace("\\", "") for metric in app.metric]


def test_the_tour_is_told_in_five_steps(open_app: Callable[..., AppTest]) -> None:
    app = open_app(TOUR.path)
    assert "11,925 sales of 2024 within it are private" in texts(app)
    press(app, "Next: What is new")
    assert "North Deep has become expensive" in texts(app)
    press(app, "Next: Who is protected")
    assert "differentially private" in texts(app)
    assert figures(app) == ["73.2 %"]
    press(app, "Next: Is it right?")
    assert figures(app) == ["0.48", "0.8", "0.84"]
    press(app, "Next: What does it cost?")
    assert "looking at it again is free" in texts(app)
    assert not [button for button in app.button if button.label.startswith("Next")]
    press(app, "Back")
    assert len(app.metric) == 3


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
    assert "What does it cost?" not in [button.label for button in app.button]
    assert "looking at it again is free" in texts(app)

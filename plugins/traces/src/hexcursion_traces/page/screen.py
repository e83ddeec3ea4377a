"""The screen Traces, as the app's menu shows it."""

from __future__ import annotations

from pathlib import Path

from pages.shared.steps import Screen

TRACES = Screen(
    "Traces",
    str(Path(__file__).with_name("page.py")),
    "traces",
    ":material/route:",
    "Choose which moments of a recorded trip stay secret, and release the rest.",
    section="Trips",
)

"""The guest's screen, as the app's menu shows it."""

from __future__ import annotations

from pathlib import Path

from pages.shared.steps import Screen

GUESTS = Screen(
    "Guests",
    str(Path(__file__).with_name("page.py")),
    "guests",
    ":material/group:",
    "See what the guest brought.",
    section="Guests",
)

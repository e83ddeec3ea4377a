"""What runs every day: of the browser tests the heart of the journeys, wherever their files lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.browser.conftest import pytest_collection_modifyitems

BROWSER = Path(__file__).resolve().parents[1] / "browser"


@dataclass
class Item:
    """A test as far as the rule looks at it."""

    path: Path
    marks: set[str] = field(default_factory=set)

    def add_marker(self, mark: Any) -> None:
        self.marks.add(mark.name)


def test_of_the_browser_tests_only_the_journeys_run_every_day() -> None:
    items = [Item(path) for path in sorted(BROWSER.rglob("test_*.py"))]
    elsewhere = Item(BROWSER.parent / "pages" / "test_path.py")
    pytest_collection_modifyitems([*items, elsewhere])  # type: ignore[list-item]
    assert len(items) >= 16
    assert all("browser" in item.marks for item in items)
    assert {item.path.name for item in items if "slow" not in item.marks} == {"test_journey.py"}
    assert elsewhere.marks == set()

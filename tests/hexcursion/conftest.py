"""What the tests of the program share."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import pytest

from geo.maps.static_map import draw_map
from hexcursion.bundle.page import papers

DRAWN: dict[bytes, bytes] = {}


@pytest.fixture(autouse=True)
def _drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle's picture is drawn once: the same input gives the same bytes, as the tests of `geo` show."""

    def remembered(*given: Any, **named: Any) -> bytes:
        asked = hashlib.sha256(pickle.dumps((given, named))).digest()
        if asked not in DRAWN:
            DRAWN[asked] = draw_map(*given, **named)
        return DRAWN[asked]

    monkeypatch.setattr(papers, "draw_map", remembered)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "bundle"

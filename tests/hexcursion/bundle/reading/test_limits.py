"""Limits of a bundle in literal numbers: what a stranger's file may hold, and what a page draws of a release.

Whoever changes one changes what was promised to readers: bundles of today must open tomorrow, a page stays
below 3 MB, and a picture is drawn from a bounded number of corners.
"""

from __future__ import annotations

from importlib import import_module

import pytest

LIMITS = {
    "areas": {"FEWEST": 10, "MOST": 100},
    "layers": {"MAX_PATH_REGIONS": 8},
    "layout": {"MAX_RATIO": 200, "MAX_TOTAL_BYTES": 600_000_000, "MOST_PIXELS": 100_000_000},
    "page.drawn": {
        "MOST_BYTES": 2_000_000, "STOPS": 41, "OWN_CORNERS": 40_000, "RUN": 64, "SPAN": 60_000, "CORNERS": 6,
        "NAMES": 120, "OWN_NAMES": 200, "OWN_LINE_CORNERS": 8_000, "EMPTY": 128,
    },
    "page.facts": {"MOST": 8},
    "page.label": {"MAX_CREDITS": 900},
    "published.bundle_store": {"LONGEST_STATEMENT": 4_000_000},
    "published.view": {"MAX_ROUNDS": 20},
    "tables": {"MAX_PATHS": 10_000, "MAX_VALUES": 50_000_000, "MAX_MAGNITUDE": 2.0**30},
    "untrusted": {"MAX_UNPACKED": 700_000_000},
}  # fmt: skip


@pytest.mark.parametrize("module", sorted(LIMITS))
def test_limits_change_on_purpose_only(module: str) -> None:
    found = vars(import_module(f"hexcursion.bundle.{module}"))
    assert {name: found[name] for name in LIMITS[module]} == LIMITS[module]

"""What stands on the printed map beside what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hexcursion.bundle import read_bundle
from hexcursion.bundle.page.papers import _subtitle

WARNINGS = {
    "simulation": "SIMULATION with a fixed seed: not a private release.",
    "generated": "GENERATED demo data: no real person is described.",
    "accounted": "TUNING NOT ACCOUNTED: the true privacy loss is larger than stated.",
}


@pytest.mark.parametrize("said", [(), *((one,) for one in WARNINGS), tuple(WARNINGS)])
def test_a_picture_that_is_no_private_release_says_so(bundle_folder: Path, said: tuple[str, ...]) -> None:
    statement: dict[str, Any] = dict(read_bundle(bundle_folder).statement)
    statement["release"] = {
        **statement["release"],
        "simulation": "simulation" in said,
        "generated": "generated" in said,
    }
    statement["tuning"] = {**statement["tuning"], "accounted": "accounted" not in said}
    lines = _subtitle(statement).split("\n")
    assert lines[1].startswith("Protects one sale: epsilon ")
    assert lines[2:] == [WARNINGS[one] for one in said]

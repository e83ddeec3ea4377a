"""Safety net: what plans of public places are kept for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.posterior.records import CollapsedRecords
from tests.dpgp_core.mechanisms.net.test_net_calibration import PUBLIC
from tests.dpgp_core.mechanisms.net.test_net_stated import DESIGNS


@pytest.mark.parametrize("name", ["cloaking", "functional"])
def test_a_plan_is_made_once_for_all_noises_scales_cutoffs_and_paths(name: str) -> None:
    """And anew for another ridge, blur or place."""
    mechanism: Any = MECHANISMS[name]
    held = CollapsedRecords.from_records([0, 7, 20], [0.1, 0.2, -0.4])
    design = DESIGNS[name]
    plan = mechanism.plan(design, PUBLIC, held)
    for same in ({"mu": 0.3}, {"scale": 0.9}, {"cutoff": 0.3}, {"paths": 9}):
        assert mechanism.plan(replace(design, **same), PUBLIC, held) is plan
    for other in ({"ridge": 0.3}, {"blur": 9.0}):
        assert mechanism.plan(replace(design, **other), PUBLIC, held) is not plan
    assert mechanism.plan(design, PUBLIC, CollapsedRecords.from_records([0, 7], [0.1, 0.2])) is not plan

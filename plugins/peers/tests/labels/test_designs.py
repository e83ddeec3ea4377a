"""Designs of public places that cloaking and functional noise offer a search, and their plans."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.posterior.records import CollapsedRecords
from hexcursion_peers.labels.cloaking import CloakingDesign
from hexcursion_peers.labels.functional import FunctionalDesign
from tests.dpgp_core.mechanisms.designs.test_calibration import PUBLIC as PLANNED
from tests.dpgp_core.mechanisms.designs.test_grids import ASK, PUBLIC, RANGES, same
from tests.dpgp_core.mechanisms.designs.test_stated import DESIGNS


@pytest.mark.parametrize("name", ["cloaking", "functional"])
def test_gaussian_sums_over_public_places_are_offered_with_three_blurs(name: str) -> None:
    made: Any = {"cloaking": CloakingDesign, "functional": FunctionalDesign}[name]
    same(
        MECHANISMS[name].search.grid(PUBLIC, ASK),
        [
            made("car", each, 1.0, scale, 1.0, blur, paths=100)
            for each, scale, blur in product(RANGES[:2], (0.3, 0.6), (2.0, 8.0, 32.0))
        ],
    )


@pytest.mark.parametrize("name", ["cloaking", "functional"])
def test_a_plan_is_made_once_for_all_noises_scales_cutoffs_and_paths(name: str) -> None:
    """And anew for another ridge, blur or place."""
    mechanism: Any = MECHANISMS[name]
    held = CollapsedRecords.from_records([0, 7, 20], [0.1, 0.2, -0.4])
    design = DESIGNS[name]
    plan = mechanism.plan(design, PLANNED, held)
    for changed in ({"mu": 0.3}, {"scale": 0.9}, {"cutoff": 0.3}, {"paths": 9}):
        assert mechanism.plan(replace(design, **changed), PLANNED, held) is plan
    for other in ({"ridge": 0.3}, {"blur": 9.0}):
        assert mechanism.plan(replace(design, **other), PLANNED, held) is not plan
    assert mechanism.plan(design, PLANNED, CollapsedRecords.from_records([0, 7], [0.1, 0.2])) is not plan

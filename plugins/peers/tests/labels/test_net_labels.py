"""Safety net: the designs that cloaking and functional noise offer a search."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion_peers.labels.cloaking import CloakingDesign
from hexcursion_peers.labels.functional import FunctionalDesign
from tests.dpgp_core.mechanisms.net.test_net_grids import ASK, PUBLIC, RANGES, same


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

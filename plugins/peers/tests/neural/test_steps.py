"""The steps around a design of the neural process."""

from __future__ import annotations

from typing import Any

import pytest

from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion_peers.neural.mechanism import ConvCnpDesign, window_of
from tests.dpgp_core.mechanisms.designs.test_search_parts import FACTS


def test_every_step_around_a_middling_network_is_tried() -> None:
    """A step of 1.4 up and down in width, amplitude and ridge, as the network was trained for all of them."""
    mechanism: Any = MECHANISMS["convcnp"]
    design = ConvCnpDesign(0.3 * window_of(FACTS).half, 0.0, 0.5, 1.0, 1.0, 1.0)
    tried = mechanism.search.refinement([design], FACTS, SearchSpec(("car",), paths=3))
    changes = [(new.width / design.width, new.amplitude, new.ridge) for new in tried]
    assert changes == [
        pytest.approx(each)
        for each in [(1.4, 1, 1), (1 / 1.4, 1, 1), (1, 1.4, 1), (1, 1 / 1.4, 1), (1, 1, 1.4), (1, 1, 1 / 1.4)]
    ]

"""The designs that the neural process offers a search."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion_peers.neural.mechanism import ConvCnpDesign
from tests.dpgp_core.mechanisms.designs.test_grids import ASK, HIDDEN, PRICED, same
from tests.dpgp_core.mechanisms.test_mechanisms import EVERY


def test_the_network_is_offered_what_it_was_trained_for() -> None:
    """Ranges of a quarter, a half and a whole of 1,333 m, half the window; then its share of five widths."""
    mechanism: Any = MECHANISMS["convcnp"]
    rest = {"middle": 0.0, "spread": 0.5, "mu": 1.0, "paths": 100}
    widths = (133.333, 200.0, 293.333, 440.0, 666.667)
    same(
        mechanism.search.grid(HIDDEN, ASK),
        [
            ConvCnpDesign(width=width, amplitude=1.0, ridge=1.0, sums="water-filled", **rest)
            for width in (333.333, 666.667, 1333.33)
        ]
        + [
            ConvCnpDesign(width=width, amplitude=amplitude, ridge=ridge, **rest)
            for width, ridge, amplitude in product(widths, (0.5, 1.0, 2.0), (1.0, 1.6))
        ],
    )
    quick = dict.fromkeys(
        (each.sums, each.width) for each in mechanism.search.grid(HIDDEN, replace(ASK, quick=True))
    )
    assert list(quick) == [("water-filled", 666.667), ("set-convolution", 200.0), ("set-convolution", 440.0)]


@pytest.mark.parametrize(
    ("sums", "width"),
    [
        ("set-convolution", 80.0),
        ("set-convolution", 600.0),
        ("water-filled", 100.0),
        ("water-filled", 1500.0),
    ],
)
def test_the_ends_of_the_networks_training_belong_to_it(
    sums: Any, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of half a window of 1,000 m: amplitude and ridge still move, and the width inwards."""
    mechanism: Any = MECHANISMS["convcnp"]
    monkeypatch.setattr(f"{ConvCnpDesign.__module__}.window_of", lambda _: SimpleNamespace(half=1000.0))
    design = replace(PRICED["convcnp"][0], width=width, sums=sums)
    assert len(mechanism.search.refinement([design], HIDDEN, ASK)) == 5


def test_the_kind_of_sums_and_the_width_share_work_and_there_is_no_prior() -> None:
    network = PRICED["convcnp"][0]
    assert MECHANISMS["convcnp"].search.group_of(network) == ("set-convolution", 300.0)


def test_water_filled_sums_are_described_by_their_range() -> None:
    filled: Any = replace(EVERY["convcnp"], sums="water-filled", width=712.345)
    assert MECHANISMS["convcnp"].describe(filled) == (
        "water-filled sums, range 712.3 m, mu 1; told a spread of 0.5 and a scatter of 1.2"
    )

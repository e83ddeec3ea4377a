"""What the neural process hands to its parts, tries before a draw, and keeps."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hexcursion_peers.neural.mechanism as convcnp
from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from hexcursion_peers.neural.corrected import CORRECTION
from hexcursion_peers.neural.weights import STORED_CORRECTION
from tests.dpgp_core.mechanisms.designs.test_parts import FEW, HIDDEN
from tests.dpgp_core.mechanisms.designs.test_stated import DESIGNS

NETWORK = DESIGNS["convcnp"]


@pytest.mark.parametrize(
    ("sums", "asked"), [("set-convolution", ()), ("water-filled", (STORED_CORRECTION, CORRECTION))]
)
def test_the_networks_weights_are_read_and_tried_on_nothing_before_a_draw(
    sums: str, asked: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    plan = SimpleNamespace(
        features=SimpleNamespace(size=5), products="products", field=lambda *given: seen.append(given)
    )
    mechanism: Any = MECHANISMS["convcnp"]
    monkeypatch.setattr(convcnp, "network", lambda *given: seen.append(given))
    monkeypatch.setattr(convcnp, "channel_noise", lambda *given: given)
    monkeypatch.setattr(type(mechanism), "plan", lambda *_: plan)
    design = replace(NETWORK, sums=sums)
    mechanism.prepare(design, HIDDEN, FEW)
    assert seen[0] == asked
    zero, other, noise, told = seen[1]
    assert zero.tolist() == other.tolist() == [[0.0] * 5]
    assert noise == (2.0, "products", "joint")
    assert (told.number, told.middle, told.spread, told.ridge) == (3, 0.0, 0.5, 1.2)


def test_the_network_is_told_the_spread_times_the_amplitude() -> None:
    told = replace(NETWORK, middle=0.1, spread=0.4, amplitude=1.6, ridge=0.7).told(150)
    assert (told.number, told.middle, told.ridge) == (150, 0.1, 0.7)
    assert told.spread == pytest.approx(0.64)


def test_paths_of_the_network_are_deviates_around_its_mean() -> None:
    """Two paths of three cells: mean + sd * deviates, and both channels as released."""
    released: Any = SimpleNamespace(sums=np.array([1.0, 2.0]), counts=np.array([3.0, 4.0]), noise="noise")
    deviates = np.array([[1.0, 0.0, -1.0], [2.0, 2.0, 2.0]])
    seen: list[Any] = []

    def field(sums: np.ndarray, counts: np.ndarray, noise: str, told: Any) -> tuple[np.ndarray, np.ndarray]:
        seen.append((sums.tolist(), counts.tolist(), noise, told.number))
        return np.array([[0.5, 0.0, -0.5]]), np.array([[0.25, 0.5, 1.0]])

    plan: Any = SimpleNamespace(field=field, deviates=lambda *given: deviates[: given[2]])
    prepared = convcnp._PreparedSums(replace(NETWORK, paths=2), plan, FEW)
    object.__setattr__(prepared, "release", lambda _: released)
    found = prepared.draw(SimulationEntropy(1))
    assert found.paths.tolist() == [[0.75, 0.0, -1.5], [1.0, 1.0, 1.5]]
    assert seen == [([[1.0, 2.0]], [[3.0, 4.0]], "noise", 3)]
    assert [part.tolist() for part in found.raw] == [[1.0, 2.0], [3.0, 4.0]]
    (one,) = prepared.without_paths(SimulationEntropy(1), 1)
    assert one.paths.tolist() == [[0.5, 0.0, -0.5]]


@pytest.mark.parametrize(
    ("sums", "width", "steps"),
    [
        ("set-convolution", 0.07, [0.098]),  # from .08 on, up to .6 of half the window
        ("set-convolution", 0.1, [0.14, *[0.1] * 4]),
        ("set-convolution", 0.3, [0.42, 0.3 / 1.4, *[0.3] * 4]),
        ("set-convolution", 0.59, [0.59 / 1.4, *[0.59] * 4]),
        ("set-convolution", 0.61, [0.61 / 1.4]),
        ("water-filled", 0.09, [0.126]),  # from .1 on, up to 1.5
        ("water-filled", 0.11, [0.154, *[0.11] * 4]),
        ("water-filled", 1.49, [1.49 / 1.4, *[1.49] * 4]),
        ("water-filled", 1.51, [1.51 / 1.4]),
    ],
)
def test_the_local_stage_of_the_network_stays_within_its_training(
    sums: Any, width: float, steps: list[float]
) -> None:
    mechanism: Any = MECHANISMS["convcnp"]
    half = convcnp.window_of(HIDDEN).half
    start = replace(NETWORK, width=width * half, sums=sums)
    near = mechanism.search.refinement([start], HIDDEN, SearchSpec(("car",)))
    assert [each.width / half for each in near] == pytest.approx(steps)

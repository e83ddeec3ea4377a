"""The exact Gaussian audit: no pair of neighbours, random or sought, is further apart than the declared mu.

Two releases with the same seed carry the same noise: their difference is what the exchanged record does to
the released numbers, rounding and all; in units of the deviations of the noise its length is the own mu of
the pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_release import prepared_plan
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from tests.dpgp_core.hexmap import disk
from tests.dpgp_core.mechanisms.beside import table

LATTICE = disk(2, padding=1)
N, MU = 40, 0.8
HIDDEN = PublicFacts(LATTICE, N)
KNOWN = PublicFacts(LATTICE, N, places_public=True)
LABEL = {"prior": "exponential", "lengthscale": 1500.0, "ridge": 1.0, "scale": 0.5, "mu": MU}
SPECTRAL = {
    "strategy": "water-filled",
    "prior": "exponential",
    "lengthscale": 1500.0,
    "signal": 0.5,
    "middle": 0.0,
    "spread": 1.0,
    "amplitude": 1.0,
    "ridge": 1.0,
    "mu": MU,
}
Deviations = Callable[[Any, Any, Any, CollapsedRecords], list[np.ndarray | float]]


def of_features(mechanism: Any, design: Any, facts: PublicFacts, held: CollapsedRecords) -> list[Any]:
    noise = prepared_plan(design, facts).noise
    return [noise.sums] if noise.counts is None else [noise.sums, noise.counts]


CASES: dict[str, tuple[str, PublicFacts, dict[str, Any], Deviations]] = {
    "noisy cell statistics": (
        "noisy-cell-statistics",
        HIDDEN,
        {**{k: v for k, v in LABEL.items() if k != "mu"}, "statistic_noise": 2.0 / MU},
        lambda mechanism, design, facts, held: [design.statistic_noise] * 2,
    ),
    "spectral statistics": ("spectral-statistics", HIDDEN, SPECTRAL, of_features),
    "spectral statistics, known places": ("spectral-statistics", KNOWN, SPECTRAL, of_features),
    **{
        name: (kind, KNOWN if public else HIDDEN, values, deviations)
        for name, (kind, public, values, deviations) in table("AUDITED").items()
    },
}


@pytest.mark.parametrize("name", list(CASES))
def test_no_pair_of_neighbours_is_further_apart_than_declared(name: str) -> None:
    kind, facts, values, deviations = CASES[name]
    mechanism, generator = MECHANISMS[kind], np.random.default_rng(11)
    design = mechanism.design_type.from_mapping({**values, "paths": 1})
    declared = mechanism.guarantee(design, facts).exact_gaussian_mu
    assert declared == pytest.approx(MU, rel=1e-3)
    cells, responses = generator.integers(0, LATTICE.size, N), generator.choice([-1.0, 1.0], N)

    def released(cells: np.ndarray, responses: np.ndarray) -> tuple[np.ndarray, ...]:
        held = CollapsedRecords.from_records(cells, responses)
        prepared = mechanism.prepare(design, facts, held)
        return draw_release(prepared, SimulationEntropy(3), simulation=True).raw

    base = released(cells, responses)
    noises = deviations(mechanism, design, facts, CollapsedRecords.from_records(cells, responses))
    assert len(base) == len(noises)

    def apart(record: int, cell: int, response: float) -> float:
        """mu of exchanging one record; where places are public it stays at its own."""
        at, said = cells.copy(), responses.copy()
        at[record], said[record] = cell if facts is HIDDEN else at[record], response
        other = released(at, said)
        parts = [np.sum((a - b) ** 2) / s**2 for a, b, s in zip(base, other, noises, strict=True)]
        return math.sqrt(float(sum(parts)))

    # at random
    seen = [
        apart(int(j), int(c), float(r))
        for j, c, r in zip(
            generator.integers(0, N, 15),
            generator.integers(0, LATTICE.size, 15),
            generator.uniform(-1, 1, 15),
            strict=True,
        )
    ]
    # sought: the record that one far exchange moves most, then every place and both ends for it
    record = max(range(N), key=lambda j: apart(j, int(LATTICE.size - 1 - cells[j]), -responses[j]))
    places = range(LATTICE.size) if facts is HIDDEN else (int(cells[record]),)
    seen += [apart(record, cell, response) for cell in places for response in (-1.0, 1.0)]
    assert max(seen) <= declared
    assert max(seen) > 0.7 * declared  # the declared one is no idle number

"""Where to measure next: what six rounds cost together, and that a path is a better guide than chance."""

from __future__ import annotations

import numpy as np

from dpgp_core import make_prior
from dpgp_core.accounting.composition import compose, epsilon
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign, path_guarantee
from studies.agreement import measure_next as study
from studies.material.disk import disk

PRIOR = make_prior("exponential", disk(study.CELLS), study.RANGE)


def test_six_rounds_on_growing_records_cost_at_most_the_stated_epsilon() -> None:
    for ridge, scale in study.least_scales(PRIOR, 3.0)[1::2]:
        design = PosteriorSamplingDesign("exponential", study.RANGE, ridge, scale, bound="joint-sharp")
        if not np.isfinite(scale):
            continue
        costs = [
            path_guarantee(design, study.READINGS + rounds * study.MORE, PRIOR).cost
            for rounds in range(study.ROUNDS)
        ]
        together = compose(costs).curve.epsilon(study.DELTA).epsilon
        assert 0.9 * 3.0 < together <= 3.0 * (1.0 + 1e-9)
        assert epsilon(costs, study.DELTA).epsilon <= together


def test_a_path_finds_the_only_hill_and_chance_does_not() -> None:
    field = np.full(study.CELLS, -0.8)
    field[120:135] = 0.8
    with_path, by_chance = (study.regrets(PRIOR, field, design, seed=3) for design in ((2.0, 0.02), None))
    assert with_path[0] < 0.3
    assert by_chance[0] > 1.0

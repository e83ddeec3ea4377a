"""The held-out test of a search's answer: the design run on the training cells, judged on the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgp_core.cell_statistics import noise_aware_posterior, release_statistics
from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.mechanisms import draw_paths
from dpgp_core.ridge_family import RidgeFamily
from dpgp_core.smoothing import smooth
from workflow.evaluation import SEED, Evaluator

Bools = NDArray[np.bool_]


def private_held_out_iou(judge: Evaluator, design: Design) -> float:
    """Expected IoU of the set that a design releases with the labels of cells it has no records of.

    The mechanism itself is run on the training cells' reference records, `judge.releases` times, with the
    design's own noise. (A release has the held-out cells' records too, so this is on the cautious side.)
    """
    prior = judge.prior(design.prior, design.lengthscale)
    entropy = SimulationEntropy(SEED + 3)
    sets: list[Bools] = []
    for _ in range(judge.releases):
        if design.mechanism == NOISY_CELL_STATISTICS:  # many free paths vote as the posterior mean does
            draw = release_statistics(judge.training, prior.size, design.statistic_noise, entropy)
            paths = noise_aware_posterior(draw, prior, design.ridge, design.scale).mean[None]
        else:
            paths = draw_paths(design, prior, judge.training, entropy, simulation=True)
        field = smooth(judge.adjacency, paths + judge.offset, design.smoothing)
        votes = np.mean(judge.sign * (field - judge.level) > 0, axis=0)
        sets.append(np.asarray(votes >= design.cutoff - 1e-9))
    return judge.held_out_agreement(np.array(sets))


def free_held_out_iou(judge: Evaluator, design: Design) -> float:
    """IoU of the non-private excursion set, fitted without the held-out cells, with their labels."""
    prior = judge.prior(design.prior, design.lengthscale)
    family = RidgeFamily(prior, judge.training, 1, SimulationEntropy(SEED))
    return judge.held_out_agreement(judge.inside(family.at(design.ridge).mean))

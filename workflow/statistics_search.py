"""The search over noisy cell statistics: the noise is fixed by the budget, the model behind it is free."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dpgp_core.cell_statistics import (
    NoisyStatistics,
    noise_aware_posterior,
    release_statistics,
    statistic_noise_for,
)
from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.priors import Prior
from dpgp_core.scores import bce
from workflow.candidates import coarse_grid
from workflow.evaluation import SEED, Evaluator, Utility
from workflow.scored import Scored, SearchTask

SCALES = (0.25, 0.5, 1.0)  # prior standard deviations tried, response units
RIDGES = (0.7, 1.5, 3.0)  # noise of a record in units of the scale
SIMULATIONS = 4
PATHS = 100  # paths drawn after the noise cost nothing


def score_statistics(
    task: SearchTask, budgets: Iterable[float], tell: Callable[[float, str], None]
) -> list[tuple[float, Scored]]:
    """The best noise-aware model per prior and clip bound at every budget; empty when not asked for."""
    if NOISY_CELL_STATISTICS not in task.mechanisms:
        return []
    budgets = tuple(budgets)
    lengthscales = coarse_grid(task.judges[0].lattice, task.n, task.quick).lengthscales
    found: list[tuple[float, Scored]] = []
    steps = [(budget, judge, prior) for budget in budgets for judge in task.judges for prior in task.priors]
    for step, (budget, judge, prior) in enumerate(steps):
        noise = statistic_noise_for(budget, task.delta)
        entropy = SimulationEntropy(SEED + 2)
        draws = [
            release_statistics(judge.records, judge.lattice.size, noise, entropy) for _ in range(SIMULATIONS)
        ]
        trials = []
        for lengthscale in lengthscales:
            tell(step / len(steps), "Trying noisy cell statistics")
            facts = judge.prior(prior, lengthscale)
            for scale in SCALES:
                for ridge in RIDGES if budget == task.epsilon else RIDGES[1:2]:
                    design = Design(
                        prior=prior, lengthscale=lengthscale, ridge=ridge, scale=scale, statistic_noise=noise,
                        paths=PATHS, mechanism=NOISY_CELL_STATISTICS, bound="gaussian-mechanism",
                    )  # fmt: skip
                    trials.append(
                        Scored(design, judge.response, budget, _utility(judge, facts, design, draws))
                    )
        kept = trials if budget == task.epsilon else [min(trials, key=lambda item: task.loss(item.utility))]
        found += [(budget, item) for item in kept]
    return found


def _utility(judge: Evaluator, facts: Prior, design: Design, draws: list[NoisyStatistics]) -> Utility:
    """Many paths vote as the posterior mean does, so the mean's excursion set stands for the released set."""
    sets, losses = [], []
    for draw in draws:
        posterior = noise_aware_posterior(draw, facts, design.ridge, design.scale)
        sets.append(judge.inside(posterior.mean))
        sd = design.scale * np.sqrt(posterior.variance[judge.held_out])
        losses.append(
            bce(
                judge.probability(posterior.mean[judge.held_out], sd, judge.offset[judge.held_out]),
                judge.labels,
            )
        )
    agreement, spread, held = judge.agreement(np.array(sets))
    return Utility(agreement, spread, held, float(np.mean(losses)), float("nan"))

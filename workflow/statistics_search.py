"""The search over noisy cell statistics: the noise is fixed by the budget, the model behind it is free."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from dpgp_core.cell_statistics import (
    NoisyStatistics,
    noise_aware_posterior,
    release_statistics,
    statistic_noise_for,
)
from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.priors import PRIORS, Prior
from dpgp_core.scores import bce
from workflow.candidates import coarse_grid
from workflow.evaluation import SEED, Evaluator, Utility
from workflow.scored import Scored, SearchTask

SCALES = (0.25, 0.5, 1.0)  # prior standard deviations tried, response units
RIDGES = (0.7, 1.5, 3.0)  # noise of a record in units of the scale
SIMULATIONS = 4
DENSE_CELLS = 600
PATHS = 100  # paths drawn after the noise cost nothing


def score_statistics(
    task: SearchTask, budgets: Iterable[float], tell: Callable[[float, str], None]
) -> list[tuple[float, Scored]]:
    """The best noise-aware model per prior and clip bound at every budget; empty when not asked for."""
    if NOISY_CELL_STATISTICS not in task.mechanisms:
        return []
    lengthscales = coarse_grid(task.judges[0].lattice, task.n, task.quick).lengthscales
    found: list[tuple[float, Scored]] = []
    steps = [(budget, judge) for budget in budgets for judge in task.judges]
    for step, (budget, judge) in enumerate(steps):
        noise = statistic_noise_for(budget, task.delta)
        draws = simulated_statistics(judge, noise)
        thorough = budget == task.epsilon
        for prior in _affordable(task):
            trials = []
            for lengthscale in lengthscales:
                facts = judge.prior(prior, lengthscale)
                for scale in SCALES:
                    for ridge in RIDGES if thorough else RIDGES[1:2]:
                        tell(step / len(steps), "Trying noisy cell statistics")
                        design = Design(
                            prior=prior,
                            lengthscale=lengthscale,
                            ridge=ridge,
                            scale=scale,
                            statistic_noise=noise,
                            paths=PATHS,
                            mechanism=NOISY_CELL_STATISTICS,
                            bound="gaussian-mechanism",
                        )
                        with_bce = thorough and task.objective == "bce"
                        utility = statistics_utility(judge, facts, design, draws, with_bce)
                        trials.append(Scored(design, judge.response, budget, utility))
            best = min(trials, key=lambda item: task.loss(item.utility))
            facts = judge.prior(prior, best.design.lengthscale)
            utility = statistics_utility(judge, facts, best.design, draws, with_bce=True)
            found.append((budget, replace(best, utility=utility)))
    return found


def simulated_statistics(judge: Evaluator, noise: float) -> list[NoisyStatistics]:
    """Simulated releases of the reference records' statistics: the same draws for every noise."""
    entropy = SimulationEntropy(SEED + 2)
    return [release_statistics(judge.records, judge.lattice.size, noise, entropy) for _ in range(SIMULATIONS)]


def _affordable(task: SearchTask) -> tuple[str, ...]:
    """Every cell of the domain is observed here, so on large domains only sparse priors are quick."""
    sparse = tuple(name for name in task.priors if PRIORS[name].sparse)
    return task.priors if task.judges[0].lattice.size <= DENSE_CELLS or not sparse else sparse


def statistics_utility(
    judge: Evaluator, facts: Prior, design: Design, draws: list[NoisyStatistics], with_bce: bool
) -> Utility:
    """Many paths vote as the posterior mean does, so the mean's excursion set stands for the released set."""
    sets, losses = [], []
    for draw in draws:
        posterior = noise_aware_posterior(draw, facts, design.ridge, design.scale)
        sets.append(judge.inside(posterior.mean))
        if not with_bce:
            continue
        sd = design.scale * np.sqrt(posterior.variance[judge.held_out])
        losses.append(
            bce(
                judge.probability(posterior.mean[judge.held_out], sd, judge.offset[judge.held_out]),
                judge.labels,
            )
        )
    agreement, spread = judge.agreement(np.array(sets))
    return Utility(agreement, spread, math.nan, float(np.mean(losses)) if losses else math.nan, math.nan)

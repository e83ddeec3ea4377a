"""Rehearsed coverage: how often the inner and outer sets of a design are right on the reference data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpgp_core.cell_statistics import release_statistics
from dpgp_core.coverage import Coverage, simulated_coverage
from dpgp_core.design import NOISY_CELL_STATISTICS
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.mechanisms import free_paths
from dpgp_core.numerics import Floats
from dpgp_core.posterior import fit
from dpgp_core.smoothing import smooth
from workflow.bench import Bench
from workflow.bundle import supports
from workflow.evaluation import Evaluator
from workflow.scored import Scored

SEED = 577215  # rehearsals of reference data only; a release never sees it
REHEARSALS = 40
CONFIDENCES = (0.9, 0.8, 0.5)  # the first that the paths can speak of
Report = Callable[[float, str], None]


@dataclass(frozen=True)
class RehearsedCoverage:
    """Coverage of the sets at `confidence`; the truth is the reference map without privacy."""

    coverage: Coverage
    confidence: float


def rehearsed_confidence(paths: int) -> float | None:
    """The confidence of which so many paths can speak: they must be able to leave one out."""
    return next((each for each in CONFIDENCES if supports(paths, each)), None)


def rehearsed_coverage(
    bench: Bench, scored: Scored, report: Report | None = None, rehearsals: int = REHEARSALS
) -> RehearsedCoverage:
    """Release the reference data again and again in simulation, and compare with their map without privacy.

    What is repeated is the mechanism's randomness; the truth is the reference baseline, which has errors of
    its own that no private release can show. Raises `ValueError` for a design with a single path.
    `report(fraction, text)` may raise to cancel.
    """
    tell = report or (lambda fraction, text: None)
    confidence = rehearsed_confidence(scored.design.paths)
    if confidence is None:
        raise ValueError("one path cannot say what is sure: coverage needs at least two paths.")
    judge = bench.judge(scored.response)
    draw = _paths_of(judge, scored)
    truth = np.where(bench.result.baseline, 1.0, -1.0)  # only the side of the threshold counts
    done = 0

    def world() -> tuple[Floats, Floats]:
        nonlocal done
        tell(done / rehearsals, f"Rehearsal {done + 1} of {rehearsals}")
        done += 1
        return truth, judge.sign * (draw() - judge.level)

    cutoff = scored.design.cutoff
    return RehearsedCoverage(simulated_coverage(world, 0.0, confidence, rehearsals, cutoff), confidence)


def _paths_of(judge: Evaluator, scored: Scored) -> Callable[[], Floats]:
    """Released paths (L, N) of the judge's records, new ones with every call, response units."""
    design, entropy = scored.design, SimulationEntropy(SEED)
    prior = judge.prior(design.prior, design.lengthscale)
    if design.mechanism == NOISY_CELL_STATISTICS:

        def by_statistics() -> Floats:
            noisy = release_statistics(judge.records, prior.size, design.statistic_noise, entropy)
            paths = free_paths(design, prior, noisy, design.paths, entropy)
            return smooth(judge.adjacency, paths + judge.offset, design.smoothing)

        return by_statistics
    posterior = fit(prior, judge.records, design.ridge)

    def by_sampling() -> Floats:
        paths = posterior.draw(design.scale, design.paths, entropy, design.noise_scale)
        return smooth(judge.adjacency, paths + judge.offset, design.smoothing)

    return by_sampling

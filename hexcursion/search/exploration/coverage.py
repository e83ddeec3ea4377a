"""Coverage: how often the inner and outer sets of a design are right on the reference data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.audit.coverage import Coverage, simulated_coverage
from dpgp_core.excursion.smoothing import smooth
from dpgp_core.linalg.numerics import Floats
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise.entropy import SimulationEntropy
from dpgp_core.releasing.released import draw_release
from hexcursion.bundle import supports
from hexcursion.errors import WorkflowError
from hexcursion.progress import Report
from hexcursion.search.exploration.scorer import Bench
from hexcursion.search.problem.task import Scored

SEED = 577215  # simulated releases of reference data only; a release never sees it
RELEASES = 40
CONFIDENCES = (0.9, 0.8, 0.5)  # the first that the paths can speak of


@dataclass(frozen=True)
class SimulatedCoverage:
    """Coverage of the sets at `confidence`; the truth is the reference map without privacy."""

    coverage: Coverage
    confidence: float


def supported_confidence(paths: int) -> float | None:
    """The confidence of which so many paths can speak: they must be able to leave one out."""
    return next((each for each in CONFIDENCES if supports(paths, each)), None)


def coverage_of(
    bench: Bench, scored: Scored, report: Report | None = None, releases: int = RELEASES
) -> SimulatedCoverage:
    """Release the reference data again and again in simulation, and compare with their map without privacy.

    What is repeated is the mechanism's randomness; the truth is the reference baseline, which has errors of
    its own that no private release can show.
    `report(fraction, text)` may raise to cancel.

    Raises
    ------
    WorkflowError
        For a design with a single path.
    """
    tell = report or (lambda fraction, text: None)
    design = scored.design
    confidence = supported_confidence(design.paths)
    if confidence is None:
        raise WorkflowError("one path cannot say what is sure: coverage needs at least two paths.")
    world = bench.scene(scored.response).world
    prepared = mechanism_of(design).prepare(design, world.facts, world.records)
    entropy, done = SimulationEntropy(SEED), 0
    up = bench.result.baseline == (world.direction == "above")
    truth = world.level + np.where(up, 1.0, -1.0)  # only the side of the threshold counts

    def one() -> tuple[Floats, Floats]:
        nonlocal done
        tell(done / releases, f"Simulated release {done + 1} of {releases}")
        done += 1
        paths = draw_release(prepared, entropy, simulation=True).shifted(world.offset).paths
        return truth, smooth(world.facts.lattice, paths, design.smoothing)

    found = simulated_coverage(one, world.level, confidence, releases, world.direction)
    return SimulatedCoverage(found, confidence)

"""Calibration of a design: whether hexagons said to be inside with probability p are inside that often."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpgp_core.excursion.sets import Bools
from dpgp_core.linalg.numerics import Floats
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise.entropy import SimulationEntropy
from dpgp_core.releasing.released import draw_release
from dpgp_core.simulation.world import World

RELEASES = 6
BINS = 10
SEED = 271828  # simulated releases of reference data only; a release never sees it


def calibration_of(design: Design, world: World, truth: Bools) -> float:
    """Expected calibration error of simulated releases of a world's records, 0 (right) to 1.

    Parameters
    ----------
    design
        Of a mechanism with probabilities; vote fractions of its paths stand for them where it has none.
    truth
        (N,) the map without privacy, taken as certain.
    """
    mechanism, entropy = mechanism_of(design), SimulationEntropy(SEED)
    asked = replace(design, paths=1) if mechanism.free_paths else design
    prepared = mechanism.prepare(asked, world.facts, world.records)
    said = [world.probabilities(draw_release(prepared, entropy, simulation=True)) for _ in range(RELEASES)]
    return calibration_error(np.concatenate(said), np.tile(truth, RELEASES))


def calibration_error(probability: Floats, inside: Bools) -> float:
    """Mean over hexagons of the gap, in their tenth of probabilities, between what is said and what is so.

    Parameters
    ----------
    probability, inside
        (S,) of equal length: the probability said, and whether it is so.

    Examples
    --------
    >>> calibration_error(np.array([0.9, 0.9, 0.9, 0.9]), np.array([True, True, True, False]))
    0.15
    """
    tenth = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(tenth, weights=probability - inside, minlength=BINS)
    return round(float(np.abs(gaps).sum() / probability.size), 12)

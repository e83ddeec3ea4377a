"""Simulated coverage: how often inner and outer sets are right when the truth is known.

Regularised posteriors are biased towards the prior mean, and one path knows little of its own error: stated
confidences are the paths' opinion of themselves. A simulation with known truth says what they are worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from dpgp_core.design import Design
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.excursion import inner_set, outer_set, released_set, vorobev_set
from dpgp_core.mechanisms import draw_paths
from dpgp_core.numerics import Floats
from dpgp_core.priors import Prior
from dpgp_core.records import CollapsedRecords
from dpgp_core.scores import iou

World = Callable[[], tuple[Floats, Floats]]
"""One simulated world: the true field (N,) and released paths (L, N), response units."""


@dataclass(frozen=True)
class Share:
    """A share of simulations with its exact (Clopper-Pearson) 95 % confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, trials: int) -> Share:
        low = float(betaincinv(hits, trials - hits + 1, 0.025)) if hits else 0.0
        high = float(betaincinv(hits + 1, trials - hits, 0.975)) if hits < trials else 1.0
        return cls(hits / trials, low, high)


@dataclass(frozen=True)
class Coverage:
    """What the products of a release were worth in `simulations` worlds.

    inner        share in which every cell of the inner set truly exceeds the level
    outer        share in which every truly exceeding cell lies in the outer set
    both         share in which both hold
    told         mean share of the domain's cells called surely above or surely below
    told_right   mean share of those cells that are called rightly (1 where none is called)
    released_iou, vorobev_iou   mean IoU of these sets with the true one
    """

    inner: Share
    outer: Share
    both: Share
    told: float
    told_right: float
    released_iou: float
    vorobev_iou: float
    simulations: int


def simulated_coverage(
    world: World, level: float, confidence: float, simulations: int, cutoff: float = 0.5
) -> Coverage:
    """Coverage of the excursion products over `simulations` independent worlds."""
    if simulations < 1:
        raise ValueError(f"at least one simulation is needed, got {simulations}.")
    hits = np.zeros((simulations, 2), dtype=bool)
    values = np.zeros((simulations, 4))
    for row in range(simulations):
        truth, paths = world()
        above = np.asarray(truth) > level
        inner = inner_set(paths, level, confidence)
        outer = outer_set(paths, level, confidence)
        told = inner | ~outer
        right = np.where(inner, above, ~above)[told]
        hits[row] = not np.any(inner & ~above), not np.any(above & ~outer)
        values[row] = (
            told.mean(),
            right.mean() if right.size else 1.0,
            iou(released_set(paths, level, cutoff), above),
            iou(vorobev_set(paths, level), above),
        )
    inner_hits, outer_hits = (int(number) for number in np.count_nonzero(hits, axis=0))
    both_hits = int(np.count_nonzero(hits.all(axis=1)))
    told_share, told_right, released, vorobev = (float(value) for value in values.mean(axis=0))
    return Coverage(
        Share.of(inner_hits, simulations),
        Share.of(outer_hits, simulations),
        Share.of(both_hits, simulations),
        told_share,
        told_right,
        released,
        vorobev,
        simulations,
    )


def model_world(
    design: Design,
    prior: Prior,
    index: NDArray[np.int64],
    count: NDArray[np.int64],
    entropy: SimulationEntropy,
    *,
    field_scale: float,
    record_noise: float,
    mean: Floats | None = None,
) -> World:
    """Worlds drawn from the model: a truth `mean + field_scale * GP`, records with noise, clipped, released.

    index, count  public or simulated places: which cells hold how many records
    field_scale, record_noise  standard deviations, response units
    Clipping is of single records in reality and of cell means here, which is milder.
    """
    base = np.zeros(prior.size) if mean is None else np.asarray(mean, dtype=np.float64)

    def world() -> tuple[Floats, Floats]:
        truth = base + field_scale * prior.colour(entropy.normal((prior.white_size, 1)))[:, 0]
        noise = record_noise / np.sqrt(count) * entropy.normal(index.size)
        records = CollapsedRecords(index, count, np.clip(truth[index] + noise, -1.0, 1.0))
        return truth, draw_paths(design, prior, records, entropy, simulation=True)

    return world

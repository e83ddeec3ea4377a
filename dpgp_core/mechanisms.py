"""The mechanisms: the one place where private records become released paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpgp_core.cell_statistics import GRID, NoisyStatistics, noise_aware_posterior, release_statistics
from dpgp_core.design import NOISY_CELL_STATISTICS, POSTERIOR_SAMPLING, Design
from dpgp_core.entropy import Entropy, SystemEntropy
from dpgp_core.numerics import Floats
from dpgp_core.posterior import fit
from dpgp_core.priors import Prior
from dpgp_core.records import CollapsedRecords


@dataclass(frozen=True, eq=False)
class PrivateDraw:
    """What a mechanism released.

    paths       (L, N) response units, rounded to the public grid GRID; smoothing is applied later
    statistics  the noisy statistics behind them, where the mechanism has such: then any number of further
                paths and exact exceedance probabilities are free
    """

    paths: Floats
    statistics: NoisyStatistics | None = None


@dataclass(frozen=True)
class Mechanism:
    """A way to release: its name in a design, a title, its source, and how it draws."""

    name: str
    title: str
    source: str
    draw: Callable[[Design, Prior, CollapsedRecords, Entropy], PrivateDraw]


def draw_release(
    design: Design, prior: Prior, records: CollapsedRecords, entropy: Entropy, *, simulation: bool = False
) -> PrivateDraw:
    """Draw a release of `records` under `design`, and round it to a public grid.

    The noise of a release comes from `SystemEntropy` and nothing else; any other source needs
    `simulation=True`, which is for reference data, simulations and tests. The draw is in double precision:
    the rounding hides low-order bits, which may carry traces of the data (Mironov 2012).
    What it costs is the accountant's business: the caller writes it to the ledger first.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise ValueError("a release must draw from SystemEntropy; a seeded source is for simulations only.")
    if (prior.name, prior.lengthscale) != (design.prior, design.lengthscale):
        raise ValueError("the prior is not the one the design names; make it with the design's lengthscale.")
    if records.index[-1] >= prior.size:
        raise ValueError("a record lies outside the prior's domain.")
    return MECHANISMS[design.mechanism].draw(design, prior, records, entropy)


def draw_paths(
    design: Design, prior: Prior, records: CollapsedRecords, entropy: Entropy, *, simulation: bool = False
) -> Floats:
    """(L, N) released paths of `draw_release`, response units."""
    return draw_release(design, prior, records, entropy, simulation=simulation).paths


def free_paths(
    design: Design, prior: Prior, statistics: NoisyStatistics, paths: int, entropy: Entropy
) -> Floats:
    """(paths, N) further paths from released statistics: post-processing, so free and from any entropy."""
    posterior = noise_aware_posterior(statistics, prior, design.ridge, design.scale)
    return _to_grid(posterior.draw(design.scale, paths, entropy))


def _posterior_sampling(
    design: Design, prior: Prior, records: CollapsedRecords, entropy: Entropy
) -> PrivateDraw:
    posterior = fit(prior, records, design.ridge)
    return PrivateDraw(_to_grid(posterior.draw(design.scale, design.paths, entropy, design.noise_scale)))


def _noisy_cell_statistics(
    design: Design, prior: Prior, records: CollapsedRecords, entropy: Entropy
) -> PrivateDraw:
    statistics = release_statistics(records, prior.size, design.statistic_noise, entropy)
    return PrivateDraw(free_paths(design, prior, statistics, design.paths, entropy), statistics)


def _to_grid(values: Floats) -> Floats:
    return np.round(values / GRID) * GRID


MECHANISMS: dict[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism(
            POSTERIOR_SAMPLING,
            "Posterior sampling",
            "Maciazek, arXiv:2606.17995, Theorem 3.1 and Proposition 2",
            _posterior_sampling,
        ),
        Mechanism(
            NOISY_CELL_STATISTICS,
            "Noisy cell statistics",
            "Gaussian mechanism on counts and sums, docs/mathematics.md, section 11",
            _noisy_cell_statistics,
        ),
    )
}

"""Simulated releases of reference records: what a plan would achieve, with work shared between releases."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr, pdtrik

from dpgp_core._checks import whole
from dpgp_core.linalg.numerics import Floats
from dpgp_core.noise.entropy import Entropy
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.reading import read_exceedance
from dpgp_core.spectral.sums import RESPONSE_BITS, GridRecords

Bools = NDArray[np.bool_]

COUNT_DRAWS = 3
"""Simulated releases of the counts among which the releases of the sums are divided."""

REPEATED = 0.9
"""Share of occupied cells that stand-ins for another period's cell records repeat."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One plan to be tried on reference records.

    Parameters
    ----------
    records
        (public or set-aside) records, in the response scale of the plan
    known
        what would be public of the counts in the release itself
    threshold
        float or (N,), response units before clipping; sign 1 for above, -1 for below
    same
        whether the public counts are those of `records`: they are then drawn anew for each simulated release
        of the counts, because counts of another period never agree this well
    """

    prepared: Prepared
    records: GridRecords
    known: PublicCounts
    threshold: Floats | float
    sign: float = 1.0
    same: bool = True


def simulated_probabilities(
    trial: Trial, releases: int, entropy: Entropy, draws: int = COUNT_DRAWS
) -> Floats:
    """Exceedance probabilities (R, N) of `releases` simulated releases (rounded up to a multiple of draws).

    Cost: `draws` readings of the counts and as many factorisations of the field's posterior; further releases
    are one triangular solve each. Noise is drawn in floating point here: nothing leaves the building.
    """
    made, draws = trial.prepared, whole("draws", draws)
    per_draw = -(-whole("releases", releases) // draws)
    nodes, features = made.nodes, made.features
    totals = np.zeros(nodes.cells)
    counts = np.zeros(nodes.cells)
    totals[trial.records.cell] = trial.records.total * 2.0**-RESPONSE_BITS
    counts[trial.records.cell] = trial.records.count
    sums = features.values.T @ nodes.gather(totals)
    plain = features.values.T @ nodes.gather(counts)
    found = []
    for _ in range(draws if made.noise.counts is not None else 1):
        released = None
        if made.noise.counts is not None:
            released = plain + made.noise.counts * entropy.normal(features.size)
        known = drawn_anew(trial.known, float(trial.records.n), trial.same, entropy)
        reader = made.reader(made.counts(known, released), paths=False)
        noise = made.noise.sums * entropy.normal((features.size, per_draw))
        mean = nodes.spread(reader.mean(sums[:, None] + noise))
        deviation = nodes.spread(reader.deviation())
        found.append(read_exceedance(made.prior, mean, deviation, trial.threshold, trial.sign))
    return np.concatenate(found)


def drawn_anew(known: PublicCounts, n: float, same: bool, entropy: Entropy) -> PublicCounts:
    """Public counts as another period might have shown them, for n records.

    Parameters
    ----------
    same
        whether the public counts are those of the reference records themselves: only then are they drawn anew
    """
    known = replace(known, n=None if known.n is None else n)
    if not same or known.kind != "reference" or known.cells is None:
        return known
    chance = entropy.uniform(known.cells.size)
    if known.single:
        cells = np.where(chance < REPEATED, known.cells, 0.0)
    else:
        cells = np.where(known.cells > 0, _poisson_quantile(chance, np.maximum(known.cells, 1e-9)), 0.0)
    return replace(known, cells=cells if cells.sum() > 0 else known.cells)


def _poisson_quantile(chance: Floats, mean: Floats) -> Floats:
    """Smallest counts whose distribution function reaches `chance`."""
    above = np.ceil(pdtrik(chance, mean))
    below = np.maximum(above - 1.0, 0.0)
    return np.asarray(np.where(pdtr(below, mean) >= chance, below, above))

"""Simulated releases read one by one as a release is: what readings that share their work must agree with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import whole
from dpgp_core.linalg import Floats
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import UNIT
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.shared import drawn_anew
from dpgp_core.spectral.sums import GridRecords
from tests.oracles.readings import read_exceedance

COUNT_DRAWS = 3
"""Simulated releases of the counts among which the releases of the sums are divided."""


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
    totals[trial.records.cell] = trial.records.total * UNIT
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

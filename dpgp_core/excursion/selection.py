"""Private selection: choose one of a public list of candidate maps by the private records, at a stated cost.

For the analyst without reference data. The candidates' maps come from what is public or released already,
for instance one noise-aware posterior of pilot statistics (`cell_statistics.py`) per candidate design. Tuning
on the pilot alone needs no further spending; the selection looks at the exact records once more, and as one
record moves its score little, it is sharp at a small epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpgp_core._checks import positive
from dpgp_core.accounting.rdp import ORDERS, RdpCurve
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import Entropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords


@dataclass(frozen=True)
class Selection:
    """What is released: the chosen candidate's place in the list; its cost goes on the receipt.

    The scores stay inside: they are exact functions of private records.
    """

    index: int
    epsilon: float
    curve: RdpCurve


def excess_mass(candidates: Any, records: CollapsedRecords, level: float) -> Floats:
    """(J,) scores `u_j`: the sum of `y - level` over the records inside candidate set j of (J, N). PRIVATE.

    Among all sets the excursion set of the cells' means has the largest excess mass (Polonik 1995), each cell
    weighing as much as its records show. One record contributes a number between 0 and y - level, at most 1 +
    |level| in size for responses in [-1, 1]. Raises InvalidValue for a record outside the domain.
    """
    sets = np.atleast_2d(np.asarray(candidates, dtype=bool))
    if sets.shape[1] <= records.index[-1]:
        raise InvalidValue("candidate sets and records must be over the same domain.")
    excess = records.count * (records.mean - level)
    return np.asarray(sets[:, records.index] @ excess)


def selection_curve(epsilon: float) -> RdpCurve:
    """RDP of an exponential mechanism of bounded range epsilon: `min(epsilon, alpha epsilon^2 / 8)`.

    *Bounded range.* Candidate j is chosen with probability proportional to `exp(lam u_j)`,
    `lam = epsilon / (2 (1 + |level|))`. Replacing one record changes `u_j` by a difference `d_j` of two
    numbers, each either 0 or an end of size at most 1 + |level| that does not depend on j: so
    `max d - min d <= 2 (1 + |level|)`, and the log ratio Z of the two choice probabilities, `lam d_j` less
    a constant, has range at most epsilon.
    *Divergence.* Under Q, `phi(a) = log E exp(a Z)` has phi(0) = phi(1) = 0, and phi'' is the variance of Z
    under a tilted law, at most epsilon^2/4 (Popoviciu). The interpolation error at the nodes 0 and 1 gives
    `phi(a) <= a (a-1) epsilon^2 / 8`, so the Renyi divergence `phi(a)/(a-1)` is at most `a epsilon^2/8`
    (Cesar and Rogers 2021). It is also at most max Z <= epsilon: exp(Z) has mean 1, so Z changes sign.
    """
    epsilon = positive("epsilon", epsilon)
    return RdpCurve(np.minimum(epsilon, ORDERS * epsilon**2 / 8.0) * (1.0 + 1e-14))


def select(
    candidates: Any,
    records: CollapsedRecords,
    level: float,
    epsilon: float,
    entropy: Entropy,
    *,
    simulation: bool = False,
) -> Selection:
    """Choose one of J public sets (J, N) by the exponential mechanism on `excess_mass`: pure epsilon-DP.

    The list and the level are fixed before the private records are touched. Sampling is by the Gumbel-max
    rule. Raises InvalidValue for another source than SystemEntropy unless `simulation=True`.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue(
            "a private selection must draw from SystemEntropy; a seed is for simulations only."
        )
    if not np.isfinite(level):
        raise InvalidValue("the level must be a finite number.")
    curve = selection_curve(epsilon)
    score = excess_mass(candidates, records, level)
    tempered = score * epsilon / (2.0 * (1.0 + abs(level)))
    gumbel = -np.log(-np.log(entropy.uniform(score.size)))
    return Selection(int(np.argmax(tempered + gumbel)), float(epsilon), curve)

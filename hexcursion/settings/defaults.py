"""Default choices that are more than a literal: the mechanisms and priors to try, and delta for a dataset."""

from __future__ import annotations

import operator

from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.priors.registry import PRIORS
from hexcursion.errors import WorkflowError

DEFAULT_MECHANISMS: tuple[str, ...] = tuple(name for name in MECHANISMS.own if MECHANISMS[name].usual)
"""Mechanisms that a search tries unless told otherwise, as far as they serve what is to be protected.

Those of other papers and of installed packages are asked for by name: each design of the former needs a
dense factorisation.
"""

DEFAULT_PRIORS: tuple[str, ...] = ("car", "exponential")
"""Prior families that a search tries unless told otherwise; see `default_priors`."""

DENSE_CELLS = 600
"""Hexagons up to which a search tries priors with a dense matrix without being asked.

On 2,375 hexagons of London the dense one made a whole release take 1.4 times as long, and the map agreed with
cells that no fit had seen by .763 in place of .782 (`python -m studies.speed.defaults`).
"""


def default_priors(cells: int) -> tuple[str, ...]:
    """The prior families that a search tries on so many hexagons where the settings name none.

    >>> default_priors(600), default_priors(601)
    (('car', 'exponential'), ('car',))
    """
    return tuple(name for name in DEFAULT_PRIORS if cells <= DENSE_CELLS or PRIORS[name].sparse)


def default_delta(n: int) -> float:
    """Propose a delta for `n` records (public): the largest power of ten that is at most 1/(10 n).

    A delta near 1/n is no promise: releasing one record chosen at random would satisfy it. Raise
    `WorkflowError` for `n` below 1.

    >>> default_delta(1000), default_delta(11953)
    (0.0001, 1e-06)
    """
    if operator.index(n) < 1:
        raise WorkflowError(f"delta is chosen from the number of records, which must be at least 1, not {n}.")
    exponent = len(str(10 * n - 1))  # the least k with 10^k >= 10 n, without rounding errors
    return float(f"1e-{exponent}")


USUAL_DELTA = 1e-5


def usual_delta(n: int) -> float:
    """The delta of a release that states none: 1e-5, or `default_delta` where that is smaller."""
    return min(USUAL_DELTA, default_delta(n))

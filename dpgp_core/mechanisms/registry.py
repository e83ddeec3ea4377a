"""The registered mechanisms, and a release in one call for data without reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpgp_core._checks import refuse_bad_call
from dpgp_core.errors import DesignError, InvalidValue, NumericalFailure
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.spectral_design import fixed_design
from dpgp_core.noise import SystemEntropy
from dpgp_core.plugins import Registry
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, Released, draw_release

MECHANISMS: Registry[Mechanism] = Registry("hexcursion.mechanisms", {}, Mechanism)


def mechanism_of(design: Design) -> Mechanism:
    """The mechanism of a design."""
    return mechanism_named(design.mechanism)


def mechanism_named(name: str) -> Mechanism:
    """The mechanism with a name; DesignError, which lists all names, for an unknown one."""
    if name not in MECHANISMS:
        raise DesignError(f"unknown mechanism {name!r}: choose one of {', '.join(sorted(MECHANISMS))}.")
    return MECHANISMS[name]


def design_from_mapping(values: Mapping[str, Any]) -> Design:
    """Read the design from a mapping with its mechanism's name, as in settings files and
    statements.

    Raises DesignError if no mechanism is named, or its parameters are unknown, missing or
    impossible.
    """
    name = values.get("mechanism")
    if not isinstance(name, str):
        raise DesignError("A design names its mechanism.")
    return mechanism_named(name).design_type.from_mapping(values)


def release(values: Any, cells: Any, lattice: Lattice, epsilon: float, delta: float) -> Released:
    """Release a field from private records, (epsilon, delta)-differentially private.

    The exchange of one record for another, value and place, is hidden; the number of records is
    public. Every call draws anew and costs epsilon: this function charges no ledger,
    `hexcursion.release` does.

    Parameters
    ----------
    values : (n,) array_like
        Responses: (value - centre) / clip with a public centre and clip bound, clipped to [-1, 1].
    cells : (n,) array_like of int
        The cell of each record, a position in the domain of `lattice`.
    lattice : Lattice
        The public domain, N cells.
    epsilon, delta : float
        The budget.

    Returns
    -------
    Released
        `mean` and `sd`, (N,) in response units; `probability(level)` that a cell is above a level.

    Raises
    ------
    InvalidValue
        For values that are not finite numbers, cells that are not whole numbers or are outside the domain,
        and an impossible budget; nothing is drawn then.
    NumericalFailure
        If the computed cost exceeds the budget; nothing is drawn then.

    Examples
    --------
    >>> import numpy as np
    >>> from dpgp_core import Lattice, release
    >>> lattice = Lattice.grid(rows=6, columns=8, spacing=1000.0)
    >>> cells = np.arange(4800) % lattice.size
    >>> released = release(np.where(cells % 8 < 4, -0.6, 0.6), cells, lattice, 1.0, 1e-5)
    >>> released.probability(0.0).shape
    (48,)
    """
    try:
        response, index = np.asarray(values, dtype=np.float64), np.asarray(cells)
    except (TypeError, ValueError):  # numpy's own words quote the value, which is private
        raise InvalidValue("values must be finite numbers, one for each record.") from None
    if response.ndim != 1 or not np.all(np.isfinite(response)):
        raise InvalidValue("values must be finite numbers, one for each record.")
    refuse_bad_call(index, response.size, "value", lattice.size, epsilon)
    records = CollapsedRecords.from_records(index, np.clip(response, -1.0, 1.0))
    facts, mechanism = PublicFacts(lattice, n=response.size), mechanism_named("spectral-statistics")
    budget = Budget(epsilon, delta)
    design = mechanism.calibrate(fixed_design(lattice.spacing), facts, budget)
    ready = mechanism.prepare(design, facts, records)
    if not mechanism.guarantee(design, facts).epsilon(delta).epsilon <= epsilon:
        raise NumericalFailure("this design does not keep the budget: choose a larger epsilon or delta.")
    return draw_release(ready, SystemEntropy())

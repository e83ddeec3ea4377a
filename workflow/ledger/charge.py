"""What a release costs: the charge that is written down, and how charges add up without losing a bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.conversion import epsilon_from_rdp
from dpgp_core.curve import RdpCurve
from dpgp_core.gaussian import gaussian_epsilon
from dpgp_core.orders import ORDERS
from workflow.ledger.entry import canonical_json
from workflow.ledger.errors import LedgerError

Floats = NDArray[np.float64]
UNITS = ("cell", "point")
FACTS_LIMIT = 65_536  # characters of JSON: a ledger row is a receipt, not a data file


@dataclass(frozen=True)
class Charge:
    """The cost of one release of one dataset, with public facts only.

    dataset      fingerprint from `Ledger.fingerprint`
    unit         "cell" or "point", the unit of protection of the curve
    curve        RDP of the whole release on `ORDERS` (tuning included where it is paid for)
    facts        plain JSON, public: design, n, bound, ... ; it is stored and shown as it is
    gaussian_mu  mu of a release that is exactly mu-Gaussian-DP, else None; releases that all have one are
                 composed exactly (docs/mathematics.md, section 4)
    """

    dataset: str
    unit: str
    curve: RdpCurve
    facts: Mapping[str, Any] = field(default_factory=dict)
    gaussian_mu: float | None = None

    def __post_init__(self) -> None:
        check_account(self.dataset, self.unit)
        values = np.asarray(self.curve.values, dtype=np.float64)
        if values.shape != ORDERS.shape or np.any(np.isnan(values)):
            raise LedgerError(
                "The cost of a release needs one number per order of the grid, none of them NaN."
            )
        if np.any(values <= 0):
            raise LedgerError(
                "The cost of a release is positive at every order: a zero or negative cost is a mistake or "
                "an underflow, and is not accepted."
            )
        mu = self.gaussian_mu
        if mu is not None and not (math.isfinite(mu) and mu > 0):
            raise LedgerError(f"The Gaussian mu of a release is a positive finite number, not {mu!r}.")
        if len(canonical_json(self.facts)) > FACTS_LIMIT:
            raise LedgerError(
                f"The facts of a charge are longer than {FACTS_LIMIT} characters: shorten them."
            )

    @property
    def cost(self) -> Cost:
        """The charge as something that can be added up."""
        return Cost.of(np.asarray(self.curve.values, dtype=np.float64), self.gaussian_mu)


@dataclass(frozen=True, eq=False)
class Cost:
    """Composed cost of any number of releases: upper bounds only.

    values        (K,) RDP on `ORDERS`
    gaussian_mu2  sum of mu^2 where every release was exactly Gaussian, else None
    """

    values: Floats = field(repr=False)
    gaussian_mu2: float | None

    @classmethod
    def of(cls, values: Floats, gaussian_mu: float | None) -> Cost:
        """The cost of one release."""
        return cls(values, None if gaussian_mu is None else math.nextafter(gaussian_mu**2, math.inf))

    @classmethod
    def nothing(cls) -> Cost:
        """The cost of no release."""
        return cls(np.zeros_like(ORDERS), 0.0)

    def plus(self, other: Cost) -> Cost:
        """Adaptive composition, order by order; sums are rounded up, so no spend is too small to count."""
        mine, theirs = self.gaussian_mu2, other.gaussian_mu2
        both = None if mine is None or theirs is None else float(_add_up(np.array(mine), np.array(theirs)))
        return Cost(_add_up(self.values, other.values), both)

    def epsilon(self, delta: float) -> float:
        """Upper bound on epsilon at `delta`: the better of the two conversions, exactly 0 for no release."""
        if not np.any(self.values > 0):
            return 0.0
        bound = epsilon_from_rdp(ORDERS, self.values, delta).epsilon
        if self.gaussian_mu2 is not None and math.isfinite(self.gaussian_mu2):
            mu = math.nextafter(math.sqrt(self.gaussian_mu2), math.inf)
            bound = min(bound, gaussian_epsilon(mu, delta))
        return bound


def check_account(dataset: str, unit: str) -> None:
    """Raise LedgerError unless `dataset` is a fingerprint and `unit` a unit of protection."""
    if not (isinstance(dataset, str) and len(dataset) == 64 and set(dataset) <= set("0123456789abcdef")):
        raise LedgerError("A dataset is named by its fingerprint of 64 hex digits: see Ledger.fingerprint.")
    if unit not in UNITS:
        raise LedgerError(f"The unit of protection is 'cell' or 'point', not {unit!r}.")


def encode(values: Floats) -> str:
    """Exact float64 values as hex, big-endian, 16 digits each."""
    return np.ascontiguousarray(values, dtype=">f8").tobytes().hex()


def decode(text: str) -> Floats:
    """The values of `encode`."""
    return np.frombuffer(bytes.fromhex(text), dtype=">f8").astype(np.float64)


def on_current_grid(orders: Floats, values: Floats) -> Floats:
    """A curve from another grid of orders as an upper bound on `ORDERS`.

    Renyi divergence grows with its order (van Erven and Harremoes 2014, Theorem 3), so the value at an order
    is at most the value at the next higher order that was stored; beyond the last one it is `inf`.
    """
    if np.array_equal(orders, ORDERS):
        return values
    return np.append(values, np.inf)[np.searchsorted(orders, ORDERS, side="left")]


def _add_up(a: Floats, b: Floats) -> Floats:
    """a + b rounded towards +inf: the exact rounding error (Knuth's TwoSum) says when to step up."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is inf, and never fits
        total = a + b
        back = total - a
        error = (a - (total - back)) + (b - back)
        up = np.nextafter(total, np.inf)
    return np.asarray(np.where(np.isfinite(total) & (error > 0), up, total))

"""What a release costs: the charge that is written down, and its cost in the form in which it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.curve import RdpCurve
from dpgp_core.accounting.orders import ORDERS
from dpgp_core.accounting.pairs import GaussianPairs
from dpgp_core.mechanisms.terms import Unit
from hexcursion.ledger.errors import LedgerError
from hexcursion.ledger.overlap.records import RecordKeys
from hexcursion.ledger.storage.entry import canonical_json

Floats = NDArray[np.float64]
UNITS: tuple[Unit, ...] = ("cell", "point")
FACTS_LIMIT = 65_536  # characters of JSON: a ledger row is a receipt, not a data file


@dataclass(frozen=True)
class Charge:
    """The cost of one release of one dataset, with public facts only. Raise `LedgerError` for a dataset or
    unit that is none, a cost that `check_cost` refuses, or facts that are too long or no plain JSON."""

    dataset: str  # fingerprint from `Ledger.fingerprint`
    unit: Unit  # "cell" or "point", the unit of protection of the cost
    cost: Cost  # everything that is proved about the whole release; one release, not several together
    # plain JSON, public: design, n, bound, ... ; it is stored and shown as it is
    facts: Mapping[str, Any] = field(default_factory=dict)
    # keyed hashes of all its records, so that releases of overlapping data are charged together; without them
    # nothing is known of overlaps, so whatever draws has to bring them
    records: RecordKeys | None = field(default=None, repr=False, compare=False)
    # whether a person agreed that it breaks what an earlier release of these records promised to hide
    accepts_weaker: bool = False
    # datasets that hold the same records by a person's word, whatever is recognised
    same_as: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for dataset in (self.dataset, *self.same_as):
            check_account(dataset, self.unit)
        check_cost(self.cost)
        if len(canonical_json(self.facts)) > FACTS_LIMIT:
            raise LedgerError(
                f"The facts of a charge are longer than {FACTS_LIMIT} characters: shorten them."
            )


def check_cost(cost: Cost) -> None:
    """Raise LedgerError unless this is the cost of one release, positive in every respect."""
    if cost.parts:
        raise LedgerError("A charge is one release: charge several one by one.")
    values = np.asarray(cost.curve.values, dtype=np.float64)
    if values.shape != ORDERS.shape or np.any(np.isnan(values)):
        raise LedgerError("The cost of a release needs one number per order of the grid, none of them NaN.")
    if np.any(values <= 0):
        raise LedgerError(
            "The cost of a release is positive at every order: a zero or negative cost is a mistake or "
            "an underflow, and is not accepted."
        )
    for name, value in (("Gaussian mu", cost.gaussian_mu), ("pure epsilon", cost.pure_epsilon)):
        if value is not None and not value > 0:  # finite by `Cost` itself
            raise LedgerError(f"The {name} of a release is a positive finite number, not {value!r}.")


def written_cost(cost: Cost) -> dict[str, Any]:
    """Everything of a release's cost but its curve, as plain JSON, floats to the last bit."""
    pairs = cost.pairs
    return {
        "gaussian_mu": _hex(cost.gaussian_mu),
        "pure_epsilon": _hex(cost.pure_epsilon),
        "pairs": None if pairs is None else {"leverage": _hex(pairs.leverage), "paths": pairs.paths},
        "distance": _hex(cost.distance),
        "neighbours": cost.neighbours,
        "exchange_mu": _hex(cost.exchange_mu),
    }


def read_cost(values: Floats, facts: Mapping[str, Any]) -> Cost:
    """The cost of a stored charge, from its (K,) curve over `ORDERS` and its entry's body. Raise
    `LedgerError` if it cannot be read, or is no cost of a release."""
    try:
        written = facts["cost"]
        pairs = written["pairs"]
        cost = Cost(
            RdpCurve(values),
            _float(written["gaussian_mu"]),
            _float(written["pure_epsilon"]),
            None if pairs is None else GaussianPairs(float.fromhex(pairs["leverage"]), pairs["paths"]),
            float.fromhex(written["distance"]),
            neighbours=written["neighbours"],
            exchange_mu=_float(written["exchange_mu"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(f"The cost of a charge cannot be read ({error}).") from error
    check_cost(cost)
    return cost


def _hex(value: float | None) -> str | None:
    return None if value is None else float(value).hex()


def _float(text: str | None) -> float | None:
    return None if text is None else float.fromhex(text)


def check_account(dataset: str, unit: str) -> Unit:
    """Return the unit of protection. Raise `LedgerError` unless `dataset` is a fingerprint and `unit` such a
    unit."""
    if not (isinstance(dataset, str) and len(dataset) == 64 and set(dataset) <= set("0123456789abcdef")):
        raise LedgerError("A dataset is named by its fingerprint of 64 hex digits: see Ledger.fingerprint.")
    for known in UNITS:
        if unit == known:
            return known
    raise LedgerError(f"The unit of protection is 'cell' or 'point', not {unit!r}.")


def encode(values: Floats) -> str:
    """Float64 values (J,) as hex without loss, big-endian, 16 digits each."""
    return np.ascontiguousarray(values, dtype=">f8").tobytes().hex()


def decode(text: str) -> Floats:
    """The (J,) values that `encode` wrote."""
    return np.frombuffer(bytes.fromhex(text), dtype=">f8").astype(np.float64)


def on_current_grid(orders: Floats, values: Floats) -> Floats:
    """A (J,) curve over other increasing orders as a (K,) upper bound on `ORDERS`. Renyi divergence grows
    with its order (van Erven and Harremoes 2014, Theorem 3), so the value at an order is at most the value at
    the next higher order that was stored; beyond the last one it is `inf`."""
    if np.array_equal(orders, ORDERS):
        return values
    return np.append(values, np.inf)[np.searchsorted(orders, ORDERS, side="left")]

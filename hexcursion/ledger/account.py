"""A charge, and the account that composes charges: the spent budget, and previews of releases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.accounting.composition import Cost, Neighbours
from dpgp_core.accounting.composition import epsilon as composed_epsilon
from dpgp_core.accounting.guarantee import priced_for, together
from dpgp_core.accounting.rdp import ORDERS, RdpCurve
from dpgp_core.accounting.tails import GaussianPairs
from dpgp_core.mechanisms.design import Unit
from hexcursion.ledger.entry import canonical_json
from hexcursion.ledger.errors import BudgetExceeded, LedgerError, NoBudget
from hexcursion.ledger.records import RecordKeys
from hexcursion.ledger.sentences import Alike, Standing

Floats = NDArray[np.float64]
UNITS: tuple[Unit, ...] = ("cell", "point")
FACTS_LIMIT = 65_536  # characters of JSON: a ledger row is a receipt, not a data file


@dataclass(frozen=True)
class Charge:
    """The cost of one release of one dataset, with public facts only. Raise `LedgerError` for an
    invalid fingerprint, an unknown unit, a cost that `check_cost` refuses, or facts that are too
    long or not JSON."""

    dataset: str  # fingerprint from `Ledger.fingerprint`
    unit: Unit  # "cell" or "point", the unit of protection of the cost
    cost: Cost  # the proved cost of the whole release, and of this release alone
    # public plain JSON: design, n, bound, ...; stored and shown unchanged
    facts: Mapping[str, Any] = field(default_factory=dict)
    # keyed hashes of all its records, so that releases of overlapping data are charged together;
    # without them overlaps are unknown, so every charge for a draw must have them
    records: RecordKeys | None = field(default=None, repr=False, compare=False)
    # whether a person agreed to break a promise of an earlier release of these records
    accepts_weaker: bool = False
    # datasets that a person declares to hold the same records
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
    """Raise LedgerError unless this is the cost of one release and all its parts are positive."""
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
        if value is not None and not value > 0:  # `Cost` checks that it is finite
            raise LedgerError(f"The {name} of a release is a positive finite number, not {value!r}.")


def written_cost(cost: Cost) -> dict[str, Any]:
    """Return a release's cost without its curve as plain JSON, with exact floats."""
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
    """Return the cost of a stored charge, from its (K,) curve over `ORDERS` and its entry's body.
    Raise `LedgerError` if it is unreadable, or not the cost of a release."""
    try:
        record = facts["cost"]
        pairs = record["pairs"]
        cost = Cost(
            RdpCurve(values),
            _float(record["gaussian_mu"]),
            _float(record["pure_epsilon"]),
            None if pairs is None else GaussianPairs(float.fromhex(pairs["leverage"]), pairs["paths"]),
            float.fromhex(record["distance"]),
            neighbours=record["neighbours"],
            exchange_mu=_float(record["exchange_mu"]),
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
    """Return the unit of protection. Raise `LedgerError` unless `dataset` is a fingerprint and
    `unit` is a unit of protection."""
    if not (isinstance(dataset, str) and len(dataset) == 64 and set(dataset) <= set("0123456789abcdef")):
        raise LedgerError("A dataset is named by its fingerprint of 64 hex digits: see Ledger.fingerprint.")
    for name in UNITS:
        if unit == name:
            return name
    raise LedgerError(f"The unit of protection is 'cell' or 'point', not {unit!r}.")


def encode(values: Floats) -> str:
    """Encode float64 values (J,) as hex without loss, big-endian, 16 digits each."""
    return np.ascontiguousarray(values, dtype=">f8").tobytes().hex()


def decode(text: str) -> Floats:
    """Decode the (J,) values of `encode`."""
    return np.frombuffer(bytes.fromhex(text), dtype=">f8").astype(np.float64)


def on_current_grid(orders: Floats, values: Floats) -> Floats:
    """Convert a (J,) curve over other increasing orders to a (K,) upper bound on `ORDERS`. Renyi
    divergence grows with its order (van Erven and Harremoes 2014, Theorem 3), so the value at an
    order is at most the value at the next higher stored order; beyond the last one it is `inf`."""
    if np.array_equal(orders, ORDERS):
        return values
    return np.append(values, np.inf)[np.searchsorted(orders, ORDERS, side="left")]


ROUNDING = 1e-9
"""The relative tolerance of a budget: a composed epsilon up to budget * (1 + 1e-9) fits, the next
float does not. Spending exactly the remaining budget is therefore never refused for a difference in
the last bit, and the guarantee is the budget up to one part in 10^9."""


def epsilon(costs: Cost | Iterable[Cost], delta: float) -> float:
    """Return an upper bound on epsilon at `delta` of these releases together, chosen adaptively; 0
    without releases. This is the ledger's only rule of composition, that of
    `dpgp_core.accounting.composition`: it composes Gaussian releases exactly, by the square root of
    the sum of mu^2, and mixed releases by the least of the sum of their curves, the sum of pure
    epsilons and their privacy-loss distributions. Costs for different neighbours are first priced
    for the weakest promise among them, which all releases keep."""
    return composed_epsilon(costs if isinstance(costs, Cost) else together(costs), delta).epsilon


@dataclass(frozen=True)
class Budget:
    """The total epsilon > 0 at delta in (0, 1) that all releases of a dataset may cost together.

    Raise `LedgerError` for other numbers."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise LedgerError(f"A budget is a positive finite epsilon, not {self.epsilon!r}.")
        if not 0 < self.delta < 1:
            raise LedgerError(f"The delta of a budget is strictly between 0 and 1, not {self.delta!r}.")

    def covers(self, epsilon: float) -> bool:
        """Whether a composed epsilon fits; NaN never fits."""
        return epsilon <= self.epsilon * (1 + ROUNDING)

    def raises(self, earlier: Budget) -> bool:
        """Whether this budget has a larger epsilon or delta than `earlier`."""
        return self.epsilon > earlier.epsilon or self.delta > earlier.delta

    def or_less(self, other: Budget) -> Budget:
        """Return the budget that is at least as strict as either."""
        return Budget(min(self.epsilon, other.epsilon), min(self.delta, other.delta))


@dataclass(frozen=True)
class Account:
    """One dataset under one unit of protection."""

    dataset: str
    unit: Unit
    # None before the first one is set, unless datasets in `shares` have budgets: then their
    # smallest epsilon and smallest delta
    budget: Budget | None
    # composed cost of every entry charged here or to a dataset in `shares`: an upper bound on their
    # joint cost for any record of this dataset (see `overlap.Links`), for the neighbours that all
    # of them hide
    cost: Cost
    charged: tuple[int, ...]  # numbers of its reserve entries that count, in order
    # those that were neither committed nor given back: a crash, or a release under way
    open: tuple[int, ...]
    note: str = ""  # a sentence about costs that this account omits, or ""
    shares: tuple[str, ...] = ()  # the datasets that hold some of the same records
    others: tuple[int, ...] = ()  # numbers of their reserve entries that count here
    inherited: bool = False  # whether `budget` comes from the datasets in `shares`

    def epsilon(self, delta: float) -> float:
        """Return the composed epsilon of all charged releases at `delta`."""
        return epsilon(self.cost, delta)

    @property
    def spent(self) -> float:
        """Composed epsilon at the budget's delta; 0 without a budget, since charges need one."""
        return 0.0 if self.budget is None else self.epsilon(self.budget.delta)

    @property
    def left(self) -> float:
        """Budget minus spent, never negative. By composition often more than this fits."""
        return 0.0 if self.budget is None else max(0.0, self.budget.epsilon - self.spent)

    def takes(self, budget: Budget) -> bool:
        """Whether a budget differs from the one set for this account."""
        return self.inherited or self.budget != budget

    def preview(self, cost: Cost, delta: float | None = None) -> Preview:
        """Preview a release of this cost, at `delta` if no budget is set. Raise `NoBudget` without
        a budget and without `delta`."""
        if self.budget is not None:
            delta = self.budget.delta
        if delta is None:
            raise self._no_budget()
        total = together((self.cost, cost))
        return Preview(
            delta=delta,
            asked=epsilon(cost, delta),
            before=epsilon(priced_for(self.cost, total.neighbours), delta),
            after=epsilon(total, delta),
            neighbours=total.neighbours,
            budget=self.budget,
            note=self.note,
        )

    def admit(self, cost: Cost, *, sharing: bool = False) -> Preview:
        """Return the preview of a release that fits. Raise `NoBudget` without a budget,
        `BudgetExceeded` beyond it. `sharing`: the release is of another dataset with some of the
        same records."""
        if self.budget is None:
            raise self._no_budget()
        preview = self.preview(cost)
        if not self.budget.covers(preview.after):
            raise BudgetExceeded(
                unit=self.unit,
                delta=preview.delta,
                budget=self.budget.epsilon,
                spent=preview.before,
                asked=preview.asked,
                after=preview.after,
                sharing=self.dataset if sharing else "",
                open=self.open,
            )
        return preview

    def _no_budget(self) -> NoBudget:
        return NoBudget(
            f"No budget is set for this dataset and the unit {self.unit!r}: set one before the first release."
        )


@dataclass(frozen=True)
class Preview:
    """Epsilons at `delta` before and after one release, each an upper bound, composed over every
    release that could have contained one of the same records."""

    delta: float
    asked: float  # of this release alone, for its neighbours
    # of all releases before it, and of all with it, for the `neighbours` that all of them hide
    before: float
    after: float
    budget: Budget | None  # None unless set
    note: str  # a sentence about costs that the account omits, or ""
    # the sentence of a refusal by the budget of another dataset that shares records, or by an
    # earlier promise; "" if all of them admit the release
    refused: str = ""
    # the relation to earlier releases, for a charge with its records
    standing: Standing | None = None
    neighbours: Neighbours = "replace-one"
    # the sentence about a broken promise, also if a person agreed; "" without one
    breaks: str = ""
    # datasets that are alike but share no recognised record, and so do not count (for the curator
    # only)
    alike: tuple[Alike, ...] = ()

    @property
    def left(self) -> float | None:
        """The budget that remains after the release, never negative; None without a budget."""
        return None if self.budget is None else max(0.0, self.budget.epsilon - self.after)

    @property
    def fits(self) -> bool:
        """Whether the ledger would now accept the release."""
        return self.budget is not None and self.budget.covers(self.after) and not self.refused

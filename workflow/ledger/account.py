"""An account: budget, spent and left of one dataset under one unit of protection, and who may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workflow.ledger.charge import Cost
from workflow.ledger.errors import BudgetExceeded, LedgerError, NoBudget

ROUNDING = 1e-9
"""A budget is a number to nine digits: a composed epsilon up to budget * (1 + 1e-9) fits, the next float does
not. So spending exactly what is left is never refused for a last-bit difference, and what is promised is the
budget up to one part in 10^9."""


@dataclass(frozen=True)
class Budget:
    """Total epsilon > 0 at delta in (0, 1) that all releases of a dataset may cost together."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise LedgerError(f"A budget is a positive finite epsilon, not {self.epsilon!r}.")
        if not 0 < self.delta < 1:
            raise LedgerError(f"The delta of a budget lies strictly between 0 and 1, not at {self.delta!r}.")

    def covers(self, epsilon: float) -> bool:
        """Whether a composed epsilon fits; NaN never does."""
        return epsilon <= self.epsilon * (1 + ROUNDING)

    def raises(self, earlier: Budget) -> bool:
        """Whether this promises less privacy than `earlier` in any respect."""
        return self.epsilon > earlier.epsilon or self.delta > earlier.delta


@dataclass(frozen=True)
class Account:
    """One dataset under one unit of protection.

    budget   None before the first one is set
    cost     composed cost of every entry that is charged
    charged  numbers of the reserve entries that count, in order
    open     those among them that were neither committed nor given back: a crash, or a release under way
    note     what this account does not say, or ""
    """

    dataset: str
    unit: str
    budget: Budget | None
    cost: Cost
    charged: tuple[int, ...]
    open: tuple[int, ...]
    note: str = ""

    def epsilon(self, delta: float) -> float:
        """Composed epsilon of all charged releases at any `delta`."""
        return self.cost.epsilon(delta)

    @property
    def spent(self) -> float:
        """Composed epsilon at the budget's delta; 0 without a budget, as nothing can be charged then."""
        return 0.0 if self.budget is None else self.epsilon(self.budget.delta)

    @property
    def left(self) -> float:
        """Budget minus spent, never negative. Composition is better than adding: often more will fit."""
        return 0.0 if self.budget is None else max(0.0, self.budget.epsilon - self.spent)

    def preview(self, cost: Cost, delta: float | None = None) -> Preview:
        """What a release of this cost would do here; `delta` is used where no budget is set."""
        if self.budget is not None:
            delta = self.budget.delta
        if delta is None:
            raise self._no_budget()
        return Preview(
            delta=delta,
            asked=cost.epsilon(delta),
            before=self.epsilon(delta),
            after=self.cost.plus(cost).epsilon(delta),
            budget=self.budget,
            note=self.note,
        )

    def admit(self, cost: Cost) -> Preview:
        """The preview, if the release fits; raises NoBudget or BudgetExceeded if it does not."""
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
            )
        return preview

    def _no_budget(self) -> NoBudget:
        return NoBudget(
            f"No budget is set for this dataset and the unit {self.unit!r}: set one before the first release."
        )


@dataclass(frozen=True)
class Preview:
    """Epsilons at `delta` around one release: on its own, all before it, all after it."""

    delta: float
    asked: float
    before: float
    after: float
    budget: Budget | None
    note: str

    @property
    def left(self) -> float | None:
        """What is left of the budget after the release, never negative; None without a budget."""
        return None if self.budget is None else max(0.0, self.budget.epsilon - self.after)

    @property
    def fits(self) -> bool:
        """Whether the ledger would accept the release now."""
        return self.budget is not None and self.budget.covers(self.after)

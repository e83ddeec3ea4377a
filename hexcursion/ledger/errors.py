"""The errors of the ledger: each is one sentence that names the remedy."""

from __future__ import annotations

from dpgp_core.accounting.composition import Neighbours
from dpgp_core.mechanisms.design import Unit
from dpgp_core.numbers import lower, upper
from hexcursion.errors import WorkflowError
from hexcursion.words import remaining


class LedgerError(WorkflowError):
    """The ledger refused an operation; nothing was charged or given back."""


class LedgerBusy(LedgerError):
    """Another release held the ledger for too long."""


class LedgerDamaged(LedgerError):
    """The chain does not verify, so it accepts no charge."""


class NoLedger(LedgerError):
    """There is no ledger yet, and the caller does not create one."""


class RequestTaken(LedgerError):
    """The same request was charged before, as entry `entry`: a second click, or a second try."""

    def __init__(self, entry: int, became: str) -> None:
        self.entry = entry
        super().__init__(
            f"This very request was charged already, as entry {entry} ({became}): nothing was charged again; "
            "make a new plan for another release."
        )


class NoBudget(LedgerError):
    """No budget was ever set for this dataset and unit of protection."""


class PromiseBroken(LedgerError):
    """The release would publish what `earlier` releases of the same records promised to hide."""

    def __init__(self, neighbours: Neighbours, earlier: int) -> None:
        self.neighbours = neighbours
        self.earlier = earlier
        does = (
            "takes the places of the records as public"
            if neighbours == "values-only"
            else "states the number of records"
        )
        promised = "1 earlier release" if earlier == 1 else f"{earlier} earlier releases"
        super().__init__(
            f"This release {does}, which {promised} of the same records promised to hide: choose the promise "
            "that they made, or set `accept_weaker_promise` to release anyway; the statement then says so."
        )


def _unreleased(open: tuple[int, ...]) -> str:
    """Return a sentence about charges without a release; "" if there are no such charges."""
    if not open:
        return ""
    entries = ", ".join(map(str, open[:5])) + (" and others" if len(open) > 5 else "")
    have = f"entry {entries} has" if len(open) == 1 else f"entries {entries} have"
    return (
        f" Of the spent epsilon, {have} no release: if none is under way and the draw cannot have "
        "been seen, `python -m hexcursion ledger void N` gives its epsilon back."
    )


class BudgetExceeded(LedgerError):
    """The release would exceed the budget. All numbers are epsilons at the budget's delta: `spent`
    before, `asked` by this release alone, `after` with this release composed, `left` of the budget,
    never negative. `sharing`: another dataset whose budget is exceeded, since it holds some of the
    same records; `open`: its charges that were neither released nor given back."""

    def __init__(
        self,
        *,
        unit: Unit,
        delta: float,
        budget: float,
        spent: float,
        asked: float,
        after: float,
        sharing: str = "",
        open: tuple[int, ...] = (),
    ) -> None:
        self.unit = unit
        self.delta = delta
        self.budget = budget
        self.spent = spent
        self.asked = asked
        self.after = after
        self.left = max(0.0, budget - spent)
        self.sharing = sharing
        whose = f" of dataset {sharing[:12]}, which holds some of the same records" if sharing else ""
        super().__init__(
            f"This release does not fit the {unit} budget of epsilon {lower(budget, 8)} at delta {delta:g}"
            f"{whose}: spent {upper(spent, 6)}, asked {upper(asked, 6)}, left {remaining(self.left)}, and "
            f"together it would be {upper(after, 8)}; choose a design that costs less, or raise the budget "
            f"and say why."
            f"{_unreleased(open)}"
        )


class Unreleased(WorkflowError):
    """A charge has no release; `entry` is its number."""

    def __init__(self, entry: int, text: str) -> None:
        self.entry = entry
        super().__init__(text)

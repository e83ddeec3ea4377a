"""Which of the registered bounds are tried for a prior: those that are proved for it and not dominated."""

from __future__ import annotations

from typing import Protocol

from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.errors import BoundRefused


class BoundedPrior(Protocol):
    """A prior that says which bounds hold for it."""

    @property
    def name(self) -> str: ...
    @property
    def bounds(self) -> tuple[str, ...]: ...


def proved_bounds(facts: BoundedPrior, bound: str | None) -> tuple[str, ...]:
    """Bounds to try for a prior: the one asked for, or every proved one that holds and that none dominates.

    Raises BoundRefused where the one asked for does not hold for the prior or is not proved.
    """
    holding = tuple(name for name in facts.bounds if name in BOUNDS and BOUNDS[name].proved)
    if bound is None:
        dominated = {"triangle": "separate", "separate": "sharp", "sharp": "joint-sharp",
                     "maximum-principle": "joint-maximum-principle"}  # fmt: skip
        return tuple(name for name in holding if dominated.get(name) not in holding)
    if bound not in holding:
        raise BoundRefused(
            f"The bound {bound!r} is not proved for the {facts.name} prior: "
            f"choose one of {', '.join(holding)}."
        )
    return (bound,)

"""Layers that are derived from those of an atlas at no cost: their kinds and their notation."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from hexcursion.errors import WorkflowError
from hexcursion.words import listed

Kind = Literal["ratio", "difference", "sum", "both", "any"]
OF_TWO = ("ratio", "difference", "sum")


@dataclass(frozen=True)
class Derived:
    """A layer derived from others: from two columns and a threshold, or from several questions."""

    kind: Kind
    of: tuple[str, ...]  # the columns
    threshold: float | None = None  # of a ratio, a difference and a sum; None for both and any

    @property
    def words(self) -> list[str | float]:
        """The same as it is typed in a settings file."""
        return [self.kind, *self.of, *([] if self.threshold is None else [self.threshold])]

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise WorkflowError(
                f"A derived layer is one of {listed(list(get_args(Kind)))}, not {self.kind!r}."
            )
        if len(set(self.of)) < 2 or len(set(self.of)) < len(self.of):
            raise WorkflowError("A derived layer is made of different columns: name two or more, each once.")
        if self.kind in OF_TWO and (len(self.of) != 2 or self.threshold is None):
            raise WorkflowError(
                f"A {self.kind} is of two columns and has a threshold: name both and a number."
            )
        if self.kind not in OF_TWO and self.threshold is not None:
            raise WorkflowError("Both and any take the published threshold of each column: leave theirs out.")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise WorkflowError("The threshold of a derived layer is a finite number.")


def derived_from(words: Sequence[Any]) -> Derived:
    """Parse a derived layer: its kind, its columns, and for two columns its threshold.

    Raise `WorkflowError` for anything else.
    """
    kind, *arguments = map(str, words or ("",))
    threshold: float | None = None
    if kind in OF_TWO and arguments:
        try:
            threshold = float(arguments.pop())
        except ValueError:
            raise WorkflowError(
                f"End a {kind} with its threshold, such as: {kind} pb zn 0.5, not {words[-1]!r}."
            ) from None
    return Derived(kind, tuple(arguments), threshold)  # type: ignore[arg-type]


def refuse_mixed(derived: Sequence[Derived], answers: Collection[str]) -> None:
    """Raise `WorkflowError` for a ratio, difference or sum that takes a share of `answers`, the columns of
    yes and no, together with an amount, or a ratio of shares."""
    for layer in derived:
        shares = len(set(layer.of) & set(answers))
        if layer.kind in OF_TWO and (shares == 1 or (shares == 2 and layer.kind == "ratio")):
            raise WorkflowError(
                f"A {layer.kind} of {listed(list(layer.of))} takes a share of answers for an amount: ask for "
                "both or any of them, or for the difference of two shares."
            )

"""The settings of one release: public choices, each valid, that fit together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dpgp_core.accounting.gaussian import period_epsilons
from hexcursion.settings.agreement import (
    agree_on_answers,
    agree_on_counts,
    agree_on_covariates,
    agree_on_executor,
    agree_on_layers,
    agree_on_looks,
    agree_on_owner,
    agree_on_periods,
    agree_on_question,
    agree_on_reads,
    agree_on_reference,
    agree_on_relation,
    agree_on_tuning,
    serving_mechanisms,
)
from hexcursion.settings.choices import Choices


@dataclass(frozen=True, kw_only=True)
class ReleaseSettings(Choices):
    """Everything fixed before the private records are touched; see docs/settings.md.

    Raise `WorkflowError` for a value that may not stand in its field or choices that do not fit together.
    """

    def agree(self) -> None:
        """Raise `WorkflowError` where choices do not fit together; leave out mechanisms that cannot serve."""
        agree_on_question(self)
        agree_on_layers(self)
        agree_on_covariates(self)
        agree_on_looks(self)
        agree_on_answers(self)
        agree_on_counts(self)
        agree_on_tuning(self)
        agree_on_reference(self)
        agree_on_owner(self)
        agree_on_executor(self)
        object.__setattr__(self, "mechanisms", serving_mechanisms(self))
        agree_on_reads(self)
        agree_on_relation(self)
        agree_on_periods(self)

    def with_changes(self, **changes: Any) -> ReleaseSettings:
        """Return a valid copy with some fields changed; `WorkflowError` where they do not fit together."""
        return replace(self, **changes)

    @property
    def parts_of_periods(self) -> tuple[float, ...]:
        """Epsilon of each of `periods`, all of which cost `budget` together; () where there are none."""
        if self.periods is None or self.budget is None or self.delta is None:
            return ()
        front = self.period_shares == "front-loaded"
        return tuple(period_epsilons(self.budget, self.delta, self.periods, front_loaded=front))

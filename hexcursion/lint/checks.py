"""The checklist applied to a plan: rules from `checklist.toml`, and the few checks that need arithmetic."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from dpgp_core.numbers import significant, upper
from hexcursion.errors import WorkflowError
from hexcursion.lint.plan import NOT_STATED, PRIVATE_CONTENTS, UNSEEN, PlannedRelease

Severity = Literal["leak", "warning", "note"]
LEAK: Severity = "leak"
WARNING: Severity = "warning"
NOTE: Severity = "note"
SEVERITIES: tuple[Severity, ...] = (LEAK, WARNING, NOTE)
# Above this expected number of fully exposed records, n delta, a delta is called large.
LARGE_EXPOSURE = 0.01


@dataclass(frozen=True)
class Finding:
    """One way in which something private gets out, to whom, and what to do about it."""

    code: str
    leaks: str
    to_whom: str
    remedy: str
    severity: Severity

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise WorkflowError(f"severity must be one of {SEVERITIES}, got {self.severity!r}.")


@dataclass(frozen=True)
class Rule:
    """The finding that follows when `field` of a plan has the value `value`."""

    field: str
    value: str
    finding: Finding

    def __call__(self, plan: PlannedRelease) -> Iterator[Finding]:
        if getattr(plan, self.field) == self.value:
            yield self.finding


Check = Callable[[PlannedRelease], Iterator[Finding]]


def _rules() -> tuple[Rule, ...]:
    table = tomllib.loads(Path(__file__).with_name("checklist.toml").read_text(encoding="utf-8"))
    return tuple(Rule(rule.pop("field"), rule.pop("is"), Finding(**rule)) for rule in table["rule"])


def delta_against_n(plan: PlannedRelease) -> Iterator[Finding]:
    """n delta is the number of records that a mechanism of this delta may publish whole, in expectation."""
    if plan.delta is None or plan.n is None:
        return
    exposure = plan.delta * plan.n
    amount, inverse = upper(exposure, 2), significant(1 / plan.n, 2)
    small = significant(10.0 ** math.floor(math.log10(LARGE_EXPOSURE / plan.n)), 1)
    if exposure >= 1:
        yield Finding(
            "delta-not-below-1/n",
            f"n delta = {amount}: a mechanism that publishes whole records at random satisfies this delta.",
            "the people whose records are published",
            f"Fix a delta far below 1/n before looking, for instance {small}.",
            LEAK,
        )
    elif exposure > LARGE_EXPOSURE:
        yield Finding(
            "delta-close-to-1/n",
            f"n delta = {amount}, so delta is not small against 1/n = {inverse}: it allows a chance of "
            f"{amount} that some record is published whole.",
            "the person whose record it is",
            f"Fix a smaller delta before looking, for instance {small}; epsilon grows little by it.",
            WARNING,
        )


def tooltips(plan: PlannedRelease) -> Iterator[Finding]:
    """What single cells show on hover must be released."""
    for content in plan.tooltips:
        if content in PRIVATE_CONTENTS:
            yield Finding(
                "tooltip-private",
                f"The {content} of single cells, on hover.",
                "everyone who sees the map",
                "Show on hover only what was released: the vote fraction, in or out, the threshold.",
                LEAK,
            )


def exports(plan: PlannedRelease) -> Iterator[Finding]:
    """What leaves the building must be released."""
    for content in plan.exports:
        if content in PRIVATE_CONTENTS:
            yield Finding(
                "export-private",
                f"The {content}: computed from the private records, outside the accounting.",
                "everyone who gets the files",
                f"Keep the {content} inside the curator's session; export the bundle only.",
                LEAK,
            )


def people(plan: PlannedRelease) -> Iterator[Finding]:
    """Who may have several records needs a guarantee that says so."""
    most = plan.records_per_person
    if most is not None and most > 1 and not plan.group_stated:
        yield Finding(
            "group-not-stated",
            f"More about someone with up to {most} records than epsilon says.",
            "whoever looks for that person",
            "Publish the group guarantee (q epsilon, q e^((q-1) epsilon) delta) beside epsilon.",
            WARNING,
        )


def not_stated(plan: PlannedRelease) -> Iterator[Finding]:
    """What a plan does not say cannot be checked."""
    unanswered = [item.name for item in fields(plan) if getattr(plan, item.name) == NOT_STATED]
    if unanswered:
        yield Finding(
            "not-stated",
            f"Nobody can tell: the plan does not say {', '.join(unanswered)}.",
            "unknown",
            "Complete the plan; what is not stated cannot be checked.",
            WARNING,
        )


# What the fields ask, for those that no file of a bundle can answer.
ASKED = {
    "delta_rule": "whether delta was fixed before the number of records was looked at",
    "scaling": "whether coordinates were scaled by public numbers",
    "mask": "whether cells were left out for what the records say",
    "selection": "whether filters (years, kinds, districts) were chosen on the records",
    "threshold": "whether the threshold was chosen on the records",
    "legend": "whether a colour scale shown elsewhere came from the records",
    "seed": "whether the random numbers came from the operating system, as the statement says",
    "draws": "whether this was the only draw",
}


def unseen(plan: PlannedRelease) -> Iterator[Finding]:
    """A bundle's files show what was published, not what was looked at before."""
    names = [item.name for item in fields(plan) if getattr(plan, item.name) == UNSEEN]
    if names:
        yield Finding(
            "cannot-be-seen",
            f"Cannot be seen in a bundle: {'; '.join(ASKED.get(name, name) for name in names)}.",
            "unknown",
            "Ask the curator, or lint the plan of the release.",
            NOTE,
        )


RULES: tuple[Rule, ...] = _rules()
CHECKS: tuple[Check, ...] = (*RULES, delta_against_n, tooltips, exports, people, not_stated, unseen)


def lint(plan: PlannedRelease) -> list[Finding]:
    """All findings about a plan: leaks first, then warnings, then notes."""
    found = [finding for check in CHECKS for finding in check(plan)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))

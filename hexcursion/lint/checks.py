"""A planned release in words, and its checks: the rules of `checklist.toml`, and arithmetic."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic import Field as Limits

from dpgp_core.numbers import significant, upper
from hexcursion.errors import WorkflowError

NOT_STATED: Final = "not stated"
UNSEEN: Final = "cannot be seen in a bundle"
PRIVATE: Final = "private data"

# What a person may state of each field; a plan read from a bundle may have `UNSEEN` instead.
Unstated = Literal["not stated", "cannot be seen in a bundle"]
Origin = Literal[
    "public", "public reference data", "reference data", "private selection", "private data", Unstated
]
PlannedUnit = Literal["point", "cell", Unstated]
DeltaRule = Literal["given", "function of n", Unstated]
Number = Literal["public by nature", "taken as public", "accounted", Unstated]
Cells = Literal["public", "occupied cells", "extent of the private data", Unstated]
Mask = Literal["none", "public", "occupied cells", Unstated]
Scaling = Literal["public", "extent of the private data", Unstated]
Centre = Literal[Origin, "threshold"]
Legend = Literal[Origin, "released paths"]
Mean = Literal["none", "public", "public reference data", "reference data", "private data", Unstated]
TuningOrigin = Literal[
    "public reference data",
    "reference data",
    "simulated",
    "fixed",
    "given",
    "private selection",
    "not accounted",
    Unstated,
]
Seed = Literal["operating system", "fixed", "recorded", "derived from the data", Unstated]
Draws = Literal["once", "until one looks right", Unstated]
Proved = Literal["proved", "not proved", Unstated]
Charged = Literal["before the result is shown", "after the result is shown", "none", Unstated]

# What a tooltip or an exported file may hold without costing anything, and what it may not.
ReleasedContent = Literal[
    "released paths", "released sets", "regions", "vote fraction", "statement", "label", "public facts"
]
PrivateContent = Literal[
    "counts",
    "medians",
    "records",
    "baseline",
    "clipped counts",
    "load report",
    "log file",
    "seed",
    "utility on private data",
    "share of own records on their right side",
    "last update of a cell",
    "table of today's practice",
]
Content = Literal[ReleasedContent, PrivateContent]
PRIVATE_CONTENTS: frozenset[Content] = frozenset(get_args(PrivateContent))


@dataclass(frozen=True)
class PlannedRelease:
    """Where every part of a release comes from; `CHOICES` lists the words each field may take.

    A plan read from a bundle has `UNSEEN` where its files cannot show the choice.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    name: str = ""
    unit: PlannedUnit = NOT_STATED
    epsilon: Annotated[float, Limits(gt=0)] | None = None  # planned cost, with `delta`
    delta: Annotated[float, Limits(gt=0, lt=1)] | None = None
    delta_rule: DeltaRule = NOT_STATED  # whether delta is a function of n
    # number of records if it is known; `n_handling` says why it may be known
    n: Annotated[int, Limits(ge=1)] | None = None
    n_handling: Number = NOT_STATED
    domain: Cells = NOT_STATED
    mask: Mask = NOT_STATED  # cells left out of the released map
    scaling: Scaling = NOT_STATED  # of coordinates, and lattice
    selection: Origin = NOT_STATED  # filters (years, segment, district): chosen on what
    centre: Centre = NOT_STATED  # public map from values to responses, with `clip`
    clip: Origin = NOT_STATED
    threshold: Origin = NOT_STATED
    legend: Legend = NOT_STATED  # range of the colour scale
    prior_mean: Mean = NOT_STATED
    tuning: TuningOrigin = NOT_STATED
    seed: Seed = NOT_STATED
    draws: Draws = NOT_STATED
    bound: Proved = NOT_STATED
    ledger: Charged = NOT_STATED
    tooltips: tuple[Content, ...] = ()  # what the map shows on hover
    exports: tuple[Content, ...] = ()  # what leaves the building
    # the most records one person may have, if known
    records_per_person: Annotated[int, Limits(ge=1)] | None = None
    group_stated: bool = False  # is the weaker guarantee of such a person published?


def _choices() -> dict[str, tuple[str, ...]]:
    """Map each field with a list of words to these words, "not stated" last."""
    choices = {}
    for name, hint in get_type_hints(PlannedRelease).items():
        if get_origin(hint) is Literal:
            words = [word for word in get_args(hint) if word not in (NOT_STATED, UNSEEN)]
            choices[name] = (*words, NOT_STATED)
    return choices


def plan_from_mapping(raw: Mapping[str, Any]) -> PlannedRelease:
    """Read a plan from plain key-value pairs; `WorkflowError` for an unknown key or impossible
    value."""
    try:
        return TypeAdapter(PlannedRelease).validate_json(json.dumps(raw, default=str))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = first["msg"][0].lower() + first["msg"][1:]
        raise WorkflowError(
            f"The plan's {first['loc'][0]!r} cannot be {first['input']!r}: {reason}. "
            "`hexcursion lint --help` lists the words of a plan."
        ) from error


CHOICES = _choices()
"""The words that each field may take, read from their types."""


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


def delta_against_n(plan: PlannedRelease) -> Iterator[Finding]:
    """n delta is the number of records that a mechanism of this delta may publish whole, in
    expectation."""
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
    """Single cells may show on hover only released content."""
    for content in plan.tooltips:
        if content in PRIVATE_CONTENTS:
            yield Finding(
                "tooltip-private",
                f"The {content} of single cells, on hover.",
                "everyone who sees the map",
                "Show on hover only released content: the vote fraction, in or out, the threshold.",
                LEAK,
            )


def exports(plan: PlannedRelease) -> Iterator[Finding]:
    """Only released content may leave the building."""
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
    """A person with several records needs the group guarantee."""
    number = plan.records_per_person
    if number is not None and number > 1 and not plan.group_stated:
        yield Finding(
            "group-not-stated",
            f"More about someone with up to {number} records than epsilon says.",
            "whoever looks for that person",
            "Publish the group guarantee (q epsilon, q e^((q-1) epsilon) delta) together with epsilon.",
            WARNING,
        )


def not_stated(plan: PlannedRelease) -> Iterator[Finding]:
    """A field that the plan does not state cannot be checked."""
    unanswered = [item.name for item in fields(plan) if getattr(plan, item.name) == NOT_STATED]
    if unanswered:
        yield Finding(
            "not-stated",
            f"Unknown: the plan does not state {', '.join(unanswered)}.",
            "unknown",
            "Complete the plan: only its statements can be checked.",
            WARNING,
        )


# The questions of fields that no file of a bundle can answer.
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
    """A bundle's files show the release, not the curator's looks before it."""
    names = [item.name for item in fields(plan) if getattr(plan, item.name) == UNSEEN]
    if names:
        yield Finding(
            "cannot-be-seen",
            f"Cannot be seen in a bundle: {'; '.join(ASKED.get(name, name) for name in names)}.",
            "unknown",
            "Ask the curator, or lint the plan of the release.",
            NOTE,
        )


_TABLE = tomllib.loads(Path(__file__).with_name("checklist.toml").read_text(encoding="utf-8"))
RULES: tuple[Rule, ...] = tuple(
    Rule(rule.pop("field"), rule.pop("is"), Finding(**rule)) for rule in _TABLE["rule"]
)
CHECKS: tuple[Check, ...] = (*RULES, delta_against_n, tooltips, exports, people, not_stated, unseen)


def lint(plan: PlannedRelease) -> list[Finding]:
    """All findings about a plan: leaks first, then warnings, then notes."""
    findings = [finding for check in CHECKS for finding in check(plan)]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))

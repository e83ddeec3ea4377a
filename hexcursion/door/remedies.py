"""Remedies for a plan with a poor expected map: other choices, judged by simulation.

Nothing is drawn from private records and nothing charged. Each remedy is judged like the plan, on
reference data or in simulated worlds, and uses only the facts about private records that a search
may use.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from dpgp_core.errors import HexcursionError
from dpgp_core.mechanisms.registry import MECHANISMS
from geo.errors import part_of
from hexcursion.errors import Cancelled, Report
from hexcursion.estimates.forecasts import COARSEST
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.record import Expected
from hexcursion.releasing.release_guard import objections
from hexcursion.search.choice import Choice
from hexcursion.search.executors import Run
from hexcursion.search.results import at_budget, settle_on
from hexcursion.search.score import takes_fixed
from hexcursion.search.tuning import Tuned, tune
from hexcursion.settings import field
from hexcursion.settings.catalogue import flag_of
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import that_can_serve
from hexcursion.words import range_words, ratio_words, records_words

BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
"""The epsilons on screens; a larger budget is the next of them."""

FAR = 0.3
"""The distance of a threshold from the public centre, in clip bounds, from which to propose a
nearer one."""

WITHOUT_RELOADING = {"epsilon", "mechanisms", "prior_mean"}
"""The settings that do not affect how data are read, placed and scaled."""

REFERENCE = (
    "Public reference data, such as the same measurements of an earlier year: a release can start from "
    "their map, and what it reaches is known once they are read"
)

RemedyName = Literal["mean", "coarser", "threshold", "mechanisms", "epsilon"]


@dataclass(frozen=True)
class Remedy:
    """Another choice that may give a better map: in words, and as changes of the settings."""

    name: RemedyName
    label: str
    changes: Mapping[str, Any]

    @property
    def flags(self) -> str:
        """The options of the command line for this remedy."""
        options = []
        for name, value in self.changes.items():
            words = value if isinstance(value, tuple) else () if value is True else (f"{value:g}",)
            options.append(" ".join([flag_of(field(name)), *words]))
        return " ".join(options)


@dataclass(frozen=True)
class Tried:
    """A remedy and the result of its simulated releases."""

    remedy: Remedy
    expected: Expected | None = None  # None if unknown
    stopped: bool = True  # whether a release would still be stopped
    note: str = ""  # why it could not be tried, "" if it was
    # rows outside the hexagons now and with the remedy, for the curator only; () if unchanged
    outside: tuple[int, ...] = ()
    few: bool = False  # whether there are still too few records to state a figure

    @property
    def loses(self) -> str:
        """A clause for the curator about further dropped rows; "" without any."""
        if not self.outside or self.outside[1] <= self.outside[0]:
            return ""
        return f"; leaves {self.outside[1]:,} rows outside the hexagons instead of {self.outside[0]:,}"

    @property
    def says(self) -> str:
        """A clause about its result."""
        expected = self.expected
        if self.note:
            return f"cannot be tried: {self.note.rstrip('.')}"
        if self.few and self.stopped and (expected is None or expected.records is None):
            return "still too few records to tell where values lie"
        if self.few:
            stopped = "still poor" if self.stopped else "not stopped"
            return f"{stopped}; too few records to say how right its map will be"
        if expected is not None and expected.records is not None:
            records = records_words(expected.records)
            return (
                f"{records} expected on their right side; {'still poor' if self.stopped else 'not stopped'}"
            )
        if expected is None or expected.agreement is None:
            return "no agreement can be expected of it either"
        text = f"agreement {ratio_words(expected.agreement)} expected"
        if expected.low is not None and expected.high is not None:
            text += f", {range_words(expected.low, expected.high, little=expected.little)}"
        return f"{text}; {'still poor' if self.stopped else 'not stopped'}"


def remedies(settings: ReleaseSettings, project: Project | None = None) -> tuple[Remedy, ...]:
    """Return the remedies, the cheapest first.

    A project determines the distance of the threshold from the middle of the public scale.
    """
    proposals = []
    published = settings.reference_public and settings.reference is not None and not settings.change
    if settings.prior_mean is False and published:
        proposals.append(Remedy("mean", "Start from the public map", {"prior_mean": True}))
    if settings.resolution > COARSEST:
        proposals.append(Remedy("coarser", "Coarser hexagons", {"resolution": settings.resolution - 1}))
    nearer = None if project is None else nearer_threshold(project)
    if nearer is not None:
        proposals.append(
            Remedy("threshold", f"Another question: threshold {nearer:g}", {"threshold": nearer})
        )
    mechanisms = that_can_serve(MECHANISMS, settings.unit, settings.relation)
    is_fixed = takes_fixed(settings) or settings.values != "amount"  # one design for all mechanisms
    if set(mechanisms) - set(settings.mechanisms) and not is_fixed:
        proposals.append(Remedy("mechanisms", "Try every mechanism", {"mechanisms": mechanisms}))
    larger = [epsilon for epsilon in BUDGETS if epsilon > settings.epsilon]
    if larger:
        proposals.append(Remedy("epsilon", f"Larger budget, ε {larger[0]:g}", {"epsilon": larger[0]}))
    return tuple(proposals)


def lacks_reference(settings: ReleaseSettings) -> bool:
    """Whether reference data would help, a remedy that cannot be tried without them."""
    return settings.reference is None and settings.values != "count"


def nearer_threshold(project: Project) -> float | None:
    """Return the threshold at half the distance from the public centre; None if it is near already.

    For a question relative to a public field the threshold is a difference, so return None.
    """
    if project.relative is not None or abs(project.level) < FAR:
        return None
    nearer = float(f"{float(project.response.value(project.level / 2.0)):.3g}")
    return nearer if math.isfinite(nearer) and nearer != project.settings.threshold else None


def weak(expected: Expected | None) -> bool:
    """Whether the expectation of a map says little, although the release is not stopped."""
    return expected is not None and expected.little


SECONDS = 20.0
"""The time limit of one remedy, after which its result stays unknown."""


class _Late(Exception):
    """A remedy exceeds its time limit."""


def try_remedies(project: Project, tuned: Tuned, report: Report | None = None) -> Iterator[Tried]:
    """Judge the remedies one after the other, as `try_remedy`; none after a paid pilot."""
    tell = report or (lambda fraction, text: None)
    proposals = () if project.pilot is not None else remedies(project.settings, project)
    for number, remedy in enumerate(proposals):

        def part(fraction: float, text: str, number: int = number) -> None:
            tell((number + fraction) / len(proposals), text)

        yield try_remedy(project, tuned, remedy, part)


def try_remedy(
    project: Project,
    tuned: Tuned,
    remedy: Remedy,
    report: Report | None = None,
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Tried:
    """Judge a remedy within about `seconds` of `clock`.

    A search is a quick one, so its result may be slightly below that of a full search. Call
    `report(fraction, text)`, which may raise to cancel.
    """
    tell, end = report or (lambda fraction, text: None), clock() + seconds

    def part(fraction: float, text: str) -> None:
        tell(fraction, f"Trying in simulation: {remedy.label}")
        if clock() > end:
            raise _Late

    try:
        part(0.0, "")
        changed, choice = _tried(project, tuned, remedy, part)
    except _Late:
        return Tried(remedy, note=f"it takes more than {seconds:g} s to try")
    except Cancelled:
        raise
    except HexcursionError as error:
        return Tried(remedy, note=str(error))
    against = objections(choice.expected, choice.yardsticks, choice.level(changed.settings.threshold))
    outside = (project.private.placed.outside, changed.private.placed.outside)
    few = choice.yardsticks is not None and choice.yardsticks.few is not None
    return Tried(remedy, choice.expected, bool(against), outside=outside, few=few)


def _tried(project: Project, tuned: Tuned, remedy: Remedy, report: Report) -> tuple[Project, Choice]:
    """Return the project with the remedy's changes, and the design that simulations propose."""
    if remedy.name == "epsilon" and (point := at_budget(tuned, remedy.changes["epsilon"])) is not None:
        return settle_on(project, tuned, point)
    settings = project.settings.with_changes(**remedy.changes)
    if not takes_fixed(settings):
        settings = settings.with_changes(quick=True)
    if set(remedy.changes) <= WITHOUT_RELOADING:
        changed = replace(project, settings=settings)
    else:
        changed = load_project(settings, part_of(report, 0.0, 0.3))
    return changed, tune(changed, Run(report).part(0.3, 0.7), frontier=()).choice

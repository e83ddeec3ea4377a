"""Remedies of a plan that is expected to give a poor map: other choices, and what simulations say of each.

Nothing is drawn from private records and nothing charged. Each remedy is judged as the plan itself was: on
reference data or in simulated worlds; of the private records only what a search may know is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from data_loaders import DataError
from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.registry import MECHANISMS
from geo import GeoError
from hexcursion.bundle.statement.promise import records_words
from hexcursion.errors import Report, WorkflowError
from hexcursion.estimates.forecasts import COARSEST
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.record import Expected
from hexcursion.releasing.release_guard import objections
from hexcursion.search.choice import Choice
from hexcursion.search.results import at_budget, settle_on
from hexcursion.search.score import takes_fixed
from hexcursion.search.tuning import Tuned, tune
from hexcursion.settings import field
from hexcursion.settings.catalogue import flag_of
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import that_can_serve
from hexcursion.words import range_words, ratio_words

BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
"""Epsilons that a screen offers; a larger budget is the next of them."""

FAR = 0.3
"""Distance of a threshold from the public centre, in clip bounds, from which a nearer one is proposed."""

WITHOUT_RELOADING = {"epsilon", "mechanisms", "prior_mean"}
"""Settings that change nothing in how data are read, placed and scaled."""

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
        """The same on the command line."""
        options = []
        for name, value in self.changes.items():
            words = value if isinstance(value, tuple) else () if value is True else (f"{value:g}",)
            options.append(" ".join([flag_of(field(name)), *words]))
        return " ".join(options)


@dataclass(frozen=True)
class Tried:
    """A remedy and what its simulated releases reach."""

    remedy: Remedy
    expected: Expected | None = None  # None where nothing can be told
    stopped: bool = True  # whether a release would be stopped, too
    note: str = ""  # why it could not be tried, "" where it could
    # rows outside the hexagons now and with the remedy, for the curator's eyes only; () where none changes
    outside: tuple[int, ...] = ()

    @property
    def loses(self) -> str:
        """How many rows it leaves out, as a clause for the curator alone; "" where none more."""
        if not self.outside or self.outside[1] <= self.outside[0]:
            return ""
        return f"; leaves {self.outside[1]:,} rows outside the hexagons instead of {self.outside[0]:,}"

    @property
    def says(self) -> str:
        """What it reaches, as a clause."""
        found = self.expected
        if self.note:
            return f"cannot be tried: {self.note.rstrip('.')}"
        if found is not None and found.records is not None:
            records = records_words(found.records)
            return (
                f"{records} expected on their right side; {'still poor' if self.stopped else 'not stopped'}"
            )
        if found is None or found.agreement is None:
            return "no agreement can be expected of it either"
        text = f"agreement {ratio_words(found.agreement)} expected"
        if found.low is not None and found.high is not None:
            text += f", {range_words(found.low, found.high, little=found.little)}"
        return f"{text}; {'still poor' if self.stopped else 'not stopped'}"


def remedies(settings: ReleaseSettings, project: Project | None = None) -> tuple[Remedy, ...]:
    """Return what could be chosen otherwise, the cheapest first.

    A project tells how far the threshold lies from the middle of the public scale.
    """
    found = []
    published = settings.reference_public and settings.reference is not None and not settings.change
    if settings.prior_mean is False and published:
        found.append(Remedy("mean", "Start from the public map", {"prior_mean": True}))
    if settings.resolution > COARSEST:
        found.append(Remedy("coarser", "Coarser hexagons", {"resolution": settings.resolution - 1}))
    nearer = None if project is None else nearer_threshold(project)
    if nearer is not None:
        found.append(Remedy("threshold", f"Another question: threshold {nearer:g}", {"threshold": nearer}))
    others = that_can_serve(MECHANISMS, settings.unit, settings.relation)
    one = takes_fixed(settings) or settings.values != "amount"  # design, whichever are tried
    if set(others) - set(settings.mechanisms) and not one:
        found.append(Remedy("mechanisms", "Try every mechanism", {"mechanisms": others}))
    larger = [epsilon for epsilon in BUDGETS if epsilon > settings.epsilon]
    if larger:
        found.append(Remedy("epsilon", f"Larger budget, ε {larger[0]:g}", {"epsilon": larger[0]}))
    return tuple(found)


def lacks_reference(settings: ReleaseSettings) -> bool:
    """Whether reference data would help, which nobody can try without having them."""
    return settings.reference is None and settings.values != "count"


def nearer_threshold(project: Project) -> float | None:
    """Return the threshold half as far from the public centre; None where it lies near it already.

    Where a question varies over the map its threshold is a difference from a public field, which is asked for
    itself.
    """
    if project.relative is not None or abs(project.level) < FAR:
        return None
    nearer = float(f"{float(project.response.value(project.level / 2.0)):.3g}")
    return nearer if math.isfinite(nearer) and nearer != project.settings.threshold else None


def weak(expected: Expected | None) -> bool:
    """Whether little can be told of a map before it is drawn, though nothing stops it."""
    return expected is not None and expected.little


SECONDS = 20.0
"""Of one remedy, after which what it reaches remains unknown."""


class _Late(Exception):
    """A remedy that takes too long."""


def try_remedies(project: Project, tuned: Tuned, report: Report | None = None) -> Iterator[Tried]:
    """Judge one remedy after the other, each as `try_remedy` does; none where a look was paid for."""
    tell = report or (lambda fraction, text: None)
    known = () if project.pilot is not None else remedies(project.settings, project)
    for number, remedy in enumerate(known):

        def part(fraction: float, text: str, number: int = number) -> None:
            tell((number + fraction) / len(known), text)

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
    """Judge a remedy in at most about so many seconds of `clock`.

    A search is a quick one, so that what it finds may be a little less than a full one would. Tell
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
    except (WorkflowError, CoreError, DataError, GeoError) as error:
        return Tried(remedy, note=str(error))
    against = objections(choice.expected, choice.yardsticks, choice.level(changed.settings.threshold))
    outside = (project.private.placed.outside, changed.private.placed.outside)
    return Tried(remedy, choice.expected, bool(against), outside=outside)


def _tried(project: Project, tuned: Tuned, remedy: Remedy, report: Report) -> tuple[Project, Choice]:
    """The project with one choice changed, and the design that simulations propose for it."""
    if remedy.name == "epsilon" and (known := at_budget(tuned, remedy.changes["epsilon"])) is not None:
        return settle_on(project, tuned, known)
    settings = project.settings.with_changes(**remedy.changes)
    if not takes_fixed(settings):
        settings = settings.with_changes(quick=True)
    if set(remedy.changes) <= WITHOUT_RELOADING:
        changed = replace(project, settings=settings)
    else:
        changed = load_project(settings, lambda fraction, text: report(0.3 * fraction, text))
    return changed, tune(changed, lambda share, text: report(0.3 + 0.7 * share, text), beside=()).choice

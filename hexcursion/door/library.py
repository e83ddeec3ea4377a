"""What a program calls: plan a release, publish it, do both at once, or compare mechanisms."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pandas import DataFrame
from threadpoolctl import threadpool_limits

from data_loaders import DataError
from dpgp_core.errors import CoreError
from dpgp_core.noise import random_name
from geo import GeoError
from hexcursion.comparing.run import BY_HAND, EPSILONS, Comparison
from hexcursion.door.frames import PRIVATE, REFERENCE, as_area, as_source, has_points, split_settings
from hexcursion.door.pipeline import Listener, Planned, compare_settings, plan_settings, publish_planned
from hexcursion.door.released import Released
from hexcursion.errors import Report, WorkflowError
from hexcursion.ledger.sentences import alike_text
from hexcursion.new_place import new_place
from hexcursion.project.model import HeldTable
from hexcursion.releasing.once import told_that_it_stands
from hexcursion.settings import ReleaseSettings, field, settings_from_mapping
from hexcursion.settings.field import fields_of

OWN = {
    "x": None, "y": None, "crs": "EPSG:4326", "decimal": None, "header_row": None, "encoding": None,
    "delimiter": None, "quoting": None, "sides": (), "behind": (),
}  # fmt: skip
"""What is said of the private table alone, with what holds of another one unless it is said."""
PLACES, COLUMNS = (
    ("x", "y", "place_column", "zone_column", "crs"),
    ("value", "identifier", "time", "condition", "limit_column", "unit_column"),
)
"""What a reference table has in common with the private one: its places, and columns of the same names."""


class CuratorWarning(UserWarning):
    """Something that only the curator should read: it comes from private records, so do not publish it."""


def release(
    data: Any,
    *,
    out: str | Path | None = None,
    progress: Report | None = None,
    same_records_as: Sequence[int] = (),
    **settings: Any,
) -> Released:
    """Release a private map: search on reference data, charge the ledger, draw once, write the bundle.

    Every call is a separate release and costs epsilon. Without a `budget` the first release of these data
    sets its own epsilon as their budget, so a second call is refused.

    Parameters
    ----------
    data, settings
        As for `plan`; also `pilot`, which is charged and drawn before the search.
    out : str or Path, optional
        New folder for the bundle; its zip lies beside it. Otherwise `releases` in this installation's home.
    progress : callable, optional
        Told (fraction, text); may raise to cancel.
    same_records_as : sequence of int
        As for `plan`.

    Returns
    -------
    Released

    Raises
    ------
    WorkflowError
        One sentence, for what stops the release; nothing was charged then.
    Unreleased
        If it broke off after the charge: it names the entry of the ledger that stands without a release.
    """
    _refuse_taken(out)
    planned = _planned(data, settings, progress, same_records_as, pay=True)
    return _published(planned, out)


def plan(
    data: Any, *, progress: Report | None = None, same_records_as: Sequence[int] = (), **settings: Any
) -> Planned:
    """Search on reference data and say what a release would publish and cost; draw and charge nothing.

    Parameters
    ----------
    data : DataFrame, GeoDataFrame, str, Path or ReleaseSettings
        The private records: a table, whose points give the coordinates where it has them, or a file. Or all
        settings at once.
    progress : callable, optional
        Told (fraction, text); may raise to cancel.
    same_records_as : sequence of int
        Entries of the ledger whose data hold the same records in other words.
    **settings
        `area`: west, south, east and north in degrees, polygons, or a file of them; `value`, `lon` and `lat`:
        columns; `reference`: a table, a file or an earlier release; everything else by its name in
        docs/settings.md.

    Returns
    -------
    Planned

    Warns
    -----
    CuratorWarning
        Where rows were dropped, with the reasons, and where earlier releases may be of the same records.

    Raises
    ------
    WorkflowError
        One sentence, for settings, data or an area that cannot be used or do not fit together.
    """
    return _planned(data, settings, progress, same_records_as, pay=False)


def publish(plan: Planned, out: str | Path | None = None) -> Released:
    """Charge the ledger, draw once, and write the bundle; a plan is published once.

    Parameters
    ----------
    plan : Planned
        From `plan`.
    out : str or Path, optional
        As for `release`.

    Returns
    -------
    Released

    Raises
    ------
    WorkflowError
        As `release`. Where this plan was published before, `RequestTaken`, or `BudgetExceeded` where no
        budget is left: nothing is charged again. An interruption after the charge names the ledger's entry.
    """
    if not isinstance(plan, Planned):
        raise WorkflowError("Publish what `hexcursion.plan` returned.")
    _refuse_taken(out)
    return _published(plan, out, aged=True)


def compare(
    data: Any,
    *,
    epsilons: Sequence[float] | float = EPSILONS,
    progress: Report | None = None,
    **settings: Any,
) -> Comparison:
    """Compare mechanisms at equal epsilon by simulated releases of reference data; release nothing.

    Parameters
    ----------
    data, settings, progress
        As for `plan`; without `mechanisms` all that can serve are compared.
    epsilons : sequence of float, or float
        The budgets.

    Returns
    -------
    Comparison

    Raises
    ------
    WorkflowError
        As `plan`, and where no mechanism can serve.
    """
    with _inside(), _settings(data, settings) as (made, tables):
        if idle := [name for name in BY_HAND if getattr(made, name) is not None]:
            named = " and ".join(f"`{name}`" for name in idle)
            raise WorkflowError(
                f"A comparison finds every design by a search that is free: leave {named} out."
            )
        names = tuple(settings.get("mechanisms") or ())
        several = (
            epsilons if isinstance(epsilons, Iterable) and not isinstance(epsilons, str) else (epsilons,)
        )
        budgets = tuple(field("epsilon").check(each) for each in several)
        if not budgets:
            raise WorkflowError("Give at least one epsilon to compare at with `epsilons`.")
        return compare_settings(made, names, budgets, progress, made.executor, tables=tables)[1]


def _published(plan: Planned, out: str | Path | None, *, aged: bool = False) -> Released:
    with _inside():
        published = publish_planned(plan, None if out is None else Path(out), aged=aged)
        with told_that_it_stands(published.release.release_id, published.folder):
            return Released(published.folder)


def _refuse_taken(out: str | Path | None) -> None:
    """Refuse a place where something stands, or nothing can be written: before anything is begun."""
    if not isinstance(out, str | Path | None):
        raise WorkflowError(f"Name the new folder as a text or a path with `out`, not {out!r}.")
    if out is not None:
        place = new_place(out)
        new_place(place.with_name(f"{place.name}.zip"))


class _Progress(Listener):
    def __init__(self, report: Report | None) -> None:
        if report is not None and not callable(report):
            raise WorkflowError("Give a function of a fraction and a text as `progress`.")
        self._report = report

    def progress(self, fraction: float, text: str) -> None:
        if self._report is not None:
            self._report(fraction, text)


def _planned(
    data: Any, settings: Mapping[str, Any], report: Report | None, same_as: Sequence[int], *, pay: bool
) -> Planned:
    with _inside(), _settings(data, settings) as (made, tables):
        planned = plan_settings(made, made.ledger, _Progress(report), tables=tables, same_as=same_as, pay=pay)
    private = planned.plan.project.private
    if any(count for _, count in private.report.dropped):
        warnings.warn(" ".join(private.sentences()), CuratorWarning, stacklevel=3)
    for alike in planned.plan.preview.alike:
        warnings.warn(
            f"{alike_text(alike)} Pass same_records_as=[{alike.entry}] for that.",
            CuratorWarning,
            stacklevel=3,
        )
    return replace(planned, session=random_name())


PARTS = frozenset({"periods", "period_number", "period_shares", "budget", "delta"})
"""Settings by which the epsilon of one period of several follows, unless it is given too."""


@contextmanager
def _settings(data: Any, given: Mapping[str, Any]) -> Iterator[tuple[ReleaseSettings, dict[str, HeldTable]]]:
    """Settings and tables in memory, from what a program passes."""
    if isinstance(data, ReleaseSettings):
        if unknown := set(given) - set(fields_of(ReleaseSettings)):
            named = " and ".join(f"`{name}`" for name in sorted(unknown))
            raise WorkflowError(f"{named} changes no settings that are made already: leave it out.")
        made = data.with_changes(**given) if given else data
        if PARTS & set(given) and "epsilon" not in given and made.parts_of_periods:
            made = made.with_changes(epsilon=made.parts_of_periods[made.period_number - 1])
        yield made, {}
        return
    said, others = split_settings(_by_own_names(given))
    area, reference = others.pop("area", None), others.pop("reference", None)
    if isinstance(reference, Released):
        reference = reference.place
    counted = others.get("values") == "count"
    source, tables = as_source(data, PRIVATE, said, others.get("owner"), counted=counted)
    values = {**others, "data": source}
    if isinstance(reference, Mapping):
        values["reference"] = _by_own_names(reference)
    elif reference is not None:
        if has_points(data) and said.get("x") is None and type(reference) is DataFrame:
            raise WorkflowError("The reference table has no points: make them with geopandas.points_from_xy.")
        shared = COLUMNS if _own_points(reference, said) else (*COLUMNS, *PLACES)
        own = {name: said.get(name) for name in shared}
        found, more = as_source(reference, REFERENCE, own)
        # What was found out about the private table is no word about another one.
        values["reference"] = {**{name: said.get(name, usual) for name, usual in OWN.items()}, **found}
        tables = {**tables, **more}
    if area is None and not {"region", "bbox"} & others.keys():
        raise WorkflowError(
            "Name the public area: `area` is west, south, east and north in degrees, polygons, or a file of "
            "them."
        )
    with as_area(area) as place:
        yield settings_from_mapping({**values, **place}), tables


def _by_own_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of which the columns of degrees may be called `lon` and `lat`."""
    for name, other in (("lon", "x"), ("lat", "y")):
        if name in given and other in given:
            raise WorkflowError(f"`{name}` and `{other}` name one column: give one of them.")
    return {{"lon": "x", "lat": "y"}.get(name, name): value for name, value in given.items()}


def _own_points(reference: Any, said: Mapping[str, Any]) -> bool:
    """Whether a reference table tells its places by points, and the private one by columns."""
    named = {said.get("x"), said.get("y")}
    return None not in named and has_points(reference) and not named <= set(reference.columns)


@contextmanager
def _inside() -> Iterator[None]:
    """Use one BLAS thread, whatever a notebook began with; raise every refusal as a `WorkflowError`.

    Several threads take many times as long where anything else runs.
    """
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    except (CoreError, DataError, GeoError) as error:
        raise WorkflowError(str(error)) from error

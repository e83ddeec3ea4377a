"""The functions for programs: plan a release, publish it, do both at once, or compare
mechanisms."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, Unpack, overload

from pandas import DataFrame
from threadpoolctl import threadpool_limits

from dpgp_core.errors import HexcursionError
from dpgp_core.noise import random_name
from hexcursion.comparing.run import BY_HAND, EPSILONS, Comparison
from hexcursion.door.frames import PRIVATE, REFERENCE, as_area, as_source, has_points, split_settings
from hexcursion.door.keywords import Keywords
from hexcursion.door.pipeline import Listener, Planned, compare_settings, plan_settings, publish_planned
from hexcursion.door.released import Released
from hexcursion.door.released_atlas import ReleasedAtlas
from hexcursion.errors import Cancelled, Report, WorkflowError
from hexcursion.ledger.sentences import alike_text
from hexcursion.new_place import new_place
from hexcursion.project.model import HeldTable, Project
from hexcursion.record import AtlasRelease
from hexcursion.releasing.once import told_that_it_stands
from hexcursion.search.executors import Workers
from hexcursion.settings import ReleaseSettings, field
from hexcursion.settings.atlas import AtlasSettings, Settings, any_settings
from hexcursion.settings.field import fields_of

OWN = {
    **dict.fromkeys("x y decimal header_row encoding delimiter quoting".split()),
    "crs": "EPSG:4326",
    "sides": (),
    "behind": (),
}
"""Settings of the private table that a reference table does not inherit, with their defaults."""
PLACES, COLUMNS = (
    ("x", "y", "place_column", "zone_column", "crs"),
    ("value", "identifier", "time", "condition", "limit_column", "unit_column"),
)
"""Settings that a reference table shares with the private one: its places, and columns of equal
names."""


class CuratorWarning(UserWarning):
    """A warning for the curator alone: it comes from private records, so do not publish it."""


Columns: TypeAlias = list[str] | tuple[str, ...]
Data: TypeAlias = DataFrame | str | Path | ReleaseSettings


@overload
def release(
    data: Data,
    *,
    value: Columns,
    out: str | Path | None = None,
    progress: Report | None = None,
    same_records_as: Sequence[int] = (),
    **settings: Unpack[Keywords],
) -> ReleasedAtlas: ...


@overload
def release(
    data: AtlasSettings,
    *,
    out: str | Path | None = None,
    progress: Report | None = None,
    same_records_as: Sequence[int] = (),
    **settings: Unpack[Keywords],
) -> ReleasedAtlas: ...


@overload
def release(
    data: Data,
    *,
    value: str | None = None,
    out: str | Path | None = None,
    progress: Report | None = None,
    same_records_as: Sequence[int] = (),
    **settings: Unpack[Keywords],
) -> Released: ...


def release(
    data: Data | AtlasSettings,
    *,
    value: str | Columns | None = None,
    out: str | Path | None = None,
    progress: Report | None = None,
    same_records_as: Sequence[int] = (),
    **settings: Unpack[Keywords],
) -> Released | ReleasedAtlas:
    """Release a private map: search on reference data, charge the ledger, draw once, write the
    bundle.

    Every call is a separate release and costs epsilon. Without a `budget` the first release of
    these data sets its epsilon as their budget, so a second call is refused.

    Parameters
    ----------
    data, value, settings
        As for `plan`; also `pilot`, which is charged and drawn before the search.
    out : str or Path, optional
        New folder for the bundle, with its zip next to it. By default `releases` in this installation's home.
    progress : callable, optional
        Called with (fraction, text); may raise to cancel.
    same_records_as : sequence of int
        As for `plan`.

    Returns
    -------
    Released or ReleasedAtlas
        The latter for several columns, for which one charge pays: `value` is then a list of them, and
        `threshold` and other settings that differ between them are mappings by column.

    Raises
    ------
    WorkflowError
        With one sentence, if the release is stopped before the charge.
    Unreleased
        If it is interrupted after the charge, with the entry of the ledger that has no release.
    """
    _refuse_taken(out)
    planned = _planned(data, _given(value, settings), progress, same_records_as, pay=True)
    return _published(planned, out)


def plan(
    data: Data | AtlasSettings,
    *,
    value: str | Columns | None = None,
    progress: Report | None = None,
    same_records_as: Sequence[int] = (),
    **settings: Unpack[Keywords],
) -> Planned:
    """Search on reference data and state what a release would publish and cost; draw and charge
    nothing.

    Parameters
    ----------
    data : DataFrame, GeoDataFrame, str, Path or ReleaseSettings
        The private records: a table, with its points, if any, as coordinates, or a file. Or all settings at
        once.
    value : str, or list of str
        The measured column, or several; None for counts and sales.
    progress : callable, optional
        Called with (fraction, text); may raise to cancel.
    same_records_as : sequence of int
        Entries of the ledger whose data hold the same records in other words.
    **settings
        `area`: west, south, east and north in degrees, polygons, or a file of them; `lon` and `lat`:
        columns; `reference`: a table, a file or an earlier release; everything else by its name in
        docs/settings.md. Several columns as for `release`.

    Returns
    -------
    Planned

    Warns
    -----
    CuratorWarning
        If rows were dropped, with the reasons, and if earlier releases may be of the same records.

    Raises
    ------
    WorkflowError
        With one sentence, for unusable or inconsistent settings, data or area.
    """
    return _planned(data, _given(value, settings), progress, same_records_as, pay=False)


def publish(plan: Planned, out: str | Path | None = None) -> Released | ReleasedAtlas:
    """Charge the ledger, draw once, and write the bundle; a plan is published once.

    Parameters
    ----------
    plan : Planned
        From `plan`.
    out : str or Path, optional
        As for `release`.

    Returns
    -------
    Released or ReleasedAtlas

    Raises
    ------
    WorkflowError
        As `release`. If this plan was published before, `RequestTaken`, or `BudgetExceeded` without a
        remaining budget: nothing is charged again. An interruption after the charge names the ledger's entry.
    """
    if not isinstance(plan, Planned):
        raise WorkflowError("Publish what `hexcursion.plan` returned.")
    _refuse_taken(out)
    return _published(plan, out, aged=True)


def compare(
    data: Data | AtlasSettings,
    *,
    value: str | None = None,
    epsilons: Sequence[float] | float = EPSILONS,
    progress: Report | None = None,
    **settings: Unpack[Keywords],
) -> Comparison:
    """Compare mechanisms at equal epsilon by simulated releases of reference data; release nothing.

    Parameters
    ----------
    data, value, settings, progress
        As for `plan`; `mechanisms` defaults to all that can serve.
    epsilons : sequence of float, or float
        The budgets.

    Returns
    -------
    Comparison

    Raises
    ------
    WorkflowError
        As `plan`, and if no mechanism can serve.
    """
    with _inside(), _settings(data, _given(value, settings)) as (release_settings, tables):
        if isinstance(release_settings, AtlasSettings):
            raise WorkflowError("Mechanisms are compared on one column: name one with `value`.")
        if idle := [name for name in BY_HAND if getattr(release_settings, name) is not None]:
            options = " and ".join(f"`{name}`" for name in idle)
            raise WorkflowError(
                f"A comparison finds every design by a search that is free: leave {options} out."
            )
        names = tuple(settings.get("mechanisms") or ())
        several = (
            epsilons if isinstance(epsilons, Iterable) and not isinstance(epsilons, str) else (epsilons,)
        )
        budgets = tuple(field("epsilon").check(epsilon) for epsilon in several)
        if not budgets:
            raise WorkflowError("Give at least one epsilon to compare at with `epsilons`.")
        workers = Workers(release_settings.executor)
        return compare_settings(release_settings, names, budgets, progress, workers, tables=tables)[1]


def _given(value: str | Columns | None, settings: Keywords) -> dict[str, Any]:
    return {**settings} if value is None else {**settings, "value": value}


def _published(plan: Planned, out: str | Path | None, *, aged: bool = False) -> Released | ReleasedAtlas:
    with _inside():
        published = publish_planned(plan, None if out is None else Path(out), aged=aged)
        with told_that_it_stands(published.release.release_id, published.folder):
            several = isinstance(published.release, AtlasRelease)
            return ReleasedAtlas(published.folder) if several else Released(published.folder)


def _refuse_taken(out: str | Path | None) -> None:
    """Refuse a path that exists or cannot be written, before the release begins."""
    if not isinstance(out, str | Path | None):
        raise WorkflowError(f"Name the new folder as a text or a path with `out`, not {out!r}.")
    if out is not None:
        place = new_place(out)
        new_place(place.with_name(f"{place.name}.zip"))


class _Progress(Listener):
    project: Project | None = None

    def __init__(self, report: Report | None) -> None:
        if report is not None and not callable(report):
            raise WorkflowError("Give a function of a fraction and a text as `progress`.")
        self._report = report

    def loaded(self, project: Project) -> None:
        self.project = project

    def progress(self, fraction: float, text: str) -> None:
        if self._report is not None:
            self._report(fraction, text)


def _planned(
    data: Any, settings: Mapping[str, Any], report: Report | None, same_as: Sequence[int], *, pay: bool
) -> Planned:
    listener = _Progress(report)
    try:
        with _inside(), _settings(data, settings) as (release_settings, tables):
            planned = plan_settings(
                release_settings, release_settings.ledger, listener, tables=tables, same_as=same_as, pay=pay
            )
    finally:
        project = listener.project
        if project is not None and (project.private.report.rows_dropped or project.drops_many):
            warnings.warn(" ".join(project.private.sentences()), CuratorWarning, stacklevel=3)
    for alike in planned.plan.preview.alike:
        warnings.warn(
            f"{alike_text(alike)} Pass same_records_as=[{alike.entry}] for that.",
            CuratorWarning,
            stacklevel=3,
        )
    return replace(planned, session=random_name())


PARTS = frozenset({"periods", "period_number", "period_shares", "budget", "delta"})
"""The settings that determine the epsilon of one period of several, unless it is stated."""


@contextmanager
def _settings(data: Any, settings: Mapping[str, Any]) -> Iterator[tuple[Settings, dict[str, HeldTable]]]:
    """Convert the arguments of a program to settings and tables in memory."""
    if isinstance(data, AtlasSettings | ReleaseSettings):
        yield _with_changes(data, settings), {}
        return
    source_settings, choices = split_settings(_by_own_names(settings))
    area, reference = choices.pop("area", None), choices.pop("reference", None)
    if isinstance(reference, Released):
        reference = reference.place
    if isinstance(choices.get("columns"), Mapping):
        source_settings.setdefault("value", list(choices["columns"]))
    is_count = choices.get("values") == "count"
    source, tables = as_source(data, PRIVATE, source_settings, choices.get("owner"), counted=is_count)
    values = {**choices, "data": source}
    if isinstance(reference, Mapping):
        values["reference"] = _by_own_names(reference)
    elif reference is not None:
        if has_points(data) and source_settings.get("x") is None and type(reference) is DataFrame:
            raise WorkflowError("The reference table has no points: make them with geopandas.points_from_xy.")
        shared = COLUMNS if _own_points(reference, source_settings) else (*COLUMNS, *PLACES)
        shared_settings = {name: source_settings.get(name) for name in shared}
        pairs, reference_tables = as_source(reference, REFERENCE, shared_settings)
        # Settings detected for the private table do not apply to another one.
        values["reference"] = {
            **{name: source_settings.get(name, usual) for name, usual in OWN.items()},
            **pairs,
        }
        tables = {**tables, **reference_tables}
    if area is None and not {"region", "bbox"} & choices.keys():
        raise WorkflowError(
            "Name the public area: `area` is west, south, east and north in degrees, polygons, or a file of "
            "them."
        )
    with as_area(area) as place:
        yield any_settings({**values, **place}), tables


def _with_changes(made: Settings, changes: Mapping[str, Any]) -> Settings:
    """Settings with changes; epsilon is then the part of the period, unless the changes state it."""
    if unknown := set(changes) - set(fields_of(ReleaseSettings)):
        names = " and ".join(f"`{name}`" for name in sorted(unknown))
        raise WorkflowError(f"{names} changes no settings that are made already: leave it out.")
    changed = made.with_changes(**changes) if changes else made
    first = changed.first if isinstance(changed, AtlasSettings) else changed
    if PARTS & set(changes) and "epsilon" not in changes and first.parts_of_periods:
        return changed.with_changes(epsilon=first.parts_of_periods[first.period_number - 1])
    return changed


def _by_own_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the settings `lon` and `lat` to `x` and `y`."""
    for name, other in (("lon", "x"), ("lat", "y")):
        if name in settings and other in settings:
            raise WorkflowError(f"`{name}` and `{other}` name one column: give one of them.")
    return {{"lon": "x", "lat": "y"}.get(name, name): value for name, value in settings.items()}


def _own_points(reference: Any, source_settings: Mapping[str, Any]) -> bool:
    """Whether a reference table has its places as points, and the private one as columns."""
    names = {source_settings.get("x"), source_settings.get("y")}
    return None not in names and has_points(reference) and not names <= set(reference.columns)


@contextmanager
def _inside() -> Iterator[None]:
    """Use one BLAS thread, also in a notebook that began with more; raise every refusal as
    `WorkflowError`.

    Several threads are many times as slow on a busy machine.
    """
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    except (WorkflowError, Cancelled):
        raise
    except HexcursionError as error:
        raise WorkflowError(str(error)) from error

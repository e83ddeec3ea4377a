"""Checks that choices are consistent, beyond the checks of single fields."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import get_args

from data_loaders.registry import NOTHING_MEASURED
from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.errors import WorkflowError
from hexcursion.settings.choices import Choices
from hexcursion.settings.names import (
    Relation,
    Unit,
    mechanism_names,
    not_read,
    origin_of,
    that_can_serve,
    that_release,
)

_WORD = re.compile(r"[^\W\d_]+(?:[ '-][^\W\d_]+)*")
LEAST_SHARE = 1.0
"""The least share of yes, and of no, in a question, per cent."""

RISKS = (0.05, 20.0)
"""The least and the largest relative risk in a question."""

MOST_LOG = 300.0
"""The largest logarithm on the response scale: beyond all data, and far below the overflow of
`exp`."""


def agree(settings: Choices) -> None:
    """Raise `WorkflowError` for inconsistent choices; remove mechanisms that cannot serve."""
    _agree_on_question(settings)
    _agree_on_layers(settings)
    _agree_on_covariates(settings)
    _agree_on_looks(settings)
    _agree_on_answers(settings)
    _agree_on_counts(settings)
    _agree_on_tuning(settings)
    _agree_on_reference(settings)
    _agree_on_owner(settings)
    _agree_on_executor(settings)
    object.__setattr__(settings, "mechanisms", _serving_mechanisms(settings))
    _agree_on_reads(settings)
    _agree_on_relation(settings)
    _agree_on_periods(settings)


def _agree_on_question(settings: Choices) -> None:
    """Raise `WorkflowError` unless there is one area, and a threshold within the range of its
    scale."""
    if settings.record_word and not _WORD.fullmatch(settings.record_word):
        raise WorkflowError("`record_word` is one record in letters, such as well or moss sample.")
    if (settings.region is None) == (settings.bbox is None):
        raise WorkflowError(
            "Name the area once: a polygon (`region`, --region FILE), or a box (`bbox`, --bbox W S E N; "
            "--place NAME with --reach KM makes one)."
        )
    if (settings.features or settings.feature_column) and settings.region is None:
        raise WorkflowError("Features are parts of a file: name it with `region`, or leave them out.")
    if settings.feature_column and not settings.features:
        raise WorkflowError("Name the features that are meant with `features`, or leave their column out.")
    if settings.change and (settings.limits is not None or settings.prior_mean):
        raise WorkflowError(
            "Change is relative to the public map alone: leave `limits` and `prior_mean` out, or `change`."
        )
    if settings.values == "count" and not settings.threshold > 0:
        raise WorkflowError("A density or a relative risk needs a positive threshold: ask about one above 0.")
    if settings.uses_log and not settings.threshold > 0:
        raise WorkflowError("The log transform needs a positive threshold in the data's own unit.")
    if settings.uses_log and abs(settings.centre or 0.0) + (settings.clip or 0.0) > MOST_LOG:
        raise WorkflowError(
            f"On the log scale `centre` and `clip` are natural logarithms, such as 13 for 442,413: choose a "
            f"smaller one, so that both together reach at most {MOST_LOG:g}."
        )


def _is_among(path: str, paths: Sequence[str]) -> bool:
    """Whether a path is one of these files, after resolving links and `..`."""
    return os.path.realpath(path) in map(os.path.realpath, paths)


def _agree_on_layers(settings: Choices) -> None:
    """Raise `WorkflowError` if the columns do not match the layers, or a layer is the private
    data."""
    layers = len(settings.layers)
    for name in ("label_columns", "layer_colours", "layer_widths"):
        count, what = len(getattr(settings, name)), name.replace("_", " ")
        if (count > 1 and count != layers) or (count and not layers):
            raise WorkflowError(
                f"{count} {what} are given for {layers} layers: give one for each, or one for all."
            )
    sources = [source.path for source in (settings.data, settings.reference) if source is not None]
    if settings.basemap is not None and _is_among(settings.basemap, sources):
        raise WorkflowError(
            "A basemap is public, so it cannot be the file of the records: choose another file."
        )
    if any(_is_among(path, sources) for path in settings.layers):
        raise WorkflowError(
            "A layer is published as it is, so it cannot be the file of the records: choose another file."
        )


def _agree_on_covariates(settings: Choices) -> None:
    """Raise `WorkflowError` if the columns do not match the covariates, or one is the private
    data."""
    files, columns = len(settings.covariates), len(settings.covariate_columns)
    if (columns > 1 and columns != files) or (columns and not files):
        raise WorkflowError(
            f"{columns} columns are given for {files} covariates: give one for each, or one for all."
        )
    if not files:
        return
    if _is_among(settings.data.path, settings.covariates):
        raise WorkflowError(
            "A covariate is published, so it cannot be the file of the records: choose another file."
        )
    if settings.change:
        raise WorkflowError(
            "Change is relative to the public map alone: leave `covariates` out, or `change`."
        )


def _agree_on_looks(settings: Choices) -> None:
    """Raise `WorkflowError` for two looks without a fixed design of amounts."""
    if settings.looks == 1:
        return
    available = any("looks" in MECHANISMS[name].reads for name in settings.mechanisms)
    if not available or settings.values != "amount":
        raise WorkflowError("Two looks are taken by spectral statistics of amounts alone: set `looks` to 1.")
    for name in ("reference", "pilot", "lengthscale"):
        if getattr(settings, name) is not None:
            raise WorkflowError(f"Two looks belong to the one fixed design, without `{name}`: leave it out.")
    if settings.focus == "threshold":
        raise WorkflowError("A second look is centred by the first: leave `focus` out, or set `looks` to 1.")


def _agree_on_answers(settings: Choices) -> None:
    """Raise `WorkflowError` for answers of yes and no with choices that apply only to amounts."""
    if settings.values != "yes-no":
        if settings.yes_above is not None:
            raise WorkflowError(
                "A limit of yes needs answers: set `values` to 'yes-no', or leave `yes_above` out."
            )
        return
    if not LEAST_SHARE <= settings.threshold <= 100.0 - LEAST_SHARE:
        raise WorkflowError(
            f"The threshold of yes and no is a share of the records in per cent, between {LEAST_SHARE:g} and "
            f"{100.0 - LEAST_SHARE:g}: 20 asks where more than 20 % of them say yes."
        )
    _refuse_tuning(settings, "Answers of yes and no are")
    _agree_on_published_answers(settings)
    if settings.unit != "point":
        raise WorkflowError("The median of answers of yes and no says little: choose the unit 'point'.")


def _agree_on_published_answers(settings: Choices) -> None:
    """Raise `WorkflowError` unless a reference of answers is public and the release starts from
    it."""
    if settings.change:
        raise WorkflowError("A change is one of amounts: leave `change` out, or ask about a share of yes.")
    if settings.reference is None:
        return
    if not settings.reference_public:
        raise WorkflowError(
            "A reference of yes and no is where the release starts, so it is published with it: declare it "
            "public with `reference_public`, or leave `reference` out."
        )
    if settings.prior_mean is False:
        raise WorkflowError(
            "A release of yes and no beside a reference starts from its map: leave `prior_mean` out, or "
            "`reference`."
        )


def _refuse_tuning(settings: Choices, what: str) -> None:
    """Raise `WorkflowError` for a choice that would tune or scale a release of records without
    amounts."""
    for name in ("pilot", "limits", "lengthscale", "transform", "centre", "clip"):
        if getattr(settings, name) is not None:
            raise WorkflowError(f"{what} released by one fixed design, without `{name}`: leave that out.")


def _agree_on_counts(settings: Choices) -> None:
    """Raise `WorkflowError` for counts with choices that apply only to values, or the reverse."""
    if settings.values != "count":
        if settings.population_file is not None or settings.population_column:
            raise WorkflowError(
                "A population is for records that are counted: set `values` to 'count', or leave "
                "`population_file` and `population_column` out."
            )
        for source in (settings.data, settings.reference):
            if source is not None and not source.is_sales and source.value is None and source.loader is None:
                raise WorkflowError(NOTHING_MEASURED)
        return
    if settings.population_column and settings.population_file is None:
        raise WorkflowError("Name the population's file with `population_file`, or leave its column out.")
    people = settings.population_file
    if people is not None and _is_among(people, [settings.data.path]):
        raise WorkflowError(
            "The population is published, so it cannot be the file of the records: choose another file."
        )
    low, high = RISKS
    if settings.population_file is not None and not low <= settings.threshold <= high:
        raise WorkflowError(
            f"The threshold of a relative risk is a number of times the average, between {low:g} and "
            f"{high:g}: 1.5 asks where it is more than 1.5 times the average."
        )
    if settings.places_public:
        raise WorkflowError(
            "Where records are counted their places are what is protected: leave `places_public` out."
        )
    if settings.reference is not None:
        raise WorkflowError("Counts are released by one fixed design, without `reference`: leave that out.")
    _refuse_tuning(settings, "Counts are")
    if settings.unit != "point":
        raise WorkflowError("Records that are counted are protected one by one: choose the unit 'point'.")


def _agree_on_tuning(settings: Choices) -> None:
    """Raise `WorkflowError` unless the design comes from one place: reference data, one look or by
    hand."""
    if settings.pilot is not None and (settings.reference is not None or settings.lengthscale is not None):
        raise WorkflowError("A pilot is for tuning without reference data: leave one of the two out.")
    if settings.pilot is None and settings.pilot_by != "sums":
        raise WorkflowError(
            "What a pilot buys is asked with its share: give `pilot`, or leave `pilot_by` out."
        )
    if (settings.lengthscale is None) != (settings.ridge is None):
        raise WorkflowError("Give lengthscale and ridge together, or neither and let the search choose.")


def _agree_on_reference(settings: Choices) -> None:
    """Raise `WorkflowError` for choices that need published reference data without such data."""
    if settings.reference is not None and settings.reference_public:
        return
    for name, subject in (
        ("prior_mean", "A prior mean must be public"),
        ("public_counts", "Public counts come from published data"),
        ("change", "A change starts from a public map"),
    ):
        if getattr(settings, name):
            raise WorkflowError(
                f"{subject}: name `reference` data and declare them public with `reference_public`."
            )


def _agree_on_owner(settings: Choices) -> None:
    """Raise `WorkflowError` unless an owner is a column of a sensor table with a limit on its
    records."""
    if (settings.owner is None) != (settings.records_per_owner is None):
        raise WorkflowError(
            "Give owner and records_per_owner together: whose records belong together, and how many of them "
            "may count."
        )
    if settings.owner is None:
        if settings.owner_once_per_hexagon:
            raise WorkflowError(
                "One record of an owner in each hexagon needs an owner: name its column with `owner`, or "
                "leave `owner_once_per_hexagon` out."
            )
        return
    if not settings.data.read_by.owners:
        rows = "Sales" if settings.data.is_sales else f"Data of the loader {settings.data.read_by.name!r}"
        raise WorkflowError(f"{rows} name no owner: leave `owner` out, it is a column of a sensor table.")
    if settings.unit == "cell":
        raise WorkflowError(
            "An owner's records are protected together as points: choose unit 'point', or leave `owner` out."
        )


def _agree_on_relation(settings: Choices) -> None:
    """Raise `WorkflowError` unless the number of records is public, or private with a public
    guess."""
    if settings.relation == "replace-one":
        if settings.records_about is not None:
            raise WorkflowError(
                "Under the relation 'replace-one' the number of records itself is public: leave "
                "`records_about` (--records-about) out, or choose the relation 'add-or-remove'. It may "
                "speak for a resolution on the command line, where --resolution is left out."
            )
        return
    if settings.places_public:
        raise WorkflowError(
            "Public places show how many records there are, which the relation 'add-or-remove' would hide: "
            "choose the relation 'replace-one', or leave `places_public` out."
        )
    if settings.records_about is None:
        raise WorkflowError(
            "Under the relation 'add-or-remove' the number of records is private: say about how many there "
            "are by public knowledge, such as last year's number, with `records_about` (--records-about)."
        )


def _agree_on_periods(settings: Choices) -> None:
    """Raise `WorkflowError` unless several periods have a budget, and the period is one of them."""
    if settings.periods is None:
        if settings.period_number != 1 or settings.period_shares != "equal":
            raise WorkflowError("Say how many `periods` there are, or leave the other words on periods out.")
        return
    if settings.budget is None or settings.delta is None:
        raise WorkflowError(
            "A budget for several periods is divided at one delta: give `budget`, the total epsilon, and "
            "`delta`."
        )
    if settings.period_number > settings.periods:
        raise WorkflowError(
            f"There is no period {settings.period_number} of {settings.periods}: choose a smaller "
            "`period_number`."
        )


def _agree_on_executor(settings: Choices) -> None:
    """Raise `WorkflowError` if the address of a Dask scheduler would be ignored."""
    if settings.dask is not None and settings.executor != "dask":
        raise WorkflowError(
            f"The address {settings.dask!r} is for the executor 'dask', not {settings.executor!r}: set "
            "`executor` to 'dask', or leave `dask` out."
        )


def _agree_on_reads(settings: Choices) -> None:
    """Raise `WorkflowError` for a choice without effect, in which a person would trust."""
    origin = origin_of(
        settings.mechanisms,
        reference=settings.reference is not None and settings.values == "amount",
        pilot=settings.pilot is not None,
        by_hand=settings.lengthscale is not None,
    )
    names = that_release(settings.mechanisms, origin)
    usual = {item.name: item.default for item in fields(settings)}
    unread = not_read(settings.mechanisms, origin, amounts=settings.values == "amount")
    idle = [name for name in unread if getattr(settings, name) != usual[name]]
    if not idle or not names:  # the search refuses a design by hand that no mechanism has
        return
    choices = " and ".join(f"`{name}`" for name in idle)
    why = {
        "searched": f"by {' and '.join(names)}",
        "by hand": f"where a design of {' or '.join(names)} is given by hand",
    }.get(origin, f"where the fixed design of {names[0]} is released without a search")
    readers = [name for name, item in MECHANISMS.items() if set(idle) & set(item.reads)]
    remedy = f", or choose a mechanism that reads it: {' or '.join(readers)}" if readers else ""
    if origin not in ("searched", "by hand"):
        remedy = f", or choose `mechanisms` without {names[0]}"
    raise WorkflowError(f"Nothing is done with {choices} {why}: leave that out{remedy}.")


def _serving_mechanisms(settings: Choices) -> tuple[str, ...]:
    """Return the requested mechanisms that are proved for the unit of protection and the
    neighbours.

    Raise `WorkflowError` if none is left, with the units, relations or mechanisms that would serve.
    """
    names, unit, relation = settings.mechanisms, settings.unit, settings.relation
    places_public = settings.places_public
    serving = that_can_serve(names, unit, relation, places_public)
    if serving:
        return serving
    if that_can_serve(names, unit, relation, True):
        raise WorkflowError(
            f"{' and '.join(names)} protects values only: declare the places of the records public with "
            "`places_public`, or choose a mechanism that protects places too."
        )
    units: tuple[Unit, ...] = get_args(Unit)
    relations: tuple[Relation, ...] = get_args(Relation)
    remedies = [f"unit {other!r}" for other in units if that_can_serve(names, other, relation, places_public)]
    remedies += [
        f"relation {other!r}" for other in relations if that_can_serve(names, unit, other, places_public)
    ]
    remedies += that_can_serve(mechanism_names(), unit, relation, places_public)
    remedy = f"choose {' or '.join(remedies)}" if remedies else "choose another unit and relation"
    raise WorkflowError(
        f"{' and '.join(names)} cannot protect records of unit {unit!r} under the relation {relation!r}: "
        f"{remedy}."
    )

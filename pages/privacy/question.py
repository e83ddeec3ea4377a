"""Ask which side of which threshold, its comparison, and the usual values without reference data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import streamlit as st

from dpgp_core.errors import HexcursionError
from geo import Domain
from geo.colours import colour
from geo.context.covariates import public_values
from hexcursion.bundle.published.earlier import is_bundle
from hexcursion.errors import WorkflowError
from hexcursion.project.public_numbers import load_population
from hexcursion.settings.names import Direction
from hexcursion.words import is_the, side_words
from pages.privacy import question_view
from pages.privacy.question_view import Against, against_of, relative_unit
from pages.shared import maps
from pages.shared.charts import alt, spec_of
from pages.shared.glossary import tip
from pages.shared.plain_text import Markdown, plain
from pages.shared.server import access
from pages.shared.session.saving import remembered
from pages.shared.session.workspace import Workspace

WORDS: dict[Against, str] = {
    "value": "One value for the whole map",
    "limits": "Limits that differ by zone, from a file",
    "change": "The public map: what has changed since",
    "answers": "A share: each record says yes or no",
    "risk": "The average risk, over a public population",
    "density": "A number per square kilometre",
}
COUNTED: tuple[Against, ...] = ("density", "risk")
DIFFER = {False: "amounts: so much more or less", True: "factors: so many per cent more or less"}


def ask(work: Workspace) -> None:
    """Threshold, side and what they are relative to, written into the workspace."""
    names = {"risk": "risk", "density": "density", "answers": "share of yes"}
    st.header("The question", anchor=False)
    comparison = _wanted(work)
    against = against_of(work)
    name = names.get(against) or work.choices.get("value_name") or "value"
    if comparison != against:  # limits without a file that will do
        work.choices.pop("threshold", None)
        return
    if against in ("value", "limits", "change"):
        _ask_factors(work, against)
    side, value = st.columns([2, 3], vertical_alignment="bottom")
    sides = list(get_args(Direction))
    direction = side.selectbox(
        plain(f"Where {is_the(name)} {name} …"),
        sides,
        index=sides.index(work.choices.get("direction", "above")),
        format_func=side_words,
        **work.keyed("direction"),
    )
    unit = relative_unit(work) or str(work.choices.get("value_unit", ""))
    threshold = value.number_input(
        f"the threshold ({plain(unit)})" if unit else "the threshold",
        value=_standing(work, against),
        format="%g",
        help=tip("threshold"),
        **work.keyed("threshold" if against == "value" else f"threshold_{against}"),
    )
    if threshold is None:
        work.choices.pop("threshold", None)
        unit_words = f"({unit})" if against in question_view.UNITS_OF else "in the data's own unit"
        st.caption(f":material/info: Give the threshold {plain(unit_words)}.")
    else:
        work.choose(threshold=float(threshold), direction=direction)
    if against == "value":
        _show_reference(work, threshold)
    else:
        st.caption(plain(question_view.relative_words(work, threshold)))
    if against == "answers" and (sentence := question_view.published_answers(work)):
        st.caption(plain(sentence))


def _wanted(work: Workspace) -> Against:
    """What the threshold is to be compared with, as chosen on the screen."""
    if work.choices.get("values") == "count":
        return _counted(work)
    public = work.choices.get("reference") is not None and bool(work.choices.get("reference_public"))
    has_reference = work.choices.get("reference") is not None
    idle = {"change": not public, "answers": has_reference and not public and against_of(work) != "answers"}
    options: list[Against] = [
        option for option in get_args(Against) if option not in COUNTED and not idle.get(option)
    ]
    if work.choices.get("change") and not public:
        work.choose(change=False)
    comparison: Against = st.selectbox(
        "The threshold is compared with",
        options,
        index=options.index(against_of(work)),
        format_func=WORDS.__getitem__,
        help="Limits by zone and the public map are public, and the bundle holds them. What has changed can "
        "be asked where the reference data are published, and a share of yes where they are or where there "
        "are none.",
        on_change=lambda: work.choices.pop("threshold", None),
        **work.keyed("against"),
    )
    _answers(work, comparison)
    work.choose(change=comparison == "change", limits=_limits(work) if comparison == "limits" else None)
    if comparison == "change":
        work.choose(prior_mean=None)  # change starts from the public map by itself
    return comparison


def _ask_factors(work: Workspace, against: Against) -> None:
    """Whether values differ by amounts or by factors; an earlier release has settled it."""
    standing, source = question_view.uses_factors(work.choices), work.choices.get("reference")
    factors = st.selectbox(
        "Values differ by",
        list(DIFFER),
        index=int(standing),
        format_func=DIFFER.__getitem__,
        help="Factors suit prices, incomes and concentrations: all above 0, a few very high. Logarithms of "
        "the values are then added up.",
        disabled=source is not None and is_bundle(source.path),
        on_change=lambda: _other_scale(work, against),
        **work.keyed("factors"),
    )
    if factors != standing:
        usual = work.choices["data"].read_by.log_scale
        work.choose(transform=None if factors == usual else "log" if factors else "identity")
    preview = work.reference if work.choices.get("reference_public") else None
    if factors or (source is not None and is_bundle(source.path)):
        return
    name, unit = (str(work.choices.get(key) or "") for key in ("value_name", "value_unit"))
    why: Markdown = ""
    if preview is not None and question_view.suits_factors(preview.quantiles):
        why = "Most public values lie far below the highest: factors suit them better."
    elif question_view.named_factors(name, unit):
        why = "Prices and concentrations differ by factors, as a rule."
    if why:
        st.caption(f":material/lightbulb: {why}")
        st.button("Use factors", key=f"use_factors_{work.mark}", on_click=_take_factors, args=(work, against))


def _take_factors(work: Workspace, against: Against) -> None:
    """Let values differ by factors, as proposed."""
    st.session_state[work.keyed("factors")["key"]] = True
    _other_scale(work, against)


def _other_scale(work: Workspace, against: Against) -> None:
    """Forget the answers on the other scale."""
    for name in ("centre", "clip", *(("threshold",) if against != "value" else ())):
        work.choices.pop(name, None)


def _counted(work: Workspace) -> Against:
    """Whether records without values are compared with a public population, which is then asked for."""
    comparison: Against = st.selectbox(
        "The threshold is compared with",
        COUNTED,
        index=COUNTED.index(against_of(work)),
        format_func=WORDS.__getitem__,
        help="A population is public, and the bundle holds it: inhabitants, households, postcodes.",
        on_change=lambda: work.choices.pop("threshold", None),
        **work.keyed("counted"),
    )
    path, column = None, ""
    if comparison == "risk":
        column = st.text_input(
            "Column of the population with its numbers",
            value=work.choices.get("population_column") or "population",
            **work.keyed("population_column"),
        ).strip()
        path = _population(work, column)
    work.choose(
        population_file=path,
        population_column="" if path is None else column,
        centre=None,
        clip=None,
        transform=None,
        change=False,
        limits=None,
        yes_above=None,
    )
    return comparison


def _population(work: Workspace, column: str) -> str | None:
    """The file of the population in use, checked against the hexagons; None until there is one."""
    path = remembered(
        "Public population: areas or points with numbers, or a table by `h3`, or by `lon` and `lat`",
        ["geojson", "json", "gpkg", "csv"],
        "population",
        work,
    )
    path = path or work.choices.get("population_file")
    if path is None:
        st.caption(":material/info: Upload the population first; the threshold is then a relative risk.")
        return None
    return _checked(work, path, "population", lambda domain: load_population(path, column, domain), column)


def _answers(work: Workspace, comparison: Against) -> None:
    """Above which value a record says yes, where the map is to show the share of those that do."""
    if comparison != "answers":
        work.choose(values="amount", yes_above=None)
        return
    unit = str(work.choices.get("value_unit", ""))
    limit = st.number_input(
        f"A value above this is a yes ({plain(unit)})" if unit else "A value above this is a yes",
        value=work.choices.get("yes_above"),
        format="%g",
        placeholder="empty where values are 1 and 0",
        help="A public limit, such as that of a law. The map then shows in how many of a hundred records the "
        "value lies above it.",
        **work.keyed("yes_above"),
    )
    work.choose(values="yes-no", yes_above=limit, centre=None, clip=None, transform=None)


def _limits(work: Workspace) -> str | None:
    """The file of limits in use, checked against the hexagons; None until there is one that will do."""
    path = remembered(
        "Public limits: GeoJSON areas with `value`, or a table of `h3` and `value`",
        ["geojson", "json", "csv"],
        "limits",
        work,
    )
    path = path or work.choices.get("limits")
    if path is None:
        st.caption(":material/info: Upload the limits first; the threshold is then relative to them.")
        return None
    if not work.folder.holds(path):
        st.caption(plain(f"In use: {Path(path).name}, from the settings."))
    return _checked(work, path, "limits", lambda domain: public_values(path, domain))


def _checked(
    work: Workspace, path: str, what: str, read: Callable[[Domain], object], column: str = ""
) -> str | None:
    """Return a public file that will do for these hexagons, looked at once; otherwise say why not."""
    key = f"{what}_checked_{work.mark}"
    checked = st.session_state.get(key)
    if checked is None or checked[0] != (path, column) or checked[1] is not work.domain:
        error = None
        if work.domain is not None:
            try:
                access.reach_of(work.folder).check(path)
                read(work.domain)
            except HexcursionError as found:
                error = str(found)
        checked = st.session_state[key] = ((path, column), work.domain, error)
    if checked[2] is None:
        return path
    st.error(plain(f"The {what} cannot be used: {checked[2]}"), icon=":material/error:")
    return None


def _standing(work: Workspace, against: Against) -> float | None:
    """The threshold so far; a relative one begins at no difference."""
    threshold: float | None = work.choices.get("threshold")
    if threshold is None and against in ("limits", "change"):
        return 1.0 if question_view.uses_factors(work.choices) else 0.0
    return threshold


def _show_reference(work: Workspace, threshold: float | None) -> None:
    """The histogram, where there are reference data and they are published; nothing otherwise."""
    preview = work.reference
    if preview is None or not preview.quantiles or not work.choices.get("reference_public"):
        return
    unit = str(work.choices.get("value_unit", ""))
    histogram = question_view.bars(preview.quantiles)
    if histogram:
        rows = [{"low": bar.low, "high": bar.high, "none": 0, "share": bar.share} for bar in histogram]
        scale = alt.Scale(nice=False, zero=False)
        chart = (
            alt.Chart(alt.Data(values=rows))
            .mark_bar(color=colour("field3", maps.theme()))
            .encode(
                x=alt.X("low:Q", title=unit or "value", scale=scale, axis=alt.Axis(format="~s", tickCount=5)),
                x2="high:Q",
                y=alt.Y("share:Q", title="share", axis=alt.Axis(format="%", tickCount=3)),
                y2="none:Q",
            )
        )
        if threshold is not None and histogram[0].low <= threshold <= histogram[-1].high:
            line = alt.Chart(alt.Data(values=[{"threshold": threshold}])).mark_rule(
                color=colour("inside", maps.theme()), strokeWidth=3
            )
            chart = chart + line.encode(x=alt.X("threshold:Q", scale=scale))
        st.vega_lite_chart(
            spec_of(chart.properties(height=150)),
            alt=f"Histogram of {preview.size:,} public reference values; the threshold is a line.",
            key=f"reference_{work.mark}",
        )
    st.caption(plain(" ".join(question_view.reference_sentences(preview, unit, threshold))))


ONE_SCALE = ("yes-no", "count")
"""Values with one scale, whatever they are about."""


def ask_scale(work: Workspace) -> None:
    """Ask for the public centre and clip bound in the data's unit, where no reference data give them."""
    if work.private is None or work.choices.get("reference") is not None:  # rows, or an earlier release
        return
    if work.choices.get("values") in ONE_SCALE:
        return
    factors = question_view.uses_factors(work.choices)
    unit = relative_unit(work) or work.choices.get("value_unit") or "the data's unit"
    st.header("What is usual", anchor=False)
    st.caption("What anybody knows, from the press, and not from these data: it is published.")
    keys = work.keyed("usual"), work.keyed("spread_factor" if factors else "spread")
    centre, clip = scale_fields(st.columns(2), work.choices, factors, f" ({plain(unit)})", keys)
    if (centre, clip) != _standing_scale(work, factors):
        work.choose(centre=centre, clip=clip)


def scale_fields(
    places: Sequence[Any],
    standing: Mapping[str, Any],
    factors: bool,
    unit: Markdown,
    keys: tuple[dict[str, Any], dict[str, Any]],
) -> tuple[float | None, float | None]:
    """Ask in two places for a usual value and how far most lie from it, which begin as the `standing` centre
    and clip bound say. Return centre and clip bound; None for both where no scale can have such values."""
    usual, spread = question_view.stated_values(standing.get("centre"), standing.get("clip"), factors)
    first, second = places
    usual = first.number_input(
        f"A usual value{unit}",
        value=usual,
        format="%g",
        help="The public centre: values are measured from here, and where the data say little the map "
        "stays near it.",
        **keys[0],
    )
    spread = second.number_input(
        "Most lie within a factor of" if factors else f"Most lie within ±{unit}",
        value=spread,
        format="%g",
        help=tip("clip"),
        **keys[1],
    )
    try:
        return question_view.stated_scale(usual, spread, factors)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
        return None, None


def missing_scale(work: Workspace) -> str | None:
    """What a search still needs, in one sentence; None if nothing."""
    if work.private is None or work.choices.get("reference") is not None:
        return None
    if work.choices.get("values") in ONE_SCALE:
        return None
    if work.choices.get("centre") is None or work.choices.get("clip") is None:
        return "Say under What is usual: a usual value, and how far most values lie from it."
    return None


def _standing_scale(work: Workspace, factors: bool) -> tuple[float | None, float | None]:
    """The choices as the widgets can say them, so that showing them again changes nothing."""
    values = question_view.stated_values(work.choices.get("centre"), work.choices.get("clip"), factors)
    return question_view.stated_scale(*values, factors)

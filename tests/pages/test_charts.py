"""What a chart is made of, to the letter: scales, ticks, marks, and what it says under a pointer."""

from __future__ import annotations

from typing import Any

import altair as alt

from dpgp_core.mechanisms.design import LENGTHSCALE, RIDGE
from hexcursion.search.bench import Variation, Varied
from pages.privacy import ask, design_panels, frontier
from studies.reporting.figures import Figure
from studies.reporting.tables import StudyResult, StudyTable

VARIED = Variation(
    LENGTHSCALE,
    2000.0,
    (
        Varied(1000.0, 2.0, 0.5, 0.3),
        Varied(2000.0, 4.0, 0.7, 0.4),
        Varied(8000.0, float("inf"), float("nan"), float("nan")),
    ),
)
NUMBER, NAME = {"type": "quantitative"}, {"type": "nominal"}
GREY = "#7b8a90"


def made(chart: Any) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    return spec


def test_the_curve_of_the_odds_goes_from_no_alarm_to_all_beside_plain_guessing() -> None:
    spec = made(ask._odds_curve(((0.0, 0.1), (1.0, 1.0))))
    assert (spec["height"], spec["width"]) == (240, 320)
    guessing, bound = spec["layer"]
    assert guessing["mark"] == {"type": "line", "color": GREY, "strokeDash": [4, 4], "strokeWidth": 1}
    assert guessing["data"] == {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]}
    assert guessing["encoding"] == {"x": {"field": "x", **NUMBER}, "y": {"field": "y", **NUMBER}}
    assert bound["mark"] == {"type": "line", "strokeWidth": 2.5}
    assert bound["data"]["values"][0] == {"alarms": 0.0, "detections": 0.1}
    assert bound["encoding"] == {
        "x": {
            "field": "alarms",
            **NUMBER,
            "scale": {"domain": [0, 1]},
            "axis": {"format": "%", "title": "false alarms", "values": [0, 0.5, 1]},
        },
        "y": {
            "field": "detections",
            **NUMBER,
            "scale": {"domain": [0, 1]},
            "axis": {"format": "%", "title": "detected", "values": [0, 0.5, 1]},
        },
        "tooltip": [
            {"field": "alarms", "format": ".1%", "title": "false alarms", **NUMBER},
            {"field": "detections", "format": ".1%", "title": "detected at most", **NUMBER},
        ],
    }


def varied(title: str | None) -> dict[str, Any]:
    """What every layer of a varied parameter's chart shares."""
    return {
        "x": {
            "field": "value",
            **NUMBER,
            "axis": {"format": ".2~r", "title": title, "values": [1.0, 2.0, 8.0]},
            "scale": {"domain": [1.0, 8.0], "nice": False, "padding": 10, "type": "log"},
        },
        "tooltip": [
            {"field": "value", "format": ".3~g", "title": "range of the prior", **NUMBER},
            {"field": "said", "title": "cost", **NAME},
            {"field": "records", "format": ".1%", "title": "records on their right side", **NUMBER},
            {"field": "agreement", "format": ".3f", "title": "agreement (IoU), judged hexagons", **NUMBER},
        ],
    }


def test_the_cost_of_a_parameter_is_solid_and_what_has_no_bound_stands_on_the_upper_edge() -> None:
    spec = made(design_panels._cost(VARIED, (VARIED,)))
    shared = varied(None)
    height = {
        "field": "epsilon",
        **NUMBER,
        "title": "ε at most",
        "axis": {"format": "~r", "values": [1.0, 10.0]},
        "scale": {"domain": [2.0 / 3.0, 12.0], "nice": False, "padding": 12, "type": "log"},
    }
    assert spec["layer"] == [
        {
            "mark": {"type": "rule", "color": GREY, "strokeDash": [3, 3]},
            "encoding": shared,
            "transform": [{"filter": "datum.here"}],
        },
        {
            "mark": {"type": "line", "strokeWidth": 2.5},
            "encoding": {**shared, "y": height},
            "transform": [{"filter": "!datum.unbounded"}],
        },
        {
            "mark": {"type": "point", "filled": True, "opacity": 1, "size": 45},
            "encoding": {**shared, "y": height},
            "transform": [{"filter": "!datum.unbounded"}],
        },
        {
            "mark": {"type": "text", "color": GREY, "fontSize": 18, "text": "∞"},
            "encoding": {**shared, "y": {"value": 8}},
            "transform": [{"filter": "datum.unbounded"}],
        },
    ]
    assert spec["height"] == 130
    assert spec["data"]["values"] == [
        {**cost, "records": records, "agreement": agreement}
        for cost, records, agreement in zip(COSTS, (0.5, 0.7, None), (0.3, 0.4, None), strict=True)
    ]


COSTS = (
    {"value": 1.0, "epsilon": 2.0, "said": "ε 2", "here": False, "unbounded": False},
    {"value": 2.0, "epsilon": 4.0, "said": "ε 4", "here": True, "unbounded": False},
    {"value": 8.0, "epsilon": None, "said": "no finite bound", "here": False, "unbounded": True},
)


def test_of_too_few_records_the_chart_of_a_cost_holds_no_other_figure() -> None:
    spec = made(design_panels._cost(VARIED, (VARIED,), too_few=True))
    assert spec["data"]["values"] == list(COSTS)
    (tooltips,) = {str(layer["encoding"]["tooltip"]) for layer in spec["layer"]}
    assert "cost" in tooltips
    assert "records" not in tooltips
    assert "agreement" not in tooltips


def test_the_records_of_a_parameter_are_dashed_and_hollow_with_a_tenth_of_room() -> None:
    spec = made(design_panels._right(VARIED, (VARIED,)))
    height = {
        "field": "records",
        **NUMBER,
        "title": "records right",
        "axis": {"format": ".0%", "tickCount": 4},
        "scale": {"domain": [0.48, 0.72], "nice": True, "zero": False},
    }
    shared = {**varied("range of the prior (km)"), "y": height}
    assert spec["layer"][1:] == [
        {"mark": {"type": "line", "strokeDash": [6, 3], "strokeWidth": 2}, "encoding": shared},
        {
            "mark": {"type": "point", "filled": False, "opacity": 1, "size": 45, "strokeWidth": 2},
            "encoding": shared,
        },
    ]
    assert spec["height"] == 130
    blind = Variation(RIDGE, 1.0, VARIED.points[2:])
    spec = made(design_panels._right(blind, (blind,)))
    assert spec["layer"][1]["encoding"]["y"]["scale"]["domain"] == [0.0, 1.0]  # nothing is known


def test_curves_over_epsilon_have_lines_spreads_and_dots_that_can_be_clicked() -> None:
    rows = [{"epsilon": 2.0, "number": 1}, {"epsilon": 1.0, "number": 0}]
    said = [alt.Tooltip("epsilon:Q")]
    layers = frontier.epsilon_layers(
        rows, "family", alt.Y("agreement:Q"), alt.Y("low:Q"), alt.Legend(columns=2), said
    )
    line, spread, dot = (made(layer) for layer in layers)
    shared = {
        "x": {
            "field": "epsilon",
            **NUMBER,
            "title": "privacy budget ε",
            "axis": {"format": ".3~g", "values": [1.0, 2.0]},
            "scale": {"nice": False, "padding": 14, "type": "log"},
        },
        "color": {"field": "family", "legend": {"columns": 2}, "title": None, **NAME},
    }
    height = {"field": "agreement", **NUMBER}
    assert line["mark"] == {"type": "line", "opacity": 0.5}
    assert line["encoding"] == {**shared, "y": height}
    assert spread["mark"] == {"type": "rule", "opacity": 0.5}
    assert spread["encoding"] == {**shared, "y": {"field": "low", **NUMBER}, "y2": {"field": "high"}}
    assert dot["mark"] == {"type": "point", "filled": True}
    assert dot["encoding"] == {
        **shared,
        "y": height,
        "shape": {"field": "family", "title": None, **NAME},
        "size": {"condition": {"param": "picked", "value": 170, "empty": False}, "value": 70},
        "tooltip": [{"field": "epsilon", **NUMBER}],
    }
    [picked] = dot["params"]
    assert picked["name"] == "picked"
    assert picked["select"] == {"type": "point", "fields": ["number"], "nearest": False}


def test_a_limit_is_a_thin_line_over_epsilon_that_is_named_at_its_right_end() -> None:
    rows = [{"epsilon": 2.0, "limit": 3.0}, {"epsilon": 1.0, "limit": 5.0}, {"epsilon": 2.0, "limit": 3.0}]
    line, words = (made(layer) for layer in frontier.limit_lines(rows, alt.Y("limit:Q")))
    places = {"x": {"field": "epsilon", **NUMBER}, "y": {"field": "limit", **NUMBER}}
    assert line["data"]["values"] == [{"epsilon": 1.0, "limit": 5.0}, {"epsilon": 2.0, "limit": 3.0}]
    dot = {"color": GREY, "size": 14}
    assert line["mark"] == {"type": "line", "color": GREY, "strokeWidth": 1, "point": dot}
    assert words["data"]["values"] == [{"epsilon": 2.0, "limit": 3.0}]
    assert words["mark"] == {
        "type": "text",
        "align": "right",
        "color": GREY,
        "dy": 11,
        "fontSize": 12,
        "text": "no mechanism as private can leave less",
    }
    assert line["encoding"] == words["encoding"] == places


def test_a_figure_of_a_study_is_lines_and_dots_with_a_log_scale_where_it_says_so() -> None:
    from studies.page import chart  # the whole screen runs: not while tests are only collected

    table = StudyTable("t", "T", ("e", "iou"), ((1.0, 0.5), (10.0, 0.7)))
    result = StudyResult("s", "test", {}, (1,), "once", 1.0, (table,))
    figure = Figure("f", "t", "A figure", "e", ("iou",), log_x=True, x_title="epsilon", y_title="agreement")
    spec = made(chart(figure, result))
    line, dots = spec["layer"]
    encoding = dots["encoding"]
    assert encoding["x"] == {
        "field": "x",
        **NUMBER,
        "title": "epsilon",
        "axis": {"tickCount": 7},
        "scale": {"nice": False, "type": "log", "zero": False},
    }
    assert encoding["y"] == {
        "field": "y",
        **NUMBER,
        "title": "agreement",
        "axis": {"tickCount": 7},
        "scale": {"type": "linear", "zero": False},
    }
    assert {key: encoding["color"][key] for key in ("title", "sort", "legend")} == {
        "title": None,
        "sort": None,
        "legend": {"orient": "bottom", "columns": 1, "labelLimit": 560, "symbolType": "stroke"},
    }
    assert encoding["tooltip"] == [
        {"field": "series", "title": "series", **NAME},
        {"field": "x", "format": ".4~g", "title": "epsilon", **NUMBER},
        {"field": "y", "format": ".4~g", "title": "agreement", **NUMBER},
    ]
    assert dots["mark"] == {"type": "point", "filled": True, "size": 45}
    assert line["encoding"]["strokeDash"] == {
        "field": "series",
        **NAME,
        "legend": None,
        "sort": None,
        "title": None,
    }
    assert (spec["height"], spec["autosize"]) == (240, {"type": "fit-x", "contains": "padding"})
    other = StudyResult("other", "test", {}, (1,), "once", 1.0, ())
    assert chart(figure, other) is None

"""The files of a series: statement, maps, areas and page, written whole or not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from dpgp_core.numbers import significant, upper
from geo import decimals_for
from geo.context.surroundings import around
from geo.geojson import cells_collection, collection_bytes
from geo.maps.painting import FEW_RECORDS, NO_RECORDS
from hexcursion.bundle import layout
from hexcursion.bundle.page import html
from hexcursion.bundle.page.drawn import EMPTY, MOST_BYTES, cents_of, colours_of, shape_of, text_of
from hexcursion.bundle.products import (
    LIKELY,
    SHARE_DECIMALS,
    UNLIKELY,
    Floats,
    graded_labels,
    graded_words,
)
from hexcursion.bundle.tables import parquet_bytes
from hexcursion.bundle.untrusted import BundleError, csv_text, neutral_cell
from hexcursion.new_place import made_whole, new_place, write_files
from hexcursion.version import NAME, VERSION
from hexcursion_series.report import (
    Promise,
    by_words,
    limit_words,
    notes_of,
    periods_said,
    question_of,
    steps_of,
)
from hexcursion_series.together import Series, classes_of, credits_of, flags_of

STILL = "<p>This map is drawn by the page's script; the numbers stand below.</p>"
SAYS = "{}"  # where the script writes what is shown
MOST_AREAS = 60
WIDE, HIGH, LEFT, FOOT = 300.0, 130.0, 62.0, 22.0  # SVG units of a chart
LONGEST_END = 16  # letters of a label at either end of a chart
REACH = 1.645  # deviations on either side that hold 90 %


SLIDER = """<div id="moving"><label>Period <input type="range" id="threshold" min="0" step="1"></label> \
<output id="stop" for="threshold"></output> <button id="play" type="button">Play</button> \
<button id="published" type="button">Newest</button></div>"""


def series_html(series: Series, promise: Promise) -> bytes:
    """The page's bytes. Every text of the releases is escaped; nothing is loaded from anywhere. Raise
    `BundleError` for more periods and hexagons than a page holds."""
    style, script = html.style_text() + _added("series.css"), script_text()
    question, steps = question_of(series), steps_of(series)
    multiples = "".join(
        f'<figure><button type="button" data-row="{row}"><canvas width="240" height="180" data-row="{row}" '
        f'aria-hidden="true"></canvas>{escape(label)}</button></figure>'
        for row, label in enumerate(series.labels)
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(step.before)} to {escape(step.after)}</th>'
        f'<td class="number">{step.risen:,}</td><td class="number">{step.fallen:,}</td>'
        f"<td>{'–' if step.explained is None else 'yes' if step.explained else 'no'}</td></tr>\n"
        for step in steps
    )
    by = escape(by_words(series))
    choices = f"""{html.MODES}
<fieldset id="what"><legend>of</legend>\
<label><input type="radio" name="what" value="value" checked> the periods</label>\
<label><input type="radio" name="what" value="change"> the rise{by}</label></fieldset>"""
    body = f"""<header>
<h1>{escape(question)}</h1>
<p class="answer">{escape(steps[0].sentence)}</p>
<p class="place">{escape(str(series.last.statement["release"]["title"]))}</p>
{html.flags_of({"release": flags_of(series.bundles)})}
</header>
<main>
<div class="first">
{html.live_map("Map of the series", STILL, choices, SLIDER)}
<div class="facts">
<div class="fact"><h2>Who is protected</h2><p class="lead">{escape(_lead(promise))}</p>
<p class="text">{escape(" ".join(promise.sentences))}</p></div>
<div class="fact"><h2>What it is</h2><p class="text">{escape(" ".join(notes_of(series)))}</p></div>
</div>
</div>
<section>
<h2>Every period</h2>
<div class="multiples" id="multiples">{multiples}</div>
<ul>{"".join(f"<li>{escape(line)}</li>" for line in periods_said(series))}</ul>
</section>
<section>
<h2>Change</h2>
<table><thead><tr><th scope="col">Periods</th><th scope="col">Hexagons likely risen{by}</th>\
<th scope="col">Likely fallen{by}</th><th scope="col">Explained by noise alone</th></tr></thead>
<tbody>
{rows}</tbody></table>
</section>
<section>
<h2>Areas: the value over time</h2>
<p>The line is the {_mean_words(series)} over the area's hexagons; the band holds it with 90 % probability, \
given all releases.</p>
<div class="charts">{_charts(series)}</div>
</section>
</main>
<footer>
{_foot(series)}
</footer>
<script type="application/json" id="data">{html.json_text(_drawing(series))}</script>
<script>{script}</script>"""
    return html.whole_page(question, f"{question} {steps[0].sentence}", body, style, script)


@cache
def script_text() -> str:
    """The script of the page: that of a map's page, and what several periods add."""
    return html.script_text() + _added("series.js")


def _added(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _drawing(series: Series) -> dict[str, Any]:
    """What the script draws: a row for each period, then one for each change, of shares in per cent."""
    steps = steps_of(series)
    rows = [
        cents_of(chance) + np.where(empty, EMPTY, 0)
        for chance, empty in zip(series.chance, series.empty, strict=True)
    ]
    rows += [cents_of(series.risen[step.row]) + np.where(series.unseen[step.row], EMPTY, 0) for step in steps]
    made = np.array(rows).astype(np.uint8)
    if made.size > MOST_BYTES:
        raise BundleError("So many periods of so many hexagons are too much for a page: read fewer at once.")
    by, last = by_words(series), len(series.labels) - 1
    stops = [f"{limit_words(series)} in {label}" for label in series.labels]
    stops += [f"risen{by} from {step.before} to {step.after}" for step in steps]
    labels = [*graded_labels(), NO_RECORDS]
    return {
        **shape_of(series.domain, around(series.domain, series.last.layers)),
        "stops": stops, "start": last, "startSaid": "", "periods": last + 1,
        "share": "probability", "graded": True, "threshold": SAYS, "classes": labels,
        "words": [*graded_words(SAYS), FEW_RECORDS], "limits": [round(100 * UNLIKELY), round(100 * LIKELY)],
        "cube": text_of(made), "colours": colours_of(len(labels)),
    }  # fmt: skip


def _lead(promise: Promise) -> str:
    if promise.one_record is None:
        return f"ε {upper(promise.every_period)} for a record in every period"
    return (
        f"ε {upper(promise.one_record)} for one record, {upper(promise.every_period)} for one in every period"
    )


def _mean_words(series: Series) -> str:
    return "geometric mean" if series.logarithms else "mean"


def _charts(series: Series) -> str:
    """A chart for all hexagons, then for each area, the first in the alphabet where there are too many."""
    order = [0, *sorted(range(1, len(series.areas)), key=lambda place: series.areas[place])]
    mean, spread = series.reading.areas, REACH * series.reading.area_deviation
    drawn = [
        _chart(series, series.areas[place], mean[:, place], spread[:, place])
        for place in order[: MOST_AREAS + 1]
    ]
    left = len(order) - len(drawn)
    return "".join(drawn) + (f"<p>{left:,} more areas are in areas.csv.</p>" if left else "")


def _end(label: str) -> str:
    """A period's label as it fits under one end of a chart; the list above has it whole."""
    return label if len(label) <= LONGEST_END else f"{label[: LONGEST_END - 1]}…"


def _chart(series: Series, name: str, mean: Floats, spread: Floats) -> str:
    middle, low, high = (series.values(each) for each in (mean, mean - spread, mean + spread))
    bottom, top = float(low.min()), float(high.max())
    times = series.times
    x = LEFT + (WIDE - LEFT - 12.0) * (times - times[0]) / max(float(times[-1] - times[0]), 1e-12)
    x = x + 4.0

    def y(values: Floats) -> Floats:
        return 8.0 + (HIGH - FOOT - 16.0) * (top - values) / max(top - bottom, 1e-12)

    def points(values: Floats) -> list[str]:
        return [f"{a:.1f},{b:.1f}" for a, b in zip(x, y(values), strict=True)]

    text = "; ".join(
        f"{label}: {significant(a, 3)} ({significant(b, 3)} to {significant(c, 3)})"
        for label, a, b, c in zip(series.labels, middle.tolist(), low.tolist(), high.tolist(), strict=True)
    )
    dots = "".join(
        f'<circle cx="{point.partition(",")[0]}" cy="{point.partition(",")[2]}" r="2.5"/>'
        for point in points(middle)
    )
    ends = "".join(
        f'<text x="{LEFT - 4:.0f}" y="{place:.0f}" text-anchor="end">{escape(significant(value, 3))}</text>'
        for value, place in ((top, 14.0), (bottom, HIGH - FOOT - 4.0))
    )
    return (
        f'<figure class="chart"><figcaption>{escape(name)}</figcaption>'
        f'<svg viewBox="0 0 {WIDE:.0f} {HIGH:.0f}" role="img" aria-label="{escape(f"{name}. {text}")}">'
        f'<polygon points="{" ".join([*points(high), *reversed(points(low))])}"/>'
        f'<polyline points="{" ".join(points(middle))}"/>{dots}{ends}'
        f'<text x="{x[0]:.0f}" y="{HIGH - 6:.0f}">{escape(_end(series.labels[0]))}</text>'
        f'<text x="{x[-1] + 6:.0f}" y="{HIGH - 6:.0f}" text-anchor="end">'
        f"{escape(_end(series.labels[-1]))}</text>"
        "</svg></figure>"
    )


def _foot(series: Series) -> str:
    releases = "; ".join(
        f"{label}: release {bundle.statement['release']['id']}, {bundle.statement['release']['created']}"
        for label, bundle in zip(series.labels, series.bundles, strict=True)
    )
    said = "\n".join(f"<blockquote>{escape(line)}</blockquote>" for line in credits_of(series.bundles))
    return f"<p>{escape(releases)}. Made with {escape(f'{NAME} {VERSION}')}.</p>\n{said}"


SCHEMA = "hexcursion-series-1"
PAGE, STATEMENT, CELLS, TABLE, AREAS = (
    "series.html",
    "series.json",
    "cells.geojson",
    "cells.parquet",
    "areas.csv",
)


def write_series(series: Series, promise: Promise, place: str | Path) -> Path:
    """Write the files of a series into a new folder. Return the folder. Raise `WorkflowError` if the path
    exists already, or cannot be written."""
    return write_new(place, series_files(series, promise))


def write_new(place: str | Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a new folder, all or none. Raise `WorkflowError` as `new_place`."""
    folder = new_place(place)
    with made_whole(folder) as made:
        write_files(made, files)
    return folder


def sealed(statement: Mapping[str, Any], files: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    """The files with the statement, as `name`, before them and the checksums of all behind."""
    text = json.dumps(statement, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    made = {name: text.encode(), **files}
    return {**made, layout.SUMS: layout.sums_text(made).encode()}


def series_files(series: Series, promise: Promise) -> dict[str, bytes]:
    """All files by name, with their checksums."""
    statement = series_statement(series, promise)
    facts = {
        "title": question_of(series),
        "periods": len(series.labels),
        "threshold": series.threshold,
        "threshold_unit": series.last.statement["subject"]["unit"],
        "direction": series.direction,
        "epsilon_in_every_period": _bounded(promise.every_period),
        "delta": promise.delta,
    }
    shared = {name: neutral_cell(value) if isinstance(value, str) else value for name, value in facts.items()}
    cells = cells_collection(series.domain, _wide(series), shared, decimals_for(series.domain.resolution))
    made = {
        CELLS: collection_bytes(cells),
        TABLE: _long(series),
        AREAS: _areas(series),
        PAGE: series_html(series, promise),
    }
    return sealed(statement, made, STATEMENT)


def _bounded(epsilon: float | None) -> float | None:
    """An epsilon as JSON holds it: nothing where no bound is known, as the sentences say."""
    return None if epsilon is None or math.isinf(epsilon) else epsilon


def series_statement(series: Series, promise: Promise) -> dict[str, Any]:
    """Everything a reader must know of a series, as plain JSON values."""
    prior, subject = series.reading.prior, series.last.statement["subject"]
    classes = classes_of(series.chance, series.empty)
    return {
        "schema": SCHEMA, "software": {"name": NAME, "version": VERSION}, "question": question_of(series),
        "value": subject["value"], "unit": subject["unit"], "threshold": series.threshold,
        "direction": series.direction, "rise": series.by, "logarithms": series.logarithms,
        "periods": [
            {
                "label": label, "time": float(time), "release_id": bundle.statement["release"]["id"],
                "created": bundle.statement["release"]["created"],
                "title": bundle.statement["release"]["title"], "sha256sums": digest,
                "epsilon": bundle.statement["guarantee"]["epsilon"],
                "delta": bundle.statement["guarantee"]["delta"], "likely": int(np.sum(row == 0)),
                "open": int(np.sum(row == 1)), "likely_not": int(np.sum(row == 2)),
                "no_record_expected": int(np.sum(row == 3)),
            }
            for label, time, bundle, digest, row in zip(
                series.labels, series.times, series.bundles, series.digests, classes, strict=True
            )
        ],
        "times_are_dates": series.dated,
        "changes": [
            {
                "from": step.before, "to": step.after, "likely_risen": step.risen,
                "likely_fallen": step.fallen, "explained_by_noise": step.explained,
                "log_evidence_of_no_change": step.log_evidence, "in_words": step.sentence,
            }
            for step in steps_of(series)
        ],
        "reading": {
            "prior": prior.name, "range_metres": prior.lengthscale, "middle": prior.middle,
            "deviation": prior.deviation, "scatter": prior.scatter, "memory": prior.memory,
            "level": prior.level, "shift": prior.shift, "notes": list(notes_of(series)),
        },
        "promise": {
            "delta": promise.delta, "epsilon_of_one_record": _bounded(promise.one_record),
            "epsilon_in_every_period": _bounded(promise.every_period), "in_words": list(promise.sentences),
        },
        "attribution": credits_of(series.bundles),
    }  # fmt: skip


def _names(series: Series) -> tuple[str, str, str, str]:
    side = series.direction
    return (side, "open", f"not {side}", "no record expected")


CHANGES = ("risen", "open", "not risen", "no record expected")


def _wide(series: Series) -> dict[str, list[Any]]:
    """A column for each period and each change."""
    columns: dict[str, list[Any]] = {}
    named = _names(series)
    classes = classes_of(series.chance, series.empty)
    for label, kinds, chance in zip(series.labels, classes, series.chance, strict=True):
        columns[neutral_cell(f"class {label}")] = [named[kind] for kind in kinds.tolist()]
        columns[neutral_cell(f"probability {label}")] = np.round(chance, SHARE_DECIMALS).tolist()
    changed = classes_of(series.risen, series.unseen)
    for step in steps_of(series):
        span = f"{step.before} to {step.after}"
        columns[neutral_cell(f"change {span}")] = [CHANGES[kind] for kind in changed[step.row].tolist()]
        chances = np.round(series.risen[step.row], SHARE_DECIMALS).tolist()
        columns[neutral_cell(f"probability of rise {span}")] = chances
    return columns


def _long(series: Series) -> bytes:
    """Parquet: one row for each period and hexagon; the columns of change are null in the first period."""
    count, cells = len(series.labels), list(series.domain.cells)
    none = [None] * len(cells)
    named, read = _names(series), series.reading
    classes = classes_of(series.chance, series.empty)
    changed = classes_of(series.risen, series.unseen)[1:]
    value = "value_median" if series.logarithms else "value_mean"
    columns = {
        "h3": cells * count,
        "period": [label for label in series.labels for _ in cells],
        "class": [named[kind] for kind in classes.ravel().tolist()],
        "probability": np.round(series.chance, SHARE_DECIMALS).ravel().tolist(),
        value: series.values(read.mean).ravel().tolist(),
        "field_mean": read.mean.ravel().tolist(),
        "field_sd": read.deviation.ravel().tolist(),
        "expected_records": np.round(read.records, SHARE_DECIMALS).ravel().tolist(),
        "change": none + [CHANGES[kind] for kind in changed.ravel().tolist()],
        "probability_of_rise": none + np.round(series.risen[1:], SHARE_DECIMALS).ravel().tolist(),
        "probability_of_fall": none + np.round(series.fallen[1:], SHARE_DECIMALS).ravel().tolist(),
    }
    return parquet_bytes(columns)


def _areas(series: Series) -> bytes:
    """CSV: area, period, its mean value, and the ends of the interval that holds it with 90 %."""
    rows = [["area", "period", "value", "low", "high"]]
    mean, spread = series.reading.areas, REACH * series.reading.area_deviation
    for place, name in enumerate(series.areas):
        for row, label in enumerate(series.labels):
            middle, reach = mean[row, place], spread[row, place]
            values = series.values(np.array([middle, middle - reach, middle + reach])).tolist()
            rows.append([neutral_cell(name), neutral_cell(label), *(f"{value:.6g}" for value in values)])
    return csv_text(rows).encode()

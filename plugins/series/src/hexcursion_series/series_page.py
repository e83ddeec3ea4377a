"""The page of a series: its map with a slider of periods, and charts of its areas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from dpgp_core.numbers import significant, upper
from dpgp_core.yardstick import LIKELY
from geo.context.surroundings import around
from geo.maps.painting import FEW_RECORDS, NO_RECORDS
from hexcursion.bundle.page import html
from hexcursion.bundle.page.drawn import EMPTY, MOST_BYTES, cents_of, colours_of, shape_of, text_of
from hexcursion.bundle.products import (
    UNLIKELY,
    Floats,
    graded_labels,
    graded_words,
)
from hexcursion.bundle.untrusted import BundleError
from hexcursion.version import NAME, VERSION
from hexcursion_series.report import (
    Promise,
    Step,
    by_words,
    limit_words,
    notes_of,
    periods_said,
    question_of,
    steps_of,
)
from hexcursion_series.together import Series, credits_of, flags_of

STILL = "<p>This map is drawn by the page's script; the numbers stand below.</p>"
SAYS = "{}"  # the script puts its text here
MOST_AREAS = 60
WIDE, HIGH, LEFT, FOOT = 300.0, 130.0, 62.0, 22.0  # SVG units of a chart
LONGEST_END = 16  # letters of a label at either end of a chart
REACH = 1.645  # deviations on either side of the middle of a 90 % interval


SLIDER = """<div id="moving"><label>Period <input type="range" id="threshold" min="0" step="1"></label> \
<output id="stop" for="threshold"></output> <button id="play" type="button">Play</button> \
<button id="published" type="button">Newest</button></div>"""


def series_html(series: Series, promise: Promise) -> bytes:
    """The page's bytes. Every text of the releases is escaped, and the page loads no other file.

    Raise `BundleError` for more periods and hexagons than a page holds.
    """
    style, script = html.style_text() + _added("series.css"), script_text()
    question, steps = question_of(series), steps_of(series)
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
<div class="multiples" id="multiples">{_multiples(series)}</div>
<ul>{"".join(f"<li>{escape(line)}</li>" for line in periods_said(series))}</ul>
</section>
<section>
<h2>Change</h2>
<table><thead><tr><th scope="col">Periods</th><th scope="col">Hexagons likely risen{by}</th>\
<th scope="col">Likely fallen{by}</th><th scope="col">Explained by noise alone</th></tr></thead>
<tbody>
{_step_rows(steps)}</tbody></table>
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
    return html.whole_page(html.PageHead(question, f"{question} {steps[0].sentence}"), body, style, script)


def _multiples(series: Series) -> str:
    """A small map for each period."""
    return "".join(
        f'<figure><button type="button" data-row="{row}">'
        f'<canvas width="240" height="180" data-row="{row}" aria-hidden="true"></canvas>'
        f"{escape(label)}</button></figure>"
        for row, label in enumerate(series.labels)
    )


def _step_rows(steps: Sequence[Step]) -> str:
    """A row of the table of changes for each step."""
    words = {None: "–", True: "yes", False: "no"}
    return "".join(
        f'<tr><th scope="row">{escape(step.before)} to {escape(step.after)}</th>'
        f'<td class="number">{step.risen:,}</td><td class="number">{step.fallen:,}</td>'
        f"<td>{words[step.explained]}</td></tr>\n"
        for step in steps
    )


@cache
def script_text() -> str:
    """The script of the page: that of a map's page, and the controls of several periods."""
    return html.script_text() + _added("series.js")


def _added(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _drawing(series: Series) -> dict[str, Any]:
    """The input of the script: rows of shares in per cent, one for each period and each change."""
    steps = steps_of(series)
    rows = [
        cents_of(chance) + np.where(empty, EMPTY, 0)
        for chance, empty in zip(series.chance, series.empty, strict=True)
    ]
    rows += [cents_of(series.risen[step.row]) + np.where(series.unseen[step.row], EMPTY, 0) for step in steps]
    cube = np.array(rows).astype(np.uint8)
    if cube.size > MOST_BYTES:
        raise BundleError(
            "These periods have more hexagons together than a page holds: read fewer periods at once."
        )
    by, last = by_words(series), len(series.labels) - 1
    stops = [f"{limit_words(series)} in {label}" for label in series.labels]
    stops += [f"risen{by} from {step.before} to {step.after}" for step in steps]
    labels = [*graded_labels(), NO_RECORDS]
    return {
        **shape_of(series.domain, around(series.domain, series.last.layers)),
        "stops": stops,
        "start": last,
        "startSaid": "",
        "periods": last + 1,
        "share": "probability",
        "graded": True,
        "threshold": SAYS,
        "classes": labels,
        "words": [*graded_words(SAYS), FEW_RECORDS],
        "limits": [round(100 * UNLIKELY), round(100 * LIKELY)],
        "cube": text_of(cube),
        "colours": colours_of(len(labels)),
    }


def _lead(promise: Promise) -> str:
    if promise.one_record is None:
        return f"ε {upper(promise.every_period)} for a record in every period"
    return (
        f"ε {upper(promise.one_record)} for one record, {upper(promise.every_period)} for one in every period"
    )


def _mean_words(series: Series) -> str:
    return "geometric mean" if series.logarithms else "mean"


def _charts(series: Series) -> str:
    """A chart for all hexagons, then for each area, up to `MOST_AREAS` by the alphabet."""
    order = [0, *sorted(range(1, len(series.areas)), key=lambda place: series.areas[place])]
    mean, spread = series.reading.areas, REACH * series.reading.area_deviation
    charts = [
        _chart(series, series.areas[place], mean[:, place], spread[:, place])
        for place in order[: MOST_AREAS + 1]
    ]
    left = len(order) - len(charts)
    return "".join(charts) + (f"<p>{left:,} more areas are in areas.csv.</p>" if left else "")


def _end(label: str) -> str:
    """A period's label, shortened for one end of a chart; the list above has the whole label."""
    return label if len(label) <= LONGEST_END else f"{label[: LONGEST_END - 1]}…"


def _chart(series: Series, name: str, mean: Floats, spread: Floats) -> str:
    middle, low, high = map(series.values, (mean, mean - spread, mean + spread))
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
    credits = "\n".join(f"<blockquote>{escape(line)}</blockquote>" for line in credits_of(series.bundles))
    return f"<p>{escape(releases)}. Made with {escape(f'{NAME} {VERSION}')}.</p>\n{credits}"

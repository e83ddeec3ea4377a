"""series.html: all periods on one page that works from disk: a slider, small maps, a line for each area."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from dpgp_core.numbers import significant, upper
from geo.context.surroundings import around
from geo.maps.painting import NO_RECORD
from hexcursion.bundle.page.drawn import EMPTY, MOST_BYTES, cents_of, colours_of, shape_of, text_of
from hexcursion.bundle.page.html import (
    MODES,
    RESOURCES,
    board_of,
    flags_of,
    json_text,
    series_script_text,
    style_text,
    whole_page,
)
from hexcursion.bundle.products import LIKELY, LOOKS, UNLIKELY, Floats
from hexcursion.bundle.series.gather import Series
from hexcursion.bundle.series.said import (
    Promise,
    by_words,
    limit_words,
    notes_of,
    periods_said,
    question_of,
    steps_of,
)
from hexcursion.bundle.untrusted import BundleError
from hexcursion.version import NAME, VERSION

SAYS = "{}"  # where the script writes what is shown
MOST_AREAS = 60
WIDE, HIGH, LEFT, FOOT = 300.0, 130.0, 62.0, 22.0  # SVG units of a chart
REACH = 1.645  # deviations on either side that hold 90 %


def series_html(series: Series, promise: Promise) -> bytes:
    """The page's bytes. Every text of the releases is escaped; nothing is loaded from anywhere. Raise
    `BundleError` for more periods and hexagons than a page holds."""
    style = style_text() + (RESOURCES / "series.css").read_text(encoding="utf-8")
    script = series_script_text()
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
    body = f"""<header>
<h1>{escape(question)}</h1>
<p class="answer">{escape(steps[0].sentence)}</p>
<p class="place">{escape(str(series.last.statement["release"]["title"]))}</p>
{flags_of({"release": {name: _any(series, name) for name in ("simulation", "generated")}})}
</header>
<main>
<div class="first">
<div>
{board_of("Map of the series", "<p>This map is drawn by the page's script; the numbers stand below.</p>")}
<div id="live" hidden>
<p class="detail" id="detail"></p>
<ul class="legend" id="legend"></ul>
<div class="controls">
{MODES}
<fieldset id="what"><legend>of</legend>\
<label><input type="radio" name="what" value="value" checked> the periods</label>\
<label><input type="radio" name="what" value="change"> the rise{by}</label></fieldset>
<div id="moving"><label>Period <input type="range" id="threshold" min="0" step="1"></label> \
<output id="stop" for="threshold"></output> <button id="play" type="button">Play</button> \
<button id="published" type="button">Newest</button></div>
</div>
<p class="said" id="said"></p>
</div>
</div>
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
<script type="application/json" id="data">{json_text(_drawing(series))}</script>
<script>{script}</script>"""
    return whole_page(question, f"{question} {steps[0].sentence}", body, style, script)


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
    most, least = f"{100 * LIKELY:.0f} %", f"{100 * UNLIKELY:.0f} %"
    labels = [
        f"likely {SAYS} (chance of at least {most})",
        f"open (chance between {100 * UNLIKELY:.0f} and {most})",
        f"likely not {SAYS} (chance of at most {least})",
        NO_RECORD,
    ]
    return {
        **shape_of(series.domain, around(series.domain, series.last.layers)),
        "stops": stops, "start": last, "startSaid": "", "periods": last + 1,
        "share": "probability", "graded": True, "threshold": SAYS, "classes": labels,
        "marks": [mark for _, mark in LOOKS], "limits": [round(100 * UNLIKELY), round(100 * LIKELY)],
        "cube": text_of(made), "colours": colours_of(len(labels)),
    }  # fmt: skip


def _any(series: Series, name: str) -> bool:
    return any(bundle.statement["release"][name] for bundle in series.bundles)


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

    said = "; ".join(
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
        f'<svg viewBox="0 0 {WIDE:.0f} {HIGH:.0f}" role="img" aria-label="{escape(f"{name}. {said}")}">'
        f'<polygon points="{" ".join([*points(high), *reversed(points(low))])}"/>'
        f'<polyline points="{" ".join(points(middle))}"/>{dots}{ends}'
        f'<text x="{x[0]:.0f}" y="{HIGH - 6:.0f}">{escape(series.labels[0])}</text>'
        f'<text x="{x[-1] + 6:.0f}" y="{HIGH - 6:.0f}" text-anchor="end">{escape(series.labels[-1])}</text>'
        "</svg></figure>"
    )


def _foot(series: Series) -> str:
    releases = "; ".join(
        f"{label}: release {bundle.statement['release']['id']}, {bundle.statement['release']['created']}"
        for label, bundle in zip(series.labels, series.bundles, strict=True)
    )
    credits = dict.fromkeys(text for bundle in series.bundles for text in bundle.statement["attribution"])
    said = "\n".join(f"<blockquote>{escape(line)}</blockquote>" for line in credits)
    return f"<p>{escape(releases)}. Made with {escape(f'{NAME} {VERSION}')}.</p>\n{said}"

"""map.html: a release as one page that works from disk, requests nothing, and can be read
aloud."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from dpgp_core.numbers import upper
from hexcursion import promises, words
from hexcursion.bundle.areas import BoroughTable, borough_table
from hexcursion.bundle.page.drawn import Released, densities, drawing
from hexcursion.bundle.page.facts import (
    Fact,
    LargeRegion,
    added_title,
    answer,
    belief_of,
    heading_of,
    in_brief,
    largest_regions,
    place,
    three_facts,
    where,
)
from hexcursion.bundle.page.papers import picture_html
from hexcursion.bundle.products import MapValues, Products, threshold_words
from hexcursion.bundle.statement.designs import design_line
from hexcursion.bundle.statement.receipt_check import publishers_notes
from hexcursion.bundle.untrusted import source_of

RESOURCES = Path(__file__).parents[1] / "resources"
PICTURE = "map.png"  # in the page's folder, for programs that make a card of its address


def map_html(
    released: Released, products: Products, *, address: str = "", picture: str | None = None, signed: str = ""
) -> bytes:
    """The page's bytes: the same release always gives the same page. Every text of the release is
    escaped; the page's own policy runs its one script and style and lets nothing be loaded.
    `address`: the page's address, for cards of links; `picture`: what `picture_html` made,
    which the page shows until the script draws; `signed`: who signed the bundle, by a list of
    signers."""
    statement, domain = released.statement, released.domain
    question, subtitle = heading_of(statement), added_title(statement)
    facts, places = three_facts(statement, products), released.around.places
    areas = _areas(released, products)
    lies = (areas.lead if areas else "") or where(domain, products.classes == 0, places)
    answer_text = answer(products, lies)
    still = picture or picture_html(statement, domain, products, released.around.own)
    body = f"""<header>
<h1>{escape(question)}</h1>
{f'<p class="question">{escape(subtitle)}</p>' if subtitle else ""}
<p class="answer">{escape(answer_text)}</p>
<p class="brief">{escape(in_brief(statement, products))}</p>
{flags_of(statement)}{signed_html(signed)}
</header>
<main>
<div class="first">
{live_map("Map of the release", still, _abouts(released) + MODES, moving("As published"))}
<div class="facts">
{"".join(fact_html(fact, belief_of(statement) if index == 1 else None) for index, fact in enumerate(facts))}
</div>
</div>
<div class="tables">
<details class="table">
<summary>Largest regions {"likely " if products.graded else ""}{escape(side_html(statement))}</summary>
{regions_table(largest_regions(domain, products.classes == 0, places=places))}
</details>
{_boroughs(statement, areas)}
</div>
{more_html(statement, f"{words.covered(statement)} {place(domain, places)}", facts)}
</main>
<footer>
{foot_html(statement, released.around.source)}
</footer>
<script type="application/json" id="data">{json_text(drawing(released, products))}</script>
<script>{script_text()}</script>"""
    leads = " ".join(f"{fact.about}: {fact.lead}." for fact in facts[:2])
    card = card_of(question, f"{answer_text} {leads}", address)
    head = PageHead(f"{question} {subtitle}".strip(), f"{question} {answer_text}", card)
    return whole_page(head, body, style_text(), script_text())


MODES = """<fieldset id="modes"><legend>Show</legend>\
<label><input type="radio" name="mode" value="class" checked> likely or not</label>\
<label><input type="radio" name="mode" value="share"> chances</label></fieldset>"""
"""The choice between classes and chances, which the script reads."""


def _abouts(released: Released) -> str:
    """The choice between the value and the density of records, where the page has both."""
    if released.density is None or not densities(released):
        return ""
    value = escape(released.statement["subject"]["value"] or "value")
    density = f"{escape(released.density.many)} per km²"
    return f"""<fieldset><legend>Map of</legend>\
<label><input type="radio" name="about" value="value" checked> {value}</label>\
<label><input type="radio" name="about" value="density"> {density}</label></fieldset>
<p class="said" id="aside" hidden>Facts and tables of this page are about the {value}.</p>
"""


def moving(back: str) -> str:
    """The slider of thresholds, and a button with the words `back`."""
    return f"""<div id="moving"><label>Threshold \
<input type="range" id="threshold" min="0" step="1"></label> \
<output id="stop" for="threshold"></output> <button id="published" type="button">{back}</button></div>"""


def live_map(label: str, still: str, choices: str, slider: str) -> str:
    """The map that the script draws, its legend, choices and slider (HTML); until then `still`."""
    return f"""<div>
{_board(label, still)}
<div id="live" hidden>
<p class="detail" id="detail"></p>
<ul class="legend" id="legend"></ul>
<div class="controls">
{choices}
{slider}
</div>
<p class="said" id="said"></p>
</div>
</div>"""


def _board(label: str, still: str) -> str:
    """The map that the script draws, with its tools; until then the page shows `still` (HTML)."""
    return f"""<div class="board" id="board" role="group" aria-label="{escape(label)}" tabindex="0">
<div class="still">{still}</div>
<div class="tools" hidden><button id="in" type="button" aria-label="Zoom in">+</button>\
<button id="out" type="button" aria-label="Zoom out">−</button>\
<button id="home" type="button" aria-label="Whole map">⌂</button></div>
<div class="scale" hidden aria-hidden="true"><i id="ruler"></i><span id="length"></span></div>
</div>"""


class PageHead(NamedTuple):
    """What a page says of itself."""

    title: str  # text
    about: str  # text
    card: str = ""  # lines of HTML, for messages that show a link to the page


def whole_page(head: PageHead, body: str, style: str, script: str) -> bytes:
    """A page around a body (HTML): its policy lets this style and this script run, and nothing be
    loaded."""
    title, about, card = head
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'; \
img-src data:; style-src '{source_of(style)}'; script-src '{source_of(script)}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<meta name="description" content="{escape(about)}">
{f"{card}{chr(10)}" if card else ""}<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
""".encode()


def belief_svg(surest: float) -> str:
    """A bar from impossible to certain: a guess at even odds before, and the best one after this
    release."""
    even_width, guess_width, odds = 150.0, 3.0 * 100.0 * min(1.0, surest), words.even_odds(surest)
    return (
        f'<svg viewBox="0 0 300 32" role="img" aria-label="50:50 before, at most {odds} after">'
        f'<rect class="before" x="0" y="0" width="{even_width:.1f}" height="14"/>'
        f'<rect class="after" x="{even_width:.1f}" y="0" width="{guess_width - even_width:.1f}" height="14"/>'
        '<rect class="track" x="0.5" y="0.5" width="299" height="13"/>'
        f'<text x="{even_width:.0f}" y="27" text-anchor="end">before: 50:50</text>'
        f'<text x="{min(guess_width, 208.0):.0f}" y="27">at most {odds}</text></svg>'
    )


def fact_html(fact: Fact, surest: float | None, *, with_text: bool = False) -> str:
    """One fact in its box; its sentences too where it warns, or where they are given nowhere
    else."""
    picture = "" if surest is None else belief_svg(surest)
    text = f'<p class="text">{escape(fact.text)}</p>' if fact.warning or with_text else ""
    return (
        f'<div class="fact{" warning" if fact.warning else ""}"><h2>{escape(fact.about)}</h2>'
        f'<p class="lead">{escape(fact.lead)}</p>{picture}{text}</div>\n'
    )


def flags_of(statement: Mapping[str, Any]) -> str:
    flags = []
    if statement["release"]["simulation"]:
        flags.append("Simulation: not a private release")
    if statement["release"]["generated"]:
        flags.append("Generated data")
    return "\n".join(f'<p class="flag">{escape(text)}</p>' for text in flags)


def signed_html(sentence: str) -> str:
    return f'\n<p class="place signed">{escape(sentence)}</p>' if sentence else ""


def side_html(statement: Mapping[str, Any]) -> str:
    subject = statement["subject"]
    return f"{words.side_words(subject['direction'])} {threshold_words(statement)}"


def regions_table(regions: Sequence[LargeRegion]) -> str:
    if not regions:
        return "<p>There is none.</p>"
    rows = "".join(
        f'<tr><td class="number">{rank}</td><td>{escape(region.where)}</td>'
        f'<td class="number">{region.cells:,}</td><td class="number">{escape(region.size)}</td></tr>\n'
        for rank, region in enumerate(regions, 1)
    )
    return (
        '<table><thead><tr><th scope="col">Rank</th><th scope="col">Where on the map</th>'
        '<th scope="col">Hexagons</th><th scope="col">Area</th></tr></thead>'
        f"<tbody>\n{rows}</tbody></table>"
    )


def _areas(released: Released, products: Products) -> BoroughTable | None:
    values = MapValues(released.paths, released.field, released.draws)
    return borough_table(released.domain, released.around.own, products, values)


def _boroughs(statement: Mapping[str, Any], table: BoroughTable | None) -> str:
    """The section with the table of the map's own areas, where it has any."""
    if table is None:
        return ""
    heads = ("Area", "Share", "Interval", "Covered by hexagons")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="number">{escape(text)}</td>' for text in texts)
        + "</tr>\n"
        for name, *texts in table.rows
    )
    return (
        f'<details class="table">\n<summary>Areas: share {escape(side_html(statement))}</summary>\n'
        f"<p>{escape(table.note)}</p>\n"
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n</details>"
    )


ONE_HOUSE = (
    "House sales of Lucas County, Ohio, in 1998 as a table: the mean price of every hexagon with at least "
    "5 sales. After one sale 22 sales at a mean of $72,731.82, less 21 at $72,766.67, leave its price: "
    "$72,000. Two editions of the table tell 89 of 100 prices so. Two private releases at epsilon 1 leave an "
    "interval 20 times as wide as all prices that they tell apart."
)
"""Figures of the stored study of the finished example (static/tour/tour.json); a test compares
them."""


def more_html(statement: Mapping[str, Any], covered: str = "", facts: Sequence[Fact] = ()) -> str:
    """The promise for everybody, its figures for specialists, and the map of today's rule."""
    guarantee, design = statement["guarantee"], statement["design"]
    groups = " ".join(line["in_words"] for line in guarantee["groups"]) or "Nothing stated."
    promise = [
        *([("Shown", covered)] if covered else []),
        *((fact.about, fact.text) for fact in facts if not fact.warning),
        ("Protected", guarantee["protected"]),
        ("Not protected", " ".join(promises.limits(statement))),
        ("Promise", guarantee["in_words"]),
        ("Free to use", "Moving the threshold costs no privacy: all is read off the same released numbers."),
    ]
    figures = [
        ("Several records", groups),
        ("Epsilon", f"{upper(guarantee['epsilon'])} at delta {upper(guarantee['delta'], 3)}"),
        ("Bound", f"{guarantee['bound']}, proved ({guarantee['bound_source']})"),
        ("Drawn by", f"{design['mechanism']}: {design_line(design)}"),
    ]
    folds = {
        "More about this release": promise,
        "What today's rule would have shown about one house": [("Example", ONE_HOUSE)],
        "For specialists": figures,
    }
    return "\n".join(_folded(title, rows) for title, rows in folds.items())


def _folded(title: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in rows
    )
    table = f"<table><tbody>\n{lines}\n</tbody></table>"
    return f"<details>\n<summary>{escape(title)}</summary>\n{table}\n</details>"


def foot_html(statement: Mapping[str, Any], source: str) -> str:
    release, software = statement["release"], statement["software"]
    lines = [
        f"Release {release['id']}, {release['created']}. Made with {software['name']} {software['version']}.",
        *([statement["trip"]["in_words"]] if "trip" in statement else []),
        *([source] if source else []),
        f"The title, the name of the value and what follows here are {words.PUBLISHERS}:",
    ]
    notes = [*statement["attribution"], *publishers_notes(statement)] or ["No notes."]
    quotes = "\n".join(f"<blockquote>{escape(line)}</blockquote>" for line in notes)
    return "\n".join(f"<p>{escape(line)}</p>" for line in lines) + f"\n{quotes}"


def card_of(title: str, description: str, address: str) -> str:
    """Open Graph tags: what a message or a post shows of a link to this page."""
    picture = address.rpartition("/")[0] + f"/{PICTURE}" if address else PICTURE
    properties = {
        "og:type": "website",
        "og:title": title,
        "og:description": description,
        "og:image": picture,
        "og:image:type": "image/png",
        "og:image:alt": f"Map: {title}",
        **({"og:url": address} if address else {}),
    }
    tags = [f'<meta property="{name}" content="{escape(text)}">' for name, text in properties.items()]
    return "\n".join([*tags, '<meta name="twitter:card" content="summary_large_image">'])


def json_text(value: Mapping[str, Any]) -> str:
    """JSON that cannot end its element, whatever its texts hold."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def style_text() -> str:
    return (RESOURCES / "map.css").read_text(encoding="utf-8")


@cache
def script_text() -> str:
    return "".join((RESOURCES / name).read_text(encoding="utf-8") for name in ("regions.js", "map.js"))

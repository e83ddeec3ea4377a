"""The label, one A4 page: what a release is, costs and protects, with its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from dpgp_core.numbers import upper
from hexcursion import promises, words
from hexcursion.bundle.page.papers import flags_of
from hexcursion.bundle.products import Products, counted
from hexcursion.bundle.statement.designs import design_line
from hexcursion.bundle.statement.expected import how_right
from hexcursion.bundle.statement.receipt_check import publishers_notes, publishers_own
from hexcursion.bundle.untrusted import source_of

# Characters of receipt, attribution and notes that fit one page in the usual and in the smaller
# type.
ROOMY, FULL = 1_300, 2_200
MAX_CREDITS = 900
STYLE_PATH = Path(__file__).parents[1] / "resources" / "label.css"
# The receipt's own lines that the label says elsewhere, larger.
SHOWN_ELSEWHERE = frozenset(
    {"Unit of protection", "This release", "In words", "Group", "Records", "Mechanism", "Data", "Randomness"}
)


def label_html(statement: Mapping[str, Any], products: Products, picture: str) -> str:
    """Return one HTML page without scripts or outside requests, every text of the release escaped.
    It is made from the statement and the released paths alone, so a viewer makes it anew from any
    bundle. `picture`: the map as HTML, from `papers.picture_html`."""
    title = statement["release"]["title"] or words.named(statement["subject"])
    question = words.asked(statement["subject"], statement["guarantee"]["unit_word"])
    body = f"""<h1>Privacy facts</h1>
<p class="title">{escape(question)}</p>
<p class="answer">{escape(counted(products))}</p>
<p class="question">{escape(f"{title}. {words.covered(statement)}")}</p>
<p class="small own">Title, name of the value, what is measured and what is marked *: {words.PUBLISHERS}.</p>
{_flags(statement)}
<div class="bar"></div>
<div class="top">
<section class="map">
{picture}
<h2 class="next">Does not protect</h2>
<div class="small">{_list(promises.limits(statement))}</div>
</section>
<section>
<h2>Protects</h2>
<p class="protects">{escape(statement["guarantee"]["protected"])}</p>
{amounts_html(statement)}
<p class="words">{escape(statement["guarantee"]["in_words"])}</p>
<h2 class="next">How right</h2>
{"".join(f'<p class="words">{escape(text)}</p>' for text in how_right(statement, products))}
</section>
</div>
<div class="bar"></div>
<section class="rows">
<h2>For specialists</h2>
<table>
{rows_html(statement)}
</table>
</section>
<footer class="foot">
{_foot(statement)}
</footer>"""
    return label_page(f"Privacy facts: {title}", body, _density(statement))


def label_page(title: str, body: str, density: str = "") -> str:
    """One sheet around a body (HTML): nothing is run or loaded. `density`: classes for smaller
    type."""
    style = _style()
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src '{source_of(style)}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main class="sheet{density}">
{body}
</main>
</body>
</html>
"""


@cache
def _style() -> str:
    return STYLE_PATH.read_text(encoding="utf-8")


def _density(statement: Mapping[str, Any]) -> str:
    """A smaller type where much is to be said: the label stays one page."""
    sentences = [text for _, text, _ in _lines(statement, None)]
    length = sum(len(text) + 40 for text in sentences) + sum(map(len, _credits(statement)))
    return "" if length < ROOMY else " dense" if length < FULL else " dense tiny"


def _flags(statement: Mapping[str, Any]) -> str:
    return "\n".join(
        f'<p class="flag {"hard" if grave else ""}">{escape(text)}</p>'
        for text, grave in flags_of(statement).items()
    )


def amounts_html(statement: Mapping[str, Any]) -> str:
    guarantee = statement["guarantee"]
    epsilon, delta = upper(guarantee["epsilon"]), upper(guarantee["delta"], 3)
    times = escape(words.times(guarantee["epsilon"]))
    return f"""<div class="amount"><span>epsilon</span><b>{epsilon}</b></div>
<div class="amount small"><span>delta ({escape(words.one_in(guarantee["delta"]))})</span><b>{delta}</b></div>
<div class="amount small"><span>odds up to (but for delta)</span><b>{times}</b></div>"""


def rows_html(statement: Mapping[str, Any], cutoffs: Mapping[str, float] | None = None) -> str:
    """What specialists read; `cutoffs` are those of an atlas by the names of its layers."""
    rows = []
    for topic, text, warning in _lines(statement, cutoffs):
        mark = ' class="warning"' if warning else ""
        rows.append(f"<tr{mark}><th>{escape(topic)}</th><td>{escape(text)}</td></tr>")
    return "\n".join(rows)


def _lines(statement: Mapping[str, Any], cutoffs: Mapping[str, float] | None) -> list[tuple[str, str, bool]]:
    """(topic, text, warning) of the table: lines of the receipt that no other part repeats, groups,
    design."""
    lines = [
        (
            line["topic"],
            f"{line['text']} *" if publishers_own(line, statement) else line["text"],
            line["warning"],
        )
        for line in statement["receipt"]
        if line["topic"] not in SHOWN_ELSEWHERE
    ]
    domain, tuning = statement["subject"]["domain"], statement["tuning"]
    topics = {topic for topic, _, _ in lines}
    if "Domain" not in topics:
        lines.insert(
            0, ("Domain", f"{domain['cells']:,} H3 cells of resolution {domain['resolution']}.", False)
        )
    if "Tuning" not in topics:
        lines.append(("Tuning", f"{tuning['kind']}: {tuning['detail']}", not tuning["accounted"]))
    groups = [line["in_words"] for line in statement["guarantee"]["groups"]]
    lines.append(("Several records", " ".join(groups) or "No group guarantee is stated.", False))
    design = statement["design"]
    lines.append(("Design", f"{design['mechanism']}: {design_line(design, cutoffs)}.", False))
    return lines


def _list(items: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _foot(statement: Mapping[str, Any]) -> str:
    release, software = statement["release"], statement["software"]
    entry = statement["ledger"]["entry"] or "none"
    lines = [
        f"Release <code>{escape(release['id'])}</code>, {escape(release['created'])}. "
        f"Ledger entry <code>{escape(entry)}</code>. "
        f"Made with {escape(software['name'])} {escape(software['version'])}.",
        "The released paths may be thresholded, smoothed and redrawn freely: that costs no more privacy.",
        *(escape(text) for text in _credits(statement)),
    ]
    return "\n".join(f"<p>{line}</p>" for line in lines)


def _credits(statement: Mapping[str, Any]) -> list[str]:
    """Attribution and notes; where they are too long for the page, the file that holds them in
    full."""
    credits = [*statement["attribution"], *publishers_notes(statement)]
    trip = [statement["trip"]["in_words"]] if "trip" in statement else []
    if sum(map(len, credits)) <= MAX_CREDITS:
        return [*trip, *(f"{text} *" for text in credits)]
    return [*trip, "Credits and licences of the data: ATTRIBUTION.txt. Notes: statement.json."]

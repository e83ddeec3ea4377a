"""The files of a map of several holders: statement, cells, areas and page, all written or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from dpgp_core.accounting.composition import epsilon as composed
from dpgp_core.accounting.guarantee import together
from dpgp_core.numbers import upper
from geo import decimals_for
from geo.context.surroundings import around
from geo.geojson import cells_collection, collection_bytes
from hexcursion import words
from hexcursion.bundle.layers import cell_columns
from hexcursion.bundle.page import html
from hexcursion.bundle.page.drawn import Released, drawing
from hexcursion.bundle.products import counted
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.signature import Signers
from hexcursion.bundle.statement.change import change_block
from hexcursion.bundle.statement.designs import plain_design
from hexcursion.bundle.statement.expected import map_block, shown_words, verdict_block
from hexcursion.bundle.statement.guarantee import stated_cost, together_guess
from hexcursion.bundle.tables import parquet_bytes
from hexcursion.bundle.untrusted import neutral_cell
from hexcursion.promises import protected_word
from hexcursion.version import NAME, VERSION
from hexcursion_series.files import sealed, write_new
from hexcursion_series.holders import Holders
from hexcursion_series.series_page import STILL
from hexcursion_series.together import credits_of, flags_of

SCHEMA = "hexcursion-together-1"
PAGE, STATEMENT, CELLS, TABLE = "together.html", "together.json", "cells.geojson", "cells.parquet"


@dataclass(frozen=True)
class HolderPromise:
    """What several holders promise, each for its own records: upper bounds."""

    delta: float  # the smallest delta of the holders; the epsilon below is stated at it
    every_holder: float  # epsilon for a person with one record at every holder
    sentences: tuple[str, ...]


def promise_of_holders(holders: Holders) -> HolderPromise:
    """Return what the holders promise.

    A record of one holder enters that holder's sums alone, so that holder's guarantee holds for it
    whatever the others publish. A person with one record at every holder changes the input of
    every release: the releases are independent mechanisms, and their costs compose
    (docs/accounting.md, section 9).
    """
    guarantees = [bundle.statement["guarantee"] for bundle in holders.bundles]
    delta = min(guarantee["delta"] for guarantee in guarantees)
    every = composed(together(map(stated_cost, guarantees)), delta).epsilon
    protected = {protected_word(guarantee) for guarantee in guarantees}
    record = protected.pop() if len(protected) == 1 else "record"
    single = [
        f"{title_of(bundle)}: each {record} is protected by this holder's own noise, epsilon "
        f"{upper(guarantee['epsilon'])} at delta {upper(guarantee['delta'], 3)}."
        for bundle, guarantee in zip(holders.bundles, guarantees, strict=True)
    ]
    several = (
        f"A person with one {record} at each of the {len(guarantees)} holders: epsilon {upper(every)} "
        f"at delta {upper(delta, 3)}, by composition{together_guess(guarantees)}. The holders cannot know "
        "who that is."
    )
    free = "Adding the released sums costs no privacy: it reads only what each holder has published."
    simulated = "At least one bundle is a simulation, which protects no record."
    warning = [simulated] if flags_of(holders.bundles)["simulation"] else []
    return HolderPromise(delta, every, (*single, several, free, *warning))


def title_of(bundle: Bundle) -> str:
    """The title of a holder's release."""
    return str(bundle.statement["release"]["title"])


def holder_statement(holders: Holders, signers: Signers | None = None) -> dict[str, Any]:
    """Return the statement of the map as JSON values.

    `signers` are the reader's named keys.
    """
    keys = signers or Signers()
    promise, subject = promise_of_holders(holders), holders.first.statement["subject"]
    classes = np.bincount(holders.products.classes, minlength=4).tolist()
    reading, change = holders.reading, None
    if reading.model_check is not None and reading.model_check.change is not None:
        change = change_block(reading.model_check.change, holders.first.response, subject)
    return {
        "schema": SCHEMA,
        "software": {"name": NAME, "version": VERSION},
        "question": question_of(holders),
        "value": subject["value"],
        "unit": subject["unit"],
        "threshold": holders.threshold,
        "direction": subject["direction"],
        "records": holders.records,
        "holders": [
            _holder_block(bundle, digest, keys)
            for bundle, digest in zip(holders.bundles, holders.digests, strict=True)
        ],
        "design": plain_design(holders.design),
        "noise": {"sums": holders.noise.sums, "counts": holders.noise.counts},
        "features": holders.first.sums.kept.features,  # type: ignore[union-attr]
        "hexagons": dict(zip(("likely", "open", "likely_not", "no_records"), classes, strict=True)),
        "told": verdict_block(
            holders.products,
            asked_statement(holders),
            map_block(holders.products, reading.shown_map, reading.map_draws),
            reading.model_check,
            change,
        ),
        "promise": {
            "delta": promise.delta,
            "epsilon_at_every_holder": promise.every_holder,
            "in_words": list(promise.sentences),
        },
        "attribution": credits_of(holders.bundles),
    }


def _holder_block(bundle: Bundle, digest: str, keys: Signers) -> dict[str, Any]:
    release, guarantee = bundle.statement["release"], bundle.statement["guarantee"]
    return {
        "title": title_of(bundle),
        "release_id": release["id"],
        "created": release["created"],
        "sha256sums": digest,
        "records": guarantee["n"],
        "epsilon": guarantee["epsilon"],
        "delta": guarantee["delta"],
        "signed": keys.says(bundle.signature),
    }


def question_of(holders: Holders) -> str:
    """The question of the map in a reader's words."""
    statement = asked_statement(holders)
    return words.asked(statement["subject"], statement["guarantee"]["unit_word"])


def holder_files(holders: Holders, signers: Signers | None = None) -> dict[str, bytes]:
    """Return all files by name, with their checksums."""
    statement = holder_statement(holders, signers)
    shared = {
        "title": neutral_cell(statement["question"]),
        "holders": len(holders.bundles),
        "records": holders.records,
        "threshold": holders.threshold,
        "threshold_unit": neutral_cell(str(statement["unit"])),
        "direction": statement["direction"],
    }
    columns = cell_columns(
        holders.domain,
        holders.products,
        (holders.reading.mean, holders.reading.sd),  # type: ignore[arg-type]
        holders.first.response,
    )
    cells = {name: list(values) for name, values in columns.items() if name != "h3"}
    decimals = decimals_for(holders.domain.resolution)
    files = {
        CELLS: collection_bytes(cells_collection(holders.domain, cells, shared, decimals)),
        TABLE: parquet_bytes({name: list(values) for name, values in columns.items()}),
        PAGE: holder_page(holders, statement),
    }
    return sealed(statement, files, STATEMENT)


def write_holders(holders: Holders, place: str | Path, signers: Signers | None = None) -> Path:
    """Write the files into a new folder and return it.

    Raise `WorkflowError` if the path exists already or cannot be written.
    """
    return write_new(place, holder_files(holders, signers))


def holder_page(holders: Holders, statement: Mapping[str, Any]) -> bytes:
    """Return the page's bytes. Every text of a bundle is escaped and nothing is loaded."""
    question, answer = str(statement["question"]), counted(holders.products)
    rows = "".join(
        f'<tr><th scope="row">{escape(str(holder["title"]))}</th>'
        f'<td class="number">{holder["records"]:,}</td>'
        f"<td>{escape(upper(holder['epsilon']))} at {escape(upper(holder['delta'], 3))}</td>"
        f"<td>{escape(str(holder['signed']))}</td></tr>\n"
        for holder in statement["holders"]
    )
    promise = statement["promise"]["in_words"]
    body = f"""<header>
<h1>{escape(question)}</h1>
<p class="answer">{escape(answer)}</p>
<p>{escape(shown_words(holders.products, asked_statement(holders)))}</p>
{html.flags_of({"release": flags_of(holders.bundles)})}
</header>
<main>
<div class="first">
{html.live_map("Map of all holders", STILL, html.MODES, html.moving("As asked"))}
<div class="facts">
<div class="fact"><h2>Who is protected</h2>
<p class="lead">Each holder protects its own records</p>
<p class="text">{escape(" ".join(promise[len(holders.bundles) :]))}</p></div>
</div>
</div>
<section>
<h2>Holders</h2>
<table><thead><tr><th scope="col">Release</th><th scope="col">Records</th>\
<th scope="col">Epsilon at delta</th><th scope="col">Signature</th></tr></thead>
<tbody>
{rows}</tbody></table>
</section>
</main>
<footer>
<p>Made with {escape(f"{NAME} {VERSION}")} from {len(holders.bundles)} bundles.</p>
{"".join(f"<blockquote>{escape(line)}</blockquote>" for line in statement["attribution"])}
</footer>
<script type="application/json" id="data">{html.json_text(_drawing(holders))}</script>
<script>{html.script_text()}</script>"""
    head = html.PageHead(question, f"{question} {answer}")
    return html.whole_page(head, body, html.style_text(), html.script_text())


def asked_statement(holders: Holders) -> dict[str, Any]:
    """Return the first holder's statement with the question and the number of records of all."""
    statement = dict(holders.first.statement)
    level = {"threshold": holders.threshold, "threshold_response": holders.products.level}
    statement["subject"] = {**statement["subject"], **level}
    statement["guarantee"] = {**statement["guarantee"], "n": holders.records}
    return statement


def _drawing(holders: Holders) -> dict[str, Any]:
    """The input of the page's script: that of a single release, at the question's threshold."""
    released = Released(
        asked_statement(holders),
        holders.domain,
        np.empty((0, holders.domain.size)),
        (holders.reading.mean, holders.reading.sd),  # type: ignore[arg-type]
        around(holders.domain, holders.first.layers),
    )
    return drawing(released, holders.products)

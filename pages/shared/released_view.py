"""Explore a release: open a bundle, choose a threshold and a product, draw its map; nothing costs budget."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import streamlit as st

from geo.maps.linked import STREETS_HOST, Pane
from geo.maps.painting import (
    LegendEntry,
    Painting,
    field_breaks,
    legend,
    paint_field,
    paint_set,
    paint_shares,
    paint_three_way,
    paint_votes,
)
from hexcursion.bundle import Products
from hexcursion.bundle.products import Bools, paint_classes
from hexcursion.bundle.published.bundle_store import (
    Offer,
    StoredBundle,
    offers,
    open_bundle,
    slug,
    stored_bundles,
)
from hexcursion.bundle.published.view import MAX_ROUNDS, Viewer
from hexcursion.bundle.statement.expected import shown_words
from hexcursion.errors import WorkflowError
from hexcursion.promises import limits
from hexcursion.words import plural, quantity, side_words
from pages.shared import maps
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.session import workspace
from pages.shared.shipped import generated_badge, is_shipped, shelved

STOPS = 96
ShownProduct = Literal[
    "classes", "vote-set", "votes", "probability", "surely", "three-way", "vorobev", "inner", "outer", "field"
]
PRODUCTS: dict[ShownProduct, str] = {
    "classes": "Likely, cannot tell, likely not",
    "vote-set": "Released region",
    "votes": "Share of paths",
    "probability": "Probability",
    "surely": "Confidence (all surer hexagons together)",
    "three-way": "Surely above or below at once",
    "vorobev": "Region of the expected area",
    "inner": "Inner region (surely inside)",
    "outer": "Outer region (possibly inside)",
    "field": "Released values",
}


def threshold_stops(viewer: Viewer) -> tuple[float, ...]:
    """Return increasing thresholds for a slider, in the data's unit, even in response units, the published
    one among them."""
    low, high = viewer.thresholds
    response = viewer.bundle.response
    first, last = (float(response.forward(end)) for end in (low, high))
    values = [float(response.value(first + (last - first) * k / (STOPS - 1))) for k in range(STOPS)]
    rounded = {float(f"{value:.3g}") for value in values}
    return tuple(sorted({*(value for value in rounded if low <= value <= high), viewer.bundle.threshold}))


def products_of(viewer: Viewer) -> dict[ShownProduct, str]:
    """The products that this number of paths supports, with their names on a screen."""
    names = dict(PRODUCTS)
    unsupported: tuple[ShownProduct, ...] = ("votes", "vorobev") if viewer.count == 1 else ()
    unsure: tuple[ShownProduct, ...] = () if viewer.confidences else ("three-way", "inner", "outer")
    for name in (*unsupported, *unsure):
        del names[name]
    if viewer.bundle.field is None:
        del names["probability"]
    if viewer.bundle.published.surely is None:
        del names["surely"]
    return names


def paint(viewer: Viewer, products: Products, name: ShownProduct, threshold: float, rounds: int) -> Painting:
    """One product as a painting, with the words of its unit."""
    threshold_words = quantity(threshold, viewer.unit)
    what = f"{side_words(products.direction)} {threshold_words}"
    title = PRODUCTS[name]
    if name == "classes":
        return paint_classes(products, threshold_words, title)
    if name == "votes":
        return paint_votes(products.votes, viewer.count, what=what, title=title)
    if name == "probability" and products.probability is not None:
        return paint_shares(products.probability, what=what, title=title, word="a probability of")
    if name == "surely" and products.surely is not None:
        all_of = f"all surer hexagons {what}"  # of a set of hexagons: no mean of it says anything
        return paint_shares(products.surely, what=all_of, title=title, word="confidence", averaged=False)
    if name == "three-way" and products.three_way is not None:
        return paint_three_way(
            products.three_way, threshold=threshold_words, title=title, empty=products.empty
        )
    if name == "field":
        values = viewer.bundle.response.value(viewer.smoothed(rounds).mean(axis=0))
        return paint_field(
            values, viewer.unit, title=title, breaks=field_breaks(values, threshold), threshold=threshold
        )
    sets: dict[str, Bools] = dict(products.sets().items())
    cells = sets.get(name, products.vote_set)
    return paint_set(cells, inside=what, outside=f"not {what}", title=title, empty=products.empty)


Line = tuple[str, str, bool]
FIRST = ("Unit of protection", "Records", "This release", "Budget", "Ledger")


def receipt_lines(lines: Sequence[Line]) -> None:
    """Draw (topic, text, is a warning) lines; a warning is never folded away, and most others are."""
    unfolded = [line for line in lines if line[0] in FIRST or line[2]]
    folded = [line for line in lines if line not in unfolded]
    with st.container(key="receipt", border=True):
        _draw(unfolded)
        if folded:
            with st.expander("All lines that are published with the map", icon=":material/list:"):
                _draw(folded)


def _draw(lines: Iterable[Line]) -> None:
    for topic, text, warning in lines:
        left, right = st.columns([1, 4], gap="small")
        left.markdown(f"**{plain(topic)}**")
        if warning:
            right.markdown(f":red[:material/warning: {plain(text)}]")
        else:
            right.markdown(plain(text))


class Shown(NamedTuple):
    """What a person asked to see of a release."""

    product: ShownProduct
    threshold: float  # in the data's unit
    rounds: int  # of smoothing
    products: Products  # at this threshold and smoothing


def controls(viewer: Viewer, key: str, *, shareable: bool = False) -> Shown:
    """Ask for product, threshold in the data's unit and smoothing rounds; return them and what they give.

    `shareable` keeps them in the address, for views of published things only: a threshold chosen beside the
    baseline may itself tell something of the private data. Each release begins as it was published."""
    bundle_key = viewer.key
    binding: Any = {"bind": "query-params"} if shareable else {}
    names = products_of(viewer)
    first, second, third = st.columns([2, 4, 2], gap="medium")
    product = first.selectbox(
        "Show",
        list(names),
        format_func=names.__getitem__,
        help=tip("vote"),
        key=f"{key}_product_{bundle_key}",
        **binding,
    )
    threshold = second.select_slider(
        f"Threshold ({plain(viewer.unit)})" if viewer.unit else "Threshold",
        threshold_stops(viewer),
        value=viewer.bundle.threshold,
        format_func=lambda value: plain(quantity(value, viewer.unit)),
        help="Moving it is free: every threshold is read off the same released paths.",
        key=f"{key}_threshold_{bundle_key}",
        **binding,
    )
    published = int(viewer.bundle.statement["products"]["smoothing"])
    rounds = third.slider(
        "Smoothing (times)",
        0,
        MAX_ROUNDS,
        value=published,
        help="How many times every hexagon is averaged with its neighbours. This costs nothing.",
        key=f"{key}_smoothing_{bundle_key}",
        **binding,
    )
    products = viewer.at(threshold=float(threshold), smoothing=int(rounds))
    return Shown(product, float(threshold), int(rounds), products)


def released_map(viewer: Viewer, selection: Shown, key: str) -> None:
    """The map of the chosen product, with its legend and its words, over streets where the reader asks."""
    basemap = st.toggle(
        "Streets beneath the map",
        help=f"Your browser then asks {STREETS_HOST} for map pictures. It learns your internet address and "
        "which area you look at, and nothing else. Without it nobody is asked.",
        key=f"{key}_streets",
    )
    painting = paint(viewer, selection.products, selection.product, selection.threshold, selection.rounds)
    entries = legend(painting, maps.theme())
    maps.show(
        viewer.domain,
        [Pane("", painting)],
        mode="single",
        key=key,
        alt=in_words(painting, entries),
        legend=entries,
        streets=basemap,
        layers=viewer.bundle.layers,
    )


def in_words(painting: Painting, entries: Sequence[LegendEntry]) -> str:
    """A map for those who cannot see it: its title and how many hexagons each class has."""
    counts = "; ".join(f"{entry.label}: {plural(entry.cells or 0, 'hexagon')}" for entry in entries)
    return f"{painting.title}. {counts}."


def sentences(viewer: Viewer, products: Products) -> None:
    """What the products say, and how right the published map is; all else is for specialists."""
    first, *further = viewer.in_short(products)
    st.markdown(f"**{plain(first)}**")
    if promise := shown_words(viewer.bundle.published, viewer.bundle.statement):
        st.markdown(plain(f"As published: {promise}"))
    with st.expander("More in words, and for specialists", icon=":material/functions:"):
        _listed([*further, *viewer.for_specialists(products)])


def _listed(lines: Sequence[str]) -> None:
    st.markdown("\n".join(f"- {plain(sentence)}" for sentence in lines))


def statement_facts(viewer: Viewer) -> None:
    """What a release protects and what it does not, from the bundle's own statement."""
    statement = viewer.whole
    protection = statement["guarantee"]
    release = statement["release"]
    st.markdown(f"**{plain(release['title'] or release['id'])}**, released {plain(release['created'][:10])}")
    if release["generated"]:
        generated_badge()
    st.markdown(f":material/shield: {plain(protection['protected'])}")
    if viewer.atlas is not None:
        st.markdown(plain(statement["atlas"]["in_words"]))
    with st.expander("What is protected, and what is not", icon=":material/remove_moderator:"):
        st.markdown(plain(protection["in_words"]))
        for sentence in limits(statement):
            st.markdown(plain(sentence))


TO_READ = 3  # downloads that a reader asks for: picture, page to print, interactive page
LARGEST_MB = 95  # a little less than a viewer takes of one session
OPENED = "opened-bundle"
BROUGHT = "brought-bundle"
CHOSEN = "shelved"
FOLLOWED = "followed-address"


@dataclass(frozen=True)
class Opened:
    """An opened bundle, and its zip if this machine has it."""

    viewer: Viewer
    whole: Callable[[], bytes] | None = None


def offered() -> tuple[StoredBundle, ...]:
    """The stored bundles, and first the shipped example where session or address are about that."""
    about = st.query_params.get("release"), workspace.current().release_id
    return (shelved(), *stored_bundles()) if any(map(is_shipped, about)) else stored_bundles()


def anything_chosen() -> bool:
    """Whether there is a bundle to choose, of which one is opened, or a file was brought."""
    return bool(offered()) or st.session_state.get(BROUGHT) is not None


def ask_bundle() -> Opened | str | None:
    """The bundle that a person opened, the sentence that names its fault, or None."""
    bundles = offered()
    bundle = None
    _follow_address(bundles)
    if bundles:
        bundle = st.selectbox(
            "Published maps",
            bundles,
            format_func=lambda bundle: bundle.title,
            placeholder="choose one",
            key=CHOSEN,
        )
    upload = st.file_uploader(
        "Or open a bundle file (.zip)" if bundles else "Open a bundle file (.zip)",
        "zip",
        help="It is checked before anything of it is shown: names, sizes, checksums, its statement, and that "
        "its maps follow from its paths. Nothing in it is ever executed.",
        key=BROUGHT,
        max_upload_size=LARGEST_MB,
    )
    try:
        if upload is not None:
            st.query_params.pop("release", None)
            return Opened(_opened(f"upload {upload.file_id}", upload.getvalue()))
        if bundle is not None:
            st.query_params["release"] = st.session_state[FOLLOWED] = bundle.name
            return Opened(_opened(f"{bundle.name} {_size(bundle.path)}", bundle.path), bundle.zipped)
    except (WorkflowError, ValueError) as error:
        return str(error)
    if st.query_params.get("release") is not None:
        alternative = " or choose one of the published maps" if bundles else ""
        return f"There is no release of this address on this machine: open its bundle file{alternative}."
    return None


def _follow_address(bundles: tuple[StoredBundle, ...]) -> None:
    """Choose the bundle that a new address names, or none where it is not there; without one, the newest."""
    name = st.query_params.get("release")
    if name is not None and name != st.session_state.get(FOLLOWED):
        st.session_state[FOLLOWED] = name
        st.session_state[CHOSEN] = next((bundle for bundle in bundles if bundle.name == name), None)


def _size(path: Path) -> int:
    """Bytes of a bundle's zip, which grows when it is signed; of a folder how many files it has."""
    return len(list(path.iterdir())) if path.is_dir() else path.stat().st_size


def _opened(name: str, source: bytes | Path) -> Viewer:
    """The same bundle is read once per session."""
    cached = st.session_state.get(OPENED)
    if cached is None or cached[0] != name:
        cached = (name, open_bundle(source))
        st.session_state[OPENED] = cached
    viewer: Viewer = cached[1]
    return viewer


def downloads(opened: Opened, columns: int = 3) -> None:
    """Buttons in `columns` columns; their files are made when they are pressed, from the checked bundle."""
    bundle = opened.viewer.bundle
    name = slug(bundle)
    if opened.whole is not None:
        st.download_button(
            "Download the bundle (ZIP)",
            opened.whole,
            f"{name}.zip",
            "application/zip",
            type="primary",
            icon=":material/folder_zip:",
            on_click="ignore",
        )
    files = offers(bundle, opened.viewer.atlas)
    _download_buttons(files[:TO_READ], name, columns)
    with st.expander("Files for GIS, tables and programs", icon=":material/dataset:"):
        _download_buttons(files[TO_READ:], name, columns)
    st.caption(
        "The interactive page is one file: it works from disk, can be sent by mail or put on any web server, "
        "and asks nobody for anything."
    )


def _download_buttons(files: Sequence[Offer], name: str, columns: int) -> None:
    places = st.columns(columns)
    for number, offer in enumerate(files):
        places[number % columns].download_button(
            plain(offer.title),
            offer.make,
            f"{name}-{offer.file}",
            offer.media,
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
        )


def embedded_label(viewer: Viewer, of_release: bool = False) -> None:
    """Show the label, of the `of_release` release or of this map, made anew from the checked statement, in a
    frame that shares nothing with this page; `static/frame.css` gives it its height."""
    label = viewer.whole_label if of_release else viewer.bundle.label_html
    page = base64.b64encode(label.encode()).decode()
    with st.container(key="label"):
        st.iframe(
            f"data:text/html;charset=utf-8;base64,{page}",
            height=1240,
            alt="The one-page label of the release",
        )

"""Other releases next to the opened one: maps under one camera."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from geo.maps.linked import Pane
from geo.maps.painting import LegendEntry, legend
from hexcursion.bundle.published.bundle_store import StoredBundle, open_bundle, stored_bundles
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.statement.guarantee import together_text
from hexcursion.errors import WorkflowError
from hexcursion.words import quantity
from pages.shared import maps
from pages.shared.plain_text import one_line, plain
from pages.shared.released_view import ShownProduct, paint, products_of

MOST_BESIDE = 3  # others: four maps stand side by side
HELD_BESIDE = "beside-opened"


def others_beside(viewer: Viewer, product: ShownProduct, threshold: float, rounds: int) -> None:
    """Ask for other stored releases and draw all under one camera."""
    statement = (viewer.bundle if viewer.atlas is None else viewer.atlas).statement
    bundles = [bundle for bundle in stored_bundles() if not bundle.states(statement)]
    if not bundles:
        return
    selection = st.multiselect(
        "Other releases of the same area, side by side",
        bundles,
        format_func=lambda bundle: one_line(bundle.title),
        max_selections=MOST_BESIDE,
        placeholder="choose up to three",
        key="viewer_beside",
    )
    # The list may have a file of the opened release under another name: a release counts once.
    viewers = [
        viewer,
        *(_like(viewer, other) for bundle in selection if (other := _opened(bundle)) is not None),
    ]
    opened = list({_drawn(release): release for release in reversed(viewers)}.values())[::-1]
    promised = together_text([release.bundle.statement["guarantee"] for release in opened])
    if promised:
        st.caption(plain(promised))
    same = [release for release in opened if release.domain.cells == viewer.domain.cells]
    if len(same) < len(opened):
        st.info("A release of other hexagons is left out: it cannot share one map.", icon=":material/info:")
    if len(same) < 2:
        return
    panes, entries = in_time_order(same, product, threshold, rounds)
    maps.show(
        viewer.domain,
        panes,
        mode="beside",
        key="viewer_beside_map",
        alt="Releases side by side, the earliest first: " + "; ".join(pane.title for pane in panes) + ".",
        legend=entries,
        layers=viewer.bundle.layers,
    )


def in_time_order(
    viewers: Sequence[Viewer], product: ShownProduct, threshold: float, rounds: int
) -> tuple[list[Pane], tuple[LegendEntry, ...]]:
    """Return a pane of each release, the earliest first, and one legend for all.

    One that lacks the product shows its released region; one of another unit or range its own threshold,
    named in the title."""
    panes: list[Pane] = []
    entries: dict[str, LegendEntry] = {}
    unit = viewers[0].unit
    created = [str(viewer.bundle.statement["release"]["created"]) for viewer in viewers]
    days = [time[:10] for time in created]
    for time, viewer in sorted(zip(created, viewers, strict=True), key=lambda pair: pair[0]):
        low, high = viewer.thresholds
        fits = viewer.unit == unit and low <= threshold <= high
        at = threshold if fits else viewer.bundle.threshold
        name = product if product in products_of(viewer) else "vote-set"
        painting = paint(viewer, viewer.at(threshold=at, smoothing=rounds), name, at, rounds)
        date = time[:10]
        if days.count(date) > 1:  # a day does not tell them apart
            date = f"{date} {time[11:19]} UTC"
        panes.append(Pane(date if fits else f"{date}, at {quantity(at, viewer.unit)}", painting))
        for entry in legend(painting, maps.theme()):
            entries.setdefault(entry.label, LegendEntry(entry.label, entry.colour))
    return panes, tuple(entries.values())


def _like(viewer: Viewer, other: Viewer) -> Viewer:
    """The layer of another atlas with the value of the map that is read; the first where none has it."""
    value = viewer.bundle.statement["subject"]["value"]
    layers = (layer for layer in other.layers.values() if layer.bundle.statement["subject"]["value"] == value)
    return next(layers, other)


def _drawn(viewer: Viewer) -> bytes:
    """The drawn release; the first layer represents an atlas."""
    return (viewer.bundle if viewer.atlas is None else viewer.atlas.layers[0]).drawn


def _opened(bundle: StoredBundle) -> Viewer | None:
    """The same bundles are read once per session."""
    cache: dict[str, Viewer] = st.session_state.setdefault(HELD_BESIDE, {})
    if bundle.name not in cache:
        try:
            cache[bundle.name] = open_bundle(bundle.path)
        except WorkflowError as error:
            st.error(plain(f"{bundle.title}: {error}"), icon=":material/error:")
            return None
        while len(cache) > MOST_BESIDE + 1:
            cache.pop(next(iter(cache)))
    return cache[bundle.name]

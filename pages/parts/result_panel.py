"""After the button: the released map, free to explore, beside the baseline that only the curator sees."""

from __future__ import annotations

import streamlit as st

from geo.layers import (
    baseline_deck,
    boundaries_deck,
    boundaries_legend,
    difference_deck,
    format_value,
    legend,
    paint_difference,
    paint_set,
)
from pages.parts import maps, released_view
from pages.parts.glossary import tip
from pages.parts.workspace import Explored, Found, Workspace
from workflow.bundle import Products
from workflow.desk import Bools, agreement, baseline_at, curators_baseline, find_bundle
from workflow.errors import WorkflowError
from workflow.viewer import Viewer

BESIDE, DIFFERENCE, LINES, ALONE = "beside", "difference", "lines", "alone"
WAYS = {
    BESIDE: "Side by side",
    DIFFERENCE: "Difference",
    LINES: "Boundary lines",
    ALONE: "Released map only",
}
SHOWN_PATHS = 5


def for_curator(work: Workspace, found: Found, release_id: str) -> None:
    """The released map and, for the curator only, how it compares with the baseline."""
    if work.explored is None:
        work.explored = Explored(find_bundle(release_id), curators_baseline(found.project, found.tuned))
    viewer, baseline = work.explored.viewer, work.explored.baseline
    st.query_params["release"] = release_id
    st.caption(
        f":material/check_circle: Released as {release_id}. Explore freely: moving the threshold reads the "
        f"same released paths again. :material/receipt_long: {work.budget_text or ''} Exploring does not "
        f"change it."
    )
    product, threshold, rounds, products = released_view.controls(viewer, "result")
    private = baseline_at(found.project, baseline, threshold)
    way = _comparison(products, private)
    if way == ALONE:
        released_view.released_map(viewer, product, threshold, rounds, products, "released")
    elif way == BESIDE:
        _beside(viewer, private, product, threshold, rounds, products)
    elif way == DIFFERENCE:
        _difference(viewer, private, products)
    else:
        _lines(viewer, private, products)
    released_view.sentences(viewer, products)
    st.button(
        "Plan another release of these data",
        icon=":material/add:",
        on_click=work.plan_another,
        help="A further release is a further charge to the same budget.",
    )


def reopened(release_id: str) -> None:
    """A release after a reload: public, so it is shown again; nothing is drawn."""
    try:
        viewer = find_bundle(release_id)
    except WorkflowError as error:
        st.error(str(error), icon=":material/error:")
        return
    st.info(
        "This is the release of this address, read from its bundle; nothing new was drawn. The private data "
        "of the earlier session are no longer in memory, so there is no baseline to compare with.",
        icon=":material/history:",
    )
    product, threshold, rounds, products = released_view.controls(viewer, "reopened")
    released_view.released_map(viewer, product, threshold, rounds, products, "released")
    released_view.sentences(viewer, products)


def _comparison(products: Products, private: Bools) -> str:
    """Which comparison to draw, and how well release and baseline agree."""
    seen = agreement(products.vote_set, private)
    first, second, third, fourth = st.columns([4, 1, 1, 1], vertical_alignment="bottom")
    way = first.segmented_control(
        "Compare with the baseline",
        list(WAYS),
        format_func=WAYS.__getitem__,
        default=BESIDE,
        required=True,
        help=tip("baseline"),
        key="result_way",
    )
    second.metric("Agreement", f"{seen.iou:.2f}", help=tip("iou"))
    third.metric("Falsely in", f"{seen.falsely_in:,}", help="Hexagons released, but not in the baseline.")
    fourth.metric("Falsely out", f"{seen.falsely_out:,}", help="Hexagons in the baseline, but not released.")
    return str(way)


def _beside(
    viewer: Viewer, private: Bools, product: str, threshold: float, rounds: int, products: Products
) -> None:
    words = f"{products.direction} {format_value(threshold, viewer.unit)}"
    left, right = st.columns(2)
    with left:
        st.markdown("**Released**: private, may be published")
        released_view.released_map(viewer, product, threshold, rounds, products, "released", 360)
    with right:
        st.markdown("**Baseline**: not private, for your eyes only")
        painting = paint_set(private, inside=words, outside=f"not {words}", title="Baseline")
        maps.show(
            baseline_deck(viewer.domain, painting, **maps.look(width=360)),
            key="baseline",
            alt=f"Private baseline: {int(private.sum()):,} of {private.size:,} hexagons are {words}.",
            legend=legend(painting, maps.theme()),
            private=True,
        )


def _difference(viewer: Viewer, private: Bools, products: Products) -> None:
    painting = paint_difference(products.vote_set, private, title="Release and baseline")
    entries = legend(painting, maps.theme())
    maps.show(
        difference_deck(viewer.domain, products.vote_set, private, **maps.look(width=900)),
        key="difference",
        alt="; ".join(f"{entry.label}: {entry.cells:,} hexagons" for entry in entries),
        legend=entries,
        private=True,
    )


def _lines(viewer: Viewer, private: Bools, products: Products) -> None:
    shown = list(products.paths[:SHOWN_PATHS])
    maps.show(
        boundaries_deck(viewer.domain, shown, private, **maps.look(width=900)),
        key="lines",
        alt=f"Boundaries of {len(shown)} released paths over the boundary of the baseline.",
        legend=boundaries_legend(len(shown), baseline=True, theme=maps.theme()),
        private=True,
    )

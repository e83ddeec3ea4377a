"""After the button: the released map, free to explore, beside the baseline that only the curator sees."""

from __future__ import annotations

import streamlit as st

from geo.layers import (
    baseline_deck,
    boundaries_deck,
    boundaries_legend,
    difference_deck,
    legend,
    paint_difference,
    paint_set,
)
from pages.parts import maps, released_view
from pages.parts.glossary import tip
from pages.parts.workspace import Workspace
from workflow.bundle import Products
from workflow.desk import agreement, baseline_at, find_bundle
from workflow.errors import WorkflowError

BESIDE, DIFFERENCE, LINES, ALONE = "beside", "difference", "lines", "alone"
WAYS = {
    BESIDE: "Side by side",
    DIFFERENCE: "Difference",
    LINES: "Boundary lines",
    ALONE: "Released map only",
}
SHOWN_PATHS = 5


def for_curator(work: Workspace) -> None:
    """The released map and, for the curator only, how it compares with the baseline."""
    if work.viewer is None or work.published is None:
        return
    st.query_params["release"] = work.published.release.release_id
    st.success(
        f"Released as {work.published.release.release_id}. Explore freely: moving the threshold reads the "
        "same released paths again and costs nothing.",
        icon=":material/check_circle:",
    )
    product, threshold, rounds, products = released_view.controls(work.viewer, "result")
    ways = WAYS if work.baseline is not None else {ALONE: WAYS[ALONE]}
    way = st.segmented_control(
        "Compare with the baseline",
        list(ways),
        format_func=WAYS.__getitem__,
        default=next(iter(ways)),
        required=True,
        help=tip("baseline"),
        key="result_way",
    )
    if way == ALONE or work.baseline is None or work.project is None:
        released_view.released_map(work.viewer, product, threshold, rounds, products, "released")
    else:
        _compare(work, str(way), product, threshold, rounds, products)
    for sentence in work.viewer.sentences(products):
        st.markdown(f"- {sentence}")
    st.caption(f":material/receipt_long: {work.budget_text or ''} Exploring has not changed it.")
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
    for sentence in viewer.sentences(products):
        st.markdown(f"- {sentence}")


def _compare(
    work: Workspace, way: str, product: str, threshold: float, rounds: int, products: Products
) -> None:
    viewer, project = work.viewer, work.project
    private = baseline_at(project, work.baseline, threshold)
    seen = agreement(products.vote_set, private)
    first, second, third = st.columns(3)
    first.metric("Agreement (IoU)", f"{seen.iou:.2f}", help=tip("iou"))
    second.metric("Falsely in", f"{seen.falsely_in:,} hexagons")
    third.metric("Falsely out", f"{seen.falsely_out:,} hexagons")
    words = f"{products.direction} the threshold"
    if way == BESIDE:
        left, right = st.columns(2)
        with left:
            st.markdown("**Released**: private, may be published")
            released_view.released_map(viewer, product, threshold, rounds, products, "released", 430)
        with right:
            st.markdown("**Baseline**: not private, for your eyes only")
            painting = paint_set(private, inside=words, outside=f"not {words}", title="Baseline")
            maps.show(
                baseline_deck(viewer.domain, painting, **maps.look(width=430)),
                key="baseline",
                alt=f"Private baseline: {int(private.sum()):,} of {private.size:,} hexagons are {words}.",
                legend=legend(painting, maps.theme()),
                private=True,
            )
    elif way == DIFFERENCE:
        painting = paint_difference(products.vote_set, private, title="Release and baseline")
        maps.show(
            difference_deck(viewer.domain, products.vote_set, private, **maps.look(width=900)),
            key="difference",
            alt=f"{seen.falsely_in:,} hexagons falsely in, {seen.falsely_out:,} falsely out.",
            legend=legend(painting, maps.theme()),
            private=True,
        )
    else:
        shown = list(products.paths[:SHOWN_PATHS])
        maps.show(
            boundaries_deck(viewer.domain, shown, private, **maps.look(width=900)),
            key="lines",
            alt=f"Boundaries of {len(shown)} released paths over the boundary of the baseline.",
            legend=boundaries_legend(len(shown), baseline=True, theme=maps.theme()),
            private=True,
        )

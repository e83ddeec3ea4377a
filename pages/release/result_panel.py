"""After the button: the released map, free to explore, with the baseline that only the curator sees."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from geo.maps.layers import boundaries_legend
from geo.maps.linked import Mode, Pane, boundary_lines
from geo.maps.painting import LegendEntry, Painting, legend, paint_baseline, paint_difference
from hexcursion.bundle import Products
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.statement.change import change_sentence
from hexcursion.bundle.statement.expected import agreement_between, doubts_of, shown_words
from hexcursion.bundle.statement.promise import TOO_FEW
from hexcursion.comparing.own_records import own_records
from hexcursion.errors import WorkflowError
from hexcursion.project.atlas import AtlasProject
from hexcursion.project.baseline import Agreement, compare, free_map
from hexcursion.words import agreement_words, plural, quantity, ratio_words, side_words
from pages.release.releasing import Bools, baseline_at, curators_baselines
from pages.shared import atlas_view, maps, released_view
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.released_view import Shown, paint
from pages.shared.session.outcome import Explored, SearchOutcome
from pages.shared.session.workspace import Workspace
from pages.shared.shipped import is_shipped, viewer_of

BESIDE, SWIPE, TOGGLE, DIFFERENCE, LINES, ALONE = "beside", "swipe", "toggle", "difference", "lines", "alone"
WAYS = {
    BESIDE: "Side by side",
    SWIPE: "Swipe",
    TOGGLE: "Toggle",
    DIFFERENCE: "Difference",
    LINES: "Boundary lines",
    ALONE: "Released only",
}
LINKED: dict[str, Mode] = {BESIDE: "beside", SWIPE: "swipe", TOGGLE: "toggle"}
KEY = "result_map"  # the same for every way: the camera stays
SHOWN_PATHS = 5


def for_curator(work: Workspace, outcome: SearchOutcome, release_id: str) -> None:
    """The released map and, for the curator only, how it compares with the baseline."""
    if work.explored is None:
        first, *further = curators_baselines(outcome.each)
        work.explored = Explored(viewer_of(release_id), first, tuple(further))
    viewer, baseline = work.explored.viewer, work.explored.baseline
    work.saw_baseline()
    st.query_params["release"] = release_id
    if outcome.atlas is not None:
        _atlas(work, outcome.atlas[0], work.explored)
        return
    selection = released_view.controls(viewer, "result")
    product, threshold, rounds, products = selection
    # where the release is judged: both maps then show the same land
    private = baseline_at(outcome.project, baseline, threshold) & products.judged
    way = _way()
    painting = paint(viewer, products, product, threshold, rounds)
    if way in LINKED:
        _both(viewer, private, selection, painting, LINKED[way])
    elif way == DIFFERENCE:
        _difference(viewer, private, products)
    elif way == LINES:
        _lines(viewer, private, products)
    else:
        entries = legend(painting, maps.theme())
        _one(viewer, Pane("Released", painting), entries, released_view.in_words(painting, entries))
    _own_records(outcome, products, threshold)
    with st.expander("Agreement (IoU) with the map without privacy", icon=":material/functions:"):
        _agreement(products, private)
        _show_agreement_figures(viewer)
    _doubts(viewer)
    release_words = "The finished example" if is_shipped(release_id) else f"Released as {release_id}"
    st.caption(
        f":material/check_circle: {plain(release_words)}. Explore freely: moving the threshold "
        "reads the same released paths again. "
        f":material/receipt_long: {plain(work.budget_text or '')} Exploring does not change it."
    )
    released_view.sentences(viewer, products)
    st.button(
        "Plan another release of these data",
        icon=":material/add:",
        on_click=work.plan_another,
        help="A further release is a further charge to the same budget.",
    )


def _atlas(work: Workspace, project: AtlasProject, explored: Explored) -> None:
    """All maps of an atlas under one camera, the curator's own behind a toggle, and how each agrees."""
    viewer = explored.viewer
    sets: dict[str, Painting] = {}
    agreements: list[Agreement] = []
    for (name, layer), project_of_layer, baseline in zip(
        viewer.layers.items(), project.layers, (explored.baseline, *explored.others), strict=True
    ):
        products = layer.bundle.published
        private = (
            baseline_at(project_of_layer, baseline, project_of_layer.settings.threshold) & products.judged
        )
        side = side_words(layer.direction)
        sets[name] = paint_baseline(private, side, empty=products.empty)
        agreements.append(compare(products.in_set, private))
    atlas_view.side_by_side(viewer, "result", sets)
    with st.expander("Agreement (IoU) with the maps without privacy", icon=":material/functions:"):
        st.caption(":material/lock: For you only.")
        st.table(
            {
                "Map": [plain(atlas_view.value_of(layer, name)) for name, layer in viewer.layers.items()],
                "Agreement": [plain(agreement_words(agreement.iou)) for agreement in agreements],
                "Wrongly in": [plain(plural(agreement.falsely_in, "hexagon")) for agreement in agreements],
                "Wrongly out": [plain(plural(agreement.falsely_out, "hexagon")) for agreement in agreements],
            },
            hide_index=True,
            border="horizontal",
        )
    st.caption(
        f":material/check_circle: Released as {plain(explored.viewer.whole['release']['id'])}. The viewer "
        "opens each map at any threshold. "
        f":material/receipt_long: {plain(work.budget_text or '')} Looking does not change it."
    )
    st.button(
        "Plan another release of these data",
        icon=":material/add:",
        on_click=work.plan_another,
        help="A further release is a further charge to the same budget.",
    )


def _own_records(outcome: SearchOutcome, products: Products, threshold: float) -> None:
    """The yardstick, from private records, and advice against publishing where a map gains nothing."""
    tuned, public = outcome.tuned, None
    if tuned.free_agreement is not None and threshold == outcome.project.settings.threshold:
        public = free_map(outcome.project, tuned.result.model)
    yardstick = own_records(outcome.project, products, public, threshold)
    if yardstick is None:
        return
    st.markdown(plain(yardstick.words))
    if yardstick.advice:
        st.warning(plain(yardstick.advice), icon=":material/block:")


def _show_agreement_figures(viewer: Viewer) -> None:
    """The figures expected beforehand and stated by the release; not of too few records."""
    statement = viewer.bundle.statement
    if shown_words(viewer.bundle.published, statement) == TOO_FEW:
        return
    verdict, expected = statement.get("told"), statement["expected"]
    expected_agreement = None if expected is None else expected["agreement"]
    of_map = {} if verdict is None or verdict["map"] is None else verdict["map"]
    if figures := agreement_figures(
        expected_agreement, of_map.get("agreement"), agreement_between(of_map).rstrip(",")
    ):
        st.caption(plain(figures))


def _doubts(viewer: Viewer) -> None:
    """What speaks against the model of the release, and what has changed since the public map."""
    statement = viewer.bundle.statement
    for against in doubts_of(statement, shown_words(viewer.bundle.published, statement)):
        st.warning(plain(against), icon=":material/difference:")
    if changed := change_sentence(statement):
        st.info(plain(changed), icon=":material/compare_arrows:")


def agreement_figures(expected: float | None, stated_agreement: float | None, between: str = "") -> str:
    """The agreements expected and stated, in [0, 1], rounded as the sentences below do; "" for neither.

    `between`: the range of the stated one, which follows its number.
    """
    figures = [] if expected is None else [f"expected beforehand {ratio_words(expected)}"]
    figures += (
        [] if stated_agreement is None else [f"stated by the release itself {stated_agreement:.2f}{between}"]
    )
    if not figures:
        return ""
    return f"Agreement at the published threshold: {', '.join(figures)}; the true agreement stands above."


def reopened(release_id: str) -> None:
    """A release after a reload: public, so it is shown again; nothing is drawn."""
    try:
        viewer = viewer_of(release_id)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
        return
    st.info(
        "This is the finished example as it ships with the program. Open it again on the "
        "screen Start to see it beside the map without privacy."
        if is_shipped(release_id)
        else "This is the release of this address, read from its bundle; nothing new was drawn. The private "
        "data of the earlier session are no longer in memory, so there is no map without privacy to compare "
        "with.",
        icon=":material/history:",
    )
    viewer = atlas_view.ask_layer(viewer, "reopened")
    selection = released_view.controls(viewer, "reopened", shareable=True)
    released_view.released_map(viewer, selection, "released")
    released_view.sentences(viewer, selection.products)


def _way() -> str:
    """Which comparison to draw."""
    return str(
        st.segmented_control(
            "Compare with the map without privacy",
            [way for way in WAYS if way not in LINKED or LINKED[way] in maps.modes(*LINKED.values())],
            format_func=WAYS.__getitem__,
            default=BESIDE,
            required=True,
            help=tip("baseline"),
            key="result_way",
            wrap=True,
        )
    )


def _agreement(products: Products, private: Bools) -> None:
    """How well the set at the cutoff and the baseline agree."""
    agreement = compare(products.in_set, private)
    with st.container(horizontal=True, gap="medium", width="content", key="agreeing"):
        st.metric(
            "Agreement where the map is judged",
            plain(agreement_words(agreement.iou)),
            help=tip("iou"),
            width="content",
        )
        st.metric(
            "Wrongly in",
            plain(plural(agreement.falsely_in, "hexagon")),
            width="content",
            help="On the released map only.",
        )
        st.metric(
            "Wrongly out",
            plain(plural(agreement.falsely_out, "hexagon")),
            width="content",
            help="Inside on the map without privacy only.",
        )


def _both(viewer: Viewer, private: Bools, selection: Shown, painting: Painting, mode: Mode) -> None:
    """The release and the baseline under one camera, with a legend each."""
    products = selection.products
    words = f"{side_words(viewer.direction)} {quantity(selection.threshold, viewer.unit)}"
    classes = "below" in {entry.role for entry in painting.entries}
    baseline = paint_baseline(
        private, words, empty=products.empty, other_side="below" if classes else "outside"
    )
    entries = legend(painting, maps.theme())
    baseline_entries = legend(baseline, maps.theme())
    count = int(private.sum())
    maps.show(
        viewer.domain,
        [
            Pane("Released: may be published", painting),
            Pane(f"Without privacy: {count:,} hexagons {words}; do not publish", baseline, private=True),
        ],
        mode=mode,
        key=KEY,
        alt=f"{released_view.in_words(painting, entries)} Beside it the map without privacy: {count:,} of "
        f"{int(products.judged.sum()):,} hexagons are {words}.",
        legend=(*entries, *baseline_entries),
        legends={"Released": entries, "Without privacy": baseline_entries},
        layers=viewer.bundle.layers,
    )


def _difference(viewer: Viewer, private: Bools, products: Products) -> None:
    painting = paint_difference(
        products.in_set,
        private & products.judged,
        title="Release and map without privacy",
        empty=products.empty,
    )
    entries = legend(painting, maps.theme())
    pane = Pane("Difference: do not publish", painting, private=True)
    _one(viewer, pane, entries, released_view.in_words(painting, entries))


def _lines(viewer: Viewer, private: Bools, products: Products) -> None:
    paths = list(products.paths[:SHOWN_PATHS])
    lines = boundary_lines(viewer.domain, paths, private)
    _one(
        viewer,
        Pane("Boundaries: do not publish", private=True, lines=lines),
        boundaries_legend(len(paths), baseline=True, theme=maps.theme()),
        f"Boundaries of {len(paths)} released paths over the boundary of the map without privacy.",
    )


def _one(viewer: Viewer, pane: Pane, entries: Sequence[LegendEntry], alt: str) -> None:
    layers = viewer.bundle.layers
    maps.show(viewer.domain, [pane], mode="single", key=KEY, alt=alt, legend=entries, layers=layers)

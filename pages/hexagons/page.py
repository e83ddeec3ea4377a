"""Hexagons: the public area and the size of its cells."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from geo import Domain
from geo.linked import Pane
from geo.painting import paint_cells
from pages.data.sources import remembered
from pages.hexagons.mending import offer_exchange, part_of, stop
from pages.hexagons.places import Box, domain_of, facts_of, is_doubtful
from pages.shared import access, linked_maps, workspace
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from workflow.errors import WorkflowError
from workflow.project.example import EXAMPLE_REGION, example_folder

work = workspace.current()
COARSEST, FINEST = 4, 10  # resolutions on offer; a settings file may name others
OF_EXAMPLE = example_folder()
FROM_EXAMPLE, UPLOAD, PATH, BOX = "example", "upload", "path", "box"
WAYS = {
    FROM_EXAMPLE: "Region of the example",
    UPLOAD: "Upload a GeoJSON",
    PATH: "GeoJSON on this machine",
    BOX: "Bounding box",
}


def known_way() -> str | None:
    """How the area in the choices was named; None while there is none."""
    region = work.choices.get("region")
    if region is None:
        return BOX if work.choices.get("bbox") else None
    if Path(region).is_relative_to(OF_EXAMPLE):
        return FROM_EXAMPLE
    return UPLOAD if work.folder.holds(region) else PATH


def asked_region() -> tuple[str | None, Box | None] | None:
    """The region as settings name it, or None until one is named."""
    named, box = work.choices.get("region"), work.choices.get("bbox")
    way_now = known_way()
    ways = [way for way in WAYS if way != FROM_EXAMPLE or work.kind == "example"]
    way = st.radio(
        "Public area",
        ways,
        index=ways.index(way_now) if way_now in ways else 0,
        format_func=WAYS.__getitem__,
        key=f"region_way_{work.mark}",
        persist_state="session",
        help=tip("domain"),
    )
    if way == FROM_EXAMPLE:
        return str(OF_EXAMPLE / EXAMPLE_REGION), None
    if way == UPLOAD:
        path = remembered(
            "Polygon of the area, in longitude and latitude", ["geojson", "json"], "region", work
        )
        return (part_of(path, work), None) if path else None
    if way == PATH:
        path = st.text_input(
            "Path of the GeoJSON file",
            value=str(named) if way_now == PATH else "",
            key=f"region_path_{work.mark}",
            persist_state="session",
        ).strip()
        return (part_of(path, work), None) if path else None
    st.caption("Of a place that anybody may know. Greater London, for example: -0.52, 51.28, 0.34, 51.70.")
    columns = st.columns(2)
    sides = [
        columns[number // 2].number_input(
            f"{plain(side)} (degrees)",
            value=value,
            format="%.4f",
            step=0.01,
            key=f"box_{side}_{work.mark}",
            persist_state="session",
        )
        for number, (side, value) in enumerate(
            zip(("West", "South", "East", "North"), box or (None,) * 4, strict=True)
        )
    ]
    west, south, east, north = sides
    if west is None or south is None or east is None or north is None:
        return None
    return None, (west, south, east, north)


def asked_crossing(box: Box | None) -> bool | None:
    """Whether the box crosses the date line, as settings name it; None where that is no question."""
    if box is None or not is_doubtful(box):
        return None
    answers = {"Yes": True, "No": False}
    chosen = work.choices.get("crosses_date_line")
    known = next((word for word, meant in answers.items() if meant is chosen), None)
    answer = st.radio(
        "Does the box cross the date line, at 180 degrees?",
        ("Yes", "No"),
        index=None if known is None else list(answers).index(known),
        horizontal=True,
        help="Its west lies east of its east, or it is more than half the globe wide: often two numbers are "
        "exchanged.",
        key=f"box_crosses_{work.mark}",
        persist_state="session",
    )
    return None if answer is None else answers[answer]


def asked_resolution() -> int:
    """The resolution; it stands in the address, since it is public and says nothing of the data."""
    decided = work.choices.get("resolution")
    if decided is not None and st.session_state.get("resolution_of") != work.mark:
        st.session_state["resolution"] = int(decided)  # chosen elsewhere: by the example or by settings
    low, high = min(COARSEST, decided or COARSEST), max(FINEST, decided or FINEST)
    resolution = int(
        st.slider("Resolution", low, high, 8, help=tip("resolution"), key="resolution", bind="query-params")
    )
    if decided is not None and st.session_state.get("resolution_of") != work.mark:
        st.session_state["resolution_of"] = work.mark
        if resolution != decided:
            st.rerun()  # the address was asked first, and had another one
    return resolution


def fill(region: tuple[str | None, Box | None], resolution: int, crosses: bool | None) -> None:
    """Make the hexagons asked for, or say why not and keep those of before."""
    try:
        with st.spinner("Filling the area with hexagons"):
            if region[0] is not None:
                access.reach_of(work.folder).check(region[0])
            domain = domain_of(*region, resolution, crosses)
    except WorkflowError as error:
        kept = " The hexagons shown are those of before." if work.domain is not None else ""
        st.error(f"{plain(error)}{kept}", icon=":material/error:")
        if "look swapped" in str(error):
            offer_exchange(work, *region)
        return
    work.domain, work.asked_domain = domain, (*region, resolution)
    work.choose(region=region[0], bbox=region[1], resolution=resolution, crosses_date_line=crosses)
    st.rerun()


def summary(domain: Domain) -> None:
    """How many cells there are, how large, and how many rows lie inside."""
    facts = facts_of(domain, work.private)
    columns = st.columns([2, 2, 2, 3])
    columns[0].metric("Hexagons", f"{domain.size:,}")
    columns[1].metric("Area of one", plain(facts.area))
    columns[2].metric("Spacing", plain(facts.spacing), help="From the centre of one hexagon to the next.")
    columns[3].metric("Rows inside", plain(facts.inside), help=plain(facts.basis))


left, right = st.columns([1, 2], gap="large")
with left:
    region = asked_region()
    crosses = asked_crossing(region[1]) if region is not None else None
    resolution = asked_resolution()
    st.caption(
        "The area is public geography. It is never taken from the data: where the data end would reveal "
        "where somebody lives."
    )
    known = (work.asked_domain, work.choices.get("crosses_date_line"))
    if region is not None and known != ((*region, resolution), crosses):
        fill(region, resolution, crosses)
    elif region is None and work.domain is not None:
        st.caption(":material/info: Until another area is named, the one shown stays in use.")
with right:
    if work.domain is None:
        st.info("Name a public area to see its hexagons.", icon=":material/hexagon:")
    else:
        summary(work.domain)
        lost = work.stray()
        if lost is not None:
            stop(work, lost)
        places = work.private.places if work.private is not None else ()
        pane = Pane("", paint_cells(work.domain.size), private=bool(places), points=places)
        linked_maps.show(
            work.domain,
            [pane],
            mode="single",
            key="preview",
            alt=f"The area filled with {work.domain.size:,} hexagons, and the places of the private rows.",
        )
        for note in (work.domain.origin, *work.domain.notes):
            st.caption(plain(note))

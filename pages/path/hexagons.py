"""Hexagons: the public area and the size of its cells."""

from __future__ import annotations

import streamlit as st

from geo.layers import Domain, preview_deck
from pages.parts import maps, workspace
from pages.parts.glossary import tip
from workflow.desk import Box, domain_of, facts_of
from workflow.errors import WorkflowError

work = workspace.current()
FROM_EXAMPLE, UPLOAD, PATH, BOX = "example", "upload", "path", "box"
WAYS = {
    FROM_EXAMPLE: "Region of the example",
    UPLOAD: "Upload a GeoJSON",
    PATH: "GeoJSON on this machine",
    BOX: "Bounding box",
}


def asked_region() -> tuple[str | None, Box | None] | None:
    """The region as settings name it, or None until one is named."""
    ways = [way for way in WAYS if way != FROM_EXAMPLE or work.generated]
    known = {FROM_EXAMPLE: work.generated, PATH: work.choices.get("region"), BOX: work.choices.get("bbox")}
    way = st.radio(
        "Public area",
        ways,
        index=ways.index(next((way for way in ways if known.get(way)), ways[0])),
        format_func=WAYS.__getitem__,
        key=f"region_way_{work.mark}",
        persist_state="session",
        help=tip("domain"),
    )
    if way == FROM_EXAMPLE:
        return (str(work.choices["region"]), None) if work.choices.get("region") else None
    if way == UPLOAD:
        upload = st.file_uploader("Polygon of the area, in longitude and latitude", ["geojson", "json"])
        if upload is None:
            return None
        return str(work.folder.keep(upload.name, upload.getvalue())), None
    if way == PATH:
        named = st.text_input(
            "Path of the GeoJSON file",
            value=work.choices.get("region") or "",
            key=f"region_path_{work.mark}",
            persist_state="session",
        ).strip()
        return (named, None) if named else None
    box = work.choices.get("bbox") or (None,) * 4
    sides = [
        st.number_input(
            f"{side} (degrees)",
            value=value,
            format="%.4f",
            step=0.01,
            key=f"box_{side}_{work.mark}",
            persist_state="session",
        )
        for side, value in zip(("West", "South", "East", "North"), box, strict=True)
    ]
    west, south, east, north = sides
    if west is None or south is None or east is None or north is None:
        return None
    return None, (west, south, east, north)


def summary(domain: Domain) -> None:
    """How many cells there are, how large, and how many rows lie inside."""
    facts = facts_of(domain, work.private)
    columns = st.columns([2, 2, 2, 3])
    columns[0].metric("Hexagons", f"{domain.size:,}")
    columns[1].metric("Area of one", facts.area)
    columns[2].metric("Distance to the next", facts.spacing)
    columns[3].metric("Rows inside", facts.inside, help="Of the places previewed on the Data screen.")


left, right = st.columns([1, 2], gap="large")
with left:
    region = asked_region()
    resolution = st.slider(
        "Resolution",
        4,
        10,
        value=int(work.choices.get("resolution", 8)),
        help=tip("resolution"),
        key=f"resolution_{work.mark}",
        persist_state="session",
    )
    st.caption(
        "The area is public geography. It is never taken from the data: where the data end would reveal "
        "where somebody lives."
    )
    if region is not None and work.asked_domain != (*region, resolution):
        try:
            with st.spinner("Filling the area with hexagons"):
                work.domain = domain_of(*region, resolution)
        except WorkflowError as error:
            work.domain, work.asked_domain = None, None
            st.error(str(error), icon=":material/error:")
        else:
            work.asked_domain = (*region, resolution)
            work.choose(region=region[0], bbox=region[1], resolution=resolution)
            st.rerun()
with right:
    if work.domain is None:
        st.info("Name a public area to see its hexagons.", icon=":material/hexagon:")
    else:
        summary(work.domain)
        places = work.private.places if work.private is not None else ()
        maps.show(
            preview_deck(
                work.domain,
                [lon for lon, _ in places],
                [lat for _, lat in places],
                **maps.look(width=700),
            ),
            key="preview",
            alt=f"The area filled with {work.domain.size:,} hexagons, and the places of the private rows.",
            private=bool(places),
        )
        for note in (work.domain.origin, *work.domain.notes):
            st.caption(note)

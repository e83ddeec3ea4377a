"""Hexagons: the public area and the size of its cells."""

from __future__ import annotations

from functools import partial

import streamlit as st

from geo import Domain
from geo.maps.linked import Pane
from geo.maps.painting import paint_cells
from hexcursion.errors import WorkflowError
from hexcursion.estimates.forecasts import COARSEST, FINEST
from hexcursion.project.area import NamedArea
from hexcursion.settings.privacy_settings import MOST_RECORDS
from pages.hexagons import layers
from pages.hexagons.ways import DRAW, asked_area, asked_way, offer_exchange, stop_stray, take_outline
from pages.shared import maps, panels
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.server import access
from pages.shared.session import workspace
from pages.shared.session.previews import area_of_choices, domain_of, facts_of, proposal_of, shape_of

work = workspace.current()


def asked_resolution() -> int:
    """The resolution; the address has it, since it is public and independent of the data."""
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


def propose_first(area: NamedArea | None, about: int | None) -> None:
    """Let the slider begin at the resolution that suits the area, before any hexagon is made."""
    untouched = work.choices.get("resolution") is None and "resolution" not in st.query_params
    if area is None or not untouched:
        return
    public = work.reference if work.choices.get("reference_public") else None
    try:
        if area.region is not None:
            access.reach_of(work.folder).check(area.region)
        proposal = proposal_of(shape_of(area), about, public)
    except WorkflowError:  # said where the area is filled
        return
    if proposal is not None:
        st.session_state["resolution"] = proposal.resolution


def fill(area: NamedArea, resolution: int) -> None:
    """Make the hexagons asked for, or say why not and keep those of before."""
    try:
        with st.spinner("Filling the area with hexagons"):
            if area.region is not None:
                access.reach_of(work.folder).check(area.region)
            domain = domain_of(area, resolution)
    except WorkflowError as error:
        remark = " The hexagons shown are those of before." if work.domain is not None else ""
        st.error(f"{plain(error)}{remark}", icon=":material/error:")
        if "look swapped" in str(error):
            offer_exchange(work, area.region, area.bbox)
        return
    work.domain, work.asked_domain = domain, (area.region, area.bbox, resolution)
    work.choose(
        region=area.region,
        bbox=area.bbox,
        resolution=resolution,
        crosses_date_line=area.crosses,
        features=area.features,
        feature_column=area.column,
        land_only=area.land_only,
        accept_dropped=False,
    )
    if area.region is not None and area.region == work.uploads.get("named"):
        layers.take_areas(work, area.region)
    else:
        layers.draw_again(work)
    panels.check_basemap_again(work)
    st.rerun()


def ask_records() -> int | None:
    """Ask how many records there are about, by public knowledge."""
    about: int | None = st.number_input(
        "About how many records, by public knowledge",
        1,
        MOST_RECORDS,
        value=None,
        placeholder="such as last year's number",
        help="A number that anybody may know: a resolution is proposed by it. The rows themselves are not "
        "counted for that, since which resolution is chosen is published.",
        **work.keyed("records_public"),
    )
    return about


def propose(domain: Domain, about: int | None) -> None:
    """Say which resolution suits area and records, where it is another than that of the hexagons shown."""
    public = work.reference if work.choices.get("reference_public") else None
    proposal = proposal_of(domain.region, about, public)
    if proposal is not None and proposal.resolution != domain.resolution:
        st.caption(f":material/lightbulb: {plain(f'Proposed: {proposal.sentence}.')}")
        st.button(
            f"Use resolution {proposal.resolution:d}", on_click=take_resolution, args=(proposal.resolution,)
        )


def take_resolution(resolution: int) -> None:
    """Set the slider to a proposed resolution."""
    st.session_state["resolution"] = resolution


def summary(domain: Domain) -> None:
    """The number of cells, their size, and the number of rows inside."""
    facts = facts_of(domain, work.private)
    columns = st.columns([2, 2, 2, 3])
    columns[0].metric("Hexagons", f"{domain.size:,}")
    columns[1].metric("Area of one", plain(facts.area))
    columns[2].metric("Spacing", plain(facts.spacing), help="From the centre of one hexagon to the next.")
    columns[3].metric("Rows inside", plain(facts.inside), help=plain(facts.basis))
    if facts.many_outside and work.choices.get("bbox") is not None:
        st.warning(
            "Many rows lie outside these hexagons: beyond the box, in the sea or at its rim. Is that meant? "
            "The release asks before it leaves them out.",
            icon=":material/filter_alt:",
        )


painting = None
left, right = st.columns([1, 2], gap="large")
with left:
    way = asked_way(work)
    asked = asked_area(way, work)
    about = ask_records()
    propose_first(asked, about)
    resolution = asked_resolution()
    st.caption("The area is public geography, never taken from the data.")
    known = area_of_choices(work.choices)
    if asked is not None and (work.asked_domain, known) != ((asked.region, asked.bbox, resolution), asked):
        fill(asked, resolution)
    elif asked is None and work.domain is not None:
        st.caption(":material/info: Until another area is named, the one shown stays in use.")
    if work.domain is not None:
        propose(work.domain, about)
        layers.ask_layers(work)
        painting = layers.ask_covariates(work)
    panels.say_basemap()
with right:
    if work.domain is None:
        st.info("Name a public area to see its hexagons.", icon=":material/hexagon:")
    else:
        summary(work.domain)
        lost = work.stray()
        if lost is not None:
            stop_stray(work, lost)
        hidden = way == DRAW or work.private is None
        places = [] if hidden or work.private is None else work.private.places
        pane = Pane("", painting or paint_cells(work.domain.size), private=bool(places), points=places)
        shown = "" if hidden else ", and the places of the private rows"
        maps.show(
            work.domain,
            [pane],
            mode="single",
            key="preview",
            alt=f"The area filled with {work.domain.size:,} hexagons{shown}.",
            layers=work.layers,
            on_drawn=partial(take_outline, work) if way == DRAW else None,
        )
        for note in (work.domain.origin, *work.domain.notes):
            st.caption(plain(note))

"""Ways to name a public area: a file, parts of it, a place, a box, an outline; and to mend a swapped one."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import streamlit as st

from geo import DomainError, region_from_geojson
from geo.context.named_areas import LEAST_KM, MOST_KM, MOST_NAMES, SOURCE, area_names, areas_named, box_around
from geo.context.surroundings import Place, find_places, folder
from hexcursion.bundle.page.facts import coordinates
from hexcursion.errors import WorkflowError
from hexcursion.project.area import NamedArea
from hexcursion.project.example import EXAMPLE_REGION, of_example
from pages.data.sources import refill
from pages.shared import maps
from pages.shared.glossary import tip
from pages.shared.plain_text import one_line, plain
from pages.shared.server import access
from pages.shared.session.previews import Box, Stray, columns_of, is_doubtful, look_at, turned
from pages.shared.session.saving import remembered
from pages.shared.session.workspace import Workspace

Way = Literal["example", "upload", "path", "named", "place", "box", "draw"]
FROM_EXAMPLE: Final = "example"
NAMED: Final = "named"
UPLOAD: Final = "upload"
PATH: Final = "path"
PLACE: Final = "place"
BOX: Final = "box"
DRAW: Final = "draw"
WAYS: dict[Way, str] = {
    FROM_EXAMPLE: "Region of the example",
    UPLOAD: "Upload a file of the area",
    PATH: "File on this machine",
    NAMED: "States, provinces, districts",
    PLACE: "Around a place",
    BOX: "Bounding box",
    DRAW: "Draw it on the map",
}
DRAWN = "drawn-area.geojson"
CHOSEN = "chosen areas.geojson"
MOST_CORNERS = 500  # of an outline that is drawn by hand


def known_way(work: Workspace) -> Way | None:
    """How the area in the choices was named; None without an area."""
    region = work.choices.get("region")
    if region is None:
        return BOX if work.choices.get("bbox") else None
    if of_example(region):
        return FROM_EXAMPLE
    if work.uploads.get("drawn") == region:
        return DRAW
    if work.uploads.get("named") == region:
        return NAMED
    return UPLOAD if work.folder.holds(region) else PATH


def asked_way(work: Workspace) -> Way:
    """The way that is chosen."""
    now = known_way(work)
    possible: dict[Way, bool] = {
        FROM_EXAMPLE: work.kind == "example" and work.generated,
        PLACE: folder() is not None,
        DRAW: maps.built(),
    }
    ways = [way for way in WAYS if possible.get(way, True)]
    return st.radio(
        "Public area",
        ways,
        index=ways.index(now) if now in ways else 0,
        format_func=WAYS.__getitem__,
        **work.keyed("region_way"),
        help=tip("domain"),
    )


def asked_area(way: Way, work: Workspace) -> NamedArea | None:
    """The area as settings name it, or None until one is named."""
    if way == FROM_EXAMPLE:
        return NamedArea(str(Path(work.choices["data"].path).with_name(EXAMPLE_REGION)))
    if way == NAMED:
        return _named(work)
    if way == UPLOAD:
        return _of_file(
            remembered(
                "Polygon of the area (GeoJSON or GeoPackage)", ["geojson", "json", "gpkg"], "region", work
            ),
            work,
        )
    if way == PATH:
        region = work.choices.get("region")
        path = st.text_input(
            "Path of the GeoJSON or GeoPackage file",
            value=str(region) if known_way(work) == PATH else "",
            **work.keyed("region_path"),
        ).strip()
        return _of_file(path, work)
    if way == PLACE:
        return _around_place(work)
    if way == DRAW:
        return _drawn(work)
    return _of_box(work)


def take_outline(work: Workspace, outline: Any) -> None:
    """Make an outline that a browser sent the area, or show its fault."""
    try:
        content = outline_file(outline)
    except DomainError as error:
        st.toast(plain(error), icon=":material/error:")
        return
    work.uploads["drawn"] = str(work.folder.keep(DRAWN, content))


def outline_file(outline: Any) -> bytes:
    """Return a drawn outline as the GeoJSON of one polygon.

    `outline` is what a browser sent: corners as [longitude, latitude] in degrees, not closed. `DomainError`
    for anything else and for outlines that enclose nothing."""
    corners = outline if isinstance(outline, list) else []
    if not 3 <= len(corners) <= MOST_CORNERS:
        raise DomainError(f"an outline needs 3 to {MOST_CORNERS} corners: click once for each.")
    ring = []
    for corner in corners:
        good = isinstance(corner, list) and len(corner) == 2
        if not good or not all(isinstance(x, int | float) and math.isfinite(x) for x in corner):
            raise DomainError("the outline holds something that is no corner: draw it again.")
        ring.append([round((corner[0] + 180.0) % 360.0 - 180.0, 6), round(float(corner[1]), 6)])
    polygon = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    region_from_geojson(polygon)
    return json.dumps(polygon).encode()


def _of_file(path: str | None, work: Workspace) -> NamedArea | None:
    if not path:
        return None
    features, column = parts_of(path, work)
    return NamedArea(path, features=features, column=column)


def _named(work: Workspace) -> NamedArea | None:
    names = st.multiselect(
        "Areas",
        area_names(),
        max_selections=MOST_NAMES,
        filter_mode="contains",
        select_all=False,
        placeholder="such as Kent, or Spain",
        help=SOURCE,
        **work.keyed("areas"),
    )
    if not names:
        return None
    st.caption("They are drawn over the map too, and a release says for each how much of it is shown.")
    path = work.uploads["named"] = str(work.folder.keep(CHOSEN, _outlines(tuple(names))))
    return NamedArea(path)


@lru_cache(maxsize=8)
def _outlines(names: tuple[str, ...]) -> bytes:
    """The file of areas that ship with the app: public, and the same for everybody."""
    return json.dumps(areas_named(names)).encode()


def _around_place(work: Workspace) -> NamedArea | None:
    name = st.text_input("Place", placeholder="such as Leiden", **work.keyed("place_name")).strip()
    if not name:
        return None
    places = find_places(name)
    if not places:
        st.caption(f":material/search_off: No place of the world's larger ones begins with “{plain(name)}”.")
        return None
    place = st.selectbox("Which one", places, format_func=place_words, key=f"place_{work.mark}_{name}")
    reach = st.number_input(
        "Kilometres to each side", LEAST_KM, MOST_KM, 10.0, step=1.0, **work.keyed("place_reach")
    )
    try:
        box = box_around(place, float(reach))
    except DomainError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    return NamedArea(bbox=box, crosses=True if box[0] > box[2] else None, land_only=_asked_land(work))


def place_words(place: Place) -> str:
    """A place among others of its name: its coordinates and its population."""
    where = coordinates(place.longitude, place.latitude)
    return plain(f"{place.name}, {where}, about {place.population:,} people")


def _drawn(work: Workspace) -> NamedArea | None:
    if work.domain is None:
        st.caption(":material/info: First show the map of a place or of a box, then draw on it.")
        return None
    st.caption(
        "Press the pencil on the map and click once for each corner; Enter closes the outline, Escape "
        "forgets it. The private rows are hidden meanwhile."
    )
    path = work.uploads.get("drawn")
    return NamedArea(path) if path else None


def _of_box(work: Workspace) -> NamedArea | None:
    box = work.choices.get("bbox")
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
    bounds = (west, south, east, north)
    return NamedArea(bbox=bounds, crosses=_asked_crossing(bounds, work), land_only=_asked_land(work))


def _asked_land(work: Workspace) -> bool:
    return st.checkbox(
        "Leave out the open sea",
        value=bool(work.choices.get("land_only", True)),
        help="Hexagons that touch no land and lie more than 2 km from it. Keep them for ships and buoys.",
        **work.keyed("land_only"),
    )


def _asked_crossing(box: Box, work: Workspace) -> bool | None:
    """Whether the box crosses the date line, as settings name it; None where that is no question."""
    if not is_doubtful(box):
        return None
    answers = {"Yes": True, "No": False}
    crosses = work.choices.get("crosses_date_line")
    current = next((word for word, value in answers.items() if value is crosses), None)
    answer = st.radio(
        "Does the box cross the date line, at 180 degrees?",
        ("Yes", "No"),
        index=None if current is None else list(answers).index(current),
        horizontal=True,
        help="Its west lies east of its east, or it is more than half the globe wide: often two numbers are "
        "exchanged.",
        **work.keyed("box_crosses"),
    )
    return None if answer is None else answers[answer]


KNOWN_PARTS = "area_parts"


def parts_of(path: str, work: Workspace) -> tuple[tuple[str, ...], str | None]:
    """The names of the features of a file that a person picks, and their column; none for the whole file."""
    cached = st.session_state.get(KNOWN_PARTS)
    if cached is None or cached[0] != path:
        try:
            access.reach_of(work.folder).check(path)
        except WorkflowError:
            return (), None  # said where the area is filled
        cached = st.session_state[KNOWN_PARTS] = (path, columns_of(path))
    columns: dict[str, tuple[str, ...]] = cached[1]
    if not columns:
        return (), None
    same = work.choices.get("region") == path
    decided = work.choices.get("feature_column") if same else None
    column = next(iter(columns))
    if len(columns) > 1:
        column = st.selectbox(
            "Column with the names of the parts",
            list(columns),
            index=[*columns].index(decided) if decided in columns else 0,
            format_func=one_line,
            key=f"part_column_{work.mark}_{path}",
            persist_state="session",
        )
    names = columns[column]
    features = work.choices.get("features", ()) if same else ()
    picked = st.multiselect(
        "Parts of the file",
        names,
        default=[name for name in features if name in names],
        placeholder=f"the whole file, all {len(names):,} parts",
        format_func=one_line,
        help="Type a few letters of a name. Several parts become one area.",
        key=f"parts_{work.mark}_{path}_{column}",
        persist_state="session",
    )
    return tuple(picked), (column if picked else None)


def stop_stray(work: Workspace, strayed: Stray) -> None:
    """Say that no row is inside, and how to mend it."""
    st.error(f"No row lies inside this area. {plain(strayed.reason)}", icon=":material/wrong_location:")
    if not strayed.swapped:
        return
    with st.container(horizontal=True):
        if work.kind == "sensors":
            st.button("Exchange the two columns of the data", on_click=exchange_columns, args=(work,))
        offer_exchange(work, work.choices.get("region"), work.choices.get("bbox"))


def offer_exchange(work: Workspace, region: str | None, box: Box | None) -> None:
    """A button that exchanges the axes of the area."""
    if region is not None or box is not None:
        st.button("Exchange longitude and latitude of the area", on_click=_exchange_area, args=(work, region))


def exchange_columns(work: Workspace) -> None:
    """Read the sources again with the two columns of the place exchanged."""
    unit, choices = work.choices.get("value_unit", ""), dict(work.choices)
    for name in ("data", "reference"):
        source = work.choices.get(name)
        if source is not None:
            work.choose(**{name: replace(source, x=source.y, y=source.x)})
    try:
        work.private = look_at(work.choices["data"], unit)
        if work.choices.get("reference") is not None:
            work.reference = look_at(work.choices["reference"], unit, spread=True)
    except WorkflowError as error:
        work.choices = choices
        st.toast(plain(error), icon=":material/error:")
        return
    refill(work)


def _exchange_area(work: Workspace, region: str | None) -> None:
    state = st.session_state
    if region is None:
        sides = [f"box_{side}_{work.mark}" for side in ("West", "South", "East", "North")]
        west, south, east, north = (state.get(side) for side in sides)
        state.update(zip(sides, (south, west, north, east), strict=True))
        return
    try:
        path = str(work.folder.keep(Path(region).name, turned(region)))
    except WorkflowError as error:
        st.toast(plain(error), icon=":material/error:")
        return
    work.uploads["region"] = path
    state[f"region_path_{work.mark}"] = path

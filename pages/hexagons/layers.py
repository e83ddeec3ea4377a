"""Public layers and numbers of the curator's own: their files, columns and looks, drawn over the map."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from dpgp_core.errors import HexcursionError
from dpgp_core.spectral.prior import MOST_COLUMNS
from geo.colours import colour
from geo.context.covariates import table_columns
from geo.context.own_layers import MOST_LAYERS, THINNEST, WIDEST, OwnLayer, label_columns
from geo.maps.painting import Painting, as_baseline, paint_field
from hexcursion.errors import WorkflowError
from hexcursion.project.area import document_of
from hexcursion.project.public_numbers import Covariates, load_covariates
from hexcursion.words import plural
from pages.shared.plain_text import one_line, plain
from pages.shared.session.previews import layers_of
from pages.shared.session.workspace import Workspace

COVARIATES_SAID = "covariates_said"
DISTANCE = "distance to its shapes"


def ask_covariates(work: Workspace) -> Painting | None:
    """A closed panel that takes files and their columns; the painting of a column that is to be shown."""
    paths: tuple[str, ...] = work.choices.get("covariates", ())
    with st.expander(
        "Numbers that may explain the values", icon=":material/show_chart:", expanded=bool(paths)
    ):
        st.caption(
            "Distance to a river, elevation, share of forest: tables of h3 and a column, or layers. They are "
            "published with the map, so never add anything made from the private rows."
        )
        st.file_uploader(
            "Public numbers (CSV of hexagons, GeoJSON or GeoPackage)",
            ["csv", "geojson", "json", "gpkg"],
            accept_multiple_files=True,
            key=f"covariates_upload_{work.mark}",
            on_change=_keep_covariates,
            args=(work,),
        )
        columns_chosen = work.choices.get("covariate_columns", ())
        current = (
            [*columns_chosen] * len(paths)
            if len(columns_chosen) == 1
            else [*columns_chosen] or [""] * len(paths)
        )
        columns = [_asked_column(work, path, column) for path, column in zip(paths, current, strict=True)]
        if columns != current:
            work.choose(covariate_columns=tuple(columns))
            st.rerun()
        covariates = _read_covariates(work)
        if covariates is not None:
            for origin in covariates.origins:
                st.caption(plain(f"{origin[:1].upper()}{origin[1:]}"))
            st.button(
                "Remove these numbers", on_click=_choose_covariates, args=(work, []), icon=":material/delete:"
            )
        if fault := st.session_state.pop(COVARIATES_SAID, None):
            st.error(plain(fault), icon=":material/error:")
    return None if covariates is None else _shown_covariate(work, covariates)


def _asked_column(work: Workspace, path: str, column: str) -> str:
    """Ask which column of a file is meant."""
    names = _columns(path)
    if Path(path).suffix.lower() != ".csv":
        names = ("", *names)
    if len(names) < 2:
        return column
    return str(
        st.selectbox(
            plain(f"Numbers of {Path(path).name}"),
            names,
            index=names.index(column) if column in names else 0,
            format_func=lambda name: one_line(name) if name else DISTANCE,
            key=f"covariate_column_{work.mark}_{path}",
        )
    )


def _keep_covariates(work: Workspace) -> None:
    paths_before = work.choices.get("covariates", ())
    paths = _with_uploads(work, "covariates", paths_before)
    if len(paths) > MOST_COLUMNS:
        st.session_state[COVARIATES_SAID] = f"{len(paths)} files are too many: choose at most {MOST_COLUMNS}."
        return
    _choose_covariates(work, paths)


def _with_uploads(work: Workspace, what: str, paths_before: Iterable[str]) -> list[str]:
    """Return the files of before and those that were just uploaded, each once."""
    uploads = st.session_state[f"{what}_upload_{work.mark}"] or []
    new_paths = [str(work.folder.keep(file.name, file.getvalue())) for file in uploads]
    return list(dict.fromkeys([*paths_before, *new_paths]))


def _choose_covariates(work: Workspace, paths: list[str]) -> None:
    """Take these files; each begins with the distance to its shapes, or the first column of its table."""
    columns_before = dict(
        zip(work.choices.get("covariates", ()), work.choices.get("covariate_columns", ()), strict=False)
    )
    firsts = {path: next(iter(_columns(path)), "") if path.lower().endswith(".csv") else "" for path in paths}
    work.choose(
        covariates=tuple(paths),
        covariate_columns=tuple(columns_before.get(path, firsts[path]) for path in paths),
    )


def _read_covariates(work: Workspace) -> Covariates | None:
    """The numbers on the hexagons shown; a file that gives none for each is left out, and why is said."""
    paths: list[str] = [*work.choices.get("covariates", ())]
    if work.domain is None or not paths:
        return None
    try:
        return load_covariates(paths, work.choices.get("covariate_columns", ()), work.domain)
    except (HexcursionError, OSError) as error:
        st.session_state[COVARIATES_SAID] = f"Nothing can be done with these numbers: {error}"
        return None


def _shown_covariate(work: Workspace, covariates: Covariates) -> Painting | None:
    """The painting of the column that is chosen for the map."""
    name = st.selectbox(
        "Show on the map",
        ("", *covariates.names),
        key=f"covariate_shown_{work.mark}",
        format_func=lambda name: one_line(name) if name else "the hexagons alone",
    )
    if not name:
        return None
    values = covariates.values[:, covariates.names.index(name)]
    return as_baseline(paint_field(values, "", title=str(name)), "Public")


NONE, _SAID = "", "own_layers_said"
INK = colour("line")  # on light ground; in the picker it means the ink of the map


@dataclass(frozen=True)
class Wish:
    """A file, the column of its names, and how it is drawn; "" and 0 for the defaults."""

    path: str
    column: str
    colour: str = ""
    width: float = 0.0


def ask_layers(work: Workspace) -> None:
    """A closed panel that takes files, asks for each which column names its features, and draws them."""
    with st.expander("Layers over the map", icon=":material/layers:", expanded=bool(work.layers)):
        st.caption(
            "Boroughs, roads, rivers, stations: files that anybody may see. They are published with the map "
            "as they are, so never add anything made from the private rows."
        )
        st.file_uploader(
            "Public layers (GeoJSON or GeoPackage)",
            ["geojson", "json", "gpkg"],
            accept_multiple_files=True,
            key=f"layers_upload_{work.mark}",
            on_change=_keep,
            args=(work,),
        )
        current = _decided(work)
        wishes = [_asked(work, wish) for wish in current]
        if wishes != current:
            _show(work, wishes)
            st.rerun()
        for layer in work.layers:
            st.caption(
                plain(f"{layer.name}: {plural(len(layer.features), 'feature')}, {len(layer.labels):,} names")
            )
        if current:
            st.button("Remove the layers", on_click=_show, args=(work, []), icon=":material/layers_clear:")
        if fault := st.session_state.pop(_SAID, None):
            st.error(plain(fault), icon=":material/error:")


def draw_again(work: Workspace) -> None:
    """Cut the layers anew for another area; those that have nothing there are left out, and that is said."""
    wishes = _decided(work)
    if wishes and work.domain is not None:
        _show(work, wishes)


def take_areas(work: Workspace, path: str) -> None:
    """Draw a file of areas by their names, in place of an earlier file of that name."""
    wishes = [wish for wish in _decided(work) if Path(wish.path).name != Path(path).name]
    _show(work, [*wishes, Wish(path, "name")])


def _decided(work: Workspace) -> list[Wish]:
    """The choices: settings may give a column, a colour or a width once for all files."""
    paths: tuple[str, ...] = work.choices.get("layers", ())

    def each(name: Literal["label_columns", "layer_colours", "layer_widths"]) -> list[Any]:
        values = work.choices.get(name, ())
        return [*values] * len(paths) if len(values) == 1 else [*values]

    columns = each("label_columns") or [next(iter(_columns(path)), NONE) for path in paths]
    colours, widths = each("layer_colours"), each("layer_widths")
    return [
        Wish(*wish)
        for wish in zip(
            paths, columns, colours or [""] * len(paths), widths or [0.0] * len(paths), strict=True
        )
    ]


def _asked(work: Workspace, wish: Wish) -> Wish:
    """Ask for the column of names, the colour and the width of a file."""
    name, key = Path(wish.path).name, f"{work.mark}_{wish.path}"
    names = [*_columns(wish.path), NONE]
    st.markdown(f"**{plain(name)}**")
    column = st.selectbox(
        "Names from its column",
        names,
        index=names.index(wish.column) if wish.column in names else len(names) - 1,
        format_func=lambda column: one_line(column) if column else "no names",
        key=f"layer_column_{key}",
    )
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    picked = left.color_picker("Colour", wish.colour or INK, key=f"layer_colour_{key}")
    width = right.slider(
        "Width (pixels, 0: usual)",
        0.0,
        WIDEST,
        wish.width,
        THINNEST,
        "%.1f",
        key=f"layer_width_{key}",
        help="Of lines, or across dots. 0 is the usual width: 1.3 around areas, 1.8 for lines, 8 for dots.",
    )
    return Wish(wish.path, str(column), "" if picked == INK else str(picked), float(width))


def _columns(path: str) -> tuple[str, ...]:
    """The columns of a table, or those of a layer that may hold names, looked up once a session."""
    cache: dict[str, tuple[str, ...]] = st.session_state.setdefault("columns_of_layers", {})
    if path not in cache:
        try:
            table = Path(path).suffix.lower() == ".csv"
            cache[path] = table_columns(path) if table else label_columns(document_of(path))
        except (HexcursionError, OSError):
            cache[path] = ()
    return cache[path]


def _keep(work: Workspace) -> None:
    wishes = {wish.path: wish for wish in _decided(work)}
    paths = _with_uploads(work, "layers", wishes)
    if len(paths) > MOST_LAYERS:
        st.session_state[_SAID] = f"{len(paths)} layers are too many: choose at most {MOST_LAYERS}."
        return
    _show(work, [wishes.get(path) or Wish(path, next(iter(_columns(path)), NONE)) for path in paths])


def _show(work: Workspace, wishes: list[Wish]) -> None:
    """Read the layers and draw them; what cannot be drawn is left out, and why is said."""
    if work.domain is None:
        return
    drawable: list[Wish] = []
    layers: tuple[OwnLayer, ...] = ()
    for wish in wishes:
        try:
            layers = layers_of(_choices([*drawable, wish]), work.domain)
        except WorkflowError as error:
            st.session_state[_SAID] = f"{Path(wish.path).name} was left out: {error}"
            continue
        drawable.append(wish)
    try:
        work.show_layers(layers, _choices(drawable))
    except WorkflowError as error:
        st.session_state[_SAID] = str(error)


def _choices(wishes: list[Wish]) -> dict[str, tuple[Any, ...]]:
    """The settings that say the same; without chosen colours or widths these stay as usual."""
    colours, widths = tuple(wish.colour for wish in wishes), tuple(wish.width for wish in wishes)
    return {
        "layers": tuple(wish.path for wish in wishes),
        "label_columns": tuple(wish.column for wish in wishes),
        "layer_colours": colours if any(colours) else (),
        "layer_widths": widths if any(widths) else (),
    }

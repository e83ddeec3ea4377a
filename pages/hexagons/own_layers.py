"""Public layers of the curator's own: boroughs, roads or stations, and the columns of their names."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from data_loaders import DataError
from geo import GeoError
from geo.context.own_layers import MOST_LAYERS
from geo.context.own_reading import label_columns
from pages.hexagons.places import layers_of
from pages.shared.plain_text import plain
from pages.shared.session.workspace import Workspace
from workflow.errors import WorkflowError
from workflow.project.area import document_of
from workflow.words import plural

NONE = ""


def ask(work: Workspace) -> None:
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
        paths: list[str] = list(work.choices.get("layers", ()))
        columns = [_asked_column(work, number, path) for number, path in enumerate(paths)]
        if columns != list(work.choices.get("label_columns", ())):
            _show(work, paths, columns)
            st.rerun()
        for layer in work.layers:
            st.caption(
                plain(f"{layer.name}: {plural(len(layer.features), 'feature')}, {len(layer.labels):,} names")
            )
        if paths:
            st.button(
                "Remove the layers", on_click=_show, args=(work, [], []), icon=":material/layers_clear:"
            )
        if said := st.session_state.pop(_SAID, None):
            st.error(plain(said), icon=":material/error:")


_SAID = "own_layers_said"


def draw_again(work: Workspace) -> None:
    """Cut the layers anew for another area; those that have nothing there are left out, and that is said."""
    paths = list(work.choices.get("layers", ()))
    if paths and work.domain is not None:
        _show(work, paths, list(work.choices.get("label_columns", ())))


def _asked_column(work: Workspace, number: int, path: str) -> str:
    known = _columns(path)
    decided: tuple[str, ...] = work.choices.get("label_columns", ())
    now = decided[number] if number < len(decided) else next(iter(known), NONE)
    names = [*known, NONE]
    return str(
        st.selectbox(
            f"Names of {plain(Path(path).name)}",
            names,
            index=names.index(now) if now in names else len(names) - 1,
            format_func=lambda column: plain(column) if column else "no names",
            key=f"layer_column_{work.mark}_{path}",
        )
    )


def _columns(path: str) -> tuple[str, ...]:
    """The columns of a file that may hold names, looked up once a session."""
    held: dict[str, tuple[str, ...]] = st.session_state.setdefault("own_layer_columns", {})
    if path not in held:
        try:
            held[path] = label_columns(document_of(path))
        except (GeoError, DataError, OSError):
            held[path] = ()
    return held[path]


def _keep(work: Workspace) -> None:
    uploads = st.session_state[f"layers_upload_{work.mark}"] or []
    paths = [*work.choices.get("layers", ())]
    kept = [str(work.folder.keep(one.name, one.getvalue())) for one in uploads]
    paths = list(dict.fromkeys([*paths, *kept]))
    if len(paths) > MOST_LAYERS:
        st.session_state[_SAID] = f"{len(paths)} layers are too many: choose at most {MOST_LAYERS}."
        return
    decided: dict[str, str] = dict(
        zip(work.choices.get("layers", ()), work.choices.get("label_columns", ()), strict=False)
    )
    _show(work, paths, [decided.get(path, next(iter(_columns(path)), NONE)) for path in paths])


def _show(work: Workspace, paths: list[str], columns: list[str]) -> None:
    """Read the layers and draw them; what cannot be drawn is left out, and why is said."""
    if work.domain is None:
        return
    kept: list[str] = []
    named: list[str] = []
    for path, column in zip(paths, columns, strict=False):
        try:
            layers_of({"layers": [*kept, path], "label_columns": [*named, column]}, work.domain)
        except WorkflowError as error:
            st.session_state[_SAID] = f"{Path(path).name} was left out: {error}"
            continue
        kept.append(path)
        named.append(column)
    layers = layers_of({"layers": kept, "label_columns": named}, work.domain)
    try:
        work.show_layers(layers, kept, named)
    except WorkflowError as error:
        st.session_state[_SAID] = str(error)

"""Public numbers that may explain the values: their files, the columns that are meant, and one on the map."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from data_loaders import DataError
from dpgp_core.spectral.basis import MOST_COLUMNS
from geo import GeoError
from geo.context.covariates import table_columns
from geo.context.own_layers import label_columns
from geo.maps.painting import Painting, as_baseline, paint_field
from hexcursion.errors import WorkflowError
from hexcursion.project.area import document_of
from hexcursion.project.public_numbers import Covariates, load_covariates
from pages.shared.plain_text import one_line, plain
from pages.shared.session.workspace import Workspace

OPEN = "covariates_said"
DISTANCE = "distance to its shapes"


def ask(work: Workspace) -> Painting | None:
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
            on_change=_keep,
            args=(work,),
        )
        given = work.choices.get("covariate_columns", ())
        known = [*given] * len(paths) if len(given) == 1 else [*given] or [""] * len(paths)
        asked = [_column(work, path, column) for path, column in zip(paths, known, strict=True)]
        if asked != known:
            work.choose(covariate_columns=tuple(asked))
            st.rerun()
        found = _read(work)
        if found is not None:
            for origin in found.origins:
                st.caption(plain(f"{origin[:1].upper()}{origin[1:]}"))
            st.button("Remove these numbers", on_click=_choose, args=(work, []), icon=":material/delete:")
        if said := st.session_state.pop(OPEN, None):
            st.error(plain(said), icon=":material/error:")
    return None if found is None else _shown(work, found)


def _column(work: Workspace, path: str, column: str) -> str:
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


def _columns(path: str) -> tuple[str, ...]:
    """The columns of a file, looked up once a session."""
    held: dict[str, tuple[str, ...]] = st.session_state.setdefault("covariate_file_columns", {})
    if path not in held:
        try:
            table = Path(path).suffix.lower() == ".csv"
            held[path] = table_columns(path) if table else label_columns(document_of(path))
        except (GeoError, DataError, OSError):
            held[path] = ()
    return held[path]


def _keep(work: Workspace) -> None:
    uploads = st.session_state[f"covariates_upload_{work.mark}"] or []
    kept = [str(work.folder.keep(one.name, one.getvalue())) for one in uploads]
    paths = list(dict.fromkeys([*work.choices.get("covariates", ()), *kept]))
    if len(paths) > MOST_COLUMNS:
        st.session_state[OPEN] = f"{len(paths)} files are too many: choose at most {MOST_COLUMNS}."
        return
    _choose(work, paths)


def _choose(work: Workspace, paths: list[str]) -> None:
    """Take these files; each begins with the distance to its shapes, or the first column of its table."""
    before = dict(
        zip(work.choices.get("covariates", ()), work.choices.get("covariate_columns", ()), strict=False)
    )
    firsts = {path: next(iter(_columns(path)), "") if path.lower().endswith(".csv") else "" for path in paths}
    work.choose(
        covariates=tuple(paths),
        covariate_columns=tuple(before.get(path, firsts[path]) for path in paths),
    )


def _read(work: Workspace) -> Covariates | None:
    """The numbers on the hexagons shown; a file that gives none for each is left out, and why is said."""
    paths: list[str] = [*work.choices.get("covariates", ())]
    if work.domain is None or not paths:
        return None
    try:
        return load_covariates(paths, work.choices.get("covariate_columns", ()), work.domain)
    except (WorkflowError, GeoError, DataError, OSError) as error:
        st.session_state[OPEN] = f"Nothing can be done with these numbers: {error}"
        return None


def _shown(work: Workspace, found: Covariates) -> Painting | None:
    """The painting of the column that is chosen for the map."""
    name = st.selectbox(
        "Show on the map", ("", *found.names), key=f"covariate_shown_{work.mark}",
        format_func=lambda name: one_line(name) if name else "the hexagons alone",
    )  # fmt: skip
    if not name:
        return None
    values = found.values[:, found.names.index(name)]
    return as_baseline(paint_field(values, "", title=str(name)), "Public")

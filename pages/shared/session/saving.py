"""Saving: all choices as the settings file that the Data screen and the command line take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import streamlit as st

from hexcursion.errors import WorkflowError
from hexcursion.settings import ReleaseSettings, SourceSettings, settings_from_toml, settings_to_toml
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.workspace import Workspace
from pages.shared.uploads import PrivateFolder


def portable_settings(settings: ReleaseSettings, folder: PrivateFolder) -> str:
    """The settings as TOML, an uploaded file under its bare name: its copy here ends with the session.

    `WorkflowError` where two uploads of one name could not be told apart.
    """
    names: dict[str, str] = {}

    def bare(path: str) -> str:
        if not folder.holds(path):
            return path
        name = Path(path).name
        if names.setdefault(name, path) != path:
            raise WorkflowError(
                f"Two different uploads are called {name!r}: rename one and upload it again to save choices."
            )
        return name

    return settings_to_toml(_renamed(settings, bare))


def settings_with_files(text: str, uploads: Mapping[str, str]) -> ReleaseSettings:
    """Settings from TOML, a bare file name standing for the upload of that name (name -> path here).

    `WorkflowError` says which file is to be uploaded with them.
    """

    def found(path: str) -> str:
        name = path.replace("\\", "/").rsplit("/", 1)[-1]
        if name in uploads:
            return uploads[name]
        if name == path and not Path(path).exists():
            raise WorkflowError(f"These settings belong to a file {path!r}: upload it together with them.")
        return path

    return _renamed(settings_from_toml(text), found)


def source_words(source: SourceSettings, folder: PrivateFolder) -> str:
    """Which file a source is and how it is read, in one line."""
    where = "uploaded" if folder.holds(source.path) else "on this machine"
    parts = [f"{Path(source.path).name} ({where})"]
    if source.is_sales:
        parts.append(f"postcodes from {Path(source.postcodes or '').name}")
        if source.years:
            parts.append("years " + ", ".join(str(year) for year in source.years))
    elif source.value is None:
        parts.append(f"read by {source.read_by.name}")
    else:
        parts.append(f"value {source.value} at {source.x}, {source.y} ({source.crs})")
        if source.header_row is not None:
            parts.append(f"header in row {source.header_row}")
        if source.missing:
            parts.append(f"missing values {', '.join(source.missing)}")
        if source.place_sd is not None:
            parts.append(f"places uncertain by {source.place_sd}")
        parts.extend(f"rows where {name} is {entry}" for name, entry in source.where)
    return "; ".join(parts)


def _renamed(settings: ReleaseSettings, name: Callable[[str], str]) -> ReleaseSettings:
    def source(old: SourceSettings) -> SourceSettings:
        postcodes, trip = (None if path is None else name(path) for path in (old.postcodes, old.trip))
        return replace(old, path=name(old.path), postcodes=postcodes, trip=trip)

    return settings.with_changes(
        data=source(settings.data),
        reference=None if settings.reference is None else source(settings.reference),
        region=None if settings.region is None else name(settings.region),
        limits=None if settings.limits is None else name(settings.limits),
        layers=tuple(name(path) for path in settings.layers),
        covariates=tuple(name(path) for path in settings.covariates),
        basemap=None if settings.basemap is None else name(settings.basemap),
    )


def offer(work: Workspace, settings: ReleaseSettings, label: Markdown) -> None:
    """A button that gives the file, or the sentence why it cannot be written."""
    try:
        text = portable_settings(settings, work.folder)
    except WorkflowError as error:
        st.caption(plain(error))
        return
    st.download_button(
        label,
        text,
        "hexcursion-settings.toml",
        "application/toml",
        icon=":material/save:",
        help="A settings file (TOML) for the Data screen and for the command line. It holds no data; it "
        "names your files, columns and threshold.",
        on_click="ignore",
        width="stretch",
    )


def offer_choices(work: Workspace) -> None:
    """The same for the choices made so far, once they are complete."""
    try:
        settings = work.settings()
    except WorkflowError:
        return
    offer(work, settings, "Save these choices")

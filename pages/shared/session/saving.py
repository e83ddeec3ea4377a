"""What stays of a session: uploads of a screen that was left, choices over a reload, the settings file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from dpgp_core.spectral.ball import MOST_COLUMNS
from hexcursion.errors import WorkflowError
from hexcursion.settings import ReleaseSettings, SourceSettings, field
from hexcursion.settings.atlas import OWN, ColumnChoices, Settings, any_from_toml, any_to_toml
from hexcursion.settings.field import fields_of
from hexcursion.words import plural, quantity
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.workspace import Workspace
from pages.shared.uploads import PrivateFolder


def portable_settings(settings: Settings, folder: PrivateFolder) -> str:
    """Return the settings as TOML, an upload under its bare name: its copy here ends with the session.
    `WorkflowError` where two uploads of one name could not be distinguished."""
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

    return any_to_toml(_each(settings, bare))


def settings_with_files(text: str, uploads: Mapping[str, str]) -> Settings:
    """Return settings from TOML, a bare file name standing for the upload of that name (name -> path here).
    `WorkflowError` says which file is to be uploaded with them."""

    def found(path: str) -> str:
        name = path.replace("\\", "/").rsplit("/", 1)[-1]
        if name in uploads:
            return uploads[name]
        if name == path and not Path(path).exists():
            raise WorkflowError(f"These settings belong to a file {path!r}: upload it together with them.")
        return path

    return _each(any_from_toml(text), found)


def _each(settings: Settings, name: Callable[[str], str]) -> Settings:
    """The same with other names of files, of every column."""
    if isinstance(settings, ReleaseSettings):
        return _renamed(settings, name)
    return replace(settings, layers=tuple(_renamed(layer, name) for layer in settings.layers))


def source_words(source: SourceSettings, folder: PrivateFolder) -> str:
    """Which file a source is and how it is read, in one line."""
    where = "uploaded" if folder.holds(source.path) else "on this machine"
    parts = [f"{Path(source.path).name} ({where})"]
    if source.is_sales:
        parts.append(f"postcodes from {Path(source.postcodes or '').name}")
        if source.years:
            parts.append("years " + ", ".join(str(year) for year in source.years))
    elif source.value is None and source.x is None:
        parts.append(f"read by {source.read_by.name}")
    else:
        what = "each row a record" if source.value is None else f"value {source.value}"
        where = "the file's points" if source.x is None else f"{source.x}, {source.y}"
        parts.append(f"{what} at {where} ({source.crs})")
        if source.header_row is not None:
            parts.append(f"header in row {source.header_row}")
        if source.missing:
            parts.append(f"missing values {', '.join(source.missing)}")
        if source.place_sd is not None:
            parts.append(f"places uncertain by {source.place_sd}")
        parts.extend(f"rows where {name} is {' or '.join(listed)}" for name, listed in source.filters.items())
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
        population_file=None if settings.population_file is None else name(settings.population_file),
        layers=tuple(name(path) for path in settings.layers),
        covariates=tuple(name(path) for path in settings.covariates),
        basemap=None if settings.basemap is None else name(settings.basemap),
    )


def offer(work: Workspace, settings: Settings, label: Markdown) -> None:
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
        settings = work.asked()
    except WorkflowError:
        return
    offer(work, settings, "Save these choices")


def remembered(
    label: Markdown, types: list[str] | None, key: str, work: Workspace, **options: Any
) -> str | None:
    """An upload that stays chosen when the screen is left, though the browser's widget forgets it."""
    st.file_uploader(label, types, key=f"{key}_upload", on_change=_keep_upload, args=(work, key), **options)
    path: str | None = work.uploads.get(key)
    if path is not None and st.session_state[f"{key}_upload"] is None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f":material/attach_file: In use: **{plain(Path(path).name)}**", width="content")
            st.button(
                "Remove",
                key=f"{key}_remove",
                type="tertiary",
                on_click=_forget_upload,
                args=(work, key),
                help="Upload another file to replace it, or remove it.",
            )
    return path


def _keep_upload(work: Workspace, key: str) -> None:
    upload = st.session_state[f"{key}_upload"]
    if upload is None:
        _forget_upload(work, key)
    else:
        work.uploads[key] = str(work.folder.keep(upload.name, upload.getvalue()))


def _forget_upload(work: Workspace, key: str) -> None:
    work.uploads.pop(key, None)


# What a reader of a release learns anyway; no file, no column that is not published, nothing computed from
# private data.
OF_THE_VALUES = ("threshold", "direction", "transform", "centre", "clip", "values", "yes_above")
NAMES = (
    *OF_THE_VALUES,
    *"bbox resolution crosses_date_line land_only unit relation records_about epsilon delta looks".split(),
    *"focus paths mechanisms priors objective quick".split(),
)
ABOUT = ("kind", "value_name", "value_unit")
LONGEST = 20_000  # characters: those of an atlas of twenty columns with long names
LONGEST_NAME = 200  # of a column


def text_of(work: Workspace) -> str:
    """The public choices as a text for the browser's tab; "" while there are no data to choose for."""
    if work.kind in ("", "example"):
        return ""
    about = {"kind": work.kind, **{name: work.choices.get(name, "") for name in ABOUT[1:]}}
    # A threshold relative to a file, or to reference data, means another thing without them.
    is_count = work.choices.get("values") == "count"
    relative = is_count or work.choices.get("limits") is not None or work.choices.get("change")
    names = [name for name in NAMES if not (relative and name in OF_THE_VALUES)]
    choices = {name: work.choices[name] for name in names if work.choices.get(name) is not None}
    return json.dumps({"about": about, "choices": choices, "columns": work.columns})


def read_kept(text: str) -> dict[str, Any]:
    """What a tab gives back: a person may have changed it, so each choice is checked, and a bad one left."""
    try:
        record = json.loads(text[:LONGEST])
        about, choices = dict(record["about"]), dict(record["choices"])
    except (ValueError, TypeError, KeyError):
        return {}
    good: dict[str, Any] = {name: str(about.get(name, "")) for name in ABOUT}
    columns = _read_columns(record.get("columns"))
    return {**good, **_checked(NAMES, choices), **({"columns": columns} if columns else {})}


def _read_columns(columns: Any) -> dict[str, dict[str, Any]]:
    """The columns of an atlas and what each has for itself, as far as it is valid."""
    if not isinstance(columns, dict):
        return {}
    good = {
        name: column
        for name, column in columns.items()
        if len(name) <= LONGEST_NAME and isinstance(column, dict)
    }
    weight = fields_of(ColumnChoices)["weight"]
    checked = {name: _checked(OWN, good[name]) for name in list(good)[:MOST_COLUMNS]}
    for name, column in checked.items():
        if "weight" in good[name]:
            with suppress(WorkflowError):
                column["weight"] = weight.check(good[name]["weight"])
    return checked


def _checked(names: Sequence[str], choices: Mapping[str, Any]) -> dict[str, Any]:
    """The valid ones of some settings."""
    good = {}
    for name in names:
        if name in choices:
            value = choices[name]
            try:
                good[name] = field(name).check(tuple(value) if isinstance(value, list) else value)
            except WorkflowError:
                continue
    return good


def give_back(work: Workspace, record: dict[str, Any]) -> None:
    """Put kept choices under those that came with data of the same kind; the question for the same values."""
    about = {"kind": work.kind, **{name: work.choices.get(name, "") for name in ABOUT[1:]}}
    if record.get("kind") != work.kind:
        return
    same = all(record.get(name) == about[name] for name in ABOUT)
    names = [name for name in NAMES if same or name not in OF_THE_VALUES]
    work.choices = {**{name: record[name] for name in names if name in record}, **work.choices}
    for place, (name, column) in enumerate(work.columns.items()):
        column_before = record.get("columns", {}).get(name, {})
        # The unit of the first column was said anew, those of the others were only proposed.
        if place or column_before.get("value_unit") == column.get("value_unit"):
            work.choose_column(name, **{**column, **column_before})


def words_of(record: dict[str, Any]) -> str:
    """What is kept, in one line; "" for nothing."""
    parts = [plural(len(record["columns"]), "column")] if "columns" in record else []
    if "threshold" in record:
        unit = "% of yes" if record.get("values") == "yes-no" else record.get("value_unit", "")
        parts.append(f"the threshold {quantity(record['threshold'], unit)}")
    if "centre" in record or "clip" in record:
        parts.append("what is usual")
    if "bbox" in record:
        parts.append("the bounding box")
    if "resolution" in record:
        parts.append(f"resolution {record['resolution']}")
    if "epsilon" in record:
        parts.append(f"ε {record['epsilon']:g}")
    return ", ".join(parts)

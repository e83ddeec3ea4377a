"""Data: where the private values come from, and the reference data on which a design is tuned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import streamlit as st

from geo.colours import colour
from geo.maps.linked import PLACE_ROLES
from geo.maps.painting import LegendEntry
from hexcursion.bundle.published.earlier import earlier_transform, is_bundle
from hexcursion.errors import WorkflowError
from hexcursion.estimates.forecasts import expected_reading
from hexcursion.project.example import changed_settings, county_settings
from hexcursion.settings.atlas import AtlasSettings
from hexcursion.settings.model import ReleaseSettings
from pages.data import columns, public_files
from pages.data.own_table import ask_sensors
from pages.data.sources import EARLIER, Sources, ask_sales, refill
from pages.shared import maps, panels
from pages.shared.charts import alt, spec_of
from pages.shared.fields import on_screen
from pages.shared.glossary import tip
from pages.shared.plain_text import Markdown, plain
from pages.shared.server import access
from pages.shared.session import workspace
from pages.shared.session.previews import (
    Preview,
    class_words,
    domain_of_choices,
    layers_of,
    look_at,
    missing_shares,
)
from pages.shared.session.saving import give_back, settings_with_files, source_words
from pages.shared.session.workspace import UNREAD


def report_lines(lines: Iterable[str]) -> None:
    """The load report, one sentence per line; the first one, which counts, is emphasised."""
    first, *details = lines
    st.markdown(plain(first))
    if details:
        st.markdown("\n".join(f"- {plain(on_screen(line))}" for line in details))


def rows_table(preview: Preview, value_name: str) -> None:
    """The first rows as read: place and value."""
    name = value_name or "value"
    if preview.unit and preview.unit not in name:
        name = f"{name} ({preview.unit})"
    st.dataframe(
        [{"longitude": lon, "latitude": lat, name: value} for lon, lat, value in preview.rows],
        hide_index=True,
        height="content",
        column_config={
            "longitude": st.column_config.NumberColumn(format="%.4f"),
            "latitude": st.column_config.NumberColumn(format="%.4f"),
            name: st.column_config.NumberColumn(format="localized"),
        },
    )


def places_chart(preview: Preview) -> None:
    """The places of the rows: coloured by value on a map with names, else by longitude and latitude."""
    if not preview.places:
        return
    latitudes = [lat for _, lat in preview.places]
    words = f"Places of {len(latitudes):,} of {preview.size:,} rows, for the curator only."
    if maps.built():
        maps.show_places(
            preview.places,
            key="data-places",
            alt=words,
            classes=preview.classes,
            legend=_value_legend(preview),
        )
    else:
        _plain_chart(preview, words)
    count = len(latitudes) if len(latitudes) < preview.size else 0
    st.caption(
        f"Places of {count:,} of the {preview.size:,} rows."
        if count
        else f"Places of all {preview.size:,} rows."
    )


def _value_legend(preview: Preview) -> tuple[LegendEntry, ...]:
    """Of the classes that hold a value: of answers 1 and 0 there are two, whatever the limits."""
    roles = [PLACE_ROLES[number] for number in sorted(set(preview.classes))]
    return tuple(
        LegendEntry(label, colour(role, maps.theme()))
        for label, role in zip(class_words(preview), roles, strict=True)
    )


def _plain_chart(preview: Preview, words: str) -> None:
    chart = (
        alt.Chart(alt.Data(values=[{"lon": lon, "lat": lat} for lon, lat in preview.places]))
        .mark_circle(size=9 if len(preview.places) > 300 else 40, opacity=0.45)
        .encode(
            x=alt.X("lon:Q", title="longitude (degrees)", scale=alt.Scale(zero=False, padding=12)),
            y=alt.Y("lat:Q", title="latitude (degrees)", scale=alt.Scale(zero=False, padding=12)),
        )
        .properties(height=430)
    )
    st.vega_lite_chart(spec_of(chart), alt=words)


KINDS = {"example": "Example", "sales": "Price Paid sales", "sensors": "Your own table"}
AS_READ = "data_as_read"


def ask_example() -> None:
    """Offer the two examples."""
    st.markdown(
        "**House sales of Lucas County, Ohio.** Real sales, published long ago: those of 1993 serve as "
        "public reference data, those of 1998 play the private data.  \n"
        "**A generated city.** Two years of invented flat sales in the format of Price Paid files."
    )
    with st.container(horizontal=True):
        st.button(
            "Use the sales of Lucas County",
            type="primary",
            icon=":material/home:",
            on_click=use_example,
            args=(county_settings,),
        )
        st.button(
            "Use the generated example",
            icon=":material/science:",
            on_click=use_example,
            args=(changed_settings,),
        )


def ask_files(kind: str) -> Sources | None:
    """Ask for files of a kind and read them when asked to; return the named files."""
    if kind == "sales":
        public_files.ask_public_files(work)
    sources = ask_sales(work) if kind == "sales" else ask_sensors(work)
    if sources is not None and (duration := expected_reading(*sources.files)) is not None:
        st.caption(f":material/schedule: {plain(duration)}")
    pressed = st.button(
        "Read the data", type="primary", icon=":material/file_open:", disabled=sources is None
    )
    if pressed and sources is not None:
        use_sources(sources)
    return sources


def ask_settings_file() -> None:
    """Take all choices from a settings file."""
    with st.expander("Or take all choices from a settings file (TOML)", icon=":material/tune:"):
        st.caption(
            "The file that 'Save these choices' in the side bar and the Publish screen give, and that the "
            "command line takes too. It names data by their path on this machine; files that had been "
            "uploaded are uploaded again here."
        )
        # A form: its button waits for files on their way, and no run begins between two of them.
        with st.form("settings", border=False):
            left, right = st.columns(2, gap="large")
            upload = left.file_uploader("Settings file", "toml", key="settings_upload")
            uploads = right.file_uploader(
                "Files that had been uploaded (data, postcodes, area)",
                accept_multiple_files=True,
                key="settings_files",
            )
            asked_for = st.form_submit_button("Take these settings")
        if asked_for and upload is None:
            st.error("Upload the settings file (TOML) first.", icon=":material/error:")
        elif asked_for and upload is not None:
            paths = [str(work.folder.keep(file.name, file.getvalue())) for file in uploads]
            files = {Path(path).name: path for path in paths}
            use_settings(upload.getvalue().decode("utf-8", "replace"), files)


def reference_words() -> Markdown:
    """The substitute for reference data where no rows of any were read."""
    if work.choices.get("reference") is not None:
        return EARLIER
    if work.choices.get("values") == "count":
        return "None: one fixed design will be taken. Records that are counted need no reference data."
    if work.choices.get("values") == "yes-no":
        return "None: one fixed design will be taken."
    return (
        "None: one fixed design will be taken, for which two public numbers are asked on the screen Privacy "
        "and utility: a usual value, and how far values go from it."
    )


def what_was_read(private: Preview) -> None:
    """The result of reading: counts, the places, and in a fold how each file was read."""
    st.success(plain(private.lines[0]), icon=":material/task_alt:")
    st.header("What was read", anchor=False)
    if work.columns:
        columns.ask(work)
    if work.choices.get("values") != "count":  # whose places are protected
        panels.ask_places_public(work)
    left, right = st.columns(2, gap="large")
    with right:
        places_chart(private)
    with left:
        st.caption("Nothing on this screen is released.")
        with st.expander("Private data: source and first rows", icon=":material/lock:"):
            st.text(source_words(work.choices["data"], work.folder))
            report_lines(private.lines)
            rows_table(private, work.choices.get("value_name", "value"))
        if work.reference is None:
            st.markdown("**Reference data**", help=tip("reference"))
            st.caption(reference_words())
            return
        public = "public" if work.choices.get("reference_public") else "set aside"
        st.markdown(f"**Reference data** ({public})", help=tip("reference"))
        report_lines(work.reference.lines[:1])
        with st.expander("Reference data: source"):
            st.text(source_words(work.choices["reference"], work.folder))
            report_lines(work.reference.lines)


work = workspace.current()


def use_example(settings: Callable[[], ReleaseSettings]) -> None:
    """Take one of the examples with everything that belongs to it."""
    example = settings()
    fresh = workspace.start_over()
    fresh.adopt(example)
    fresh.asked_domain = None  # the area is proposed on the next screen
    read(fresh)


def use_sources(sources: Sources) -> None:
    """Read the named files; keep the workspace as it was if that fails."""
    fresh = work.renewed()
    fresh.choose(**sources.choices)
    fresh.columns = {name: dict(column) for name, column in sources.columns.items()}
    take(fresh, "Reading the files")


def use_settings(text: str, files: dict[str, str]) -> None:
    """Take all choices from a settings file, the same that the command line takes."""
    fresh = work.renewed()
    try:
        settings = settings_with_files(text, files)
        shared = settings.shared if isinstance(settings, AtlasSettings) else settings
        access.reach_of(work.folder).check_settings(shared)
    except WorkflowError as error:
        refused(error)
        return
    fresh.adopt(settings)
    take(fresh, "Reading the files that the settings name")


def take(fresh: workspace.Workspace, doing: Markdown) -> None:
    """Read into a new workspace and make it the session's, or show the error and keep the old one."""
    try:
        with st.spinner(doing):
            read(fresh)
            if fresh.asked_domain is not None:
                fresh.domain = domain_of_choices(fresh.asked_domain, fresh.choices)
                fresh.layers = layers_of(fresh.choices, fresh.domain)
                panels.check_basemap_again(fresh)
    except WorkflowError as error:
        refused(error)
        return
    if fresh.asked_domain is None:
        fresh.keep_public_choices(work)
        give_back(fresh, work.kept)
    workspace.put(fresh)
    st.rerun()


def read(target: workspace.Workspace) -> None:
    """Fill the previews from the sources in the choices."""
    unit = target.choices.get("value_unit", "")
    target.private = look_at(target.choices["data"], unit)
    if target.columns:
        units = {name: str(column.get("value_unit", "")) for name, column in target.columns.items()}
        target.missing = missing_shares(target.choices["data"], units)
    reference = target.choices.get("reference")
    target.reference = None
    if reference is not None and is_bundle(reference.path):  # it has no rows
        if target.choices.get("transform") is None:
            target.choose(transform=earlier_transform(reference.path))
    elif reference is not None:
        target.reference = look_at(reference, unit, spread=True)


def refused(error: WorkflowError) -> None:
    """The fault, and that nothing was lost by it."""
    remark = " What was read before is still in use." if work.private is not None else ""
    st.error(f"{plain(on_screen(str(error)))}{remark}", icon=":material/error:")


def shown_before() -> bool:
    """Whether the widgets know of this workspace already; asking makes it so."""
    repeated = st.session_state.get("data_shown") == work.mark
    st.session_state["data_shown"] = work.mark
    return repeated


def unread(sources: Sources | None) -> bool:
    """Whether the screen names other files than when the data at hand were read."""
    if work.private is None or kind == "example":
        return False
    if kind != work.kind:
        return sources is not None
    current = sources
    as_read: tuple[int, object] | None = st.session_state.get(AS_READ)
    if as_read is None or as_read[0] != work.mark:
        as_read = st.session_state[AS_READ] = (work.mark, current)
    return sources is not None and sources != as_read[1]


top = st.container()  # the data at hand come first; below them the same fields read other data
known_before = shown_before()
if work.kind and (
    not known_before or "data_kind" not in st.session_state
):  # it forgets while others are shown
    st.session_state["data_kind"] = work.kind
    if not known_before:
        refill(work)
fields = (
    st.container()
    if work.private is None
    else st.expander(
        "Read other data, or these in another way", icon=":material/file_open:", expanded=work.unread
    )
)
with fields:
    kind = st.segmented_control(
        "What kind of data?",
        list(KINDS),
        format_func=KINDS.__getitem__,
        default="example",
        required=True,
        key="data_kind",
        bind="query-params",
    )
    asked: Sources | None = None
    if kind == "example":
        ask_example()
    else:
        asked = ask_files(str(kind))
work.unread = unread(asked)
with top:
    if work.unread:
        st.warning(
            f"{UNREAD} What was read before is still in use, as it is described below.",
            icon=":material/sync_problem:",
        )
    if work.private is not None:
        what_was_read(work.private)
panels.ask_basemap(work)
ask_settings_file()

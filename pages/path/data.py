"""Data: where the private values come from, and the reference data on which a design is tuned."""

from __future__ import annotations

import streamlit as st

from pages.parts import workspace
from pages.parts.glossary import tip
from pages.parts.sources import Sources, ask_sales, ask_sensors
from pages.parts.tables import places_chart, report_lines, rows_table
from workflow.desk import domain_of, example_settings, look_at
from workflow.errors import WorkflowError
from workflow.settings import settings_from_toml

KINDS = {
    "example": "Generated example",
    "sales": "Price Paid sales",
    "sensors": "Sensor table",
}
work = workspace.current()


def use_example() -> None:
    """Take the generated example with everything that belongs to it."""
    settings = example_settings()
    fresh = workspace.start_over()
    fresh.adopt(settings)
    fresh.asked_domain = None  # the region is proposed on the next screen
    read(fresh)


def use_sources(sources: Sources) -> None:
    """Read what was named; keep the workspace as it was if that fails."""
    fresh = workspace.Workspace(folder=work.folder)
    fresh.choose(**sources.choices)
    try:
        with st.spinner("Reading the files"):
            read(fresh)
    except WorkflowError as error:
        st.error(str(error), icon=":material/error:")
        return
    workspace.put(fresh)
    st.rerun()


def read(target: workspace.Workspace) -> None:
    """Fill the previews from the sources in the choices."""
    unit = target.choices.get("value_unit", "")
    target.private = look_at(target.choices["data"], unit)
    reference = target.choices.get("reference")
    target.reference = look_at(reference, unit) if reference is not None else None


def use_settings(text: str) -> None:
    """Take all choices from a settings file, the same that the command line takes."""
    fresh = workspace.Workspace(folder=work.folder)
    try:
        with st.spinner("Reading the files that the settings name"):
            fresh.adopt(settings_from_toml(text))
            read(fresh)
            if fresh.asked_domain is not None:
                fresh.domain = domain_of(*fresh.asked_domain)
    except WorkflowError as error:
        st.error(str(error), icon=":material/error:")
        return
    workspace.put(fresh)
    st.rerun()


kind = st.segmented_control(
    "What kind of data?",
    list(KINDS),
    format_func=KINDS.__getitem__,
    default="example",
    required=True,
    key="data_kind",
    persist_state="session",
)
if kind == "example":
    st.markdown(
        "Two years of invented flat sales in an invented city, in the very format of the real files. "
        "The earlier year serves as public reference data, the later one plays the private data."
    )
    st.button("Use the generated example", type="primary", icon=":material/science:", on_click=use_example)
else:
    asked = ask_sales(work.folder) if kind == "sales" else ask_sensors(work.folder)
    pressed = st.button("Read the data", type="primary", icon=":material/file_open:", disabled=asked is None)
    if pressed and asked is not None:
        use_sources(asked)

with st.expander("Or take all choices from a settings file (TOML)", icon=":material/tune:"):
    st.caption(
        "The file names data by their path on this machine; it is the one that the Publish screen offers "
        "and that the command line takes with --config."
    )
    upload = st.file_uploader("Settings file", "toml", label_visibility="collapsed")
    if st.button("Take these settings", disabled=upload is None) and upload is not None:
        use_settings(upload.getvalue().decode("utf-8", "replace"))

if work.private is not None:
    st.subheader("What was read", anchor=False)
    st.caption("For your eyes only: nothing on this screen is released.")
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Private data**")
        report_lines(work.private.lines)
        rows_table(work.private, work.choices.get("value_name", "value"))
    with right:
        places_chart(work.private)
        if work.reference is not None:
            public = "public" if work.choices.get("reference_public") else "set aside"
            st.markdown(f"**Reference data** ({public})", help=tip("reference"))
            report_lines(work.reference.lines)
        else:
            st.markdown("**Reference data**", help=tip("reference"))
            st.caption("None: the design will be tuned on a simulated field.")

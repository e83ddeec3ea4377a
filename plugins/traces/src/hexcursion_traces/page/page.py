"""Traces: hide chosen moments of a recorded trip, keep the rest of it useful, and say what that means."""

from __future__ import annotations

from collections.abc import Mapping
from zoneinfo import available_timezones

import streamlit as st

from data_loaders import DataError
from hexcursion.errors import WorkflowError
from hexcursion_traces.loading.instants import OrderWanted
from hexcursion_traces.page import confirm
from hexcursion_traces.page.maps import released_deck
from hexcursion_traces.page.plan_panel import ask_noise, ask_secrets, follow, say, show_recorded, stopped
from hexcursion_traces.page.view import moment, next_record, trip_of
from hexcursion_traces.page.work import TraceWork, current
from hexcursion_traces.shelf import trips
from pages.shared import maps
from pages.shared.plain_text import plain
from pages.shared.session import workspace
from pages.shared.shipped import generated_badge

TYPES = ["gpx", "tcx", "fit", "plt", "csv", "txt", "geojson", "json", "gz"]
STEP = 0.5  # seconds between moments of a trip that is played
MIME = {
    "gpx": "application/gpx+xml",
    "geojson": "application/geo+json",
    "json": "application/json",
    "csv": "text/csv",
}


def take_upload(work: TraceWork) -> None:
    """The file a person chose, read once."""
    upload = st.file_uploader(
        "A recorded trip (GPX, TCX, FIT, GeoLife .plt, CSV, GeoJSON)", TYPES, key="trace_upload"
    )
    if upload is not None:
        zone = st.selectbox(
            "Time zone of times that name none",
            sorted(available_timezones()),
            index=None,
            placeholder="UTC",
            key="trace_zone",
            help="Needed where a file holds the hour in which summer time ends: its clock goes back.",
        )
        asked = work.order_wanted == upload.file_id
        order = ask_order(upload.file_id) if asked else None
        if asked and order is None:
            return
        try:
            work.read_upload(upload.file_id, upload.name, upload.getvalue(), zone, order)
        except OrderWanted:
            st.rerun()  # which asks
        except (DataError, WorkflowError) as error:
            st.error(plain(error), icon=":material/error:")
    elif not work.traces:
        st.button(
            "Use a generated trip",
            icon=":material/science:",
            on_click=work.take_generated,
            help="An hour by bicycle through an invented city, with a stop of a quarter of an hour to hide.",
        )


def ask_order(upload: str) -> bool | None:
    """Whether the day comes first in the dates of an upload that leave it open; None until it is answered."""
    said = st.radio(
        "Dates such as 3/4/2018 in this file do not tell: which comes first?",
        ["The day", "The month"],
        index=None,
        horizontal=True,
        key=f"trace_order_{upload}",
    )
    return None if said is None else said == "The day"


def show_released(work: TraceWork) -> None:
    """The released trip, played by a slider or by itself."""
    plan, published = work.plan, work.published
    if plan is None or published is None:
        return
    beside = st.toggle("Show the private trip beside it (do not publish)", key="trace_beside")
    shown = int(st.session_state.setdefault("trace_record", 1))
    if work.playing:
        st.session_state["trace_record"] = next_record(shown, plan.trace.size)
        if st.session_state["trace_record"] == plan.trace.size:
            work.playing = False
            st.rerun()
    record = st.slider("Play the trip: record", 1, plan.trace.size, key="trace_record") - 1
    now = moment(plan, published, record)
    st.caption(plain(now.sentence))
    deck = released_deck(plan, published, now, maps.theme(), private=beside)
    words = "The released trip as a line, with a circle of one standard deviation of noise around each record"
    maps.show_deck(deck, key="trace-released", alt=words, private=beside)


def play(work: TraceWork, on: bool) -> None:
    """Start the trip from its beginning where it has ended, or stand still."""
    if on and work.plan is not None and st.session_state.get("trace_record", 1) >= work.plan.trace.size:
        st.session_state["trace_record"] = 1
    work.playing = on


def offer_files(name: str, files: Mapping[str, str]) -> None:
    """Downloads of what was released, by the release's id."""
    with st.container(horizontal=True):
        for file, text in files.items():
            ending = file.rsplit(".", 1)[-1]
            st.download_button(
                f"Download {plain(file)}",
                text,
                f"{name}-{file}",
                MIME[ending],
                key=f"get_{name}_{file}",
                on_click="ignore",
            )


def show_shelf(current: str | None) -> None:
    """What was released here before, to be downloaded again; `current` is on the screen already."""
    others = {trip.name: trip for trip in trips() if trip.name != current}
    if not others:
        return
    st.header("Released trips", anchor=False)
    chosen = st.selectbox(
        "They lie on this machine and are public",
        list(others),
        index=None,
        format_func=lambda name: others[name].title,
        placeholder="choose one",
        key="trace_shelved",
    )
    if chosen is not None:
        offer_files(chosen, others[chosen].files)


work = current()
take_upload(work)
workspace.current().trip = bool(work.traces) and work.published is None and not work.generated
if not work.traces:
    st.info(
        "Choose a file, or try a generated trip. It stays in this session; places are drawn without any map "
        "of others below them, so nobody is asked where the trip was.",
        icon=":material/route:",
    )
else:
    for line in work.lines:
        st.caption(plain(line))
    if work.generated:
        generated_badge("Nobody made this trip.")
    if len(work.traces) > 1:
        asked = st.number_input("Which trip of the file?", 1, len(work.traces), 1, key=f"which_{work.upload}")
        work.turn_to(int(asked) - 1)
    trip = work.traces[work.position]
    st.markdown(plain(trip_of(trip).sentence))
    if work.published is None:
        show_recorded(work, trip)
        ask_secrets(work, trip)
        ask_noise(work, trip)
    follow(work)
    if work.note:
        st.error(plain(work.note), icon=":material/error:")
    if work.published is not None:
        st.success(
            "Released. The trip and its files are public. They are kept on this machine: this screen lists "
            "them under Released trips.",
            icon=":material/check_circle:",
        )
        st.button(
            "Pause" if work.playing else "Play",
            icon=":material/pause:" if work.playing else ":material/play_arrow:",
            on_click=play,
            args=(work, not work.playing),
        )
        st.fragment(show_released, run_every=STEP if work.playing else None)(work)
        offer_files(work.published.released.release_id, work.published.files)
    if work.plan is not None:
        say(work, work.plan)
    if work.plan is not None and work.published is None and not work.note and not stopped(work, work.plan):
        if st.button(
            "Release this trip …",
            type="primary",
            icon=":material/shield_lock:",
            help="You are asked once more before anything is drawn or charged.",
        ):
            confirm.begin(work)
        confirm.show(work)
show_shelf(None if work.published is None else work.published.released.release_id)

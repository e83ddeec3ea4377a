"""Traces: hide chosen moments of a recorded trip, and state how well."""

from __future__ import annotations

from collections.abc import Mapping
from zoneinfo import available_timezones

import streamlit as st

from dpgp_core.errors import HexcursionError
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
STEP = 0.5  # seconds between moments of a playing trip
MIME = {
    "gpx": "application/gpx+xml",
    "geojson": "application/geo+json",
    "json": "application/json",
    "csv": "text/csv",
}


def take_upload(work: TraceWork) -> None:
    """Ask for a file and read it once."""
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
        order_open = work.order_wanted == upload.file_id
        order = ask_order(upload.file_id) if order_open else None
        if order_open and order is None:
            return
        try:
            work.read_upload(upload.file_id, upload.name, upload.getvalue(), zone, order)
        except OrderWanted:
            st.rerun()  # the next run asks for the order
        except HexcursionError as error:
            st.error(plain(error), icon=":material/error:")
    elif not work.traces:
        st.button(
            "Use a generated trip",
            icon=":material/science:",
            on_click=work.take_generated,
            help="An hour by bicycle through an invented city, with a stop of a quarter of an hour to hide.",
        )


def ask_order(upload: str) -> bool | None:
    """Ask whether the day comes first in the dates of an upload; None until the answer."""
    answer = st.radio(
        "In dates such as 3/4/2018 of this file, which comes first?",
        ["The day", "The month"],
        index=None,
        horizontal=True,
        key=f"trace_order_{upload}",
    )
    return None if answer is None else answer == "The day"


def show_released(work: TraceWork) -> None:
    """The released trip, played by a slider or by itself."""
    plan, published = work.plan, work.published
    if plan is None or published is None:
        return
    private_too = st.toggle("Show the private trip as well (do not publish)", key="trace_beside")
    position = int(st.session_state.setdefault("trace_record", 1))
    if work.playing:
        st.session_state["trace_record"] = next_record(position, plan.trace.size)
        if st.session_state["trace_record"] == plan.trace.size:
            work.playing = False
            st.rerun()
    record = st.slider("Play the trip: record", 1, plan.trace.size, key="trace_record") - 1
    now = moment(plan, published, record)
    st.caption(plain(now.sentence))
    deck = released_deck(plan, published, now, maps.theme(), private=private_too)
    words = "The released trip as a line, with a circle of one standard deviation of noise around each record"
    maps.show_deck(deck, key="trace-released", alt=words, private=private_too)


def play(work: TraceWork, on: bool) -> None:
    """Play the trip, from its beginning if it has ended, or pause it."""
    if on and work.plan is not None and st.session_state.get("trace_record", 1) >= work.plan.trace.size:
        st.session_state["trace_record"] = 1
    work.playing = on


def offer_files(name: str, files: Mapping[str, str]) -> None:
    """Offer the released files for download, named by the release's id."""
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
    """Offer earlier releases for download again, without `current`, which is on the screen."""
    earlier = {trip.name: trip for trip in trips() if trip.name != current}
    if not earlier:
        return
    st.header("Released trips", anchor=False)
    choice = st.selectbox(
        "They are on this machine and are public",
        list(earlier),
        index=None,
        format_func=lambda name: earlier[name].title,
        placeholder="choose one",
        key="trace_shelved",
    )
    if choice is not None:
        offer_files(choice, earlier[choice].files)


work = current()
take_upload(work)
workspace.current().trip = bool(work.traces) and work.published is None and not work.generated
if not work.traces:
    st.info(
        "Choose a file, or try a generated trip. It stays in this session; places are drawn without a "
        "background map, so no map server learns where the trip was.",
        icon=":material/route:",
    )
else:
    for line in work.lines:
        st.caption(plain(line))
    if work.generated:
        generated_badge("This trip is invented.")
    if len(work.traces) > 1:
        number = st.number_input(
            "Which trip of the file?", 1, len(work.traces), 1, key=f"which_{work.upload}"
        )
        work.turn_to(int(number) - 1)
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

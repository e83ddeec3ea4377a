"""One session's work on a trace: the upload, the traces, the plan, and the release."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock

import streamlit as st

from dpgp_core.noise import random_name
from hexcursion.errors import Report, WorkflowError
from hexcursion.ledger import RequestTaken, ledger_to_plan, open_ledger
from hexcursion_traces.adversaries import Known, known_by
from hexcursion_traces.loading import Trace, load_traces
from hexcursion_traces.loading.demo_trip import GENERATED_TRIP, generated_trip
from hexcursion_traces.loading.instants import OrderWanted
from hexcursion_traces.plan import TracePlan, plan_trace
from hexcursion_traces.release import PublishedTrace, check_release, release_trace
from hexcursion_traces.settings import TraceSettings, Window
from hexcursion_traces.shelf import trips_folder
from pages.shared.subprocess_job import Job, in_subprocess
from pages.shared.uploads import PrivateFolder

KEY = "traces"


@dataclass
class TraceWork:
    """Mutable state of one session's traces; forgotten with the session, and the upload with it.

    `generated`: whether the trip is invented, so that no real places are at stake. `order_wanted`: the
    upload with dates in an open order of day and month. `session`: a token for the ledger: a second
    click with it is no second release. `releasing`: locked while a trip is charged and drawn."""

    folder: PrivateFolder = field(default_factory=PrivateFolder)
    session: str = field(default_factory=random_name)
    upload: str = ""
    zone: str | None = None
    day_first: bool | None = None
    order_wanted: str = ""
    traces: tuple[Trace, ...] = ()
    lines: tuple[str, ...] = ()
    generated: bool = False
    position: int = 0
    windows: list[Window] = field(default_factory=list)
    job: Job[TracePlan] | None = None
    plan: TracePlan | None = None
    published: PublishedTrace | None = None
    note: str = ""
    playing: bool = False
    known: dict[int, tuple[Known, ...]] = field(default_factory=dict)
    releasing: Lock = field(default_factory=Lock)

    def read_upload(
        self, upload: str, name: str, data: bytes, zone: str | None = None, day_first: bool | None = None
    ) -> None:
        """Read an upload, its times in a zone and its dates in an order. Raise `DataError` for an
        unreadable one; the earlier trip stays. `OrderWanted` sets `order_wanted`."""
        if (upload, zone, day_first) == (self.upload, self.zone, self.day_first):
            return
        try:
            traces, report = load_traces(self.folder.keep(name, data), zone=zone, day_first=day_first)
        except OrderWanted:
            self.order_wanted = upload
            raise
        self.upload, self.zone, self.day_first = upload, zone, day_first
        self.traces, self.lines = traces, report.lines()
        self.generated = False
        self.position = 0
        self.windows = []
        self.forget_plan()

    def take_generated(self) -> None:
        """Read a generated trip, another one each time: no ledger has released its records
        before."""
        seed = random_name()
        self.read_upload(f"generated {seed}", GENERATED_TRIP, generated_trip(int(seed, 16)))
        self.generated = True

    def turn_to(self, position: int) -> None:
        """Work on another trace of the file, without the secrets of the earlier one."""
        if position != self.position:
            self.position, self.windows = position, []
            self.forget_plan()

    def forget_plan(self) -> None:
        """Begin again with the same file and a new request to the ledger."""
        if self.job is not None:
            self.job.cancel()
        self.job, self.plan, self.published, self.note = None, None, None, ""
        self.playing, self.known = False, {}
        self.session = random_name()

    def begin(self, trace: Trace, settings: TraceSettings) -> None:
        """Start shaping the noise; `finish` takes the result."""
        self.forget_plan()
        self.job = Job(lambda report: in_subprocess(report, plan_apart, trace, settings))

    def finish(self) -> None:
        """Take the plan of a finished job, or the sentence of its error."""
        job, self.job = self.job, None
        if job is None or job.state.state == "cancelled":
            return
        try:
            self.plan = job.result()
            check_release(self.plan, ledger_to_plan())
        except WorkflowError as error:
            self.note = str(error)

    def accept_odds(self, accepted: bool) -> None:
        """Set or withdraw the acceptance of large odds; draws nothing."""
        if self.plan is not None:
            settings = replace(self.plan.settings, accept_large_odds=accepted)
            self.plan = replace(self.plan, settings=settings)

    def adversaries(self, number: int) -> tuple[Known, ...]:
        """The adversaries' intervals at a secret of the plan, computed once."""
        if self.plan is None:
            return ()
        if number not in self.known:
            self.known[number] = known_by(self.plan, number)
        return self.known[number]

    def release(self) -> None:
        """Charge and draw once; a second click waits for the release or its note and does
        nothing."""
        with self.releasing:
            if self.plan is None or self.published is not None or self.note:
                return
            try:
                self.published = release_trace(self.plan, open_ledger(), self.session, shelf=trips_folder())
            except RequestTaken:
                self.note = "The release is under way from your first click."
            except WorkflowError as error:
                self.note = str(error)


def plan_apart(report: Report, trace: Trace, settings: TraceSettings) -> TracePlan:
    """The plan of a trip, for a subprocess."""
    return plan_trace(trace, settings, report)


def current() -> TraceWork:
    """The session's work."""
    if KEY not in st.session_state:
        st.session_state[KEY] = TraceWork()
    work: TraceWork = st.session_state[KEY]
    return work

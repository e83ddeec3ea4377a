"""Computations that nobody asked for: one after the other, and out of the way of what a person asks for."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from hexcursion.errors import Report
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Workspace
from pages.shared.subprocess_job import Job, Left
from tests.pages.recorded import Recorded
from tests.patience import HANG

STEPS = ("first", "second")


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    monkeypatch.setattr(side_jobs, "st", recorded)
    monkeypatch.setattr(side_jobs, "show_progress", lambda *_: None)
    return recorded


class Bench:
    """Jobs of two steps that go on when they are let; how often each was begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = {step: threading.Event() for step in STEPS}

    def job(self, step: str) -> Job[str]:
        self.begun.append(step)

        def work(report: Report) -> str:
            while not self.go[step].wait(0.01):
                report(0.5, step)
            return step.upper()

        return Job(work)

    def look(
        self, work: Workspace, about: str = "these data", name: side_jobs.SideJobName = "curve"
    ) -> dict[str, str]:
        steps = {step: partial(self.job, step) for step in STEPS}
        return side_jobs.one_by_one(work, name, (about,), steps, "Stop")


def ended(work: Workspace) -> None:
    job = side_jobs.planning(work).jobs["curve"].job
    assert job is not None
    assert job.wait(HANG)


def test_each_step_begins_when_the_one_before_has_ended(screen: Recorded) -> None:
    bench, work = Bench(), Workspace()
    assert bench.look(work) == {}
    assert bench.look(work) == {}
    assert bench.begun == ["first"]
    bench.go["first"].set()
    ended(work)
    assert bench.look(work) == {"first": "FIRST"}
    assert bench.begun == ["first", "second"]
    bench.go["second"].set()
    ended(work)
    assert bench.look(work) == {"first": "FIRST", "second": "SECOND"}
    bench.go["first"].clear()
    assert bench.look(work, "other data") == {}
    assert bench.begun == ["first", "second", "first"]


def test_what_a_person_asks_for_comes_first_and_the_rest_goes_on_afterwards(screen: Recorded) -> None:
    bench, work, asked = Bench(), Workspace(), threading.Event()
    bench.look(work)
    bench.go["first"].set()
    ended(work)
    bench.look(work)
    second = side_jobs.planning(work).jobs["curve"].job
    assert second is not None
    side_jobs.start(work, "sweep", (), Job(lambda report: asked.wait(HANG)))
    assert second.wait(HANG)
    assert bench.look(work) == {"first": "FIRST"}
    assert bench.begun == ["first", "second"]
    asked.set()
    sweep = side_jobs.planning(work).jobs["sweep"].job
    assert sweep is not None
    assert sweep.wait(HANG)
    bench.go["second"].set()
    bench.look(work)
    assert bench.begun == ["first", "second", "second"]


def test_the_chain_of_the_screen_that_is_open_comes_first(screen: Recorded) -> None:
    """Before, remedies after a stop waited for the curve of another screen, and nothing said so."""
    curve, remedies, work = Bench(), Bench(), Workspace()
    curve.look(work)
    left = side_jobs.planning(work).jobs["curve"].job
    assert left is not None
    remedies.look(work, name="remedies")
    assert remedies.begun == ["first"]
    assert left.wait(HANG)
    assert left.state.state == "cancelled"
    curve.look(work)
    assert curve.begun == ["first", "first"]
    assert list(side_jobs.planning(work).jobs) == ["curve"]
    curve.go["first"].set()


def test_what_a_person_stops_does_not_begin_again(screen: Recorded) -> None:
    bench, work = Bench(), Workspace()
    bench.look(work)
    job = side_jobs.planning(work).jobs["curve"].job
    assert job is not None
    job.cancel()
    ended(work)
    assert bench.look(work) == {}
    assert bench.look(work) == {}
    assert bench.begun == ["first"]


def test_what_ended_because_its_reader_had_left_begins_again(screen: Recorded) -> None:
    bench, work, gone = Bench(), Workspace(), threading.Event()

    def left(report: Report) -> str:
        assert gone.wait(HANG)
        raise Left("closed")

    def job() -> Job[str]:
        return bench.job("first") if gone.is_set() else Job(left)

    def look() -> dict[str, str]:
        return side_jobs.one_by_one(work, "curve", ("these data",), {"first": job}, "Stop")

    assert look() == {}
    gone.set()
    ended(work)
    assert look() == {}
    assert bench.begun == ["first"]
    bench.go["first"].set()
    ended(work)
    assert look() == {"first": "FIRST"}


def test_a_screen_that_runs_without_a_reader_does_not_begin_the_same_again_and_again(
    screen: Recorded,
) -> None:
    begun = 0

    def left(report: Report) -> str:
        raise Left("closed")

    def job() -> Job[str]:
        nonlocal begun
        begun += 1
        assert begun < 5
        job = Job(left)
        assert job.wait(HANG)
        return job

    assert side_jobs.one_by_one(Workspace(), "curve", ("these data",), {"first": job}, "Stop") == {}
    assert begun == 2

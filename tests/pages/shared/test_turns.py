"""Long computations take turns: so many at once, one of a session, first come first served."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from hexcursion.errors import Cancelled, WorkflowError
from pages.shared import subprocess_job
from pages.shared.subprocess_job import Job, in_subprocess, whose
from pages.shared.turns import Turns, at_once
from tests.patience import HANG


class Line:
    """Computations that hold their turn until they are let go."""

    def __init__(self, at_once: int) -> None:
        self.turns = Turns(at_once)
        self.begun: list[str] = []
        self.said: dict[str, str] = {}
        self._news = threading.Condition()
        self._ends: dict[str, threading.Event] = {}
        self._threads: dict[str, threading.Thread] = {}

    def enter(self, name: str, owner: str | None, crowd: str | None = None) -> None:
        end = self._ends[name] = threading.Event()

        def tell(why: str) -> None:
            if end.is_set():
                raise Cancelled("cancelled")
            with self._news:
                self.said[name] = why
                self._news.notify_all()

        def run() -> None:
            try:
                with self.turns.turn(owner, tell, crowd):
                    with self._news:
                        self.begun.append(name)
                        self._news.notify_all()
                    end.wait(HANG)
            except Cancelled:
                pass

        self._threads[name] = threading.Thread(target=run, daemon=True)
        self._threads[name].start()

    def waits(self, name: str, words: str) -> None:
        with self._news:
            assert self._news.wait_for(lambda: words in self.said.get(name, ""), HANG), self.said

    def runs(self, name: str) -> None:
        with self._news:
            assert self._news.wait_for(lambda: name in self.begun, HANG), (self.begun, self.said)

    def end(self, name: str) -> None:
        self._ends[name].set()
        self._threads[name].join(HANG)
        assert not self._threads[name].is_alive()


@contextmanager
def line(at_once: int) -> Iterator[Line]:
    made = Line(at_once)
    with ExitStack() as stack:
        stack.callback(lambda: [end.set() for end in made._ends.values()])
        yield made


def test_others_wait_in_order_and_hear_their_place() -> None:
    with line(1) as made:
        made.enter("a", "Ann")
        made.runs("a")
        made.enter("b", "Bob")
        made.waits("b", "somebody else to end; yours is next")
        made.enter("c", "Cat")
        made.waits("c", "1 computation before yours")
        made.enter("d", "Dan")
        made.waits("d", "2 computations before yours")
        made.end("a")
        made.runs("b")
        made.waits("c", "yours is next")
        assert made.begun == ["a", "b"]
        made.end("b")
        made.runs("c")
        assert made.begun == ["a", "b", "c"]


def test_many_visits_from_one_address_hold_up_no_reader_at_another() -> None:
    with line(1) as made:
        made.enter("a1", "visit 1", "A")
        made.runs("a1")
        for number, place in ((2, "yours is next"), (3, "1 computation before"), (4, "2 computations")):
            made.enter(f"a{number}", f"visit {number}", "A")
            made.waits(f"a{number}", place)
        made.enter("b1", "reader", "B")
        made.waits("b1", "yours is next")
        made.waits("a2", "1 computation before")
        made.enter("b2", "another", "B")
        made.waits("b2", "2 computations before")
        for name, following in (("a1", "b1"), ("b1", "a2"), ("a2", "b2"), ("b2", "a3"), ("a3", "a4")):
            made.end(name)
            made.runs(following)
        assert made.begun == ["a1", "b1", "a2", "b2", "a3", "a4"]


def test_nobody_has_two_turns_while_another_waits() -> None:
    with line(2) as made:
        made.enter("a1", "Ann")
        made.runs("a1")
        made.enter("a2", "Ann")
        made.waits("a2", "another computation of yours to end")
        made.enter("b", "Bob")
        made.runs("b")
        made.enter("c", "Cat")
        made.waits("c", "yours is next")
        made.end("a1")
        made.runs("c")  # Ann had a turn already, Cat none
        made.waits("a2", "somebody else to end")
        made.end("b")
        made.runs("a2")
        assert made.begun == ["a1", "b", "c", "a2"]


def test_who_is_cancelled_leaves_the_line() -> None:
    with line(1) as made:
        made.enter("a", "Ann")
        made.runs("a")
        made.enter("b", "Bob")
        made.waits("b", "yours is next")
        made.enter("c", "Cat")
        made.waits("c", "1 computation before yours")
        made.end("b")
        made.waits("c", "yours is next")
        made.end("a")
        made.runs("c")
        assert made.begun == ["a", "c"]


def test_what_belongs_to_nobody_is_held_back_by_the_limit_alone() -> None:
    with line(2) as made:
        for name in ("a", "b", "c"):
            made.enter(name, None)
            if name != "c":
                made.runs(name)
        made.waits("c", "yours is next")


def test_how_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEXCURSION_AT_ONCE", raising=False)
    assert [at_once(*of) for of in ((1, 1), (2, 1), (8, 4), (16, 4), (3, 4))] == [1, 2, 2, 4, 1]
    monkeypatch.setenv("HEXCURSION_AT_ONCE", "7")
    assert at_once(2, 1) == 7
    for wrong in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("HEXCURSION_AT_ONCE", wrong)
        with pytest.raises(WorkflowError, match="whole number of computations, at least 1"):
            at_once(2, 1)


def hungry(report: object) -> int:
    return len(bytearray(3_000_000_000))


def modest(report: object) -> int:
    return 7


def test_a_computation_that_wants_too_much_memory_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXCURSION_MEMORY_GB", "2")
    assert in_subprocess(lambda fraction, text: None, modest) == 7
    with pytest.raises(WorkflowError, match="more memory than one may have here: take coarser hexagons"):
        in_subprocess(lambda fraction, text: None, hungry)
    monkeypatch.setenv("HEXCURSION_MEMORY_GB", "plenty")
    with pytest.raises(WorkflowError, match="number of gigabytes above 0, not 'plenty'"):
        subprocess_job.most_memory()


def test_a_job_says_that_it_waits_and_can_be_cancelled_there(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(1)
    monkeypatch.setattr(subprocess_job, "_turns", lambda: turns)
    monkeypatch.setattr(subprocess_job, "_in_a_process", lambda report, work, *more: work(report))
    with turns.turn("somebody", lambda why: None):
        job = Job(lambda report: in_subprocess(report, modest))
        assert not job.wait(0.5)
        assert job.state.text == "Waiting for a computation of somebody else to end; yours is next"
        job.cancel()
        assert job.wait(HANG)
        assert job.state.state == "cancelled"
    again = Job(lambda report: in_subprocess(report, modest))
    assert again.wait(HANG)
    assert again.result() == 7


def test_a_job_knows_whose_it_is_and_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.shared.subprocess_job._asker", lambda: ("Ann", None))
    job = Job(lambda report: whose())
    assert job.wait(HANG)
    assert job.result() == "Ann"
    monkeypatch.undo()
    job = Job(lambda report: str(whose()))  # no screen is being run
    assert job.wait(HANG)
    assert job.result() == "None"
    assert whose() is None

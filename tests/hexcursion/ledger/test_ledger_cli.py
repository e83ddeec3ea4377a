"""The ledger's commands: what they print, what they refuse, and their exit status."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import pytest

from dpgp_core.numbers import lower, upper
from hexcursion.ledger import BudgetExceeded, Ledger, chain, entry
from hexcursion.ledger.cli import add_ledger_commands, show
from tests.hexcursion.ledger.places import Place, charge_for, release

Run = Callable[..., int]


@pytest.fixture
def run(place: Place) -> Run:
    """Run `ledger COMMAND ...` on the test's ledger; returns the exit status."""

    def call(command: str, *options: str) -> int:
        parser = argparse.ArgumentParser()
        add_ledger_commands(parser.add_subparsers(required=True))
        chosen = parser.parse_args(
            ["ledger", command, *options, "--ledger", place.address, "--key", str(place.key)]
        )
        status: int = chosen.run(chosen)
        return status

    return call


@pytest.fixture
def broken(ledger: Ledger, dataset: str) -> int:
    """A ledger with one release and one charge that a crash left open; the number of the latter."""
    ledger.set_budget(dataset, "point", 1.0, 1e-5)
    release(ledger, charge_for(dataset, 0.1, title="Sales of 2018"), "first")
    return ledger.reserve(charge_for(dataset, 0.1)).number


def test_a_ledger_that_is_not_there_is_not_begun(
    run: Run, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("show", "verify"):
        assert run(command) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert "no ledger" in captured.err
    assert not place.key.exists()


def test_ledger_alone_asks_for_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_ledger_commands(parser.add_subparsers(required=True))
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["ledger"])
    assert "the following arguments are required: COMMAND" in capsys.readouterr().err


def test_show_says_budget_spent_left_and_every_entry(
    run: Run, ledger: Ledger, dataset: str, broken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show") == 0
    text = capsys.readouterr().out
    account = ledger.account(dataset, "point")
    assert f"Dataset {dataset}, unit point" in text
    assert "epsilon 1 at delta 1e-05" in text
    assert f"epsilon {upper(account.spent, 6)} in 2 charges" in text
    assert f"epsilon {lower(account.left)}" in text
    assert f"open    {broken}:" in text
    assert '{"title": "Sales of 2018"}' in text
    assert text.count("\n") == len(ledger.entries()) + 7
    assert text == show(ledger) + "\n"


def test_what_is_spent_is_rounded_up_and_what_is_left_down(
    run: Run, ledger: Ledger, dataset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """0.37527215 spent was said to be 0.375272, and 0.62472775 left to be 0.624728."""
    ledger.set_budget(dataset, "point", 0.9999999, 1e-5)
    release(ledger, charge_for(dataset, 0.1), "first")
    assert run("show") == 0
    text = capsys.readouterr().out
    assert "budget  epsilon 0.999999 at delta 1e-05" in text
    assert "spent   epsilon 0.375273 in 1 charges" in text
    assert "left    epsilon 0.6247\n" in text
    refused = BudgetExceeded(
        unit="point", delta=1e-5, budget=1.0, spent=0.1234561, asked=0.9999991, after=1.12345678901
    )
    assert "spent 0.123457, asked 1, left 0.8765, and together it would be 1.1234568;" in str(refused)


def test_show_as_json_has_every_field(
    run: Run, ledger: Ledger, dataset: str, broken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert [row["hash"] for row in data["entries"]] == [entry.hash for entry in ledger.entries()]
    assert data["entries"][2]["body"]["facts"] == {"title": "Sales of 2018"}
    (account,) = data["accounts"]
    assert (account["dataset"], account["open"]) == (dataset, [broken])
    assert account["spent"] == ledger.account(dataset, "point").spent


class _Clock:
    """A clock that says what it is told; stands for `datetime` where rows are written."""

    def __init__(self) -> None:
        self.times = [datetime(2026, 10, 25, 1, minute, tzinfo=UTC) for minute in (30, 30, 20, 25)]

    def now(self, zone: object) -> datetime:
        return self.times.pop(0)

    fromisoformat = staticmethod(datetime.fromisoformat)


def test_a_clock_that_runs_backwards_is_noted_in_the_ledger_and_by_verify(
    run: Run,
    ledger: Ledger,
    dataset: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entry, "datetime", _Clock())
    for epsilon in (4.0, 3.0, 2.0, 1.0):  # at 1:30, 1:30, 1:20 and 1:25
        ledger.set_budget(dataset, "point", epsilon, 1e-5)
    monkeypatch.undo()
    _, second, third, fourth = (row for row in ledger.entries() if row.kind == "budget")
    assert [row.facts.get("clock_behind") for row in (second, third, fourth)] == [None, 600, None]
    assert ledger.verify() == []
    assert run("verify") == 0
    said = capsys.readouterr().out
    assert f"note: entry {third.number}: says a time 600 seconds before that of the entry it follows" in said
    assert f"entry {second.number}" not in said
    assert f"entry {fourth.number}" not in said


@pytest.mark.parametrize(("seconds", "told"), [(59, ""), (60, "60 seconds"), (86_400, "86,400 seconds")])
def test_a_clock_behind_the_ledger_is_told_before_a_release(
    ledger: Ledger, dataset: str, monkeypatch: pytest.MonkeyPatch, seconds: int, told: str
) -> None:
    clock = _Clock()
    clock.times = [datetime(2026, 10, 25, 1, tzinfo=UTC)]
    monkeypatch.setattr(entry, "datetime", clock)
    ledger.set_budget(dataset, "point", 4.0, 1e-5)
    clock.times = [datetime(2026, 10, 25, 1, tzinfo=UTC) - timedelta(seconds=seconds)]
    monkeypatch.setattr(chain, "datetime", clock)
    note = ledger.clock_note()
    assert told in note if told else note == ""


def test_verify_prints_the_last_seal_or_the_findings(
    run: Run, place: Place, ledger: Ledger, broken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    seal = f"{broken}:{ledger.entries()[broken].hash}"
    assert run("verify", "--seal", seal) == 0
    assert capsys.readouterr().out == f"6 entries verified; the last one is {seal}\n"
    assert run("verify", "--seal", seal[:-1]) == 1
    assert capsys.readouterr().out.startswith(f"entry {broken}: ")
    assert run("verify", "--seal", "nonsense") == 2
    capsys.readouterr()

    place.tamper("UPDATE ledger_entries SET unit = 'cell' WHERE number = 2")
    assert run("verify") == 1
    assert capsys.readouterr().out.startswith("entry 2: was changed")
    assert run("show") == 0
    assert "NOT VERIFIED" in capsys.readouterr().out
    assert run("show", "--json") == 1
    assert run("void", str(broken), "--reason", "crash", "--person", "Ada") == 1
    assert "entry 2" in capsys.readouterr().err


def test_void_gives_back_once_and_only_what_was_not_released(
    run: Run, ledger: Ledger, dataset: str, broken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("void", str(broken), "--reason", "power cut", "--person", "Ada") == 0
    assert ledger.account(dataset, "point").open == ()
    assert "(Ada: power cut)" in show(ledger)
    for number, reason in ((broken, "again"), (2, "regret"), (0, "why not"), (77, "who knows")):
        assert run("void", str(number), "--reason", reason, "--person", "Ada") == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert run("void", str(broken), "--reason", " ") == 2


def test_budget_is_set_by_the_beginning_of_a_fingerprint(
    run: Run, ledger: Ledger, dataset: str, broken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--unit", "point", "--delta", "1e-5")
    assert run("budget", dataset[:8], *options, "--epsilon", "2") == 2
    assert "give both" in capsys.readouterr().err
    assert (
        run("budget", dataset[:8], *options, "--epsilon", "2", "--reason", "agreed", "--person", "Ada") == 0
    )
    assert "epsilon 2 at delta 1e-05" in capsys.readouterr().out
    assert run("budget", "f" * 64, "--unit", "cell", "--epsilon", "1", "--delta", "1e-6") == 0
    assert run("budget", "no such dataset", *options, "--epsilon", "1") == 2
    assert run("budget", dataset[:8], *options, "--epsilon", "nan") == 2
    assert len(ledger.accounts()) == 2


def test_the_json_is_indented_for_a_person(run: Run, broken: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--json") == 0
    text = capsys.readouterr().out
    assert text == json.dumps(json.loads(text), indent=2) + "\n"


def test_whoever_is_logged_in_answers_for_a_decision(
    run: Run, ledger: Ledger, dataset: str, broken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "grace")
    other = ledger.fingerprint([1.0])
    ledger.set_budget(other, "point", 1.0, 1e-5)
    raised = ("--unit", "point", "--epsilon", "2", "--delta", "1e-5", "--reason", "agreed")
    for command in (
        ("budget", dataset, *raised),
        ("void", str(broken), "--reason", "crash"),
    ):
        assert run(*command) == 0
    assert "(grace: agreed)" in show(ledger)
    assert "(grace: crash)" in show(ledger)


@pytest.mark.parametrize("error", [OSError, KeyError])
def test_where_nobody_is_logged_in_a_person_must_be_named(
    run: Run, dataset: str, broken: int, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def nobody() -> NoReturn:
        raise error

    monkeypatch.setattr("getpass.getuser", nobody)
    assert run("void", str(broken), "--reason", "crash") == 2
    assert run("void", str(broken), "--reason", "crash", "--person", "Ada") == 0


def test_a_malicious_row_does_not_steer_the_terminal(make_place: Callable[[str], Place]) -> None:
    place = make_place("sqlite")
    ledger = place.open()
    change = "UPDATE ledger_entries SET kind = :kind, body = '[1]', created = CAST(:bytes AS TEXT)"
    place.tamper(change, kind="\x1b[2Jgenesis", bytes=b"\xff\x1b")
    text = show(ledger)
    assert "\x1b" not in text
    text.encode("utf-8")

"""The benchmark of rows begins only with what it can finish."""

from __future__ import annotations

import sys

import pytest

from studies.scale.rows import PEER_PYTHON, arguments, peer_python


@pytest.mark.parametrize("named", ["/nowhere/python", "false", sys.executable])
def test_an_interpreter_without_duckdb_is_refused_before_anything_runs(
    named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PEER_PYTHON, named)
    with pytest.raises(SystemExit):
        arguments([])
    assert f"PEER_PYTHON={named} starts no Python that has duckdb: name one" in capsys.readouterr().err


def test_none_is_needed_and_rows_are_at_least_a_million(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PEER_PYTHON, "")
    assert arguments([]).millions == [1, 3]
    assert arguments(["--millions", "2"]).millions == [2]
    with pytest.raises(SystemExit):
        arguments(["--millions", "1", "0"])
    assert "--millions takes whole numbers above 0." in capsys.readouterr().err
    with pytest.raises(SystemExit):
        arguments(["--runs", "0"])
    assert "--runs takes a whole number above 0." in capsys.readouterr().err


def test_the_peer_is_the_python_that_is_named_or_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"duckdb": object()}
    monkeypatch.setattr("importlib.util.find_spec", found.get)
    monkeypatch.delenv(PEER_PYTHON, raising=False)
    assert peer_python() == sys.executable
    found.clear()
    assert peer_python() == ""
    monkeypatch.setenv(PEER_PYTHON, "/named/python")
    assert peer_python() == "/named/python"

"""The benchmark of rows begins only with what it can finish."""

from __future__ import annotations

import sys

import pytest

from benchmarks.scale.rows import PEER_PYTHON, arguments


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

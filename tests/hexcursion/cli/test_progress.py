"""How a command says how far it is: one line of a terminal, and nothing in a file or a pipe."""

from __future__ import annotations

import sys

import pytest

from hexcursion.cli.run import end_progress, progress


def test_a_terminal_sees_one_line_that_is_written_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress(0.254, "Searching")
    progress(1.0, "Done")
    end_progress()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"\r 25 %  Searching{' ' * 51}\r100 %  Done{' ' * 56}\n"


def test_a_file_or_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    progress(0.5, "Searching")
    end_progress()
    assert capsys.readouterr() == ("", "")

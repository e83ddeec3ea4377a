"""The peer of the benchmark of defaults is a checkout that holds the published code, or there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.speed.defaults import PEER, arguments


def test_an_empty_peer_is_none_and_one_without_the_code_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PEER", raising=False)
    assert arguments([]).peer is None
    monkeypatch.setenv("PEER", "")
    assert arguments([]).peer is None
    monkeypatch.setenv("PEER", str(tmp_path))
    with pytest.raises(SystemExit):
        arguments([])
    assert f"{tmp_path} does not hold {PEER}.py: name a checkout" in capsys.readouterr().err
    (tmp_path / f"{PEER}.py").touch()
    assert arguments([]).peer == tmp_path

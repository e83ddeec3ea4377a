"""The page of attacks: its lines run as they stand, and what they print is what they are there for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attack-in-ten-minutes.md"


def test_the_attacks_of_the_page_run_and_find_nothing_but_the_broken_sampler(
    capsys: pytest.CaptureFixture[str],
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 5
    names: dict[str, object] = {"__name__": "attack_page"}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec", dont_inherit=True), names)
    printed = capsys.readouterr().out
    pair, declared = map(float, re.findall(r"farthest pair ([\d.]+), declared ([\d.]+)", printed)[0])
    assert 0.9 * declared < pair <= declared + 1e-6
    chance, success, error, bound = map(
        float,
        re.findall(r"chance ([\d.]+), best attack ([\d.]+) \+- ([\d.]+), bound ([\d.]+)", printed)[0],
    )
    assert chance == 0.02
    assert chance < success <= bound + 5.0 * error
    assert re.findall(r"(\w+): right .* alarm: (\w+)", printed) == [("honest", "False"), ("broken", "True")]
    assert printed.endswith("equal to the last bit: True\n")

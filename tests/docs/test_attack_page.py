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
    assert len(blocks) == 7
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
    assert "equal to the last bit: True\n" in printed
    told = dict(re.findall(r"(floats|exact): the dataset told in (\d+) of 200", printed))
    assert int(told["floats"]) >= 190
    assert 70 <= int(told["exact"]) <= 130, "a fair coin, within four deviations"
    changed = re.findall(r"(order|machine): (\d+) float \w+ changed, (\d+) exact values", printed)
    assert [(name, int(exact)) for name, _, exact in changed] == [("order", 0), ("machine", 0)]
    assert all(int(floats) > 3 for _, floats, _ in changed)

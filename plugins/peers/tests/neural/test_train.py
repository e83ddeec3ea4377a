"""What of the training runs without PyTorch: its tasks, and the sentence that says how to install it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from hexcursion_peers.neural.line import LINE
from hexcursion_peers.neural.network import MAP
from hexcursion_peers.neural.simulated import train


def test_without_the_extra_one_sentence_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidValue) as refused:
        train.train(tmp_path / "w.safetensors", 1.0, 2, 1, 1)
    assert str(refused.value) == (
        "training needs PyTorch: pip install 'hexcursion-peers[train]'. A release does not need it."
    )
    assert list(tmp_path.iterdir()) == []


def test_both_courses_give_what_their_networks_take() -> None:
    on_map, on_line = train.course_of("map", None, 5), train.course_of("line", None, 5)
    assert (on_map.layout, on_line.layout) == (MAP, LINE)
    shapes = [part.shape for part in on_map.batch(2)]
    assert shapes == [(2, 11, 32, 32), (2, 7), (2, 64, 64), (2, 64, 64), (2,)]
    shapes = [part.shape for part in on_line.batch(2)]
    assert shapes == [(2, 11, 128), (2, 8), (2, 102), (2, 1)]
    assert {part.dtype for part in (*on_map.batch(1), *on_line.batch(1))} == {np.dtype("float32")}


def test_nothing_but_the_training_asks_for_pytorch() -> None:
    """A fresh environment without the extra runs all the rest: the shipped one has no PyTorch either."""
    root = Path(__file__).resolve().parents[4]
    asked = re.compile(r"^\s*(import|from)\s+torch\b|import_module\(\s*[\"']torch", re.MULTILINE)
    rooms = ("dpgp_core", "geo", "data_loaders", "hexcursion", "pages", "studies", "plugins", "tests")
    found = [
        str(path.relative_to(root))
        for room in rooms
        for path in sorted((root / room).rglob("*.py"))
        if asked.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["plugins/peers/src/hexcursion_peers/neural/simulated/train.py"]

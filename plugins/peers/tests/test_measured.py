"""What the documents quote of a stored run is what it holds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = ROOT / "plugins" / "peers" / "docs" / "peers-measured.md"
STORED = ROOT / "studies" / "results" / "leaderboard.json"


def agreements() -> dict[tuple[str, float, str, str], str]:
    """By what is hidden, epsilon, map and mechanism, as the document writes it."""
    tables: list[dict[str, Any]] = json.loads(STORED.read_text("utf-8"))["tables"]
    rows = [
        dict(zip(t["columns"], row, strict=True))
        for t in tables
        if "hides" in t["columns"]
        for row in t["rows"]
    ]
    return {
        (row["hides"], row["epsilon"], row["data"], row["mechanism"].lower()): f"{row['right']:.3f}"[1:]
        for row in rows
    }


def test_the_tables_of_the_leaderboard_are_those_of_its_stored_run() -> None:
    stored, told = agreements(), {}
    section = DOCUMENT.read_text("utf-8").partition("## The leaderboard")[2].partition("\n## ")[0]
    for block in re.findall(r"(?:^\|.*\n)+", section, re.M):
        head, _, *lines = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()
        ]
        hides, epsilon = re.fullmatch(r"hiding (.+), epsilon (\d)", head[0]).groups()  # type: ignore[union-attr]
        for name, *values in lines:
            told |= {
                (hides, float(epsilon), at, name.lower()): value
                for at, value in zip(head[1:], values, strict=True)
            }
    assert told == stored
    assert len(told) == 182
    prose = re.sub(r"^\|.*$", "", section, flags=re.M)
    assert re.findall(r"(?<![\w.])\.\d+", prose) == [], "a figure of the run in prose, which nothing compares"

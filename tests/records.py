"""Records beside tests: what was found right, line by line, in sections of a text file.

After a change that is meant, the tests are run with RECORD=1, and the difference is read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

SHORT = 48  # characters of a line that stood there before


def hash_of(text: str) -> str:
    """The beginning of a text's hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def recorded_lines(path: Path) -> dict[str, list[str]]:
    """The lines of each section; one that stood there before is named by its hash."""
    found: dict[str, list[str]] = {}
    known: dict[str, str] = {}
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        if line.startswith("# "):
            lines = found[line[2:]] = []
        elif line.startswith("= "):
            lines.append(known[line.split(" ")[1]])
        elif line:
            lines.append(line)
            known[hash_of(line)] = line
    return found


def agrees(path: Path, order: Iterable[str], section: str, shown: list[str]) -> None:
    """Fail unless the record says what is shown; write it first where that is asked for."""
    if "RECORD" in os.environ:
        held = {**recorded_lines(path), section: shown}
        written: list[str] = []
        for name in (name for name in order if name in held):
            written += ["", f"# {name}"]
            for line in held[name]:
                before = len(line) > SHORT and line in written
                written.append(f"= {hash_of(line)} {line[:SHORT]}" if before else line)
        path.write_text("\n".join(written[1:]) + "\n", encoding="utf-8")
    known = recorded_lines(path)[section]
    other = [f"{was} -> {now}" for was, now in zip_longest(known, shown, fillvalue="nothing") if was != now]
    assert not other, f"{len(other)} lines of {section!r} differ, the first: {other[0]}"

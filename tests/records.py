"""Records beside tests: what was found right, line by line, in sections of a text file.

After a change that is meant, the tests are run with RECORD=1, and the difference is read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

SHORT = 48  # characters of a line that stood there before
MANY = 12  # numbers that are shown one by one


def hash_of(text: str) -> str:
    """The beginning of a text's hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def short(value: Any) -> str:
    """Numbers to five digits; many of them by how many there are, both ends and their mean."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.kind}{value.shape} {short(value.ravel().astype(float).tolist())}"
    if isinstance(value, float | np.floating):
        return f"{float(value):.5g}"
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__ + short({one.name: getattr(value, one.name) for one in fields(value)})
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} {short(one)}" for name, one in value.items()) + "}"
    if isinstance(value, tuple | list):
        if len(value) > MANY and all(isinstance(one, float) for one in value):
            finite = [one for one in value if np.isfinite(one)]
            return f"({len(value)}: {short(value[:2])} … {short(value[-2:])} mean {short(np.mean(finite))})"
        return f"({', '.join(map(short, value))})"
    return str(value)


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

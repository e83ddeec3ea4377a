"""Size of the house: `python -m studies.house [--names]` prints files, lines and short modules of each room.

Every Python file below the rooms counts; a short module has fewer than 40 lines and is neither
`__init__` nor `__main__`. Nothing is stored.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("dpgp_core", "geo", "data_loaders", "hexcursion", "pages")
SHORT = 40


def counted(room: str, root: Path = ROOT) -> tuple[int, int, list[str]]:
    """Return the number of files and lines of a room, and the names of its short modules."""
    files = sorted((root / room).rglob("*.py"))
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in files}
    short = [path for path in files if lines[path] < SHORT and not path.name.startswith("__")]
    return len(files), sum(lines.values()), [path.relative_to(root).as_posix() for path in short]


def main() -> None:
    found = {room: counted(room) for room in ROOMS}
    for room, (files, lines, short) in found.items():
        print(f"{room:14}{files:5} files{lines:8,} lines{len(short):4} under {SHORT} lines")
    files, lines = sum(each[0] for each in found.values()), sum(each[1] for each in found.values())
    short = [name for each in found.values() for name in each[2]]
    print(f"{'together':14}{files:5} files{lines:8,} lines{len(short):4} under {SHORT} lines")
    if "--names" in sys.argv[1:]:
        print(*short, sep="\n")


if __name__ == "__main__":
    main()

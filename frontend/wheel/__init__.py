"""The app as a wheel carries it: laid out as the repository, and the command that runs its script."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main() -> None:
    """`hexcursion-app`: what `python app.py` does in a checkout, with the same arguments."""
    folder = Path(__file__).resolve().parent
    sys.path.insert(0, str(folder))
    runpy.run_path(str(folder / "app.py"), run_name="__main__")

"""A home of the program that is deleted after a study: its ledger, its releases and its witness."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def home() -> Iterator[Path]:
    """Make a temporary folder the home of this process and of its children."""
    with tempfile.TemporaryDirectory(prefix="study-") as folder:
        os.environ |= {"HEXCURSION_HOME": folder, "HEXCURSION_WITNESS": f"{folder}/witness"}
        yield Path(folder)

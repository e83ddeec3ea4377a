"""`python -m workflow` and, where the package is installed, `hexcursion`: the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Fix the number of BLAS threads, then run one command; returns the exit status."""
    # Before numpy is imported: two BLAS threads are many times slower than one when anything else runs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    from workflow.cli import main as run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m workflow`: the command line."""

from __future__ import annotations

import os
import sys

# Before numpy is imported: two BLAS threads are many times slower than one when anything else runs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from workflow.cli import main

if __name__ == "__main__":
    sys.exit(main())

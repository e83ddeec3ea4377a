"""`python -m workflow`: the command line."""

from __future__ import annotations

import sys

from workflow.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""The studies: every table and figure of the experiments, each from one function."""

import os

# Studies report CPU seconds of one thread. OpenBLAS reads this when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

"""Coverage-guided fuzzing of every reader: `python -m tests.readers.fuzz READER --runs 2000`.

Atheris (libFuzzer) changes the files of the corpus, keeps what reaches new lines of the readers, and stops at
the first input for which a reader raises anything but one of the project's own errors in one sentence, or takes
more memory or time than it may. That input is written to the folder named by --found, and printed.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["data_loaders", "geo", "workflow", "pmtiles", "fitdecode"]):
    from tests.readers.registry import READERS, outcome

CORPUS = Path(__file__).parent / "corpus"
MEGABYTES = 2048  # of one input's reader, with all its libraries
SECONDS = 25
LONGEST = 1 << 16  # bytes of an input


def main() -> None:
    """Fuzz one reader; the exit status is 0 where nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reader", choices=sorted(READERS))
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grown", type=Path, required=True, help="folder for inputs that reach new lines")
    parser.add_argument("--found", type=Path, required=True, help="folder for an input that is a defect")
    asked = parser.parse_args()
    for folder in (asked.grown, asked.found):
        folder.mkdir(parents=True, exist_ok=True)
    seeds = CORPUS / asked.reader
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def one(content: bytes) -> None:
        with contextlib.redirect_stdout(None):
            outcome(asked.reader, content)

    words = [
        sys.argv[0], f"-runs={asked.runs}", f"-seed={asked.seed}", f"-rss_limit_mb={MEGABYTES}",
        f"-timeout={SECONDS}", f"-max_len={LONGEST}", f"-artifact_prefix={asked.found}/", "-verbosity=0",
        "-print_final_stats=1", str(asked.grown), *([str(seeds)] if seeds.is_dir() else []),
    ]  # fmt: skip
    atheris.Setup(words, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

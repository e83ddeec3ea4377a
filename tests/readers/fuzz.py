"""Coverage-guided fuzzing: `python -m tests.readers.fuzz [READER ...] --grown DIR --found DIR`.

Atheris (libFuzzer) changes the files of the corpus, keeps what reaches new lines of the readers, and stops at
the first input for which a reader raises anything but one of the project's own errors in one sentence, or
takes more memory or time than it may. That input is written to the folder named by --found, and printed.
"""

from __future__ import annotations

import argparse
import atexit
import os
import resource
import sys
from pathlib import Path
from typing import NoReturn

import atheris

WATCHED = ["data_loaders", "geo", "hexcursion", "hexcursion_traces", "pmtiles", "fitdecode"]
with atheris.instrument_imports(include=WATCHED):
    from tests.readers.registry import READERS, corpus_of, outcome

MEGABYTES = 2048  # of one input's reader, with all its libraries
SECONDS = 25
LONGEST = 1 << 16  # bytes of an input


def main() -> int:
    """Fuzz readers one after the other, each in a process of its own; 0 where nothing was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"default: all of {', '.join(READERS)}")
    parser.add_argument("--runs", type=int, default=2000, help="inputs for each reader (default 2000)")
    parser.add_argument("--seconds", type=int, default=60, help="at most, for each reader (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grown", type=Path, required=True, help="folder for inputs that reach new lines")
    parser.add_argument("--found", type=Path, required=True, help="folder for inputs that are defects")
    asked = parser.parse_args()
    bad = 0
    for reader in asked.readers or READERS:
        child = os.fork()  # the readers are made ready for the fuzzer once: that takes ten seconds and more
        if child == 0:
            fuzz(reader, asked)
        status = os.waitpid(child, 0)[1]
        print(f"{reader}: {'FOUND a defect' if status else 'nothing found'}", flush=True)
        bad += status != 0
    return min(bad, 1)


def fuzz(reader: str, asked: argparse.Namespace) -> NoReturn:
    """Fuzz one reader; ends the process."""
    grown, found, seeds = asked.grown / reader, asked.found / reader, corpus_of(reader)
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    words = [
        sys.argv[0], f"-runs={asked.runs}", f"-seed={asked.seed}", f"-max_total_time={asked.seconds}",
        f"-rss_limit_mb={MEGABYTES}", f"-timeout={SECONDS}", f"-max_len={LONGEST}",
        f"-artifact_prefix={found}/", "-verbosity=0", "-print_final_stats=1", str(grown),
        str(seeds),
    ]  # fmt: skip
    defects: list[bytes] = []

    def one(content: bytes) -> None:
        try:
            outcome(reader, content)
        except BaseException:
            defects.append(content)
            (found / "defect").write_bytes(content)
            raise

    # The end is made here: threads of some library would hold it up.
    atexit.register(lambda: os._exit(77 if defects else 0))
    atheris.Setup(words, one)
    atheris.Fuzz()
    raise AssertionError("the fuzzer ends its process")


if __name__ == "__main__":
    sys.exit(main())

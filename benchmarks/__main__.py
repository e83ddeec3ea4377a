"""Every number the documents claim, measured again: `python -m benchmarks [NAME ...]` or `make studies`.

The studies store JSON; what the other benchmarks print is stored beside it, in benchmarks/results/NAME.txt.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NOT_BENCHMARKS = ("mutations", "material")  # a command of its own, and what the others are measured on
MODULES = {
    "studies": "benchmarks.studies",
    **{
        path.stem: f"benchmarks.{path.parent.name}.{path.stem}"
        for path in sorted(FOLDER.glob("*/[a-z]*.py"))
        if path.parent.name not in NOT_BENCHMARKS
    },
}
"""Name of each benchmark -> its module, by rooms; two rooms hold no benchmark of one name."""
OWN_FILES = ("studies", "london")
"""Those that store JSON themselves."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"among {', '.join(MODULES)}; all without")
    asked = parser.parse_args().names or MODULES
    unknown = [name for name in asked if name not in MODULES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}: choose among {', '.join(MODULES)}.")
    failed = []
    for name in asked:
        command = f"python -m {MODULES[name]}"
        print(f"== {command}", flush=True)
        before = _child_seconds()
        done = subprocess.run(
            [sys.executable, "-m", MODULES[name]],
            cwd=FOLDER.parent, env={"OPENBLAS_NUM_THREADS": "1", **os.environ}, stdout=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
        print(done.stdout, flush=True)
        if done.returncode:
            failed.append(name)
        elif name not in OWN_FILES:
            spent = f"The whole benchmark took {_child_seconds() - before:,.0f} s of CPU time."
            (FOLDER / "results" / f"{name}.txt").write_text(
                f"$ {command}\n{done.stdout}{spent}\n", encoding="utf-8"
            )
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
    return len(failed)


def _child_seconds() -> float:
    """CPU seconds of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())

"""Write the stored figures of the studies again: `python -m benchmarks.studies [NAME ...] [--quick]`.

Without names, all of them. Each file in benchmarks/results says its seeds, repetitions and CPU time.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import time

from studies.registry import RESULTS, STUDIES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"among {', '.join(STUDIES)}")
    parser.add_argument("--quick", action="store_true", help="reduced size; prints, and stores nothing")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in STUDIES]
    if unknown:
        parser.error(f"there is no study {unknown[0]!r}: choose among {', '.join(STUDIES)}.")
    for name in asked.names or STUDIES:
        study, last = STUDIES[name], [0.0]

        def report(fraction: float, text: str, name: str = name, last: list[float] = last) -> None:
            if time.monotonic() - last[0] > 5.0:
                last[0] = time.monotonic()
                print(f"{name}: {100 * fraction:3.0f} %  {text}", file=sys.stderr, flush=True)

        result = (study.quick if asked.quick else study.full)(report)
        for table in result.tables:
            print(f"\n{table.title}\n{table.csv() if len(table.rows) < 80 else f'{len(table.rows)} rows'}")
        print(result.facts(), *result.notes, sep="\n", flush=True)
        if not asked.quick:
            RESULTS.mkdir(parents=True, exist_ok=True)
            (RESULTS / study.stored[-1]).write_text(result.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()

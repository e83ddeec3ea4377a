"""Agreement against epsilon on the real London files.

Command: `python -m studies.agreement.london_real [FOLDER] [--quick]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
Every mechanism is tuned on 2017 and released (in simulation) on 2018, at least 50 draws, on two domains. The
same on generated data is `python -m studies london`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from dataclasses import replace

from hexcursion.errors import WorkflowError
from studies.london.study import LondonSettings, run
from studies.material.real_files import real_files_parser
from studies.registry import RESULTS


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="coarse grids; prints, and stores nothing")
    asked = parser.parse_args()
    last = [0.0]

    def report(fraction: float, text: str) -> None:
        if time.monotonic() - last[0] > 5.0:
            last[0] = time.monotonic()
            print(f"london: {100 * fraction:3.0f} %  {text}", file=sys.stderr, flush=True)

    try:
        result = run(replace(LondonSettings.real(asked.folder), quick_search=asked.quick), report)
    except WorkflowError as error:
        print(error)
        return
    print(result.table("iou").csv(), result.facts(), *result.notes, sep="\n")
    if not asked.quick:
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / "london-real.json").write_text(result.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()

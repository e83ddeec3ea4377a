"""Agreement against epsilon on the real London files: `python -m benchmarks.london [FOLDER] [--quick]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
Every mechanism is tuned on 2017 and released (in simulation) on 2018, at least 50 draws, on two domains. The
same on generated data is `python -m benchmarks.studies london`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from studies.london.study import LondonSettings, run
from studies.london.task import generated_settings, load_task, real_settings
from studies.registry import RESULTS
from workflow.errors import WorkflowError
from workflow.project.load import Project

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def real_files_parser(about: str) -> argparse.ArgumentParser:
    """A parser that asks for the folder of the real files, which are not shipped."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=_BESIDE, help="folder of the real files")
    return parser


def both_sales(folder: Path) -> list[tuple[str, Project]]:
    """The real sales, or one sentence where their files are absent, and the generated ones."""
    generated = ("generated", load_task(generated_settings(), "region"))
    try:
        return [("real", load_task(real_settings(folder), "region")), generated]
    except WorkflowError as error:
        print(error)
        return [generated]


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

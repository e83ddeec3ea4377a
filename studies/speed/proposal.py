"""CPU from "Search" to a proposal on the screen: `python -m studies.speed.proposal [--against FOLDER]`.

Loads and searches as the screen *Privacy and utility* does before a release, each time in
a separate process: on the shipped example, on London (the real files of `--data`, else the generated
city) and on the shipped table without its reference. `--against` names a checkout of another version,
whose screen is run in turn with ours; the ratio is that of the middle times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
TIMES = 3
SETTINGS = {
    "shipped example": "county_settings()",
    "London": "real_settings(Path(sys.argv[1])) if sys.argv[1] else generated_settings()",
    "without reference": "county_settings().with_changes(reference=None, reference_public=False, "
    "centre=11.0, clip=2.0)",
}
RUN = """
import os, sys
from pathlib import Path
from hexcursion.project.example import county_settings
from pages.privacy.designs import load_and_tune
from studies.london.task import generated_settings, real_settings
settings = {settings}
before = os.times()
load_and_tune(lambda share, text: None, settings)
after = os.times()
print(sum(after[:4]) - sum(before[:4]))
"""


def cpu_seconds(checkout: Path, name: str, data: Path) -> float:
    """CPU seconds of one load and search, those of further processes too."""
    command = [sys.executable, "-c", RUN.format(settings=SETTINGS[name]), str(data) if data.is_dir() else ""]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # as `make run` starts the app
    done = subprocess.run(command, cwd=checkout, env=alone, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} in {checkout}: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)


def main() -> None:
    """Print the middle times, and the ratio where there is another checkout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--against", type=Path, help="checkout of another version")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the real London files")
    parser.add_argument("--only", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    given = parser.parse_args()
    checkouts = [ROOT, *([given.against] if given.against else [])]
    for name in given.only:
        runs = [[cpu_seconds(checkout, name, given.data) for checkout in checkouts] for _ in range(TIMES)]
        ours, *other = (statistics.median(times) for times in zip(*runs, strict=True))
        ratio = "".join(f"; {given.against.name}: {each:.1f}, {each / ours:.1f} times" for each in other)
        print(f"{name}: {ours:.1f} CPU s{ratio}", flush=True)


if __name__ == "__main__":
    main()

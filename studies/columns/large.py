"""Atlases of the tables of 25,000 records and more, as `studies.columns.atlas` measures the others.

Command: `python -m studies.columns.large [FOLDER]`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from studies.agreement.covariates import BESIDE
from studies.columns.atlas import DELTA, HEAD, LARGE, SEED, print_surveys

RELEASES = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=BESIDE, help="folder of the real files")
    folder = parser.parse_args().folder
    if not (folder / "sensors").is_dir():
        parser.error("the tables are not shipped: name the folder that holds `sensors`.")
    print(HEAD)
    print_surveys(LARGE, folder, RELEASES)
    print(f"Seed {SEED}; {RELEASES} simulated releases of each row, delta {DELTA:g}.")


if __name__ == "__main__":
    main()

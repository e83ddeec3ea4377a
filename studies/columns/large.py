"""Atlases of the tables of 25,000 records and more, as `studies.columns.atlas` measures the others.

Command: `python -m studies.columns.large [FOLDER]`.
"""

from __future__ import annotations

from studies.columns.atlas import DELTA, HEAD, LARGE, SEED, print_surveys
from studies.material.real_files import real_files_parser

RELEASES = 4


def main() -> None:
    parser = real_files_parser(__doc__)
    folder = parser.parse_args().folder
    if not (folder / "sensors").is_dir():
        parser.error("the tables are not shipped: name the folder that holds `sensors`.")
    print(HEAD)
    print_surveys(LARGE, folder, RELEASES)
    print(f"Seed {SEED}; {RELEASES} simulated releases of each row, delta {DELTA:g}.")


if __name__ == "__main__":
    main()

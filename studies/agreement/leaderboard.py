"""Which mechanism draws the best map at equal budget: `python -m studies.agreement.leaderboard [FOLDER]`.

FOLDER holds the real files and is ../shared/data beside the checkout unless named; where they are absent, or
named `none`, the generated data alone are contested. `--enter MODULE:CLASS` lets a mechanism of one's own in.
`--only london` contests one map, and its table takes the place of its older one: all others stay. The tables
are stored in studies/results/leaderboard.json and shown on the Studies page.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from importlib import import_module

from dpgp_core.mechanisms.base import Mechanism
from studies.agreement.spectral_sensors import peer_map
from studies.leaderboard.parts import merged
from studies.leaderboard.run import LeaderboardSettings, run
from studies.material.real_files import real_files_parser
from studies.registry import RESULTS
from studies.reporting.tables import StudyResult

SEED = 155


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--releases", type=int, default=60, help="simulated releases of each design")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--mechanisms", nargs="+", default=[], help="names; all without")
    parser.add_argument(
        "--data",
        "--only",
        nargs="+",
        default=[],
        help="beginnings of titles; others stay stored",
    )
    parser.add_argument("--enter", nargs="+", default=[], metavar="MODULE:CLASS", help="guests")
    parser.add_argument("--quick", action="store_true", help="coarse grids")
    parser.add_argument("--print-only", action="store_true", help="store nothing")
    asked = parser.parse_args()
    settings = LeaderboardSettings(
        folder=str(asked.folder) if (asked.folder / "sensors").is_dir() else "",
        epsilons=tuple(asked.epsilons),
        releases=asked.releases,
        mechanisms=tuple(asked.mechanisms),
        data=tuple(asked.data),
        quick_search=asked.quick,
    )

    def report(fraction: float, text: str) -> None:
        print(f"leaderboard: {100 * fraction:3.0f} %  {text}", file=sys.stderr, flush=True)

    kept = None if asked.print_only or asked.enter else store
    result = run(settings, report, peer_map, tuple(map(guest, asked.enter)), kept)
    if not result.tables:
        raise SystemExit("No map begins with that name, or its files are not there: name FOLDER and a title.")
    print(*(table.csv() for table in result.tables), result.facts(), *result.notes, sep="\n")


def guest(named: str) -> Mechanism:
    """The mechanism that `MODULE:CLASS` names."""
    module, _, name = named.partition(":")
    made: Mechanism = getattr(import_module(module), name)()
    return made


def store(result: StudyResult) -> None:
    """Where the Studies page looks for it, beside the maps that are stored already."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / "leaderboard.json"
    if path.is_file():
        result = merged(StudyResult.from_json(path.read_text(encoding="utf-8")), result)
    path.write_text(result.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()

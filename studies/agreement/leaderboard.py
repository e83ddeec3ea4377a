"""Which mechanism draws the best map at equal budget: `python -m studies.agreement.leaderboard [FOLDER]`.

FOLDER holds the real files and is ../shared/data unless named; without them, or with
`none`, only the generated data are contested. `--enter MODULE:CLASS` adds a mechanism. `--only london`
contests one map and replaces its stored table; the others stay. The tables
are stored in studies/results/leaderboard.json and shown on the Studies page.
"""

from __future__ import annotations

from importlib import import_module

from dpgp_core.mechanisms.base import Mechanism
from studies.agreement.spectral_sensors import peer_map
from studies.leaderboard.parts import merged
from studies.leaderboard.run import LeaderboardSettings, run
from studies.material.real_files import real_files_parser
from studies.registry import RESULTS
from studies.reporting.tables import StudyResult, progress

SEED = 155


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--releases", type=int, default=20, help="simulated releases of each design")
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
    options = parser.parse_args()
    settings = LeaderboardSettings(
        folder=str(options.folder) if (options.folder / "sensors").is_dir() else "",
        epsilons=tuple(options.epsilons),
        releases=options.releases,
        mechanisms=tuple(options.mechanisms),
        data=tuple(options.data),
        quick_search=options.quick,
    )
    keep = None if options.print_only or options.enter else store
    result = run(settings, progress("leaderboard"), peer_map, tuple(map(guest, options.enter)), keep)
    if not result.tables:
        raise SystemExit("No map begins with that name, or its files are not there: name FOLDER and a title.")
    print(*(table.csv() for table in result.tables), result.facts(), *result.notes, sep="\n")


def guest(address: str) -> Mechanism:
    """The mechanism that `MODULE:CLASS` names."""
    module, _, name = address.partition(":")
    mechanism: Mechanism = getattr(import_module(module), name)()
    return mechanism


def store(result: StudyResult) -> None:
    """Store the result for the Studies page, together with the maps that are stored already."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / "leaderboard.json"
    if path.is_file():
        result = merged(StudyResult.from_json(path.read_text(encoding="utf-8")), result)
    path.write_text(result.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()

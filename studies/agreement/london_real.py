"""Agreement against epsilon on the real London files.

Command: `python -m studies.agreement.london_real [FOLDER] [--quick]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence says so.
Every mechanism is tuned on 2017 and released (in simulation) on 2018, at least 50 draws, on two domains. The
map without privacy is fitted to 2018 by likelihood. The same on generated data is `python -m studies london`.
"""

from __future__ import annotations

from dataclasses import replace

from hexcursion.errors import WorkflowError
from studies.london.study import LondonSettings, run
from studies.material.real_files import real_files_parser
from studies.registry import RESULTS
from studies.reporting.tables import progress


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="coarse grids; prints, and stores nothing")
    options = parser.parse_args()
    try:
        result = run(
            replace(LondonSettings.real(options.folder), quick_search=options.quick), progress("london")
        )
    except WorkflowError as error:
        print(error)
        return
    print(result.table("iou").csv(), result.facts(), *result.notes, sep="\n")
    if not options.quick:
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / "london-real.json").write_text(result.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()

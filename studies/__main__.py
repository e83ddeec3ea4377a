"""Measure again what the documents claim: `python -m studies [NAME ...]`, or `make studies` for all of it.

Without names, list them. A study stores JSON; the output of another command is stored in
studies/results/NAME.txt.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path

from studies.registry import RESULTS, STUDIES, Study
from studies.reporting.tables import progress

FOLDER = Path(__file__).resolve().parent
ROOMS = ("agreement", "columns", "prices", "scale", "screens")
"""The rooms whose every module is a command that measures something."""
MODULES = {
    path.stem: ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    for folder in (*(FOLDER / room for room in ROOMS), *sorted(FOLDER.parent.glob("plugins/*/studies")))
    for path in sorted(folder.glob("[a-z]*.py"))
}
"""Name of each such command -> its module; names are unique over all rooms."""
OWN_FILES = ("leaderboard", "london_real")
"""Those that store JSON themselves."""
NAMES = (*STUDIES, *(name for name in MODULES if name not in STUDIES))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m studies", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="what to measure; a list of names without any"
    )
    parser.add_argument("--all", action="store_true", help="measure everything (long)")
    parser.add_argument(
        "--quick", action="store_true", help="a study at reduced size; prints, stores nothing"
    )
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is nothing named {unknown[0]!r}: choose among {', '.join(NAMES)}.")
    printed = [name for name in options.names if name in MODULES]
    if options.quick and (printed or options.all):
        parser.error(
            f"--quick is for studies: choose among {', '.join(n for n in STUDIES if n not in MODULES)}."
        )
    names = NAMES if options.all else options.names
    if not names:
        for name in NAMES:
            print(f"{name:22} {STUDIES[name].title if name in STUDIES else f'python -m {MODULES[name]}'}")
    failed = []
    for name in names:
        if name not in MODULES:
            run_study(STUDIES[name], quick=options.quick)
        elif not run_module(name):
            failed.append(name)
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
    return len(failed)


def run_study(study: Study, *, quick: bool) -> None:
    """Run one study in this process, print its tables, and store them where it ran in full."""
    result = (study.quick if quick else study.full)(progress(study.name))
    for table in result.tables:
        print(f"\n{table.title}\n{table.csv() if len(table.rows) < 80 else f'{len(table.rows)} rows'}")
    print(result.facts(), *result.notes, sep="\n", flush=True)
    if not quick:
        study.folder.mkdir(parents=True, exist_ok=True)
        (study.folder / study.stored[-1]).write_text(result.to_json(), encoding="utf-8")


def run_module(name: str) -> bool:
    """Run one command in a separate process, print and store its output; return whether it succeeded."""
    command = f"python -m {MODULES[name]}"
    print(f"== {command}", flush=True)
    seconds_before = _child_seconds()
    process = subprocess.run(
        [sys.executable, "-m", MODULES[name]],
        cwd=FOLDER.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(process.stdout, flush=True)
    if process.returncode == 0 and name not in OWN_FILES:
        spent = f"The whole benchmark took {_child_seconds() - seconds_before:,.0f} s of CPU time."
        results_of(name).write_text(f"$ {command}\n{process.stdout}{spent}\n", encoding="utf-8")
    return process.returncode == 0


def results_of(name: str) -> Path:
    """Return the file of a command's stored output; a plugin's is in the plugin."""
    package = MODULES[name].split(".")
    folder = RESULTS if package[0] == "studies" else FOLDER.parent.joinpath(*package[:-1], "results")
    return folder / f"{name}.txt"


def _child_seconds() -> float:
    """CPU seconds of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())

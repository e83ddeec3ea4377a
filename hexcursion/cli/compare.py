"""The command `compare`: mechanisms beside each other at equal epsilon, as a table, a CSV and a figure."""

from __future__ import annotations

import argparse
from typing import Any

from hexcursion.cli.options import add_release_options, settings_from_options, with_resolution
from hexcursion.cli.progress import end_progress, progress
from hexcursion.comparing.report import csv_text, lines, svg_text
from hexcursion.comparing.run import BY_HAND, EPSILONS
from hexcursion.door.pipeline import compare_settings
from hexcursion.errors import WorkflowError
from hexcursion.new_place import made_whole, new_place
from hexcursion.settings import field


def add_compare_command(commands: Any) -> None:
    """The subcommand with the options of a release."""
    text = "compare mechanisms at equal epsilon by simulated releases of reference data; releases nothing"
    usage = "%(prog)s --data FILE --threshold NUMBER --out DIR [OPTION ...]"
    parser = commands.add_parser("compare", help=text, description=text, usage=usage)
    add_release_options(parser)
    parser.add_argument(
        "--epsilons", type=float, nargs="+", default=list(EPSILONS), metavar="EPSILON",
        help="Budgets to compare at. Default: 0.5 1 2 4 10.",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", required=True, help="New folder for the CSV and the figure.")
    parser.set_defaults(run=run_compare)


def run_compare(options: argparse.Namespace) -> int:
    """Load, compare, print, write the table and the figure into a new folder.

    Raises
    ------
    WorkflowError
        One sentence, for settings or data that do not do, and a folder that cannot be written.
    """
    out, epsilons = new_place(options.out), tuple(field("epsilon").check(each) for each in options.epsilons)
    idle = [name for name in BY_HAND if getattr(options, name) is not None]
    if idle:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in idle)
        raise WorkflowError(f"A comparison finds every design by a search that is free: leave {flags} out.")
    settings = with_resolution(settings_from_options(options), options)
    names = tuple(settings.mechanisms) if options.mechanisms else ()
    _, found = compare_settings(settings, names, epsilons, progress, settings.executor)
    end_progress()
    for line in lines(found):
        print(line)
    try:
        with made_whole(out) as folder:
            folder.mkdir()
            (folder / "comparison.csv").write_text(csv_text(found), encoding="utf-8", newline="")
            (folder / "comparison.svg").write_text(svg_text(found), encoding="utf-8")
    except OSError as error:
        raise WorkflowError(
            f"The comparison could not be written to {out} ({error.strerror}): name another folder."
        ) from error
    print(f"\nTable and figure in {out}. Nothing was released or charged.")
    return 0

"""`python -m hexcursion series`: bundles of several periods, read together into a folder of
files."""

from __future__ import annotations

import argparse
from typing import Any

from hexcursion.new_place import new_place
from hexcursion_series.files import PAGE, write_series
from hexcursion_series.read import read_series_of
from hexcursion_series.report import notes_of, periods_said, steps_of


def add_series_command(commands: Any) -> None:
    """Add the subcommand with its options."""
    text = "read bundles of several periods together: a map of each, change, and what all of them promise"
    parser = commands.add_parser("series", help=text, description=f"{text}; costs nothing")
    parser.add_argument("bundles", metavar="BUNDLE", nargs="+", help="Folder or zip of each period's bundle.")
    parser.add_argument("--out", metavar="DIR", required=True, help="New folder for the files of the series.")
    parser.add_argument(
        "--threshold", type=float, help="Another threshold than the newest bundle's, in the data's unit."
    )
    parser.add_argument(
        "--by",
        metavar="RISE",
        type=float,
        default=0.0,
        help="Rise of the question: in the value's unit, or a share (.05 is 5 %%) for logarithms.",
    )
    parser.add_argument(
        "--times",
        metavar="TIME",
        type=float,
        nargs="+",
        help="Time of each bundle in years or another unit, if their periods are no dates.",
    )
    parser.add_argument("--layer", metavar="COLUMN", help="Of atlases: the column that is read.")
    parser.add_argument(
        "--ledger",
        metavar="URL|FILE",
        help="The curator's ledger: it knows whether the releases hold the same records.",
    )
    parser.set_defaults(run=run_series)


def run_series(options: argparse.Namespace) -> int:
    """Read the bundles, and the ledger if it is named; write the files and print a summary."""
    out = new_place(options.out)
    series, promise = read_series_of(
        options.bundles,
        threshold=options.threshold,
        by=options.by,
        times=options.times,
        layer=options.layer,
        ledger=options.ledger,
    )
    folder = write_series(series, promise, out)
    for line in (*periods_said(series), *(step.sentence for step in steps_of(series)), *notes_of(series)):
        print(f"  {line}")
    for line in promise.sentences:
        print(f"  {line}")
    print(f"Open {folder / PAGE}.")
    return 0

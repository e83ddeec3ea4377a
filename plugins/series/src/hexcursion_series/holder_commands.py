"""`hexcursion design` writes a design that holders share; `hexcursion together` adds their
bundles."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hexcursion.bundle.products import counted
from hexcursion.bundle.published.earlier import load_with_earlier
from hexcursion.bundle.statement.expected import shown_words
from hexcursion.cli.bundles import add_signers_option, signers_of
from hexcursion.cli.options import (
    add_release_options,
    settings_from_options,
    shorten_help,
    with_resolution,
)
from hexcursion.errors import WorkflowError
from hexcursion.new_place import made_whole, new_place
from hexcursion.releasing.release_guard import objections
from hexcursion.search.choice import records_sentence
from hexcursion.search.shared import share_design, shared_choice
from hexcursion_series.holder_files import (
    PAGE,
    asked_statement,
    promise_of_holders,
    question_of,
    write_holders,
)
from hexcursion_series.holders import read_holders


def add_design_command(commands: Any) -> None:
    """Add the subcommand with the options of a release."""
    text = "write the design file that several holders of records share; releases nothing"
    usage = "%(prog)s --data FILE --threshold NUMBER --holders N --records-of-all N --out FILE [OPTION ...]"
    parser = commands.add_parser("design", help=text, description=text, usage=usage)
    add_release_options(parser)
    parser.add_argument(
        "--holders", type=int, required=True, metavar="N", help="How many holders will release."
    )
    parser.add_argument(
        "--records-of-all",
        type=int,
        required=True,
        metavar="N",
        help="About how many records all holders have together, by public knowledge.",
    )
    parser.add_argument("--out", metavar="FILE", required=True, help="New file for the design.")
    shorten_help(parser)
    parser.set_defaults(run=run_design)


def run_design(options: argparse.Namespace) -> int:
    """Load, make the design from public facts, write the file and print its digest.

    Raise `WorkflowError`, `DataError` or `GeoError`, one sentence, for what stops it.
    """
    out = new_place(options.out, "file")
    settings = with_resolution(settings_from_options(options), options)
    if settings.shared_design is not None:
        raise WorkflowError("This command makes the shared design: leave --shared-design out.")
    project = load_with_earlier(settings)
    design = share_design(project, options.holders, options.records_of_all)
    choice = shared_choice(project, design)
    with made_whole(out) as file:
        file.write_bytes(design.to_bytes())
    print(f"Design {design.digest} for {design.holders:,} holders is in {out}; it holds no record.")
    expectation = records_sentence(*choice.judged)
    doubts = objections(*choice.judged, choice.level(settings.threshold))
    for line in (
        expectation and f"The map of all: {expectation}",
        *(f"Expected to be a poor map: {doubt}." for doubt in doubts),
    ):
        if line:
            print(line)
    print(f"Every holder runs `hexcursion release ... --shared-design {out.name}`, then")
    print("`hexcursion together BUNDLE BUNDLE ... --out map` adds the bundles.")
    return 0


def add_together_command(commands: Any) -> None:
    """Add the subcommand with its options."""
    text = "read the bundles of several holders, made with one design file, as one map; costs nothing"
    parser = commands.add_parser("together", help=text, description=text)
    parser.add_argument("bundles", metavar="BUNDLE", nargs="+", help="Folder or zip of a holder's bundle.")
    parser.add_argument("--out", metavar="DIR", required=True, help="New folder for the map.")
    parser.add_argument(
        "--threshold", type=float, help="Another threshold than the first bundle's, in the data's unit."
    )
    add_signers_option(parser)
    parser.set_defaults(run=run_together)


def run_together(options: argparse.Namespace) -> int:
    """Add the bundles, write the files and print what they say. Raise `BundleError`, one
    sentence."""
    out, signers = new_place(options.out), signers_of(options)
    holders = read_holders([Path(name) for name in options.bundles], threshold=options.threshold)
    folder = write_holders(holders, out, signers)
    print(question_of(holders))
    print(f"  {counted(holders.products)}")
    if right := shown_words(holders.products, asked_statement(holders)):
        print(f"  {right}")
    for bundle in holders.bundles:
        print(f"  {bundle.statement['release']['title']}: {signers.says(bundle.signature)}")
    for sentence in promise_of_holders(holders).sentences:
        print(f"  {sentence}")
    print(f"Open {folder / PAGE}.")
    return 0

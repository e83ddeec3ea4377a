"""Parsing and dispatch: every command ends with 0, or with one sentence on stderr and a non-zero
status."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

from dpgp_core.errors import HexcursionError
from dpgp_core.plugins import Registry
from hexcursion.bundle.published.readings import READINGS
from hexcursion.bundle.published.site import EMBED, INDEX, write_site, zip_of_site
from hexcursion.cli.bundles import (
    add_areas_command,
    add_explain_command,
    add_layer_option,
    add_outline_command,
    add_sign_option,
    add_signers_option,
    add_signing_commands,
    signers_of,
)
from hexcursion.cli.options import (
    add_release_options,
    any_from_options,
    settings_from_options,
    shorten_help,
    with_resolution,
)
from hexcursion.cli.outcome import REFUSED, line_of, line_of_release, status_of
from hexcursion.cli.run import end_progress, progress, run_demo, run_release, run_view
from hexcursion.comparing.run import BY_HAND, EPSILONS, csv_text, lines, svg_text
from hexcursion.door.pipeline import compare_settings
from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.ledger.cli import add_ledger_commands
from hexcursion.lint.command import add_lint_command
from hexcursion.new_place import made_whole, new_place, write_files
from hexcursion.search.executors import Workers
from hexcursion.settings import field
from hexcursion.settings.atlas import AtlasSettings
from hexcursion.version import NAME, VERSION


def add_site_command(commands: Any, readings: Sequence[str]) -> None:
    """The subcommand with its options, one for each reading of installed packages."""
    text = "make a static site of bundles: an index, a map page for each, and their files"
    parser = commands.add_parser(
        "site", help=text, description=f"{text}; a bundle that cannot be read is left out"
    )
    parser.add_argument(
        "bundles", metavar="BUNDLES", nargs="+", help="Bundles (folder or zip), or a folder of bundles."
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="New folder for the site.")
    parser.add_argument(
        "--address",
        metavar="URL",
        default="",
        help="Where the site will stand, for the pictures that messages show of a link to it.",
    )
    add_signers_option(parser)
    for name in readings:
        about = (
            f"Read releases of one area and question together too, and list the page of their {name} first."
        )
        try:
            parser.add_argument(f"--{name}", action="append_const", dest="readings", const=name, help=about)
        except argparse.ArgumentError as error:
            raise READINGS.refusal(name, "bears the name of an option of `site`") from error
    parser.set_defaults(run=run_site, readings=[])


def run_site(options: argparse.Namespace) -> int:
    """Check every bundle, write the site, list its releases; 1 if a bundle was left out."""
    out = new_place(options.out)
    zip_file = new_place(out.with_name(f"{out.name}.zip"))
    left_out: list[str] = []
    sources = [Path(name) for name in options.bundles]
    signers = signers_of(options)
    folders = write_site(sources, out, options.address, signers, left_out.append, readings=options.readings)
    for folder in folders:
        print(f"  {folder}")
    zip_file.write_bytes(zip_of_site(out))
    print(f"Open {out / INDEX}, or put {out} on any web server; {zip_file} is the same to upload.")
    print(f"{EMBED} beside each map shows it in another page.")
    for sentence in left_out:
        print(f"left out: {sentence}", file=sys.stderr)
    return 1 if left_out else 0


def add_compare_command(commands: Any) -> None:
    """The subcommand with the options of a release."""
    text = "compare mechanisms at equal epsilon by simulated releases of reference data; releases nothing"
    usage = "%(prog)s --data FILE --threshold NUMBER --out DIR [OPTION ...]"
    parser = commands.add_parser("compare", help=text, description=text, usage=usage)
    add_release_options(parser)
    parser.add_argument(
        "--epsilons",
        type=float,
        nargs="+",
        default=list(EPSILONS),
        metavar="EPSILON",
        help="Budgets to compare at. Default: 0.5 1 2 4 10.",
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="New folder for the CSV and the figure.")
    shorten_help(parser)
    parser.set_defaults(run=run_compare)


def run_compare(options: argparse.Namespace) -> int:
    """Load, compare, print, write the table and the figure into a new folder.

    Raise `WorkflowError` for bad input.
    """
    out, epsilons = (
        new_place(options.out),
        tuple(field("epsilon").check(epsilon) for epsilon in options.epsilons),
    )
    idle = [name for name in BY_HAND if getattr(options, name) is not None]
    if idle:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in idle)
        raise WorkflowError(f"A comparison finds every design by a search that is free: leave {flags} out.")
    settings = with_resolution(settings_from_options(options), options)
    names = tuple(settings.mechanisms) if options.mechanisms else ()
    _, comparison = compare_settings(settings, names, epsilons, progress, Workers(settings.executor))
    end_progress()
    for line in lines(comparison):
        print(line)
    files = {"comparison.csv": csv_text(comparison), "comparison.svg": svg_text(comparison)}
    with made_whole(out) as folder:
        write_files(folder, {name: text.encode() for name, text in files.items()})
    print(f"\nTable and figure in {out}. Nothing was released or charged.")
    return 0


ATLAS_TEXT = (
    "Several columns of the same records, released by `release` together under one promise: name them with "
    "--value pb zn cd and give each its threshold, its public centre and its clip bound (about 1.6 standard "
    "deviations) as --threshold pb=150 zn=500 cd=1.2, or write a table [columns.pb] for each into a settings "
    "file. One charge pays for all maps, every threshold of each and every relation between them; one of "
    "them alone is not promised more. This command plans: it says what each map is expected to show and "
    "which columns to leave out, draws nothing and charges nothing."
)


def add_atlas_command(commands: Any) -> None:
    """The subcommand that explains and plans an atlas, with the options of a release."""
    text = "plan a release of several columns together: what each map will show, and what all cost"
    usage = "%(prog)s --data FILE --value COLUMN COLUMN ... --threshold COLUMN=NUMBER ... [OPTION ...]"
    parser = commands.add_parser("atlas", help=text, description=ATLAS_TEXT, usage=usage)
    add_release_options(parser)
    shorten_help(parser)
    parser.set_defaults(
        run=run_atlas, out=None, dry_run=True, show_baseline=False, sign=None, json=False, released={}
    )


def run_atlas(options: argparse.Namespace) -> int:
    """Plan, and print the plan; raise `WorkflowError` for one column, and as `run_release`."""
    if not isinstance(any_from_options(options), AtlasSettings):
        raise WorkflowError("An atlas has several columns: name them with --value pb zn cd.")
    return run_release(options)


ABOUT = (
    "Private excursion maps of point data: where does a field pass a threshold? Begin with `demo --out DIR`. "
    "A command that cannot do what is asked says why in one sentence on stderr, and its status is not 0."
)
NEGATIVE = re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$")


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are one sentence, like all others; -1e-3 is a number and no
    option."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = NEGATIVE

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse does, but a command itself refuses what it does not know: its help lists the
        rest."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """End with the message and the command that helps."""
        self.exit(REFUSED, f"error: {' '.join(message.split())}; compare `{self.prog} --help`.\n")


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of all commands, or of those of installed packages at most the wanted one.

    A package's command is a function of the subparsers that adds one of its entry point's name.
    Raise `PluginError` for one that does not load, cannot be added, or bears a name that is taken.
    """
    program = "hexcursion" if Path(sys.argv[0]).stem == "hexcursion" else "python -m hexcursion"
    parser = Parser(prog=program, description=ABOUT)
    parser.add_argument("--version", action="version", version=f"{NAME} {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_release(commands)
    add_atlas_command(commands)
    _add_demo(commands)
    _add_view(commands)
    add_areas_command(commands)
    add_explain_command(commands)
    add_outline_command(commands)
    add_site_command(commands, tuple(READINGS) if command in (None, "site") else ())
    add_signing_commands(commands)
    add_compare_command(commands)
    add_ledger_commands(commands)
    add_lint_command(commands)
    _add_installed(commands, command)
    return parser


def _add_release(commands: Any) -> None:
    text = "tune on reference data, release private paths, write the bundle, print the receipt"
    usage = "%(prog)s --data FILE --threshold NUMBER --out DIR [OPTION ...]"
    release = commands.add_parser("release", help=text, description=text, usage=usage)
    add_release_options(release)
    release.add_argument(
        "--out", metavar="DIR", help="New folder for the bundle (and DIR.zip); a dry run needs none."
    )
    release.add_argument(
        "--dry-run", action="store_true", help="Tune and print the receipt; draw and charge nothing."
    )
    release.add_argument(
        "--show-baseline",
        action="store_true",
        help="Print the agreement with the non-private baseline (curator only).",
    )
    release.add_argument(
        "--json",
        action="store_true",
        help="Print one line of JSON on what happened; everything else goes to standard error.",
    )
    add_sign_option(release)
    shorten_help(release)
    release.set_defaults(run=run_release, released={})


def _add_demo(commands: Any) -> None:
    text = "the same on house sales that ship with the program"
    demo = commands.add_parser("demo", help=text, description=text)
    demo.add_argument("--out", metavar="DIR", required=True, help="new folder for the bundle and its ledger")
    demo.add_argument("--epsilon", type=float, default=1.0, help="privacy budget (default 1)")
    demo.add_argument("--ledger", metavar="URL|FILE", help="ledger database (default: inside DIR)")
    demo.set_defaults(run=run_demo)


def _add_view(commands: Any) -> None:
    text = "describe a bundle without any private data"
    view = commands.add_parser("view", help=text, description=text)
    view.add_argument("bundle", metavar="BUNDLE", help="folder or zip of a bundle")
    view.add_argument(
        "--threshold", type=float, help="another threshold, in the data's own unit (costs nothing)"
    )
    add_layer_option(view)
    view.add_argument(
        "--derive",
        nargs="+",
        action="append",
        default=[],
        metavar="WORD",
        help="of an atlas, free: where ratio A B NUMBER, difference A B NUMBER or sum A B NUMBER lies above "
        "the number; both A B or any A B as published",
    )
    view.add_argument(
        "--density",
        type=float,
        metavar="K",
        help="say where more than K records lie per square kilometre, by its released counts (free)",
    )
    view.add_argument("--out", metavar="FILE", help="new file for these densities, .csv or .geojson")
    add_signers_option(view)
    view.set_defaults(run=run_view)


def _add_installed(commands: Any, command: str | None) -> None:
    """Add the commands of installed packages, or of those the wanted one alone."""
    registry: Registry[Any] = Registry("hexcursion.commands", dict(commands.choices), Callable, "")
    if command in registry.own:
        return
    installed = [name for name in registry if name not in registry.own]
    for name in [command] if command in installed else installed:
        registry.use(name, lambda add: add(commands))
        if name not in commands.choices or commands.choices[name].get_default("run") is None:
            raise registry.refusal(name, "adds no command of that name with a function `run`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (docs/deployment.md, "On a schedule")."""
    one_line = False
    try:
        words = sys.argv[1:] if arguments is None else arguments
        options = build_parser(*words[:1]).parse_args(words)
        one_line = getattr(options, "json", False)
        with redirect_stdout(sys.stderr) if one_line else nullcontext():
            status = int(options.run(options) or 0)
    except (HexcursionError, KeyboardInterrupt) as error:
        # After the charge: its entry, by `charge_stands`
        stands = " ".join(getattr(error, "__notes__", ()))
        text = str(error)
        if isinstance(error, Cancelled | KeyboardInterrupt):
            text = f"Stopped. {stands}" if stands else "Stopped; nothing was released."
        print(f"error: {text}", file=sys.stderr)
        if one_line:
            print(line_of(error))
        return status_of(error)
    if one_line:
        print(line_of_release(options.released))
    return status

"""Parsing and dispatch: every command ends with 0, or with one sentence on stderr and a non-zero status."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from data_loaders import DataError
from dpgp_core.errors import HexcursionError
from dpgp_core.plugins import Registry
from geo import GeoError
from hexcursion.cli.areas import add_areas_command
from hexcursion.cli.compare import add_compare_command
from hexcursion.cli.options import add_release_options
from hexcursion.cli.outline import add_outline_command
from hexcursion.cli.run import run_demo, run_release, run_view
from hexcursion.cli.series import add_series_command
from hexcursion.cli.signing import add_sign_option, add_signers_option, add_signing_commands
from hexcursion.cli.site import add_site_command
from hexcursion.errors import Cancelled
from hexcursion.ledger.cli import add_ledger_commands
from hexcursion.lint import add_lint_command
from hexcursion.version import NAME, VERSION

REFUSED = 2
NOTHING_RELEASED = "error: Stopped; nothing was released."
ABOUT = (
    "Private excursion maps of point data: where does a field pass a threshold? Begin with `demo --out DIR`. "
    "A command that cannot do what is asked says why in one sentence on stderr, and its status is not 0."
)
NEGATIVE = re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$")


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are one sentence, like all others; -1e-3 is a number and no option."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = NEGATIVE

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse does, but a command itself refuses what it does not know: its help lists the rest."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """End with the message and the command that helps."""
        self.exit(REFUSED, f"error: {' '.join(message.split())}; compare `{self.prog} --help`.\n")


def build_parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """All commands with their options, or of those of installed packages at most the wanted one.

    A package's command is a function of the subparsers that adds one of its entry point's name.

    Raises
    ------
    PluginError
        For a package whose command does not load, cannot be added, or bears a name that is taken.
    """
    parser = Parser(prog=_program(), description=ABOUT)
    parser.add_argument("--version", action="version", version=f"{NAME} {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    text = "tune on reference data, release private paths, write the bundle, print the receipt"
    usage = "%(prog)s --data FILE --threshold NUMBER --out DIR [OPTION ...]"
    release = commands.add_parser("release", help=text, description=text, usage=usage)
    add_release_options(release)
    release.add_argument(
        "--out", metavar="DIR", required=True, help="New folder for the bundle (and DIR.zip)."
    )
    release.add_argument(
        "--dry-run", action="store_true", help="Tune and print the receipt; draw and charge nothing."
    )
    release.add_argument(
        "--show-baseline",
        action="store_true",
        help="Print the agreement with the non-private baseline (curator only).",
    )
    add_sign_option(release)
    release.set_defaults(run=run_release)
    text = "the same on house sales that ship with the program"
    demo = commands.add_parser("demo", help=text, description=text)
    demo.add_argument("--out", metavar="DIR", required=True, help="new folder for the bundle and its ledger")
    demo.add_argument("--epsilon", type=float, default=1.0, help="privacy budget (default 1)")
    demo.add_argument("--ledger", metavar="URL|FILE", help="ledger database (default: inside DIR)")
    demo.set_defaults(run=run_demo)
    text = "describe a bundle without any private data"
    view = commands.add_parser("view", help=text, description=text)
    view.add_argument("bundle", metavar="BUNDLE", help="folder or zip of a bundle")
    view.add_argument(
        "--threshold", type=float, help="another threshold, in the data's own unit (costs nothing)"
    )
    add_signers_option(view)
    view.set_defaults(run=run_view)
    add_areas_command(commands)
    add_outline_command(commands)
    add_site_command(commands)
    add_series_command(commands)
    add_signing_commands(commands)
    add_compare_command(commands)
    add_ledger_commands(commands)
    add_lint_command(commands)
    known: Registry[Any] = Registry("hexcursion.commands", dict(commands.choices), Callable, "")
    if wanted not in known.own:
        added = [name for name in known if name not in known.own]
        for name in [wanted] if wanted in added else added:
            known.use(name, lambda add: add(commands))
            if name not in commands.choices or commands.choices[name].get_default("run") is None:
                raise known.refusal(name, "adds no command of that name with a function `run`")
    return parser


def _program() -> str:
    """The words that the command was called with: `hexcursion` where it is installed."""
    return "hexcursion" if Path(sys.argv[0]).stem == "hexcursion" else "python -m hexcursion"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        given = sys.argv[1:] if arguments is None else arguments
        options = build_parser(*given[:1]).parse_args(given)
        return int(options.run(options) or 0)
    except (Cancelled, KeyboardInterrupt) as stop:
        stands = " ".join(getattr(stop, "__notes__", ()))  # after the charge: its entry, by `charge_stands`
        print(f"error: Stopped. {stands}" if stands else NOTHING_RELEASED, file=sys.stderr)
        return REFUSED
    except (HexcursionError, DataError, GeoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED

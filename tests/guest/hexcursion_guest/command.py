"""The guest's command."""

from __future__ import annotations

import argparse
from typing import Any

from dpgp_core import MECHANISMS


def add_guests_command(commands: Any) -> None:
    """The subcommand."""
    parser = commands.add_parser("guests", help="say what the guest brought")
    parser.set_defaults(run=run_guests)


def title() -> str:
    """The title of the guest's mechanism, as the registry has it."""
    return MECHANISMS["guest-stripes"].title


def run_guests(options: argparse.Namespace) -> int:
    """Print the title of the guest's mechanism."""
    print(title())
    return 0

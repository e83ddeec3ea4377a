"""The command `site`: published bundles as a folder of pages that any web server can show."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from hexcursion.bundle.published.site import EMBED, INDEX, write_site, zip_of_site
from hexcursion.cli.signing import add_signers_option, signers_of
from hexcursion.new_place import new_place


def add_site_command(commands: Any) -> None:
    """The subcommand with its options."""
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
    parser.set_defaults(run=run_site)


def run_site(options: argparse.Namespace) -> int:
    """Check every bundle, write the site, say what is in it; 1 where a bundle was left out."""
    out = new_place(options.out)
    packed = new_place(out.with_name(f"{out.name}.zip"))
    left_out: list[str] = []
    sources = [Path(name) for name in options.bundles]
    folders = write_site(sources, out, options.address, signers_of(options), left_out.append)
    for folder in folders:
        print(f"  {folder}")
    packed.write_bytes(zip_of_site(out))
    print(f"Open {out / INDEX}, or put {out} on any web server; {packed} is the same to upload.")
    print(f"{EMBED} beside each map shows it in another page.")
    for sentence in left_out:
        print(f"left out: {sentence}", file=sys.stderr)
    return 1 if left_out else 0

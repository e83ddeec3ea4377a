"""The command `outline`: administrative areas by name as a file, for the options that take one."""

from __future__ import annotations

import argparse
import json
from typing import Any

from geo.context.administrative import SOURCE, areas_like, areas_named
from hexcursion.errors import WorkflowError
from hexcursion.new_place import made_whole, new_place
from hexcursion.words import plural


def add_outline_command(commands: Any) -> None:
    """The subcommand and its options."""
    text = "write the outlines of states, provinces or districts, for --region, --layers and --polygons"
    parser = commands.add_parser("outline", help=text, description=f"{text}. {SOURCE}")
    parser.add_argument(
        "names", metavar="NAME", nargs="+", help="such as 'Kent, United Kingdom' or 'Spain (every area)'"
    )
    parser.add_argument("--out", metavar="FILE", help="new .geojson file; without it the names that fit")
    parser.set_defaults(run=run_outline)


def run_outline(options: argparse.Namespace) -> int:
    """Write the file, or print the names that contain a text; opens nothing private.

    Raises
    ------
    DomainError, WorkflowError
        For a name that is not known, and a file that cannot be written.
    """
    if options.out is None:
        for name in options.names:
            print("\n".join(areas_like(name)) or f"No area's name contains {name!r}.")
        return 0
    areas = areas_named(options.names)
    out = new_place(options.out, "file")
    try:
        with made_whole(out) as file:
            file.write_text(json.dumps(areas, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise WorkflowError(f"{out} cannot be written ({error.strerror}): name another file.") from error
    some = [one["properties"] for one in areas["features"][:5]]
    said = [f"{one['name'].removesuffix(', ' + one['country'])}, {one['country']}" for one in some]
    more = "; ..." if len(areas["features"]) > len(some) else ""
    print(f"Written: {'; '.join(said)}{more}.")
    print(f"{plural(len(areas['features']), 'area')} in {out}: --region takes the file as the area,")
    print(f"--layers draws its areas and answers for each. {SOURCE}")
    return 0

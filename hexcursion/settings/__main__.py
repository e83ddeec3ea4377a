"""`python -m hexcursion.settings [FILE]`: write the reference page of all settings
(docs/settings.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpgp_core.plugins import program_alone
from hexcursion.settings.catalogue import reference_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m hexcursion.settings", description="Write the settings' page."
    )
    parser.add_argument(
        "page", nargs="?", type=Path, default=PAGE, metavar="FILE", help="default: %(default)s"
    )
    page = parser.parse_args().page
    with program_alone():
        page.write_text(reference_page(), encoding="utf-8")
    print(page)

"""`python -m workflow.settings [FILE]`: write the reference page of all settings (docs/settings.md)."""

from __future__ import annotations

import sys
from pathlib import Path

from workflow.settings.describe import reference_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"

if __name__ == "__main__":
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    page.write_text(reference_page(), encoding="utf-8")
    print(page)

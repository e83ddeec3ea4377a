"""A page or comment that names a file of ours names one that exists: what moves takes its mentions along."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = "dpgp_core|hexcursion|geo|data_loaders|pages|studies|plugins|tests|frontend|docs|deploy|static"
NAMED = re.compile(rf"(?<![\w/.-])((?:{ROOMS})(?:/[\w-]+)+\.(?:py|md|toml|txt|json|ts|tsx|js|css|html))\b")
INVENTED = {
    "studies/results/NAME.txt",  # any benchmark's
    "plugins/NAME/tests/mechanisms.py",  # any plugin's
    "hexcursion/releasing.py",  # of a checkout that a test makes, as those below
    "tests/test_used.py",
    "tests/test_name.py",
    "tests/test_outer.py",
    "tests/helper.py",
    "tests/architecture/test_law.py",
}
IN_WHEEL = (
    "hexcursion/app/",
    "hexcursion/pyproject.toml",
)  # made by the build; tests/repository/test_wheel.py
READ = [
    *ROOT.glob("*.md"),
    *ROOT.glob("*.toml"),
    ROOT / "docs" / "report" / "report.typ",
    *(path for room in ROOMS.split("|") if room != "frontend" for path in (ROOT / room).rglob("*.py")),
    *(path for room in ("docs", "studies", "plugins", "tests") for path in (ROOT / room).rglob("*.md")),
]


def named_in(text: str) -> set[str]:
    """Paths from the root that a text names by room, folders and file."""
    return set(NAMED.findall(text))


def roots_of(path: Path) -> list[Path]:
    """The folders that a file's mentions start from: the checkout, and a plugin within it."""
    inner = path.relative_to(ROOT).parts
    return [ROOT, ROOT.joinpath(*inner[:2])] if inner[0] == "plugins" else [ROOT]


def test_every_named_file_exists() -> None:
    assert len(READ) > 600
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in READ
        if path != Path(__file__).resolve()
        for name in named_in(path.read_text(encoding="utf-8")) - INVENTED
        if not any((root / name).exists() for root in roots_of(path)) and not name.startswith(IN_WHEEL)
    }
    assert not missing, sorted(missing)


def test_the_law_sees_what_it_forbids() -> None:
    text = (
        "See geo/maps/test_gone.py, `docs/a-page.md` and https://example.org/docs/other.md, not out/geo/x.py."
    )
    assert named_in(text) == {"geo/maps/test_gone.py", "docs/a-page.md"}

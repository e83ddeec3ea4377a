"""The screens: their names, addresses and order, and the instruction under each title."""

from __future__ import annotations

from dataclasses import dataclass

from dpgp_core.plugins import Registry


@dataclass(frozen=True)
class Screen:
    """One screen. `question` is the line under its title; `path` is relative to the checkout, or absolute for
    an installed package, whose `section` is its heading of the menu. `heads_itself`: the page writes its own
    heading."""

    title: str
    path: str
    address: str
    icon: str
    question: str
    curator: bool = True
    heads_itself: bool = False
    section: str = "More"


START = Screen(
    "Start", "pages/start/page.py", "start", ":material/home:",
    "Make a public map of where private values exceed a threshold.",
)  # fmt: skip
TOUR = Screen(
    "Guided tour", "pages/tour/page.py", "tour", ":material/tour:",
    "See in two minutes what a private map shows that a public one cannot.", curator=False,
)  # fmt: skip
DATA = Screen(
    "Data", "pages/data/page.py", "data", ":material/table_rows:",
    "Choose the private values and the public data to compare them with.",
)  # fmt: skip
HEXAGONS = Screen(
    "Hexagons", "pages/hexagons/page.py", "hexagons", ":material/hexagon:",
    "Choose the public area and the size of its hexagons.",
)  # fmt: skip
PRIVACY = Screen(
    "Privacy and utility", "pages/privacy/page.py", "privacy", ":material/balance:",
    "Say who is protected and how strongly, and find the best map that this allows.",
)  # fmt: skip
RELEASE = Screen(
    "Release", "pages/release/page.py", "release", ":material/shield_lock:",
    "Read what will be published and what it costs, then release the map once.",
)  # fmt: skip
PUBLISH = Screen(
    "Publish", "pages/publish/page.py", "publish", ":material/folder_zip:",
    "Download the files to publish, and see the page that comes with them.",
)  # fmt: skip
VIEWER = Screen(
    "Viewer", "pages/viewer/page.py", "viewer", ":material/map:",
    "Open a published map. Nothing private is read here.", curator=False, heads_itself=True,
)  # fmt: skip
LEDGER = Screen(
    "Ledger", "pages/ledger/page.py", "ledger", ":material/receipt_long:",
    "See what was released so far and how much budget is left.",
)  # fmt: skip
COMPARE = Screen(
    "Compare", "pages/compare/page.py", "compare", ":material/compare_arrows:",
    "See which mechanism draws the best map at each budget, and what today's rules would publish instead.",
)  # fmt: skip
STUDIES = Screen(
    "Studies", "pages/studies/page.py", "studies", ":material/experiment:",
    "Run attacks, the paper's experiments and our comparisons.",
)  # fmt: skip
HELP = Screen(
    "How this works", "pages/help/page.py", "help", ":material/help:",
    "See the idea in three pictures, the guarantee in plain words, and what each word means.", curator=False,
)  # fmt: skip

MAIN_PATH = (DATA, HEXAGONS, PRIVACY, RELEASE, PUBLISH)
SECTIONS: dict[str, tuple[Screen, ...]] = {
    "": (START, TOUR), "From data to map": MAIN_PATH, "Look and check": (VIEWER, COMPARE, LEDGER, STUDIES),
    "About": (HELP,),
}  # fmt: skip
SCREENS = tuple(screen for screens in SECTIONS.values() for screen in screens)
PAGES = Registry("hexcursion.pages", {screen.address: screen for screen in SCREENS}, Screen, "address")


def all_sections() -> dict[str, tuple[Screen, ...]]:
    """Return the menu with the screens of installed packages after the main path; `PluginError` for a package
    whose screen does not load, or has an address that is taken."""
    added: dict[str, tuple[Screen, ...]] = {}
    for address in PAGES:
        if address not in PAGES.own:
            screen = PAGES[address]
            added[screen.section] = (*added.get(screen.section, ()), screen)
    begin = {name: SECTIONS[name] for name in list(SECTIONS)[:2]}
    return {name: (*SECTIONS.get(name, ()), *added.get(name, ())) for name in {**begin, **added, **SECTIONS}}


def neighbours(screen: Screen) -> tuple[Screen | None, Screen | None]:
    """Return the steps of the main path before and after one of them."""
    padded = (None, *MAIN_PATH, None)
    at = MAIN_PATH.index(screen)
    return padded[at], padded[at + 2]

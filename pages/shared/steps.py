"""The screens: their names, addresses and order, and the instruction under each title."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


def _own(title: str, address: str, icon: str, question: str, **options: Any) -> Screen:
    """A screen of this program, by the folder of its page and the name of its icon."""
    return Screen(title, f"pages/{address}/page.py", address, f":material/{icon}:", question, **options)


START = _own("Start", "start", "home", "Make a public map of where private values exceed a threshold.")
TOUR = _own(
    "Guided tour",
    "tour",
    "tour",
    "See in two minutes what a private map shows that a public one cannot.",
    curator=False,
)
DATA = _own(
    "Data", "data", "table_rows", "Choose the private values and the public data to compare them with."
)
HEXAGONS = _own("Hexagons", "hexagons", "hexagon", "Choose the public area and the size of its hexagons.")
PRIVACY = _own(
    "Privacy and utility",
    "privacy",
    "balance",
    "Say who is protected and how strongly, and find the best map that this allows.",
)
RELEASE = _own(
    "Release",
    "release",
    "shield_lock",
    "Read what will be published and at what cost, then release once.",
)
PUBLISH = _own(
    "Publish",
    "publish",
    "folder_zip",
    "Download the files to publish, and see the page that comes with them.",
)
VIEWER = _own(
    "Viewer",
    "viewer",
    "map",
    "Open a published map. Nothing private is read here.",
    curator=False,
    heads_itself=True,
)
LEDGER = _own("Ledger", "ledger", "receipt_long", "See what was released so far and how much budget is left.")
COMPARE = _own(
    "Compare",
    "compare",
    "compare_arrows",
    "See which mechanism draws the best map at each budget, and what today's rules would publish instead.",
)
STUDIES = Screen(
    "Studies",
    "studies/page.py",  # in the folder of what it shows
    "studies",
    ":material/experiment:",
    "Run attacks, the paper's experiments and our comparisons.",
)
HELP = _own(
    "How this works",
    "help",
    "help",
    "See the idea in three pictures, the guarantee in plain words, and what each word means.",
    curator=False,
)

MAIN_PATH = (DATA, HEXAGONS, PRIVACY, RELEASE, PUBLISH)
SECTIONS: dict[str, tuple[Screen, ...]] = {
    "": (START, TOUR),
    "From data to map": MAIN_PATH,
    "Look and check": (VIEWER, COMPARE, LEDGER, STUDIES),
    "About": (HELP,),
}
SCREENS = tuple(screen for screens in SECTIONS.values() for screen in screens)
PAGES = Registry("hexcursion.pages", {screen.address: screen for screen in SCREENS}, Screen, "address")


def all_sections() -> dict[str, tuple[Screen, ...]]:
    """Return the menu with the screens of installed packages after the main path; `PluginError` for a package
    whose screen does not load, or has an address that is taken."""
    plugged: dict[str, tuple[Screen, ...]] = {}
    for address in PAGES:
        if address not in PAGES.own:
            screen = PAGES[address]
            plugged[screen.section] = (*plugged.get(screen.section, ()), screen)
    first, path, *later = SECTIONS
    names = dict.fromkeys((first, path, *plugged, *later))
    return {name: (*SECTIONS.get(name, ()), *plugged.get(name, ())) for name in names}


def neighbours(screen: Screen) -> tuple[Screen | None, Screen | None]:
    """Return the steps of the main path before and after one of them."""
    padded = (None, *MAIN_PATH, None)
    at = MAIN_PATH.index(screen)
    return padded[at], padded[at + 2]

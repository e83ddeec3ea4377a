"""The screens: their names, addresses and order, and the question each of them answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Screen:
    """One screen. `question` is the line under its title; `icon` is a Material symbol."""

    title: str
    path: str
    address: str
    icon: str
    question: str
    curator: bool = True


START = Screen(
    "Start",
    "pages/start/start.py",
    "start",
    ":material/home:",
    "Where does a private quantity exceed a threshold, and what may be said about it in public?",
)
DATA = Screen(
    "Data",
    "pages/path/data.py",
    "data",
    ":material/table_rows:",
    "Which private values are there, and where were they measured?",
)
HEXAGONS = Screen(
    "Hexagons",
    "pages/path/hexagons.py",
    "hexagons",
    ":material/hexagon:",
    "Which public area is covered, and how fine is the map?",
)
PRIVACY = Screen(
    "Privacy and utility",
    "pages/path/privacy.py",
    "privacy",
    ":material/balance:",
    "Who is protected, how strongly, and how good can the map still be?",
)
RELEASE = Screen(
    "Release",
    "pages/path/release.py",
    "release",
    ":material/shield_lock:",
    "What will be said, what does it cost, and do you want to say it?",
)
PUBLISH = Screen(
    "Publish",
    "pages/path/publish.py",
    "publish",
    ":material/folder_zip:",
    "What leaves the building, and what does it tell its reader?",
)
VIEWER = Screen(
    "Viewer",
    "pages/look/viewer.py",
    "viewer",
    ":material/map:",
    "What does a published bundle say? Nothing private is read here.",
    curator=False,
)
LEDGER = Screen(
    "Ledger",
    "pages/custody/ledger.py",
    "ledger",
    ":material/receipt_long:",
    "What was released so far, and what did it cost?",
)
STUDIES = Screen(
    "Studies",
    "pages/evidence/studies.py",
    "studies",
    ":material/experiment:",
    "What do attacks, the paper's experiments and our comparisons show? Run them here.",
)
HELP = Screen(
    "How this works",
    "pages/about/help.py",
    "help",
    ":material/help:",
    "The idea in three pictures, the guarantee in plain words, and every symbol with its name.",
    curator=False,
)

MAIN_PATH = (DATA, HEXAGONS, PRIVACY, RELEASE, PUBLISH)
SECTIONS: dict[str, tuple[Screen, ...]] = {
    "": (START,),
    "From data to map": MAIN_PATH,
    "Look and check": (VIEWER, LEDGER, STUDIES),
    "About": (HELP,),
}
SCREENS = tuple(screen for screens in SECTIONS.values() for screen in screens)


def after(screen: Screen) -> Screen | None:
    """The next step of the main path, or None."""
    return _neighbour(screen, 1)


def before(screen: Screen) -> Screen | None:
    """The previous step of the main path, or None."""
    return _neighbour(screen, -1)


def _neighbour(screen: Screen, step: int) -> Screen | None:
    if screen not in MAIN_PATH:
        return None
    position = MAIN_PATH.index(screen) + step
    return MAIN_PATH[position] if 0 <= position < len(MAIN_PATH) else None

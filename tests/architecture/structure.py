"""The floors of the house: which room may import which. Imports go down; CONTRIBUTING.md shows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.architecture.code import Code, Module, absolute

# From the roof to the ground; rooms on one floor know nothing of each other.
FLOORS = (
    ("app",),
    ("pages",),
    ("hexcursion.__main__",),
    ("hexcursion.cli",),
    ("hexcursion.door",),
    (
        "hexcursion.comparing",
        "hexcursion.estimates",
        "hexcursion.lint",
        "hexcursion.releasing",
    ),
    ("hexcursion.search",),
    ("hexcursion.bundle",),
    ("hexcursion.record",),
    ("hexcursion.project",),
    ("hexcursion.ledger",),
    ("hexcursion.settings",),
    ("hexcursion",),  # words, errors and the like
    ("dpgp_core", "geo", "data_loaders"),
)
LEVEL = {room: -floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# The paper's experiments stand beside the house: they import no screen, and only their own page imports them.
BESIDE, ITS_PAGE = "studies", "pages.studies"


@dataclass(frozen=True, order=True)
class Arrow:
    """From one room to another, with an example: where it stands and what it reaches."""

    start: str
    end: str
    where: str
    what: str

    @property
    def climbs(self) -> bool:
        """Whether it does not go down, or goes beside the house from anywhere but its own page."""
        if BESIDE in (self.start, self.end):
            return self.end == "pages" or (self.end == BESIDE and not self.where.startswith(ITS_PAGE))
        return LEVEL[self.end] >= LEVEL[self.start]

    def __str__(self) -> str:
        return f"{self.where} reaches up from {self.start} to {self.end}: {self.what}"


def room(name: str) -> str:
    """The room of a dotted name; within `hexcursion` its sub-packages are rooms of their own."""
    first, _, rest = name.partition(".")
    inner = f"{first}.{rest.partition('.')[0]}"
    return inner if inner in LEVEL else first


def imports(code: Code) -> Iterator[Arrow]:
    """Every import from one room to another."""
    houses = {each.partition(".")[0] for each in code.modules}
    for module in code.modules.values():
        for line, name in imported(module):
            start, end = room(module.name), room(name)
            if start != end and name.partition(".")[0] in houses:
                yield Arrow(start, end, f"{module.name}:{line}", name)


def imported(module: Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything that a module imports by its whole name."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{absolute(module.name, False, node)}.{a.name}") for a in node.names)


def climbing(code: Code) -> list[str]:
    """What goes up, in words; empty in a sound house."""
    return [str(arrow) for arrow in sorted(set(imports(code))) if arrow.climbs]

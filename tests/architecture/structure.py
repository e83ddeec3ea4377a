"""The house, drawn from its own source into CONTRIBUTING.md: `python -m tests.architecture.structure`.

Two drawings. The floors: which room imports which. The stations: the calls by which the setting `epsilon` and
the private records are handed from room to room between the command line and the ledger. Every arrow goes
down; one that does not is an error, which the tests and this command report.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.calls import reachable
from tests.architecture.code import ROOT, Code, Function, Module, absolute

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- structure: drawn by `make structure` -->", "<!-- structure: end -->"
START = "hexcursion.cli.run.run_release"

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

STATIONS = {
    "hexcursion.cli": "1 command line",
    "hexcursion.settings": "2 settings",
    "hexcursion.door": "3 pipeline",
    "hexcursion.project": "4 project",
    "hexcursion.search": "5 search",
    "hexcursion.releasing": "6 release",
    "hexcursion.ledger": "7 ledger",
}
PRIVATE = ("Observations", "PlacedObservations", "BinnedRecords", "CollapsedRecords")
# What the ledger keeps of both: the cost and the dataset's fingerprint.
CHARGE = "hexcursion.ledger.accounts.charge.Charge"


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


def carriers(code: Code, value: str) -> set[str]:
    """Classes that hold the setting `epsilon` or the records, themselves, by inheritance or in a field."""
    if value == "epsilon":
        found = {name for name, kind in code.classes.items() if room(name) == "hexcursion.settings"
                 and "epsilon" in kind.fields}  # fmt: skip
    else:
        found = {name for name in code.classes if name.rpartition(".")[2] in PRIVATE}
    found.add(CHARGE)
    while True:
        new = {name for name in code.classes.keys() - found if _holds(code, name, found)}
        if not new:
            return found
        found |= new


def _holds(code: Code, name: str, holders: set[str]) -> bool:
    above = code.ancestors(name)
    fields = (each for kind in (name, *above) for each in code.classes[kind].fields)
    return bool(holders & set(above)) or any(code.field_types(name, each) & holders for each in fields)


def travels(code: Code, value: str, start: str = START) -> list[Arrow]:
    """Calls from one room to another, from the command line on, by which the value is given or given back."""
    holders = carriers(code, value)
    found = []
    for caller, callees in reachable(code, start).items():
        for callee, line in callees.items():
            called = code.functions[callee]
            given = any(
                name == value or code.types(called.module, annotation) & holders
                for name, annotation in called.parameters()
            )
            back = code.types(called.module, called.node.returns) & holders
            carried = given or back or called.owner in holders
            if carried and room(caller) != room(callee) and not _stands_for(code, called, callees):
                name = callee.removeprefix(f"{called.module.name}.")
                found.append(Arrow(room(caller), room(callee), f"{caller}:{line}", name))
    return found


def _stands_for(code: Code, called: Function, callees: Iterable[str]) -> bool:
    """Whether the method that this one overrides is called at the same time: one of the two is drawn."""
    above = code.ancestors(called.owner) if called.owner else ()
    return any(f"{kind}.{called.node.name}" in callees for kind in above)


def drawing(code: Code) -> str:
    """Both drawings as Markdown with Mermaid."""
    whole = {tuple(name.partition(".")[0] for name in (arrow.start, arrow.end)) for arrow in imports(code)}
    floors = sorted(((start, end) for start, end in whole if start != end), key=_order)
    lines = ["```mermaid", "flowchart TB"]
    lines += [f"    {start} {'-.->' if start == BESIDE else '-->'} {end}" for start, end in floors]
    lines += ["```", "", "```mermaid", "flowchart LR"]
    lines += [f'    {_short(name)}["{title}"]' for name, title in STATIONS.items()]
    both = {value: travels(code, value) for value in ("epsilon", "records")}
    pairs = sorted({(arrow.start, arrow.end) for arrows in both.values() for arrow in arrows}, key=_order)
    for pair in pairs:
        if all(name in STATIONS for name in pair):
            lines.append(f"    {_short(pair[0])} --> {_short(pair[1])}")
    lines += ["```", "", "| from | to | with `epsilon` | with the records |", "|---|---|---|---|"]
    for start, end in pairs:
        if end != "hexcursion":
            cells = (_called(arrows, start, end) for arrows in both.values())
            lines.append(f"| {_short(start)} | {_short(end)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _called(arrows: list[Arrow], start: str, end: str) -> str:
    names = sorted({arrow.what for arrow in arrows if (arrow.start, arrow.end) == (start, end)})
    return ", ".join(f"`{name}`" for name in names)


def _order(pair: tuple[str, str]) -> tuple[tuple[int, str], ...]:
    return tuple((-LEVEL.get(name, 1), name) for name in pair)


def _short(name: str) -> str:
    return name.removeprefix("hexcursion.")


def climbing(code: Code) -> list[str]:
    """What goes up, in words; empty in a sound house."""
    found = {*imports(code), *travels(code, "epsilon"), *travels(code, "records")}
    return [str(arrow) for arrow in sorted(found) if arrow.climbs]


def redrawn(text: str, code: Code) -> str:
    """The text of CONTRIBUTING.md with today's drawing between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{drawing(code)}\n\n{END}{after}"


def main(target: Path = CONTRIBUTING) -> int:
    """Write the drawing; fail where an arrow climbs."""
    code = Code()
    target.write_text(redrawn(target.read_text(encoding="utf-8"), code), encoding="utf-8")
    climbs = climbing(code)
    for value in ("epsilon", "records"):
        print(f"{len(travels(code, value))} calls between rooms hand {value} on")
    print("\n".join(climbs) or "No arrow climbs.")
    return 1 if climbs else 0


if __name__ == "__main__":
    sys.exit(main())

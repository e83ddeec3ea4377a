"""Nobody imports in a circle: no modules, and no folders beside each other, however deep and however long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture import structure
from tests.architecture.code import Code
from tests.architecture.test_rooms import PLUGINS


def arrows(code: Code) -> set[tuple[str, str]]:
    """Pairs of modules of which the first imports the second, or something from it."""
    found = set()
    for module in code.modules.values():
        for _, name in structure.imported(module):
            owner = name if name in code.modules else name.rpartition(".")[0]
            if owner in code.modules and owner != module.name:
                found.add((module.name, owner))
    return found


def between(pairs: Iterable[tuple[str, str]], folder: str) -> dict[str, set[str]]:
    """What lies side by side in a folder, and what each of it imports of the others; "" is the checkout."""
    graph: dict[str, set[str]] = defaultdict(set)
    start = f"{folder}." if folder else ""
    for one, other in pairs:
        if one.startswith(start) and other.startswith(start):
            first, second = (name.removeprefix(start).partition(".")[0] for name in (one, other))
            if first != second:
                graph[first].add(second)
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The names along one circle, the first again at the end; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


@pytest.fixture(scope="module", params=[None, *PLUGINS], ids=lambda path: path.name if path else "house")
def code(request: pytest.FixtureRequest) -> Code:
    """The house, or a plugin."""
    return Code(request.param.parent, (request.param.name,)) if request.param else Code()


def test_no_modules_import_in_a_circle(code: Code) -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for one, other in arrows(code):
        graph[one].add(other)
    assert len(graph) > (300 if "app" in code.modules else 2)
    assert circle(graph) == []


def test_no_folders_beside_each_other_import_in_a_circle(code: Code) -> None:
    pairs = arrows(code)
    parts = [name.split(".") for name in code.modules]
    folders = {".".join(part[:depth]) for part in parts for depth in range(len(part))}
    assert "app" not in code.modules or {"", "pages.privacy", "hexcursion.bundle", "dpgp_core"} <= folders
    found = {folder: circle(between(pairs, folder)) for folder in sorted(folders)}
    assert {folder: names for folder, names in found.items() if names} == {}


def test_a_circle_is_found_and_named_in_the_order_of_its_imports() -> None:
    pairs = {
        ("a.x.one", "a.y.two"),
        ("a.y.three", "a.z.four"),
        ("a.z.five", "a.x.six"),
        ("a.x.one", "a.w.end"),
    }
    assert circle(between(pairs, "")) == []
    assert "".join(circle(between(pairs, "a"))) in ("xyzx", "yzxy", "zxyz")
    assert circle(between(pairs - {("a.z.five", "a.x.six")}, "a")) == []

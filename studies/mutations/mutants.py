"""Mutants: every place where an operator applies, a fair sample of them, and the source each one makes."""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code

from studies.mutations.operators import applies, operators, tree_of


@dataclass(frozen=True)
class Mutant:
    """One change to be made: which package, file and line (from 1), by which operator at which occurrence."""

    package: str
    file: str
    line: int
    operator: str
    occurrence: int


@dataclass(frozen=True)
class Change:
    """What a mutant does to its file.

    Parameters
    ----------
    source
        the whole module after the change
    before, after
        the lines that differ, stripped and joined by a line feed: what an explanation is found by
    diff
        the change as a unified diff without context
    """

    source: str
    before: str
    after: str
    diff: str


def mutants_of(root: Path, package: str, files: Sequence[str]) -> list[Mutant]:
    """Every mutant of these files, in the order of files, operators and places."""
    found: list[Mutant] = []
    for file in files:
        nodes = list(ast_nodes(tree_of((root / file).read_text(encoding="utf-8"))))
        for name, operator in operators().items():
            places = ((node, place) for node in nodes for place in operator.mutation_positions(node))
            found += [
                Mutant(package, file, place[0][0], name, number)
                for number, (node, place) in enumerate(places)
                if applies(name, node)
            ]
    return found


def sampled(mutants: Sequence[Mutant], size: int | None, seed: int) -> list[Mutant]:
    """`size` of the mutants drawn without replacement, in their own order; all of them for None."""
    if size is None or size >= len(mutants):
        return list(mutants)
    kept = sorted(random.Random(seed).sample(range(len(mutants)), size))
    return [mutants[index] for index in kept]


def sampled_each(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """`size` of the mutants of each package, drawn as by `sampled`."""
    packages = dict.fromkeys(mutant.package for mutant in mutants)
    mine = [[mutant for mutant in mutants if mutant.package == package] for package in packages]
    return [mutant for own in mine for mutant in sampled(own, size, seed)]


def change_of(root: Path, mutant: Mutant) -> Change | None:
    """The module with the mutant in it; None where the operator changes nothing after all."""
    source = (root / mutant.file).read_text(encoding="utf-8")
    mutated = mutate_code(source, operators()[mutant.operator], mutant.occurrence)
    if mutated is None or mutated == source:
        return None
    diff = list(
        difflib.unified_diff(
            source.splitlines(), mutated.splitlines(), mutant.file, mutant.file, n=0, lineterm=""
        )
    )
    return Change(mutated, _marked(diff, "-"), _marked(diff, "+"), "\n".join(diff[2:]))


def _marked(diff: Sequence[str], mark: str) -> str:
    return "\n".join(line[1:].strip() for line in diff[2:] if line.startswith(mark))


def function_around(root: Path, mutant: Mutant) -> range:
    """Lines of the innermost function that holds a mutant's line; the line alone outside of functions."""
    lines = range(mutant.line, mutant.line + 1)
    for node in ast.walk(ast.parse((root / mutant.file).read_text(encoding="utf-8"))):
        # Walked from the outside inwards, so the last one that holds the line is the innermost.
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or node.lineno
            if node.lineno <= mutant.line <= end:
                lines = range(node.body[0].lineno, end + 1)
    return lines

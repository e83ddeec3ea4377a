"""The mutants: what each operator makes of a line, where none is made, and a sample that repeats."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from studies.mutations.mutants import Mutant, change_of, function_around, mutants_of, sampled, sampled_each

MODULE = '''"""A module."""

SLACK: float = 0.5


def price(count: int | None, *, extra=0.0) -> float | None:
    """What it costs."""
    check(count)
    return total(count, share=0.2, bound="sharp") if count is not None and count >= 3 else None
'''


@pytest.fixture
def mutants(tmp_path: Path) -> list[Mutant]:
    (tmp_path / "module.py").write_text(MODULE, encoding="utf-8")
    return mutants_of(tmp_path, "module", ["module.py"])


def changed(root: Path, mutants: list[Mutant], operator: str) -> list[str]:
    """The changed lines of every mutant that an operator makes."""
    found = [change_of(root, mutant) for mutant in mutants if mutant.operator == operator]
    return [change.after for change in found if change is not None]


def test_our_own_operators(tmp_path: Path, mutants: list[Mutant]) -> None:
    assert changed(tmp_path, mutants, "own/DropCall") == ["pass"]
    assert changed(tmp_path, mutants, "own/ScaleFloat") == [
        "SLACK: float = 1.0",
        "SLACK: float = 0.25",
        'return total(count, share=0.4, bound="sharp") if count is not None and count >= 3 else None',
        'return total(count, share=0.1, bound="sharp") if count is not None and count >= 3 else None',
    ]
    assert changed(tmp_path, mutants, "own/DropKeyword") == [
        'return total(count, bound="sharp") if count is not None and count >= 3 else None',
        "return total(count, share=0.2) if count is not None and count >= 3 else None",
    ]


def test_the_boundary_and_the_opposite_of_a_comparison(tmp_path: Path, mutants: list[Mutant]) -> None:
    for operator, sign in (("GtE_Gt", "count > 3"), ("GtE_Lt", "count < 3")):
        (line,) = changed(tmp_path, mutants, f"core/ReplaceComparisonOperator_{operator}")
        assert sign in line
    (line,) = changed(tmp_path, mutants, "core/ReplaceAndWithOr")
    assert "count is not None or count" in line


def test_whole_numbers_and_nought_move_by_one_and_annotations_not_at_all(
    tmp_path: Path, mutants: list[Mutant]
) -> None:
    lines = changed(tmp_path, mutants, "core/NumberReplacer")
    assert len(lines) == 4
    assert "extra= 1.0)" in lines[0]
    assert "extra= -1.0)" in lines[1]
    assert "count >= 4" in lines[2]
    assert "count >= 2" in lines[3]
    assert not [mutant for mutant in mutants if mutant.operator.startswith("core/ReplaceBinaryOperator")]


def test_every_mutant_is_a_module_that_differs_in_a_named_line(tmp_path: Path, mutants: list[Mutant]) -> None:
    for mutant in mutants:
        change = change_of(tmp_path, mutant)
        assert change is not None
        ast.parse(change.source)
        assert change.before == MODULE.splitlines()[mutant.line - 1].strip()
        assert change.diff.startswith(f"@@ -{mutant.line}")


def test_a_lone_keyword_and_a_method_are_dropped_too(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("a.b(key=1)\nf(g(*x, key=1))\n'text'\n", encoding="utf-8")
    mutants = mutants_of(tmp_path, "m", ["m.py"])
    assert changed(tmp_path, mutants, "own/DropKeyword") == ["a.b()", "f(g(*x))"]
    assert changed(tmp_path, mutants, "own/DropCall") == ["pass", "pass"]


def test_a_dotted_exception_in_a_tuple_is_replaced_like_a_name(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "try:\n    f()\nexcept (ValueError, np.linalg.LinAlgError) as error:\n    g()\n", encoding="utf-8"
    )
    mutants = mutants_of(tmp_path, "m", ["m.py"])
    assert changed(tmp_path, mutants, "core/ExceptionReplacer") == [
        "except (CosmicRayTestingException, np.linalg.LinAlgError) as error:",
        "except (ValueError, CosmicRayTestingException) as error:",
    ]


def test_a_sample_repeats_with_its_seed(mutants: list[Mutant]) -> None:
    assert len(mutants) > 10
    first = sampled(mutants, 5, 1)
    assert first == sampled(mutants, 5, 1)
    assert first != sampled(mutants, 5, 2)
    assert len(set(first)) == 5
    assert first == [mutant for mutant in mutants if mutant in first], "in their own order"
    assert sampled(mutants, None, 1) == sampled(mutants, 10_000, 1) == mutants


def test_each_package_gives_as_many_mutants() -> None:
    mutants = [Mutant(name, "m.py", line, "x", 0) for name in ("a", "b", "c") for line in range(20)]
    mutants += [Mutant("d", "m.py", 1, "x", 0)]
    drawn = sampled_each(mutants, 3, 1)
    assert [mutant.package for mutant in drawn] == ["a"] * 3 + ["b"] * 3 + ["c"] * 3 + ["d"]
    assert drawn[:3] == sampled(mutants[:20], 3, 1)


def test_the_function_around_a_line(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "x = 1\n\ndef f():\n    def g():\n        a()\n        b()\n    return g\n", encoding="utf-8"
    )
    lines = {line: function_around(tmp_path, Mutant("m", "m.py", line, "", 0)) for line in (1, 5, 7)}
    assert lines == {1: range(1, 2), 5: range(5, 7), 7: range(4, 8)}

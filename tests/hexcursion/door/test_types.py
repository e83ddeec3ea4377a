"""What an editor and a type checker know of the door."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from mypy import api

import hexcursion
from hexcursion.door.keywords import ByColumn, Keywords
from hexcursion.settings import ReleaseSettings, SourceSettings
from hexcursion.settings.atlas import BY_COLUMN, AtlasChoices, ColumnChoices
from hexcursion.settings.field import fields_of
from tests.architecture.test_errors import errors_of

ROOT = Path(__file__).resolve().parents[3]
WIDER = {"area", "reference", "where", "place_sd", "stated"}
"""Keywords that take more kinds than the setting keeps."""
ELSEWHERE = {"data", "value", "path"}
"""Settings that are parameters with a name of their own, or follow from the data."""


def public(hint: Any) -> Any:
    """A setting's type as a caller may give it: any sequence where the setting keeps a tuple."""
    if get_origin(hint) is tuple:
        return Sequence[get_args(hint)[0]]  # type: ignore[misc]
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(public(part) for part in get_args(hint))]  # noqa: UP007
    return hint


def test_the_keywords_are_the_settings_with_their_types() -> None:
    typed = get_type_hints(Keywords)
    settings = {
        name: hint
        for kind in (SourceSettings, ReleaseSettings, AtlasChoices, ColumnChoices)
        for name, hint in get_type_hints(kind).items()
        if name in fields_of(kind) and name not in ELSEWHERE
    }
    assert set(typed) - set(settings) == {"lon", "lat", "area", "columns", "derived"}
    assert set(settings) - set(typed) == set()
    for name in set(settings) - WIDER:
        expected = public(settings[name])
        assert typed[name] == (ByColumn[expected] if name in BY_COLUMN else expected), name


CALLS = {
    'release(table, value="pb", lon="x", lat="y", area=(5, 50, 6, 51), threshold=150, epsilon=1)': "",
    'release("wells.csv", value=["pb", "zn"], threshold={"pb": 150, "zn": 500}, reading="apart")': "",
    'plan(table, value="pb", mechanisms=["spectral-statistics"], reference_public=True)': "",
    'compare(table, value="pb", epsilons=[0.5, 1.0], threshold=150)': "",
    'release(table, value="pb", treshold=150)': '"treshold"',
    'release(table, value="pb", threshold="high")': "No overload",
    'plan(table, value="pb", relation="add-or-delete")': '"relation"',
    'compare(table, value=["pb", "zn"], threshold=150)': '"value"',
}
"""Calls, and what a type checker says of the wrong ones."""


@pytest.mark.slow
def test_a_type_checker_reads_the_readme_and_finds_wrong_calls(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    (tmp_path / "readme.py").write_text(example + "reveal_type(released)\n")
    head = "import pandas\nimport hexcursion\ntable = pandas.DataFrame()\n"
    (tmp_path / "calls.py").write_text(head + "".join(f"hexcursion.{call}\n" for call in CALLS))
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir"]
    files = [str(tmp_path / name) for name in ("readme.py", "calls.py")]
    output, errors, _ = api.run(["--config-file=", *options, str(tmp_path / "cache"), *files])
    assert errors == ""
    lines = [line for line in output.splitlines() if ": error: " in line or "Revealed" in line]
    assert [line for line in lines if "readme.py" in line and "error" in line] == []
    assert any('Revealed type is "hexcursion.door.released.Released"' in line for line in lines)
    for number, expected in enumerate(CALLS.values(), start=1 + head.count("\n")):
        found = [line for line in lines if f"calls.py:{number}: " in line]
        assert bool(found) == bool(expected), (number, found)
        assert any(expected in line for line in found) or not expected, found


def test_every_error_that_the_door_names_is_offered() -> None:
    """A name in a docstring of the package, of a class of errors, is one that a caller can catch."""
    documents = " ".join(str(getattr(hexcursion, name).__doc__) for name in hexcursion.__all__)
    named = {kind for kind in errors_of("hexcursion") if re.search(rf"\b{kind.__name__}\b", documents)}
    assert {"Unreleased", "WorkflowError", "BudgetExceeded"} <= {kind.__name__ for kind in named}
    assert [kind for kind in named if getattr(hexcursion, kind.__name__, None) is not kind] == []

"""No test's truth may depend on how busy the machine is: what waits in a browser waits as long as it must."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.architecture.code import tree_of
from tests.architecture.test_rooms import name_of

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "tests").rglob("*.py"))
WAITS = set(
    [
        "wait",
        "wait_for",
        "wait_for_selector",
        "expect_download",
        "communicate",
        "join",
        "run",
        "urlopen",
        "get",
    ]
)


@cache
def calls(path: Path) -> list[ast.Call]:
    tree = tree_of(path)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def called(call: ast.Call) -> str:
    """The last word of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def test_a_browser_is_not_given_playwright_s_thirty_seconds() -> None:
    """A page of its own gives up after 30 s unless it is given a default."""
    methods = {
        path: {call.func.attr for call in calls(path) if isinstance(call.func, ast.Attribute)}
        for path in FILES
    }
    drivers = [path for path, names in methods.items() if names & {"new_page", "new_context"}]
    assert drivers
    assert [name_of(path) for path in drivers if "set_default_timeout" not in methods[path]] == []


def test_what_is_expected_may_take_its_time() -> None:
    """`expect(...).to_...` gives up after 5 seconds unless it is told otherwise."""
    impatient = [
        f"{name_of(path)}:{call.lineno}"
        for path in FILES
        for call in calls(path)
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Call)
        and called(call.func.value) == "expect"
        and "timeout" not in {word.arg for word in call.keywords}
    ]
    assert impatient == []


def test_a_limit_of_a_wait_is_a_name_and_no_number_of_a_few_seconds() -> None:
    impatient = [
        f"{name_of(path)}:{call.lineno}: {word.value.value}"
        for path in FILES
        for call in calls(path)
        for word in call.keywords
        if word.arg == "timeout"
        and called(call) in WAITS
        and isinstance(word.value, ast.Constant)
        and isinstance(word.value.value, int | float)
    ]
    assert impatient == []

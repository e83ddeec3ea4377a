"""Every claim with a proof is attacked by a test that names it, as "Theorem 4 of docs/accounting.md".

A claim without a number is named by its title: "Lemma (residuals) of docs/exact-profile.md".
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("docs/proofs/*.md")),
    *sorted(ROOT.glob("plugins/*/docs/*.md")),
)
REPORT = ROOT / "docs" / "report" / "report.typ"
TESTS = (*sorted(ROOT.glob("tests/**/test_*.py")), *sorted(ROOT.glob("plugins/*/tests/**/test_*.py")))
KINDS = "Theorem|Proposition|Lemma|Corollary"
STATED = re.compile(rf"^\*\*({KINDS})(?: ([A-Z0-9]\+?))?(?: \(([^)]+)\))?\.?\*\*", re.M)
IN_REPORT = re.compile(r'^#claim\("(\w+)", "([^"]+)"\)', re.M)
NAMED = re.compile(rf"({KINDS}) ((?:[A-Z0-9]\+?)|\([^)]+\)) of (docs/report|[\w/.-]+\.md)")


def stated(text: str, page: str) -> list[str]:
    """Claims of a page of documentation by the name that tests use."""
    return [
        f"{kind} {number or f'({title})'} of {page}"
        for kind, number, title in STATED.findall(text)
        if number or title
    ]


def claims() -> list[str]:
    found = [
        name
        for page in PAGES
        for name in stated(page.read_text(encoding="utf-8"), page.relative_to(ROOT).as_posix())
    ]
    report = IN_REPORT.findall(REPORT.read_text(encoding="utf-8"))
    return found + [f"{kind} ({title}) of docs/report" for kind, title in report]


def named(module: str) -> set[str]:
    """Claims that the docstrings of a module's tests name."""
    texts = (
        " ".join((ast.get_docstring(node) or "").split())
        for node in ast.walk(ast.parse(module))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )
    return {f"{kind} {label} of {page}" for text in texts for kind, label, page in NAMED.findall(text)}


@pytest.fixture(scope="module")
def tested() -> set[str]:
    modules = (path.read_text(encoding="utf-8") for path in TESTS)
    return set().union(*(named(module) for module in modules if "docs/" in module))


def test_every_claim_is_attacked_by_a_test_that_names_it(tested: set[str]) -> None:
    listed = claims()
    assert len(listed) == len(set(listed)), "two claims of one page have one name"
    assert len([name for name in listed if " of docs/" in name]) >= 43
    assert sorted(set(listed) - tested) == []


def test_no_test_names_a_claim_that_is_not_there(tested: set[str]) -> None:
    assert sorted(tested - set(claims())) == []


def test_every_proof_of_a_page_follows_a_claim_that_has_a_name() -> None:
    """A claim in bold without number or title could not be named."""
    nameless = [
        f"{page.name}: {line}"
        for page in PAGES
        for line in page.read_text(encoding="utf-8").splitlines()
        if re.match(rf"\*\*({KINDS})\b", line) and not stated(line, page.name)
    ]
    assert nameless == []


def test_claims_and_names_are_read_as_written() -> None:
    page = "**Theorem A+.** x\n**Lemma 2 (a law).** y\n**Lemma (rest).** z\nTheorem 9 is elsewhere.\n"
    assert stated(page, "docs/limit.md") == [
        "Theorem A+ of docs/limit.md",
        "Lemma 2 of docs/limit.md",
        "Lemma (rest) of docs/limit.md",
    ]
    module = (
        'def test_it() -> None:\n    """Lemma (rest) of\n    docs/limit.md; Theorem A+ of docs/report."""\n'
    )
    assert named(module) == {"Lemma (rest) of docs/limit.md", "Theorem A+ of docs/report"}
    assert named(module.replace("test_it", "help_it")) == set()

"""Which packages are mutated, and which tests are there to notice it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FROZEN = "tests/architecture/test_values.py"  # reads the source, of all packages
TESTS: dict[str, tuple[str, ...]] = {
    "hexcursion/releasing": (
        FROZEN,
        "tests/hexcursion/releasing",
        "tests/hexcursion/bundle/documents/test_receipt_words.py",
        "tests/hexcursion/project/test_owners.py",
        "tests/hexcursion/ledger/storage/test_ledger_failures.py",
        "tests/pages/views/test_reach.py",
    ),
    "hexcursion/search": (FROZEN, "tests/hexcursion/search"),
    "hexcursion/bundle": (FROZEN, "tests/hexcursion/bundle"),
    "hexcursion/ledger": (FROZEN, "tests/hexcursion/ledger"),
    "dpgp_core/mechanisms": (
        FROZEN,
        "tests/dpgp_core/mechanisms",
        "tests/dpgp_core/audit/test_audit_design.py",
        "tests/dpgp_core/noise",
        "tests/dpgp_core/accounting/test_guarantee.py",
    ),
    "dpgp_core/releasing": (
        FROZEN,
        "tests/dpgp_core/releasing",
        "tests/dpgp_core/mechanisms",
        "tests/dpgp_core/accounting/test_guarantee.py",
        "tests/hexcursion/releasing/test_release.py",
    ),
    "dpgp_core/accounting": (FROZEN, "tests/dpgp_core/accounting", "tests/dpgp_core/test_*.py"),
    "dpgp_core": (FROZEN, "tests/dpgp_core"),
    "geo": (
        FROZEN,
        "tests/geo",
        "tests/hexcursion/project/test_counts.py",
        "tests/hexcursion/project/test_covariates.py",
        "tests/hexcursion/project/test_relative.py",
        "tests/hexcursion/bundle/exports/test_areas.py",
    ),
    "data_loaders": (FROZEN, "tests/data_loaders"),
    "hexcursion/settings": (
        FROZEN,
        "tests/hexcursion/settings",
        "tests/hexcursion/cli/test_options.py",
        "tests/hexcursion/cli/test_periods.py",
        "tests/hexcursion/project",
    ),
    "hexcursion/cli": (
        FROZEN,
        "tests/hexcursion/cli",
        "tests/hexcursion/bundle/signing/test_signatures.py",
        "tests/hexcursion/bundle/reading/test_density.py",
    ),
    "hexcursion/project": (FROZEN, "tests/hexcursion/project", "tests/hexcursion/releasing/test_release.py"),
    "pages": (FROZEN, "tests/architecture/test_looks.py", "tests/pages"),
}
TESTS |= {
    path.relative_to(ROOT).as_posix(): (FROZEN, f"plugins/{path.parents[1].name}/tests")
    for path in sorted(ROOT.glob("plugins/*/src/hexcursion_*"))
}
"""Package -> folders and files (globs) of its tests, from the root of the checkout. What does not exist is
left out, as tests move from loose files into folders; a package none of whose tests exist is an error."""


def modules_of(root: Path, package: str) -> tuple[str, ...]:
    """Paths of a package's modules from `root`, sorted; a package may be a single module.

    Modules of packages inside it that have a line of their own in `TESTS` are left to these.

    Raises
    ------
    ValueError
        In one sentence, where there is no such package.
    """
    folder, module = root / package, root / f"{package}.py"
    if folder.is_dir():
        others = [other for other in TESTS if other.startswith(f"{package}/")]
        inner = tuple(start for other in others for start in (f"{other}/", f"{other}.py"))
        paths = (path.relative_to(root).as_posix() for path in folder.rglob("*.py"))
        return tuple(sorted(path for path in paths if not path.startswith(inner)))
    if module.is_file():
        return (f"{package}.py",)
    raise ValueError(f"There is no package {package!r} in this checkout: name one as in {', '.join(TESTS)}.")


def covering_tests(root: Path, package: str) -> tuple[str, ...]:
    """Test files and folders of a package from `root`, those that exist.

    Raises
    ------
    ValueError
        In one sentence, where no tests are named for the package or none of them exists.
    """
    if package not in TESTS:
        raise ValueError(f"No tests are named for {package!r}: add it to studies/mutations/rooms.py.")
    found = {path.relative_to(root).as_posix() for pattern in TESTS[package] for path in root.glob(pattern)}
    if not found:
        raise ValueError(f"None of the tests of {package!r} exists: correct studies/mutations/rooms.py.")
    return tuple(sorted(found))


def near_tests(root: Path, tests: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Those of the tests that import one of the modules, and the laws that read the source.

    A module that none of them imports is stood for by those modules of its package that import it.

    Parameters
    ----------
    tests
        files and folders of tests from `root`
    files
        paths of the mutated modules from `root`, all of one package

    Raises
    ------
    ValueError
        In one sentence, where no test imports any of them.
    """
    paths = [path for test in tests for path in _python_files(root / test) if path.name.startswith("test_")]
    imported = {path.relative_to(root).as_posix(): _imported(path) for path in paths}
    found: set[str] = set()
    for file in files:
        name = _dotted(file)
        near = {test for test, names in imported.items() if name in names}
        if not near:
            house = _python_files(root / file.split("/")[0])
            users = {_dotted(path.relative_to(root).as_posix()) for path in house if name in _imported(path)}
            near = {test for test, names in imported.items() if names & users}
        found |= near
    if not found:
        raise ValueError(f"No test imports {', '.join(files)}: leave --near out.")
    return tuple(sorted(found | {test for test in imported if test.startswith("tests/architecture/")}))


def _dotted(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _python_files(place: Path) -> list[Path]:
    return [place] if place.suffix == ".py" else sorted(place.rglob("*.py"))


def _imported(path: Path) -> set[str]:
    """Dotted names that a file imports: modules, and what it takes from them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found

"""Which packages are mutated, and which tests are there to notice it."""

from __future__ import annotations

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
    "geo": (
        FROZEN,
        "tests/geo",
        "tests/hexcursion/project/test_covariates.py",
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
    """Paths of a package's modules from `root`, sorted; a package may still be a single module.

    Raises
    ------
    ValueError
        In one sentence, where there is no such package.
    """
    folder, module = root / package, root / f"{package}.py"
    if folder.is_dir():
        return tuple(sorted(path.relative_to(root).as_posix() for path in folder.rglob("*.py")))
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

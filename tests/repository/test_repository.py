"""The repository as a whole: one version, declared and pinned packages, links that lead somewhere."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hatch_build import FILES, requirements
from hatch_build import LIBRARY as LIBRARY_LIST
from hexcursion.version import VERSION
from studies.__main__ import ROOMS
from tests.architecture.test_rooms import imported

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ("dpgp_core", "geo", "data_loaders", "hexcursion")
LOCKS = ("requirements.txt", "requirements-test.txt")
TOOLS = {"pytest", "hypothesis", "mypy", "ruff", "playwright", "mkdocs", "coverage"}
RUNNING = ("app", "postgres", "cluster", "plugins", "checkout")
MEASURING = tuple(f"studies/{room}/" for room in ROOMS)  # run by hand, with the tests' tools
PAPERS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "studies/README.md")


@cache
def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return found


def declared(*extras: str) -> set[str]:
    """Canonical names of the packages that the project asks for, with some extras."""
    asked = requirements(ROOT)
    return {
        canonicalize_name(Requirement(text).name) for name in (LIBRARY_LIST, *extras) for text in asked[name]
    }


def pins(lock: str) -> dict[str, set[str]]:
    """name -> versions of a lock file; every pin carries at least one hash."""
    found: dict[str, set[str]] = {}
    for block in re.split(r"\n(?=[^\s#])", (ROOT / lock).read_text(encoding="utf-8").strip()):
        name, version = re.match(r"([A-Za-z0-9._-]+)(?:\[\S+\])?==([^\s;\\]+)", block).groups()  # type: ignore[union-attr]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), f"{name} in {lock} has no hash"
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def test_the_version_is_written_in_one_place() -> None:
    assert "version" not in project()["project"]
    assert "version" in project()["project"]["dynamic"]
    assert project()["tool"]["hatch"]["version"]["path"] == "hexcursion/version.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == VERSION, "CITATION.cff tells another version than hexcursion/version.py"
    assert citation["license"] == project()["project"]["license"] == "Apache-2.0"
    assert f"\n## [{VERSION}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").split()[:2] == ["Apache", "License"]


def test_the_notice_names_the_records_that_ship_and_their_licence() -> None:
    """No other table of records lies among what is installed."""
    rooms = (*LIBRARY, "pages", "static", "studies")
    tables = [path for room in rooms for path in (ROOT / room).rglob("*.csv*") if path.is_file()]
    assert [path.relative_to(ROOT).as_posix() for path in tables] == [
        "data_loaders/lucas_county/sales.csv.gz"
    ]
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "data_loaders/lucas_county/sales.csv.gz" in notice
    assert "spData (Bivand, Nowosad, Lovelace and others), CC0 1.0." in notice
    assert project()["project"]["license-files"] == ["LICENSE", "NOTICE"]
    assert "CC0; [NOTICE](NOTICE)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_is_asked_for_stands_in_the_requirements_and_nowhere_else() -> None:
    """The build reads it from there: pyproject.toml cannot say anything else, because it says nothing."""
    said = project()["project"]
    assert {"dependencies", "optional-dependencies"} <= set(said["dynamic"])
    assert said.keys() & {"dependencies", "optional-dependencies"} == set()
    built = ProjectMetadata(str(ROOT), PluginManager(), project()).core
    asked = requirements(ROOT)
    own = asked.pop(LIBRARY_LIST)
    assert sorted(built.dependencies) == sorted([f"dpgp-core=={VERSION}", *own])
    core = tomllib.loads((ROOT / "dpgp_core" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert core["dependencies"] == [each for each in own if each.startswith(("numpy", "scipy"))]
    assert {name: sorted(wanted) for name, wanted in built.optional_dependencies.items()} == {
        name: sorted(wanted) for name, wanted in asked.items()
    }
    assert list(asked) == [
        "app",
        "postgres",
        "cluster",
        "plugins",
        "checkout",
        "test",
        "docs",
    ]


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_has_its_reason(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith(("#", "-"))]
    assert len(wanted) > 10
    assert [line for line in wanted if not re.fullmatch(r"\S+(?:; .+\S)? +# \S.{5,}", line)] == []


def test_a_requirement_without_a_heading_is_refused(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text("# [library]\n", encoding="utf-8")
    (tmp_path / "requirements-test.in").write_text("numpy>=2  # arrays\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"stands below no heading of requirements-test\.in: write `# \[app\]`"
    ):
        requirements(tmp_path)


@pytest.mark.parametrize("lock", LOCKS)
def test_pins_have_hashes_and_name_no_address(lock: str) -> None:
    assert len(pins(lock)) > 40
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


def extras_written(lock: str) -> dict[str, set[str]]:
    """name -> the extras that a lock file names beside it, `coverage[toml]==…`."""
    lines = re.findall(r"^(\S+==\S+)", (ROOT / lock).read_text(encoding="utf-8"), re.M)
    found: dict[str, set[str]] = {}
    for line in lines:
        wanted = Requirement(line)
        found.setdefault(canonicalize_name(wanted.name), set()).update(wanted.extras)
    return found


def extras_asked(lock: str, names: tuple[str, ...]) -> dict[str, set[str]]:
    """name -> the extras that the lists `names` and the installed packages of a lock ask of it, here."""
    written = extras_written(lock)
    asked = [Requirement(text) for name in names for text in requirements(ROOT)[name]]
    for name, own in written.items():
        try:
            needs = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:  # a package of another platform, or one that only training installs
            continue
        asked += [
            need
            for need in needs
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in own | {""})
        ]
    found: dict[str, set[str]] = {}
    for need in asked:
        if need.extras:
            found.setdefault(canonicalize_name(need.name), set()).update(need.extras)
    return found


@pytest.mark.parametrize(
    ("lock", "names", "known"),
    [
        (LOCKS[0], (LIBRARY_LIST, *RUNNING), {"psycopg": {"binary"}}),
        (
            LOCKS[1],
            (LIBRARY_LIST, *RUNNING, "test", "docs"),
            {"psycopg": {"binary"}, "coverage": {"toml"}, "mkdocstrings": {"python"}},
        ),
    ],
)
def test_a_pin_names_the_extras_that_are_asked_of_it(
    lock: str, names: tuple[str, ...], known: dict[str, set[str]]
) -> None:
    """Older pips, 23.2 among them, take a package and the same with an extra for two: the second is not held
    to the pin of the first; the day a newer version appears it is chosen, and refused for want of a hash."""
    asked, written = extras_asked(lock, names), extras_written(lock)
    assert {name: extras for name, extras in known.items() if not extras <= asked.get(name, set())} == {}
    assert {name: extras for name, extras in asked.items() if not extras <= written[name]} == {}


def test_the_locks_hold_what_is_declared_and_running_takes_no_test_tools() -> None:
    running, everything = (pins(lock) for lock in LOCKS)
    assert declared(*RUNNING) - running.keys() == set(), "run `make lock`"
    assert declared(*RUNNING, "test", "docs") - everything.keys() == set(), "run `make lock`"
    assert running.keys() & TOOLS == set()
    assert {name: versions for name, versions in running.items() if everything.get(name) != versions} == {}


@cache
def owners() -> Mapping[str, list[str]]:
    """name of a module -> the packages that bring it."""
    return packages_distributions()


def foreign(folder: str) -> set[tuple[str, str]]:
    """(file, canonical package) of every import from outside the standard library and this repository."""
    found = set()
    paths = [ROOT / folder] if folder.endswith(".py") else sorted((ROOT / folder).rglob("*.py"))
    for path in paths:
        for _, name in imported(path):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and not (ROOT / top).exists() and top != "hexcursion_maps":
                assert top in owners(), f"{path} imports {top}, which no installed package provides"
                found |= {(path.relative_to(ROOT).as_posix(), canonicalize_name(owners()[top][0]))}
    return found


@pytest.mark.parametrize("folder", [*LIBRARY, "pages", "studies", "app.py", "frontend/build.py"])
def test_what_is_imported_is_declared(folder: str) -> None:
    """The library and the command line run without any extra; what one brings is imported where used."""
    extras = {"geo": {"pydeck"}, "hexcursion": declared("cluster"), "frontend/build.py": declared("test")}
    allowed = declared("app") if folder in ("pages", "studies", "app.py") else declared()
    allowed |= extras.get(folder, set())
    found = {item for item in foreign(folder) if not item[0].startswith(MEASURING)}
    assert found
    assert {item for item in found if item[1] not in allowed} == set()


def test_what_is_declared_for_the_library_is_used() -> None:
    used = {package for folder in LIBRARY for _, package in foreign(folder)}
    indirectly = {"pyogrio"}  # geopandas writes with it
    assert declared() - used - indirectly == set()


@pytest.mark.parametrize("package", LIBRARY)
def test_a_package_says_that_it_is_typed_and_has_a_page_in_the_reference(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()
    page = (ROOT / "docs" / "reference" / f"{package}.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^::: (\S+)$", page, re.M))
    parts = {f"{package}.{path.parent.name}" for path in (ROOT / package).glob("*/__init__.py")}
    assert package in shown or parts - shown == set(), f"docs/reference/{package}.md leaves out a package"


def test_a_plugin_says_that_it_is_typed() -> None:
    sources = (path.parent for path in ROOT.glob("plugins/*/src/*/__init__.py"))
    assert [source.name for source in sources if not (source / "py.typed").is_file()] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_links_between_files_lead_somewhere(paper: str) -> None:
    """The pages of docs/ are checked when the site is built; these lie outside of it."""
    text = (ROOT / paper).read_text(encoding="utf-8")
    links = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    missing = [link for link in links if not ((ROOT / paper).parent / link.split("#")[0]).exists()]
    assert missing == []

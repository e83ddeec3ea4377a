"""The package as others get it: built, installed beside its own requirements and nothing else, and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hexcursion.version import VERSION
from tests.patience import HANG

ROOT = Path(__file__).resolve().parents[2]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
BUILD = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w"]
OWN = {"hexcursion", "dpgp-core"}  # what is built here, not linked
CORE = ROOT / "dpgp_core"
LIBRARY = ("geo", "data_loaders", "hexcursion")
CARRIED = (
    "hexcursion/bundle/resources/redraw.py",
    "hexcursion/bundle/resources/label.css",
    "hexcursion/lint/checklist.toml",
    "data_loaders/demo_wards.toml",
    "data_loaders/columns/qualifiers.toml",
    "data_loaders/columns/units.toml",
    "hexcursion/app/app.py",
    "hexcursion/app/.streamlit/config.toml",
    "hexcursion/app/static/frame.css",
    "hexcursion/app/pages/start/page.py",
    "hexcursion/app/pages/shared/glossary.toml",
    "hexcursion/pyproject.toml",
)


def run(*words: str | Path, folder: Path) -> str:
    """What a command prints; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["HEXCURSION_HOME"] = str(folder / "home")
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with the core's and with the build tool of this environment: no index is asked."""
    folder = tmp_path_factory.mktemp("wheel")
    run(*BUILD, folder, ROOT, CORE, folder=folder)
    (made,) = folder.glob("hexcursion-*.whl")
    return made


def required(name: str, seen: dict[str, Distribution]) -> dict[str, Distribution]:
    """The installed packages that a package needs on this machine, without any extra of its own."""
    for text in distribution(name).requires or ():
        wanted = Requirement(text)
        if wanted.name not in seen and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            seen[wanted.name] = distribution(wanted.name)
            required(wanted.name, seen)
    return seen


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`bin` of an environment that holds the wheel and the packages it requires, linked from this one."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", folder=folder)
    python = folder / "venv" / "bin" / "python"
    wheels = wheel.parent.glob("*.whl")
    run(*PIP, "--python", python, "install", "--no-deps", "--no-index", *wheels, folder=folder)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    provide(packages, next(packages.glob("hexcursion-*.dist-info")))
    return python.parent


def provide(packages: Path, metadata: Path) -> None:
    """Link what an installed package requires into its environment, from this one."""
    wanted: dict[str, Distribution] = {}
    for text in Distribution.at(metadata).requires or ():
        needed = Requirement(text)
        if needed.name not in OWN and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            wanted[needed.name] = distribution(needed.name)
            required(needed.name, wanted)
    for each in wanted.values():
        for top in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(each.locate_file(top))))


@pytest.mark.slow
def test_the_wheel_carries_what_the_program_reads(wheel: Path) -> None:
    assert wheel.name == f"hexcursion-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert set(CARRIED) - names == set()
    files = [path for room in LIBRARY for path in (ROOT / room).rglob("*") if path.is_file()]
    here = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    assert here - names == set()
    tops = {name.split("/")[0] for name in names if not name.startswith("hexcursion-")}
    assert tops == set(LIBRARY)


@pytest.mark.slow
def test_the_core_is_a_wheel_of_its_own(wheel: Path) -> None:
    with zipfile.ZipFile(wheel.parent / f"dpgp_core-{VERSION}-py3-none-any.whl") as archive:
        names = {name for name in archive.namelist() if not name.startswith("dpgp_core-")}
    here = {f"dpgp_core/{path.relative_to(CORE).as_posix()}" for path in CORE.rglob("*.py")}
    assert names == here | {"dpgp_core/py.typed", "dpgp_core/LICENSE"}


@pytest.mark.slow
def test_a_clean_environment_has_the_library_and_releases_the_example(clean: Path, tmp_path: Path) -> None:
    said = run(clean / "python", "-c", "import dpgp_core; print(dpgp_core.__file__)", folder=tmp_path)
    assert Path(said.strip()).is_relative_to(clean.parent)
    find = (
        "import importlib.util as u; print([n for n in ('streamlit', 'pydeck', 'pytest') if u.find_spec(n)])"
    )
    assert run(clean / "python", "-c", find, folder=tmp_path) == "[]\n"
    assert run(clean / "hexcursion", "--version", folder=tmp_path) == f"Hexcursion {VERSION}\n"
    said = run(clean / "hexcursion", "demo", "--out", "demo", folder=tmp_path)
    assert "Released as " in said
    assert (tmp_path / "demo" / "bundle" / "statement.json").is_file()
    said = run(clean / "hexcursion", "view", "demo/bundle", folder=tmp_path)
    assert re.search(r"\b\d+ of \d+ hexagons .*above the threshold", said), said


@pytest.mark.slow
def test_packages_installed_beside_it_are_found(clean: Path, tmp_path: Path) -> None:
    """Install the guest into the fresh environment, as a user installs a package; a plugin likewise."""
    packages = [ROOT / "tests" / "guest", *(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
    run(*BUILD, tmp_path, *packages, folder=tmp_path)
    made = sorted(tmp_path.glob("*.whl"))
    assert len(made) == len(packages)
    run(*PIP, "--python", clean / "python", "install", "--no-deps", "--no-index", *made, folder=tmp_path)
    for metadata in clean.parent.glob("lib/python*/site-packages/hexcursion_*.dist-info"):
        provide(metadata.parent, metadata)
    assert run(clean / "hexcursion", "guests", folder=tmp_path) == "Guest stripes\n"
    assert "    guests " in run(clean / "hexcursion", "--help", folder=tmp_path)
    said = run(clean / "python", "-c", "import dpgp_core as d; print([*d.MECHANISMS][4:])", folder=tmp_path)
    assert said == "['cloaking', 'convcnp', 'functional', 'guest-stripes', 'sparse-gp']\n"

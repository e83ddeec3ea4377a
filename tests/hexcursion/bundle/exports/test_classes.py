"""One release is one map: every file and picture of a bundle has the same classes, counts and colours."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from geo import Domain
from geo.maps.painting import legend
from hexcursion.bundle import BundleError
from hexcursion.bundle.exports.registry import EXPORTS
from hexcursion.bundle.page.facts import three_facts
from hexcursion.bundle.page.print_map import painted
from hexcursion.bundle.products.at_threshold import LIKELY, UNLIKELY, likely
from hexcursion.bundle.products.classes import class_column, counted
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.reading.read import bundle_from_contents
from hexcursion.bundle.writing.write import bundle_contents
from hexcursion.settings.stated import Scope
from pages.shared.released.exploring import paint, products_of
from tests.hexcursion.bundle.bundle_samples import make_release
from tests.hexcursion.bundle.exports.test_exports import sealed

Contents = dict[str, bytes]
LEGEND = [
    (3, "likely above £442,413 (chance of at least 80 %)", "#d55e00", ""),
    (33, "open (chance between 20 and 80 %)", "#cfd9dd", "dots"),
    (54, "likely not above £442,413 (chance of at most 20 %)", "#0072b2", ""),
    (32, "no record expected there", "#cfd9dd", "rings"),
]
SCOPE = Scope("existing leasehold flats", "2018", ("county = LONDON",))
VALUES = ["above", "open", "not above", "no record expected"]
SENTENCE = (
    "3 of 122 hexagons (2 %) are likely above the threshold, 33 open, 54 likely not above it. In 32 no "
    "record is expected."
)
SURE = (
    "Of the 3 hexagons shown as likely above the threshold, about 85 % are truly above it; of all hexagons "
    "that are truly above it and where records are expected, about 12 % are shown so."
)
COVERED = "Price of existing leasehold flats in pounds, 2018, only county = LONDON; from 30,123 sales."


@pytest.fixture(scope="module")
def made(domain: Domain) -> Contents:
    """A release with probabilities that expects no record in the east."""
    release = make_release(domain)
    mean, sd = release.paths.mean(axis=0), release.paths.std(axis=0) + 0.1
    records = np.where(domain.centres[:, 0] > 2500, 0.25, 3.0)
    return bundle_contents(replace(release, mean=mean, sd=sd, records=records, scope=SCOPE))


def test_every_product_of_a_bundle_has_the_same_classes(made: Contents) -> None:
    bundle = bundle_from_contents(made)
    cells = [feature["properties"] for feature in json.loads(made["cells.geojson"])["features"]]
    classes = [cell["class"] for cell in cells]
    assert dict(Counter(classes)) == {"above": 3, "open": 33, "not above": 54, "no record expected": 32}
    for cell in cells:  # by the rule that is told, from the columns beside it
        sure = (
            "above" if cell["probability"] >= 0.8 else "not above" if cell["probability"] <= 0.2 else "open"
        )
        assert cell["class"] == ("no record expected" if cell["expected_records"] < 0.5 else sure)
    for name, export in EXPORTS.items():
        assert list(export.read(made[name])["class"]) == classes, name
    places = [VALUES.index(value) for value in classes]
    viewer = Viewer(bundle)
    shown = paint(viewer, viewer.at(), next(iter(products_of(viewer))), bundle.threshold, 1)
    for painting in (painted(bundle.statement, bundle.published), shown):
        assert painting.classes.tolist() == places
        assert [(line.cells, line.label, line.colour, line.mark) for line in legend(painting)] == LEGEND
    label = made["label.html"].decode()
    lines = re.findall(r'<text x="44"[^>]*>([^<]*)</text>', label)
    assert lines == [f"{count}: {words}" for count, words, *_ in LEGEND]
    for name in ("label.html", "map.html", "README.txt"):
        text = " ".join(made[name].decode().split())
        assert SENTENCE in text, name
        assert SURE in text, name
        assert COVERED in text, name
    assert SURE in three_facts(bundle.statement, bundle.published)[0].text


def test_the_page_draws_the_same_classes(made: Contents) -> None:
    found = re.search(r'id="data">(.*?)</script>', made["map.html"].decode(), re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert [label.replace("{}", data["stops"][data["start"]]) for label in data["classes"]] == [
        words for _, words, *_ in LEGEND
    ]
    assert data["colours"]["light"]["classes"] == [colour for *_, colour, _ in LEGEND]
    assert data["marks"] == [mark for *_, mark in LEGEND]
    assert data["limits"] == [20, 80]
    row = np.frombuffer(base64.b64decode(data["cube"]), np.uint8).reshape(-1, data["size"])[data["start"]]
    drawn = np.select([row >= 128, row >= data["limits"][1], row > data["limits"][0]], [3, 0, 1], 2)
    assert drawn.tolist() == bundle_from_contents(made).published.classes.tolist()


def test_a_chance_at_a_limit_is_sure_and_none_is_rounded_into_another_class() -> None:
    assert (LIKELY, UNLIKELY) == (0.8, 0.2)
    chances = np.array([1.0, 0.8, 0.1 + 0.7, 0.7999, 0.5, 0.2001, 0.2, 1 - 0.8, 0.0])
    assert likely(chances).tolist() == [1, 1, 1, 0, 0, 0, -1, -1, -1]


def test_words_follow_the_side_and_one_path_is_not_called_likely(domain: Domain) -> None:
    below = bundle_from_contents(bundle_contents(make_release(domain, direction="below"))).published
    assert set(class_column(below)) == {"below", "open", "not below"}
    assert counted(below).endswith("are likely at most the threshold, 25 open, 3 likely not at most it.")
    one = bundle_from_contents(bundle_contents(make_release(domain, paths=1))).published
    assert Counter(class_column(one)) == {"above": 9, "not above": 113}
    assert counted(one) == "9 of 122 hexagons (7 %) are above the threshold on the released path."


def test_a_bundle_without_classes_opens_and_one_with_false_ones_does_not(made: Contents) -> None:
    cells = json.loads(made["cells.geojson"])
    for feature in cells["features"]:
        del feature["properties"]["class"]
    few = {name: content for name, content in made.items() if name not in EXPORTS}
    earlier = bundle_from_contents(sealed({**few, "cells.geojson": json.dumps(cells).encode()}))
    assert np.bincount(earlier.published.classes).tolist() == [3, 33, 54, 32]
    forged = made["cells.geojson"].replace(b'"class": "open"', b'"class": "above"', 1)
    forged = forged.replace(b'"class":"open"', b'"class":"above"', 1)
    assert forged != made["cells.geojson"]
    with pytest.raises(BundleError, match=r"cells\.geojson does not follow from the paths: class differs"):
        bundle_from_contents(sealed({**few, "cells.geojson": forged}))

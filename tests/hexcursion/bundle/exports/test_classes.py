"""One release is one map: every file and picture of a bundle has the same classes, counts and colours."""

from __future__ import annotations

import base64
import html
import io
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import hexcursion
from geo import Domain
from geo.maps.painting import legend
from hexcursion.bundle import BundleError
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.page.facts import three_facts
from hexcursion.bundle.page.papers import painted
from hexcursion.bundle.products import LIKELY, UNLIKELY, class_column, counted, likely
from hexcursion.bundle.published.view import Viewer, answers_from
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.project.response import ResponseScale
from hexcursion.settings.privacy_settings import Scope
from pages.shared.released_view import paint, products_of
from pages.shared.shipped import BUNDLE
from tests.hexcursion.bundle.bundle_samples import make_release, retold
from tests.hexcursion.bundle.exports.test_exports import sealed
from tests.hexcursion.releasing.leaving import rows_of
from tests.town import BOX

Contents = dict[str, bytes]
LEGEND = [
    (3, "likely above", "#d55e00"),
    (33, "cannot tell", "#b9bfc1"),
    (54, "likely not", "#6aaad9"),
    (32, "few or no records", "#e4e4e1"),
]
SCOPE = Scope("existing leasehold flats", "2018", ("county = LONDON",))
WORDS = ("label.html", "map.html", "README.txt")
VALUES = ["above", "open", "not above", "no record expected"]
SENTENCE = (
    "3 of 90 hexagons (3 %) are likely above the threshold, 33 it cannot tell, 54 likely not above it. 32 "
    "with few records or none are left out."
)
SURE = "Orange is right about 85 times in 100. It shows about 1 in 10 of the places that are above."
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
        assert [(line.cells, line.label, line.colour) for line in legend(painting)] == LEGEND
    for name in ("label.html", "map.html", "README.txt"):
        text = " ".join(made[name].decode().split())
        assert SENTENCE in text, name
        assert SURE in text, name
        assert COVERED in text, name
    assert SURE in three_facts(bundle.statement, bundle.published)[0].text


def survey(domain: Domain) -> Contents:
    """A survey of moss samples, asked for what lies below a limit, in the value's own unit."""
    release = make_release(domain)
    mean, sd = release.paths.mean(axis=0), release.paths.std(axis=0) + 0.1
    privacy = replace(release.privacy, unit_word="moss sample")
    asked = {"value_name": "lead", "value_unit": "mg/kg", "direction": "below", "threshold": 5.0}
    scale = ResponseScale("identity", 5.0, 2.0, "given")
    scope = Scope("mosses", "2015", (), "Moss survey")
    records = np.where(domain.centres[:, 0] > 2500, 0.25, 3.0)
    return bundle_contents(
        retold(
            release, mean=mean, sd=sd, privacy=privacy, response=scale, scope=scope, records=records, **asked
        )
    )


def answers(folder: Path) -> Contents:
    """Where more than 10 % of 400 readings of a town exceed 30 ug/m3, crowded in its west.

    Far from all records that is likelier than not, so that a set of all hexagons would hold them."""
    rows = pd.DataFrame(rows_of(400), columns=["lon", "lat", "no2"])
    rows["lon"] = BOX[0] + 0.01 + (rows["lon"] - BOX[0]) ** 2 * 6.0
    made = hexcursion.release(
        rows, area=BOX, lon="lon", lat="lat", value="no2", resolution=8, values="yes-no", yes_above=30.0,
        threshold=10.0, epsilon=4.0, record_word="reading", value_unit="ug/m3", budget=4.0,
        accept_low_agreement=True, accept_dropped=True, out=folder / "answers",
    )  # fmt: skip
    return contents_of(made.place)


def counts(values: Iterable[object]) -> dict[str, int]:
    return dict(Counter(str(value) for value in values))


def fewest(expected: pd.Series, share: float = 0.95) -> list[bool]:
    """The hexagons with the most expected records, until they hold that share of them: one by one."""
    held, last = 0.0, np.inf
    for number in sorted(expected, reverse=True):
        if held >= share * expected.sum() * (1.0 - 1e-9):
            break
        held, last = held + number, number
    return [bool(number >= last) for number in expected]


@pytest.mark.parametrize("which", ["shipped example", "survey", "answers"])
def test_one_domain_and_one_set_are_in_every_product(which: str, domain: Domain, tmp_path: Path) -> None:
    """The judged hexagons, the set within them, their counts and shares: files, words, areas and viewer."""
    if which == "answers":
        made = answers(tmp_path)
    else:
        made = survey(domain) if which == "survey" else contents_of(BUNDLE)
    bundle = bundle_from_contents(made)
    table = pd.read_csv(io.BytesIO(made["cells.csv"]))
    judged = fewest(table["expected_records"])
    assert 0 < sum(judged) < len(judged)
    assert (table["class"] != "no record expected").tolist() == judged
    inside = [here and chance >= 0.5 for here, chance in zip(judged, table["probability"], strict=True)]
    assert inside != (table["probability"] >= 0.5).tolist()
    for name in ("cells.geojson", "release.gpkg", "cells.parquet"):
        (tmp_path / name).write_bytes(made[name])
    frames = [
        geopandas.read_file(tmp_path / "cells.geojson"),
        geopandas.read_file(tmp_path / "release.gpkg", layer="cells"),
        geopandas.read_parquet(tmp_path / "cells.parquet"),
    ]
    for frame in (table, *frames):
        assert frame["in_set"].astype(bool).tolist() == inside
    told = bundle.statement["told"]["judged"]
    assert told["cells"] == sum(judged)
    viewer = Viewer(bundle)
    products = viewer.at()
    assert products.judged.tolist() == bundle.published.judged.tolist() == judged
    assert products.in_set.tolist() == inside
    likely_cells = int((table["class"] == ("below" if which == "survey" else "above")).sum())
    said = f"{likely_cells:,} of {sum(judged):,} hexagons"
    share = f"({100 * likely_cells / sum(judged):.0f} %)"
    everywhere = {name: " ".join(html.unescape(made[name].decode()).split()) for name in WORDS}
    everywhere["viewer"] = viewer.in_short(products)[0]
    everywhere["statement"] = counted(bundle.published)
    for name, text in everywhere.items():
        assert f"{said} {share}" in text, name
        assert told["in_words"] in text or name in ("viewer", "statement"), name
    facts = three_facts(bundle.statement, bundle.published)[0].text
    unsure = float((table["class"] == "open").sum() / sum(judged))
    assert f"For {100 * unsure:.0f} % of the hexagons it cannot tell" in facts
    (west, south), (east, north) = (f(viewer.domain.centres_lonlat, axis=0) for f in (np.min, np.max))
    square = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    whole = {"type": "Feature", "properties": {"name": "all"},
             "geometry": {"type": "Polygon", "coordinates": [square]}}  # fmt: skip
    [answer] = answers_from(viewer, {"type": "FeatureCollection", "features": [whole]}, name="name")[1]
    expected = table["probability"][judged].mean()
    assert answer.share == pytest.approx(expected, abs=0.03), "areas count other hexagons than the map"
    assert answer.covered == pytest.approx(sum(judged) / len(judged), abs=0.03)


@pytest.mark.parametrize("which", ["shipped example", "survey"])
def test_all_products_of_a_bundle_say_the_same_numbers(which: str, domain: Domain, tmp_path: Path) -> None:
    """Files by readers that are not ours; words by their numbers."""
    made = survey(domain) if which == "survey" else contents_of(BUNDLE)
    bundle = bundle_from_contents(made)
    for name in ("cells.geojson", "regions.geojson", "release.gpkg", "cells.parquet"):
        (tmp_path / name).write_bytes(made[name])
    table = pd.read_csv(io.BytesIO(made["cells.csv"]))
    found = counts(table["class"])
    layers = [
        geopandas.read_file(tmp_path / name, layer="cells" if name.endswith("gpkg") else None)
        for name in ("cells.geojson", "release.gpkg")
    ]
    for frame in (*layers, geopandas.read_parquet(tmp_path / "cells.parquet")):
        assert counts(frame["class"]) == found
        assert frame["probability"].tolist() == pytest.approx(table["probability"].tolist(), abs=1e-9)
    with closing(sqlite3.connect(tmp_path / "release.gpkg")) as file:
        assert dict(file.execute("SELECT class, count(*) FROM cells GROUP BY class")) == found
    assert counts(pq.read_table(tmp_path / "cells.parquet")["class"].to_pylist()) == found
    side = "above" if which == "shipped example" else "below"
    shown, unsure, not_shown = found[side], found["open"], found[f"not {side}"]
    regions = geopandas.read_file(tmp_path / "regions.geojson").set_index("product")["cells"]
    assert regions[["likely", "open", "likely-not"]].tolist() == [shown, unsure, not_shown]
    true = table["probability"]
    if bundle.statement["prior_mean_used"]:  # chances that rest on a public map are tempered
        odds = (true / (1.0 - true)) ** 0.65
        true = (odds / (1.0 + odds)).fillna(1.0)
    right, held = true[table["class"] == side].mean(), true[table["class"] == side].sum()
    held /= true[table["class"] != "no record expected"].sum()
    words = "above" if side == "above" else "at most"
    sure = re.compile(r"Orange is right about (\d+) times in 100. It shows about (\d+) in (10|4) of")
    judged = int((table["class"] != "no record expected").sum())
    for name in ("label.html", "map.html", "README.txt"):
        text = " ".join(html.unescape(made[name].decode()).split())
        assert f"{shown:,} of {judged:,} hexagons" in text, name
        assert f"likely {words} the threshold, {unsure:,} it cannot tell, {not_shown:,} likely not" in text, (
            name
        )
        said = sure.search(text)
        assert said is not None, name
        assert int(said[1]) == pytest.approx(100 * right, abs=0.51)
        assert int(said[2]) / int(said[3]) == pytest.approx(held, abs=0.051)
    assert bundle.published.classes.tolist().count(0) == shown
    asked = {
        "survey": "Where was lead of mosses at most 5 mg/kg in 2015? Lead of mosses in mg/kg, 2015; from "
        "30,123 moss samples. Source: Moss survey.",
        "shipped example": "Where did houses in Lucas County sell for more than $80,000 in 1998? Price of "
        "houses in Lucas County in dollars, 1998; from 4,206 sales. Source: Lucas County auditor, by ",
    }[which]
    with closing(sqlite3.connect(tmp_path / "release.gpkg")) as database:
        [(about,)] = database.execute("SELECT description FROM gpkg_contents WHERE table_name = 'cells'")
    assert about.startswith(asked)
    assert "reading" not in made["label.html"].decode()


def test_the_page_draws_the_same_classes(made: Contents) -> None:
    found = re.search(r'id="data">(.*?)</script>', made["map.html"].decode(), re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert data["classes"] == [label for _, label, _ in LEGEND]
    assert data["colours"]["light"]["classes"] == [colour for *_, colour in LEGEND]
    assert data["words"] == ["likely above {}", "cannot tell", "likely not above {}", "few records or none"]
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
    assert counted(below).endswith(
        "are likely at most the threshold, 25 it cannot tell, 3 likely not at most it."
    )
    one = bundle_from_contents(bundle_contents(make_release(domain, paths=1))).published
    assert Counter(class_column(one)) == {"above": 9, "not above": 113}
    assert counted(one) == "9 of 122 hexagons (7 %) are above the threshold on the released path."


def test_a_bundle_without_classes_or_with_false_ones_is_refused(made: Contents) -> None:
    cells = json.loads(made["cells.geojson"])
    for feature in cells["features"]:
        del feature["properties"]["class"]
    few = {name: content for name, content in made.items() if name not in EXPORTS}
    forged = made["cells.geojson"].replace(b'"class": "open"', b'"class": "above"', 1)
    forged = forged.replace(b'"class":"open"', b'"class":"above"', 1)
    assert forged != made["cells.geojson"]
    for content in (forged, json.dumps(cells).encode()):
        with pytest.raises(
            BundleError, match=r"cells\.geojson does not follow from the paths: class differs"
        ):
            bundle_from_contents(sealed({**few, "cells.geojson": content}))

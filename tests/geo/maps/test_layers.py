"""The pydeck maps: every cell once, in its class's colour, nothing fetched, nothing private."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pydeck
import pytest

from geo import domain_from_bbox
from geo.colours import rgb
from geo.domains.view import fit
from geo.maps import layers as maps
from geo.maps import linked, painting

DOMAIN = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7)
N = DOMAIN.size
MASK = DOMAIN.centres[:, 0] > 0
OTHER = DOMAIN.centres[:, 1] > 0
VOTES = np.linspace(0, 1, N)
DECKS = {
    "set": lambda **look: pane_of(paint_set(), **look),
    "votes": lambda **look: pane_of(painting.paint_votes(VOTES, 20, what="x", title="t"), **look),
    "three-way": lambda **look: pane_of(
        painting.paint_three_way(MASK.astype(int) - OTHER, threshold="5", title="t"), **look
    ),
    "field": lambda **look: pane_of(painting.paint_field(VOTES, "m", title="t"), **look),
    "baseline": lambda **look: maps.pane_deck(DOMAIN, linked.Pane("b", paint_set(), private=True), **look),
    "difference": lambda **look: maps.pane_deck(DOMAIN, difference(), **look),
    "boundaries": lambda **look: maps.boundaries_deck(DOMAIN, [MASK, ~OTHER], OTHER, **look),
    "cells": lambda **look: maps.cells_deck(DOMAIN, **look),
}


def pane_of(painted: painting.Painting, **look: Any) -> pydeck.Deck:
    return maps.pane_deck(DOMAIN, linked.Pane("p", painted), **look)


def difference(released: Any = MASK, baseline: Any = OTHER) -> linked.Pane:
    return linked.Pane("d", painting.paint_difference(released, baseline, title="t"), private=True)


def paint_set() -> painting.Painting:
    return painting.paint_set(MASK, inside="in", outside="out", title="t")


def spec(deck: pydeck.Deck) -> dict[str, Any]:
    """What travels to the browser."""
    found: dict[str, Any] = json.loads(deck.to_json())
    return found


def layer(deck: pydeck.Deck, name: str) -> dict[str, Any]:
    (found,) = [one for one in spec(deck)["layers"] if one["id"] == name]
    return dict(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", DECKS)
def test_nothing_is_fetched_by_default(name: str, theme: str) -> None:
    """Streamlit fetches a basemap for any falsy `mapStyle`, so pydeck's placeholder must be kept."""
    text = DECKS[name](theme=theme).to_json()
    assert "http" not in text
    assert "mapProvider" not in json.loads(text)
    assert json.loads(text)["mapStyle"] == "__MAP_STYLE__"


@pytest.mark.parametrize("name", DECKS)
def test_a_basemap_is_a_choice_that_names_its_host(name: str) -> None:
    deck = DECKS[name](basemap=True, theme="dark")
    assert maps.BASEMAP_HOST in spec(deck)["mapStyle"]
    cells = [one for one in spec(deck)["layers"] if one["@@type"] == "H3HexagonLayer"]
    assert all(one["opacity"] < 1 for one in cells)


@pytest.mark.parametrize("name", DECKS)
def test_layers_have_names_and_the_outline_lies_on_top(name: str) -> None:
    names = [one["id"] for one in spec(DECKS[name]())["layers"]]
    assert len(set(names)) == len(names)
    assert names[-2:] == ["region-halo", "region"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_cell_is_drawn_once_in_the_colour_of_its_class(theme: maps.Theme) -> None:
    votes = painting.paint_votes(VOTES, 20, what="x", title="t")
    cells = layer(pane_of(votes, theme=theme), "cells")
    assert cells["highPrecision"] is True
    assert cells["opacity"] == 1.0
    assert [row["h"] for row in cells["data"]] == list(DOMAIN.cells)
    for row, index in zip(cells["data"], votes.classes, strict=True):
        assert row["c"] == rgb(votes.entries[index].role, theme)
    shown = {tuple(row["c"]) for row in cells["data"]}
    named = {
        tuple(int(e.colour[k : k + 2], 16) for k in (1, 3, 5))
        for e in painting.legend(votes, theme)
        if e.cells
    }
    assert shown == named


def test_a_record_holds_index_colour_and_released_words_only() -> None:
    cells = layer(pane_of(paint_set()), "cells")
    assert {key for row in cells["data"] for key in row} == {"h", "c", "n"}
    assert {row["n"] for row in cells["data"]} == {"Released: in", "Released: out"}


def test_the_baseline_says_that_it_is_private() -> None:
    cells = layer(DECKS["baseline"](), "cells")
    assert {row["n"] for row in cells["data"]} == {"Private baseline: in", "Private baseline: out"}


def test_boundaries_have_a_line_for_each_path_over_the_private_one() -> None:
    names = [one["id"] for one in spec(DECKS["boundaries"]())["layers"]]
    assert names == ["baseline", "path-0", "path-1", "region-halo", "region"]
    without = spec(maps.boundaries_deck(DOMAIN, [MASK]))
    assert [one["id"] for one in without["layers"]] == ["path-0", "region-halo", "region"]
    entries = maps.boundaries_legend(7, baseline=True)
    assert len(entries) == 8
    assert entries[1].colour == entries[6].colour != entries[2].colour
    assert len(maps.boundaries_legend(7, baseline=False)) == 7


def test_cells_alone_show_their_edges() -> None:
    cells = layer(maps.cells_deck(DOMAIN), "cells")
    assert [row["h"] for row in cells["data"]] == list(DOMAIN.cells)
    assert cells["stroked"] is True


def test_what_does_not_fit_the_domain_is_refused() -> None:
    short = painting.paint_set(MASK[1:], inside="in", outside="out", title="t")
    with pytest.raises(ValueError, match="the domain"):
        pane_of(short)
    with pytest.raises(ValueError, match="one boolean for each cell"):
        maps.boundaries_deck(DOMAIN, [MASK[1:]])


@pytest.mark.parametrize(
    "box",
    [
        (-0.3, 51.4, 0.1, 51.6),
        (179.0, -18.0, -179.0, -16.0),
        (10.0, 69.0, 12.0, 69.2),
        (-60.0, -20.0, 0.0, 40.0),
    ],
)
@pytest.mark.parametrize(("width", "height"), [(700, 500), (300, 900), (1900, 300)])
def test_the_first_view_shows_the_whole_domain(box: tuple[float, ...], width: int, height: int) -> None:
    """Every centre within the chart, and the domain as large as it can be."""
    domain = domain_from_bbox(*box, 3 if box[2] == 0.0 else 6, crosses_date_line=box[0] > box[2])
    longitude, latitude, zoom = fit(domain, width, height)
    world = 512 * 2**zoom

    def vertical(lat: Any) -> Any:
        return world / (2 * math.pi) * np.log(np.tan(np.pi / 4 + np.radians(lat) / 2))

    lon, lat = domain.centres_lonlat.T
    x = world * ((lon - longitude + 180) % 360 - 180) / 360
    y = vertical(lat) - vertical(latitude)
    assert np.abs(x).max() <= width / 2
    assert np.abs(y).max() <= height / 2
    assert max(np.abs(x).max() / (width / 2), np.abs(y).max() / (height / 2)) > 0.6


def test_layers_and_view_are_these_to_the_letter() -> None:
    def looks(deck: pydeck.Deck) -> list[dict[str, Any]]:
        return [{key: value for key, value in one.items() if key != "data"} for one in spec(deck)["layers"]]

    cells = {"@@type": "H3HexagonLayer", "autoHighlight": False, "extruded": False, "getHexagon": "@@=h"}
    cells |= {"highPrecision": True, "id": "cells", "pickable": True}
    line = {"@@type": "PathLayer", "capRounded": True, "getPath": "@@=p", "jointRounded": True}
    line |= {"opacity": 1.0, "widthUnits": "pixels"}
    black, white = [23, 38, 43], [255, 255, 255]
    assert looks(DECKS["difference"]()) == [
        {**cells, "getFillColor": "@@=c", "opacity": 1.0, "stroked": False},
        {**line, "id": "region-halo", "getColor": white, "getWidth": 4.0},
        {**line, "id": "region", "getColor": black, "getWidth": 1.5},
    ]
    above = {"getFillColor": [207, 217, 221], "getLineColor": white, "lineWidthMinPixels": 1}
    assert looks(DECKS["cells"](basemap=True))[0] == {**cells, **above, "opacity": 0.75, "stroked": True}
    baseline, path, *_ = looks(DECKS["boundaries"]())
    assert baseline == {**line, "id": "baseline", "getColor": black, "getWidth": 5.0}
    assert path == {**line, "id": "path-0", "getColor": [0, 114, 178], "getWidth": 2.0}
    view = {"bearing": 0, "latitude": 51.50027, "longitude": -0.0997, "pitch": 0, "zoom": 9.852}
    assert spec(DECKS["cells"]())["initialViewState"] == view
    assert DECKS["cells"]()._tooltip == {
        "text": "{n}\nH3 cell {h}",
        "style": {"backgroundColor": "#ffffff", "color": "#17262b", "fontSize": "0.85rem"},
    }

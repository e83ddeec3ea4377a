"""Scenes of linked maps: what travels to the browser, pane by pane."""

from __future__ import annotations

import json
import pickle

import h3
import numpy as np
import pytest

from geo import domain_from_bbox
from geo.colours import rgb
from geo.maps import layers as maps
from geo.maps import linked, painting

DOMAIN = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7)
MASK = DOMAIN.centres[:, 0] > 0
OTHER = DOMAIN.centres[:, 1] > 0


def painted(mask: np.ndarray, name: str = "in") -> painting.Painting:
    return painting.paint_set(mask, inside=name, outside=f"not {name}", title="t")


def pair(mode: maps.Mode = "beside", **how: object) -> dict:
    panes = [linked.Pane("Released", painted(MASK)), linked.Pane("Baseline", painted(OTHER), private=True)]
    return linked.linked_scene(DOMAIN, panes, mode=mode, alt="two maps", **how)


def test_every_cell_has_its_number_and_the_class_and_words_of_each_pane() -> None:
    sent = pair()
    table, panes = sent["cells"], sent["scene"]["panes"]
    assert [h3.int_to_str(int(cell)) for cell in table["cell"]] == list(DOMAIN.cells)
    assert table["cell"].dtype == np.uint64
    for number, (pane, mask) in enumerate(zip(panes, (MASK, OTHER), strict=True)):
        np.testing.assert_array_equal(table[f"class{number}"], np.where(mask, 0, 1))
        said = np.asarray(pane["notes"], dtype=object)[table[f"note{number}"].to_numpy()]
        assert all(("not in" in words) == (not inside) for words, inside in zip(said, mask, strict=True))


def test_a_private_pane_says_so_in_every_tooltip_and_a_released_one_never_does() -> None:
    released, private = pair()["scene"]["panes"]
    assert released["private"] is False
    assert private["private"] is True
    assert {note.split(":")[0] for note in released["notes"]} == {"Released"}
    assert {note.split(":")[0] for note in private["notes"]} == {"Private baseline"}


def test_a_pane_may_have_a_word_of_its_own() -> None:
    panes = [
        linked.Pane("a", painted(MASK), word="Simulated"),
        linked.Pane("b", painted(MASK), True, word="Aim"),
    ]
    first, second = linked.linked_scene(DOMAIN, panes, mode="beside", alt="x")["scene"]["panes"]
    assert {note.split(":")[0] for note in first["notes"]} == {"Simulated"}
    assert {note.split(":")[0] for note in second["notes"]} == {"Aim"}


def test_a_lone_released_pane_carries_nothing_of_a_baseline() -> None:
    alone = linked.linked_scene(
        DOMAIN, [linked.Pane("Released", painted(MASK))], mode="single", alt="one map"
    )
    assert set(alone["cells"].columns) == {"cell", "class0", "note0"}
    assert alone["scene"]["panes"][0].pop("private") is False
    text = json.dumps(alone["scene"]).lower()
    assert "private" not in text
    assert "baseline" not in text


def test_the_boundary_of_the_baseline_makes_a_pane_private() -> None:
    lines = linked.boundary_lines(DOMAIN, [MASK], OTHER)
    assert [line.name for line in lines] == ["baseline", "path-0"]
    with pytest.raises(ValueError, match="is private"):
        linked.Pane("Boundaries", lines=lines)
    scene = linked.linked_scene(
        DOMAIN, [linked.Pane("Boundaries", private=True, lines=lines)], mode="single", alt="lines"
    )["scene"]
    assert [line["id"] for line in scene["panes"][0]["lines"]] == ["baseline", "path-0"]
    assert "classes" not in scene["panes"][0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_those_of_the_legend(theme: maps.Theme) -> None:
    shown = painting.paint_difference(MASK, OTHER, title="t")
    scene = linked.linked_scene(
        DOMAIN, [linked.Pane("Difference", shown, private=True)], mode="single", alt="x", theme=theme
    )["scene"]
    for sent, entry in zip(scene["panes"][0]["classes"], painting.legend(shown, theme), strict=True):
        assert "#{:02x}{:02x}{:02x}".format(*sent["colour"]) == entry.colour
    assert scene["ink"] == rgb("line", theme)


def test_dots_of_observations_make_a_pane_private_and_four_maps_stand_side_by_side() -> None:
    dots = np.array([(-0.1, 51.5), (0.0, 51.45)])
    with pytest.raises(ValueError, match="is private"):
        linked.Pane("Hexagons", painting.paint_cells(DOMAIN.size), points=dots)
    seen = linked.Pane("Hexagons", painting.paint_cells(DOMAIN.size), private=True, points=dots)
    scene = linked.linked_scene(DOMAIN, [seen] * 4, mode="beside", alt="x")["scene"]
    assert [pane["points"]["places"] for pane in scene["panes"]] == [dots.tolist()] * 4
    assert {note for pane in scene["panes"] for note in pane["notes"]} == {"Hexagon of the public area"}


def test_streets_are_named_only_where_they_are_asked_for() -> None:
    assert pair()["scene"]["streets"] is None
    for theme, style in (("light", "light_nolabels"), ("dark", "dark_nolabels")):
        streets = pair(streets=True, theme=theme)["scene"]["streets"]
        assert streets["address"] == f"https://basemaps.cartocdn.com/{style}/{{z}}/{{x}}/{{y}}.png"


def test_the_area_is_the_same_for_other_sets_and_another_one_for_other_cells() -> None:
    assert pair()["scene"]["area"] == pair("swipe")["scene"]["area"]
    elsewhere = domain_from_bbox(-0.3, 51.4, 0.1, 51.7, 7)
    other = linked.linked_scene(
        elsewhere, [linked.Pane("r", painted(elsewhere.centres[:, 0] > 0))], mode="single", alt="x"
    )
    assert other["scene"]["area"] != pair()["scene"]["area"]


def test_a_redraw_sends_little() -> None:
    """About 19 bytes a cell, so that a held arrow key does not queue megabytes."""
    sent = pair()
    each = sum(sent["cells"][name].dtype.itemsize for name in sent["cells"])
    assert each <= 20
    assert len(json.dumps(sent["scene"])) < 60_000
    assert pickle.dumps(sent["scene"])  # plain data only


@pytest.mark.parametrize(
    ("mode", "count"), [("beside", 1), ("swipe", 1), ("toggle", 1), ("single", 2), ("beside", 10)]
)
def test_the_number_of_panes_belongs_to_the_mode(mode: maps.Mode, count: int) -> None:
    with pytest.raises(ValueError, match="panes"):
        linked.linked_scene(DOMAIN, [linked.Pane("p", painted(MASK))] * count, mode=mode, alt="x")


def test_what_does_not_fit_the_domain_is_refused() -> None:
    with pytest.raises(ValueError, match="the domain"):
        linked.linked_scene(DOMAIN, [linked.Pane("p", painted(MASK[1:]))], mode="single", alt="x")
    with pytest.raises(ValueError, match="one boolean for each cell"):
        linked.boundary_lines(DOMAIN, [MASK[1:]])


def test_places_alone_are_one_private_pane_in_a_box_of_their_own() -> None:
    sent = linked.places_scene([(2.0, 54.0), (3.0, 54.5)], alt="places")
    [pane] = sent["scene"]["panes"]
    assert pane["private"] is True
    assert pane["points"]["places"] == [[2.0, 54.0], [3.0, 54.5]]
    assert sent["scene"]["box"] == pytest.approx((1.97, 53.97, 3.03, 54.53))
    assert len(sent["cells"]) == 0
    assert sent["cells"]["cell"].dtype == np.uint64
    assert {**pair()["scene"], **sent["scene"]}.keys() - pair()["scene"].keys() == {"box"}
    assert pair()["scene"].keys() - sent["scene"].keys() == set()


def test_a_box_of_places_goes_over_the_date_line_in_one_piece() -> None:
    assert linked.box_of_places([(179.9, -17.0), (-179.9, -17.0)]) == pytest.approx(
        (179.89, -17.01, 180.11, -16.99)
    )
    assert linked.box_of_places([(5.0, 89.9)])[3] == 85.0

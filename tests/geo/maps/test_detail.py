"""What very many cells show zoomed out: means over the next coarser cells, and regions of one class."""

from __future__ import annotations

import h3
import numpy as np
import pytest
import shapely

from geo import domain_from_bbox, domain_from_cells
from geo.maps import detail, linked, painting
from geo.maps.painting import paint_shares

PARENT, BESIDE = "87195da49ffffff", sorted(h3.grid_ring("87195da49ffffff", 1))[0]
CHILDREN = sorted(h3.cell_to_children(PARENT))
FEW = (*CHILDREN, *sorted(h3.cell_to_children(BESIDE))[:2])  # a whole parent, and two cells of another
MANY = domain_from_bbox(-2.0, 52.0, -0.9, 52.6, 8)  # 7,533 cells


def areas(polygons: list[tuple[int, list[np.ndarray]]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for owner, (outer, *holes) in polygons:
        found[owner] = found.get(owner, 0.0) + shapely.Polygon(outer, holes).area
    return found


def area_of(cells: list[str] | tuple[str, ...]) -> float:
    return sum(shapely.Polygon([(x, y) for y, x in h3.cell_to_boundary(cell)]).area for cell in cells)


def test_each_cell_counts_once_and_what_is_missing_counts_nothing() -> None:
    parents = detail.parents_of(tuple(sorted(FEW)))
    at, beside = parents.cells.index(PARENT), parents.cells.index(BESIDE)
    values = np.array([{CHILDREN[0]: 8.0}.get(cell, 1.0) for cell in sorted(FEW)])
    values[parents.of == beside] = [4.0, 7.0]
    means, counts = detail.means_over(parents, values)
    assert means[[at, beside]].tolist() == [2.0, 5.5]  # (8 + 6) / 7, and the five cells outside are not zeros
    assert counts[[at, beside]].tolist() == [7, 2]
    values[np.flatnonzero(parents.of == beside)[0]] = np.nan
    means, counts = detail.means_over(parents, values)
    assert (means[beside], counts[beside]) == (7.0, 1)
    values[parents.of == beside] = np.nan
    means, counts = detail.means_over(parents, values)
    assert np.isnan(means[beside])
    assert counts[beside] == 0
    with pytest.raises(ValueError, match="there are 8 values for 9 cells"):
        detail.means_over(parents, values[1:])


def test_a_parent_at_the_edge_is_what_of_it_lies_in_the_domain() -> None:
    parents = detail.parents_of(tuple(sorted(FEW)))
    assert list(parents.edge) == [parents.cells.index(BESIDE)]
    (shape,) = parents.edge.values()
    assert shape.area == pytest.approx(
        area_of(FEW[7:]), rel=0.12
    )  # the parent's edge cuts its cells' corners
    assert shape.area < 0.35 * area_of((BESIDE,))


def test_means_are_painted_in_the_classes_of_the_cells_and_say_of_how_many_they_are() -> None:
    parents = detail.parents_of(tuple(sorted(FEW)))
    beside = parents.cells.index(BESIDE)
    values = np.where(parents.of == beside, 3.0, 2.0)
    values[np.flatnonzero(parents.of == beside)[0]] = 5.0
    shown = painting.paint_field(values, "m", title="t", breaks=[2.0, 4.5])
    means = detail.averaged(shown, parents)
    assert means is not None
    assert [(means.classes[k], means.notes[k]) for k in (1 - beside, beside)] == [
        (1, "Released: mean of 7 hexagons: 2 m"),  # on a limit: the class above, as a cell's own value is
        (1, "Released: mean of 2 hexagons: 4 m"),
    ]
    assert means.entries == shown.entries
    private = detail.averaged(painting.as_baseline(shown, "Without privacy"), parents)
    assert private is not None
    assert private.notes[beside] == "Without privacy: mean of 2 hexagons: 4 m"


def test_a_mean_of_one_hexagon_is_its_own_value() -> None:
    parents = detail.parents_of((CHILDREN[3],))
    means = detail.averaged(painting.paint_field([3.0], "m", title="t", breaks=[2.0]), parents)
    assert means is not None
    assert means.notes == ("Released: 3 m",)


def test_probabilities_are_averaged_and_sets_and_joint_confidence_are_not() -> None:
    parents = detail.parents_of(tuple(sorted(FEW)))
    shares = np.where(parents.of == parents.cells.index(PARENT), 0.5, 0.1)
    shown = detail.averaged(paint_shares(shares, what="above 3", title="t", word="a probability of"), parents)
    assert shown is not None
    assert shown.notes[parents.cells.index(PARENT)] == (
        "Released: mean of 7 hexagons: above 3, a probability of 50 %"
    )
    joint = paint_shares(shares, what="above 3", title="t", word="confidence", averaged=False)
    assert detail.averaged(joint, parents) is None
    in_or_out = painting.paint_set(shares > 0.3, inside="in", outside="out", title="t")
    assert detail.averaged(in_or_out, parents) is None


def test_cells_of_one_class_are_one_region_with_its_holes() -> None:
    middle = "88195da49bfffff"
    cells = sorted(h3.grid_disk(middle, 2))
    inside = [cell == middle or cell not in h3.grid_disk(middle, 1) for cell in cells]
    shown = painting.paint_set(np.array(inside), inside="in", outside="out", title="t")
    found = detail.regions(domain_from_cells(cells), shown)
    assert found is None  # a hole and a dot in so few cells: nothing is gained
    many = sorted(h3.grid_disk(middle, 9))
    inside = [cell == middle or cell not in h3.grid_disk(middle, 1) for cell in many]
    shown = painting.paint_set(np.array(inside), inside="in", outside="out", title="t")
    found = detail.regions(domain_from_cells(many), shown)
    assert found is not None
    assert sorted((owner, len(rings)) for owner, rings in found) == [(0, 1), (0, 2), (1, 2)]
    chosen = [cell for cell, one in zip(many, inside, strict=True) if one]
    assert areas(found) == pytest.approx(
        {0: area_of(chosen), 1: area_of([cell for cell in many if cell not in chosen])}, rel=1e-9
    )


def test_a_region_across_the_antimeridian_is_one_piece() -> None:
    domain = domain_from_bbox(179.0, -17.5, -179.0, -16.5, 6, crosses_date_line=True)
    shown = painting.paint_set(domain.centres[:, 1] > 0, inside="in", outside="out", title="t")
    found = detail.regions(domain, shown)
    assert found is not None
    assert [owner for owner, _ in found] == [0, 1]
    for _, (outer, *_) in found:
        assert np.abs(np.diff(outer[:, 0])).max() < 0.2
        assert np.ptp(outer[:, 0]) == pytest.approx(2.0, abs=0.2)
    parents = detail.parents_of(domain.cells)
    assert max(float(shape.bounds[2] - shape.bounds[0]) for shape in parents.edge.values()) < 0.2


def test_few_cells_are_never_drawn_in_another_way() -> None:
    few = domain_from_cells(MANY.cells[: detail.FEWEST - 1])
    shown = painting.paint_set(few.centres[:, 0] > 0, inside="in", outside="out", title="t")
    assert detail.zoomed_out(few, [shown]) == ([None], {})
    scene = linked.linked_scene(few, [linked.Pane("r", shown)], mode="single", alt="x")
    assert scene.keys() == {"scene", "cells"}
    assert "far" not in scene["scene"]["panes"][0]
    enough = domain_from_cells(MANY.cells[: detail.FEWEST])
    shown = painting.paint_set(enough.centres[:, 0] > 0, inside="in", outside="out", title="t")
    assert detail.zoomed_out(enough, [shown])[0] == [{"kind": "regions"}]


def test_many_cells_travel_with_their_regions_and_the_means_of_what_was_given() -> None:
    x = MANY.centres[:, 0]
    inside = painting.paint_set(x > 0, inside="in", outside="out", title="t")
    field = painting.paint_field(x, "m", title="t", breaks=[0.0])
    ragged = painting.paint_set(np.arange(MANY.size) % 2 == 0, inside="in", outside="out", title="t")
    panes = [
        linked.Pane("a", inside),
        linked.Pane("b", field, private=True),
        linked.Pane("c", ragged),
        linked.Pane("d"),
    ]
    sent = linked.linked_scene(MANY, panes, mode="beside", alt="x")
    first, second, third, fourth = sent["scene"]["panes"]
    assert first["far"] == {"kind": "regions"}
    assert second["far"]["kind"] == "means"
    assert all(note.startswith("Private baseline: ") for note in second["far"]["notes"])
    assert any("mean of 7 hexagons" in note for note in second["far"]["notes"])
    assert "far" not in third
    assert "far" not in fourth
    assert sent.keys() - {"scene", "cells"} == {"rings0", "corners0", "parents", "rings", "corners"}
    assert sent["rings0"]["owner"].tolist() == [0, 1]
    assert sent["rings0"]["hole"].tolist() == [0, 0]
    assert sent["rings0"]["corners"].sum() == len(sent["corners0"])
    assert sent["corners0"].dtypes.tolist() == [np.int32, np.int32]
    assert -2_020_000 < sent["corners0"]["x"].min() < -1_980_000  # millionths of a degree
    assert 52_580_000 < sent["corners0"]["y"].max() < 52_620_000
    assert list(sent["parents"].columns) == ["cell", "class1", "note1"]
    parents = detail.parents_of(MANY.cells)
    assert [h3.int_to_str(int(cell)) for cell in sent["parents"]["cell"]] == list(parents.cells)
    at = int(np.argmax(parents.of == parents.of[0]))
    expected = x[parents.of == parents.of[at]].mean()
    assert sent["parents"]["class1"][parents.of[at]] == int(expected >= 0)
    assert set(sent["rings"]["owner"]) == set(parents.edge)

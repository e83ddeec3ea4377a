"""Paintings: the right class for each value, words that say what was released, legends that do not jump."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from geo.colours import Theme
from geo.maps.painting import (
    CLASSES_OF_A_FIELD,
    Entry,
    Painting,
    as_baseline,
    field_breaks,
    legend,
    paint_difference,
    paint_field,
    paint_set,
    paint_three_way,
    paint_votes,
)

THEMES: tuple[Theme, ...] = ("light", "dark")
MASK = np.array([True, False, True, False])
OTHER = np.array([True, True, False, False])


def labels(painting: Painting) -> list[str]:
    return [painting.entries[k].label for k in painting.classes]


def test_a_set_is_in_or_out() -> None:
    painting = paint_set(MASK, inside="at least £5", outside="below £5", title="t")
    assert labels(painting) == ["at least £5", "below £5"] * 2
    assert painting.notes == ("Released: at least £5", "Released: below £5") * 2
    assert [entry.cells for entry in legend(painting)] == [2, 2]


def test_cells_of_few_records_are_a_class_apart() -> None:
    painting = paint_set(MASK, inside="in", outside="out", title="t", empty=~OTHER)
    assert labels(painting) == ["in", "out", "few or no records", "few or no records"]
    assert [(entry.colour, entry.cells) for entry in legend(painting)] == [
        ("#d55e00", 1),
        ("#cfd9dd", 1),
        ("#e4e4e1", 2),
    ]
    assert painting.notes[2] == "Released: few records or none"
    ways = paint_three_way([1, 0, -1, 1], threshold="5", title="t", empty=OTHER)
    assert labels(ways) == ["few or no records"] * 2 + ["surely at most 5", "surely above 5"]
    assert ways.entries[3].role == "empty"
    assert len(paint_three_way([1, 0], threshold="5", title="t").entries) == 3


def test_few_paths_have_a_class_for_each_count() -> None:
    painting = paint_votes([0.0, 1 / 3, 2 / 3, 1.0], 3, what="at least £5", title="t")
    assert labels(painting) == [f"in {k} of 3 paths" for k in range(4)]
    assert painting.notes[2] == "Released: at least £5 in 2 of 3 paths"


def test_one_path_is_a_set() -> None:
    painting = paint_votes([0.0, 1.0], 1, what="at least £5", title="t")
    assert labels(painting) == ["not at least £5", "at least £5"]


@pytest.mark.parametrize("paths", [6, 10, 25, 100])
def test_many_paths_have_classes_of_a_fifth(paths: int) -> None:
    votes = np.arange(paths + 1) / paths
    painting = paint_votes(votes, paths, what="x", title="t")
    for count, cell_class in enumerate(painting.classes.tolist()):
        expected = 0 if count == 0 else -(-5 * count // paths)  # whole numbers: no rounding at the limits
        assert cell_class == expected
    assert painting.notes[-1] == f"Released: x in {paths} of {paths} paths"


def test_three_ways() -> None:
    painting = paint_three_way(np.array([1, 0, -1], dtype=np.int8), threshold="£5", title="t")
    assert labels(painting) == ["surely above £5", "cannot tell", "surely at most £5"]
    assert [entry.role for entry in painting.entries] == ["above", "unsure", "below"]


def test_the_difference_has_four_cases() -> None:
    painting = paint_difference(MASK, OTHER, title="t")
    assert [entry.role for entry in (painting.entries[k] for k in painting.classes)] == [
        "agree_in",
        "falsely_out",
        "falsely_in",
        "agree_out",
    ]
    assert all(note.startswith("Curator only:") for note in painting.notes)


def test_cells_without_records_are_not_compared() -> None:
    claimed, private = np.array([True, False, False]), np.array([True, False, False])
    painting = paint_difference(claimed, private, title="t", empty=np.array([False, False, True]))
    cells = {entry.label: entry.cells for entry in legend(painting)}
    assert (cells["in both"], cells["in neither"], cells["few or no records"]) == (1, 1, 1)


def test_a_set_beside_a_map_of_classes_has_its_colours() -> None:
    painting = paint_set(MASK, inside="above", outside="not above", title="t", other_side="below")
    ways = paint_three_way(np.where(MASK, 1, -1), threshold="5", title="t")
    for theme in THEMES:
        colours, others = ([legend(p, theme)[k].colour for k in p.classes] for p in (painting, ways))
        assert colours == others


def test_a_field_is_classed_by_its_breaks() -> None:
    painting = paint_field([1.0, 2.0, 2.5, 9.0], "mg/kg", title="t", breaks=[2.0, 3.0])
    assert labels(painting) == [
        "below 2 mg/kg",
        "2 mg/kg to 3 mg/kg",
        "2 mg/kg to 3 mg/kg",
        "3 mg/kg and more",
    ]
    assert painting.notes[2] == "Released: 2.50 mg/kg"


def test_a_constant_field_is_one_class() -> None:
    painting = paint_field([4.0, 4.0], "m", title="t")
    assert len(painting.entries) == 1
    assert labels(painting) == ["all cells"] * 2


def test_the_threshold_is_a_limit() -> None:
    field = np.linspace(200_000, 900_000, 500)
    assert 442_413 in field_breaks(field, 442_413)
    painting = paint_field(field, "pounds", title="t", threshold=442_413)
    above = [entry.label for entry in painting.entries].index(
        next(entry.label for entry in painting.entries if entry.label.startswith("£442,413"))
    )
    np.testing.assert_array_equal(painting.classes >= above, field >= 442_413)


def test_release_and_baseline_share_a_legend() -> None:
    released, private = np.linspace(0, 10, 50), np.linspace(-3, 17, 50)
    breaks = field_breaks(released)
    left = paint_field(released, "m", title="t", breaks=breaks)
    right = as_baseline(paint_field(private, "m", title="t", breaks=breaks))
    assert left.entries == right.entries
    assert all(note.startswith("Private baseline:") for note in right.notes)
    assert not any("Released" in note for note in right.notes)


def test_a_class_without_cells_keeps_its_line() -> None:
    painting = paint_three_way([1, 1], threshold="5", title="t")
    assert [entry.cells for entry in legend(painting, "dark")] == [2, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: paint_set([1, 0], inside="a", outside="b", title="t"),
        lambda: paint_set([[True]], inside="a", outside="b", title="t"),
        lambda: paint_votes([0.5, 1.5], 2, what="x", title="t"),
        lambda: paint_votes([float("nan")], 2, what="x", title="t"),
        lambda: paint_votes([0.5], 0, what="x", title="t"),
        lambda: paint_three_way([2], threshold="5", title="t"),
        lambda: paint_difference(MASK, MASK[:2], title="t"),
        lambda: paint_field([float("inf")], "m", title="t"),
        lambda: paint_field([1.0], "m", title="t", breaks=[2.0, 1.0]),
        lambda: paint_field([1.0], "m", title="t", breaks=range(CLASSES_OF_A_FIELD)),
        lambda: Painting(np.array([0, 3]), (Entry("a", "inside"),), ("", ""), "t"),
        lambda: Painting(np.array([0]), (Entry("a", "inside"),), (), "t"),
    ],
)
def test_wrong_arrays_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"\w+ .*\."):
        wrong()  # type: ignore[operator]


@given(
    arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6)),
    st.none() | st.floats(-1e6, 1e6),
)
def test_any_field_can_be_painted(values: np.ndarray, threshold: float | None) -> None:
    painting = paint_field(values, "m", title="t", threshold=threshold)
    assert 1 <= len(painting.entries) <= CLASSES_OF_A_FIELD
    order = np.argsort(values)
    assert (np.diff(painting.classes[order]) >= 0).all()
    if threshold is not None and threshold in field_breaks(values, threshold):
        assert set(painting.classes[values >= threshold]).isdisjoint(painting.classes[values < threshold])

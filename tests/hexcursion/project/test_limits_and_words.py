"""Limits of likeness on both sides, units and sentences, and scales between a value and its response."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely

from data_loaders import Observations
from dpgp_core.errors import InvalidValue
from geo import domain_from_bbox
from geo.context.own_layers import Feature, OwnLayer
from hexcursion.errors import WorkflowError
from hexcursion.project.area import layer_name, refuse_private_layers
from hexcursion.project.baseline import compare
from hexcursion.project.example import (
    changed_settings,
    county_settings,
    example_folder,
    example_settings,
    is_example,
)
from hexcursion.project.public_numbers import BaselineField, Covariates, Exposure, even_exposure
from hexcursion.project.records import (
    PlacedObservations,
    bin_records,
    cell_medians,
    cell_shares,
    public_n,
)
from hexcursion.project.response import ResponseScale, tidy
from hexcursion.project.simulated import world_model
from hexcursion.settings.data_settings import SourceSettings

LOG = ResponseScale("log", 2.0, 0.5, "")
PLAIN = ResponseScale("identity", 10.0, 4.0, "")
SHARE = ResponseScale("probit", 0.0, 1.0, "")


def placed(index: list[int], value: list[float]) -> PlacedObservations:
    return PlacedObservations(np.array(index), np.array(value, dtype=float), len(index), 0)


@pytest.mark.parametrize(
    ("number", "tidied"),
    [
        (1.23456, 1.2346),
        (0.0012345, 0.0012),
        (0.001, 0.001),
        (0.00099876, 0.0009988),
        (-0.00012344, -0.0001234),
    ],
)
def test_a_tidy_number_has_four_decimals_or_four_digits(number: float, tidied: float) -> None:
    assert tidy(number) == tidied


def test_scales_lead_to_responses_and_back() -> None:
    assert PLAIN.forward(12.0) == 0.5
    assert PLAIN.response(np.array([2.0, 5.0, 14.0, 30.0])).tolist() == [-1.0, -1.0, 1.0, 1.0]
    assert PLAIN.value(-0.5) == 8.0
    assert LOG.value(1.0) == pytest.approx(np.exp(2.5))
    assert LOG.forward(np.exp(2.25)) == pytest.approx(0.5)
    assert SHARE.value(0.0) == 50.0
    assert SHARE.forward(np.array([0.0, 50.0, 100.0])).tolist() == [-3.0, 0.0, 3.0]
    assert PLAIN.cut(np.array([1.0, 6.0, 9.0, 15.0])).tolist() == [6.0, 6.0, 9.0, 14.0]
    assert SHARE.cut(np.array([0.0, 100.0])).tolist() == [0.0, 100.0]
    for scale in (LOG, PLAIN):
        assert scale.seen(0.25) == 0.25
        assert scale.field_of(np.array([2.0])).tolist() == [2.0]
    assert SHARE.seen(0.0) == 0.0
    assert SHARE.seen(1.0) == pytest.approx(0.682689, abs=1e-6)
    assert SHARE.field_of(np.array([0.682689, -5.0])).tolist() == pytest.approx([1.0, -3.0], abs=1e-5)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_values_without_a_logarithm_are_refused(bad: float) -> None:
    for use in (LOG.forward, LOG.cut, LOG.response)[: 1 if bad == 0.0 else 3]:
        with pytest.raises(InvalidValue, match="logarithms need values above 0"):
            use(np.array([1.0, bad]))


def test_a_record_of_zero_is_lower_than_all_others() -> None:
    lowest = float(LOG.value(-1.0))
    assert LOG.of_records(np.array([0.0, np.exp(2.25)])).tolist() == pytest.approx([-np.inf, 0.5])
    assert LOG.response(np.array([0.0, 1e9])).tolist() == [-1.0, 1.0]
    assert LOG.cut(np.array([0.0, 1e-9])).tolist() == [lowest, lowest]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"transform": "square"}, "transform must be 'log', 'identity' or 'probit', got 'square'"),
        ({"centre": np.inf}, "the public centre must be a finite number"),
        ({"clip": 0.0}, "clip bound must be a positive finite number"),
        ({"clip": np.inf}, "clip bound must be a positive finite number"),
    ],
)
def test_an_impossible_scale_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        replace(PLAIN, **changes)  # type: ignore[arg-type]


def test_records_are_cut_counted_and_of_one_unit() -> None:
    given = placed([3, 0, 3, 3], [14.0, 10.0, 20.0, 8.0])
    point, cell = (bin_records(given, PLAIN, unit) for unit in ("point", "cell"))
    assert (point.n, public_n(given, "point")) == (4, 4)
    assert point.mean.tolist() == [0.0, 0.5], "1, 2.5 cut to 1, and -0.5"
    assert (cell.n, public_n(given, "cell"), cell.mean.tolist()) == (2, 2, [0.0, 1.0])
    assert [part.tolist() for part in cell_medians(given)] == [[0, 3], [10.0, 14.0]]
    mean = np.array([0.5, 0.0, 0.0, 0.5])
    less = bin_records(given, PLAIN, "point", mean)
    assert less.mean.tolist() == pytest.approx([-0.5, 0.5 / 3.0]), (
        "2.5 less 0.5 is beyond 1, and 1 less 0.5 is not"
    )
    own = ResponseScale("identity", 10.0, 2.0, "")
    cut = bin_records(given, PLAIN, "point", public_scale=own)
    assert cut.mean.tolist() == pytest.approx([0.0, 0.5 / 3.0]), "14 and 20 count as 12"
    exact = bin_records(placed([0, 1], [14.0, 6.0]), PLAIN, "point")
    assert exact.mean.tolist() == [1.0, -1.0], "at the bound nothing is cut"


def test_shares_of_yes_are_per_cent_of_a_cells_answers() -> None:
    cells, share = cell_shares(placed([2, 2, 2, 5], [100.0, 0.0, 0.0, 100.0]))
    assert cells.tolist() == [2, 5]
    assert share.tolist() == pytest.approx([100.0 / 3.0, 100.0])


def test_what_a_question_is_relative_to_is_said_with_its_unit() -> None:
    ratio = BaselineField(np.array([2.0, 4.0]), True, "limits", "limits given by the curator as public")
    less = replace(ratio, ratio=False, kind="public map")
    assert ratio.of(placed([0, 1], [3.0, 2.0])).value.tolist() == [1.5, 0.5]
    assert less.of(placed([0, 1], [3.0, 2.0])).value.tolist() == [1.0, -2.0]
    assert (ratio.unit("ppb"), less.unit("ppb")) == ("times the limit there", "ppb more than the public map")
    assert less.unit("") == "more than the public map"
    assert ratio.sentence.startswith(
        "Every value is taken divided by a public field, which the bundle holds: "
    )
    assert less.sentence.startswith("Every value is taken less a public field")
    with pytest.raises(WorkflowError, match="needs a finite value for every hexagon"):
        replace(less, field=np.array([1.0, np.nan]))
    with pytest.raises(WorkflowError, match="On the log scale every public value must be positive"):
        replace(ratio, field=np.array([1.0, 0.0]))
    assert replace(less, field=np.array([1.0, 0.0])).ratio is False


def test_rates_have_their_unit_scale_and_sentence() -> None:
    domain = domain_from_bbox(-0.06, 51.49, -0.04, 51.505, 8)
    even = even_exposure(domain, 30)
    assert even.values.sum() == pytest.approx(30.0)
    np.testing.assert_allclose(even.values / domain.areas, even.average)
    assert even.average == pytest.approx(30.0 / domain.areas.sum())
    assert (even.law, even.unit, even.scale.origin) == ("density", "per km²", "public records per area")
    assert even.scale.centre == pytest.approx(np.log(even.average))
    assert even.block() == {"per": "area", "origin": "the area of each hexagon"}
    people = Exposure("population", "n, a column of t.csv", np.array([5.0, 1.0]))
    assert (people.law, people.unit, people.average) == ("rate", "times the average", 1.0)
    assert people.scale.origin == "the average over n, a column of t.csv"
    assert people.ones(placed([0, 1], [7.0, 8.0])).value.tolist() == pytest.approx([np.e, np.e])


OCCUPIED = np.arange(8)


def covariates(column: np.ndarray) -> Covariates:
    return Covariates(("c",), ("c, a column of t.csv",), column[:, None])


def refused(column: np.ndarray, records: PlacedObservations, public: bool = False) -> str:
    try:
        covariates(column).refuse_private(records, places_public=public)
    except WorkflowError as error:
        return str(error)
    return ""


def test_a_column_that_is_large_where_records_are_shows_their_places() -> None:
    records = placed(list(OCCUPIED), [3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5])
    rng = np.random.default_rng(1)
    near = np.concatenate([10.0 + rng.uniform(size=8), rng.uniform(size=32)])
    assert "shows where the private records lie" in refused(near, records)
    assert "shows where the private records lie" in refused(-near, records)
    assert refused(near, records, public=True) == ""
    assert refused(rng.uniform(size=40), records) == ""
    few = placed(list(OCCUPIED[:7]), [1.0] * 7)
    assert refused(near, few) == "", "seven hexagons are alike by chance"


def test_a_column_that_repeats_the_values_is_a_copy_in_any_order_preserving_form() -> None:
    value = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5])
    records, rng = placed(list(OCCUPIED), value.tolist()), np.random.default_rng(2)
    for copy in (value, np.log(value), 7.0 - 2.0 * value):
        column = np.concatenate([copy, rng.permutation(copy), rng.permutation(copy), rng.permutation(copy)])
        assert "repeats the private values" in refused(column, records, public=True)
    mixed = np.concatenate([rng.permutation(value), rng.permutation(value)])
    assert refused(mixed, records, public=True) == ""


def layer_of(places: np.ndarray) -> OwnLayer:
    return OwnLayer("stations", tuple(Feature("", shapely.Point(*each)) for each in places))


@pytest.mark.parametrize(
    ("shared", "others", "stopped"), [(3, 11, True), (3, 12, False), (2, 0, False), (3, 0, True)]
)
def test_three_points_and_a_fifth_of_a_layer_are_too_many_places(
    shared: int, others: int, stopped: bool
) -> None:
    own = np.column_stack([np.linspace(0.0, 0.09, 10), np.full(10, 51.5)])
    private = Observations(own[:, 0], own[:, 1], "EPSG:4326", np.ones(10), "ppb", "reading", "made")
    away = np.column_stack([np.linspace(1.0, 2.0, others), np.full(others, 51.5)])
    layer = layer_of(np.concatenate([own[:shared] + 4e-6, away]))
    refuse_private_layers((layer,), private, places_public=True)
    refuse_private_layers((layer_of(own + 2e-5),), private, places_public=False)
    if stopped:
        with pytest.raises(WorkflowError, match="The layer 'stations' marks the places of private records"):
            refuse_private_layers((layer,), private, places_public=False)
    else:
        refuse_private_layers((layer,), private, places_public=False)


def test_a_layer_is_called_as_its_file() -> None:
    assert layer_name("/maps/air_quality sites.geojson") == "air quality sites"
    assert layer_name("___.json") == "layer"


def test_two_sets_are_compared_cell_by_cell() -> None:
    released, baseline = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 0, 1, 0], bool)
    found = compare(released, baseline)
    assert (found.iou, found.agree_in, found.falsely_in, found.falsely_out) == (0.25, 1, 2, 1)


def test_simulated_worlds_have_all_ranges_and_shares_in_turn() -> None:
    """Ranges in spacings, and shares of the field in the variance of a value, of nine worlds."""
    made = [world_model(100.0, number) for number in range(9)]
    assert [one.lengthscale for one in made] == [400.0, 800.0, 1600.0] * 3
    shares = [one.spread**2 / (one.spread**2 + one.scatter**2) for one in made]
    assert shares == pytest.approx([0.5] * 3 + [0.25] * 3 + [0.8] * 3)
    totals = [np.hypot(one.spread, one.scatter) for one in made]
    assert totals == pytest.approx([0.4, 0.65] * 4 + [0.4])


def test_the_real_example_takes_one_year_as_private_and_an_earlier_one_as_public() -> None:
    made = county_settings()
    assert made.reference is not None
    assert made.data.where == (("year", "1998"),)
    assert made.reference.where == (("year", "1993"),)
    assert county_settings(1996).reference.where == (("year", "1996"),)  # type: ignore[union-attr]
    assert (made.threshold, made.transform, made.resolution, made.period) == (80_000.0, "log", 8, "1998")
    assert (made.value_name, made.value_unit, made.unit_word) == ("price", "dollars", "sale")
    assert made.reference_public is True
    assert is_example(made.data)
    assert not is_example(SourceSettings("/elsewhere/sales.csv", value="v", x="x", y="y", crs="EPSG:4326"))


def test_the_generated_examples_have_folders_of_their_own(tmp_path: Path) -> None:
    assert example_folder(tmp_path) == tmp_path / "generated-example"
    assert example_folder(tmp_path, changed=True) == tmp_path / "generated-change"
    example_folder(tmp_path).mkdir()
    example_folder(tmp_path, changed=True).mkdir()
    plain, changed = example_settings(tmp_path), changed_settings(tmp_path)
    assert (plain.threshold, plain.value_unit, plain.resolution, plain.period) == (
        450_000.0,
        "GBP",
        8,
        "2024",
    )
    assert plain.title == "Generated example: flats above 450,000 pounds"
    assert changed.title == "Generated example of a change: flats above 450,000 pounds"
    assert Path(plain.data.path).name == "generated-demo-pp-2024.csv.gz"
    assert Path(plain.reference.path).name == "generated-demo-pp-2023.csv.gz"  # type: ignore[union-attr]
    assert changed.layers == (str(tmp_path / "generated-change" / "generated-demo-districts.geojson"),)
    assert plain.prior_mean is True

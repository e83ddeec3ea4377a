"""Probabilities, joint sets and the excursion function of a single released path, from its bundle alone."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import SUMS, sums_text
from hexcursion.bundle.products import MapValues, certainty, products_at, supports
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.record import Release
from tests.hexcursion.bundle.bundle_samples import make_release

# Four cells, ten draws: the third cell lies inside in nine of them, the fourth in five of these.
MEAN, SD = np.array([2.0, 3.0, 1.0, 0.0]), np.full(4, 0.5)
DRAWS = np.ones((10, 4))
DRAWS[9, 2] = DRAWS[4:9, 3] = -1.0


def test_the_excursion_function_counts_draws_that_hold_all_surer_cells() -> None:
    assert certainty(DRAWS, 0.0, "above", (MEAN, SD)).tolist() == [1.0, 1.0, 0.9, 0.4]
    assert certainty(-DRAWS, 0.0, "below", (-MEAN, SD)).tolist() == [1.0, 1.0, 0.9, 0.4]


def test_a_level_for_each_cell_moves_cells_alone() -> None:
    level = np.array([0.0, 2.0, 0.0, 0.0])
    assert certainty(DRAWS, level, "above", (MEAN, SD)).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_equal_probabilities_are_ordered_by_the_mean() -> None:
    draws = np.array([[1.0, -1.0], [1.0, 1.0]])
    both = certainty(draws, 0.0, "above", (np.array([2.0, 1.0]), np.array([0.2, 0.1])))
    assert both.tolist() == [1.0, 0.5]


def test_what_is_surely_above_is_above_whichever_side_was_asked() -> None:
    above = products_at(MapValues(DRAWS, (MEAN, SD)), 0.0, "above", cutoff=0.5, confidence=0.9)
    below = products_at(MapValues(-DRAWS, (-MEAN, SD)), 0.0, "below", cutoff=0.5, confidence=0.9)
    assert above.three_way is not None
    assert below.three_way is not None
    assert above.three_way.tolist() == [1, 1, 1, 0]
    assert below.three_way.tolist() == [-1, -1, -1, 0]


def test_ten_draws_can_leave_one_out() -> None:
    """10 * (1 - 0.9) is a little below 1 in floats."""
    assert [supports(count, 0.9) for count in (9, 10)] == [False, True]


def single(domain: Domain) -> Release:
    """One path, and twenty draws of the field behind it."""
    release = make_release(domain, paths=1)
    east = domain.centres[:, 0] / np.abs(domain.centres[:, 0]).max()
    noise = np.random.default_rng(3).normal(size=(20, domain.size)) * 0.2
    return replace(release, mean=east, sd=np.full(domain.size, 0.3), draws=east + noise)


@pytest.fixture(scope="module")
def contents_of_one(domain: Domain) -> dict[str, bytes]:
    return bundle_contents(single(domain))


def test_one_path_has_probabilities_and_joint_sets(contents_of_one: dict[str, bytes]) -> None:
    bundle = bundle_from_contents(contents_of_one)
    products, statement = bundle.published, bundle.statement
    assert statement["paths"]["draws"]["count"] == 20
    assert statement["products"]["confidence"] == 0.9
    assert statement["products"]["left_out"] == []
    assert "20 draws of the field" in statement["products"]["meanings"]["inner"]
    assert products.inner is not None
    assert products.outer is not None
    assert products.surely is not None
    assert np.array_equal(products.inner, products.surely >= 0.9 - 1e-9)
    assert 0 < products.inner.sum() < products.outer.sum() < bundle.domain.size
    assert np.array_equal(products.vote_set, products.paths[0])  # the published set is the path's
    first = json.loads(contents_of_one["cells.geojson"])["features"][0]["properties"]
    assert set(first) == {"h3", "class", "in_set", "probability", "vote_fraction", "excursion_function"}


def test_a_reader_of_one_path_is_told_how_sure_it_is(contents_of_one: dict[str, bytes]) -> None:
    viewer = Viewer(bundle_from_contents(contents_of_one))
    said = viewer.sentences(viewer.at())
    assert said[1].endswith("on the released path.")
    assert "with a probability of at least 50 %" in said[2]
    assert said[3].startswith("At 90 %: ")
    assert viewer.confidences == (0.5, 0.7, 0.8, 0.9, 0.95)


def test_draws_must_be_there_as_stated(contents_of_one: dict[str, bytes]) -> None:
    gone = {name: content for name, content in contents_of_one.items() if name != "draws.parquet"}
    gone[SUMS] = sums_text({name: content for name, content in gone.items() if name != SUMS}).encode()
    with pytest.raises(BundleError, match=r"disagree about draws\.parquet"):
        bundle_from_contents(gone)


def test_the_excursion_function_must_follow_from_the_draws(contents_of_one: dict[str, bytes]) -> None:
    cells = json.loads(contents_of_one["cells.geojson"])
    cells["features"][0]["properties"]["excursion_function"] = 0.123
    forged = {**contents_of_one, "cells.geojson": json.dumps(cells).encode()}
    forged[SUMS] = sums_text({name: content for name, content in forged.items() if name != SUMS}).encode()
    with pytest.raises(BundleError, match="excursion_function differs"):
        bundle_from_contents(forged)

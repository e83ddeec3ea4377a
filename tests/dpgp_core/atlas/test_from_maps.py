"""An atlas whose columns start from published maps: price, reading, readers, and refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpgp_core.atlas.design import AtlasDesign, atlas_design
from dpgp_core.atlas.release import Atlas, atlas_guarantee, calibrated, prepare_atlas, read_atlas_again
from dpgp_core.errors import HexcursionError
from dpgp_core.features.nodes import Nodes
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.spectral_release import read_again
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral.public_field import MapModel, PublicField
from tests.dpgp_core.hexmap import disk

LATTICE = disk(5, 2)
EAST = (LATTICE.domain_centres[:, 0] - LATTICE.domain_centres[:, 0].mean()) / 1_500.0
NORTH = (LATTICE.domain_centres[:, 1] - LATTICE.domain_centres[:, 1].mean()) / 1_500.0
TRUTH = np.array([EAST, NORTH, -EAST, NORTH - EAST])
SHIFTS = np.array([0.5, -0.5, 0.0, 0.3])  # of all records of a column since the published ones
SCATTER, N = 0.5, 3_000
RADIUS = 0.5  # most vectors are longer: four columns, each of .4 deviations
FACTS = PublicFacts(LATTICE, n=N)
HIDDEN = PublicFacts(LATTICE, n=N, relation="add-or-remove")


@cache
def fields() -> tuple[PublicField, ...]:
    """The published maps of four columns, in units of their bounds."""
    generator, made = np.random.default_rng(1), []
    cells = generator.integers(0, LATTICE.size, 2_000)
    for truth in TRUTH:
        values = truth[cells] + SCATTER * generator.normal(size=cells.size)
        field = PublicField.of(Nodes.of(LATTICE), cells, values)
        shown = MapModel("exponential", 4_000.0, 1.28, 0.0, 8.0 / field.bound)
        made.append(field.rescaled(0.0, field.bound, shown))
    return tuple(made)


@cache
def bounds() -> np.ndarray:
    """(4,) the bound of each column in the unit of its values: .5 is the deviation of a record."""
    return np.array([SCATTER / field.scatter for field in fields()])


def records(seed: int = 0, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Cells, and responses less the published maps."""
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, LATTICE.size, N)
    values = (TRUTH.T + SHIFTS)[cells] + SCATTER * generator.normal(size=(N, 4))
    values[generator.random(values.shape) < missing] = np.nan
    maps = np.array([field.at_cells(LATTICE.domain_centres) for field in fields()])
    return cells, values / bounds() - maps[:, cells].T


def made(epsilon: float, facts: PublicFacts = FACTS, presence: bool = False) -> AtlasDesign:
    design = atlas_design(LATTICE.spacing, 4, N, presence, drift=True)
    design = replace(design, radius=RADIUS, paths=20)
    return calibrated(design, facts, Budget(epsilon, 1e-5))


def drawn(design: AtlasDesign, facts: PublicFacts = FACTS, missing: float = 0.0) -> Atlas:
    ready = prepare_atlas(design, facts, *records(missing=missing), fields())
    return draw_release(ready, SimulationEntropy(5), simulation=True)


@pytest.mark.parametrize("presence", [False, True])
def test_each_column_shows_what_changed_since_its_own_map(presence: bool) -> None:
    """The cut to the ball shortens shifts to less than two thirds, which the reading undoes."""
    atlas = drawn(made(6.0, presence=presence), missing=0.3 if presence else 0.0)
    for layer, shift, bound in zip(atlas.layers, SHIFTS, bounds(), strict=True):
        assert layer.mean is not None
        assert bound * layer.mean.mean() == pytest.approx(shift, abs=0.07)
        assert layer.map_mean is not None
        assert bound * layer.map_mean.mean() == pytest.approx(shift, abs=0.09)
        check = layer.model_check
        assert check is not None
        assert check.change is not None
        assert bound * check.change.level == pytest.approx(shift, abs=0.07)
        assert 0.01 < bound * check.change.level_sd < 0.15
        assert (check.change.chance < 0.01) == (shift != 0.0)


@pytest.mark.parametrize("facts", [FACTS, HIDDEN], ids=["exchange", "hidden"])
@pytest.mark.parametrize("presence", [False, True])
def test_a_reader_computes_each_layer_again(presence: bool, facts: PublicFacts) -> None:
    design = made(3.0, facts, presence)
    atlas = drawn(design, facts, 0.3 if presence else 0.0)
    kept = [layer.sums for layer in atlas.layers]
    for layer, again in zip(atlas.layers, read_atlas_again(design, facts, kept), strict=True):  # type: ignore[arg-type]
        rounded = again.on_grid()
        assert np.array_equal(rounded.mean, layer.mean)  # type: ignore[arg-type]
        assert np.array_equal(rounded.sd, layer.sd)  # type: ignore[arg-type]
        assert np.array_equal(read_again(design, facts, layer.sums).on_grid().mean, layer.mean)  # type: ignore[arg-type]
    lost = [replace(each, field=None) for each in kept]  # type: ignore[type-var]
    with pytest.raises(HexcursionError, match="not kept with its sums"):
        read_atlas_again(design, facts, lost)  # type: ignore[arg-type]


def test_one_column_is_read_as_a_release_of_it_alone() -> None:
    cells, responses = records()
    one = fields()[0]
    design = calibrated(atlas_design(LATTICE.spacing, 1, N, drift=True), FACTS, Budget(1.0, 1e-5))
    ready = prepare_atlas(design, FACTS, cells, responses[:, :1], [one])
    (layer,) = draw_release(ready, SimulationEntropy(5), simulation=True).layers
    known = replace(FACTS, field=one)
    alone = SpectralStatistics().prepare(
        design, known, CollapsedRecords.from_records(cells, np.clip(responses[:, 0], -1.0, 1.0))
    )
    found = draw_release(alone, SimulationEntropy(5), simulation=True)
    assert np.array_equal(found.mean, layer.mean)  # type: ignore[arg-type]
    assert np.array_equal(found.paths, layer.paths)


def test_all_columns_cost_the_budget_and_the_ball_is_of_records_deviations() -> None:
    """The bound of a published map is 2.5 deviations of a record: .8 of them times the root of four."""
    design = atlas_design(1.0, 4, 1_999, drift=True)
    assert design.radius == pytest.approx(0.8 * 2.0 / 2.5)
    assert atlas_design(1.0, 4, 2_000, drift=True).radius == pytest.approx(1.2 * 2.0 / 2.5)
    assert (design.drift, design.common, design.reading) == (True, 0.0, "apart")
    assert 0.99 < atlas_guarantee(made(1.0), FACTS).epsilon(1e-5).epsilon <= 1.0


BAD: dict[str, tuple[dict[str, Any], int, str]] = {
    "a map is missing": ({}, 3, "of each of its columns, or from none"),
    "no drift": ({"drift": False}, 4, "of each of its columns, or from none"),
}


@pytest.mark.parametrize(("changes", "count", "said"), BAD.values(), ids=BAD)
def test_a_map_for_each_column_or_none(changes: dict[str, Any], count: int, said: str) -> None:
    with pytest.raises(HexcursionError, match=said):
        prepare_atlas(replace(made(1.0), **changes), FACTS, *records(), fields()[:count])


def test_columns_that_start_from_maps_are_read_apart() -> None:
    with pytest.raises(HexcursionError, match="read apart: set reading to apart"):
        replace(made(1.0), reading="likelier")

"""Layers of an atlas: each is read as a release of one column, and read again from its sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpgp_core
from dpgp_core.atlas.design import AtlasDesign, atlas_design
from dpgp_core.atlas.release import Atlas, atlas_guarantee, calibrated, prepare_atlas
from dpgp_core.errors import HexcursionError
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.spectral_release import read_again
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.releasing import PublicFacts, draw_release
from tests.dpgp_core.hexmap import disk

LATTICE = disk(5, 2)
EAST = (LATTICE.domain_centres[:, 0] - LATTICE.domain_centres[:, 0].mean()) / 1_500.0
NORTH = (LATTICE.domain_centres[:, 1] - LATTICE.domain_centres[:, 1].mean()) / 1_500.0
N = 3_000


def records(columns: int = 3, seed: int = 0, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Records whose columns follow east, north and west in turn, .4 deviations around them."""
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, LATTICE.size, N)
    fields = np.column_stack([EAST, NORTH, -EAST])[cells][:, np.arange(columns) % 3]
    values = 0.4 * fields + generator.normal(0.0, 0.25, fields.shape)
    values[generator.random(values.shape) < missing] = np.nan
    return cells, values


def drawn(epsilon: float, presence: bool = False, seed: int = 5, **facts: Any) -> tuple[Atlas, AtlasDesign]:
    cells, values = records(missing=0.4 if presence else 0.0)
    known = PublicFacts(LATTICE, n=N, **facts)
    design = calibrated(atlas_design(LATTICE.spacing, 3, N, presence), known, Budget(epsilon, 1e-5))
    ready = prepare_atlas(design, known, cells, values)
    return draw_release(ready, SimulationEntropy(seed), simulation=True), design


@pytest.mark.parametrize("presence", [False, True])
def test_every_layer_shows_its_own_column(presence: bool) -> None:
    atlas, _ = drawn(6.0, presence)
    assert len(atlas.layers) == 3
    for layer, field in zip(atlas.layers, (EAST, NORTH, -EAST), strict=True):
        assert layer.mean is not None
        assert np.corrcoef(layer.mean, field)[0, 1] > 0.95
        assert np.abs(layer.mean - 0.4 * field).mean() < 0.12
        chance = layer.probability(0.0)
        assert chance is not None
        assert ((chance > 0.5) == (field > 0.0)).mean() > 0.85


def test_layers_know_how_many_records_have_their_column() -> None:
    """Of 3,000 records 1,800 have each; the number itself is not public."""
    atlas, _ = drawn(6.0, presence=True)
    for layer in atlas.layers:
        assert layer.records is not None
        assert layer.records.sum() == pytest.approx(1_800.0, rel=0.06)
    whole, _ = drawn(6.0)
    for layer in whole.layers:
        assert layer.records is not None
        assert layer.records.sum() == pytest.approx(N, rel=1e-6)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
@pytest.mark.parametrize("presence", [False, True])
def test_a_reader_computes_each_layer_again_from_its_sums(presence: bool, relation: str) -> None:
    atlas, design = drawn(3.0, presence, relation=relation)
    facts = PublicFacts(LATTICE, n=N, relation=relation)  # type: ignore[arg-type]
    for layer in atlas.layers:
        assert layer.sums is not None
        again = read_again(design, facts, layer.sums).on_grid()
        assert np.array_equal(again.mean, layer.mean)  # type: ignore[arg-type]
        assert np.array_equal(again.sd, layer.sd)  # type: ignore[arg-type]
    quieter = replace(atlas.layers[0].sums, noise=replace(atlas.layers[0].sums.noise, sums=1.0))  # type: ignore[arg-type, union-attr]
    with pytest.raises(HexcursionError, match="noise"):
        read_again(design, facts, quieter)


def test_layers_share_their_counts() -> None:
    atlas, _ = drawn(3.0)
    kept = [layer.sums for layer in atlas.layers]
    assert all(np.array_equal(each.counts, kept[0].counts) for each in kept)  # type: ignore[union-attr, arg-type]
    assert not np.array_equal(kept[0].sums, kept[1].sums)  # type: ignore[union-attr]


def test_public_places_are_not_paid_for() -> None:
    atlas, design = drawn(3.0, places_public=True)
    cells, _ = records()
    for layer in atlas.layers:
        assert layer.sums is not None
        assert layer.sums.counts is None
        assert np.array_equal(layer.records, np.bincount(cells, minlength=LATTICE.size))  # type: ignore[arg-type]
    facts = PublicFacts(LATTICE, n=N, places_public=True)
    assert 2.99 < atlas_guarantee(design, facts).epsilon(1e-5).epsilon <= 3.0


@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize("presence", [False, True])
def test_all_layers_together_cost_the_budget(columns: int, presence: bool) -> None:
    for relation in ("replace-one", "add-or-remove"):
        facts = PublicFacts(LATTICE, n=N, relation=relation)  # type: ignore[arg-type]
        design = atlas_design(LATTICE.spacing, columns, N, presence)
        found = calibrated(design, facts, Budget(1.0, 1e-5))
        assert 0.99 < atlas_guarantee(found, facts).epsilon(1e-5).epsilon <= 1.0


def test_radius_and_spread_of_the_fixed_design() -> None:
    """.8 deviations of a record times the root of k, in clip bounds of 1.6; 1.2 from 2,000 records on."""
    assert atlas_design(1.0, 4, 1_999).radius == pytest.approx(1.0)
    assert atlas_design(1.0, 4, 2_000).radius == pytest.approx(1.5)
    assert atlas_design(1.0, 1, 2_000).radius == 1.0
    design = atlas_design(1.0, 4, 500)
    assert design.spread * np.hypot(1.0, design.ridge) == pytest.approx(1.0 / 1.6)


def test_one_call_draws_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(
        "dpgp_core.atlas.release.draw_release",
        lambda ready, entropy: seen.append((ready, entropy)) or Atlas(()),
    )
    cells, values = records(2)
    dpgp_core.release_atlas(values, cells, LATTICE, 1.0, 1e-5)
    ((ready, entropy),) = seen
    assert type(entropy) is SystemEntropy
    cost = atlas_guarantee(ready.design, PublicFacts(LATTICE, n=N)).epsilon(1e-5).epsilon
    assert 0.99 < cost <= 1.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"values": [0.1, 0.2]}, "a table of numbers"),
        ({"values": [["secret", 0.2], [0.1, 0.2]]}, r"^values must be a table of numbers, one row for each"),
        ({"values": [[0.1, np.inf], [0.1, 0.2]]}, "finite, or NaN"),
        ({"values": [[0.1, np.nan], [0.1, 0.2]]}, "count the records that have each column"),
        ({"values": [[0.1, np.nan], [0.1, np.nan]], "presence": True}, "no value at all: leave it out"),
        ({"values": np.zeros((2, 21))}, "at most 20 columns: leave some out"),
        ({"values": np.zeros((2, 0))}, "a table of numbers"),
        ({"cells": [0.5, 1.0]}, "whole numbers"),
        ({"cells": [1]}, "one for each row"),
        ({"cells": [0, 91]}, "from 0 to 90"),
        ({"epsilon": 0.0}, "epsilon must be a finite number above 0"),
        ({"delta": 1.5}, "delta must lie strictly between 0 and 1"),
        ({"values": np.zeros((0, 2)), "cells": np.zeros(0, dtype=int)}, "there are no records"),
    ],
)
def test_what_cannot_be_released_is_refused_before_anything_is_drawn(
    changes: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgp_core.atlas.release.draw_release", lambda *_: pytest.fail("drawn"))
    asked = {
        "values": [[0.1, 0.2], [0.1, 0.2]],
        "cells": [0, 1],
        "lattice": LATTICE,
        "epsilon": 1.0,
        "delta": 1e-5,
    }
    with pytest.raises(HexcursionError, match=said):
        dpgp_core.release_atlas(**{**asked, **changes})  # type: ignore[arg-type]


def test_a_public_field_and_gaps_at_public_places_are_refused() -> None:
    cells, values = records()
    design = atlas_design(LATTICE.spacing, 3, N, presence=True)
    with pytest.raises(HexcursionError, match="make places private, or leave columns with gaps out"):
        prepare_atlas(design, PublicFacts(LATTICE, n=N, places_public=True), cells, values)
    with pytest.raises(HexcursionError, match="of each of its columns, or from none"):
        prepare_atlas(design, replace(PublicFacts(LATTICE, n=N), field=object()), cells, values)  # type: ignore[arg-type]

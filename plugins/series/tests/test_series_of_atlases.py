"""Atlases of several periods: one of their columns is read over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hexcursion
from dpgp_core.atlas.design import atlas_design
from dpgp_core.mechanisms.spectral_release import prepared_plan
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.model import PublicCounts
from dpgp_core.spectral.series import linearised
from dpgp_core.spectral.series_states import Period
from hexcursion.bundle import BundleError
from hexcursion_series.read import series
from hexcursion_series.together import open_bundles
from tests.hexcursion.atlas.village import PLAN, atlas_of, village

DRAWS = 400_000


def test_a_response_in_a_ball_is_linearised_as_draws_of_it_are() -> None:
    """Vectors of four columns in a ball of radius 1: 400,000 draws have errors below .003."""
    lattice = Lattice.grid(6, 6, 500.0)
    design = atlas_design(lattice.spacing, 4, 500)
    made = prepared_plan(design, PublicFacts(lattice, n=500))
    field, scatter = made.plan.field, 2.2
    assert made.plan.field.ball.radius == pytest.approx(1.0)
    period = Period(0.0, made, None, PublicCounts("unknown", 500.0), 10.0, 4.0)  # type: ignore[arg-type]
    at, variance = np.array([11.0, 7.0, 16.0]), np.array([1.5, 3.0, 0.7])
    line = linearised(at, variance, scatter, period)
    entropy = SimulationEntropy(5)
    for node in range(3):
        own = entropy.normal(DRAWS)
        truth = (at[node] + np.sqrt(variance[node]) * own - 10.0) / 4.0
        others = field.mean + np.hypot(field.deviation, scatter / 4.0) * entropy.normal((3, DRAWS))
        seen = np.clip(truth + scatter / 4.0 * entropy.normal(DRAWS), -1.0, 1.0)
        length = np.sqrt(np.square(seen) + np.square(np.clip(others, -1.0, 1.0)).sum(axis=0))
        seen *= np.minimum(1.0, 1.0 / length)
        assert line.first[node] == pytest.approx(seen.mean(), abs=0.004)
        slope = np.mean(own * seen) / np.sqrt(variance[node])
        assert line.slope[node] == pytest.approx(slope, abs=0.004)
        explained = np.square(line.slope[node]) * variance[node]
        whole = line.noise[node] + line.rest[node] + explained
        assert whole == pytest.approx(seen.var(), abs=0.004)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [atlas_of(tmp_path_factory, village(seed=year), **PLAN, budget=9.0) for year in (3, 4)]


def test_one_column_of_atlases_is_read_over_time(places: list[Path]) -> None:
    """Ozone is high in the east in both periods, and the map of both says so."""
    read = series(places, layer="o3", times=[2017.0, 2018.0]).read
    assert read.threshold == 60.0
    assert read.last.statement["subject"]["value"] == "o3"
    east = read.domain.centres[:, 0] > 0
    assert read.chance[1, east].mean() > read.chance[1, ~east].mean() + 0.3
    alone = hexcursion.open_atlas(places[1])["o3"].bundle.field
    assert alone is not None
    truth = 58.0 + 9.0 * (2.0 * (read.domain.centres_lonlat[:, 0] - 10.0) / 0.12 - 1.0)
    ours = np.abs(read.reading.mean[1] - truth).mean()
    # The noise is real: 41 runs left errors of 0.8 to 1.9, at most 1.1 above those of one period alone.
    assert ours < 3.0 < 4.0 < np.abs(58.0 - truth).mean(), "a map of one colour is off by 4.25"
    assert ours < np.abs(58.0 + 16.0 * alone[0] - truth).mean() + 2.0


def test_a_series_of_atlases_names_its_column(places: list[Path]) -> None:
    with pytest.raises(BundleError, match="name one of its columns with --layer, no2 or o3 or pm"):
        series(places, times=[2017.0, 2018.0])
    with pytest.raises(BundleError, match="no layer 'lead': name one of no2, o3, pm"):
        series(places, layer="lead", times=[2017.0, 2018.0])
    with pytest.raises(BundleError, match="atlas"):
        open_bundles(places)


def test_columns_beside_answers_are_not_read_over_time(tmp_path: Path) -> None:
    answers = {"values": {"o3": "yes-no"}, "yes_above": {"o3": 58.0}, "derived": []}
    plan = {**PLAN, **answers, "threshold": {**PLAN["threshold"], "o3": 40.0}, "budget": 9.0}
    plan |= {"centre": {"no2": 28.0, "pm": 2.5}, "clip": {"no2": 15.0, "pm": 0.6}}
    places = [tmp_path / f"atlas{year}" for year in (3, 4)]
    for year, place in zip((3, 4), places, strict=True):
        hexcursion.release(village(seed=year), **plan, period=f"20{year}0", out=place)
    for column, said in (("o3", "Answers of yes and no"), ("no2", "Atlases with answers or weights")):
        with pytest.raises(BundleError, match=said):
            series(places, layer=column)

"""The ball in whole numbers: nothing leaves it by rounding, and one column stays what it was."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from dpgp_core.atlas.design import AtlasDesign, atlas_design
from dpgp_core.atlas.release import atlas_guarantee, prepare_atlas
from dpgp_core.errors import CoreError, InvalidValue
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign, fixed_design
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.ball import ONE_COLUMN, Ball
from dpgp_core.spectral.prior import ClippedPrior, PublicPrior
from dpgp_core.spectral.sums import GridRecords
from tests.dpgp_core.features.worlds import FakeNoise
from tests.dpgp_core.hexmap import disk

LATTICE = disk(4, 2)
STATISTICS = MECHANISMS["spectral-statistics"]


def test_the_limit_is_the_squared_radius_in_whole_units_rounded_down() -> None:
    assert Ball(2, 1.0).limit == 1 << 20
    assert Ball(4, 0.7).limit == 513802  # .49 2^20 = 513802.24
    assert Ball(2, math.sqrt(2.0) * (1.0 - 1e-15)).limit == 2**21 - 1


def test_a_long_vector_is_scaled_towards_0() -> None:
    """(1, .5) has 1,310,720 units squared: its columns become the roots of 419,430 and 104,857, cut off."""
    found, there = Ball(2, math.sqrt(0.5)).cut(np.array([[1.0, -0.5], [0.25, 0.5], [3.0, np.nan]]))
    assert found.tolist() == [[647, -323], [256, 512], [724, 0]]
    assert there.tolist() == [[True, True], [True, True], [True, False]]


@pytest.mark.parametrize("columns", [2, 3, 7, 20])
@pytest.mark.parametrize("presence", [False, True])
def test_no_record_leaves_the_ball_by_rounding(columns: int, presence: bool) -> None:
    generator = np.random.default_rng(columns)
    ball = Ball(columns, 0.8 * math.sqrt(columns) / 1.6, presence)
    values = generator.normal(0.0, 0.8, (20_000, columns))
    values[generator.random(values.shape) < 0.3] = np.nan
    found, there = ball.cut(values)
    share = there.sum(axis=1) / columns if presence else np.ones(len(values))
    square = np.square(found.astype(object)).sum(axis=1)
    allowed = ball.radius**2 * 2**20 * share
    assert np.all(square <= allowed)
    assert np.max(square[allowed > 0] / allowed[allowed > 0]) > 0.998  # and they reach it
    assert np.all(found[~there] == 0)
    kept = np.clip(np.where(there, values, 0.0), -1.0, 1.0)
    assert np.all(np.abs(found) <= np.abs(kept) * 1024 + 0.5)
    assert np.all(found * kept >= 0)


def test_a_partial_record_has_its_share_of_the_radius() -> None:
    """Of four columns with radius 1, one column alone is held to 1/2 and three to the root of 3/4."""
    row = np.array([[1.0, np.nan, np.nan, np.nan], [1.0, 1.0, 1.0, np.nan]])
    assert Ball(4, 1.0, presence=True).cut(row)[0].tolist() == [[512, 0, 0, 0], [512, 512, 512, 0]]
    assert Ball(4, 1.0).cut(row)[0].tolist() == [[1024, 0, 0, 0], [591, 591, 591, 0]]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Ball(0), "columns"),
        (lambda: Ball(21), "at most 20 columns: leave some out"),
        (lambda: Ball(2, 0.0), "radius"),
        (lambda: Ball(2, 1.5), "no vector is longer"),
        (lambda: Ball(2).cut(np.zeros((3, 3))), "every record needs 2 responses"),
        (lambda: Ball(2).cut(np.array([[np.inf, 0.0]])), "finite, or NaN"),
        (lambda: replace(atlas_design(1.0, 2, 9), law="yes-no", spread=1.0, ridge=1.0), "by their numbers"),
        (lambda: replace(atlas_design(1.0, 2, 9), first=0.3), "one look"),
    ],
)
def test_what_is_no_atlas_is_refused(make: object, said: str) -> None:
    with pytest.raises(CoreError, match=said):
        make()  # type: ignore[operator]


def test_one_column_of_radius_1_is_today_s_release_to_the_byte() -> None:
    facts = PublicFacts(LATTICE, n=600)
    generator = np.random.default_rng(8)
    cells, values = generator.integers(0, LATTICE.size, 600), generator.normal(0.2, 0.7, 600)
    one = replace(fixed_design(LATTICE.spacing), mu=1.3)
    given = {each.name: getattr(one, each.name) for each in fields(SpectralStatisticsDesign)}
    many = AtlasDesign(**given, columns=1)
    assert many.ball == ONE_COLUMN
    records = CollapsedRecords.from_records(cells, np.clip(values, -1.0, 1.0))
    (alone,) = STATISTICS.prepare(one, facts, records).released(FakeNoise(4))  # type: ignore[attr-defined]
    atlas = prepare_atlas(many, facts, cells, values[:, None]).released(FakeNoise(4))
    assert alone.noise == atlas.noise
    assert alone.sums.tobytes() == atlas.sums.tobytes()
    assert alone.counts is not None
    assert atlas.counts is not None
    assert alone.counts.tobytes() == atlas.counts.tobytes()
    assert STATISTICS.guarantee(one, facts).epsilon(1e-5) == atlas_guarantee(many, facts).epsilon(1e-5)
    assert one.to_mapping().keys().isdisjoint({"columns", "radius", "presence"})


def test_columns_of_one_radius_cannot_pass_for_records_of_another() -> None:
    """A release adds only what was cut to the ball that its noise is priced for."""
    facts, design = PublicFacts(LATTICE, n=3), atlas_design(LATTICE.spacing, 2, 3)
    ready = prepare_atlas(design, facts, [0, 1, 2], np.ones((3, 2)))
    wide = GridRecords.of_vectors([0, 1, 2], np.ones((3, 2)), Ball(2, math.sqrt(2.0)))
    with pytest.raises(InvalidValue, match="cut to another ball"):
        replace(ready, records=wide).released(FakeNoise())
    with pytest.raises(InvalidValue, match="release_atlas"):
        STATISTICS.prepare(design, facts, CollapsedRecords.from_records([0], [1.0]))


def test_what_the_ball_leaves_of_a_response_is_what_its_law_says() -> None:
    """Half a million simulated records of four columns at two field values."""
    law = PublicPrior(0.0, 0.4, 1.25, ball=Ball(4, 1.0))
    generator = np.random.default_rng(12)
    size = 500_000
    others = generator.normal(0.0, math.hypot(0.4, 0.5), (size, 3))
    for field in (0.3, -0.9):
        own = field + generator.normal(0.0, 0.5, size)
        found = Ball(4, 1.0).cut(np.column_stack([own, others]))[0][:, 0] / 1024.0
        first, second = law.moments(np.array(field))
        assert float(first) == pytest.approx(found.mean(), abs=0.002)
        assert law.first_moment(np.array(field)) == first
        assert float(second) == pytest.approx(np.square(found).mean(), abs=0.002)
    levels = ClippedPrior.of(law).level(np.linspace(-2.0, 2.0, 41))
    assert np.all(np.diff(levels) > 0)

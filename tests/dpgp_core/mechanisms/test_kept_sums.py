"""Released sums kept in whole numbers: read again they state what the release stated, others are refused."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import read_again
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, Released, draw_release
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.prior import Law
from dpgp_core.spectral.public_answers import field_of_answers
from dpgp_core.spectral.public_field import MapModel, PublicField
from dpgp_core.spectral.sums import KeptField, KeptSums
from tests.dpgp_core.hexmap import disk

LATTICE = disk(3, padding=1)
DESIGN = SpectralStatisticsDesign("water-filled", "car", 900.0, 0.5, 0.1, 0.6, 1.0, 1.2, 2.0, paths=4)
NOTHING = {"counts": None, "field": None, "cache": None}


def records(n: int = 400) -> CollapsedRecords:
    generator = np.random.default_rng(5)
    cells = generator.integers(0, LATTICE.size, n)
    high = np.where(LATTICE.domain_centres[cells, 0] > LATTICE.domain_centres[:, 0].mean(), 0.8, -0.8)
    return CollapsedRecords.from_records(cells, np.clip(high + 0.2 * generator.normal(size=n), -1.0, 1.0))


def public_field(columns: Floats | None = None, law: Law = "amount") -> PublicField:
    generator = np.random.default_rng(6)
    cells = generator.integers(0, LATTICE.size, 90)
    response = LATTICE.domain_centres[cells, 0] / 3000.0 + 0.3 * generator.normal(size=90)
    if law == "yes-no":
        made = field_of_answers(Nodes.of(LATTICE), cells, np.sign(response), columns)
    else:
        made = PublicField.of(Nodes.of(LATTICE), cells, response, columns)
    return replace(made, map=MapModel("exponential", 2000.0, 1.0, 0.0, 1.0))


def released(design: SpectralStatisticsDesign, facts: PublicFacts) -> tuple[Released, KeptSums]:
    made = draw_release(
        SpectralStatistics().prepare(design, facts, records()), SimulationEntropy(3), simulation=True
    )
    assert made.sums is not None
    return made, made.sums


@pytest.mark.parametrize(
    ("changes", "drift"),
    [
        ({}, False),
        ({"relation": "add-or-remove"}, False),
        ({"places_public": True}, False),
        ({"counts": np.arange(37.0)}, False),
        ({"counts": np.arange(37.0)}, True),
        ({"places_public": True}, True),
        ({"covariates": LATTICE.domain_centres[:, :1]}, True),
        ({"covariates": LATTICE.domain_centres[:, :1]}, False),
        ({"law": "yes-no"}, False),
        ({"law": "yes-no", "counts": np.arange(37.0)}, True),
        ({"first": 0.3}, False),
        ({"first": 0.3, "relation": "add-or-remove"}, False),
        ({"first": 0.3, "places_public": True}, False),
        ({"first": 0.3, "covariates": LATTICE.domain_centres[:, :1]}, False),
    ],
)
def test_kept_sums_state_what_the_release_stated(changes: dict[str, Any], drift: bool) -> None:
    facts = PublicFacts(LATTICE, 400, **{name: each for name, each in changes.items() if name != "first"})
    design = replace(DESIGN, first=changes.get("first", 0.0))
    design = replace(design, drift=True, cutoff_from="release") if drift else design
    design = replace(design.for_law(facts.law), covariates=0.0 if facts.covariates is None else 0.25)
    given = replace(facts, field=public_field(facts.covariates, facts.law)) if drift else facts
    made, kept = released(design, given)
    read = read_again(design, replace(facts, **NOTHING), kept)
    mean, sd, check = read.mean, read.sd, read.model_check
    assert mean is not None
    assert sd is not None
    assert check is not None
    assert made.model_check is not None
    assert (check.chance, check.about) == (made.model_check.chance, made.model_check.about)
    assert (check.change is not None) == (made.model_check.change is not None) == drift
    if check.change is not None and made.model_check.change is not None:
        first, again = asdict(made.model_check.change), asdict(check.change)
        assert np.array_equal(first.pop("records"), again.pop("records"))
        assert first == again
    assert made.mean is not None
    assert made.sd is not None
    np.testing.assert_allclose(mean, made.mean, atol=1e-6)
    np.testing.assert_allclose(sd, made.sd, atol=2e-6)
    assert (read.map_draws is None) == (made.map_draws is None) == drift
    if made.map_draws is not None and read.map_draws is not None and read.map_sd is not None:
        np.testing.assert_allclose(read.map_draws, made.map_draws, atol=1e-6)  # by a public seed
        assert np.median(read.map_draws.std(axis=0) / read.map_sd) == pytest.approx(1.0, abs=0.2)
    step = 1 << 27  # an eighth of a response each
    if kept.second is not None:
        moved = replace(kept, second=replace(kept.second, sums=kept.second.sums + step))
    else:
        moved = replace(kept, sums=kept.sums + step)
    assert np.abs(np.asarray(read_again(design, replace(facts, **NOTHING), moved).mean) - mean).max() > 1e-4


def test_public_answers_that_scatter_otherwise_are_refused() -> None:
    facts = PublicFacts(LATTICE, 400, law="yes-no")
    design = replace(DESIGN, drift=True, cutoff_from="release").for_law("yes-no")
    _, kept = released(design, replace(facts, field=public_field(law="yes-no")))
    assert kept.field is not None
    assert kept.field.scatter == 1.0
    with pytest.raises(InvalidValue, match="answers scatter by 1"):
        read_again(design, facts, replace(kept, field=replace(kept.field, scatter=0.5)))


def test_columns_of_a_public_field_are_read_where_it_names_them() -> None:
    facts = PublicFacts(LATTICE, 400, covariates=LATTICE.domain_centres[:, :1])
    field = public_field(facts.covariates)
    assert field.covariates == 0.6
    design = replace(DESIGN, drift=True, cutoff_from="release", covariates=0.25)
    _, kept = released(design, replace(facts, field=field))
    assert kept.field is not None
    without = replace(kept, field=replace(kept.field, covariates=0.0))
    with pytest.raises(InvalidValue, match="public columns of the records kept with the sums"):
        read_again(design, facts, without)
    less = read_again(design, facts, replace(kept, field=replace(kept.field, covariates=0.3)))
    assert np.abs(np.asarray(less.mean) - read_again(design, facts, kept).mean).max() > 1e-3


def test_a_second_look_that_is_not_that_of_the_first_is_refused() -> None:
    facts, design = PublicFacts(LATTICE, 400), replace(DESIGN, first=0.3)
    _, kept = released(design, facts)
    assert kept.second is not None
    quieter = replace(kept.second, noise=SpectralNoise(1.0, 1.5))
    with pytest.raises(InvalidValue, match="the noise of the second look is not that of its design"):
        read_again(design, facts, replace(kept, second=quieter))
    with pytest.raises(InvalidValue, match="the features of these sums are not those"):
        read_again(design, facts, replace(kept, sums=kept.sums + (1 << 30)))
    with pytest.raises(InvalidValue, match="the design and its sums disagree about a second look"):
        read_again(design, facts, replace(kept, second=None))


def test_kept_sums_are_the_released_numbers_in_whole_units() -> None:
    made, kept = released(DESIGN, PublicFacts(LATTICE, 400))
    assert kept.counts is not None
    assert (kept.sums.dtype, kept.counts.dtype) == (np.int64, np.int64)
    np.testing.assert_array_equal(kept.sums / 2.0**30, made.raw[0])
    np.testing.assert_array_equal(kept.counts / 2.0**20, made.raw[1])


def test_sums_of_other_features_or_noise_are_refused() -> None:
    facts = PublicFacts(LATTICE, 400)
    _, kept = released(DESIGN, facts)
    other = replace(kept, features="0" * 64)
    with pytest.raises(InvalidValue, match="features of these sums"):
        read_again(DESIGN, facts, other)
    with pytest.raises(InvalidValue, match="features of these sums"):
        read_again(replace(DESIGN, lengthscale=500.0), facts, kept)
    noise = SpectralNoise(kept.noise.sums, 2.0 * (kept.noise.counts or 0.0))
    with pytest.raises(InvalidValue, match="the noise of these sums"):
        read_again(DESIGN, facts, replace(kept, noise=noise))
    with pytest.raises(InvalidValue, match="public records that this release starts from"):
        read_again(replace(DESIGN, drift=True), facts, kept)


def test_a_kept_field_is_the_field_and_needs_a_positive_scatter() -> None:
    field, nodes = public_field(), Nodes.of(LATTICE)
    kept = KeptField.of(field)
    again = kept.at(nodes)
    assert np.ptp(field.scatters) > 0.0
    assert np.array_equal(again.scatters, field.scatters)
    assert np.array_equal(again.covariance, field.covariance)
    for local in (np.zeros(nodes.size), np.ones(3)):
        with pytest.raises(InvalidValue, match="not those of this domain"):
            replace(kept, local=local).at(nodes)


@pytest.mark.parametrize("changes", [{}, {"drift": True, "cutoff_from": "release"}, {"first": 0.3}])
def test_a_release_of_which_less_is_read_is_the_same_release(changes: dict[str, Any]) -> None:
    """The check and the map draw from public seeds of their own: leaving them out moves no number."""
    facts, design = PublicFacts(LATTICE, 400), replace(DESIGN, **changes)
    given = replace(facts, field=public_field(None, facts.law)) if design.drift else facts
    whole, kept = released(design, given)
    of_field, of_map = ("mean", "sd", "records"), ("paths", "map_sd", "map_mean", "map_draws")
    for reads, same, gone in (("map", of_field + of_map, ()), ("field", of_field, of_map[1:])):
        less, less_kept = released(design, replace(given, reads=reads))
        assert whole.model_check is not None
        assert less.model_check is None
        assert np.array_equal(kept.sums, less_kept.sums)
        for name in same:
            one, other = getattr(whole, name), getattr(less, name)
            assert (one is None) == (other is None), name
            assert one is None or np.array_equal(one, other), name
        assert all(getattr(less, name) is None for name in gone)
    assert len(less.paths) == 0

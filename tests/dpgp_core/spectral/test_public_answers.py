"""Published answers of yes and no: their law, the field they tell, and the reading that starts from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from dpgp_core.errors import DesignError, InvalidValue
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, Ints
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.drift_reading import DriftReader
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_release import prepared_plan
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.public_answers import covariance_of_answers, field_of_answers
from dpgp_core.spectral.public_field import MapModel, PublicField
from tests.dpgp_core.features.test_attack import largest_of_all_pairs
from tests.dpgp_core.hexmap import disk

LATTICE = disk(5)
NODES = Nodes.of(LATTICE)
CENTRES = LATTICE.domain_centres
EAST = CENTRES[:, 0] / np.abs(CENTRES[:, 0]).max()
MECHANISM = mechanism_named("spectral-statistics")


def answers(field: Floats, each: int, seed: int) -> tuple[Ints, Floats]:
    """Cells and answers, -1 or 1, of so many records in each hexagon."""
    rng, cell = np.random.default_rng(seed), np.repeat(np.arange(LATTICE.size), each)
    return cell, np.where(field[cell] + rng.standard_normal(cell.size) > 0.0, 1.0, -1.0)


def published(field: Floats, seed: int = 1) -> PublicField:
    """A public field from 30 answers in each hexagon, with a model of the map without privacy."""
    made = field_of_answers(NODES, *answers(field, 30, seed))
    return replace(made, map=MapModel("exponential", 4.0 * LATTICE.spacing, 1.3, 0.0, 1.0))


def test_the_covariance_of_two_answers_is_that_of_two_orthants() -> None:
    """Of equal variances: (2/pi) arcsin of the correlation of field and scatter together."""
    correlation = np.array([0.0, 0.5, 1.0])
    assert covariance_of_answers(correlation, 0.0, 1.0) == pytest.approx([0.0, 0.160861, 0.333333], abs=1e-3)
    rng = np.random.default_rng(2)
    common, own = rng.standard_normal((2, 400_000))
    one, other = (2.0 * ndtr(-0.9 + 0.8 * (0.8 * common + 0.6 * sign * own)) - 1.0 for sign in (1.0, -1.0))
    found = covariance_of_answers(np.array([0.28]), -0.9, 0.8)
    assert found == pytest.approx(np.mean(one * other) - one.mean() * other.mean(), abs=2e-3)


@pytest.mark.parametrize("start", [-1.2, 0.5])
def test_the_evidence_finds_the_field_of_answers(start: float) -> None:
    prior = make_prior("exponential", LATTICE, 8.0 * LATTICE.spacing)
    drawn = start + 0.8 * prior.colour(np.random.default_rng(4).standard_normal((prior.white_size, 1)))[:, 0]
    found = published(drawn)
    assert 0.4 <= found.deviation <= 1.3
    assert found.scatter == 1.0
    apart = (drawn - found.at_cells(CENTRES)) / np.sqrt(found.covariance.diagonal())
    assert 0.8 < apart.std() < 1.25
    assert abs(apart.mean()) < 0.3


def test_two_crowds_of_yes_among_many_no_are_as_rare_in_the_public_map() -> None:
    """Where whole steps were taken the map swung about these answers, and stated 1.4 % in place of 11.6."""
    crowds = np.repeat([0, 45], 60)
    cell = np.concatenate([np.repeat(np.arange(LATTICE.size), 10), crowds])
    found = field_of_answers(NODES, cell, np.where(np.arange(cell.size) < 10 * LATTICE.size, -1.0, 1.0))
    stated = ndtr(found.at_nodes / np.sqrt(1.0 + found.covariance.diagonal()))
    assert float(stated[cell].mean()) == pytest.approx(120 / 1030, abs=0.005)


def test_where_nearly_all_say_the_same_the_field_is_extreme_and_finite() -> None:
    cell, answer = answers(np.where(EAST > 0.0, 5.0, -5.0), 20, 3)
    answer[:2] = 1.0  # two yes far in the west
    found = field_of_answers(NODES, cell, answer)
    share = ndtr(found.at_cells(CENTRES))
    assert share[EAST > 0.3].min() > 0.9
    assert share[EAST < -0.3].max() < 0.2
    with pytest.raises(InvalidValue, match="all alike"):
        field_of_answers(NODES, cell, np.ones(cell.size))


def test_a_column_that_explains_public_answers_is_found() -> None:
    cell, answer = answers(1.2 * EAST, 30, 5)
    assert field_of_answers(NODES, cell, answer, EAST[:, None]).covariates > 0.0
    other = np.random.default_rng(6).standard_normal((LATTICE.size, 1))
    assert field_of_answers(NODES, cell, answer, other).covariates == 0.0


def read(change: Floats, seed: int = 7) -> tuple[Floats, Floats]:
    """Released share of yes, and the true one, of many answers about a public map that has changed."""
    field = 0.8 * EAST - 0.8
    facts = PublicFacts(LATTICE, 200 * LATTICE.size, law="yes-no", field=published(field))
    (shape,) = MECHANISM.search.grid(facts, SearchSpec(("exponential",), 30))
    design = MECHANISM.calibrate(shape, facts, Budget(20.0, 1e-5))
    records = CollapsedRecords.from_records(*answers(field + change, 200, seed))
    drawn = draw_release(MECHANISM.prepare(design, facts, records), SimulationEntropy(8), simulation=True)
    assert facts.field is not None
    made = drawn.shifted(facts.field.at_cells(CENTRES))
    assert made.mean is not None
    return ndtr(made.mean), ndtr(field + change)


@pytest.mark.parametrize("change", [-0.6, 1.0])
def test_a_change_of_the_share_is_read_without_bias(change: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The share rises from 24 to 57 %, or falls to 8 %; linear around the public map alone it would not."""
    found, true = read(np.full(LATTICE.size, change))
    assert abs(float(np.mean(found - true))) < 0.015
    assert np.abs(found - true).max() < 0.12
    monkeypatch.setattr(DriftReader, "at", lambda reader, _: reader)
    once, _ = read(np.full(LATTICE.size, change))
    assert abs(float(np.mean(once - true))) > 0.02


def test_two_new_crowds_of_yes_are_read_among_many_who_say_no() -> None:
    """In whole steps the reading swung about these sums, and stated .1 % of yes in place of 57.

    Where it settles it states 61, as the prior does not expect crowds."""
    cell = np.repeat(np.arange(LATTICE.size), 10)
    field = field_of_answers(NODES, cell, np.where(np.arange(cell.size) % 97 == 0, 1.0, -1.0))
    crowds = np.where(np.isin(np.arange(LATTICE.size), [0, 45]), 600.0, 0.0)
    counts = 10.0 + crowds
    rows = np.linalg.qr(np.random.default_rng(0).standard_normal((LATTICE.size, LATTICE.size)))[0][:, :60]
    known, sums = NodeCounts.known(counts, 60), rows.T @ (crowds - 10.0)
    mean, deviation = DriftReader.of_answers(field, rows, known, 2.0, places_known=True).at(sums).around(sums)
    stated = ndtr(mean / np.sqrt(1.0 + np.square(deviation)))
    assert float(stated @ counts / counts.sum()) == pytest.approx(0.61, abs=0.01)
    assert stated[[0, 45]].min() > 0.85


def test_answers_that_the_public_map_has_are_no_change() -> None:
    """One sum of all answers, where most say no, against its mean and variance by dense algebra."""
    field, counts = published(0.8 * EAST - 0.8), np.full(LATTICE.size, 6.0)
    a, noise = np.full((LATTICE.size, 1), 0.1), 2.0
    reader = DriftReader.of_answers(field, a, NodeCounts.known(counts, 1), noise, places_known=True)
    wide = np.sqrt(1.0 + field.covariance.diagonal())
    answer = 2.0 * ndtr(field.at_nodes / wide) - 1.0
    slope = np.sqrt(2.0 / np.pi) * np.exp(-0.5 * np.square(field.at_nodes / wide)) / wide
    rest = 1.0 - np.square(answer) - np.square(slope) * field.covariance.diagonal()
    variance = 0.36 * slope @ field.covariance @ slope + 0.06 * rest.sum() + noise**2
    expected = 0.6 * answer.sum()
    for sign in (-1.0, 1.0):
        chance = reader.unchanged(np.array([expected + 2.0 * sign * np.sqrt(variance)]))
        assert chance == pytest.approx(0.0455002639, abs=1e-6)
    assert reader.unchanged(np.array([expected])) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
def test_answers_beside_a_reference_cost_what_is_declared_for_the_worst_pair(relation: str) -> None:
    """Records enter as -1 and 1, whatever the public map says: the corners are all the answers."""
    field = field_of_answers(NODES, *answers(0.8 * EAST - 0.8, 30, 1), EAST[:, None])
    facts = PublicFacts(
        LATTICE,
        2_000,
        law="yes-no",
        field=field,
        covariates=EAST[:, None],
        relation=relation,  # type: ignore[arg-type]
    )
    (shape,) = MECHANISM.search.grid(facts, SearchSpec(("exponential",), 30))
    design = MECHANISM.calibrate(shape, facts, Budget(1.0, 1e-5))
    assert (design.law, design.drift) == ("yes-no", True)
    plan = prepared_plan(design, facts)
    phi, noise = plan.features.values, plan.noise
    stated = MECHANISM.guarantee(design, facts).cost.gaussian_mu
    assert stated is not None
    if relation == "replace-one":
        worst = largest_of_all_pairs(phi, noise)
    else:  # one record more: the sums move by +-phi and the counts by phi
        assert noise.counts is not None
        lengths = np.square(phi).sum(axis=1)
        worst = float(np.sqrt((lengths / noise.sums**2 + lengths / noise.counts**2).max()))
    assert 0.9 * stated < worst <= stated


def test_the_drift_of_counted_records_is_not_weighed() -> None:
    (shape,) = MECHANISM.search.grid(
        PublicFacts(LATTICE, 100, field=published(EAST)), SearchSpec(("exponential",), 30)
    )
    with pytest.raises(DesignError, match="not weighed of counted records"):
        shape.for_law("rate")

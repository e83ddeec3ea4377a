"""Answers of yes and no: their law, its linear form, and a reading that is made linear again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpgp_core.errors import DesignError
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_design import fixed_design
from dpgp_core.mechanisms.spectral_release import grid_records, known_counts, prepared_plan
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral import model
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.model import SpectralModel
from dpgp_core.spectral.prior import ClippedPrior, LinearLaw, PublicPrior, clipped_moments
from dpgp_core.spectral.settled import settled, settled_reader
from dpgp_core.spectral.sums import release_sums
from tests.dpgp_core.features.test_attack import largest_of_all_pairs
from tests.dpgp_core.features.worlds import FakeNoise, dense_posterior, plan_for
from tests.dpgp_core.hexmap import disk

ANSWERS = PublicPrior(0.2, 1.2, 1.0 / 1.2, "yes-no")
LATTICE = disk(5, 3)


def test_an_answer_is_an_amount_that_is_clipped_very_near_the_centre() -> None:
    at = np.linspace(-2.5, 2.5, 11)
    first, second = ANSWERS.moments(at)
    near, square = clipped_moments(1e3 * at, 1e3)
    assert np.allclose(first, near, atol=2e-3)
    assert np.allclose(second, square, atol=2e-3)
    assert first[5] == 0.0
    assert first[-1] == pytest.approx(2.0 * ndtr(2.5) - 1.0)
    law = ClippedPrior.of(ANSWERS)
    assert law.mean == pytest.approx(2.0 * ndtr(0.2 / np.hypot(1.0, 1.2)) - 1.0, abs=1e-6)
    assert law.deviation**2 + law.record_noise**2 + law.mean**2 == pytest.approx(1.0)
    assert float(law.level(0.0)) == 0.0


@pytest.mark.parametrize(("value", "deviation"), [(0.2, 1.2), (-1.4, 0.3), (0.0, 0.01)])
def test_the_linear_law_is_the_best_line_by_quadrature(value: float, deviation: float) -> None:
    z = np.linspace(-8.0, 8.0, 4001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    share = 2.0 * ndtr(value + deviation * z) - 1.0
    mean, slope = float(weight @ share), float(weight @ (share * z)) / deviation
    found = LinearLaw.around(ANSWERS, np.array([value]), np.array([deviation]))
    assert found.deviation[0] / 1.2 == pytest.approx(slope, rel=1e-5)
    assert found.mean[0] == pytest.approx(mean + slope * (0.2 - value), abs=1e-6)
    assert found.record_noise[0] ** 2 == pytest.approx(1.0 - mean**2 - (slope * deviation) ** 2, abs=1e-6)


def test_the_linear_reading_is_the_textbook_posterior_of_the_field() -> None:
    made = SpectralModel(LATTICE).prepare(replace(plan_for(field=ANSWERS), signal=None))
    rng = np.random.default_rng(5)
    m = rng.poisson(3.0, LATTICE.size) + 1.0
    counts, a = NodeCounts.known(m, made.features.size), made.features.values.T
    seen = a @ (m * rng.uniform(-1.0, 1.0, m.size))
    reader = made.answers(made.reader(counts), counts, seen)
    linear = reader.linear
    assert linear is not None
    covariance = 1.2**2 * (made.basis.rows @ made.basis.rows.T + np.diag(made.basis.rest))
    slope = linear.deviation / 1.2
    noise = a * (m * linear.record_noise**2) @ a.T + made.noise.sums**2 * np.eye(len(a))
    offset = a @ (m * (linear.mean - slope * 0.2))
    mean, left = dense_posterior(np.full(m.size, 0.2), covariance, a * (m * slope), noise, seen - offset)
    assert np.allclose(reader.mean(seen), mean)
    assert np.allclose(reader.deviation(), np.sqrt(np.diag(left)))
    again = LinearLaw.around(ANSWERS, reader.mean(seen), reader.deviation())
    assert np.abs(again.mean - linear.mean).max() < 0.03  # it hardly moves any more


@pytest.mark.parametrize(("epsilon", "few"), [(0.5, 1), (1.0, 2)])
def test_few_crowds_of_yes_among_crowds_of_no_are_as_rare_as_they_are(
    epsilon: float, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In four whole steps the reading swung about these sums, and stated 9.7 % of yes in place of 3.3."""
    domain = disk(8)
    crowds = np.random.default_rng(0).choice(domain.size, 30, replace=False)
    said = np.where(np.arange(30) < few, 1.0, -1.0)
    records = CollapsedRecords.from_records(np.repeat(crowds, 600), np.repeat(said, 600))
    facts, mechanism = PublicFacts(domain, 18_000, law="yes-no"), mechanism_named("spectral-statistics")
    design = mechanism.calibrate(fixed_design(domain.spacing), facts, Budget(epsilon, 1e-5))
    plan, known = prepared_plan(design, facts), known_counts(facts, records)
    seen = release_sums(plan.features, plan.nodes, grid_records(records), plan.noise, FakeNoise())
    counts = plan.counts(known, seen.counts)

    def stated() -> Floats:
        reader = plan.answers(plan.reader(counts), counts, seen.sums)
        return ndtr(reader.mean(seen.sums) / np.sqrt(1.0 + np.square(reader.deviation())))

    share = stated()
    assert float(share[crowds].mean()) == pytest.approx(few / 30, abs=0.003)
    assert share[crowds[said > 0.0]].min() > 0.9
    monkeypatch.setattr(model, "settled_reader", partial(settled_reader, rounds=60))
    assert np.abs(stated() - share).mean() < 0.002


def test_many_answers_at_little_noise_tell_their_share() -> None:
    """A field of two halves: shares of 10 and 70 %, from 400 answers a hexagon."""
    share = np.where(LATTICE.domain_centres[:, 0] > 0, 0.7, 0.1)
    mechanism = mechanism_named("spectral-statistics")
    records = CollapsedRecords(np.arange(LATTICE.size), np.full(LATTICE.size, 400), 2.0 * share - 1.0)
    facts = PublicFacts(LATTICE, 400 * LATTICE.size, law="yes-no")
    design = mechanism.calibrate(fixed_design(LATTICE.spacing), facts, Budget(60.0, 1e-5))
    assert design is not None
    assert (design.law, design.spread, design.middle) == ("yes-no", 1.2, 0.0)
    released = draw_release(mechanism.prepare(design, facts, records), SimulationEntropy(2), simulation=True)
    assert released.mean is not None
    far = np.abs(LATTICE.domain_centres[:, 0]) > 1.5 * LATTICE.spacing
    assert np.abs(ndtr(released.mean) - share)[far].max() < 0.08
    inside = released.probability(float(ndtri(0.4)), "above")
    assert inside is not None
    assert np.array_equal(inside[far] > 0.5, share[far] > 0.4)
    assert np.abs(released.paths).max() <= 3.0


@pytest.mark.parametrize("mu", [0.1, 3.0])
def test_answers_cost_what_is_declared_for_the_worst_pair(mu: float) -> None:
    made = SpectralModel(LATTICE).prepare(replace(plan_for(mu=mu, field=ANSWERS), signal=None))
    assert largest_of_all_pairs(made.features.values, made.noise) <= mu  # the corners are all the answers


def test_a_design_of_answers_scatters_by_one() -> None:
    design = fixed_design(100.0)
    assert design.for_law("amount") == design
    answers = design.for_law("yes-no")
    varied = mechanism_named("spectral-statistics").search.varied
    assert varied(answers, "ridge", 3.0) == answers == varied(answers, "amplitude", 2.0)
    assert varied(design, "ridge", 3.0).ridge == 3.0
    assert varied(answers, "lengthscale", 70.0).lengthscale == 70.0
    with pytest.raises(DesignError, match="scatter by 1"):
        replace(answers, spread=0.5)
    with pytest.raises(DesignError, match="unknown law"):
        replace(answers, law="counts")


def test_a_reading_settles_by_half_steps_after_its_first_round() -> None:
    assert settled(np.ones_like, np.zeros(1), 3) == 0.75
    assert settled(np.ones_like, np.zeros(1)) == 1.0 - 0.5**11

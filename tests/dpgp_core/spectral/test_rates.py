"""Counted records: what their sums cost, their law, and a reading that is made linear again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.errors import DesignError, InvalidValue
from dpgp_core.features.gridded import InnerProducts
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_design import fixed_design
from dpgp_core.mechanisms.spectral_release import map_of_counts, prepared_plan, read_again
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts, Relation, Released, draw_release
from dpgp_core.simulation import World
from dpgp_core.spectral.cost import SpectralNoise, exchange_mu, noise_for, release_mu
from dpgp_core.spectral.model import PublicCounts, SpectralModel
from dpgp_core.spectral.prior import FieldBasis, PublicPrior
from dpgp_core.spectral.rates import rates_of_records, read_rates
from tests.dpgp_core.features.worlds import dense_posterior, plan_for
from tests.dpgp_core.hexmap import disk

LATTICE = disk(5, 3)
RISK = PublicPrior(-0.125, 0.5, 2.0, "rate")
RELATIONS: tuple[Relation, ...] = ("replace-one", "add-or-remove")
PEOPLE = 50.0 + 10.0 * (np.arange(LATTICE.size) % 7)
mechanism = mechanism_named("spectral-statistics")


def records_of(counts: np.ndarray) -> CollapsedRecords:
    index = np.flatnonzero(counts)
    return CollapsedRecords(index, counts[index], np.ones(index.size))


def released_of(counts: np.ndarray, facts: PublicFacts, epsilon: float, seed: int = 2) -> Released:
    design = mechanism.calibrate(fixed_design(LATTICE.spacing), facts, Budget(epsilon, 1e-5))
    return draw_release(
        mechanism.prepare(design, facts, records_of(counts)), SimulationEntropy(seed), simulation=True
    )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("law", ["rate", "density"])
def test_counts_cost_what_is_declared_for_the_worst_pair_of_all(relation: Relation, law: str) -> None:
    field = replace(RISK, law=law)  # type: ignore[arg-type]
    made = SpectralModel(LATTICE).prepare(plan_for(mu=0.7, relation=relation, field=field))
    whole = made.features.whole.astype(object)  # the integers that are summed, without rounding
    if relation == "replace-one":
        squares = [int(((one - whole) ** 2).sum(axis=1).max()) for one in whole]
    else:
        squares = [int((one**2).sum()) for one in whole]
    unit = 2.0**-20
    worst = unit * max(squares) ** 0.5 / made.noise.sums
    assert made.noise.counts is None
    assert 0.7 * (1 - 1e-9) < worst <= release_mu(made.products, made.noise, relation, counted=True) <= 0.7


def test_the_price_of_counts_is_the_widest_distance_or_the_largest_length() -> None:
    products = InnerProducts(largest_square=0.81, least=-0.2, widest_square=1.69)
    assert noise_for(0.5, products, counted=True).sums == pytest.approx(2.6)
    assert noise_for(0.5, products, "add-or-remove", counted=True).sums == pytest.approx(1.8)
    noise = SpectralNoise(2.6, None)
    assert exchange_mu(products, noise, "add-or-remove", counted=True) == pytest.approx(0.5)
    assert exchange_mu(products, noise, "replace-one", counted=True) is None
    with pytest.raises(InvalidValue, match="places are private"):
        release_mu(products, noise, "values-only", counted=True)
    with pytest.raises(InvalidValue, match="and one sum"):
        release_mu(products, SpectralNoise(2.6, 2.6), counted=True)
    with pytest.raises(InvalidValue, match="the same everywhere"):
        noise_for(0.5, InnerProducts(1.0, 1.0, 0.0), counted=True)


def test_the_map_without_privacy_is_the_variational_law_of_counts() -> None:
    """Its mean and variance solve the equations of the best Gaussian law for Poisson counts."""
    model = SpectralModel(LATTICE)
    made = model.prepare(plan_for(field=RISK))
    basis = FieldBasis.of(model.smooth_pairs("exponential", 1_500.0), 30)  # the rest is read as well
    c = np.random.default_rng(3).poisson(3.0, LATTICE.size)
    known = PublicCounts("reference", None, PEOPLE)
    mean, sd, _ = rates_of_records(made.nodes, basis, made.prior.before, known, c)
    rate = PEOPLE * np.exp(mean + 0.5 * sd**2)
    assert rate.sum() == pytest.approx(c.sum() * PEOPLE.sum() / c.sum())  # the average risk is 1
    rate *= c.sum() / rate.sum()
    rows = 0.5 * (basis.rows - rate @ basis.rows / rate.sum())
    prior = rows @ rows.T + 0.25 * np.diag(basis.rest)
    pull = prior @ (c - rate)  # how far the mean lies from its prior
    assert np.allclose(pull - pull.mean(), mean - mean.mean(), atol=0.02)
    left = np.linalg.inv(np.linalg.inv(prior + 1e-9 * np.eye(c.size)) + np.diag(rate))
    assert np.allclose(np.sqrt(np.diag(left)), sd, rtol=0.02)


@pytest.mark.parametrize("public", [True, False])
def test_the_reading_is_the_textbook_posterior_of_the_field(public: bool) -> None:
    relation: Relation = "replace-one" if public else "add-or-remove"
    made = SpectralModel(LATTICE).prepare(plan_for(relation=relation, field=RISK, mu=3.0 if public else 0.2))
    m = np.random.default_rng(5).poisson(3.0, LATTICE.size)
    known = PublicCounts("reference", float(m.sum()) if public else None, PEOPLE)
    sums = made.features.values.T @ m
    reading = read_rates(made, known, sums)
    linear, rate, a = reading.reader.linear, reading.counts.mean, made.features.values.T
    assert linear is not None
    rows = made.basis.rows
    if public:  # a multinomial law: nothing is left of what all records have in common
        assert rate.sum() == pytest.approx(m.sum())
        a = a - (a @ rate / m.sum())[:, None]
        assert np.allclose(a @ m, reading.seen)
    else:
        rows = np.hstack([rows, np.full((m.size, 1), 0.6)])
    covariance = 0.25 * (rows @ rows.T + np.diag(made.basis.rest))
    noise = a @ np.diag(rate * linear.record_noise**2) @ a.T + made.noise.sums**2 * np.eye(len(a))
    seen = reading.seen - a @ (rate * (linear.mean + 0.125))  # the prior mean is -0.125
    mean, left = dense_posterior(np.full(m.size, -0.125), covariance, a * rate, noise, seen)
    level = np.eye(m.size) - np.outer(np.ones(m.size), rate / rate.sum())
    smooth = left - 0.25 * np.diag(made.basis.rest)
    assert np.allclose(level @ (reading.reader.mean(reading.seen) - mean), 0.0, atol=1e-3)
    variance = np.diag(level @ smooth @ level.T) + 0.25 * made.basis.rest
    assert np.allclose(reading.reader.deviation(), np.sqrt(variance), rtol=0.05)
    rho = np.exp(reading.reader.mean(reading.seen) + reading.shift + 0.5 * reading.reader.deviation() ** 2)
    assert float(PEOPLE @ rho / PEOPLE.sum()) == pytest.approx(1.0, abs=1e-9)  # the average is 1


def test_rates_that_are_little_known_still_make_as_many_records_as_there_are() -> None:
    """A rate is the mean of exp(u), so half the variance is added: the density of 354 records, of a number
    that is not public, makes 354 of them on average, not 9 % more, where u has a deviation of .29."""
    field = replace(RISK, law="density", mean=0.0)
    made = SpectralModel(LATTICE).prepare(plan_for(relation="add-or-remove", field=field, mu=0.3))
    m = np.rint(3.0 * np.where(LATTICE.domain_centres[:, 0] > 0, 2.0, 0.5))
    reading = read_rates(
        made, PublicCounts("reference", None, np.full(m.size, 3.0)), made.features.values.T @ m
    )
    value, deviation = reading.reader.mean(reading.seen) + reading.shift, reading.reader.deviation()
    assert deviation.mean() == pytest.approx(0.29, abs=0.02)
    assert 3.0 * np.exp(value + 0.5 * deviation**2).sum() == pytest.approx(m.sum(), rel=0.03)


def test_many_cases_at_little_noise_tell_their_risk_and_so_does_the_map_without_privacy() -> None:
    """Risks of .5 in the west and 2 in the east, over unequal people."""
    risk = np.where(LATTICE.domain_centres[:, 0] > 0, 2.0, 0.5)
    risk /= PEOPLE @ risk / PEOPLE.sum()
    counts = np.rint(20.0 * PEOPLE * risk).astype(np.int64)
    facts = PublicFacts(LATTICE, int(counts.sum()), counts=PEOPLE, law="rate")
    far = np.abs(LATTICE.domain_centres[:, 0]) > 1.5 * LATTICE.spacing
    released = released_of(counts, facts, 60.0)
    assert released.mean is not None
    assert released.records is not None
    assert np.abs(np.exp(released.mean) / risk - 1.0)[far].max() < 0.15
    assert released.records.sum() == pytest.approx(counts.sum())
    design = fixed_design(LATTICE.spacing).for_law("rate")
    shown, sd = map_of_counts(facts, counts.astype(np.float64), design.lengthscale)
    assert np.abs(np.exp(shown) / risk - 1.0).max() < 0.07
    assert 0.015 < sd.mean() < 0.04  # about 1 / sqrt(1600)


def test_how_likely_counts_are_under_a_belief_is_nearly_the_integral_over_its_fields() -> None:
    """By 40,000 fields of seven cells: the chance of the counts given how many there are, as logarithms."""
    lattice = disk(1, 1)
    model, entropy = SpectralModel(lattice), SimulationEntropy(4)
    people, c = np.arange(20.0, 27.0), np.array([2.0, 14.0, 4.0, 11.0, 2.0, 7.0, 4.0])
    found, exact = [], []
    for basis in model.bases_of_counts("exponential", 3.0 * lattice.spacing)[::5]:
        known = PublicCounts("reference", None, people)
        found.append(rates_of_records(model.nodes, basis, RISK, known, c)[2])
        field = basis.rows @ entropy.normal((basis.rows.shape[1], 40_000))
        field = RISK.deviation * (field + np.sqrt(basis.rest)[:, None] * entropy.normal(field.shape))
        rate = people[:, None] * np.exp(field)
        chance = c @ np.log(rate / rate.sum(axis=0))
        exact.append(float(np.log(np.mean(np.exp(chance - chance.max()))) + chance.max()))
    assert abs(exact[1] - exact[0]) > 0.5
    assert found[1] - found[0] == pytest.approx(exact[1] - exact[0], abs=0.2)


@pytest.mark.parametrize("kind", [0, 5])
def test_the_map_without_privacy_weighs_how_rough_risks_are_as_a_release_does(kind: int) -> None:
    """Smooth risks, and ones that neighbours do not share: its errors are those that it states."""
    entropy, model = SimulationEntropy(5), SpectralModel(LATTICE)
    bases, ratio, apart = model.bases_of_counts("exponential", 4.0 * LATTICE.spacing), [], {0: 0.0, 5: 0.0}
    for world in range(4):
        basis = bases[kind]
        drawn = basis.rows @ entropy.normal(basis.rows.shape[1])
        risk = np.exp(RISK.deviation * (drawn + np.sqrt(basis.rest) * entropy.normal(basis.rest.size)))
        risk /= PEOPLE @ risk / PEOPLE.sum()
        counts = np.random.default_rng(world).poisson(0.3 * PEOPLE * risk).astype(np.float64)
        facts = PublicFacts(LATTICE, int(counts.sum()), counts=PEOPLE, law="rate")
        shown, sd = map_of_counts(facts, counts, 4.0 * LATTICE.spacing)
        ratio.append(float(np.mean(np.square((shown - np.log(risk)) / sd))))
        apart[kind] += float(np.mean(np.square(shown - np.log(risk))))
        other = bases[5 - kind]
        known = PublicCounts("reference", None, PEOPLE)
        mean = rates_of_records(model.nodes, other, RISK, known, counts)[0]
        apart[5 - kind] += float(np.mean(np.square(mean - np.log(risk))))
    assert 0.8 < np.sqrt(np.mean(ratio)) < 1.2
    assert apart[kind] < 0.9 * apart[5 - kind]


def test_a_density_is_told_beside_what_was_expected() -> None:
    """Where the number of records is private, the release itself says how many more there are."""
    counts = np.full(LATTICE.size, 300)
    facts = PublicFacts(
        LATTICE,
        100 * LATTICE.size,
        relation="add-or-remove",
        counts=np.full(LATTICE.size, 100.0),
        law="density",
    )
    mean = released_of(counts, facts, 10.0).mean
    assert mean is not None
    assert np.abs(np.exp(mean) - 3.0).max() < 0.5


def test_of_a_density_the_level_is_unsure_too_where_the_number_of_records_is_private() -> None:
    known, apart = PublicCounts("reference", None, PEOPLE), []
    for law in ("rate", "density"):
        field = replace(RISK, law=law)  # type: ignore[arg-type]
        made = SpectralModel(LATTICE).prepare(plan_for(mu=0.2, relation="add-or-remove", field=field))
        counts = np.full(LATTICE.size, 3.0)
        apart.append(read_rates(made, known, made.features.values.T @ counts).reader.deviation())
    assert np.all(apart[1] > apart[0] + 0.002)


def test_intervals_of_risks_cover_as_often_as_they_say() -> None:
    made = prepared_plan(
        mechanism.calibrate(
            fixed_design(LATTICE.spacing),
            (facts := PublicFacts(LATTICE, 400, counts=PEOPLE, law="rate")),
            Budget(1.0, 1e-5),
        ),
        facts,
    )
    rng, covered = np.random.default_rng(8), []
    for seed in range(12):
        u = made.basis.rows @ rng.normal(size=made.basis.rows.shape[1])
        u = 0.5 * (u + np.sqrt(made.basis.rest) * rng.normal(size=LATTICE.size))
        share = PEOPLE * np.exp(u) / (PEOPLE @ np.exp(u))
        released = released_of(rng.multinomial(400, share), facts, 1.0, seed)
        assert released.mean is not None
        assert released.sd is not None
        true = np.log(share * PEOPLE.sum() / PEOPLE)
        covered.append(np.abs(true - released.mean) < 1.645 * released.sd)
    assert 0.86 < np.mean(covered) < 0.97


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("kind", "least", "doubted"), [("rough", 0.85, 0), ("wide", 0.82, 1), ("hot", 0.9, 6)]
)
def test_risks_of_another_law_are_covered_or_doubted(
    relation: Relation, kind: str, least: float, doubted: int
) -> None:
    """Six maps of 1,500 cases: risks that neighbours do not share, twice as wide as usual, and one hexagon of
    30 times the risk, which is no such field: that is noticed every time, the others once at most."""
    facts = PublicFacts(LATTICE, 1500, relation=relation, counts=PEOPLE, law="rate")
    correlation = make_prior("exponential", LATTICE, 8 * LATTICE.spacing).correlation()
    root, covered, chances = np.linalg.cholesky(correlation + 1e-9 * np.eye(LATTICE.size)), [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        field = rng.standard_normal(LATTICE.size)
        u = {"rough": 0.5 * field, "wide": root @ field, "hot": 3.5 * (np.arange(LATTICE.size) == 40)}[kind]
        share = PEOPLE * np.exp(u) / (PEOPLE @ np.exp(u))
        released = released_of(rng.multinomial(1500, share), facts, 3.0, seed)
        assert released.mean is not None
        assert released.sd is not None
        assert released.model_check is not None
        true = np.log(share * PEOPLE.sum() / PEOPLE)
        covered.append(np.abs(true - released.mean) < 1.645 * released.sd)
        chances.append(released.model_check.chance)
    assert np.mean(covered) > least
    assert np.sum(np.array(chances) <= 0.02) in range(doubted if kind == "hot" else 0, doubted + 1)


def test_a_reader_computes_the_map_of_counts_again_and_a_changed_number_shows() -> None:
    facts = PublicFacts(LATTICE, 3 * LATTICE.size, counts=PEOPLE, law="rate")
    design = mechanism.calibrate(fixed_design(LATTICE.spacing), facts, Budget(1.0, 1e-5))
    released = released_of(np.full(LATTICE.size, 3), facts, 1.0)
    kept = released.sums
    assert kept is not None
    assert kept.public_counts is not None
    assert kept.counts is None
    bare = replace(facts, counts=None)
    again = read_again(design, bare, kept)
    mean, sd, check = again.mean, again.sd, again.model_check
    assert mean is not None
    assert sd is not None
    assert check == released.model_check
    assert np.abs(mean - released.mean).max() < 1e-5
    assert np.abs(sd - released.sd).max() < 1e-5
    forged = replace(kept, public_counts=kept.public_counts * np.linspace(1.0, 1.5, LATTICE.size))
    assert np.abs(np.asarray(read_again(design, bare, forged).mean) - mean).max() > 0.01
    thousands = replace(kept, public_counts=kept.public_counts / 1000.0)  # below 1, and of the same shares
    assert np.abs(np.asarray(read_again(design, bare, thousands).mean) - mean).max() < 1e-5
    with pytest.raises(InvalidValue, match="name them"):
        read_again(design, bare, replace(kept, public_counts=None))
    with pytest.raises(InvalidValue, match="must be positive"):
        read_again(design, bare, replace(kept, public_counts=0.0 * PEOPLE))


def test_what_counts_cannot_be_is_refused() -> None:
    facts = PublicFacts(LATTICE, LATTICE.size, counts=PEOPLE, law="rate")
    design = mechanism.calibrate(fixed_design(LATTICE.spacing), facts, Budget(1.0, 1e-5))
    valued = CollapsedRecords(np.arange(LATTICE.size), np.ones(LATTICE.size), np.full(LATTICE.size, 0.5))
    with pytest.raises(InvalidValue, match="each response must be 1"):
        mechanism.prepare(design, facts, valued)
    with pytest.raises(InvalidValue, match="places are private"):
        mechanism.guarantee(design, replace(facts, places_public=True))
    with pytest.raises(DesignError, match="counted records scatter by 1"):
        replace(design, spread=0.7)
    with pytest.raises(DesignError, match="not weighed of counted records"):
        replace(design, drift=True)
    assert (design.law, design.spread, design.middle, design.common) == ("rate", 0.5, -0.125, 0.0)
    assert fixed_design(100.0).for_law("density").spread == 1.2


def test_simulated_releases_of_counts_find_their_map() -> None:
    risk = np.where(LATTICE.domain_centres[:, 0] > 0, 2.0, 0.5)
    records = records_of(np.rint(PEOPLE * risk).astype(np.int64))
    facts = PublicFacts(LATTICE, records.n, counts=PEOPLE, law="rate")
    none = np.empty(0, np.int64)
    world = World(
        facts, records, records, none, none > 0, 0.0, "above", np.zeros(LATTICE.size), baseline=risk > 1.0
    )
    design = mechanism.calibrate(fixed_design(LATTICE.spacing), facts, Budget(3.0, 1e-5))
    sets = questions.simulate(design, world)
    assert sets.shape == (3, LATTICE.size)
    assert world.agreement(sets).iou > 0.8


@pytest.mark.parametrize("relation", RELATIONS)
def test_counted_records_cost_by_the_sums_alone(relation: Relation) -> None:
    """What is promised is at most what was asked for and within a thousandth of it."""
    facts = PublicFacts(LATTICE, 400, relation=relation, counts=PEOPLE, law="rate")
    mechanism = mechanism_named("spectral-statistics")
    design = mechanism.calibrate(fixed_design(LATTICE.spacing), facts, Budget(1.0, 1e-5))
    promised = mechanism.guarantee(design, facts)
    assert 0.999 * design.mu < promised.cost.gaussian_mu <= design.mu
    assert promised.epsilon(1e-5).epsilon <= 1.0

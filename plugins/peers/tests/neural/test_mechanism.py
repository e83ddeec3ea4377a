"""The mechanism around the network: its designs, its releases, what it refuses, and that it was trained."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import numpy as np
import pytest
from scipy.special import ndtri

from dpgp_core.errors import BoundRefused, DesignError, InvalidValue
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from hexcursion_peers.neural.inputs import network_inputs
from hexcursion_peers.neural.mechanism import ConvCnp, ConvCnpDesign
from hexcursion_peers.neural.plan import PublicInputs, channel_noise
from hexcursion_peers.neural.simulated.tasks import LARGEST, Simulator, finer
from hexcursion_peers.neural.weights import network
from tests.dpgp_core.hexmap import disk

LATTICE = disk(9)
FACTS = PublicFacts(LATTICE, 3_000)
DESIGN = ConvCnpDesign(800.0, 0.0, 0.4, 1.0, 0.5, 2.0, paths=4)
WATER = replace(DESIGN, width=2_000.0, sums="water-filled")
CNP = ConvCnp()
both_sums = pytest.mark.parametrize("design", [DESIGN, WATER], ids=["set convolution", "water-filled"])


def records(seed: int = 1) -> CollapsedRecords:
    """3,000 records of a step: .4 in the east, -.4 in the west."""
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, LATTICE.size, 3_000)
    east = LATTICE.domain_centres[cells, 0] > 0.0
    said = np.where(east, 0.4, -0.4) + 0.2 * generator.standard_normal(3_000)
    return CollapsedRecords.from_records(cells, np.clip(said, -1.0, 1.0))


@both_sums
def test_a_release_shows_the_step(design: ConvCnpDesign) -> None:
    released = draw_release(CNP.prepare(design, FACTS, records()), SystemEntropy())
    assert released.mean is not None
    assert released.sd is not None
    x = LATTICE.domain_centres[:, 0]
    assert released.mean[x > 1_200.0].mean() == pytest.approx(0.4, abs=0.1)
    assert released.mean[x < -1_200.0].mean() == pytest.approx(-0.4, abs=0.1)
    chance = released.probability(0.0)
    assert chance is not None
    assert np.mean((chance > 0.5) == (x > 0.0)) > 0.93
    assert released.sd.min() > 0.0
    assert [part.size for part in released.raw] == [CNP.plan(design, FACTS).features.size] * 2


@both_sums
def test_paths_scatter_around_the_mean_by_the_stated_deviation(design: ConvCnpDesign) -> None:
    loud = design if design is DESIGN else replace(design, mu=0.1)  # little is known: errors reach far
    prepared = CNP.prepare(replace(loud, paths=4_000), FACTS, records())
    released = draw_release(prepared, SimulationEntropy(5), simulation=True)
    assert released.mean is not None
    assert released.sd is not None
    apart = (released.paths - released.mean) / released.sd
    # Six standard errors of a mean and of a variance of 4,000 draws.
    assert np.abs(apart.mean(axis=0)).max() < 6.0 / np.sqrt(4_000)
    assert np.abs(np.square(apart).mean(axis=0) - 1.0).max() < 6.0 * np.sqrt(2.0 / 4_000)
    near, far = apart[:, [0, 1]], apart[:, [0, -1]]
    assert np.corrcoef(near.T)[0, 1] > (0.8 if design is DESIGN else 0.5)
    assert abs(np.corrcoef(far.T)[0, 1]) < 0.2


@both_sums
def test_the_network_sees_nothing_but_released_and_public_numbers(design: ConvCnpDesign) -> None:
    """Two sets of records whose released numbers agree are read alike: their sum decides, with n."""
    plan = CNP.plan(design, FACTS)
    numbers = np.random.default_rng(0).standard_normal((1, plan.features.size))
    noise = channel_noise(DESIGN.mu, plan.products, "joint")
    one = plan.field(numbers, numbers, noise, design.told(3_000))
    other = plan.field(numbers, numbers, noise, design.told(3_000))
    np.testing.assert_array_equal(one[0], other[0])
    moved = plan.field(numbers, numbers, noise, PublicInputs(3_000, 0.2, 0.4, 0.5))
    assert np.abs(moved[0] - one[0]).max() > 0.01


@both_sums
def test_the_guarantee_is_the_budgets_and_pays_for_smaller_noise(design: ConvCnpDesign) -> None:
    met = CNP.calibrate(design, FACTS, Budget(1.0, 1e-5))
    assert met is not None
    assert met.mu == pytest.approx(0.2680511, abs=1e-6)
    found = CNP.guarantee(met, FACTS)
    assert found.exact_gaussian_mu == pytest.approx(0.2680511, abs=1e-6)
    assert 0.99999 < found.epsilon(1e-5).epsilon <= 1.0
    louder = replace(met, mu=2.0 * met.mu)
    assert CNP.guarantee(louder, FACTS).exact_gaussian_mu == pytest.approx(0.5361022, abs=2e-6)
    plan = CNP.plan(met, FACTS)
    assert channel_noise(met.mu, plan.products, "joint").sums == pytest.approx(2.0 / 0.2680511, rel=1e-4)
    # the paper's own price is 6^(1/2)/mu for features that are orthogonal at their farthest
    paper = 6.0**0.5 if design is DESIGN else 2.4084
    assert channel_noise(met.mu, plan.products, "paper").sums == pytest.approx(paper / 0.2680511, rel=2e-3)


def test_only_exchanged_records_are_proved() -> None:
    other = PublicFacts(LATTICE, 3_000, relation="add-or-remove")
    assert CNP.calibrate(DESIGN, other, Budget(1.0, 1e-5)) is None
    with pytest.raises(BoundRefused, match="choose 'replace-one'"):
        CNP.guarantee(DESIGN, other)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": 0.0}, "width must be a positive"),
        ({"ridge": -1.0}, "ridge must be a positive"),
        ({"middle": float("nan")}, "middle must be a finite"),
        ({"accounting": "free"}, "choose joint or paper"),
        ({"sums": "none"}, "choose set-convolution or water-filled"),
        ({"smoothing": 1}, "leave smoothing at 0"),
        ({"mu": float("inf")}, "mu must be a positive"),
    ],
)
def test_impossible_designs_do_not_exist(change: dict[str, object], said: str) -> None:
    with pytest.raises(DesignError, match=said):
        replace(DESIGN, **change)  # type: ignore[arg-type]


def test_what_is_bound_to_fail_fails_before_the_draw() -> None:
    with pytest.raises(InvalidValue, match="width must lie between 320 and 2,400 m"):
        CNP.prepare(replace(DESIGN, width=100.0), FACTS, records())
    with pytest.raises(InvalidValue, match="water-filled sums must lie between 400 and 6,000 m"):
        CNP.prepare(replace(WATER, width=300.0), FACTS, records())
    outside = CollapsedRecords(np.array([271]), np.array([1]), np.array([0.0]))
    with pytest.raises(InvalidValue, match="outside the prior's domain"):
        CNP.prepare(DESIGN, FACTS, outside)


def test_designs_survive_their_mapping() -> None:
    mapping = DESIGN.to_mapping()
    assert mapping["mechanism"] == "convcnp"
    assert ConvCnpDesign.from_mapping(mapping) == DESIGN
    assert ConvCnpDesign.from_mapping(WATER.to_mapping()) == WATER
    assert "sums" not in mapping or mapping["sums"] == "set-convolution"
    older = {name: value for name, value in mapping.items() if name != "sums"}  # of a bundle made before
    assert ConvCnpDesign.from_mapping(older) == DESIGN


def test_the_joint_law_of_its_paths_is_said_to_be_an_assumption() -> None:
    lines = dict(questions.receipt_lines(DESIGN))
    assert "is an assumption" in lines["Joint law"]
    assert "their number costs nothing" in lines["Paths"]


def test_the_shipped_network_was_trained() -> None:
    """48 tasks of the training's law with another seed: better than the prior's law, and calibrated."""
    drawn = Simulator(99).tasks(48)
    mean, sd = network()(*network_inputs(drawn.seen, drawn.encoders))
    truth = np.clip(drawn.truth, -LARGEST, LARGEST)
    apart, deviation = (truth - finer(mean)) / finer(sd), finer(sd)
    density = 0.5 * np.square(apart) + np.log(deviation) + 0.5 * np.log(2.0 * np.pi)
    inside = drawn.inside
    nll = float(np.mean([each[at].mean() for each, at in zip(density, inside, strict=True)]))
    assert nll < 1.2  # a unit normal has 1.42 or more here
    within = [np.mean(np.abs(each[at]) < ndtri(0.95)) for each, at in zip(apart, inside, strict=True)]
    assert 0.86 < float(np.mean(within)) < 0.95


def test_only_a_simulation_gets_noise_in_floating_point() -> None:
    """Any other source is asked for its words, which alone make exactly rounded noise."""

    class Words:
        words = staticmethod(SystemEntropy().words)

        def normal(self, shape: int | tuple[int, ...]) -> NoReturn:
            raise AssertionError("noise in floating point")

        uniform = normal

    prepared = CNP.prepare(DESIGN, FACTS, records())
    released = prepared.release(Words())
    assert released.sums.size == CNP.plan(DESIGN, FACTS).features.size

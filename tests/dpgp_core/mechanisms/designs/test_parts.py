"""What mechanisms hand to their parts, what they try before a draw, and what they keep."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.errors import BoundRefused, DesignError, InvalidValue
from dpgp_core.linalg import BandedCholesky
from dpgp_core.mechanisms import beliefs, noisy_cell_statistics, spectral_release, spectral_statistics
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.bin_means import square_bins
from dpgp_core.mechanisms.cell_sums import NoisyStatistics
from dpgp_core.mechanisms.design import Budget, Protection, SearchSpec
from dpgp_core.mechanisms.noisy_cell_statistics import cell_observations, reference_records
from dpgp_core.mechanisms.registry import MECHANISMS, design_from_mapping, mechanism_named, mechanism_of
from dpgp_core.mechanisms.spectral_release import prepared_plan
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral.model import SpectralModel
from dpgp_core.spectral.sums import ExactNoise, release_sums
from tests.dpgp_core.hexmap import disk, line
from tests.dpgp_core.mechanisms.beside import rows
from tests.dpgp_core.mechanisms.designs.test_simulation import records
from tests.dpgp_core.mechanisms.designs.test_stated import DESIGNS
from tests.oracles.readings import read

LATTICE = disk(3, padding=1)
HIDDEN = PublicFacts(LATTICE, 150)
KNOWN = PublicFacts(LATTICE, 150, places_public=True)
FEW = CollapsedRecords.from_records([1, 1, 3], [0.5, 0.25, -1.0])
SPECTRAL = DESIGNS["spectral-statistics"]


def facts_of(name: str) -> PublicFacts:
    return PublicFacts(LATTICE, 150, places_public=MECHANISMS[name].protection.what == "values")


@pytest.mark.parametrize(
    ("name", "module", "numbers"),
    [
        ("noisy-cell-statistics", "dpgp_core.mechanisms.cell_sums", 74),
        ("spectral-statistics", "dpgp_core.mechanisms.spectral_statistics", None),
        *rows("DISTANCES"),
    ],
)
def test_the_distance_to_the_ideal_is_that_of_all_noisy_numbers_at_most(
    name: str, module: str, numbers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums and counts are two; of features so many as are released."""
    seen: list[int] = []
    monkeypatch.setattr(f"{module}.distance_of", lambda count: seen.append(count) or 2.0**-140)
    facts, mechanism = facts_of(name), MECHANISMS[name]
    assert mechanism.guarantee(DESIGNS[name], facts).distance == 2.0**-140
    held = records(1)
    raw = draw_release(
        mechanism.prepare(DESIGNS[name], facts, held), SimulationEntropy(1), simulation=True
    ).raw
    assert seen[0] == (sum(part.size for part in raw) if numbers is None else numbers)


def test_spectral_sums_over_known_places_have_no_counts_to_be_charged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(spectral_statistics, "distance_of", lambda count: seen.append(count) or 0.0)
    mechanism = MECHANISMS["spectral-statistics"]
    mechanism.guarantee(SPECTRAL, KNOWN)
    prepared = mechanism.prepare(SPECTRAL, KNOWN, records(1))
    (sums,) = draw_release(prepared, SimulationEntropy(1), simulation=True).raw
    assert seen == [sums.size]


@pytest.mark.parametrize(
    ("facts", "kind", "n"),
    [
        (HIDDEN, "unknown", 3.0),
        (PublicFacts(LATTICE, 150, "add-or-remove"), "unknown", None),
        (PublicFacts(LATTICE, 150, counts=np.arange(37.0)), "reference", 3.0),
        (PublicFacts(LATTICE, 150, "add-or-remove", counts=np.arange(37.0)), "reference", None),
        (KNOWN, "known", 3.0),
        (replace(KNOWN, counts=np.arange(37.0)), "known", 3.0),
        (PublicFacts(LATTICE, 150, "add-or-remove", places_public=True), "unknown", None),
    ],
)
def test_what_a_spectral_reading_is_told_of_the_counts(
    facts: PublicFacts, kind: str, n: float | None
) -> None:
    """Their number where it is public, and their places only where these are public and stay."""
    found = spectral_release.known_counts(facts, FEW)
    assert (found.kind, found.n, found.single) == (kind, n, False)
    if kind == "reference":
        assert found.cells is not None
        assert found.cells.tolist() == list(range(37))
    if kind == "known":
        assert found.cells is not None
        assert {k: v for k, v in enumerate(found.cells.tolist()) if v} == {1: 2.0, 3: 1.0}
    assert spectral_release.known_counts(replace(facts, single=True), FEW).single


def test_a_spectral_release_hides_places_unless_they_are_public_and_stay() -> None:
    mechanism, open_ = MECHANISMS["spectral-statistics"], PublicFacts(LATTICE, 150, "add-or-remove")
    assert mechanism.protection.hides(KNOWN) == "values"
    assert mechanism.protection.hides(HIDDEN) == mechanism.protection.hides(open_) == "values and places"
    assert mechanism.protection.hides(replace(open_, places_public=True)) == "values and places"


def test_records_and_sums_of_a_cell() -> None:
    counts, totals = spectral_release.per_cell(FEW, HIDDEN)
    assert {k: v for k, v in enumerate(counts.tolist()) if v} == {1: 2.0, 3: 1.0}
    assert {k: v for k, v in enumerate(totals.tolist()) if v} == {1: 0.75, 3: -1.0}


def test_what_clipping_may_hide_of_an_unknown_mean() -> None:
    """.35 of the spread, times the slope by which clipping shrinks deviations: .35 * .6 * .4/.8."""
    prior: Any = SimpleNamespace(deviation=0.4, before=SimpleNamespace(deviation=0.8, law="amount"))
    design = replace(SPECTRAL, spread=0.6, common=0.3)
    assert beliefs.unseen_by(design, prior) == pytest.approx(0.105)
    assert beliefs.unseen_by(replace(design, common=0.0), prior) == 0.0
    prior.before.law = "yes-no"
    assert beliefs.unseen_by(design, prior) == 0.0


def test_a_spectral_plan_is_made_of_the_design_and_of_public_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(SpectralModel, "prepare", lambda _, plan: seen.append(plan))
    design = replace(SPECTRAL, middle=0.1, spread=0.6, amplitude=1.5, common=0.2, signal=0.4)
    prepared_plan(design, PublicFacts(LATTICE, 148))
    prepared_plan(design, PublicFacts(LATTICE, 148, places_public=True), rough=True)
    plan, rough = seen
    assert (plan.strategy, plan.prior, plan.lengthscale) == ("water-filled", "exponential", 900.0)
    field = plan.field
    assert (field.mean, field.deviation, field.ridge) == (0.1, pytest.approx(0.9), 1.2)
    assert (plan.mu, plan.density, plan.signal, plan.common) == (2.0, 4.0, 0.4, 0.2)
    assert (plan.relation, plan.rough) == ("replace-one", False)
    assert rough == replace(plan, relation="values-only", rough=True)


def test_a_spectral_map_without_noise_is_as_sure_as_its_share_of_the_deviation() -> None:
    """`map_sd` is `sd` times the map's deviation over the field's, before both are unclipped."""
    mechanism, facts = MECHANISMS["spectral-statistics"], PublicFacts(LATTICE, 150)
    prepared: Any = mechanism.prepare(SPECTRAL, facts, records(1))
    released = prepared.draw(SimulationEntropy(1))
    sums = release_sums(
        prepared.plan.features,
        prepared.plan.nodes,
        prepared.records,
        prepared.plan.noise,
        ExactNoise(SimulationEntropy(1)),
    )
    counts = prepared.plan.counts(prepared.known, sums.counts)
    posterior = read(prepared.plan, sums, prepared.known)
    share = posterior.map_deviation(counts, 0.0) / posterior.deviation()
    np.testing.assert_allclose(released.map_sd, released.sd * share, rtol=1e-9)
    assert np.all(share < 1.0)


def test_the_reading_of_cell_statistics_is_tried_on_nothing_before_a_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(noisy_cell_statistics, "noise_aware_posterior", lambda *given: seen.append(given))
    MECHANISMS["noisy-cell-statistics"].prepare(DESIGNS["noisy-cell-statistics"], HIDDEN, FEW)
    ((statistics, prior, ridge, scale),) = seen
    assert statistics.sums.tolist() == statistics.counts.tolist() == [0.0] * 37
    assert (statistics.noise, statistics.n, ridge, scale) == (2.0, 3, 1.5, 0.4)
    assert (prior.name, prior.lengthscale) == ("car", 900.0)


@pytest.mark.parametrize(("noise", "held", "factored"), [(0.0, 0, 1), (0.5, 1 << 29, 2), (1e-9, 2, 2)])
def test_the_priors_own_noise_is_made_once_before_a_draw(
    noise: float, held: int, factored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is any, in multiples of 2^-30 rounded up, the prior's precision is factored too."""
    design = replace(DESIGNS["posterior-sampling"], noise_scale=noise)
    HIDDEN.prior(design.prior, design.lengthscale)
    seen, real = [], BandedCholesky.factor

    def factor(*given: Any, **named: Any) -> BandedCholesky:
        seen.append(given)
        return real(*given, **named)

    monkeypatch.setattr(BandedCholesky, "factor", factor)
    prepared: Any = MECHANISMS["posterior-sampling"].prepare(design, HIDDEN, FEW)
    assert prepared.exact.noise == held
    assert len(seen) == factored
    for _ in range(2):
        draw_release(prepared, SystemEntropy())
    assert len(seen) == factored


def test_bins_are_squares_from_the_south_west_corner() -> None:
    """Seven cells 400 m apart in a row, squares of 1,200 m and of 800 m."""
    facts = PublicFacts(line(7), 10)
    assert square_bins(facts.lattice, 1200.0).tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert square_bins(facts.lattice, 800.0).tolist() == [0, 0, 1, 1, 2, 2, 3]


def test_stand_ins_for_the_records_are_whole_and_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts .4, .5, 1.6 and 2.5 are 0, 0, 2 and 2 records, the last with a mean beyond 1."""
    prior: Any = SimpleNamespace(lattice=None)
    found = np.array([0.4, 0.5, 1.6, 2.5])
    monkeypatch.setattr(noisy_cell_statistics, "estimated_counts", lambda *_: (found, None))
    mean = np.array([0.1, 0.2, -0.3, 1.7])
    monkeypatch.setattr(
        noisy_cell_statistics, "noise_aware_posterior", lambda *given: SimpleNamespace(mean=mean)
    )
    statistics = NoisyStatistics(np.zeros(4), np.zeros(4), 1.0, 4)
    made = reference_records(statistics, prior, 2.0, 0.5)
    assert (made.index.tolist(), made.count.tolist(), made.mean.tolist()) == ([2, 3], [2, 2], [-0.3, 1.0])
    found[:] = 0.5
    with pytest.raises(InvalidValue, match="too noisy to show any record; spend more"):
        reference_records(statistics, prior, 2.0, 0.5)


def test_cells_that_show_a_thousandth_of_the_noise_are_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, doubt = np.array([0.002, 0.0020001, 4.0]), np.array([1.0, 2.0, 3.0])
    monkeypatch.setattr(noisy_cell_statistics, "estimated_counts", lambda *_: (counts, doubt))
    statistics = NoisyStatistics(np.array([1.0, 1.0, 2.0]), np.zeros(3), 2.0, 4)
    cells, mean, variance = cell_observations(statistics, LATTICE, 1.5, 0.4)
    assert cells.tolist() == [1, 2]
    assert mean[1] == 0.5
    assert variance[1] == pytest.approx((4.0 * 0.36 + 3.0 * 0.16 + 4.0) / 16.0)


@pytest.mark.parametrize(
    ("what", "relation", "public", "holds"),
    [
        ("values", "replace-one", True, True),
        ("values", "replace-one", False, False),
        ("values", "add-or-remove", True, False),
        ("values and places", "replace-one", True, True),
        ("values and places", "replace-one", False, True),
        ("values and places", "add-or-remove", False, False),
    ],
)
def test_under_which_public_facts_anything_is_proved(
    what: Any, relation: Any, public: bool, holds: bool
) -> None:
    protection = Protection(what, ("point",))
    refused = protection.refusal(PublicFacts(LATTICE, 1, relation, places_public=public))
    assert (refused == "") == holds
    assert protection.public == ("the number of records",)


def test_a_price_from_a_class_beside_the_mechanism_is_refused_without_its_protection_too() -> None:
    class Priced:
        def guarantee(self, design: Any, facts: Any) -> str:
            return "priced"

        def calibrate(self, design: Any, facts: Any, budget: Any) -> str:
            return "calibrated"

    class Mixed(Priced, Mechanism):  # type: ignore[misc]
        title, protection = "Mixed", Protection("values", ("point",))
        prepare = describe = None  # type: ignore[assignment]

    class Wider(Mixed):
        protection = Protection("values and places", ("point",))

    for mechanism, facts in ((Mixed(), HIDDEN), (Wider(), replace(HIDDEN, relation="add-or-remove"))):
        assert mechanism.calibrate(None, facts, Budget(1.0, 1e-5)) is None
        with pytest.raises(BoundRefused, match=r"^Mixed "):
            mechanism.guarantee(None, facts)
        assert mechanism.guarantee(None, KNOWN) == "priced"
        assert mechanism.calibrate(None, KNOWN, Budget(1.0, 1e-5)) == "calibrated"


def test_what_a_budget_allows_and_what_an_ask_leaves_open() -> None:
    assert Budget(1.0, 1e-5).mu == pytest.approx(0.26805112321104797, rel=1e-12)
    ask = SearchSpec(("car",))
    assert (ask.paths, ask.quick, ask.thorough, ask.cutoff) == (1, False, True, None)


def test_mechanisms_are_found_by_name_and_by_design() -> None:
    for name, design in DESIGNS.items():
        assert mechanism_of(design) is mechanism_named(name) is MECHANISMS[name]
        assert design_from_mapping(design.to_mapping()) == design
    with pytest.raises(DesignError, match=r"^unknown mechanism 'magic': choose one of bin-means, "):
        mechanism_named("magic")
    for nameless in ({}, {"mechanism": None}, {"mechanism": 3}):
        with pytest.raises(DesignError, match=r"^A design names its mechanism\.$"):
            design_from_mapping(nameless)


def test_the_common_share_of_a_spectral_design_is_below_one() -> None:
    assert replace(SPECTRAL, common=0.999).common == 0.999
    for wrong in (1.0, -0.001, float("nan")):
        with pytest.raises(DesignError, match="common must be at least 0 and below 1"):
            replace(SPECTRAL, common=wrong)

"""Study E: the attack on designs themselves, each lower bound on epsilon against the proved bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from dpgp_core.accounting.rdp import ORDERS, EpsilonBound, RdpCurve, covariance_rdp
from dpgp_core.audit.attack import rate_above, rate_below
from dpgp_core.audit.design import AuditRow, DesignAudit, audit_design, own_sampler, worst_pair
from dpgp_core.bounds.registry import BOUNDS, smallest_scale_for, variance_bound
from dpgp_core.mechanisms.cell_sums import statistic_noise_for
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign, path_guarantee
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.lattice import Prior
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts
from geo import domain_from_bbox
from hexcursion.project.load import build_lattice
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice
from hexcursion.search.scenes import public_facts
from studies.reporting.tables import Preset, Report, Stopwatch, StudyResult, StudyTable, quiet, rounded

BOX = (10.0, 50.0, 10.07, 50.035)  # a small imagined town
LENGTHSCALE = 700.0  # metres
COLUMNS = (
    "design", "delta", "proved epsilon", "empirical epsilon", "point estimate", "alarm", "TPR",
    "TPR, interval", "FPR", "FPR, interval",
)  # fmt: skip
INTERVALS = (
    "The empirical epsilon is a lower limit, from Clopper-Pearson limits of both rates (the intervals); "
    "the point estimate takes the rates as they were seen and may lie above the proved bound by chance."
)
CAUTION = (
    "A check, not a guarantee: a lower bound under the proved bound says nothing about other neighbours; a "
    "lower bound above it shows that the sampler or the accountant is broken."
)


@dataclass(frozen=True)
class AuditSettings:
    """Study E. Every design is solved for `epsilon` at `delta` on `n` records of a small hexagonal town.

    Parameters
    ----------
    n
        records
    ridge
        of every design
    epsilon, delta
        the budget
    trials
        shadow releases, and as many fresh ones, per dataset
    confidence
        with which all of an audit's rows hold together
    """

    n: int = 200
    ridge: float = 12.0
    epsilon: float = 4.0
    delta: float = 1e-5
    trials: int = 100_000
    confidence: float = 0.99
    seed: int = 7
    preset: Preset = "full"

    @staticmethod
    def quick() -> AuditSettings:
        """Under a minute: fewer releases."""
        return AuditSettings(trials=40_000, preset="quick")

    @staticmethod
    def full() -> AuditSettings:
        """As the stored figures were made."""
        return AuditSettings()


@dataclass(frozen=True)
class _Case:
    """One audited program: its design, what it claims, and the design that its sampler really runs."""

    title: str
    prior: str
    design: Design
    claim: Callable[[float], EpsilonBound]
    runs: Design


def run(settings: AuditSettings, report: Report | None = None) -> StudyResult:
    """Honest designs, then the two deliberate mistakes."""
    tell, clock = report or quiet, Stopwatch()
    lattice = build_lattice(domain_from_bbox(*BOX, 8))
    priors = {name: make_prior(name, lattice, LENGTHSCALE) for name in ("car", "exponential")}
    cases = _cases(settings, priors)
    entropy = SimulationEntropy(settings.seed)
    rows: list[tuple[str | float, ...]] = []
    for step, case in enumerate(cases):

        def say(fraction: float, text: str, step: int = step, title: str = case.title) -> None:
            tell((step + fraction) / len(cases), f"{title}: {text.lower()}")

        prior = priors[case.prior]
        pair = worst_pair(case.design, prior, settings.n)
        audit = audit_design(
            case.design, prior, settings.n, case.claim, settings.delta, entropy=entropy,
            trials=settings.trials, confidence=settings.confidence, report=say, pair=pair,
            sampler=own_sampler(case.runs, prior, pair.watched, entropy),
        )  # fmt: skip
        rows += audit_rows(case.title, audit)
    return StudyResult(
        "audit",
        settings.preset,
        asdict(settings),
        (settings.seed,),
        f"{settings.trials:,} shadow and {settings.trials:,} fresh releases per dataset",
        clock.seconds,
        (StudyTable("audit", _title(settings.confidence), COLUMNS, tuple(rows)),),
        (
            CAUTION,
            INTERVALS,
            f"{lattice.size} hexagons, n = {settings.n}, ridge {settings.ridge:g}, one path.",
        ),
    )


def audit_choice(
    project: Project,
    choice: Choice,
    *,
    trials: int = 20_000,
    confidence: float = 0.99,
    seed: int = 7,
    report: Report | None = None,
) -> StudyResult:
    """Attack the analyst's own design on its own domain; of the private records only the public n is used.

    Parameters
    ----------
    trials
        shadow releases, and as many fresh ones, per dataset
    confidence
        with which all rows hold together
    report
        called with (fraction, text); may raise to cancel

    Raises
    ------
    ValueError
        For a design whose guarantee does not exist.
    """
    clock, design = Stopwatch(), choice.design
    facts = public_facts(project)
    group = mechanism_of(design).search.group_of(design)
    prior, n = facts.prior(*group), facts.n
    claim = mechanism_of(design).guarantee(design, facts).epsilon
    audit = audit_design(
        design,
        prior,
        n,
        claim,
        project.delta,
        entropy=SimulationEntropy(seed),
        trials=trials,
        confidence=confidence,
        report=report or quiet,
    )
    table = StudyTable("audit", _title(confidence), COLUMNS, tuple(audit_rows("your design", audit)))
    return StudyResult(
        "audit",
        "own design",
        design.to_mapping(),
        (seed,),
        f"{trials:,} shadow and {trials:,} fresh releases",
        clock.seconds,
        (table,),
        (CAUTION, INTERVALS),
    )


def audit_rows(title: str, audit: DesignAudit) -> list[tuple[str | float, ...]]:
    """One table row per delta; intervals with the confidence that the row's lower bound takes them at."""
    failure = (1.0 - audit.confidence) / len(audit.rows) / 4.0

    def interval(successes: int, trials: int) -> str:
        low, high = rate_below(successes, trials, failure), rate_above(successes, trials, failure)
        return f"[{low:.5f}, {high:.5f}]"

    return [
        (
            title,
            row.delta,
            rounded(row.proved),
            rounded(row.lower),
            rounded(_estimate(row)),
            "alarm" if row.alarm else "none",
            rounded(row.counts.true_positive_rate, 5),
            interval(row.counts.hits, row.counts.members),
            rounded(row.counts.false_positive_rate, 5),
            interval(row.counts.alarms, row.counts.others),
        )
        for row in audit.rows
    ]


def _estimate(row: AuditRow) -> float:
    """The epsilon that the observed rates would prove if they were the true ones; inf where one is 0."""
    true, false = row.counts.true_positive_rate, row.counts.false_positive_rate
    sides = [(high - row.delta, low) for high, low in ((true, false), (1.0 - false, 1.0 - true))]
    return max(0.0, *(math.log(high / low) if low > 0.0 else math.inf for high, low in sides if high > 0.0))


def halved_accountant(
    design: PosteriorSamplingDesign, n: int, prior: Prior
) -> Callable[[float], EpsilonBound]:
    """A deliberately broken accountant, for audits only: it takes half the sensitivity.

    Not a `Guarantee`: nothing that releases could ever be handed its numbers.
    """
    honest = path_guarantee(design, n, prior).curve.values
    variance = variance_bound(n, design.ridge, prior.kappa)
    covariance = covariance_rdp(ORDERS, design.ridge, variance)
    known = np.isfinite(honest)  # where the honest curve is infinite, so is this one
    values = np.full(honest.shape, np.inf)
    # Mean terms are quadratic in the sensitivity.
    values[known] = covariance[known] + np.maximum(honest[known] - covariance[known], 0.0) / 4.0
    return RdpCurve(values).epsilon


def _cases(settings: AuditSettings, priors: dict[str, Prior]) -> list[_Case]:
    cases: list[_Case] = []
    best = _sampling(settings, priors["car"], "maximum-principle")
    for name, bounds in (
        ("car", ("maximum-principle", "joint-maximum-principle")),
        ("exponential", ("triangle", "sharp", "joint-sharp")),
    ):
        for bound in (bound for bound in bounds if bound in BOUNDS):
            design = _sampling(settings, priors[name], bound)
            claim = path_guarantee(design, settings.n, priors[name]).epsilon
            best = design if name == "car" else best
            cases.append(_Case(f"{name}, {bound}", name, design, claim, design))
    noise = statistic_noise_for(settings.epsilon, settings.delta)
    statistics = NoisyCellStatisticsDesign("car", LENGTHSCALE, settings.ridge, 1.0, noise)
    facts = PublicFacts(priors["car"].lattice, settings.n)
    claim = mechanism_of(statistics).guarantee(statistics, facts).epsilon
    cases.append(_Case("noisy cell statistics", "car", statistics, claim, statistics))
    honest = path_guarantee(best, settings.n, priors["car"]).epsilon
    halved = replace(best, scale=best.scale / 2.0)
    cases.append(_Case("broken sampler: half the scale", "car", best, honest, halved))
    broken = halved_accountant(best, settings.n, priors["car"])
    cases.append(_Case("broken accountant: half the sensitivity", "car", best, broken, best))
    return cases


def _sampling(settings: AuditSettings, prior: Prior, bound: str) -> PosteriorSamplingDesign:
    solved = smallest_scale_for(
        bound, settings.epsilon, settings.delta, n=settings.n, ridge=settings.ridge, kappa=prior.kappa
    )
    return PosteriorSamplingDesign(
        prior.name, prior.lengthscale, settings.ridge, float(solved.scale), bound=bound
    )


def _title(confidence: float) -> str:
    return (
        "Empirical lower bounds on epsilon under the proved bounds; all rows of a design hold together with "
        f"{100 * confidence:g} % confidence"
    )

"""Study F: an attacker who knows all records but one guesses its place and value, below the proved bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np

from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.spectral_design import fixed_design
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts
from geo import domain_from_bbox
from hexcursion.project.load import build_lattice
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice
from studies.attacks.design_audit import BOX, LENGTHSCALE
from studies.attacks.guessing import (
    Candidates,
    Laws,
    attack_releases,
    gaussian_success,
    laws_of,
    optimal_success,
    success_bound,
    with_record,
)
from studies.reporting.tables import Preset, Report, Stopwatch, StudyResult, StudyTable, quiet, rounded

COLUMNS = (
    "design", "epsilon", "guessed", "chance", "success", "success, lower limit", "success, upper limit",
    "best possible", "bound", "bound from mu alone", "alarm",
)  # fmt: skip
NOTES = (
    "The adversary knows the mechanism, all records but one (they lie together in a corner, where "
    "they hide the last one least) and how likely each candidate is for it: all alike. The guess is "
    "the one that is right most probably given the release; no better one exists.",
    "Best possible: the mean of that probability on releases drawn from the exact law. Limits are "
    "exact (Clopper-Pearson), each with confidence 0.9999.",
    "The bound follows from the cost of the release alone: for Gaussian mechanisms through the "
    "centre of the candidates (Jung), for paths from the Renyi curve and the profile. The bound from "
    "mu alone is the known one, Phi(Phi^-1(chance) + mu); it exists for Gaussian mechanisms.",
)
VALUES = 21  # equally spaced candidates for a value in [-1, 1]; a guess may be one step off
BROKEN_AT = 4.0  # epsilon of the samplers that are broken on purpose
MOST_PLACES = 40  # candidates of a place, spread over the domain
DRAWS = 2_000  # releases from which the best possible success is computed, and shadow releases to learn from


@dataclass(frozen=True)
class ReconstructionSettings:
    """Study F. Every design is made for each of `epsilons` at `delta`, on `n` records of a small town.

    Parameters
    ----------
    ridge
        of the posterior that is sampled
    trials
        releases attacked in each row; of spectral sums, whose noise is drawn exactly, `exact_trials`
    confidence
        of each limit in the table, one-sided
    """

    n: int = 200
    ridge: float = 12.0
    delta: float = 1e-5
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 10.0)
    trials: int = 20_000
    exact_trials: int = 2_000
    confidence: float = 0.9999
    seed: int = 41
    preset: Preset = "full"

    @staticmethod
    def quick() -> ReconstructionSettings:
        """Under a minute: fewer releases and budgets."""
        return ReconstructionSettings(
            epsilons=(1.0, BROKEN_AT), trials=4_000, exact_trials=500, preset="quick"
        )

    @staticmethod
    def full() -> ReconstructionSettings:
        """As the stored figures were made."""
        return ReconstructionSettings()


@dataclass(frozen=True)
class _Case:
    """One attacked program: the proved design and the design that its sampler runs."""

    title: str
    epsilon: float
    design: Design
    runs: Design
    learned: bool = False  # whether the adversary learns the laws from shadow releases


def run(settings: ReconstructionSettings, report: Report | None = None) -> StudyResult:
    """Honest designs at every budget, then two samplers with too little noise."""
    tell, clock = report or quiet, Stopwatch()
    facts = PublicFacts(build_lattice(domain_from_bbox(*BOX, 8)), settings.n)
    cases = list(_cases(settings, facts))
    entropy = SimulationEntropy(settings.seed)
    rows: list[tuple[str | float, ...]] = []
    for step, case in enumerate(cases):
        tell(step / len(cases), f"{case.title}, epsilon {case.epsilon:g}: drawing and guessing")
        rows += [
            _row(settings, facts, case, *question, entropy)
            for question in _questions(facts)
            if not case.learned or question[1].size == 2
        ]
    return StudyResult(
        "reconstruction",
        settings.preset,
        asdict(settings),
        (settings.seed,),
        f"{settings.trials:,} releases attacked in each row, {settings.exact_trials:,} of spectral sums",
        clock.seconds,
        (StudyTable("reconstruction", "Right guesses of the last record", COLUMNS, tuple(rows)),),
        (
            *NOTES,
            "The learned attack estimates mean and covariance from shadow releases of both candidates, as "
            "one must where no law is known.",
            f"{facts.lattice.size} hexagons, n = {settings.n}, delta {settings.delta:g}; an alarm would show "
            "that a sampler or the accountant is broken, no alarm proves nothing.",
        ),
    )


def reconstruct_choice(
    project: Project, choice: Choice, *, trials: int = 300, seed: int = 41, report: Report | None = None
) -> StudyResult | None:
    """Attack the analyst's own design of sums on its own domain; of the private records only n is used.

    Returns
    -------
    StudyResult or None
        None unless the release is a sum with independent noise: `audit_choice` attacks paths.

    Raises
    ------
    ValueError
        For a design whose guarantee does not exist.
    """
    tell, clock, design = report or quiet, Stopwatch(), choice.design
    facts = choice.facts(project)
    record = CollapsedRecords.from_records([0], [1.0])
    if questions.mean_and_noise(design, facts, record, [0]) is None:
        return None
    settings = ReconstructionSettings(
        n=facts.n, delta=project.delta, trials=trials, exact_trials=trials, seed=seed, preset="own design"
    )
    case = _Case("your design", project.settings.epsilon, design, design)
    guesses, entropy, rows = list(_questions(facts)), SimulationEntropy(seed), []
    for step, (title, candidates) in enumerate(guesses):
        tell(step / len(guesses), f"Guessing the last record: {title}")
        rows.append(_row(settings, facts, case, title, candidates, entropy))
    return StudyResult(
        "reconstruction",
        "own design",
        design.to_mapping(),
        (seed,),
        f"{trials:,} simulated releases attacked in each row",
        clock.seconds,
        (StudyTable("reconstruction", "Right guesses of the last record", COLUMNS, tuple(rows)),),
        NOTES,
    )


def _cases(settings: ReconstructionSettings, facts: PublicFacts) -> Iterator[_Case]:
    paths = PosteriorSamplingDesign("car", LENGTHSCALE, settings.ridge, 1.0)
    open_designs: tuple[tuple[str, Design], ...] = (
        ("noisy cell statistics", NoisyCellStatisticsDesign("car", LENGTHSCALE, 1.0, 1.0, 1.0)),
        ("spectral sums", fixed_design(facts.lattice.spacing)),
        ("posterior path", paths),
        ("three posterior paths", replace(paths, paths=3)),
    )
    for title, design in open_designs:
        for epsilon in settings.epsilons:
            made = _solved(design, facts, epsilon, settings.delta)
            yield _Case(title, epsilon, made, made)
    cells = _solved(open_designs[0][1], facts, BROKEN_AT, settings.delta)
    path = _solved(paths, facts, BROKEN_AT, settings.delta)
    assert isinstance(cells, NoisyCellStatisticsDesign)
    assert isinstance(path, PosteriorSamplingDesign)
    yield _Case("posterior path, learned attack", BROKEN_AT, path, path, learned=True)
    less = replace(cells, statistic_noise=cells.statistic_noise / 2.0)
    yield _Case("broken cell statistics: half the noise", BROKEN_AT, cells, less)
    yield _Case("broken path: a quarter of the scale", BROKEN_AT, path, replace(path, scale=path.scale / 4.0))


def _solved(design: Design, facts: PublicFacts, epsilon: float, delta: float) -> Design:
    made = mechanism_of(design).calibrate(design, facts, Budget(epsilon, delta))
    assert made is not None  # the ridge is large enough for every budget asked for
    return made


def _questions(facts: PublicFacts) -> Iterator[tuple[str, Candidates]]:
    """Guesses: yes or no, a value, a place, or both; a known place is the middle of the domain.

    Public places and the values of counted records are not guessed, since the release does not hide them.
    """
    cells = np.unique(np.linspace(0, facts.lattice.size - 1, MOST_PLACES).astype(np.int64))
    size, valued = cells.size, facts.law in ("amount", "yes-no")
    centres = facts.lattice.domain_centres
    middle = int(np.argmin(np.linalg.norm(centres - centres.mean(axis=0), axis=1)))
    values = np.linspace(-1.0, 1.0, VALUES)
    if valued:
        yield "yes or no", Candidates.of([middle] * 2, [-1.0, 1.0])
    if facts.law == "amount":
        step = float(values[1] - values[0])
        yield "value within .1", Candidates.of(np.full(VALUES, middle), values, tolerance=step)
    if facts.neighbours == "values-only":
        return
    yield "place", Candidates.of(cells, np.ones(size))
    if valued:
        yield "place and yes or no", Candidates.of(np.repeat(cells, 2), np.tile([-1.0, 1.0], size))


def _row(
    settings: ReconstructionSettings,
    facts: PublicFacts,
    case: _Case,
    asked: str,
    candidates: Candidates,
    entropy: SimulationEntropy,
) -> tuple[str | float, ...]:
    mechanism = mechanism_of(case.design)
    corner = int(np.argmin(facts.lattice.domain_centres.sum(axis=1)))
    core = CollapsedRecords.from_records(np.full(settings.n - 1, corner), np.zeros(settings.n - 1))
    cost = mechanism.guarantee(case.design, facts).cost

    def sample(truth: int, releases: int) -> np.ndarray:
        records = with_record(core, candidates, truth)
        return questions.seen(
            case.runs, facts, records, candidates.places, questions.Draws(releases, entropy)
        )

    if case.learned:
        laws = Laws.learned([sample(number, DRAWS) for number in range(candidates.size)])
    else:
        laws = laws_of(case.runs, facts, core, candidates)
    # Exact noise takes a second for a thousand numbers, so fewer releases are attacked.
    slow = mechanism.free_paths and mechanism.search.quick
    found = attack_releases(
        candidates,
        laws,
        sample,
        success_bound(cost, candidates.chance, candidates.size),
        entropy,
        trials=settings.exact_trials if slow else settings.trials,
        confidence=settings.confidence,
    )
    best, _ = optimal_success(candidates, laws, entropy, DRAWS, _paths(case.runs))
    known = "" if cost.gaussian_mu is None else rounded(gaussian_success(cost.gaussian_mu, found.chance))
    low, high = found.interval
    return (
        case.title, case.epsilon, asked, rounded(found.chance), rounded(found.success), rounded(low),
        rounded(high), rounded(best), rounded(found.bound), known, "alarm" if found.alarm else "none",
    )  # fmt: skip


def _paths(design: Design) -> int:
    """Released paths that an attack sees; sums are seen once."""
    return design.paths if isinstance(design, PosteriorSamplingDesign) else 1

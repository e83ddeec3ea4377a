"""The neural process on a line: its log-likelihood against the sparse process and what no privacy allows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.linalg import cholesky, solve_lower
from dpgp_core.noise import SimulationEntropy
from hexcursion_peers.neural.line import CELLS, CLIP, DOMAIN, FAMILIES, PLACES, LineEncoder, at_places
from hexcursion_peers.neural.simulated.line_tasks import Law
from hexcursion_peers.neural.weights import line_network
from hexcursion_peers.sparse.moments import Moments, free_balance, sensitivity, symmetric_noise
from hexcursion_peers.sparse.norms import largest_norm
from hexcursion_peers.sparse.posterior import errors_in_variables
from studies.excursions.fields import Floats
from studies.material.real_files import BESIDE
from studies.reporting.tables import Preset, Report, Stopwatch, StudyResult, StudyTable, quiet, rounded

DELTA = 1e-3
LAWS = (Law("eq", 0.71), Law("matern", 0.71), Law("periodic", 0.8), Law("sawtooth", 0.5))
TITLES = {
    "eq": "Gaussian kernel",
    "matern": "Matern 3/2",
    "periodic": "weakly periodic",
    "sawtooth": "sawtooth",
    "people": "people",
}
TARGETS, PHASES = 128, 512
NUGGET = 1e-6  # of the inducing points' covariance, so that it can be inverted
SPACINGS = (1.0, 1.5, 2.0, 3.0)  # of the inducing points, lengthscales
NODES = 40  # inducing points at most
CHOOSING = 8  # tasks on which the spacing is chosen
WAVES = 5  # inducing points within the period of a sawtooth, which four numbers describe
NORMAL_95 = 1.959963984540054
OLDEST = 90.0  # years: public end of the ages
Response = Literal["height", "weight"]
RESPONSES: dict[Response, tuple[float, float]] = {
    "height": (140.0, 25.0),
    "weight": (35.0, 15.0),
}  # public middle and unit, cm and kg
PEOPLE = Law("people", 2.0, 0.4)  # in the middle of what the network was trained for
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class NeuralSettings:
    """The paper's synthetic tasks, and its people: fields of each law and splits of the people, numbers
    of records, budgets at `DELTA`, and the people's file; an empty one leaves them out."""

    tasks: int = 32
    numbers: tuple[int, ...] = (64, 128, 256, 512)
    epsilons: tuple[float, ...] = (1.0 / 3.0, 1.0, 3.0)
    people: str = ""
    seed: int = 20_241_211
    preset: Preset = "full"

    @staticmethod
    def full() -> NeuralSettings:
        """The people too, where the checkout has their table."""
        table = BESIDE / "other" / "Howell1.csv"
        return NeuralSettings(people=str(table) if table.is_file() else "")

    @staticmethod
    def quick() -> NeuralSettings:
        """Some seconds: few fields, two numbers of records, two budgets."""
        return NeuralSettings(tasks=8, numbers=(64, 512), epsilons=(1.0, 3.0), preset="quick")


@dataclass(frozen=True, eq=False)
class Predicted:
    """Mean and deviation of a response at all places, (CELLS,) each."""

    mean: Floats
    sd: Floats

    def nll(self, at: Ints, responses: Floats) -> float:
        """Mean negative log density of responses (n,) at places (n,), by index."""
        apart = (responses - self.mean[at]) / self.sd[at]
        return float(np.mean(0.5 * np.square(apart) + np.log(self.sd[at])) + 0.5 * np.log(2.0 * np.pi))

    def covered(self, at: Ints, responses: Floats) -> float:
        """Share of the responses (n,) at places (n,) that are within 95 % intervals."""
        return float(np.mean(np.abs(responses - self.mean[at]) <= NORMAL_95 * self.sd[at]))


@dataclass(frozen=True, eq=False)
class Sample:
    """Records: the index (n,) of their places, and their responses (n,)."""

    at: Ints
    said: Floats


def run(settings: NeuralSettings, report: Report | None = None) -> StudyResult:
    """Negative log-likelihoods of every method, law, number of records and epsilon; then the people."""
    tell, clock = report or quiet, Stopwatch()
    tables: tuple[StudyTable, ...] = (
        StudyTable(
            "synthetic",
            "Mean negative log-likelihood of 128 held-out responses a task, lower is better",
            ("law", "records", "epsilon", "method", "NLL", "standard error"),
            tuple(_synthetic(settings, tell)),
        ),
    )
    if settings.people:
        table = StudyTable(
            "people",
            "Heights and weights over age, trained on simulated fields only: held-out people",
            ("response", "records", "epsilon", "method", "NLL", "standard error", "within 95 %"),
            tuple(_people(settings, tell)),
        )
        tables = (*tables, table)
    tell(1.0, "Done")
    return StudyResult(
        "neural-line",
        settings.preset,
        asdict(replace(settings, people=Path(settings.people).name)),
        (settings.seed,),
        f"{settings.tasks} tasks each",
        clock.seconds,
        tables,
        NOTES,
    )


NOTES = (
    "Laws, budgets and numbers of records are of Raisa and others 2024, section 5.2: places even in [-2, 2], "
    "scatter .2, delta .001, responses clipped to [-2, 2]. The scale is smaller: one network of 0.2 million "
    "weights for all laws, trained for minutes on a processor core, where the paper trains 13 million for "
    "hours on a GPU; 32 tasks where it has 512.",
    "The network is told the kind of law, not its lengthscale, period or phase. The sparse process is ours "
    "(Honkela and Melkas 2021, read as errors in variables) and is told the law's own covariance, lengthscale"
    " and scatter, which the paper's has to find by noisy training. Both pay the same epsilon and delta for "
    "one record exchanged, place and response; its inducing points stand as far apart as serves it best "
    "on eight of the tasks that are judged, of four spacings.",
    "'without privacy' is the exact posterior under the law itself; 'nothing released' is the law before any "
    "record.",
    "People: the !Kung (Howell), age in 1,024 steps of 90 years, height in units of 25 cm around 140 and "
    "weight in units of 15 kg around 35, all public choices; the paper's unit differs, so its figures do not "
    "compare. Without privacy, lengthscale and scatter are those of largest likelihood; the sparse process "
    "has those in the middle of the network's training.",
)


def draw(law: Law, number: int, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Records of a fresh field of a law, and held-out ones."""
    field = law.field(rng)

    def sample(size: int) -> Sample:
        at = rng.integers(0, CELLS, size)
        return Sample(at, field[at] + law.scatter * rng.standard_normal(size))

    return sample(number), sample(TARGETS)


def nothing(law: Law) -> Predicted:
    """The law before any record."""
    deviation = np.sqrt(law.covariance(np.zeros(CELLS)) + law.scatter**2)
    return Predicted(np.zeros(CELLS), deviation)


@lru_cache(maxsize=4)
def _waves(law: Law) -> Floats:
    """(2 PHASES, CELLS) sawteeth of every phase and direction."""
    phase, direction = np.arange(PHASES) / PHASES, np.ones(PHASES)
    sawteeth = np.concatenate([phase, phase]), np.concatenate([direction, -direction])
    return law.sawtooth(*sawteeth, PLACES)


def _between(law: Law, first: Ints, second: Ints) -> Floats:
    """Prior covariance between places, by index: one value for each distance is computed."""
    return np.asarray(law.covariance(PLACES - PLACES[0])[np.abs(first[:, None] - second)])


def _factor(law: Law, sample: Sample) -> Floats:
    prior = _between(law, sample.at, sample.at) + law.scatter**2 * np.eye(sample.at.size)
    return cholesky(prior, "the records' covariance", "give them scatter")


def without_privacy(law: Law, sample: Sample) -> Predicted:
    """The exact posterior: of the Gaussian process, or of the sawtooth's phase and direction."""
    if law.family == "sawtooth":
        waves = _waves(law)
        apart = np.square(waves[:, sample.at] - sample.said).sum(axis=1) / (2.0 * law.scatter**2)
        weight = np.exp(apart.min() - apart)
        weight /= weight.sum()
        mean = weight @ waves
        return Predicted(mean, np.sqrt(weight @ np.square(waves) - mean**2 + law.scatter**2))
    factor = _factor(law, sample)
    half = solve_lower(factor, _between(law, sample.at, np.arange(CELLS)))
    variance = law.covariance(np.zeros(1)) - np.square(half).sum(axis=0)
    mean = half.T @ solve_lower(factor, sample.said)
    return Predicted(mean, np.sqrt(np.maximum(variance, 0.0) + law.scatter**2))


def likelihood(law: Law, sample: Sample) -> float:
    """Log marginal likelihood of the records under a Gaussian law, but for a constant."""
    factor = _factor(law, sample)
    white = solve_lower(factor, sample.said)
    return float(-0.5 * white @ white - np.log(factor.diagonal()).sum())


def network_predictions(
    family: str, samples: list[Sample], mu: float, rng: np.random.Generator
) -> list[Predicted]:
    """One release of each sample at mu, read by the network in one go."""
    encoder = LineEncoder.shared()
    noise = encoder.noise(mu)
    released = [encoder.released(sample.at, sample.said, noise, rng.standard_normal) for sample in samples]
    count = len(samples)
    channels, context = encoder.inputs(
        np.array([sums for sums, _ in released]),
        np.array([counts for _, counts in released]),
        np.tile([noise.sums, noise.counts or 0.0], (count, 1)),
        np.array([float(sample.at.size) for sample in samples]),
        np.full(count, FAMILIES.index(family)),
    )
    means, sds = (at_places(values.astype(float)) for values in line_network()(channels, context))
    return [Predicted(mean, sd) for mean, sd in zip(means, sds, strict=True)]


@dataclass(frozen=True, eq=False)
class Inducing:
    """The public part of the sparse process for a law: `cross` (CELLS, k) correlations with the inducing
    points and `between` (k, k) among them; `norm`, the largest squared length of a row of `cross`,
    rounded upwards, bounds what one record changes."""

    cross: Floats
    between: Floats
    norm: float

    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, law: Law, spacing: float) -> Inducing:
        """Points so many lengthscales apart; for a sawtooth, whose covariance repeats, within one period."""
        length = law.length / (2.0 * np.pi) if law.family == "periodic" else law.length
        nodes = np.linspace(-DOMAIN, DOMAIN, min(NODES, int(np.ceil(2.0 * DOMAIN / length / spacing)) + 1))
        if law.family == "sawtooth":
            nodes = np.arange(WAVES) / (WAVES * law.length)
        variance = float(law.covariance(np.zeros(1))[0])
        cross = law.covariance(PLACES[:, None] - nodes) / variance
        between = law.covariance(nodes[:, None] - nodes) / variance + NUGGET * np.eye(nodes.size)
        return cls(cross, between, largest_norm(cross))


def sparse_prediction(
    law: Law, sample: Sample, mu: float, entropy: SimulationEntropy, spacing: float
) -> Predicted:
    """One release of both moments at mu, the second free of charge, read as errors in variables."""
    inducing = Inducing.of(law, spacing)
    balance = free_balance(CLIP, inducing.norm)
    first = sensitivity(CLIP, inducing.norm, balance) / mu
    second = first / float(np.sqrt(balance))
    phi, responses = inducing.cross[sample.at], np.clip(sample.said, -CLIP, CLIP)
    size = phi.shape[1]
    moments = Moments(
        phi.T @ responses + first * entropy.normal((size,)),
        phi.T @ phi + symmetric_noise(size, second, entropy),
        first,
        second,
    )
    scale = float(np.sqrt(law.covariance(np.zeros(1))[0]))
    posterior = errors_in_variables(inducing.between, moments.scaled(scale), (law.scatter / scale) ** 2)
    projection = np.asarray(np.linalg.solve(inducing.between, inducing.cross.T).T, dtype=np.float64)
    mean, variance = posterior.at(projection, inducing.between, np.ones(CELLS))
    return Predicted(scale * mean, np.sqrt(scale**2 * variance + law.scatter**2))


def sparse_predictions(
    law: Law, samples: list[Sample], held_out: list[Sample], mu: float, seed: int
) -> list[Predicted]:
    """One release of each sample, with the spacing that serves the first ones best: a gift to this method."""

    def made(spacing: float, chosen_samples: list[Sample]) -> list[Predicted]:
        entropy = SimulationEntropy(seed)
        return [sparse_prediction(law, sample, mu, entropy, spacing) for sample in chosen_samples]

    spacings = SPACINGS[:1] if law.family == "sawtooth" else SPACINGS
    scores = {
        spacing: mean_nll(made(spacing, samples[:CHOOSING]), held_out[:CHOOSING]) for spacing in spacings
    }
    return made(min(spacings, key=lambda spacing: scores[spacing]), samples)


def mean_nll(predicted: list[Predicted], held_out: list[Sample]) -> float:
    """Over tasks, of held-out responses."""
    return float(
        np.mean([prediction.nll(to.at, to.said) for prediction, to in zip(predicted, held_out, strict=True)])
    )


def _synthetic(settings: NeuralSettings, tell: Report) -> Iterator[tuple[str | float, ...]]:
    jobs = [(law, number) for law in LAWS for number in settings.numbers]
    for step, (law, number) in enumerate(jobs):
        title = TITLES[law.family]
        tell(0.8 * step / len(jobs), f"{title}, {number} records")
        rng = np.random.default_rng([settings.seed, step])
        pairs = [draw(law, number, rng) for _ in range(settings.tasks)]
        samples, held_out = [sample for sample, _ in pairs], [sample for _, sample in pairs]
        exact = [without_privacy(law, sample) for sample in samples]
        for epsilon in settings.epsilons:
            mu = float(gaussian_mu(epsilon, DELTA))
            predictions = {
                "without privacy": exact,
                "neural process": network_predictions(law.family, samples, mu, rng),
                "sparse process": sparse_predictions(law, samples, held_out, mu, settings.seed + step),
                "nothing released": [nothing(law)] * settings.tasks,
            }
            for method, predicted in predictions.items():
                scores = [
                    prediction.nll(to.at, to.said) for prediction, to in zip(predicted, held_out, strict=True)
                ]
                yield title, number, rounded(epsilon, 3), method, *_two(scores)


def _two(scores: list[float]) -> tuple[float, float]:
    return rounded(float(np.mean(scores))), rounded(float(np.std(scores, ddof=1)) / len(scores) ** 0.5)


def read_people(path: Path, response: Response) -> Sample:
    """Everybody's age as a place, and height or weight in public units."""
    middle, unit = RESPONSES[response]
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    age = np.array([float(row["age"]) for row in rows])
    at = np.clip((age / OLDEST * CELLS).astype(np.int64), 0, CELLS - 1)
    return Sample(at, (np.array([float(row[response]) for row in rows]) - middle) / unit)


def _people(settings: NeuralSettings, tell: Report) -> Iterator[tuple[str | float, ...]]:
    for place, response in enumerate(RESPONSES):
        people = read_people(Path(settings.people), response)
        for step, number in enumerate(settings.numbers):
            tell(0.8 + 0.1 * place + 0.02 * step, f"People's {response}, {number} records")
            rng = np.random.default_rng([settings.seed, 100 + 10 * place + step])
            orders = [rng.permutation(people.at.size) for _ in range(settings.tasks)]
            samples = [Sample(people.at[order[:number]], people.said[order[:number]]) for order in orders]
            held_out = [Sample(people.at[order[number:]], people.said[order[number:]]) for order in orders]
            best = max(
                (
                    Law("people", length, scatter)
                    for length in (0.5, 1.0, 2.0, 4.0)
                    for scatter in (0.2, 0.3, 0.4, 0.5, 0.6)
                ),
                key=lambda law: likelihood(law, samples[0]),
            )
            exact = [without_privacy(best, sample) for sample in samples]
            for epsilon in settings.epsilons:
                mu = float(gaussian_mu(epsilon, DELTA))
                predictions = {
                    "without privacy": exact,
                    "neural process": network_predictions("people", samples, mu, rng),
                    "sparse process": sparse_predictions(
                        PEOPLE, samples, held_out, mu, settings.seed + 100 + step
                    ),
                    "nothing released": [nothing(PEOPLE)] * settings.tasks,
                }
                for method, predicted in predictions.items():
                    pairs = list(zip(predicted, held_out, strict=True))
                    scores = [prediction.nll(to.at, to.said) for prediction, to in pairs]
                    share = float(np.mean([prediction.covered(to.at, to.said) for prediction, to in pairs]))
                    yield response, number, rounded(epsilon, 3), method, *_two(scores), rounded(share, 3)

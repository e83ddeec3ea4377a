"""Peers on a line: the noisy-function example of the sparse process, and heights over age for cloaking."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.dense import squared_exponential
from hexcursion.errors import WorkflowError
from hexcursion_peers.labels.cloak import make_cloak
from hexcursion_peers.labels.features import posterior_weights
from hexcursion_peers.labels.private_choice import Fold, ValueSums, choose_candidate
from hexcursion_peers.sparse.moments import Moments, sensitivity, symmetric_noise
from hexcursion_peers.sparse.norms import grid_norm
from hexcursion_peers.sparse.posterior import (
    InducingPosterior,
    errors_in_variables,
    private_posterior,
    regularisation_bound,
)
from hexcursion_peers.studies.bins import bin_of, means_of_sums, read_bins
from studies.excursions.fields import Floats
from studies.material.real_files import BESIDE
from studies.reporting.tables import Preset, Report, Stopwatch, StudyResult, StudyTable, quiet, rounded

NORMAL_90 = 1.6448536269514722  # half width of a 90 % interval, in deviations
NODES, REACH, HALF = 15, 3.5, 512
BOUND = 3.0  # of the responses in the first example
DELTA_LINE, DELTA_HEIGHTS = 1e-4, 0.01
CENTRE, WIDTH = 108.2675, 100.0  # cm: public interval of the heights, 58 to 158
SPREAD = 25.74214905230349  # cm: the example's own scale
NOISE = 0.3  # variance of a height around the curve, in units of SPREAD^2
Reading = Literal["no noise in the variances", "shrunken", "errors in variables"]
BinReading = Literal["bins", "process on bins"]
BIN_READINGS: tuple[BinReading, ...] = ("bins", "process on bins")
BINS = (3, 5, 9, 15, 27)
HEIGHTS = BESIDE / "other" / "Howell1.csv"
RANGES = (3.0, 5.8, 11.2, 21.7, 42.0, 81.0)  # years


@dataclass(frozen=True)
class OneDimensionSettings:
    """Both examples: fields of the first and releases of the second, budgets, scatters of the first
    example's values, and the file of the second; an empty one leaves it out."""

    repeats: int = 40
    epsilons: tuple[float, ...] = (1.0, 3.0, 10.0)
    noises: tuple[float, ...] = (0.1, 0.3, 0.5)
    heights: str = ""
    seed: int = 7
    preset: Preset = "full"

    @staticmethod
    def full() -> OneDimensionSettings:
        """Both examples, the second where the checkout has its table."""
        return OneDimensionSettings(heights=str(HEIGHTS) if HEIGHTS.is_file() else "")

    @staticmethod
    def quick() -> OneDimensionSettings:
        """Under a minute: the noisy function, two noise levels, two budgets."""
        return OneDimensionSettings(repeats=8, epsilons=(1.0, 10.0), noises=(0.1, 0.5), preset="quick")


def run(settings: OneDimensionSettings, report: Report | None = None) -> StudyResult:
    """Coverage and error of the sparse process on a line; errors of every peer on the heights."""
    tell, clock = report or quiet, Stopwatch()
    line = StudyTable(
        "line",
        "A noisy function on a line: 90 % intervals of held-out values, places and values private",
        ("noise", "epsilon", "reading", "coverage", "standard error", "RMSE"),
        tuple(_line_rows(settings, tell)),
    )
    tables: tuple[StudyTable, ...] = (line,)
    if settings.heights:
        tell(0.7, "Heights over age")
        table = StudyTable(
            "heights",
            "Heights of 287 women over age, values private: root mean square error in cm",
            ("method", "epsilon", "range (years)", "RMSE (cm)", "deviation (cm)"),
            tuple(_height_rows(settings, tell)),
        )
        tables = (line, table)
    tell(1.0, "Done")
    return StudyResult(
        "one-dimension",
        settings.preset,
        asdict(replace(settings, heights=Path(settings.heights).name)),
        (settings.seed,),
        f"{settings.repeats} fields or releases each",
        clock.seconds,
        tables,
        NOTES,
    )


NOTES = (
    "First example: a draw of a Gaussian process of range 1 at 1,024 places of [-4, 4], half of them for "
    "training, 15 inducing points, delta 1e-4, responses clipped to [-3, 3] (Honkela and Melkas 2021, figure "
    "2, whose bound of the responses is not stated). 'no noise in the variances' leaves out what the privacy "
    "noise adds, 'shrunken' is the paper's with its covariance corrected, 'errors in variables' is our own.",
    "Second example: heights of the !Kung San (Howell), public interval of 100 cm, delta .01 (Smith et al. "
    "2018). The paper prints 6.8 cm without privacy and 12.2 cm cloaked at epsilon 1; with hyperparameters "
    "chosen at a further epsilon of 1, 23.4 to 50.7 for bins, 14.2 to 20.8 for the process on bins, 17.4 for "
    "cloaking.",
)


def kernel(a: Floats, b: Floats, lengthscale: float = 1.0) -> Floats:
    """(|a|, |b|) squared exponential correlations."""
    return squared_exponential(np.abs(a[:, None] - b[None, :]) / lengthscale)


def _line_rows(settings: OneDimensionSettings, tell: Report) -> Iterator[tuple[str | float, ...]]:
    jobs = [(noise, epsilon) for noise in settings.noises for epsilon in settings.epsilons]
    for step, (noise, epsilon) in enumerate(jobs):
        tell(0.7 * step / len(jobs), f"Noisy function, noise {noise:g}, epsilon {epsilon:g}")
        for reading, (covered, error) in coverage(noise, epsilon, settings.repeats, settings.seed).items():
            yield (
                noise,
                epsilon,
                reading,
                rounded(covered.mean()),
                rounded(covered.std(ddof=1) / np.sqrt(covered.size)),
                rounded(error.mean()),
            )


def coverage(noise: float, epsilon: float, repeats: int, seed: int) -> dict[Reading, tuple[Floats, Floats]]:
    """For each reading (repeats,) shares of held-out values inside their 90 % intervals, and RMSEs."""
    nodes = np.linspace(-REACH, REACH, NODES)
    between = kernel(nodes, nodes) + 1e-8 * np.eye(NODES)
    deviation = sensitivity(BOUND, grid_norm([nodes], [1.0])) / gaussian_mu(epsilon, DELTA_LINE)
    step = regularisation_bound(deviation, noise**2, NODES)
    shares: dict[Reading, list[tuple[float, float]]] = {}
    for number in range(repeats):
        generator, entropy = np.random.default_rng(seed + number), SimulationEntropy(1000 * seed + number)
        places = generator.uniform(-4, 4, 2 * HALF)
        factor = np.linalg.cholesky(kernel(places, places) + 1e-7 * np.eye(places.size))
        field = factor @ generator.normal(size=places.size)
        values = np.clip(field + noise * generator.normal(size=places.size), -BOUND, BOUND)
        cross = kernel(places, nodes)
        half = cross[:HALF]
        moments = Moments(
            half.T @ values[:HALF] + deviation * entropy.normal((NODES,)),
            half.T @ half + symmetric_noise(NODES, deviation, entropy),
            deviation,
            deviation,
        )
        projection = np.linalg.solve(between, cross[HALF:].T).T
        for reading, posterior in _readings(between, moments, noise**2, step).items():
            mean, variance = posterior.at(np.asarray(projection, dtype=np.float64), between, np.ones(HALF))
            gap = np.abs(values[HALF:] - mean)
            inside = gap <= NORMAL_90 * np.sqrt(variance + noise**2)
            shares.setdefault(reading, []).append((float(inside.mean()), float(np.sqrt(np.mean(gap**2)))))
    return {reading: (np.array(rows)[:, 0], np.array(rows)[:, 1]) for reading, rows in shares.items()}


def _readings(
    between: Floats, moments: Moments, variance: float, step: float
) -> dict[Reading, InducingPosterior]:
    shrunken = private_posterior(between, moments, variance, step)
    bare = private_posterior(between, replace(moments, first_noise=1e-9, second_noise=1e-9), variance, step)
    return {
        "no noise in the variances": bare,
        "shrunken": shrunken,
        "errors in variables": errors_in_variables(between, moments, variance),
    }


@dataclass(frozen=True, eq=False)
class Heights:
    """(n,) ages in years and heights in cm of the women of the table."""

    age: Floats
    height: Floats

    @classmethod
    def read(cls, path: Path) -> Heights:
        """From the table as it is published. Raises WorkflowError if it is not there."""
        if not path.is_file():
            raise WorkflowError(
                f"{path.name} is not there: it is not shipped; name the folder that holds it."
            )
        with path.open(encoding="utf-8") as file:
            women = [row for row in csv.DictReader(file) if row["male"] == "0"]
        age, height = (np.array([float(row[name]) for row in women]) for name in ("age", "height"))
        return cls(age, height)

    @property
    def scaled(self) -> Floats:
        """(n,) heights clipped to the public interval and centred, in units of SPREAD."""
        clipped = np.clip(self.height, CENTRE - WIDTH / 2.0, CENTRE + WIDTH / 2.0)
        return np.asarray((clipped - CENTRE) / SPREAD)

    def error(self, predicted: Floats) -> float:
        """Root mean square error, cm, of predictions (n,) at the ages; these are in units of SPREAD."""
        return float(np.sqrt(np.mean((CENTRE + SPREAD * predicted - self.height) ** 2)))


def _height_rows(settings: OneDimensionSettings, tell: Report) -> Iterator[tuple[str | float, ...]]:
    heights = Heights.read(Path(settings.heights))
    plain = posterior_weights(
        kernel(heights.age, heights.age, 25.0), kernel(heights.age, heights.age, 25.0), NOISE
    )
    yield "without privacy", "", 25.0, rounded(heights.error(plain @ heights.scaled), 2), ""
    entropy = SimulationEntropy(settings.seed)
    for epsilon in (0.5, 1.0, 2.0):
        tell(0.8, f"Heights, epsilon {epsilon:g}")
        for bins in BINS:
            for reading in BIN_READINGS:
                errors = [binned(heights, bins, epsilon, reading, entropy) for _ in range(settings.repeats)]
                yield f"{reading}, {bins}", epsilon, 25.0, *_two(errors)
        for length in RANGES:
            errors = cloaked(heights, length, epsilon, settings.repeats, entropy)
            yield "cloaking", epsilon, length, *_two(errors)
        errors, lengths = selected(heights, epsilon, epsilon, settings.repeats, entropy)
        yield (
            "cloaking, range by the exponential mechanism",
            2.0 * epsilon,
            rounded(lengths, 1),
            *_two(errors),
        )


def _two(errors: list[float]) -> tuple[float, float]:
    return rounded(float(np.mean(errors)), 2), rounded(float(np.std(errors, ddof=1)), 2)


def binned(
    heights: Heights, bins: int, epsilon: float, reading: BinReading, entropy: SimulationEntropy
) -> float:
    """RMSE of means of equal bins of age with Laplace noise, as they are or read by a process."""
    edges = np.linspace(0.0, 90.0, bins + 1)
    at = bin_of(heights.age, edges)
    count = np.bincount(at, minlength=bins).astype(np.float64)
    change = WIDTH / SPREAD
    uniform = entropy.uniform((bins,)) - 0.5
    laplace = -np.sign(uniform) * np.log1p(-2.0 * np.abs(uniform)) * change / epsilon
    means = means_of_sums(np.bincount(at, heights.scaled, bins) + laplace, count, epsilon, change)
    if reading == "bins":
        return heights.error(means.mean[at])
    fine = (edges[:-1, None] + (np.arange(8) + 0.5) / 8.0 * (edges[1] - edges[0])).ravel()
    average = np.kron(np.eye(bins), np.full(8, 1.0 / 8.0))
    between = average @ kernel(fine, fine, 25.0) @ average.T
    cross = kernel(heights.age, fine, 25.0) @ average.T
    prior = kernel(heights.age, heights.age, 25.0)
    return heights.error(read_bins(means, between, cross, prior, NOISE / np.maximum(count, 1.0)).mean)


def cloaked(
    heights: Heights, length: float, epsilon: float, repeats: int, entropy: SimulationEntropy
) -> list[float]:
    """RMSEs of cloaked posterior means at the ages, noise of least mean square, exact Gaussian."""
    age, among = heights.age, kernel(heights.age, heights.age, length)
    matrix = posterior_weights(among, among, NOISE)
    cloak = make_cloak(matrix, "mean-square", tolerance=1e-2, rank_tolerance=1e-2)
    noise = cloak.covariance(WIDTH / SPREAD, gaussian_mu(epsilon, DELTA_HEIGHTS))
    value, vector = np.linalg.eigh(noise)
    root = vector * np.sqrt(np.maximum(value, 0.0))
    mean = cloak.basis @ (cloak.basis.T @ (matrix @ heights.scaled))
    return [heights.error(mean + root @ entropy.normal((age.size,))) for _ in range(repeats)]


def selected(
    heights: Heights, selection: float, epsilon: float, repeats: int, entropy: SimulationEntropy
) -> tuple[list[float], float]:
    """RMSEs with the range chosen by the exponential mechanism at `selection`, and the mean chosen range."""
    candidates = [folds(heights, length, epsilon) for length in RANGES]
    sums = ValueSums.of(heights.scaled + WIDTH / SPREAD / 2.0, WIDTH / SPREAD)
    errors, lengths = [], []
    for _ in range(repeats):
        choice = choose_candidate(candidates, sums, selection, entropy, simulation=True)
        lengths.append(RANGES[choice.index])
    for length in sorted(set(lengths)):
        errors += cloaked(heights, length, epsilon, lengths.count(length), entropy)
    return errors, float(np.mean(lengths))


def folds(heights: Heights, length: float, epsilon: float, parts: int = 4) -> list[Fold]:
    """Public splits by age order, each with the variance that cloaking would add at its test places."""
    order, splits = np.argsort(heights.age, kind="stable"), []
    for part in range(parts):
        test = np.sort(order[part::parts])
        train = np.setdiff1d(order, test)
        at, to = heights.age[train], heights.age[test]
        weights = posterior_weights(kernel(at, at, length), kernel(to, at, length), NOISE)
        cloak = make_cloak(weights, "mean-square", tolerance=1e-1, rank_tolerance=1e-2)
        noise = np.trace(cloak.covariance(1.0, gaussian_mu(epsilon, DELTA_HEIGHTS)))  # widths squared
        splits.append(Fold(train, test, weights, float(noise)))
    return splits

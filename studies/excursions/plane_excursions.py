"""Study C: plumes in the plane under the paper's bound and under ours, side by side (the paper's table 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from scipy.linalg import solve_triangular
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import cdist

from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.noise import Entropy, SimulationEntropy
from studies.excursions.fields import (
    Bools,
    Floats,
    Spectrum,
    best_cutoff,
    ious_at,
    losses,
    spread,
)
from studies.excursions.fields import weighted_ious as ious_of
from studies.excursions.line_excursions import design_words
from studies.excursions.plane_worlds import PlaneWorlds, square_grid
from studies.excursions.selection import (
    LIMIT_NOTE,
    Accounting,
    Chosen,
    Search,
    choose,
    free_scales,
    judged,
    private_scales,
)
from studies.reporting.tables import Preset, Report, Stopwatch, StudyResult, StudyTable, quiet, rounded

FREE_LENGTHSCALES = (0.2, 0.45, 1.0)
FREE_RIDGES = (0.2, 0.5, 1.0, 2.0, 4.0)
LENGTHSCALES = (0.025, 0.05, 0.1, 0.2, 0.45, 1.0)
PUBLISHED = "up to 8"
PRIVATE_RIDGES = {
    PUBLISHED: (2.0, 2.8, 4.0, 5.6, 6.7, 8.0),
    "up to 300": (2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0, 24.0, 36.0, 55.0, 80.0, 150.0, 300.0),
}
JITTER = 1e-8  # on the path grid's prior, for simulations only
Who = Literal["paper", "ours"]
OURS = ("joint-sharp", "sharp")  # the sharpest generic bound that is there

COLUMNS = (
    "M_xi", "noise-to-signal", "private ridges", "bound", "epsilon, unconstrained",
    "dimension, unconstrained", "dimension, private", "BCE increase", "IoU, unconstrained", "one-path IoU",
    "one-path IoU SD", "relative IoU gap", "design, unconstrained", "design, private", "mean one-path IoU",
    "standard error", "mean BCE increase",
)  # fmt: skip


@dataclass(frozen=True)
class PlaneSettings:
    """Study C. Lengths in units of the square's side.

    Parameters
    ----------
    n, noises
        sensors, and the values of M_xi
    worlds
        fields with one dataset of n sensors each
    draws
        released paths per world
    side, search_side, path_side
        points per side of the grid of the evaluation, of the search's BCE and of the released paths
    smoothing
        standard deviation, in pixels of the path grid, of the Gaussian filter
    epsilon
        at `delta`
    """

    n: int = 400
    noises: tuple[float, ...] = (0.1, 0.3, 0.5)
    worlds: int = 30
    draws: int = 20
    side: int = 80
    search_side: int = 80
    path_side: int = 60
    smoothing: float = 2.0
    epsilon: float = 10.0
    seed: int = 21
    preset: Preset = "full"

    @property
    def delta(self) -> float:
        """The paper's n^-1.1."""
        return float(self.n**-1.1)

    @staticmethod
    def quick() -> PlaneSettings:
        """Under a minute: one noise level, few worlds, coarse grids."""
        return PlaneSettings(
            noises=(0.3,),
            worlds=6,
            draws=10,
            side=40,
            search_side=16,
            path_side=24,
            smoothing=0.8,
            preset="quick",
        )

    @staticmethod
    def full() -> PlaneSettings:
        """As the stored figures were made."""
        return PlaneSettings()


def run(settings: PlaneSettings, report: Report | None = None) -> StudyResult:
    """One row per noise level, range of private ridges and bound."""
    tell, clock = report or quiet, Stopwatch()
    entropy = SimulationEntropy(settings.seed)
    worlds = PlaneWorlds.draw(settings.worlds, settings.n, entropy)
    ours = next(name for name in OURS if name in BOUNDS)
    bounds: dict[Who, Accounting] = {
        "paper": Accounting(settings.n, settings.delta, "triangle", 2),
        "ours": Accounting(settings.n, settings.delta, ours, 2),
    }
    mean_loss = _MeanLosses(worlds, settings)
    chosen = _searches(settings, mean_loss, bounds, tell)
    rows = []
    jobs = [(noise, reach, who) for noise in settings.noises for reach in PRIVATE_RIDGES for who in bounds]
    for step, (noise, reach, who) in enumerate(jobs):
        words = f"M_xi = {noise:g}: releases under the {who} bound, ridges {reach}"

        def say(fraction: float, step: int = step, words: str = words) -> None:
            tell(0.6 + 0.4 * (step + fraction) / len(jobs), words)

        row = _row(
            settings,
            worlds,
            noise,
            who,
            chosen[noise, "", ""],
            chosen[noise, reach, who],
            bounds[who],
            entropy,
            say,
        )
        rows.append((*row[:2], reach, *row[2:]))
    return StudyResult(
        "plane",
        settings.preset,
        asdict(settings),
        (settings.seed,),
        f"{settings.worlds} worlds, {settings.draws} released paths per world",
        clock.seconds,
        (
            StudyTable(
                "plumes",
                f"Plumes in the plane, n = {settings.n}, epsilon {settings.epsilon:g} at delta n^-1.1 = "
                f"{settings.delta:.2g}; median [quartiles] over worlds",
                COLUMNS,
                tuple(rows),
            ),
        ),
        (
            f"The paper's bound is Lemma B.1 (triangle), proved with its constant 2; ours is {ours!r}. Both "
            "use the exact covariance term and the same search; the scale is solved in closed form.",
            f"The search takes its BCE on a {settings.search_side} x {settings.search_side} grid; the tables "
            f"use {settings.side} x {settings.side}. Paths are released on {settings.path_side} x "
            f"{settings.path_side} points, smoothed by a Gaussian of {settings.smoothing:g} pixels and "
            "thresholded at 0.",
            LIMIT_NOTE,
        ),
    )


def _searches(
    settings: PlaneSettings, mean_loss: _MeanLosses, bounds: dict[Who, Accounting], tell: Report
) -> dict[tuple[float, str, str], Chosen]:
    """Designs by noise level, range of private ridges and bound; ("", "") for the unconstrained one."""
    searches = {}
    for noise in settings.noises:

        def at(lengthscale: float, ridges: Floats, scales: Floats, noise: float = noise) -> Floats:
            return mean_loss.at(noise, lengthscale, ridges, scales)

        searches[noise, "", ""] = Search(at, free_scales, FREE_LENGTHSCALES, FREE_RIDGES)
        for reach, ridges in PRIVATE_RIDGES.items():
            for who, accounting in bounds.items():
                scales = private_scales(accounting, settings.epsilon)
                searches[noise, reach, who] = Search(at, scales, LENGTHSCALES, ridges)
    return choose(searches, lambda fraction: tell(0.6 * fraction, "Searches"), refinements=1)


class _MeanLosses:
    """Mean BCE over worlds; spectra on the search grid are kept for the last lengthscale."""

    def __init__(self, worlds: PlaneWorlds, settings: PlaneSettings) -> None:
        self._worlds = worlds
        self._points = square_grid(settings.search_side)
        self._truth = worlds.truth(settings.search_side)
        self._weight = np.full(self._points.shape[0], 1.0 / self._points.shape[0])
        self._lengthscale = math.nan
        self._kept: list[Spectrum] = []

    def at(self, noise: float, lengthscale: float, ridges: Floats, scales: Floats) -> Floats:
        """(R, S) mean losses."""
        if lengthscale != self._lengthscale:
            self._lengthscale, self._kept = lengthscale, []  # frees the last ones first: they are large
            self._kept = [
                self._worlds.spectrum(world, lengthscale, self._points) for world in range(self._worlds.size)
            ]
        response, total = self._worlds.responses(noise), np.zeros(scales.shape)
        for world, spectrum in enumerate(self._kept):
            mean, variance = spectrum.mean(response[world], ridges), spectrum.variance(ridges)
            total += losses(mean, variance, scales, self._truth[world], self._weight)
        return np.asarray(total / self._worlds.size)


def _row(
    settings: PlaneSettings,
    worlds: PlaneWorlds,
    noise: float,
    who: Who,
    free: Chosen,
    private: Chosen,
    accounting: Accounting,
    entropy: Entropy,
    tell: Callable[[float], None],
) -> tuple[str | float, ...]:
    truth, points = worlds.truth(settings.side), square_grid(settings.side)
    weight = np.full(points.shape[0], 1.0 / points.shape[0])
    chances, free_loss, free_dimension = _judged(worlds, noise, free, truth, points, weight)
    _, private_loss, private_dimension = _judged(worlds, noise, private, truth, points, weight)
    cutoff = best_cutoff(chances, truth, weight)
    free_iou = ious_at(chances, truth, weight, cutoff)
    tell(0.3)
    mean, deviation = _released(settings, worlds, noise, private, entropy, tell)
    increase = private_loss / free_loss - 1.0
    return (
        noise, rounded(noise / (1.0 - noise), 2), who, rounded(accounting.epsilon(free), 1),
        spread(free_dimension, 1), spread(private_dimension, 2), spread(increase, 2), spread(free_iou),
        spread(mean), spread(deviation), spread((free_iou - mean) / free_iou), design_words(free),
        design_words(private), rounded(float(mean.mean())),
        rounded(float(mean.std(ddof=1) / np.sqrt(mean.size))), rounded(float(increase.mean())),
    )  # fmt: skip


def _judged(
    worlds: PlaneWorlds, noise: float, chosen: Chosen, truth: Bools, points: Floats, weight: Floats
) -> tuple[Floats, Floats, Floats]:
    spectra = (worlds.spectrum(world, chosen.lengthscale, points) for world in range(worlds.size))
    return judged(spectra, worlds.responses(noise), chosen, truth, weight)


def _released(
    settings: PlaneSettings,
    worlds: PlaneWorlds,
    noise: float,
    chosen: Chosen,
    entropy: Entropy,
    tell: Callable[[float], None],
) -> tuple[Floats, Floats]:
    """Mean and standard deviation, per world, of the IoU of one smoothed released path's set.

    The prior's factor on the path grid is shared by all worlds; sensors are drawn given the grid.
    """
    side, ell = settings.path_side, chosen.lengthscale
    points, truth = square_grid(side), worlds.truth(side)
    weight = np.full(points.shape[0], 1.0 / points.shape[0])
    factor = np.linalg.cholesky(np.exp(-cdist(points, points) / ell) + JITTER * np.eye(points.shape[0]))
    response, ridges = worlds.responses(noise), np.array([chosen.ridge])
    means, deviations = np.empty(worlds.size), np.empty(worlds.size)
    for world in range(worlds.size):
        tell(0.3 + 0.7 * world / worlds.size)
        spectrum = worlds.spectrum(world, ell, points)
        across = spectrum.features @ spectrum.rotation.T
        half = solve_triangular(factor, across, lower=True, check_finite=False)
        among = spectrum.rotation @ (spectrum.values[:, None] * spectrum.rotation.T)
        rest = among - half.T @ half + JITTER * np.eye(settings.n)
        white = entropy.normal((settings.draws, points.shape[0]))
        on_data = white @ half + entropy.normal((settings.draws, settings.n)) @ np.linalg.cholesky(rest).T
        fresh = entropy.normal((settings.draws, settings.n))
        residual = spectrum.residuals(white @ factor.T, on_data, fresh, chosen.ridge)
        paths = spectrum.mean(response[world], ridges)[:, 0] + chosen.scale * residual
        pictures = paths.reshape(settings.draws, side, side)
        smooth = gaussian_filter(pictures, (0.0, settings.smoothing, settings.smoothing), mode="nearest")
        value = ious_of(smooth.reshape(settings.draws, -1) > 0.0, truth[world], weight)
        means[world], deviations[world] = value.mean(), value.std(ddof=1)
    return means, deviations

"""The home temperature example of Meehan and Chaudhuri, on temperatures made like theirs.

Command: `python -m plugins.traces.studies.temperature`.

The paper hides one hour, or two hours 16 apart, of a home's temperature over two days, from an
adversary who knows that days are similar (the periodic kernel of its appendix 7.4; its figure 2e,
f). Its ten traces (SML2010) are not available. This study simulates ten homes with different
thermostats, sun, weather and walls, not from the kernel, so that the adversary errs about them as
about real homes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys

import numpy as np

from hexcursion_traces.mathematics.optimum import best_noise
from hexcursion_traces.mathematics.posterior import concentrated_noise, interval, uniform_noise
from hexcursion_traces.mathematics.prior import TracePrior
from hexcursion_traces.mathematics.published import published_noise
from hexcursion_traces.mathematics.secret import Secret
from studies.reporting.pictures import draw_lines

SEED, HOMES, HOURS, DAY, BURN_IN = 2021, 10, 48, 24, 72
ERROR = 0.05  # deviation of a reading, in units of the trace's own: the paper's alpha .0025
SHARE = 0.02  # of the variance of a reading that noise may add, as in the paper
LENGTHS = tuple(np.sqrt(np.linspace(0.25, 2.25, 9)))  # the paper's range of figure 2e
PUBLIC = 1.1  # the middle of the paper's ten fits
FITTED = np.linspace(0.3, 4.0, 149)
DRAWS = 2_000
SECRETS = {
    "one hour of the second day": Secret((24,)),
    "two hours, 16 apart": Secret((16, 32), "separately"),
}


def made_homes(generator: np.random.Generator) -> np.ndarray:
    """(HOMES, HOURS) indoor temperatures, degrees: a thermostat for day and night, sun, weather,
    walls."""
    clock = np.arange(HOURS + BURN_IN) % DAY
    homes = np.empty((HOMES, clock.size))
    for home in homes:
        rise, fall = generator.integers(5, 8), generator.integers(21, 24)
        setpoint = np.where((clock >= rise) & (clock < fall), *generator.uniform([19.5, 15.0], [22.0, 18.0]))
        walls, power, sun = generator.uniform([12.0, 0.15, 0.2], [40.0, 0.5, 0.9])
        weather, indoor = 0.0, 18.0
        for hour, of_day in enumerate(clock):
            weather = 0.9 * weather + 0.8 * generator.standard_normal()
            outdoor = 6.0 - 4.0 * np.cos(2.0 * np.pi * (of_day - 4) / DAY) + weather
            light = max(0.0, np.sin(np.pi * (of_day - 7) / 12.0)) * generator.uniform(0.3, 1.0)
            indoor += (outdoor - indoor) / walls + sun * light + power * max(0.0, setpoint[hour] - indoor)
            home[hour] = indoor + 0.05 * generator.standard_normal()
    return homes[:, BURN_IN:]


def fitted_length(trace: np.ndarray) -> float:
    """The likeliest lengthscale of the periodic kernel for a trace of mean 0 and deviation 1."""

    def unlikely(length: float) -> float:
        covariance = TracePrior(length, period=DAY).covariance(np.arange(HOURS)) + ERROR**2 * np.eye(HOURS)
        root = np.linalg.cholesky(covariance)
        white = np.linalg.solve(root, trace)
        return float(white @ white + 2.0 * np.log(root.diagonal()).sum())

    return float(min(FITTED, key=unlikely))


def noises_for(prior: TracePrior, secret: Secret) -> dict[str, np.ndarray]:
    """Five noise covariances of one trace (sum of variances), in units of the prior's variance."""
    times, budget = np.arange(HOURS), SHARE * HOURS
    covariance = prior.covariance(times)
    candidates = [candidate.covariance(times) for candidate in prior.candidates()]
    return {
        "the paper's": published_noise(covariance, secret, budget, stabiliser=10.0),
        "exact": best_noise([covariance], [secret], budget, floor=1e-6).noise,
        "for five lengthscales": best_noise(candidates, [secret], budget).noise,
        "uniform": uniform_noise(HOURS, budget),
        "on the secret alone": concentrated_noise(HOURS, budget, (secret,)),
    }


def attacked(
    traces: np.ndarray, noise: np.ndarray, secret: Secret, generator: np.random.Generator
) -> tuple[float, float]:
    """The adversary's root mean square error about the secret hours, and the coverage of his
    interval."""
    covariance = TracePrior(PUBLIC, period=DAY).covariance(np.arange(HOURS)) + ERROR**2 * np.eye(HOURS)
    at = list(secret.records)
    gain = np.linalg.solve(covariance + noise, covariance[:, at]).T
    deviation = np.sqrt(np.diag(covariance[np.ix_(at, at)] - gain @ covariance[:, at]))
    value, vector = np.linalg.eigh(noise)
    draws = generator.standard_normal((DRAWS, HOURS)) * np.sqrt(np.maximum(value, 0.0)) @ vector.T
    wrong = ((traces[:, None] + draws) @ gain.T - traces[:, None][..., at]).reshape(-1, len(at))
    return float(np.sqrt(np.mean(wrong**2))), float(np.mean(np.abs(wrong) <= deviation))


def main() -> int:
    generator = np.random.default_rng(SEED)
    homes = made_homes(generator)
    spread = homes.std(axis=1)
    traces = (homes - homes.mean(axis=1, keepdims=True)) / spread[:, None]
    lengths = [fitted_length(trace) for trace in traces]
    quartiles = ", ".join(f"{length:.2f}" for length in np.quantile(lengths, [0.25, 0.5, 0.75]))
    print(f"{HOMES} made homes over {HOURS} hours, each of deviation {spread.mean():.2f} degrees on average.")
    print(
        f"Fitted lengthscales of the periodic kernel, quartiles: {quartiles} (the paper's: 1.04, 1.10, 1.15)."
    )
    print(
        f"\nLengthscale {PUBLIC:g} public, noise of .02 of the variance of each reading on average. "
        "Interval: 68 % for a secret\nhour, in deviations of the trace (in degrees). Error of the "
        f"adversary's guess in made homes, {DRAWS:,} draws\n"
        "each; held: how often his interval holds the true temperature.\n\n"
        f"{'secret':28} {'noise':22} {'interval':>16} {'error':>7} {'held':>6}"
    )
    prior = TracePrior(PUBLIC, period=DAY)
    for title, secret in SECRETS.items():
        for name, noise in noises_for(prior, secret).items():
            covariance_of_home = prior.covariance(np.arange(HOURS)) + 1e-9 * np.eye(HOURS)
            width = interval(covariance_of_home, noise + 1e-9 * np.eye(HOURS), secret)
            error, coverage = attacked(traces, noise + 1e-9 * np.eye(HOURS), secret, generator)
            widths = f"{width:.3f} ({width * spread.mean():.2f})"
            print(f"{title:28} {name:22} {widths:>16} {error:7.3f} {100 * coverage:4.0f} %", flush=True)
    curves = []
    for length in LENGTHS:
        at = TracePrior(float(length), period=DAY)
        covariance = at.covariance(np.arange(HOURS)) + 1e-9 * np.eye(HOURS)
        secret = SECRETS["one hour of the second day"]
        for name, noise in noises_for(at, secret).items():
            curves.append((float(length), interval(covariance, noise + 1e-9 * np.eye(HOURS), secret), name))
    draw_lines(
        "temperature",
        "One hidden hour of a home's temperature: the adversary's 68 % interval",
        ("lengthscale of the periodic kernel", "width of the interval, deviations of the trace"),
        curves,
    )
    print(f"\nSeed {SEED}. Picture: docs/pictures/temperature.svg (the curves of the paper's figure 2e).")
    return 0


if __name__ == "__main__":
    sys.exit(main())

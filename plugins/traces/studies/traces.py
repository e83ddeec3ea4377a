"""Noise for location traces: the paper's figure 2, solve times, long traces, GeoLife's longest
stops.

`python -m plugins.traces.studies.traces [FOLDER]`: the folder of GeoLife users, by default next to
the checkout.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from pathlib import Path

import numpy as np

from hexcursion_traces.loading import load_traces
from hexcursion_traces.mathematics.closed_form import single_secret_noise
from hexcursion_traces.mathematics.dominate import multiple_secrets_noise
from hexcursion_traces.mathematics.optimum import FLOOR_SHARE, best_noise
from hexcursion_traces.mathematics.posterior import (
    concentrated_noise,
    interval,
    posterior_covariance,
    uniform_noise,
)
from hexcursion_traces.mathematics.prior import ROBUST_FACTORS, TracePrior
from hexcursion_traces.mathematics.published import STABILISER, published_noise
from hexcursion_traces.mathematics.secret import Secret
from hexcursion_traces.mathematics.windows import design_noise, standing
from hexcursion_traces.plan import on_a_plane
from hexcursion_traces.settings import TraceSettings
from hexcursion_traces.stops import find_stops
from studies.material.real_files import BESIDE

FOLDER = BESIDE / "traces" / "geolife"
PRIOR = TracePrior(120.0, 500.0, 3.0)
_DEFAULTS = TraceSettings()
ERROR, EVERY, AROUND = _DEFAULTS.metres, _DEFAULTS.every, 160
LONG_SEARCH = 2000  # steps
MOST_SECRET = 80  # records of a stop: longer stops are thinned more


def solve_times() -> None:
    """Lengthscale 6 records, five candidates; a budget of 0.02 per record, as in the paper."""
    print("records  secrets  CPU s  times that of 50  worst loss  proved gap")
    for many in (1, 3):
        base = 0.0
        for n in (50, 100, 200):
            secrets = [Secret((n * (k + 1) // (many + 1),)) for k in range(many)]
            covariances = [prior.covariance(np.arange(n)) for prior in TracePrior(6.0).candidates()]
            begun = time.process_time()
            design = best_noise(covariances, secrets, 0.02 * n)
            spent = time.process_time() - begun
            base = base or spent
            print(
                f"{n:7d}  {many:7d}  {spent:5.1f}  {spent / base:16.1f}  {design.worst:10.3f}"
                f"  {design.gap:10.1e}",
                flush=True,
            )


def figure_2() -> None:
    """The paper's figure 2: the adversary's interval, prior variance 1, 0.02 of noise per record.

    The published curves of concentrated noise are above these where the jitter of the program
    hides the secret.
    """
    print("figure  lengthscale  adversary's  paper   exact  uniform  concentrated")
    middle, pair, days = Secret((24,)), Secret((24, 25), "separately"), Secret((16, 32), "separately")
    curves: list[tuple[str, Secret, tuple[float, ...], float, int]] = [
        ("2a", middle, (1.0, 2.492, 6.122, 10.0), 0.0, 50),
        ("2b", pair, (1.0, 3.0, 6.0), 0.0, 50),
        ("2e", middle, (0.5, 1.1, 1.5), 24.0, 48),
        ("2f", days, (0.5, 1.1, 1.5), 24.0, 48),
    ]
    for figure, secret, scales, period, n in curves:
        for scale in scales:
            prior = TracePrior(scale, period=period or None)
            _row(figure, scale, prior, prior, secret, n)
    for scale in (1.0, 2.492, 6.122, 10.0):
        for factor in (0.5, 1.5):
            _row("2d", scale, TracePrior(scale), TracePrior(scale * factor), middle, 50)
    for scale in (0.5, 1.1, 1.5):
        for factor in (0.5, 1.5):
            priors = TracePrior(scale, period=24.0), TracePrior(scale * factor, period=24.0)
            _row("2h", scale, *priors, middle, 48)
    for figure, prior, n in (("2c", TracePrior(6.0), 50), ("2g", TracePrior(1.1, period=24.0), 48)):
        _every(figure, prior, n)


def _row(figure: str, scale: float, believed: TracePrior, true: TracePrior, secret: Secret, n: int) -> None:
    covariance, budget = believed.covariance(np.arange(n)), 0.02 * n
    stabiliser = 10.0 if believed.period is not None else STABILISER
    exact = best_noise([covariance], [secret], budget, floor=1e-6).noise
    adversary = true.covariance(np.arange(n)) + 1e-9 * np.eye(n)
    noises = (
        published_noise(covariance, secret, budget, stabiliser=stabiliser),
        exact,
        uniform_noise(n, budget),
        concentrated_noise(n, budget, (secret,)),
    )
    widths = [interval(adversary, noise + 1e-9 * np.eye(n), secret) for noise in noises]
    print(
        f"{figure:6}  {scale:11.3f}  {true.lengthscale:11.3f}  {widths[0]:.4f}  {widths[1]:.4f}  "
        f"{widths[2]:.4f}   {widths[3]:.4f}",
        flush=True,
    )


def _every(figure: str, prior: TracePrior, n: int) -> None:
    """Every record a secret: noise for each, and one that dominates all."""
    covariance = prior.covariance(np.arange(n)) + 1e-9 * np.eye(n)
    secrets = [Secret((i,)) for i in range(n)]

    def width(noise: np.ndarray) -> float:
        return float(2.0 * np.sqrt(posterior_covariance(covariance, noise).diagonal().mean()))

    paper = multiple_secrets_noise(covariance, secrets, 0.02 * n, shape="paper", bare=True)
    trace = float(np.trace(paper))
    print(
        f"{figure}: every record is secret: the paper's noise has trace {trace:.3f} and leaves "
        f"{width(paper):.4f}, uniform noise of this trace {width(uniform_noise(n, trace)):.4f}.",
        flush=True,
    )
    exact = multiple_secrets_noise(covariance, secrets, 0.02 * n, bare=True, steps=LONG_SEARCH)
    print(
        f"{figure}: over the exact noise of each record, one of trace {np.trace(exact):.3f} leaves "
        f"{width(exact):.4f}.",
        flush=True,
    )


def long_trace() -> None:
    """Ten thousand records, one every five seconds: shaped in a window, certified as a whole."""
    t = np.arange(10_000) * 5.0
    secret = Secret(tuple(range(5000, 5060)))
    prior = TracePrior(60.0, 500.0, 3.0)
    begun = time.process_time()
    noise = design_noise(t, [secret], prior, ERROR**2)
    shaped = time.process_time() - begun
    guarantee = standing(t, noise, secret, prior, 200.0)
    spent = time.process_time() - begun - shaped
    first, block = noise.blocks[0]
    print(
        f"10,000 records: a window of {len(block)} from record {first} shaped in {shaped:.1f} s, the whole "
        f"certified against five lengthscales in {spent:.1f} s: mu {guarantee.certificate.mu:.3f}, interval "
        f"{guarantee.interval:.0f} m."
    )


def geolife(folder: Path) -> None:
    """The longest stop of each user as a secret: the adversary's interval at the stated lengthscale
    and the narrowest over five."""
    print(
        f"The longest stop of each GeoLife user as the secret: noise of {ERROR:g} m per axis; the "
        "adversary's 68 % interval in metres at 120 s / the narrowest from 60 to 180 s."
    )
    print("user  trip            records  stop min    uniform      paper      exact     robust  mu robust")
    for user in sorted(folder.iterdir()):
        best: tuple[float, Path] | None = None
        for path in sorted((user / "Trajectory").glob("*.plt")):
            trace = load_traces(path)[0][0].thinned(EVERY)
            stops = find_stops(trace.time, on_a_plane(trace)[1], 5.0, 100.0)
            longest = max((stop.seconds for stop in stops), default=0.0)
            if longest and (best is None or longest > best[0]):
                best = longest, path
        if best is None:
            print(f"{user.name}: no stop of five minutes")
            continue
        every = max(EVERY, best[0] / MOST_SECRET)
        trace = load_traces(best[1])[0][0].thinned(every)
        stop = max(find_stops(trace.time, on_a_plane(trace)[1], 5.0, 100.0), key=lambda stop: stop.seconds)
        room = max(0, (AROUND - (stop.last + 1 - stop.first)) // 2)
        first, last = max(0, stop.first - room), min(trace.size, stop.last + 1 + room)
        times = trace.time[first:last] - trace.time[first]
        secret = Secret(tuple(range(stop.first - first, stop.last + 1 - first)))
        covariances = [candidate.covariance(times) for candidate in PRIOR.candidates()]
        n = last - first
        budget = n * ERROR**2
        floor = FLOOR_SHARE * ERROR**2
        robust = best_noise(covariances, [secret], budget)
        noises = {
            "uniform": uniform_noise(n, budget),
            "paper": published_noise(covariances[ROBUST_FACTORS.index(1.0)], secret, budget),
            "exact": single_secret_noise(covariances[ROBUST_FACTORS.index(1.0)], secret, budget, floor=floor),
            "robust": robust.noise,
        }
        intervals = [[interval(c, noise, secret) for c in covariances] for noise in noises.values()]
        mu = 200.0 * np.sqrt(robust.worst)
        at = ROBUST_FACTORS.index(1.0)
        numbers = "  ".join(f"{widths[at]:5.0f}/{min(widths):3.0f}" for widths in intervals)
        print(
            f"{user.name}   {best[1].stem}  {n:7d}  {stop.seconds / 60:8.0f}  {numbers}  {mu:9.2f}",
            flush=True,
        )


def main() -> None:
    print("No random numbers: everything is computed.")
    figure_2()
    solve_times()
    long_trace()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    if folder.is_dir():
        geolife(folder)
    else:
        print("GeoLife is not next to the checkout: nothing is measured on it.")


if __name__ == "__main__":
    main()

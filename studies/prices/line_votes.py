"""Several paths on a line, and the vote cutoff that validation chooses (tables 1 to 3 of arXiv:2606.17995).

`python -m studies.prices.line_votes`: epsilon 3 at delta .005 for all paths together. Lengthscale, ridge and
scale are searched for each number of paths under its own price; the released set holds the points for which
at least a share of the paths votes, the share chosen on as many other worlds.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from dpgp_core.bounds.registry import smallest_scale_for
from dpgp_core.noise import SimulationEntropy
from studies.excursions.fields import weighted_ious
from studies.excursions.line_excursions import LENGTHSCALES
from studies.excursions.line_worlds import Acceptance, LineWorlds, MeanLosses, joint_draws
from studies.excursions.selection import ABOVE, Accounting, Chosen, Floats, Search, choose

SEED, WORLDS, REPEATS, CELLS = 6, 40, 10, 200
SIZES, NOISES, PATHS = (100, 400), (0.1, 0.5), (1, 3, 5, 9)
EPSILON, DELTA, BOUND = 3.0, 0.005, "line-exponential"
RIDGES = (1.0, 2.0, 4.0, 8.0, 18.0, 45.0, 100.0)


def votes(worlds: LineWorlds, noise: float, design: Chosen, paths: int, entropy: SimulationEntropy) -> Floats:
    """(W, R, G) paths above the threshold, of as many as are released, in each of R releases."""
    response, ridges = worlds.responses(noise), np.array([design.ridge])
    found = np.empty((worlds.size, REPEATS, worlds.grid.size))
    for world in range(worlds.size):
        at = worlds.x[[world]]
        on_grid, on_data = joint_draws(worlds.grid, at, design.lengthscale, REPEATS * paths, entropy)
        spectrum = worlds.spectrum(world, design.lengthscale)
        fresh = entropy.normal(on_data[0].shape)
        residual = spectrum.residuals(on_grid[0], on_data[0], fresh, design.ridge)
        path = spectrum.mean(response[world], ridges)[:, 0] + design.scale * residual
        found[world] = (path > 0.0).reshape(REPEATS, paths, -1).sum(axis=1)
    return found


def agreement(worlds: LineWorlds, counted: Floats, least: int) -> Floats:
    """(W,) of the set in which at least this number of paths vote."""
    pairs = zip(counted >= least, worlds.truth, strict=True)
    return np.array([weighted_ious(drawn, true, worlds.weight).mean() for drawn, true in pairs])


def best_design(losses: MeanLosses, accounting: Accounting, n: int, noise: float, paths: int) -> Chosen:
    """The design with the least cross-entropy whose paths are together within the budget."""

    def scales(lengthscale: float, ridges: Floats) -> Floats:
        kappa = accounting.kappa(lengthscale)
        least = smallest_scale_for(BOUND, EPSILON, DELTA, n=n, ridge=ridges, kappa=kappa, paths=paths)
        return np.asarray(least.scale)[:, None] * ABOVE

    def at(lengthscale: float, ridges: Floats, scales: Floats) -> Floats:
        return losses.at(noise, lengthscale, ridges, scales)

    return choose({"": Search(at, scales, LENGTHSCALES, RIDGES)})[""]


def main() -> None:
    print(
        f"{'records':>7}{'M_xi':>6}{'paths':>6}{'lengthscale':>12}{'ridge':>7}{'scale':>10}"
        f"{'majority':>17}{'chosen cutoff':>15}{'agreement':>17}"
    )
    for n in SIZES:
        entropy = SimulationEntropy(SEED)
        worlds, others = (LineWorlds.draw(WORLDS, n, CELLS, entropy, Acceptance()) for _ in range(2))
        losses = MeanLosses(worlds, NOISES)
        for noise in NOISES:
            for paths in PATHS:
                design = best_design(losses, Accounting(n, DELTA, BOUND, 1), n, noise, paths)
                tried = votes(others, noise, design, paths, entropy)
                means = [float(agreement(others, tried, least).mean()) for least in range(1, paths + 1)]
                cutoff = 1 + int(np.argmax(means))
                counted = votes(worlds, noise, design, paths, entropy)
                cells = []
                for least in (paths // 2 + 1, cutoff):
                    reached = agreement(worlds, counted, least)
                    cells.append(f"{reached.mean():9.3f} ({reached.std(ddof=1) / np.sqrt(WORLDS):.3f})")
                print(
                    f"{n:7}{noise:6g}{paths:6}{design.lengthscale:12.3g}{design.ridge:7.3g}{design.scale:10.3g}"
                    f"{cells[0]:>17}{f'{cutoff} of {paths}':>15}{cells[1]:>17}",
                    flush=True,
                )
    print(
        f"\nSeed {SEED}; {WORLDS} worlds judged, as many others for the cutoff, {REPEATS} releases of each, "
        f"{CELLS} points; epsilon {EPSILON:g} at delta {DELTA:g} by Lemma B.7; standard errors over worlds "
        "in brackets."
    )


if __name__ == "__main__":
    main()

"""Readings at places with known noise, counted whole in the likeliest hexagon or shared among several.

`python -m studies.agreement.uncertain_places`: simulated fields on 271 hexagons, 2,500 readings, places
moved by normal noise of 0.5, 1 and 2 hexagons; noisy cell statistics at three budgets with the same noise for
both, read with the better of three ranges each. Agreement (IoU) with the true set.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from dpgp_core import make_prior
from dpgp_core.mechanisms.cell_sums import NoisyStatistics, statistic_noise_for
from dpgp_core.mechanisms.noisy_cell_statistics import noise_aware_posterior
from studies.material.disk import SPACING, disk

SEED, FIELDS, READINGS, LEVEL = 3, 24, 2500, 0.2
DEVIATIONS, EPSILONS, RANGES = (0.5, 1.0, 2.0), (1.0, 3.0, 10.0), (2.0, 4.0, 8.0)
WAYS = ("likeliest", "shared", "exact places")
DRAWS = 192  # places that stand for one uncertain place


def main() -> None:
    lattice, generator = disk(271), np.random.default_rng(SEED)
    centres = lattice.domain_centres / SPACING
    tree = cKDTree(centres)
    apart = np.sum((centres[:, None] - centres[None]) ** 2, axis=2)
    root = np.linalg.cholesky(np.exp(-apart / 18.0) + 1e-8 * np.eye(lattice.size))
    reach = float(np.abs(centres).max())
    agreements: dict[tuple[float, float, str, float], list[float]] = {}

    def cell_of(places: np.ndarray) -> np.ndarray:
        distance, cell = tree.query(places)
        return np.where(distance < 0.58, cell, -1)

    for _ in range(FIELDS):
        field = 0.5 * (root @ generator.normal(size=lattice.size))
        places = generator.uniform(-reach, reach, (4 * READINGS, 2))
        places = places[cell_of(places) >= 0][:READINGS]
        cells = cell_of(places)
        values = np.clip(field[cells] + 0.3 * generator.normal(size=cells.size), -1.0, 1.0)
        for deviation in DEVIATIONS:
            readings_at = places + deviation * generator.normal(size=places.shape)
            likeliest = cell_of(readings_at)
            in_domain = likeliest >= 0
            shares = np.zeros((int(in_domain.sum()), lattice.size))
            for _ in range(DRAWS):
                cells_drawn = cell_of(
                    readings_at[in_domain] + deviation * generator.normal(size=(len(shares), 2))
                )
                inside = np.flatnonzero(cells_drawn >= 0)
                shares[inside, cells_drawn[inside]] += 1.0
            shares /= shares.sum(axis=1, keepdims=True)
            count = lattice.size
            totals = {
                "likeliest": (
                    np.bincount(likeliest[in_domain], values[in_domain], count),
                    np.bincount(likeliest[in_domain], minlength=count).astype(float),
                ),
                "shared": (values[in_domain] @ shares, shares.sum(axis=0)),
                "exact places": (
                    np.bincount(cells, values, count),
                    np.bincount(cells, minlength=count).astype(float),
                ),
            }
            for epsilon in EPSILONS:
                scale = statistic_noise_for(epsilon, 1e-5)
                noise = scale * generator.normal(size=(2, count))
                for way, (sums, counts) in totals.items():
                    n = len(shares) if way != "exact places" else cells.size
                    statistics = NoisyStatistics(sums + noise[0], counts + noise[1], scale, n)
                    for cells_long in RANGES:
                        prior = make_prior("exponential", lattice, cells_long * SPACING)
                        inside_set = noise_aware_posterior(statistics, prior, 1.5, 0.5).mean > LEVEL
                        truth = field > LEVEL
                        agreement = (inside_set & truth).sum() / max((inside_set | truth).sum(), 1)
                        agreements.setdefault((deviation, epsilon, way, cells_long), []).append(agreement)
    print(
        "noise in hexagons  epsilon  " + "  ".join(f"{way:>12}" for way in WAYS) + "  shared less likeliest"
    )
    for deviation in DEVIATIONS:
        for epsilon in EPSILONS:
            best = {
                way: max((agreements[deviation, epsilon, way, length] for length in RANGES), key=np.mean)
                for way in WAYS
            }
            gap = np.array(best["shared"]) - np.array(best["likeliest"])
            numbers = "  ".join(f"{np.mean(best[way]):12.3f}" for way in WAYS)
            error = np.std(gap, ddof=1) / np.sqrt(gap.size)
            print(
                f"{deviation:17g}  {epsilon:7g}  {numbers}  {np.mean(gap):+.3f} (standard error {error:.3f})"
            )
    print(f"Seed {SEED}; {FIELDS} fields of {READINGS:,} readings.")


if __name__ == "__main__":
    main()

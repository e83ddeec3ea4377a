"""Where a posterior path could win: public places, several paths and their votes, prior noise.

`python -m studies.prices.paths`: plumes over 400 hexagons, 1,600 readings, epsilon 1 and delta 1e-5. Every
way has the ridge, of ten, with the best agreement (IoU) with the true set on other worlds.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from dataclasses import replace

import numpy as np

from dpgp_core import MECHANISMS, Budget, CollapsedRecords, PublicFacts, make_prior
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.excursion import ious
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign, path_guarantee
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.fitting import fit
from studies.excursions.plane_worlds import Plumes
from studies.material.disk import SPACING, disk
from studies.reporting.pictures import draw_lines

SEED, TUNING, WORLDS = 15, 20, 100
CELLS, READINGS, SCATTER = 400, 1_600, 0.5
EPSILONS, DELTA = (0.5, 1.0, 2.0, 4.0), 1e-5
RIDGES = (2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 40.0, 64.0, 128.0, 256.0)
RANGE = 5.0 * SPACING  # metres
SHARES = (0.25, 0.5, 0.9)  # of the noise's variance that is the prior's
PATHS = (1, 3, 9)
PRIOR = "car"


def main() -> None:
    """Print both tables, and draw the first."""
    lattice = disk(CELLS)
    prior = make_prior(PRIOR, lattice, RANGE)
    hidden = PublicFacts(lattice, READINGS)
    known = replace(hidden, places_public=True)
    sampling = MECHANISMS["posterior-sampling"]
    centres = lattice.domain_centres
    places = (centres - centres.min(axis=0)) / np.ptp(centres, axis=0).max()
    fields = Plumes.draw(TUNING + WORLDS, SimulationEntropy(SEED)).at(places)

    def agreement(design: PosteriorSamplingDesign, worlds: range) -> np.ndarray:
        """(W,) of the majority of the paths."""
        found = []
        for world in worlds:
            generator = np.random.default_rng(1_000 + world)
            cells = generator.integers(0, lattice.size, READINGS)
            values = fields[world, cells] + SCATTER * generator.standard_normal(READINGS)
            records = CollapsedRecords.from_records(cells, np.clip(values, -1.0, 1.0))
            entropy = SimulationEntropy(2_000 + world)
            drawn = fit(prior, records, design.ridge).draw(design.scale, design.paths, entropy)
            if design.noise_scale > 0.0:
                white = entropy.normal((prior.white_size, design.paths))
                drawn = drawn + design.noise_scale * prior.colour(white)[: lattice.size].T
            votes = np.mean(drawn > 0.0, axis=0) > 0.5
            found.append(float(ious(votes[None], fields[world] > 0.0)[0]))
        return np.array(found)

    def best(facts: PublicFacts, epsilon: float, paths: int, share: float) -> tuple[str, float]:
        """The row of a way, and its mean agreement."""
        budget, offers = Budget(epsilon, DELTA), []
        for ridge in RIDGES:
            asked = PosteriorSamplingDesign(
                PRIOR, RANGE, ridge, np.sqrt(1.0 - share), noise_scale=np.sqrt(share), paths=paths
            )
            design = sampling.calibrate(asked, facts, budget)
            if design is not None:
                offers.append((float(agreement(design, range(TUNING)).mean()), design))
        if not offers:
            return f"{'no design':>24}", float("nan")
        design = max(offers, key=lambda offer: offer[0])[1]
        judged = agreement(design, range(TUNING, TUNING + WORLDS))
        error = judged.std(ddof=1) / np.sqrt(WORLDS)
        noise, mean = np.hypot(design.scale, design.noise_scale), float(judged.mean())
        return f"{design.ridge:6g}{noise:9.4f}{mean:9.3f} ({error:.3f})", mean

    print(f"{'epsilon 1':44}{'ridge':>6}{'noise':>9}{'agreement':>17}")
    for name, facts in (("places hidden", hidden), ("places public", known)):
        for paths in PATHS:
            print(f"{f'{name}, paths and majority: {paths}':44}{best(facts, 1.0, paths, 0.0)[0]}", flush=True)
        for share in SHARES:
            print(
                f"{f'{name}, 1 path, prior noise {share:.0%}':44}{best(facts, 1.0, 1, share)[0]}", flush=True
            )
    points = []
    print("\none path, agreement by epsilon" + "".join(f"{epsilon:>8g}" for epsilon in EPSILONS))
    for name, facts in (("places hidden", hidden), ("places public", known)):
        found = [best(facts, epsilon, 1, 0.0)[1] for epsilon in EPSILONS]
        points += [(epsilon, value, name) for epsilon, value in zip(EPSILONS, found, strict=True)]
        print(f"{name:30}" + "".join(f"{value:8.3f}" for value in found), flush=True)
    print("\nepsilon of L paths of ridge 12 and scale .2" + "".join(f"{paths:>9}" for paths in PATHS))
    for name, way in (("sum of curves", "renyi"), ("exact pairs", "pairs"), ("places public", "public")):
        row = []
        for paths in PATHS:
            design = PosteriorSamplingDesign(PRIOR, RANGE, 12.0, 0.2, paths=paths)
            if way == "public":
                mu = path_guarantee(design, READINGS, prior, "values-only").exact_gaussian_mu
                row.append(gaussian_epsilon(float(mu), DELTA))
                continue
            guarantee = path_guarantee(design, READINGS, prior)
            whole = guarantee.curve.epsilon(DELTA).epsilon
            row.append(whole if way == "renyi" else guarantee.epsilon(DELTA).epsilon)
        print(f"{name:43}" + "".join(f"{value:9.3f}" for value in row))
    draw_lines(
        "paths", "Agreement of one released path", ("epsilon", "IoU with the true set"), points, log_x=True
    )
    print(
        f"\nSeed {SEED}; {CELLS} hexagons, {READINGS:,} readings, delta {DELTA:g}; ridges chosen on {TUNING} "
        f"worlds, judged on {WORLDS} others; standard errors in brackets."
    )


if __name__ == "__main__":
    main()

"""Where to measure next: more readings in each round, at the hexagon where a released path is highest.

`python -m studies.agreement.measure_next`: two plumes over 271 hexagons, 400 private readings, six rounds of
50 more at one hexagon each. Thompson sampling takes the hexagon where a posterior path is highest; the six
paths together cost the stated epsilon for every reading, those of the rounds included. The controls are a
hexagon drawn at random, and paths without privacy. Regret is the field's maximum less its value at the
measured hexagon, as the mean over rounds and at the best of the six; the field's range is 2.
"""

from __future__ import annotations

import numpy as np

from dpgp_core import CollapsedRecords, make_prior
from dpgp_core.bounds.registry import smallest_scale_for
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.priors.lattice import Prior
from studies.excursions.plane_worlds import Plumes
from studies.material.disk import SPACING, disk

SEED, WORLDS, TUNING = 6, 100, 30
CELLS, READINGS, ROUNDS, MORE, SCATTER = 271, 400, 6, 50, 0.5
EPSILONS, DELTA = (1.0, 3.0, 10.0), 1e-5
RANGE = 6.0 * SPACING  # metres
RIDGES = (4.0, 8.0, 16.0, 32.0, 64.0)
OPEN = tuple(
    (ridge, scale) for ridge in (0.8, 2.0, 8.0) for scale in (0.02, 0.1, 0.3, 0.6)
)  # without privacy
MOST = READINGS + (ROUNDS - 1) * MORE  # readings that the last round's path is drawn from


def regrets(prior: Prior, field: np.ndarray, design: tuple[float, float] | None, seed: int) -> np.ndarray:
    """(2,) mean regret over the rounds, and regret of the best of them; a random hexagon without a design."""
    generator, entropy = np.random.default_rng(seed), SimulationEntropy(seed)
    cells = generator.integers(0, CELLS, READINGS)
    values = field[cells] + SCATTER * generator.standard_normal(READINGS)
    lost = []
    for _ in range(ROUNDS):
        if design is None:
            place = int(generator.integers(CELLS))
        else:
            records = CollapsedRecords.from_records(cells, np.clip(values, -1.0, 1.0))
            place = int(np.argmax(fit(prior, records, design[0]).draw(design[1], 1, entropy)[0]))
        lost.append(float(field.max() - field[place]))
        cells = np.concatenate([cells, np.full(MORE, place)])
        values = np.concatenate([values, field[place] + SCATTER * generator.standard_normal(MORE)])
    return np.array([np.mean(lost), np.min(lost)])


def least_scales(prior: Prior, epsilon: float) -> list[tuple[float, float]]:
    """Each ridge with the scale at which all rounds' paths cost epsilon together, on the last one's records.

    The bound grows with the number of records, so it holds for the earlier rounds too; choices that depend on
    earlier paths are covered by composition (docs/mathematics.md, section 5).
    """
    return [
        (
            ridge,
            float(
                smallest_scale_for(
                    "joint-sharp", epsilon, DELTA, n=MOST, ridge=ridge, kappa=prior.kappa, paths=ROUNDS
                ).scale
            ),
        )
        for ridge in RIDGES
    ]


def main() -> None:
    lattice = disk(CELLS)
    prior = make_prior("exponential", lattice, RANGE)
    centres = lattice.domain_centres
    places = (centres - centres.min(axis=0)) / np.ptp(centres, axis=0).max()
    fields = Plumes.draw(TUNING + WORLDS, SimulationEntropy(SEED)).at(places)

    def mean(design: tuple[float, float] | None, worlds: range) -> tuple[np.ndarray, np.ndarray]:
        losses = np.array([regrets(prior, fields[world], design, 1000 + world) for world in worlds])
        return losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(len(losses))

    tuning, judged = range(TUNING), range(TUNING, TUNING + WORLDS)
    print(f"{'where to measure':34}{'ridge':>7}{'scale':>8}{'regret, mean of rounds':>26}{'of the best':>20}")
    designs: list[tuple[str, tuple[float, float] | None]] = [("a hexagon at random", None)]
    grids = {f"private paths, epsilon {epsilon:g}": least_scales(prior, epsilon) for epsilon in EPSILONS}
    for name, offers in (*grids.items(), ("paths without privacy", OPEN)):
        finite = [offer for offer in offers if np.isfinite(offer[1])]
        designs.append((name, min(finite, key=lambda offer: float(mean(offer, tuning)[0][0]))))
    for name, design in designs:
        (rounds, least), (error, least_error) = mean(design, judged)
        words = f"{'':15}" if design is None else f"{design[0]:7.1f}{design[1]:8.3f}"
        print(f"{name:34}{words}{rounds:18.3f} ({error:.3f}){least:12.3f} ({least_error:.3f})")
    print(
        f"\nSeed {SEED}; {WORLDS} worlds judged, designs chosen on {TUNING} others; {READINGS} readings at "
        f"first, {ROUNDS} rounds of {MORE} more; delta {DELTA:g}; standard errors in brackets."
    )


if __name__ == "__main__":
    main()

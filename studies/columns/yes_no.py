"""Answers of yes and no in an atlas: how much signal they keep, and how well their maps agree.

Command: `python -m studies.columns.yes_no [--releases N]`.

First the signal of one answer among k - 1 amounts, over the longest vector: half the mean distance
of a yes from a no after the cut, for an answer of one fixed size, which is released, and for one in
units of its public deviation from its public share, which would be shortened with the amounts. Then
generated worlds as in `studies.columns.atlas`, whose columns but the first are answers: whether a
value is above the share SHARE of all. Scored is the agreement of a map of answers above SHARE
with that of the world's own shares, over the hexagons with records. `alone`: each column released
by itself at the whole budget. `k releases`: each at mu over the root of k. `atlas`: all together at
the whole budget. `shuffled`: an atlas of records whose values are exchanged among places.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri

from dpgp_core.atlas.design import CLIP, SHORT, atlas_design
from dpgp_core.atlas.release import calibrated, prepare_atlas
from dpgp_core.excursion import agreed, iou
from dpgp_core.linalg import Floats, Ints
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import FIXED_RIDGE, fixed_design
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, Released, draw_release
from hexcursion.errors import WorkflowError
from studies.columns.atlas import DELTA, EPSILONS, PLACES, RECORDS, ROWS, SEED, SQUARE, WORLDS, fields_of
from studies.columns.atlas import records_of as records_about

SHARE = 0.3  # of all records that say yes
DRAWS = 200_000


def signal(columns: int, share: float) -> tuple[float, float]:
    """Half the distance of a yes from a no, over the longest vector: of a fixed size, and in deviations."""
    generator, deviation = np.random.default_rng(SEED), math.sqrt(share * (1.0 - share))
    amounts = np.clip(generator.normal(0.0, 1.0 / CLIP, (DRAWS, columns - 1)), -1.0, 1.0)
    radius, left = SHORT / CLIP * math.sqrt(columns), []
    for answer in (1.0, 0.0):
        own = min(1.0, max(-1.0, (answer - share) / (CLIP * deviation)))
        length = np.sqrt(np.square(amounts).sum(axis=1) + own**2)
        left.append(float(np.mean(own * np.minimum(1.0, radius / length))))
    return 1.0 / math.sqrt(columns), 0.5 * (left[0] - left[1]) / radius


def world(count: int, seed: int) -> tuple[Ints, Floats, Floats]:
    """Cells (n,), responses (n, k) of one amount and k - 1 answers, and the shares of yes (k - 1, N)."""
    generator = np.random.default_rng(seed)
    fields = fields_of(generator, 0.0, count)
    cells, values = records_about(generator, fields, generator.uniform(0, ROWS, (PLACES, 2)))
    limits = np.quantile(values[:, 1:], 1.0 - SHARE, axis=0)
    yes = np.where(values[:, 1:] > limits, 1.0, -1.0)
    amount = values[:, :1] / (CLIP * math.hypot(1.0, FIXED_RIDGE))
    return cells, np.hstack([amount, yes]), ndtr((fields[:, 1:] - limits) / FIXED_RIDGE).T


def alone(cells: Ints, answers: Floats, facts: PublicFacts, mu: float, seed: int) -> list[Released]:
    """A release of each of the answers (n, k) by itself, each at this Gaussian parameter."""
    mechanism, layers = MECHANISMS["spectral-statistics"], []
    design = replace(fixed_design(SQUARE.spacing).for_law("yes-no"), mu=mu, paths=1)
    for number, column in enumerate(answers.T):
        records = CollapsedRecords.from_records(cells, column)
        entropy = SimulationEntropy(seed + 1_000 * number)
        layers.append(draw_release(mechanism.prepare(design, facts, records), entropy, simulation=True))
    return layers


def together(
    cells: Ints, responses: Floats, facts: PublicFacts, epsilon: float, seed: int
) -> Sequence[Released]:
    """The answers' layers of one release of all columns (n, k)."""
    count = responses.shape[1]
    design = atlas_design(SQUARE.spacing, count, cells.size, answers=range(1, count))
    design = calibrated(replace(design, paths=1), facts, Budget(epsilon, DELTA))
    ready = prepare_atlas(design, facts, cells, responses)
    return draw_release(ready, SimulationEntropy(seed), simulation=True).layers[1:]


def agreement(layers: Sequence[Released], shares: Floats, there: Ints) -> float:
    """Mean agreement with the maps of the shares (k - 1, N) above SHARE, over the hexagons `there`. Raises
    WorkflowError for a release that states no map without privacy."""
    level, found = float(ndtri(SHARE)), []
    for layer, share in zip(layers, shares, strict=True):
        chance = layer.set_chance(level)
        if chance is None:
            raise WorkflowError("The release states no map without privacy.")
        region = agreed(chance, layer.own_cutoff(level))
        found.append(iou(region[there], share[there] > SHARE))
    return float(np.mean(found))


def compared(count: int, epsilon: float, seed: int, releases: int) -> dict[str, float]:
    """Mean agreement of every design in one world."""
    cells, responses, shares = world(count, seed)
    facts, there, mu = PublicFacts(SQUARE, n=cells.size), np.unique(cells), Budget(epsilon, DELTA).mu
    mixed = responses[np.random.default_rng(seed).permutation(cells.size)]
    found: dict[str, list[float]] = {"alone": [], "k releases": [], "atlas": [], "shuffled": []}
    for number in range(seed, seed + releases):
        answers = responses[:, 1:]
        made = {
            "alone": alone(cells, answers, facts, mu, number),
            "k releases": alone(cells, answers, facts, mu / math.sqrt(count), number),
            "atlas": together(cells, responses, facts, epsilon, number),
            "shuffled": together(cells, mixed, facts, epsilon, number),
        }
        for name, layers in made.items():
            found[name].append(agreement(layers, shares, there))
    return {name: float(np.mean(each)) for name, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--releases", type=int, default=16, help="simulated releases of a world (default 16)")
    asked = parser.parse_args()
    print("signal of an answer over the longest vector: of a fixed size, in deviations from its share")
    for columns in (2, 4, 10):
        pairs = {share: signal(columns, share) for share in (0.5, 0.3, 0.2, 0.1, 0.05)}
        signals = "  ".join(f"share {share:g} {own:.3f}" for share, (_, own) in pairs.items())
        print(f"k {columns:2}: fixed {pairs[0.5][0]:.3f}; {signals}")
    for columns in (2, 4):
        for epsilon in EPSILONS:
            many = [compared(columns, epsilon, SEED + each, asked.releases) for each in range(WORLDS)]
            means = "  ".join(f"{name} {np.mean([each[name] for each in many]):.3f}" for name in many[0])
            print(f"one amount, {columns - 1} answers, n {RECORDS}, epsilon {epsilon:g}: {means}", flush=True)
    print(f"Seed {SEED}; {WORLDS} worlds, {asked.releases} simulated releases of each, delta {DELTA:g}.")


if __name__ == "__main__":
    main()

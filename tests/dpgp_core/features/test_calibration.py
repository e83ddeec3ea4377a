"""Probabilities against simulated truths: in ten bins the share of exceeding cells is what was stated."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.sums import GridRecords, release_sums
from tests.dpgp_core.features.worlds import FakeNoise, model_on, plan_for
from tests.dpgp_core.hexmap import disk
from tests.oracles.readings import exceedance, read

RADIUS, CELLS = 7, 169
FIELD_MEAN, FIELD_SD, CLIP = 0.0, 1.0, 1.2


def bins(stated: np.ndarray, true: np.ndarray) -> list[tuple[float, float]]:
    """(share of cells, observed - stated) of each tenth of the probabilities."""
    tenth = np.minimum((10 * stated).astype(int), 9)
    return [
        (float(np.mean(tenth == k)), float(true[tenth == k].mean() - stated[tenth == k].mean()))
        for k in range(10)
        if np.any(tenth == k)
    ]


def worlds(
    made: Prepared, kind: str, count: int, threshold: float, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray, PublicCounts]:
    """Stated and true exceedances of `count` worlds: records one by one, clipped, rounded, released, read."""
    generator = np.random.default_rng(seed)
    prior = make_prior("exponential", disk(RADIUS, 3), made.plan.lengthscale)
    field = made.plan.field

    def places() -> np.ndarray:
        density = np.exp(0.7 * prior.colour(generator.standard_normal((CELLS, 1)))[:, 0])
        return generator.choice(CELLS, n, p=density / density.sum())

    fixed = places()
    shape = np.bincount(fixed, minlength=CELLS).astype(float)
    known = PublicCounts(kind, float(n), None if kind == "unknown" else shape)
    stated, true = [], []
    for number in range(count):
        truth = field.mean + field.deviation * prior.colour(generator.standard_normal((CELLS, 1)))[:, 0]
        if kind == "known":
            cells = fixed
        elif kind == "reference":
            cells = generator.choice(CELLS, n, p=(shape + 0.05) / (shape + 0.05).sum())
        else:
            cells = places()
        records = GridRecords.of(cells, truth[cells] + field.scatter * generator.standard_normal(n))
        released = release_sums(made.features, made.nodes, records, made.noise, FakeNoise(seed + number))
        stated.append(exceedance(read(made, released, known), threshold))
        true.append(truth > threshold)
    return np.concatenate(stated), np.concatenate(true), known


def plan(kind: str, mu: float, n: int) -> Prepared:
    relation = "values-only" if kind == "known" else "replace-one"
    field = PublicPrior(FIELD_MEAN / CLIP, FIELD_SD / CLIP, 1.0)
    return model_on(RADIUS).prepare(plan_for(mu=mu, density=n / CELLS, relation=relation, field=field))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["unknown", "reference", "known"])
def test_probabilities_are_nearly_calibrated_as_they_come(kind: str) -> None:
    stated, true, _ = worlds(plan(kind, 0.5, 800), kind, 60, 0.25, 800, 7)
    assert abs(float(true.mean() - stated.mean())) < 0.03
    assert max(abs(gap) for share, gap in bins(stated, true) if share > 0.02) < 0.09


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "mu"), [("unknown", 0.5), ("reference", 1.0), ("known", 0.27)])
def test_probabilities_are_calibrated_over_four_hundred_worlds(kind: str, mu: float) -> None:
    stated, true, _ = worlds(plan(kind, mu, 800), kind, 400, 0.25, 800, 100)
    gaps = bins(stated, true)
    assert len(gaps) == 10
    assert max(abs(gap) for _, gap in gaps) <= 0.03

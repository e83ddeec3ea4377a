"""Evaluation: what a design would achieve on reference data, with draws shared between designs."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpgp_core.entropy import SimulationEntropy
from dpgp_core.lattice import Lattice
from dpgp_core.priors import Prior, make_prior
from dpgp_core.records import CollapsedRecords
from dpgp_core.ridge_family import RidgeFamily
from dpgp_core.scores import bce, ious
from dpgp_core.smoothing import domain_adjacency, smooth
from workflow.candidates import SMOOTHINGS
from workflow.records import PlacedObservations, bin_records, cell_medians
from workflow.released import ResponseScale

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SIMULATED_RELEASES = 12
SEED = 314159  # simulated draws on reference data only; a release never sees it
HOLDOUT_SHARE = 4  # one cell in four is held out
FAMILY_CELLS = 60_000  # cells times kept families: about half a gigabyte of features


@dataclass(frozen=True)
class Utility:
    """What a design achieves on reference data.

    agreement      expected IoU of the released set with the reference baseline, over the whole domain
    agreement_sd   standard deviation of that IoU over simulated releases
    holdout_iou    expected IoU of the released set with the held-out cells' own labels, the design being run
                   without their records; computed for a search's answer only, otherwise NaN
    bce            binary cross-entropy of the posterior probabilities on held-out cells
    effective_dimension   tr K (K + r^2)^-1
    """

    agreement: float
    agreement_sd: float
    holdout_iou: float
    bce: float
    effective_dimension: float


class Shelf:
    """Priors and ridge families of one lattice, kept so that judges share their factorisations."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._priors: OrderedDict[tuple[str, float], Prior] = OrderedDict()
        self._families: OrderedDict[tuple[str, float, str, int], RidgeFamily] = OrderedDict()
        self._kept = max(4, min(24, FAMILY_CELLS // lattice.size))

    def prior(self, name: str, lengthscale: float) -> Prior:
        """The prior; lengthscale in metres."""
        key = (name, lengthscale)
        if key not in self._priors:
            self._priors[key] = make_prior(name, self._lattice, lengthscale)
            if len(self._priors) > self._kept:
                self._priors.popitem(last=False)
        self._priors.move_to_end(key)
        return self._priors[key]

    def family(
        self, name: str, lengthscale: float, role: str, records: CollapsedRecords, draws: int
    ) -> RidgeFamily:
        """One eigendecomposition and one set of draws per (prior, lengthscale, cells and counts)."""
        key = (name, lengthscale, role, hash((records.index.tobytes(), records.count.tobytes())))
        if key not in self._families:
            prior = self.prior(name, lengthscale)
            self._families[key] = RidgeFamily(prior, records, draws, SimulationEntropy(SEED))
            if len(self._families) > self._kept:
                self._families.popitem(last=False)
        self._families.move_to_end(key)
        return self._families[key].with_means(records.mean)


class Evaluator:
    """Scores designs on reference records under one response scale.

    Each (prior, lengthscale) keeps one eigendecomposition and one set of simulated draws for all ridges;
    scale, noise, smoothing and threshold then cost matrix products only.
    """

    def __init__(
        self,
        lattice: Lattice,
        cells: tuple[str, ...],
        reference: PlacedObservations,
        response: ResponseScale,
        unit: str,
        threshold: float,
        direction: str,
        paths: int,
        prior_mean: Floats | None = None,
        weight: int = 1,
        shelf: Shelf | None = None,
    ) -> None:
        self.lattice, self.paths, self.response = lattice, paths, response
        self.adjacency = domain_adjacency(lattice)
        self.level = float(response.forward(threshold))
        self.sign = 1.0 if direction == "above" else -1.0
        self.offset = np.zeros(lattice.size) if prior_mean is None else prior_mean
        binned = bin_records(reference, response, unit, prior_mean).records
        self.records = CollapsedRecords(binned.index, weight * binned.count, binned.mean)
        labelled, medians = cell_medians(reference)
        held = np.array([zlib.crc32(cell.encode()) % HOLDOUT_SHARE == 0 for cell in cells])
        test = held[labelled]
        if test.all() or not test.any():  # tiny domains: judge on the training cells themselves
            self.held_out, truth, keep = labelled, medians, np.ones(self.records.index.size, dtype=bool)
        else:
            self.held_out, truth = labelled[test], medians[test]
            keep = ~held[self.records.index]
        self.labels: Bools = self.sign * (response.forward(truth) - self.level) > 0
        self.training = CollapsedRecords(
            self.records.index[keep], self.records.count[keep], self.records.mean[keep]
        )
        self.releases = SIMULATED_RELEASES if paths == 1 else max(4, SIMULATED_RELEASES // paths)
        self._shelf = shelf or Shelf(lattice)
        self.prior = self._shelf.prior
        self._noise: dict[tuple[str, float], dict[int, Floats]] = {}
        self.baseline: Bools | None = None

    def family(self, name: str, lengthscale: float, role: str) -> RidgeFamily:
        """The shared eigendecomposition and draws; `role` is "all" records or "training" cells."""
        if role == "all":
            return self._shelf.family(name, lengthscale, role, self.records, self.releases * self.paths)
        return self._shelf.family(name, lengthscale, role, self.training, 1)

    def effective_dimension(self, name: str, lengthscale: float, ridge: float) -> float:
        """`tr K (K + r^2 I)^-1` over the reference records."""
        return self.family(name, lengthscale, "all").effective_dimension(ridge)

    def prior_noise(self, name: str, lengthscale: float) -> dict[int, Floats]:
        """(releases * paths, N) shared draws of the prior at unit scale, per number of smoothing rounds."""
        key = (name, lengthscale)
        if key not in self._noise:
            prior = self.prior(name, lengthscale)
            white = SimulationEntropy(SEED + 1).normal((prior.white_size, self.releases * self.paths))
            smoothed = self._smoothed(np.ascontiguousarray(prior.colour(white).T))
            self._noise[key] = dict(zip(SMOOTHINGS, smoothed, strict=True))
        return self._noise[key]

    def inside(self, field: Floats) -> Bools:
        """Excursion of a field (without its public prior mean) at the threshold."""
        return self.sign * (field + self.offset - self.level) > 0

    def probability(self, mean: Floats, sd: Floats, offset: Floats) -> Floats:
        """Excursion probability of normal values; `offset` adds the public prior mean to `mean`."""
        return np.asarray(ndtr(self.sign * (mean + offset - self.level) / np.maximum(sd, 1e-12)))

    def holdout_moments(self, name: str, lengthscale: float, ridge: float) -> tuple[Floats, Floats]:
        """Mean and unit-scale standard deviation at the held-out cells, fitted on the training cells."""
        state = self.family(name, lengthscale, "training").at(ridge)
        return state.mean[self.held_out], np.sqrt(state.variance[self.held_out])

    def holdout_bce(self, mean: Floats, sd: Floats) -> float:
        """BCE of normal marginals at the held-out cells against their labels."""
        return bce(self.probability(mean, sd, self.offset[self.held_out]), self.labels)

    def baseline_set(self, name: str, lengthscale: float, ridge: float) -> Bools:
        """Non-private excursion set on the reference data: posterior probability above one half."""
        return self.inside(self.family(name, lengthscale, "all").at(ridge).mean)

    def simulated_sets(self, name: str, lengthscale: float, ridge: float) -> SimulatedSets:
        """Released sets of one (prior, lengthscale, ridge) at any scale, noise and smoothing of SMOOTHINGS.

        Smoothing is linear, so the mean, the residual paths and the prior noise are smoothed once and then
        combined for every scale.
        """
        state = self.family(name, lengthscale, "all").at(ridge)
        parts = {rounds: (mean[0], paths) for rounds, mean, paths in zip(
            SMOOTHINGS, self._smoothed(state.mean[None] + self.offset), self._smoothed(state.residual_paths),
            strict=True)}  # fmt: skip
        return SimulatedSets(self, parts, lambda rounds: self.prior_noise(name, lengthscale)[rounds])

    def _smoothed(self, fields: Floats) -> list[Floats]:
        """The fields after each number of rounds in SMOOTHINGS."""
        done, results = 0, []
        for rounds in SMOOTHINGS:
            fields = smooth(self.adjacency, fields, rounds - done)
            results.append(fields)
            done = rounds
        return results

    def agreement(self, sets: Bools) -> tuple[float, float]:
        """Mean and spread of the IoU with the baseline."""
        if self.baseline is None:
            raise RuntimeError("the reference baseline is not set: run the unconstrained search first")
        values = ious(sets, self.baseline)
        spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
        return float(values.mean()), spread

    def held_out_agreement(self, sets: Bools) -> float:
        """Mean IoU of sets (S, N) with the labels of the held-out cells."""
        return float(ious(np.atleast_2d(sets)[:, self.held_out], self.labels).mean())


@dataclass(frozen=True)
class SimulatedSets:
    """Simulated releases whose mean, paths and prior noise are smoothed already."""

    judge: Evaluator
    parts: dict[int, tuple[Floats, Floats]]
    noise: Callable[[int], Floats]

    def at(self, scale: float, noise_scale: float, rounds: int, count: int | None = None) -> Bools:
        """Released sets, (releases, N); of `count` paths each instead of the judge's number, if given."""
        count = count or self.judge.paths
        mean, paths = self.parts[rounds]
        field = mean + scale * paths
        if noise_scale > 0:
            field += noise_scale * self.noise(rounds)
        above: Bools = self.judge.sign * (field - self.judge.level) > 0
        if count == 1:
            return above
        releases = above.shape[0] // count
        votes = above[: releases * count].reshape(releases, count, -1).mean(axis=1)
        return np.asarray(votes >= 0.5)

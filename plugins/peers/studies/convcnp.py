"""The neural process beside spectral statistics on simulated fields.

Command: `python -m plugins.peers.studies.convcnp`.

Fields of four kinds on 2,403 hexagons, 4,000 records with as much scatter as signal. Both mechanisms know
mean, spread and scatter; the range of the one and the width of the other are chosen on two fields of the same
kind, the figures are means over eight others, one release each. The kinds are those of the training, with
other seeds: on them the network is at home. Then its calibration over 256 tasks of the training's own law of
each kind, and the CPU time of one release.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.special import ndtri

from dpgp_core import gaussian_mu
from dpgp_core.excursion import iou
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, Released
from hexcursion_peers.neural.inputs import network_inputs
from hexcursion_peers.neural.lattice import Window
from hexcursion_peers.neural.mechanism import ConvCnp, ConvCnpDesign
from hexcursion_peers.neural.simulated.fields import FINE, STEP, Kind, make_field
from hexcursion_peers.neural.simulated.tasks import LARGEST, WIDTHS, Simulator, Tasks, finer
from hexcursion_peers.neural.weights import network

SEED, DELTA, EPSILONS = 1613, 1e-5, (0.5, 1.0, 3.0)
CELLS, RECORDS, SPREAD, RIDGE = 2_403, 4_000, 0.4, 1.0
SHOWN: tuple[Kind, ...] = ("smooth", "rough", "plumes", "steps")
CHOOSING, JUDGED = 2, 8
RANGES = (0.15, 0.3, 0.6)  # of the spectral prior, window units
LEVELS = (0.5, 0.9, 0.95)
TASKS, TIMED = 256, (2_403, 16_868)


@dataclass(frozen=True, eq=False)
class Simulated:
    """One field in response units and records of it."""

    truth: Floats
    records: CollapsedRecords


@dataclass(frozen=True)
class Score:
    """How one release does: IoU at the 60 % quantile, mean negative log density, share within 90 %."""

    iou: float
    nll: float
    held: float


def round_lattice(cells: int, spacing: float = 500.0) -> Lattice:
    """The hexagons nearest to a middle."""
    reach = int(np.sqrt(cells)) + 2
    first, second = np.meshgrid(np.arange(-reach, reach + 1), np.arange(-reach, reach + 1))
    centres = np.column_stack([(first + second / 2.0).ravel(), (second * np.sqrt(0.75)).ravel()]) * spacing
    centres = centres[np.argsort(np.square(centres).sum(axis=1), kind="stable")[:cells]]
    near = cKDTree(centres).query_pairs(1.1 * spacing, output_type="ndarray")
    graph = sparse.coo_matrix((np.ones(len(near)), near.T), shape=(cells, cells))
    return Lattice(centres, sparse.csr_matrix(graph + graph.T), np.arange(cells), spacing)


def simulated(kind: Kind, lattice: Lattice, rng: np.random.Generator) -> Simulated:
    """A field of a kind at the cells, mean 0 and deviation SPREAD there, with evenly spread records."""
    places = Window.of(lattice.centres, lattice.spacing).places
    at = np.clip(((places + 1.0) / STEP).astype(int), 0, FINE - 1)
    field = make_field(kind, rng)[at[:, 0], at[:, 1]]
    truth = SPREAD * (field - field.mean()) / max(float(field.std()), 1e-6)
    cells = rng.integers(0, lattice.size, RECORDS)
    responses = np.clip(truth[cells] + RIDGE * SPREAD * rng.standard_normal(RECORDS), -1.0, 1.0)
    return Simulated(truth, CollapsedRecords.from_records(cells, responses))


def scored(released: Released, truth: Floats) -> Score:
    """Against the field without noise."""
    assert released.mean is not None
    assert released.sd is not None
    level = float(np.quantile(truth, 0.6))
    apart = (truth - released.mean) / released.sd
    nll = 0.5 * np.square(apart) + np.log(released.sd) + 0.5 * np.log(2.0 * np.pi)
    within = np.abs(apart) <= ndtri(0.95)
    return Score(iou(released.mean > level, truth > level), float(nll.mean()), float(within.mean()))


def _designs(half: float, mu: float) -> dict[str, list[ConvCnpDesign | SpectralStatisticsDesign]]:
    return {
        "convcnp": [ConvCnpDesign(width * half, 0.0, SPREAD, 1.0, RIDGE, mu) for width in WIDTHS[:4]],
        "spectral": [
            SpectralStatisticsDesign(
                "water-filled", "exponential", share * half, 0.5, 0.0, SPREAD, 1.0, RIDGE, mu
            )
            for share in RANGES
        ],
    }


def contests(choosing: int, judged: int) -> Iterator[str]:
    """A line for each kind, epsilon and mechanism."""
    lattice = round_lattice(CELLS)
    facts = PublicFacts(lattice, RECORDS)
    rng = np.random.default_rng(SEED)
    fields = {kind: [simulated(kind, lattice, rng) for _ in range(choosing + judged)] for kind in SHOWN}
    half = Window.of(lattice.centres, lattice.spacing).half
    for epsilon in EPSILONS:
        mu = float(gaussian_mu(epsilon, DELTA)) * (1.0 - 2.0**-40)
        judged_of: dict[Kind, list[list[Score]]] = {kind: [] for kind in SHOWN}
        for name, designs in _designs(half, mu).items():
            mechanism = ConvCnp() if name == "convcnp" else SpectralStatistics()
            scores: dict[Kind, list[list[Score]]] = {kind: [] for kind in SHOWN}
            for design in designs:
                for kind in SHOWN:
                    entropy = SimulationEntropy(SEED)
                    scores[kind].append(
                        [
                            scored(mechanism.prepare(design, facts, field.records).draw(entropy), field.truth)
                            for field in fields[kind]
                        ]
                    )
            for kind in SHOWN:
                best = max(scores[kind], key=lambda row: np.mean([score.iou for score in row[:choosing]]))
                judged_scores = best[choosing:]
                judged_of[kind].append(judged_scores)
                error = np.std([score.iou for score in judged_scores], ddof=1) / np.sqrt(len(judged_scores))
                design = designs[scores[kind].index(best)]
                width = getattr(design, "width", getattr(design, "lengthscale", 0.0))
                yield (
                    f"{kind:8}  {epsilon:7.1f}  {name:8}  {np.mean([s.iou for s in judged_scores]):.3f}  "
                    f"{error:.3f}  {np.mean([s.nll for s in judged_scores]):6.3f}  "
                    f"{np.mean([s.held for s in judged_scores]):.3f}  {width:6.0f}"
                )
        for kind, (ours, theirs) in judged_of.items():
            gain = np.array(
                [our_score.iou - other.iou for our_score, other in zip(ours, theirs, strict=True)]
            )
            nats = np.array(
                [our_score.nll - other.nll for our_score, other in zip(ours, theirs, strict=True)]
            )
            root = np.sqrt(gain.size)
            yield (
                f"{kind:8}  {epsilon:7.1f}  difference on the same fields: IoU {gain.mean():+.3f} "
                f"({gain.std(ddof=1) / root:.3f}), NLL {nats.mean():+.3f} ({nats.std(ddof=1) / root:.3f})"
            )


def coverage(tasks: int) -> Iterator[str]:
    """Shares of the true values within stated intervals, by kind of field."""
    for kind in get_args(Kind):
        batch = Simulator(SEED).tasks(tasks, [kind])
        yield _covered(kind, batch)
    yield _covered("all", Simulator(SEED + 1).tasks(tasks))


def _covered(name: str, batch: Tasks) -> str:
    truth, inside = batch.truth, batch.inside
    mean, sd = network()(*network_inputs(batch.seen, batch.encoders))
    apart = np.abs(np.clip(truth, -LARGEST, LARGEST) - finer(mean)) / finer(sd)
    shares = [
        float(
            np.mean([np.mean(a[i] <= ndtri(0.5 + level / 2.0)) for a, i in zip(apart, inside, strict=True)])
        )
        for level in LEVELS
    ]
    return f"{name:8}  {len(truth):5}  " + "  ".join(f"{share:.3f}" for share in shares)


def timings() -> Iterator[str]:
    """CPU seconds of the public work, once per domain, and of one release after it."""
    for cells in TIMED:
        lattice = round_lattice(cells)
        facts, mechanism = PublicFacts(lattice, RECORDS), ConvCnp()
        half = Window.of(lattice.centres, lattice.spacing).half
        design = ConvCnpDesign(0.15 * half, 0.0, SPREAD, 1.0, RIDGE, 0.25, paths=100)
        records = simulated("smooth", lattice, np.random.default_rng(SEED)).records
        begun = time.process_time()
        prepared = mechanism.prepare(design, facts, records)
        ready = time.process_time()
        prepared.draw(SystemEntropy())
        yield f"{cells:6,}  {ready - begun:7.2f}  {time.process_time() - ready:7.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one field of each kind, 16 tasks")
    quick = parser.parse_args().quick
    choosing, judged, tasks = (1, 2, 16) if quick else (CHOOSING, JUDGED, TASKS)
    print(
        f"Seed {SEED}, delta {DELTA:g}; {CELLS:,} hexagons, {RECORDS:,} records, "
        f"{choosing} fields to choose on, {judged} judged."
    )
    print("field     epsilon  mechanism  IoU    s.e.    NLL    in 90 %  width or range, m")
    for line in contests(choosing, judged):
        print(line, flush=True)
    print(f"Calibration over {tasks} simulated tasks of each kind: share within 50, 90 and 95 % intervals.")
    for line in coverage(tasks):
        print(line, flush=True)
    print("CPU seconds: cells, public work once, one release with 100 paths.")
    for line in timings():
        print(line, flush=True)


if __name__ == "__main__":
    main()

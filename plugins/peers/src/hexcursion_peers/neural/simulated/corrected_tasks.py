"""Simulated releases of spectral statistics, read and stored for the training of the correcting network."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpgp_core.linalg import Floats
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import UNIT
from dpgp_core.priors.lattice import Lattice
from dpgp_core.spectral.model import PublicCounts, SpectralModel, SpectralPlan
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.sums import GridRecords, release_sums
from hexcursion_peers.neural.corrected import Correction, context_of, read_twice
from hexcursion_peers.neural.lattice import AXIS, PIXEL, SIDE, Window
from hexcursion_peers.neural.simulated.fields import FINE
from hexcursion_peers.neural.simulated.tasks import LARGEST, MUS, log_uniform, random_domain, simulated_world

RANGES = (0.1, 1.5)
SIGNALS = (0.2, 1.2)
"""Ranges of the training, evenly on a logarithmic scale: the prior's range, window units, and the signal."""

COMMON = 0.3  # as the mechanism takes it where the mean is not known
PLANS = 8  # ranges of each domain


class SimulatedNoise:
    """The law of the release's noise in floating point: simulations only."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._entropy = SimulationEntropy(int(rng.integers(1 << 62)))

    def rounded_normal(self, scale: float, size: int) -> NDArray[np.int64]:
        """(size,) whole numbers of deviation `scale`."""
        return np.rint(scale * self._entropy.normal((size,))).astype(np.int64)


def pixel_lattice(domain: NDArray[np.bool_]) -> Lattice:
    """The pixels of a simulated domain (SIDE, SIDE) as cells, window units for metres."""
    first, second = np.nonzero(domain)
    number = np.full((SIDE, SIDE), -1)
    number[domain] = np.arange(first.size)
    down, right = domain[:-1] & domain[1:], domain[:, :-1] & domain[:, 1:]
    start = np.concatenate([number[:-1][down], number[:, :-1][right]])
    other = np.concatenate([number[1:][down], number[:, 1:][right]])
    graph = sparse.coo_matrix((np.ones(start.size), (start, other)), shape=(first.size, first.size))
    centres = np.column_stack([AXIS[first], AXIS[second]])
    return Lattice(centres, sparse.csr_matrix(graph + graph.T), np.arange(first.size), PIXEL)


def _summed(fine: Floats, domain: NDArray[np.bool_]) -> Floats:
    """(N,) sums over the simulated cells of each pixel of the domain."""
    step = FINE // SIDE
    return np.asarray(fine.reshape(SIDE, step, SIDE, step).sum(axis=(1, 3))[domain])


def _one(
    rng: np.random.Generator, domain: NDArray[np.bool_], model: SpectralModel, way: Correction, scale: float
) -> dict[str, NDArray[np.floating]]:
    world = simulated_world(rng, domain)
    count = _summed(world.count, domain)
    units = np.rint(_summed(world.total, domain) / UNIT).astype(np.int64)
    occupied = np.flatnonzero(count)
    records = GridRecords(occupied, count[occupied].astype(np.int64), units[occupied])
    plan = SpectralPlan(
        "water-filled",
        "exponential",
        scale,
        PublicPrior(world.middle, world.spread, world.ridge),
        log_uniform(rng, MUS),
        records.n / count.size,
        "replace-one",
        log_uniform(rng, SIGNALS),
        COMMON if rng.uniform() < 0.15 else 0.0,
        True,
    )
    prepared = model.prepare(plan)
    earlier = None
    if rng.uniform() < 0.3:
        earlier = rng.multinomial(records.n, _summed(world.chance, domain)).astype(float)
    public_counts = PublicCounts("unknown" if earlier is None else "reference", float(records.n), earlier)
    released = release_sums(prepared.features, prepared.nodes, records, prepared.noise, SimulatedNoise(rng))
    reading = read_twice(model, prepared, released, public_counts)
    return {
        "channels": way.channels(reading, world.middle, world.spread),
        "context": context_of(prepared, records.n, 1.0),
        "truth": np.clip(world.truth, -LARGEST, LARGEST),
    }


def make_pool(seed: int, domains: int, per_domain: int) -> dict[str, NDArray[np.floating]]:
    """`domains` times `per_domain` simulated releases and their fields, in half precision: "channels" (B,
    CHANNELS, SIDE, SIDE), "context" (B, CONTEXT), "truth" (B, FINE, FINE) in units of the public belief."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, NDArray[np.floating]]] = []
    for _ in range(domains):
        domain = random_domain(rng)
        lattice = pixel_lattice(domain)
        model = SpectralModel(lattice)
        way = Correction(Window(np.zeros(2), 1.0, lattice.centres, PIXEL))
        scales = [log_uniform(rng, RANGES) for _ in range(PLANS)]
        rows += [_one(rng, domain, model, way, scales[k % PLANS]) for k in range(per_domain)]
    return {name: np.array([row[name] for row in rows], dtype=np.float16) for name in rows[0]}


def main() -> None:
    """`python -m hexcursion_peers.neural.simulated.corrected_tasks --out pool.npz`."""
    parser = argparse.ArgumentParser(description="Simulate releases for training the correcting network.")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .npz")
    parser.add_argument("--domains", type=int, default=40)
    parser.add_argument("--each", type=int, default=250, help="releases of each domain")
    parser.add_argument("--seed", type=int, default=20_261_125)
    options = parser.parse_args()
    begun = time.process_time()
    pool = make_pool(options.seed, options.domains, options.each)
    np.savez(options.out, allow_pickle=False, **pool)
    spent = time.process_time() - begun
    print(f"Seed {options.seed}: {len(pool['truth'])} releases in {spent:.0f} s of CPU time.")


if __name__ == "__main__":
    main()

"""What a network sees of a reading of spectral statistics, and how its answer corrects that reading."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from dpgp_core.linalg import Floats
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts, SpectralModel
from dpgp_core.spectral.prior import FieldBasis, unclipped
from dpgp_core.spectral.reading import FieldPosterior, FieldReader
from dpgp_core.spectral.sums import SpectralSums
from hexcursion_peers.neural.inputs import Single
from hexcursion_peers.neural.lattice import AXIS, SIDE, Window
from hexcursion_peers.neural.network import LEAST_SD, Layout, Network

FINER = 3.0
"""The release is read a second time by a prior of so much shorter range: that is free."""

CHANNELS, CONTEXT = 6, 7
"""Both readings' mean and deviation, the records' density, the domain; the context of `context_of`."""

CORRECTION = Layout(CHANNELS, CONTEXT, (16, 32, 48, 48), (3, 3))
"""The network that corrects a reading."""

NEUTRAL = float(np.log(2.0)) + LEAST_SD
"""What a head of zeros states as deviation: it leaves the reading's own as it is."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Two readings of one release, response units, each array (N,): nothing in it is private any more.

    `mean` and `sd` are by the design's own prior, the others by the one of shorter range; `density` is
    the expected number of records of a cell over their mean."""

    mean: Floats
    sd: Floats
    other_mean: Floats
    other_sd: Floats
    density: Floats


def _field(prepared: Prepared, reader: FieldReader, sums: Floats) -> tuple[Floats, Floats]:
    posterior = FieldPosterior(reader, sums)
    _, mean, sd = unclipped(
        posterior.mean(), posterior.deviation(), prepared.prior, np.empty((0, prepared.nodes.cells))
    )
    return mean, sd


def read_twice(
    model: SpectralModel, prepared: Prepared, released: SpectralSums, public_counts: PublicCounts
) -> Reading:
    """Both readings of a release of a plan."""
    plan = prepared.plan
    counts: NodeCounts = prepared.counts(public_counts, released.counts)
    pairs = model.smooth_pairs(plan.prior, plan.lengthscale / FINER)
    finer = FieldBasis.of(pairs, 2 * prepared.features.size + 64)
    readers = [
        FieldReader.of(
            prepared.nodes,
            basis,
            prepared.prior,
            prepared.features.values,
            counts,
            prepared.noise.sums,
            paths=False,
        )
        for basis in (prepared.basis, finer.with_common(plan.common) if plan.common else finer)
    ]
    (mean, sd), (other_mean, other_sd) = (_field(prepared, reader, released.sums) for reader in readers)
    per_cell = prepared.nodes.spread(counts.mean / prepared.nodes.cells_per_node)
    return Reading(mean, sd, other_mean, other_sd, per_cell / max(float(per_cell.mean()), 1e-12))


def context_of(prepared: Prepared, n: float, half: float) -> Single:
    """(CONTEXT,) numbers of the whole map: budget, features, range, records, belief; `half` in metres."""
    plan = prepared.plan
    field = plan.field
    context = np.array(
        [
            np.log(plan.mu / 0.3),
            np.log(prepared.features.size / 60.0),
            np.log(plan.lengthscale / half / 0.4),
            np.log(n / 2e3) / 2.0,
            np.log(field.ridge),
            np.log(field.deviation / 0.4),
            2.0 * field.mean,
        ]
    )
    return np.asarray(np.clip(context, -6.0, 6.0).astype(np.float32))


@dataclass(frozen=True, eq=False)
class Correction:
    """The way from the cells of a domain to the network's lattice and back.

    Parameters
    ----------
    window : Window
        Of the cells.
    """

    window: Window

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """(SIDE, SIDE) pixels of the domain."""
        return self.window.mask

    @cached_property
    def gather(self) -> sparse.csr_matrix:
        """(SIDE^2, N) means of the cells around each pixel; or the nearest one's value."""
        weights = sparse.csr_matrix(self.window.reading.T)
        total = np.asarray(weights.sum(axis=1)).ravel()
        first, second = np.meshgrid(AXIS, AXIS, indexing="ij")
        _, nearest = cKDTree(self.window.places).query(np.column_stack([first.ravel(), second.ravel()]))
        alone = np.flatnonzero(total < 0.25)
        full = np.where(total < 0.25, 0.0, 1.0 / np.maximum(total, 1e-12))
        lonely = sparse.csr_matrix((np.ones(alone.size), (alone, nearest[alone])), shape=weights.shape)
        return sparse.csr_matrix(sparse.diags_array(full) @ weights + lonely)

    def channels(self, reading: Reading, middle: float, spread: float) -> Single:
        """(CHANNELS, SIDE, SIDE) of one reading, with the public belief."""

        def pixels(values: Floats) -> Floats:
            return np.asarray(self.gather @ values).reshape(SIDE, SIDE)

        layers = [
            pixels((reading.mean - middle) / spread),
            pixels(reading.sd / spread),
            pixels((reading.other_mean - middle) / spread),
            pixels(reading.other_sd / spread),
            pixels(np.sqrt(reading.density)),
            self.mask,
        ]
        return np.clip(np.array(layers, dtype=np.float32), -6.0, 6.0)

    def apply(
        self, network: Network, readings: list[Reading], context: Single, middle: float, spread: float
    ) -> tuple[Floats, Floats]:
        """(R, N) corrected means and deviations, response units, of R releases of one plan."""
        channels = np.array([self.channels(reading, middle, spread) for reading in readings])
        shift, factor = network(channels, np.repeat(context[None], len(readings), axis=0))
        flat = (len(readings), -1)
        shift_at_cells = (self.window.reading @ shift.reshape(flat).T.astype(float)).T
        scaled = (self.window.reading @ factor.reshape(flat).T.astype(float)).T / NEUTRAL
        mean = np.array([reading.mean for reading in readings]) + spread * shift_at_cells
        sd = np.array([reading.sd for reading in readings]) * scaled
        return mean, np.maximum(sd, spread * LEAST_SD)

"""Two looks: a second release that is centred, clipped and shaped by what a first one has released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import GRID_BITS, Features, inner_products
from dpgp_core.features.nodes import Nodes
from dpgp_core.features.strategies import water_filling
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower
from dpgp_core.posterior.records import RESPONSE_BITS, UNIT
from dpgp_core.spectral.cost import SpectralNoise, noise_for
from dpgp_core.spectral.counts import NodeCounts, read_counts
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.prior import LinearLaw, PublicPrior
from dpgp_core.spectral.reading import FieldReader
from dpgp_core.spectral.sums import GridRecords, SpectralSums

ROUNDS = 3  # rounds in which clipped responses are made linear around the last reading
FUNCTIONS = 320
"""Functions on the nodes in which two looks read the field: those that vary most where records are."""

PATTERNS = 1_000  # patterns of the domain from which these functions are made
EVEN = 0.15  # records that a second look reckons with everywhere, as a share of the mean count
COARSE = 1 << (GRID_BITS - 14)
"""Second features are multiples of 2^-14: machines that differ in the last digits make the same ones."""

LEAST_REST = 1e-6
"""Least variance of what a linear law leaves of a response: where all is clipped it leaves nothing."""

_POINTS, _REACH = 161, 6.0  # of the quadrature over a record's value, in deviations


@dataclass(frozen=True, eq=False)
class Look:
    """What one release of sums looks at: responses `clip((y - centre)/bound)` of once clipped y."""

    features: Features  # public before this look
    noise: SpectralNoise  # the standard deviations
    centre: Floats  # (M,) of the nodes, in [-1, 1], response units of the first look
    bound: float  # in (0, 1], likewise

    @classmethod
    def first(cls, plan: Prepared) -> Look:
        """The look of a plan: nothing is known yet."""
        return cls(plan.features, plan.noise, np.zeros(plan.nodes.size), 1.0)

    def responses(self, value: Floats) -> Floats:
        """Responses (M, K) of records with values (M, K) at the nodes."""
        clipped = np.clip(value, -1.0, 1.0)
        return np.asarray(np.clip((clipped - self.centre[:, None]) / self.bound, -1.0, 1.0))

    def records(self, nodes: Nodes, cells: Ints, counts: Ints, singles: Ints) -> GridRecords:
        """What records say at this look: each is rounded by itself, so one record changes one response.

        `cells`, `counts` (k,) are the occupied cells, increasing, and their records; `singles` (n,) the first
        look's response of every record in units of 2^-10, cell by cell.
        """
        apart = singles * UNIT - np.repeat(self.centre[nodes.place[cells]], counts)
        responses = np.rint(np.clip(apart / self.bound, -1.0, 1.0) * (1 << RESPONSE_BITS)).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        return GridRecords(cells, counts, np.add.reduceat(responses, starts))


def second_look(
    plan: Prepared, released: SpectralSums, public_counts: PublicCounts, mu: float, tight: float
) -> Look:
    """Where a second look of parameter mu > 0 should look: a function of what the first has released.

    `tight` > 0 is its clip bound in deviations of a record about the map that the first look gives. The
    features are those functions on the nodes in which the field that is left varies most where records are
    expected, with water-filled powers: with posterior covariance R R', expected records w and `R' diag(w) R =
    U diag(e) U'` they are the rows of `R U diag(l/e)^(1/2) U'`. The last factor turns all features together,
    which changes no inner product, and makes them a function of R that is not sensitive to the last digits.
    Whatever they are, they are priced as they are.
    """
    counts = plan.counts(public_counts, released.counts)
    looks = (Look.first(plan),)
    readers = [read_looks(plan, looks, counts, released.sums, belief) for belief in range(len(plan.beliefs))]
    reader = max(readers, key=lambda reader: reader.log_evidence(released.sums))
    basis, law = reader.basis, reader.prior.before
    value, left = reader.mean(released.sums), reader.deviation()
    weight = expected(plan, counts)
    shares = counts.mean / counts.mean.sum()
    bound = min(1.0, tight * float(np.sqrt(law.scatter**2 + shares @ np.square(left))))
    centre = np.clip(value, -1.0, 1.0)
    look = Look(plan.features, plan.noise, centre, bound)
    linear = linear_laws(law, (look,), value, left)
    (slope_at,), ((rest_at,),) = linear.slope, linear.left
    slope = float(shares @ slope_at) * law.deviation
    size = basis.rows.shape[1]
    # (I - G' V^-1 G) = C C', the covariance of the basis's weights
    covariance = np.eye(size) - reader.half.T @ reader.half
    covariance[np.diag_indices(size)] += 1e-9
    rows = basis.rows @ cholesky(covariance, "the covariance that a first look leaves", "use more noise")
    values, turned = np.linalg.eigh((rows * weight[:, None]).T @ rows)
    values = np.maximum(values, np.finfo(np.float64).tiny)  # rounding may leave a zero below 0
    powers = water_filling(
        slope**2 * values,
        float(shares @ rest_at),
        plan.plan.sensitivity / mu,
        float(weight.sum()),
    )
    metric = rows @ ((turned * np.sqrt(powers / values)) @ turned.T)
    features = coarse_features(metric)
    noise = noise_for(mu, inner_products(features), plan.plan.relation)
    return Look(features, noise, centre, bound)


def expected(plan: Prepared, counts: NodeCounts) -> Floats:
    """(M,) records that a second look reckons with at each node."""
    return np.asarray(counts.mean + EVEN * counts.mean.sum() * plan.nodes.cells_per_node / plan.nodes.cells)


def coarse_features(rows: Floats) -> Features:
    """Rows, shape (M, p), of length 1 on the coarse grid; rounding towards zero keeps them from growing."""
    fine = Features.of("second look", rows)
    return Features("second look", np.trunc(fine.scaled / COARSE) * COARSE)


@dataclass(frozen=True, eq=False)
class LinearLaws:
    """Responses at several looks, made linear in the field around the belief at each node."""

    # start, slope: shape (looks, M): a response is `start + slope f` and a rest
    start: Floats
    slope: Floats
    left: Floats  # shape (looks, looks, M), covariance of the rests of one record, at its looks
    size: Floats  # shape (looks, looks, M), products of mean responses, and what the field's doubt adds


def linear_laws(law: PublicPrior, looks: Sequence[Look], value: Floats, deviation: Floats) -> LinearLaws:
    """For a field N(value, deviation^2) at each node, (M,): the best linear guess, and what it leaves."""
    points = np.linspace(-_REACH, _REACH, _POINTS)
    chance = np.exp(-0.5 * np.square(points))
    chance /= chance.sum()
    wide = np.sqrt(law.scatter**2 + np.square(deviation))
    at = value[:, None] + wide[:, None] * points
    responses = np.array([look.responses(at) for look in looks])
    mean = responses @ chance
    slope = (responses @ (chance * points)) / wide
    product = np.einsum("amk,bmk->abm", responses * chance, responses)
    square = np.square(deviation)
    covariance = slope[:, None] * slope[None] * square
    left = product - mean[:, None] * mean[None] - covariance
    for look_number in range(len(looks)):
        left[look_number, look_number] = np.maximum(left[look_number, look_number], LEAST_REST)
    return LinearLaws(mean - slope * value, slope, left, mean[:, None] * mean[None] + covariance)


def counts_of_looks(
    plan: Prepared, looks: Sequence[Look], public_counts: PublicCounts, released: Sequence[Floats | None]
) -> NodeCounts:
    """Posterior of the counts per node given those (p,) that every look has released.

    Raises InvalidValue if counts were not released and nothing is known of them.
    """
    sizes = [look.features.size for look in looks]
    if public_counts.kind == "known":
        assert public_counts.cells is not None
        return NodeCounts.known(plan.nodes.gather(public_counts.cells), sum(sizes))
    if any(counts is None for counts in released) or any(look.noise.counts is None for look in looks):
        raise InvalidValue("counts were not released: say what is known of them.")
    noise = np.repeat([look.noise.counts for look in looks], sizes)
    first, *_ = released_counts = [counts for counts in released if counts is not None]
    rows = np.hstack([look.features.values for look in looks])
    # as if all had noise of deviation 1, then back
    posterior = read_counts(
        plan.count_prior(public_counts, first),
        rows / noise,
        np.concatenate(released_counts) / noise,
        1.0,
        plan.nodes,
    )
    return NodeCounts(posterior.mean, posterior.error * np.outer(noise, noise), posterior.growth)


def read_looks(
    plan: Prepared, looks: Sequence[Look], counts: NodeCounts, sums: Floats, belief: int
) -> FieldReader:
    """Read the sums (p,) of all looks, one after the other, as one: the field under one belief.

    Responses are made linear around the posterior, ROUNDS times and in whole steps. A record
    enters both looks with the same scatter: the rests of its responses have a covariance.
    """
    basis, prior = plan.beliefs[belief]
    basis = basis.following(expected(plan, counts), FUNCTIONS)
    law_before, m = prior.before, counts.mean
    value, deviation = np.full(m.size, law_before.mean), law_before.deviation * np.sqrt(basis.variance)
    stacked = [look.features.values for look in looks]
    sizes = [look.features.size for look in looks]
    parts = [slice(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(looks))]
    noise = np.repeat([look.noise.sums**2 for look in looks], sizes)
    reader: FieldReader | None = None
    for _ in range(ROUNDS):
        law = linear_laws(law_before, looks, value, deviation)
        link = np.vstack(
            [
                (a * (m * law_before.deviation * law.slope[i])[:, None]).T @ basis.rows
                for i, a in enumerate(stacked)
            ]
        )
        offset = np.concatenate(
            [a.T @ (m * (law.start[i] + law.slope[i] * law_before.mean)) for i, a in enumerate(stacked)]
        )
        error = counts.error.copy()
        for i, rows in enumerate(parts):
            for j, other in enumerate(parts[: i + 1]):
                unread = np.square(m * law_before.deviation) * law.slope[i] * law.slope[j] * basis.rest
                block = stacked[i].T @ (stacked[j] * (m * law.left[i, j] + unread)[:, None])
                size = float(law.size[i, j] @ m / m.sum())
                error[rows, other] = size * error[rows, other] + block
                error[other, rows] = error[rows, other].T
        error[np.diag_indices_from(error)] += noise
        root = cholesky(error + link @ link.T, "the covariance of the released sums", "use more noise")
        linear = LinearLaw(
            law.start[0] + law.slope[0] * law_before.mean,
            np.maximum(law.slope[0], 1e-6) * law_before.deviation,
            np.sqrt(law.left[0, 0]),
        )
        half = solve_lower(root, link)
        reader = FieldReader(plan.nodes, basis, prior, offset, root, half, None, linear)
        value, deviation = reader.mean(sums), reader.deviation()
    assert reader is not None
    return reader.with_errors(error)

"""Counted records over public numbers: the logarithm of their rate, read by a linearised law."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats, cholesky, solve_lower
from dpgp_core.noise import SimulationEntropy
from dpgp_core.spectral.counts import NodeCounts, estimated_number
from dpgp_core.spectral.model import Prepared, PublicCounts
from dpgp_core.spectral.model_check import REPLICATES, SEED, ModelCheck, check_model
from dpgp_core.spectral.prior import FieldBasis, LinearLaw, PublicPrior
from dpgp_core.spectral.reading import FieldReader

ROUNDS = 12  # largest number of rounds; each linearises the law of counts around the last reading
LEVEL = 0.6
"""Deviation of the logarithm of a private number of records, in units of the field's deviation."""

STEP, STILL = 1.0, 0.01
"""Largest move of a log rate in one round, and the largest move that counts as convergence."""

NO_NUMBERS = "counts are read over public numbers of each cell, such as inhabitants: name them."


@dataclass(frozen=True, eq=False)
class RateReading:
    """The field of log rates given one release, ready for draws."""

    reader: FieldReader  # reader of the field, linearised around its own posterior
    seen: Floats  # (p,) the released sums in the reader's form
    counts: NodeCounts  # expected records per node, given the release
    # added to the field, a number or (N,): for counted records it makes the expected records sum to
    # their number, for one of several columns it holds the information of the others
    shift: Floats | float
    # (N,) mean of the map of the same records without privacy, clipped responses, where others than these
    # records tell of the field; None: that of the field
    of_map: Floats | None = None


def read_rates(plan: Prepared, public_counts: PublicCounts, sums: Floats) -> RateReading:
    """Read the log rate of counted records from their released sums (p,): post-processing, free.

    The cells (N,) of `public_counts` are the public numbers E over which records are counted: they have any
    sum for the law "rate", and are the expected numbers of records for "density". Raises
    InvalidValue if one is not positive.

    Records of node i are Poisson with mean `E_i exp(u_i)`. For a field N(v, d^2) their mean number
    is `l_i = E_i exp(v_i + d_i^2/2)`, and variational inference of counts arrives at the Gaussian
    law `l_i (1 + u_i - v_i)` with scatter `l_i`. If the number n of all records is public, the
    reading conditions on it: features and basis are centred by their means over the records.
    Otherwise the level of all rates is one more unknown, which a relative risk leaves out at the
    end.
    """
    public = _public(plan.nodes, public_counts)
    total = public_counts.n if public_counts.n is not None else estimated_number(plan.features, public, sums)
    expected = public * (total / public.sum())
    prior = plan.prior.before
    value, deviation = _before(plan)
    # The fixed point is the Gaussian law with the least Kullback-Leibler distance from the
    # posterior (docs/spectral-statistics.md, section 4, "Counted records").
    for _ in range(ROUNDS):
        rate = expected * np.exp(value + 0.5 * np.square(deviation))
        if public_counts.n is not None:
            rate *= total / rate.sum()
        reader, _, fixed = _linear(plan, rate, value, levelled=public_counts.n is None)
        observed, counts = sums - fixed, NodeCounts.known(rate, sums.size)
        value, deviation, still = _moved(value, deviation, reader.mean(observed), reader.deviation())
        if still:
            break
    if public_counts.n is None and prior.law == "density":
        return RateReading(reader, observed, counts, float(np.log(total / public.sum())))
    reader = replace(reader, basis=_without_level(reader.basis, rate))
    value, deviation = reader.mean(observed), reader.deviation()
    rate = expected * np.exp(value + 0.5 * np.square(deviation))
    return RateReading(reader, observed, counts, _shift(prior, rate, total, float(public.sum())))


def check_rates(plan: Prepared, public_counts: PublicCounts, sums: Floats) -> ModelCheck:
    """Compare released sums (p,) of counted records with draws of the model that reads them.

    Fields, counts and noise are drawn from the basis and prior of `plan`. All sums are whitened by
    the model linearised around its mean, and centred by their number of records, public or
    estimated.
    """
    public = _public(plan.nodes, public_counts)
    total = public_counts.n if public_counts.n is not None else estimated_number(plan.features, public, sums)
    expected, entropy = public * (total / public.sum()), SimulationEntropy(SEED)
    reader, loadings, fixed = _linear(plan, expected, _before(plan)[0], levelled=False)
    basis, size = plan.basis, (expected.size, REPLICATES)
    field = basis.rows @ entropy.normal((basis.rows.shape[1], REPLICATES))
    field += np.sqrt(basis.rest)[:, None] * entropy.normal(size)
    rate = expected[:, None] * np.exp(plan.prior.before.deviation * field)
    rate *= total / rate.sum(axis=0)
    # Poisson counts have variance equal to their mean. A few sums over many hexagons are nearly
    # normal, so normal counts serve for them.
    counts = rate + np.sqrt(rate) * entropy.normal(size)
    replicates = loadings.T @ counts + plan.noise.sums * entropy.normal((sums.size, REPLICATES))
    # An estimated number of records leaves no deviation along the mean of the features.
    if public_counts.n is None:
        replicates -= np.outer(fixed, fixed @ replicates) / (fixed @ fixed)
    return check_model(reader, sums - fixed, replicates)


def _before(prepared: Prepared) -> tuple[Floats, Floats]:
    """(M,) mean and deviation of the field before a release."""
    prior = prepared.prior.before
    return np.full(prepared.nodes.size, prior.mean), prior.deviation * np.sqrt(prepared.basis.variance)


def _linear(
    prepared: Prepared, rate: Floats, value: Floats, *, levelled: bool
) -> tuple[FieldReader, Floats, Floats]:
    """The reader for records of mean `rate` (M,) around a field `value`, its features (M, p), and
    the mean (p,) that is subtracted from sums first: 0 if the number of records is not public."""
    prior, basis, a = prepared.prior.before, prepared.basis, prepared.features.values
    if levelled:
        fixed = np.zeros(a.shape[1])
        basis = replace(basis, rows=np.hstack([basis.rows, np.full((rate.size, 1), LEVEL)]))
    else:
        fixed = rate @ a
        # Conditioning Poisson counts on their sum gives a multinomial law, whose covariance is that
        # of the centred features.
        basis, a = _without_level(basis, rate), a - fixed / rate.sum()
    linear = LinearLaw(1.0 + prior.mean - value, np.full(rate.size, prior.deviation), np.ones(rate.size))
    counts = NodeCounts.known(rate, a.shape[1])
    return (
        FieldReader.of(prepared.nodes, basis, prepared.prior, a, counts, prepared.noise.sums, linear=linear),
        a,
        fixed,
    )


def rates_of_records(
    nodes: Nodes, basis: FieldBasis, prior: PublicPrior, public_counts: PublicCounts, counts: Floats
) -> tuple[Floats, Floats, float]:
    """(N,) mean and deviation of the log rate given counts (N,) of every cell: the map without
    privacy.

    `public_counts` is as in `read_rates`, but the number of records is the sum of the counts. The third
    result is the log density of the counts given their number, up to a constant: the lower bound of
    variational inference, by which beliefs are compared.
    """
    at = nodes.gather(np.asarray(counts, dtype=np.float64))
    total, public = float(at.sum()), _public(nodes, public_counts)
    expected = public * (total / public.sum())
    spread, residual = prior.deviation, np.square(prior.deviation) * basis.rest
    value, deviation = np.full(at.size, prior.mean), spread * np.sqrt(basis.variance)
    for _ in range(ROUNDS):
        rate = expected * np.exp(value + 0.5 * np.square(deviation))
        rate *= total / rate.sum()
        rows = spread * _without_level(basis, rate).rows
        # A Poisson count of mean l observes the field with variance 1/l; the node's own part `rest`
        # adds to it, so the weight of a node in the precision of z is 1/(1/l + rest).
        weight = rate / (1.0 + rate * residual)
        precision = (rows * weight[:, None]).T @ rows
        precision[np.diag_indices_from(precision)] += 1.0
        root = cholesky(precision, "the precision of the field", "use a smaller deviation")
        apart = value - prior.mean + at / rate - 1.0  # the field as observed by the node alone
        smooth = rows @ solve_lower(root, solve_lower(root, rows.T @ (weight * apart)), transposed=True)
        gain = weight * residual
        left = np.square(solve_lower(root, np.ascontiguousarray(rows.T))).sum(axis=0)
        narrower = np.sqrt(np.square(1.0 - gain) * left + residual * (1.0 - gain))
        update = prior.mean + smooth + gain * (apart - smooth)
        value, deviation, still = _moved(value, deviation, update, narrower)
        if still:
            break
    likely = float(at @ (value + np.log(expected)) + 0.5 * rate @ np.square(deviation))
    likely -= 0.5 * float((value - prior.mean) @ (at - rate) + np.log1p(rate * residual).sum())
    # The common level of the nodes' own parts carries no information either: n is fixed.
    likely -= 0.5 * float(np.log1p(-(rate @ (rate * residual / (1.0 + rate * residual))) / total))
    rate = expected * np.exp(value + 0.5 * np.square(deviation))
    likely -= total * float(np.log(rate.sum())) + float(np.log(root.diagonal()).sum())
    value = value + _shift(prior, rate, total, float(public.sum()))
    return nodes.spread(value), nodes.spread(deviation), likely


def _moved(value: Floats, deviation: Floats, update: Floats, narrower: Floats) -> tuple[Floats, Floats, bool]:
    """Move a reading (M,) towards the next one by at most STEP; the flag reports convergence."""
    reading = value + np.clip(update - value, -STEP, STEP)
    change = np.abs(reading - value) + np.abs(narrower - deviation)
    return reading, narrower, float(change.max()) < STILL


def _public(nodes: Nodes, counts: PublicCounts) -> Floats:
    """(M,) the public numbers of the nodes."""
    if counts.cells is None:
        raise InvalidValue(NO_NUMBERS)
    if not np.all(np.isfinite(counts.cells) & (counts.cells > 0)):
        raise InvalidValue("the public numbers that records are counted over must be positive.")
    return nodes.gather(counts.cells)


def _shift(prior: PublicPrior, rate: Floats, total: float, expected: float) -> float:
    """The level at which records (M,) sum to their number; a density is relative to the expected
    number."""
    level = float(np.log(total / rate.sum()))
    return level + float(np.log(total / expected)) if prior.law == "density" else level


def _without_level(basis: FieldBasis, rate: Floats) -> FieldBasis:
    """Centre a basis by its mean over records (M,): given their number, the level is not
    observed."""
    return replace(basis, rows=basis.rows - rate @ basis.rows / rate.sum())

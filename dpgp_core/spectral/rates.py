"""Counted records over public numbers: the logarithm of their rate, read by a law that is made linear."""

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

ROUNDS = 12  # rounds at most in which the law of counts is made linear around what was read before
LEVEL = 0.6
"""Deviation of the logarithm of a number of records that is not public, in units of the field's own."""

STEP, STILL = 1.0, 0.01
"""The most by which a rate moves in one of them, as a logarithm, and the move that ends them."""

NO_NUMBERS = "counts are read over public numbers of each cell, such as inhabitants: name them."


@dataclass(frozen=True, eq=False)
class RateReading:
    """The field of log rates given one release, waiting for its draws."""

    reader: FieldReader  # of the field, linear around its own posterior
    seen: Floats  # (p,) the released sums as the reader takes them
    counts: NodeCounts  # expected records per node, given the release
    # what is added to what is read, a number or (N,): of counted records so that all expected records are as
    # many as there are, of one of several columns what the others say of it
    shift: Floats | float


def read_rates(made: Prepared, known: PublicCounts, sums: Floats) -> RateReading:
    """Read the log rate of counted records from their released sums (p,): post-processing, free.

    The cells (N,) of `known` are the public numbers that records are counted over: of any sum for the law
    "rate", and the numbers of records expected beforehand for "density". Raises InvalidValue where one is not
    positive.

    Records of node i are Poisson with mean `E_i exp(u_i)`. Around a field N(v, d^2) they number `l_i = E_i
    exp(v_i + d_i^2/2)` on average, and `l_i (1 + u_i - v_i)` with a scatter of `l_i` is the Gaussian law that
    variational inference of counts arrives at. Where the number n of all records is public it is conditioned
    on: features and basis are taken less their means over the records. Where it is not, the level of all
    rates is read as well, and a relative risk leaves it out in the end.
    """
    public = _public(made.nodes, known)
    total = known.n if known.n is not None else estimated_number(made.features, public, sums)
    expected = public * (total / public.sum())
    prior = made.prior.before
    value, deviation = _before(made)
    for _ in range(ROUNDS):
        rate = expected * np.exp(value + 0.5 * np.square(deviation))
        if known.n is not None:
            rate *= total / rate.sum()
        reader, _, fixed = _linear(made, rate, value, levelled=known.n is None)
        seen, counts = sums - fixed, NodeCounts.known(rate, sums.size)
        value, deviation, still = _moved(value, deviation, reader.mean(seen), reader.deviation())
        if still:
            break
    if known.n is None and prior.law == "density":
        return RateReading(reader, seen, counts, float(np.log(total / public.sum())))
    reader = replace(reader, basis=_without_level(reader.basis, rate))
    value, deviation = reader.mean(seen), reader.deviation()
    rate = expected * np.exp(value + 0.5 * np.square(deviation))
    return RateReading(reader, seen, counts, _shift(prior, rate, total, float(public.sum())))


def check_rates(made: Prepared, known: PublicCounts, sums: Floats) -> ModelCheck:
    """Compare released sums (p,) of counted records with draws of the model that reads them.

    Fields, counts and noise are drawn from the basis and prior of `made`, and all sums are whitened as the
    model is made linear around its mean. Of each the number of records is taken out, known or estimated.
    """
    public = _public(made.nodes, known)
    total = known.n if known.n is not None else estimated_number(made.features, public, sums)
    expected, entropy = public * (total / public.sum()), SimulationEntropy(SEED)
    reader, loadings, fixed = _linear(made, expected, _before(made)[0], levelled=False)
    basis, size = made.basis, (expected.size, REPLICATES)
    field = basis.rows @ entropy.normal((basis.rows.shape[1], REPLICATES))
    field += np.sqrt(basis.rest)[:, None] * entropy.normal(size)
    rate = expected[:, None] * np.exp(made.prior.before.deviation * field)
    rate *= total / rate.sum(axis=0)
    counts = rate + np.sqrt(rate) * entropy.normal(size)  # few sums of many hexagons are nearly normal
    drawn = loadings.T @ counts + made.noise.sums * entropy.normal((sums.size, REPLICATES))
    if known.n is None:  # its estimate leaves nothing along the mean of the features
        drawn -= np.outer(fixed, fixed @ drawn) / (fixed @ fixed)
    return check_model(reader, sums - fixed, drawn)


def _before(made: Prepared) -> tuple[Floats, Floats]:
    """(M,) mean and deviation of the field before a release."""
    prior = made.prior.before
    return np.full(made.nodes.size, prior.mean), prior.deviation * np.sqrt(made.basis.variance)


def _linear(
    made: Prepared, rate: Floats, value: Floats, *, levelled: bool
) -> tuple[FieldReader, Floats, Floats]:
    """What reads sums where records number `rate` (M,) around a field `value`, the features (M, p) that it
    takes, and what is taken from sums (p,) first: where the number of records is known, their mean."""
    prior, basis, a = made.prior.before, made.basis, made.features.values
    if levelled:
        fixed = np.zeros(a.shape[1])
        basis = replace(basis, rows=np.hstack([basis.rows, np.full((rate.size, 1), LEVEL)]))
    else:
        fixed = rate @ a
        basis, a = _without_level(basis, rate), a - fixed / rate.sum()
    linear = LinearLaw(1.0 + prior.mean - value, np.full(rate.size, prior.deviation), np.ones(rate.size))
    counts = NodeCounts.known(rate, a.shape[1])
    return (
        FieldReader.of(made.nodes, basis, made.prior, a, counts, made.noise.sums, linear=linear),
        a,
        fixed,
    )


def rates_of_records(
    nodes: Nodes, basis: FieldBasis, prior: PublicPrior, known: PublicCounts, counts: Floats
) -> tuple[Floats, Floats, float]:
    """(N,) mean and deviation of the log rate given counts (N,) of every cell: the map without privacy.

    `known` is as in `read_rates`, but the counts themselves say how many records there are. The number is
    the log density of the counts, given how many there are and up to a constant: the lower bound of
    variational inference, by which beliefs are compared.
    """
    at = nodes.gather(np.asarray(counts, dtype=np.float64))
    total, public = float(at.sum()), _public(nodes, known)
    expected = public * (total / public.sum())
    spread, rest = prior.deviation, np.square(prior.deviation) * basis.rest
    value, deviation = np.full(at.size, prior.mean), spread * np.sqrt(basis.variance)
    for _ in range(ROUNDS):
        rate = expected * np.exp(value + 0.5 * np.square(deviation))
        rate *= total / rate.sum()
        rows = spread * _without_level(basis, rate).rows
        weight = rate / (1.0 + rate * rest)
        precision = (rows * weight[:, None]).T @ rows
        precision[np.diag_indices_from(precision)] += 1.0
        root = cholesky(precision, "the precision of the field", "use a smaller deviation")
        apart = value - prior.mean + at / rate - 1.0  # what a node alone says of its field
        smooth = rows @ solve_lower(root, solve_lower(root, rows.T @ (weight * apart)), transposed=True)
        gain = weight * rest
        left = np.square(solve_lower(root, np.ascontiguousarray(rows.T))).sum(axis=0)
        narrower = np.sqrt(np.square(1.0 - gain) * left + rest * (1.0 - gain))
        found = prior.mean + smooth + gain * (apart - smooth)
        value, deviation, still = _moved(value, deviation, found, narrower)
        if still:
            break
    likely = float(at @ (value + np.log(expected)) + 0.5 * rate @ np.square(deviation))
    likely -= 0.5 * float((value - prior.mean) @ (at - rate) + np.log1p(rate * rest).sum())
    # the nodes' own level is no news either: n is known
    likely -= 0.5 * float(np.log1p(-(rate @ (rate * rest / (1.0 + rate * rest))) / total))
    rate = expected * np.exp(value + 0.5 * np.square(deviation))
    likely -= total * float(np.log(rate.sum())) + float(np.log(root.diagonal()).sum())
    value = value + _shift(prior, rate, total, float(public.sum()))
    return nodes.spread(value), nodes.spread(deviation), likely


def _moved(value: Floats, deviation: Floats, found: Floats, narrower: Floats) -> tuple[Floats, Floats, bool]:
    """A reading (M,) moved to the next one by at most STEP, and whether it hardly moved."""
    moved = value + np.clip(found - value, -STEP, STEP)
    change = np.abs(moved - value) + np.abs(narrower - deviation)
    return moved, narrower, float(change.max()) < STILL


def _public(nodes: Nodes, known: PublicCounts) -> Floats:
    """(M,) the public numbers of the nodes."""
    if known.cells is None:
        raise InvalidValue(NO_NUMBERS)
    if not np.all(np.isfinite(known.cells) & (known.cells > 0)):
        raise InvalidValue("the public numbers that records are counted over must be positive.")
    return nodes.gather(known.cells)


def _shift(prior: PublicPrior, rate: Floats, total: float, expected: float) -> float:
    """What makes records (M,) sum to their number; of densities, in terms of what was expected beforehand."""
    level = float(np.log(total / rate.sum()))
    return level + float(np.log(total / expected)) if prior.law == "density" else level


def _without_level(basis: FieldBasis, rate: Floats) -> FieldBasis:
    """The same less its mean over records (M,): of records whose number is known the level says nothing."""
    return replace(basis, rows=basis.rows - rate @ basis.rows / rate.sum())

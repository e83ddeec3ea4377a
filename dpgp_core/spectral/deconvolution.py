"""The field behind released paths of posterior sampling: Gaussian deconvolution, free."""

from __future__ import annotations

import numpy as np

from dpgp_core._checks import non_negative, positive
from dpgp_core.errors import InvalidValue
from dpgp_core.features.eigen import Eigenpairs
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg.numerics import Floats
from dpgp_core.spectral.basis import FieldBasis
from dpgp_core.spectral.clipped import ClippedPrior
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.reading import FieldPosterior, FieldReader


def read_paths(
    paths: Floats,
    nodes: Nodes,
    pairs: Eigenpairs,
    prior: ClippedPrior,
    counts: Floats,
    *,
    ridge: float,
    scale: float,
    noise_scale: float = 0.0,
) -> FieldPosterior:
    """Posterior of the field of clipped responses given released paths of posterior sampling.

    Parameters
    ----------
    paths : ndarray, shape (L, N)
        Released, before any smoothing, response units.
    nodes : Nodes
        The domain.
    pairs : Eigenpairs
        Of the prior correlation that the mechanism used, on the nodes.
    prior : ClippedPrior
        Public belief on the field and on the records' scatter.
    counts : ndarray, shape (M,)
        Public or believed records per node: the mechanism does not release them. Their error is ignored.
    ridge, scale, noise_scale : float
        The design: ridge r, posterior scale sigma and prior noise eta.

    Raises
    ------
    InvalidValue
        If a shape does not fit the domain, counts are negative or all zero, or no noise was added.

    Notes
    -----
    Write the mechanism's prior as K = F F^T. Given the records it released L paths `F a_l`, with a_l of mean
    `C^-1 F^T D y` and covariance `sigma^2 C^-1 + eta^2`, where D = diag(m)/r^2, C = 1 + F^T D F and y are the
    nodes' mean responses. Their mean is sufficient, and C times it is `F^T D y` plus noise of covariance
    `(sigma^2 C + eta^2 C^2)/L`: sums of the records with features F/r^2, read like any others.
    """
    ridge, scale = positive("ridge", ridge), non_negative("scale", scale)
    noise_scale = non_negative("noise_scale", noise_scale)
    if scale == 0.0 and noise_scale == 0.0:
        raise InvalidValue("scale and noise_scale are both 0: such paths were never released.")
    values = np.atleast_2d(np.asarray(paths, dtype=np.float64))
    if values.shape[1] != nodes.cells:
        raise InvalidValue("every path needs one value per cell of the domain.")
    if counts.shape != (nodes.size,) or np.any(counts < 0) or not counts.sum() > 0:
        raise InvalidValue("counts must be one number >= 0 per node, and some must be positive.")
    at_nodes = nodes.gather(values.mean(axis=0)) / nodes.cells_per_node
    roots = np.sqrt(pairs.values)
    rows = pairs.vectors * roots
    coefficients = (pairs.vectors.T @ at_nodes) / roots
    precision = rows.T @ (rows * (counts / ridge**2)[:, None])
    precision[np.diag_indices_from(precision)] += 1.0
    noise = scale**2 * precision + noise_scale**2 * (precision @ precision)
    reader = FieldReader.of(
        nodes,
        FieldBasis.of(pairs),
        prior,
        rows / ridge**2,
        NodeCounts.known(counts, rows.shape[1]),
        noise / values.shape[0],
    )
    return FieldPosterior(reader, precision @ coefficients)

"""Private mechanisms of other papers, besides Hexcursion's own: found by the entry points of this package."""

from __future__ import annotations

from hexcursion_peers.labels.cloaking import Cloaking
from hexcursion_peers.labels.functional import Functional
from hexcursion_peers.neural.mechanism import ConvCnp
from hexcursion_peers.sparse.mechanism import SparseGp

SPARSE_GP, CONVCNP, CLOAKING, FUNCTIONAL = SparseGp(), ConvCnp(), Cloaking(), Functional()

"""Public features of a domain: what a record contributes to released sums, and the facts that price it."""

from __future__ import annotations

from dpgp_core.features.eigen import Eigenpairs, eigen_key, leading_eigenpairs
from dpgp_core.features.facts import PublicFacts
from dpgp_core.features.gridded import GRID_BITS, Features
from dpgp_core.features.kappa import InnerProducts, inner_products
from dpgp_core.features.nodes import MOST_NODES, Nodes
from dpgp_core.features.powers import water_filling
from dpgp_core.features.store import EigenStore, FolderStore
from dpgp_core.features.strategies import STRATEGIES, Strategy, make_features

__all__ = [
    "GRID_BITS",
    "MOST_NODES",
    "STRATEGIES",
    "EigenStore",
    "Eigenpairs",
    "Features",
    "FolderStore",
    "InnerProducts",
    "Nodes",
    "PublicFacts",
    "Strategy",
    "eigen_key",
    "inner_products",
    "leading_eigenpairs",
    "make_features",
    "water_filling",
]

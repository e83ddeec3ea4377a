"""Shared work: priors, ridge families and whatever else several designs on one lattice have in common."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.posterior.ridge_family import RidgeFamily
from dpgp_core.priors.lattice import Lattice, Prior
from dpgp_core.priors.registry import make_prior

FAMILY_CELLS = 60_000  # cells times kept families: about half a gigabyte of features
FEWEST = 2  # families kept of however many cells
FEW = 4  # other shared things kept at a time, each of them
T = TypeVar("T")


class Shelf:
    """Keeps the latest of each kind of shared work; what was dropped is simply made again.

    A copy that is sent to another process starts empty.
    """

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._most = max(FEWEST, min(24, FAMILY_CELLS // lattice.size))
        self._kept: dict[str, OrderedDict[Hashable, Any]] = {}

    def __reduce__(self) -> tuple[type[Shelf], tuple[Lattice]]:
        return Shelf, (self._lattice,)

    def keep(self, kind: str, key: Hashable, make: Callable[[], T], most: int = FEW) -> T:
        """What `make` makes for the key, kept among the latest `most` of its kind."""
        kept = self._kept.setdefault(kind, OrderedDict())
        if key not in kept:
            kept[key] = make()
            if len(kept) > most:
                kept.popitem(last=False)
        kept.move_to_end(key)
        found: T = kept[key]
        return found

    def prior(self, name: str, lengthscale: float) -> Prior:
        """The prior; lengthscale in metres."""
        return self.keep(
            "prior", (name, lengthscale), lambda: make_prior(name, self._lattice, lengthscale), self._most
        )

    def family(
        self, name: str, lengthscale: float, records: CollapsedRecords, draws: int, seed: int
    ) -> RidgeFamily:
        """One eigendecomposition and one set of draws per (prior, lengthscale, cells and counts)."""
        key = (name, lengthscale, draws, seed, hash((records.index.tobytes(), records.count.tobytes())))

        def make() -> RidgeFamily:
            return RidgeFamily(self.prior(name, lengthscale), records, draws, SimulationEntropy(seed))

        return self.keep("family", key, make, self._most).with_means(records.mean)

"""The public facts of a release: all that a mechanism may know before the private records."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as made
from pathlib import Path
from typing import Literal

from dpgp_core.accounting.composition import Neighbours
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints
from dpgp_core.posterior.ridge_family import Shelf
from dpgp_core.priors.lattice import Lattice, Prior
from dpgp_core.spectral.clipped import Law
from dpgp_core.spectral.public_field import PublicField

Relation = Literal["replace-one", "add-or-remove"]
"""Which datasets are neighbours: one record exchanged (n public), or one more or less (n not public)."""


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """What is public about a release; nothing here may come from the private records but their number.

    Parameters
    ----------
    lattice
        The public domain as priors see it, N cells.
    n
        Number of private records, public under "replace-one"; under "add-or-remove" a public guess.
    relation
        Which datasets are neighbours.
    places_public
        Whether the records' cells are public, so that only their values are protected.
    counts
        (N,) publicly expected records per cell, for instance from public reference data; None if unknown.
    single
        Whether a cell holds at most one record (cell records).
    parents
        Public coarser cells: for each level, finest first, (N,) the number of each cell's ancestor.
    covariates
        (N, k) public numbers per cell that may explain the field, in any units; None where none are named.
    field
        What published reference records say of the field, which the release starts from; None where it starts
        from nothing.
    law
        Of a record's response: an amount, or the answer to a question, -1 or 1.
    store
        Folder in which public eigenpairs of the domain are kept between runs; None keeps nothing.
    shelf
        Priors and other public work shared by designs; not part of the facts.
    """

    lattice: Lattice
    n: int
    relation: Relation = "replace-one"
    places_public: bool = False
    counts: Floats | None = None
    single: bool = False
    parents: tuple[Ints, ...] = ()
    covariates: Floats | None = None
    field: PublicField | None = None
    law: Law = "amount"
    store: Path | None = None
    shelf: Shelf = made(default=None, repr=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or self.n != int(self.n) or self.n < 1:
            raise InvalidValue(f"n must be a whole number of records >= 1, got {self.n!r}.")
        if self.counts is not None and self.counts.shape != (self.lattice.size,):
            raise InvalidValue("the public counts need one number per cell of the domain.")
        if self.covariates is not None and self.covariates.shape[:1] != (self.lattice.size,):
            raise InvalidValue("the covariates need one row of numbers per cell of the domain.")
        if self.shelf is None:
            object.__setattr__(self, "shelf", Shelf(self.lattice))

    @property
    def neighbours(self) -> Neighbours:
        """What a release under these facts promises to hide: public places leave the values alone."""
        if self.places_public and self.relation == "replace-one":
            return "values-only"
        return self.relation

    def prior(self, name: str, lengthscale: float) -> Prior:
        """The prior of a family at a lengthscale in metres, made once and shared."""
        return self.shelf.prior(name, lengthscale)

"""Functional noise: the whole posterior mean function over public places, plus a draw of the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.label_sums import PATHS, LabelSpace
from dpgp_core.public_places import PublicPlaces
from dpgp_core.releasing import PublicFacts
from hexcursion_peers.labels.cloaking import BLURS, GaussianLabelDesign, GaussianLabelSums
from hexcursion_peers.labels.features import functional_rows


@dataclass(frozen=True)
class FunctionalDesign(GaussianLabelDesign):
    """The posterior mean function with prior noise: a model of the field, and mu."""

    mechanism: ClassVar[str] = "functional"


class FunctionalSpace(LabelSpace):
    """A few models of the field, each with a few blurs."""

    def shapes(
        self, facts: PublicFacts, models: Sequence[tuple[str, float, float, float]]
    ) -> tuple[FunctionalDesign, ...]:
        return tuple(FunctionalDesign(*model, 1.0, blur, paths=PATHS) for model in models for blur in BLURS)


class Functional(GaussianLabelSums):
    """Release the posterior mean function plus a draw of the prior: any later query of it is free."""

    name = "functional"
    title = "Functional noise"
    summary = (
        "For public places: adds a draw of the prior to the whole smoothed map, so that later questions "
        "about it are free; where the records are is not hidden."
    )
    source = "plugins/peers/docs/peers.md, functional noise"
    design_type = FunctionalDesign
    space = FunctionalSpace

    def rows(self, design: GaussianLabelDesign, places: PublicPlaces) -> Floats:
        return functional_rows(places, design.blur * design.ridge)

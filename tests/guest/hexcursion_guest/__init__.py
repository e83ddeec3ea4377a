"""A mechanism, a prior, a loader and an export of a test's own, as somebody else would write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from data_loaders import DataError, Loader, LoadReport, Observations
from data_loaders.observations import Tally
from data_loaders.wanted import Wanted
from dpgp_core import Design, Guarantee, Mechanism, Protection, RdpCurve, Released, gaussian_mu
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Budget
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import GENERIC_BOUNDS, Lattice
from dpgp_core.priors.registry import PriorFamily
from dpgp_core.releasing import PublicFacts
from hexcursion.bundle.layers import Export, Exported

SHARED = 0.4


@dataclass(frozen=True, kw_only=True)
class StripesDesign(Design):
    """Public stripes from west to east, and the noise on the sum of each."""

    mechanism: ClassVar[str] = "guest-stripes"

    stripes: int = 4
    noise: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("stripes", "noise")


def stripe_of(lattice: Lattice, stripes: int) -> np.ndarray:
    """(N,) number of the public stripe in which a cell lies."""
    east = lattice.domain_centres[:, 0]
    share = (east - east.min()) / max(float(np.ptp(east)), 1.0)
    return np.minimum((share * stripes).astype(np.int64), stripes - 1)


@dataclass(frozen=True, eq=False)
class PreparedStripes:
    """The exact sum of every stripe, and how many records it would hold if they were spread evenly."""

    design: StripesDesign
    stripe: np.ndarray
    sums: Floats
    expected: Floats

    def draw(self, entropy: Entropy) -> Released:
        noisy = self.sums + self.design.noise * entropy.normal((self.design.paths, self.design.stripes))
        return Released((noisy / self.expected)[:, self.stripe])


class Stripes(Mechanism):
    """A noisy sum for each stripe: a record in [-1, 1] that is exchanged moves the sums by at most 2."""

    name, title = "guest-stripes", "Guest stripes"
    summary = "Adds noise to the sums of a few public stripes."
    source = "a test"
    protection = Protection("values and places", ("point",))
    reads = ("paths",)
    design_type = StripesDesign

    def guarantee(self, design: StripesDesign, facts: PublicFacts) -> Guarantee:
        mu = 2.0 * float(np.sqrt(design.paths)) / design.noise * (1.0 + 2.0**-50)
        return Guarantee(RdpCurve.gaussian(mu), "gaussian-mechanism", self.source, True, mu)

    def calibrate(self, design: StripesDesign, facts: PublicFacts, budget: Budget) -> StripesDesign:
        mu = float(gaussian_mu(budget.epsilon, budget.delta))
        return replace(design, noise=2.0 * float(np.sqrt(design.paths)) / mu * (1.0 + 2.0**-48))

    def prepare(
        self, design: StripesDesign, facts: PublicFacts, records: CollapsedRecords
    ) -> PreparedStripes:
        stripe = stripe_of(facts.lattice, design.stripes)
        sums = np.bincount(
            stripe[records.index], weights=records.count * records.mean, minlength=design.stripes
        )
        expected = facts.n * np.bincount(stripe, minlength=design.stripes) / facts.lattice.size
        return PreparedStripes(design, stripe, sums, expected)

    def describe(self, design: StripesDesign) -> str:
        return f"{design.stripes} stripes, noise {design.noise:.4g} (response units)"


STRIPES = Stripes()


@dataclass(frozen=True, eq=False)
class Plateau:
    """One height shared by all cells, and a height of each cell's own; the lengthscale means nothing here."""

    lattice: Lattice
    lengthscale: float
    name: str = "guest-plateau"
    kappa: float = SHARED
    bounds: tuple[str, ...] = GENERIC_BOUNDS
    graph: None = None

    @property
    def size(self) -> int:
        return self.lattice.size

    @property
    def white_size(self) -> int:
        return self.size + 1

    @cached_property
    def _matrix(self) -> Floats:
        return SHARED + 0.5 * np.eye(self.size)  # variances of 0.9: they may stay below 1

    def correlation(self) -> Floats:
        return self._matrix

    def colour(self, white: Floats) -> Floats:
        return np.sqrt(SHARED) * white[:1] + np.sqrt(0.5) * white[1:]


PLATEAU = PriorFamily("guest-plateau", "guest plateau", False, Plateau, decay=1.5)


def lacks(wanted: Wanted) -> str:
    return "" if wanted.path.endswith(".triples") else "Guest triples end in .triples: name such a file."


def read(wanted: Wanted, unit: str, owner: str | None) -> tuple[Observations, LoadReport]:
    tally, kept = Tally(), []
    for line in Path(wanted.path).read_text(encoding="utf-8").splitlines():
        tally.read(1)
        try:
            lon, lat, value = (float(word) for word in line.split(";"))
            kept.append((lon, lat, value))
        except ValueError:
            tally.drop("not three numbers", 1)
    if not kept:
        raise DataError("The file holds no line of three numbers: choose another one.")
    lon, lat, value = np.array(kept).T
    found = Observations(x=lon, y=lat, crs="EPSG:4326", value=value, unit=unit, kind="reading", title="guest")
    return found, tally.report(Path(wanted.path).name, found.size)


TRIPLES = Loader("guest-triples", "lines of longitude;latitude;value", read, lacks, value_name="height")


def write_lines(exported: Exported) -> bytes:
    """One JSON object a line: all columns of a cell."""
    rows = zip(*exported.columns.values(), strict=True)
    names = list(exported.columns)
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def read_lines(content: bytes) -> Mapping[str, Sequence[Any]]:
    rows = [json.loads(line) for line in content.splitlines()]
    return {name: [row[name] for row in rows] for name in rows[0]}


LINES = Export("cells.jsonl", "the cells as one JSON object a line", 60_000_000, write_lines, read_lines)

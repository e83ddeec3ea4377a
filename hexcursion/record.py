"""The release: released paths and the facts that travel with them; nothing private by construction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpgp_core.accounting.composition import Cost
from dpgp_core.excursion.sets import Direction
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.terms import Protects, Unit
from dpgp_core.releasing.facts import Relation
from dpgp_core.spectral.kept import KeptSums
from dpgp_core.spectral.model_check import ModelCheck
from geo.context.own_layers import OwnLayer
from hexcursion.errors import WorkflowError
from hexcursion.project.covariates import Covariates, Exposure
from hexcursion.project.relative import Relative
from hexcursion.project.response import Answers, ResponseScale
from hexcursion.project.trip import TripProtection
from hexcursion.settings.stated import NOTHING_STATED, Scope, StatedFacts
from hexcursion.settings.words import ReferenceKind, TuningKind
from hexcursion.words import UnitWord


@dataclass(frozen=True)
class Tuning:
    """How the design was chosen.

    Parameters
    ----------
    kind
        on what it was tuned, or that it was given or not accounted for
    detail
        by what, in words
    """

    kind: TuningKind
    detail: str

    @property
    def accounted(self) -> bool:
        """Whether the statement's epsilon covers how the design was chosen."""
        return self.kind != "not accounted"


LEAST_AGREEMENT = 0.5
"""Expected agreement below which a map is stopped, or called poor."""
FEW_RECORDS, WIDE_RANGE = 300, 0.4
"""Records below which, and range of agreements from which, little can be told without reference data."""
LEAST_GAIN = 0.02
"""Gain over shuffled values below which a map shows nothing of the private values' places."""
LOW_AGREEMENT = "Low agreement"
"""Topic of the line of a receipt that says that its map was expected to be poor."""


@dataclass(frozen=True)
class ReceiptLine:
    """One line of the receipt: what it is about, what it says, and whether it is a warning."""

    topic: str
    text: str
    warning: bool = False


@dataclass(frozen=True)
class Expected:
    """How right a release was expected to be before it was drawn; all on reference data.

    Parameters
    ----------
    agreement
        Expected IoU with the map without privacy, None where that map has one side only.
    area_error
        Expected |released area - true area| over the true area, None where unknown.
    right
        Expected share of the shown hexagons that are right, None where unknown.
    basis
        What this rests on.
    low, high
        Agreements between which a release lies with a chance of 80 %, None where reference data are known.
    little
        Whether little can be told, because records are few or that range is wide.
    """

    agreement: float | None
    area_error: float | None
    right: float | None
    basis: ReferenceKind
    low: float | None = None
    high: float | None = None
    little: bool = False

    @property
    def at_best(self) -> float | None:
        """The agreement by which a poor map is recognised: the upper end of the range where there is one."""
        return self.agreement if self.high is None else self.high


@dataclass(frozen=True)
class Yardsticks:
    """What maps without any private record would reach, on the same reference data as `Expected`.

    Parameters
    ----------
    one_colour
        IoU of the map that calls every hexagon inside: the share that is.
    free
        IoU of the free map, which public knowledge alone draws; None where the reference is simulated.
    gain
        How much better (IoU) the release agrees than one of values that were exchanged among their places;
        None where unknown.
    """

    one_colour: float
    free: float | None = None
    gain: float | None = None


@dataclass(frozen=True)
class Guarded:
    """The privacy facts of a release, as they stand in its statement.

    Parameters
    ----------
    epsilon
        upper bound at `delta`
    order
        Renyi order that gave epsilon, None where another proof did
    unit_word
        what one record is called
    rdp_orders, rdp_values
        the RDP curve; no orders where only mu or a pure epsilon is stated
    group
        (records, epsilon, delta) of somebody with up to so many records
    gaussian_mu
        mu where the release is a Gaussian mechanism
    cost
        everything that is proved about the release, from which a reader recomputes epsilon and the groups
    """

    epsilon: float
    delta: float
    order: float | None
    unit: Unit
    unit_word: UnitWord
    n: int
    bound: str
    bound_source: str
    proved: bool
    rdp_orders: tuple[float, ...]
    rdp_values: tuple[float, ...]
    group: tuple[tuple[int, float, float], ...] = ()
    gaussian_mu: float | None = None
    cost: Cost | None = None


@dataclass(frozen=True, eq=False)
class Release:
    """What was released, ready to leave the building.

    Parameters
    ----------
    cells
        H3 indices of the public domain, sorted, length N
    region
        public region as a GeoJSON geometry (WGS84)
    paths
        (L, N) released paths in response units, before smoothing
    mean, sd
        (N,) mean and deviation of the field given the release, response units, where the mechanism has them;
        the public prior mean is inside
    draws
        (J, N) joint draws of the field given the release, where the paths are none themselves
    shown_map
        (N,) mean and deviation, given the release, of what the map without privacy shows, response units,
        where the mechanism knows them
    cut_by_map
        whether the published set is cut by that map instead of by the field
    records
        (N,) expected number of records, given the release and what is public, where the mechanism knows it
    sums
        the released sums in whole numbers, where the mechanism releases sums
    model_check
        how the released sums compare with draws of their model, where the mechanism releases sums
    relation
        which datasets are neighbours; `protects` what is hidden of a record
    expected
        how right the map is expected to be, and on what that rests
    prior_mean
        (N,) public prior mean in response units that was added back, or None (`paths` already contain it)
    relative
        the public field to which values and threshold are relative, None where they are the data's own
    covariates
        public numbers per hexagon that the design reads beside the records
    answers
        what a yes is, where the values are answers of yes and no
    exposure
        the public numbers that records are counted over, where they are
    stated
        what the curator says about collection, access and the like
    scope
        of what the values are, when, under which filters and by whom
    trip
        how the places of the readings are protected, where a sanitised trip tells them
    layers
        public layers of the curator's own, published with the map
    threshold
        in the data's own unit; direction "above" or "below"

    Raises
    ------
    WorkflowError
        For values that do not fit together, one sentence.
    """

    release_id: str
    created: str
    title: str
    cells: tuple[str, ...]
    resolution: int
    region: dict[str, object]
    response: ResponseScale
    value_name: str
    value_unit: str
    threshold: float
    direction: Direction
    design: Design
    privacy: Guarded
    tuning: Tuning
    paths: NDArray[np.float64]
    receipt: tuple[ReceiptLine, ...]
    attribution: tuple[str, ...] = ()
    generated: bool = False
    simulation: bool = False
    prior_mean: NDArray[np.float64] | None = None
    relative: Relative | None = None
    covariates: Covariates | None = None
    answers: Answers | None = None
    exposure: Exposure | None = None
    mean: NDArray[np.float64] | None = None
    sd: NDArray[np.float64] | None = None
    draws: NDArray[np.float64] | None = None
    shown_map: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    cut_by_map: bool = False
    records: NDArray[np.float64] | None = None
    sums: KeptSums | None = None
    model_check: ModelCheck | None = None
    relation: Relation = "replace-one"
    protects: Protects = "values and places"
    expected: Expected | None = None
    domain_origin: str = ""
    ledger_entry: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)
    stated: StatedFacts = NOTHING_STATED
    scope: Scope = field(default_factory=Scope)
    trip: TripProtection | None = None
    layers: tuple[OwnLayer, ...] = ()

    def __post_init__(self) -> None:
        if self.paths.ndim != 2 or self.paths.shape[1] != len(self.cells):
            raise WorkflowError("paths must have one column per cell of the domain.")
        if not np.all(np.isfinite(self.paths)):
            raise WorkflowError("released paths must be finite.")
        if (self.mean is None) != (self.sd is None):
            raise WorkflowError("a mean of the field needs its standard deviation, and that needs the mean.")
        if self.records is not None and self.mean is None:
            raise WorkflowError("numbers of records need a mean of the field beside them.")
        if self.draws is not None and (self.mean is None or self.draws.shape[1:] != self.paths.shape[1:]):
            raise WorkflowError("draws need one column per cell, and a mean beside them.")
        if list(self.cells) != sorted(set(self.cells)):
            raise WorkflowError("cells must be sorted and unique.")
        if self.direction not in ("above", "below"):
            raise WorkflowError(f"direction must be 'above' or 'below', got {self.direction!r}.")

    @property
    def level(self) -> float:
        """The threshold in response units."""
        return float(self.response.forward(self.threshold))

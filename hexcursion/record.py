"""The release: released paths and the facts that travel with them; nothing private by
construction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from data_loaders.observations import OwnerWord
from dpgp_core.accounting.composition import Cost
from dpgp_core.excursion import Direction
from dpgp_core.mechanisms.design import Design, Protects, Unit
from dpgp_core.releasing import Owner, Relation
from dpgp_core.spectral.model_check import ModelCheck
from dpgp_core.spectral.sums import KeptSums
from geo.context.own_layers import OwnLayer
from hexcursion.errors import WorkflowError
from hexcursion.project.public_numbers import BaselineField, Covariates, Exposure
from hexcursion.project.response import FOCUSED, Answers, ResponseScale
from hexcursion.project.trip import TripProtection
from hexcursion.settings.derived import Derived
from hexcursion.settings.names import ReferenceKind, TuningKind
from hexcursion.settings.privacy_settings import NOTHING_STATED, Scope, StatedFacts
from hexcursion.words import UnitWord


@dataclass(frozen=True)
class Tuning:
    """How the design was chosen."""

    kind: TuningKind  # on what it was tuned, or that it was given or not accounted for
    detail: str  # by what, in words

    @property
    def accounted(self) -> bool:
        """Whether the statement's epsilon covers how the design was chosen."""
        return self.kind != "not accounted"


LEAST_AGREEMENT = 0.5
"""Expected agreement below which a map is stopped, or called poor."""
FEW_RECORDS, WIDE_RANGE = 300, 0.4
"""Records below which, and range of agreements from which, little is known without reference
data."""
TOO_FEW_RECORDS = 130
"""Number of records up to which a release without reference data is stopped: nothing is known of
it."""
FEWEST_PROMISED = 150
"""Records from which a figure of how right a map is may be said where it starts from no public map."""
HALF_AS_GOOD = 0.5
"""Share of the changes that may be, from which a public map that is as good in them stops a
release."""


def promises_nothing(n: int, *, public: bool) -> bool:
    """Whether `n` records, the public number, are too few to say any figure of how right a map is:
    it does not start from a `public` map."""
    return n < FEWEST_PROMISED and not public


def stops_by_number(basis: ReferenceKind, records: int) -> bool:
    """Whether so few records stop a release: what its map shows was tried in simulated worlds alone."""
    return basis == "simulated" and records <= TOO_FEW_RECORDS


def tells_tempered(origin: str, *, public: bool, simulated: bool) -> bool:
    """Whether a map tells chances nearer to one half than its model has them.

    So it does if it starts from a `public` map, or if the `origin` of its response scale is one
    threshold in `simulated` worlds: of a narrow clip about it the model believes too much.
    """
    return public or (simulated and origin == FOCUSED)


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
    """How right a release was expected to be before it was drawn, on reference data; None where
    unknown."""

    # IoU with the map without privacy, None where that map has one side only
    agreement: float | None
    area_error: float | None  # |released area - true area| over the true area
    right: float | None  # share of the shown hexagons that are right
    basis: ReferenceKind  # what this rests on
    low: float | None = None  # IoU, to `high`, in which a release lies with a chance of 80 %
    high: float | None = None  # as `low` None where reference data are known
    # Whether little is known, because records are few or that range is wide
    little: bool = False
    # share of records on the side that the map shows, over judged hexagons, and how much that gains
    # over the better of the public map and one colour; None where nothing is known, or records are
    # too few to say
    records: float | None = None
    gain: float | None = None
    # what such a release would tell of itself: how often orange is right, and the share that it finds
    orange: float | None = None
    finds: float | None = None


@dataclass(frozen=True)
class Yardsticks:
    """What maps without any private record would reach, on the same reference data as
    `Expected`."""

    one_colour: float  # IoU of the map that calls every hexagon inside: the share that is
    # IoU of the free map of public knowledge alone; None where the reference is simulated
    free: float | None = None
    # IoU above that of values exchanged among their places; None where unknown
    gain: float | None = None
    # shares of records on the side shown: by one colour, the public map, a release of exchanged
    # values
    colour_records: float | None = None
    public_records: float | None = None
    mixed_records: float | None = None
    # the number of records, where it is too small to say any figure of how right a map is
    few: int | None = None


def few_words(expected: Expected | None, yardsticks: Yardsticks | None) -> str:
    """That records are too few to tell where values lie, or how right their map is; "" where they are
    enough. No figure of how right it is may then be said."""
    records = None if yardsticks is None else yardsticks.few
    if records is None:
        return ""
    if expected is not None and stops_by_number(expected.basis, records):
        return (
            f"{records} records are too few to tell where values lie: without reference data it takes more "
            f"than {TOO_FEW_RECORDS}"
        )
    return promised_from(records)


def promised_from(records: int) -> str:
    """That so few records do not tell how right their map is, and what would."""
    return (
        f"{records} records are too few to say how right the map will be: it takes {FEWEST_PROMISED}, or a "
        "public map to start from"
    )


GROUPS = (2, 5, 10)
"""Units of protection of one person, for the group lines of a statement."""


@dataclass(frozen=True)
class PrivacyFacts:
    """The privacy facts of a release, as in its statement."""

    epsilon: float  # upper bound at `delta`
    delta: float
    order: float | None  # Renyi order that gave epsilon, None where another proof did
    unit: Unit
    unit_word: UnitWord  # what one record is called
    n: int
    bound: str
    bound_source: str
    proved: bool
    # Of the RDP curve; none where only mu or a pure epsilon is stated
    rdp_orders: tuple[float, ...]
    rdp_values: tuple[float, ...]
    # (records, epsilon, delta) of a person with up to this number of records
    group: tuple[tuple[int, float, float], ...] = ()
    gaussian_mu: float | None = None  # mu where the release is a Gaussian mechanism
    # all that is proved about the release; readers recompute epsilon and groups from it
    cost: Cost | None = None
    # whom the numbers are about where a column names the owner of a record, and by what word; else
    # None
    owner: Owner | None = None
    owner_word: OwnerWord | None = None
    # Whether rows without an identifier that are equal are records of their own
    each_row: bool = False


@dataclass(frozen=True, eq=False)
class Release:
    """A release in memory, ready to leave; `WorkflowError` for values that do not fit together."""

    release_id: str
    created: str
    title: str
    cells: tuple[str, ...]  # H3 indices of the public domain, sorted, length N
    resolution: int
    region: dict[str, object]  # public region as a GeoJSON geometry (WGS84)
    response: ResponseScale
    value_name: str
    value_unit: str
    threshold: float  # in the data's own unit
    direction: Direction
    design: Design
    privacy: PrivacyFacts
    tuning: Tuning
    # (L, N) released paths in response units, before smoothing; `prior_mean` is inside
    paths: NDArray[np.float64]
    receipt: tuple[ReceiptLine, ...]
    attribution: tuple[str, ...] = ()
    generated: bool = False
    simulation: bool = False
    # (N,) public prior mean in response units that was added back
    prior_mean: NDArray[np.float64] | None = None
    # public field to which values and threshold are relative, if any
    relative: BaselineField | None = None
    # public numbers per hexagon that the design reads with the records
    covariates: Covariates | None = None
    answers: Answers | None = None  # what a yes is, where the values are answers of yes and no
    # The public numbers that records are counted over, where they are
    exposure: Exposure | None = None
    # (N,) of the field given the release, response units; the public prior mean is inside
    mean: NDArray[np.float64] | None = None
    sd: NDArray[np.float64] | None = None  # (N,) its deviation
    # (J, N) joint draws of the field given the release, where the paths are no draws
    draws: NDArray[np.float64] | None = None
    # (N,) mean and deviation, given the release, of the map without privacy, response units
    shown_map: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    map_draws: NDArray[np.float64] | None = None  # (J, N) joint draws of that map, by a public seed
    cut_by_map: bool = False  # whether the published set is cut by that map instead of by the field
    # (N,) expected number of records, given the release and public facts
    records: NDArray[np.float64] | None = None
    sums: KeptSums | None = None  # the released sums in whole numbers
    model_check: ModelCheck | None = None  # how the released sums compare with draws of their model
    # Which datasets are neighbours; `protects` the hidden part of a record
    relation: Relation = "replace-one"
    protects: Protects = "values and places"
    expected: Expected | None = None  # how right the map is expected to be, and on what that rests
    domain_origin: str = ""
    ledger_entry: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)
    # What the curator says about collection, access and the like
    stated: StatedFacts = NOTHING_STATED
    # of what the values are, when, under which filters and by whom
    scope: Scope = field(default_factory=Scope)
    # How the places of a sanitised trip's readings are protected
    trip: TripProtection | None = None
    layers: tuple[OwnLayer, ...] = ()  # public layers of the curator's own, published with the map

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


@dataclass(frozen=True, eq=False)
class AtlasRelease:
    """An atlas that was released: every layer as a release of its column, all of one draw and one
    charge."""

    layers: tuple[Release, ...]
    names: tuple[str, ...]  # the columns, one for each layer
    title: str  # of the whole
    derived: tuple[Derived, ...] = ()  # layers that follow from others

    @property
    def release_id(self) -> str:
        """The one name of the release."""
        return self.layers[0].release_id


AnyRelease = Release | AtlasRelease

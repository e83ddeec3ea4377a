"""The release: released paths and the facts that travel with them; nothing private by construction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpgp_core.design import Design


@dataclass(frozen=True)
class ResponseScale:
    """Public map between the data's own unit and responses in [-1, 1].

    response = clip((transform(value) - centre) / clip, -1, 1), with `transform` "log" or "identity".
    `centre` and `clip` are in transformed units and public; `origin` says where they came from.
    """

    transform: str
    centre: float
    clip: float
    origin: str

    def __post_init__(self) -> None:
        if self.transform not in ("log", "identity"):
            raise ValueError(f"transform must be 'log' or 'identity', got {self.transform!r}.")
        if not np.isfinite(self.centre):
            raise ValueError("the public centre must be a finite number.")
        if not (np.isfinite(self.clip) and self.clip > 0):
            raise ValueError("the public clip bound must be a positive finite number.")

    def forward(self, value: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Values in the data's unit to unclipped responses; raises where a log is impossible."""
        value = np.asarray(value, dtype=np.float64)
        if self.transform == "log":
            if np.any(~(value > 0)):
                raise ValueError("the log transform needs positive values: drop or correct the others.")
            value = np.log(value)
        return np.asarray((value - self.centre) / self.clip)

    def response(self, value: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Values in the data's unit to responses clipped to [-1, 1]."""
        return np.clip(self.forward(value), -1.0, 1.0)

    def value(self, response: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Responses back to the data's unit."""
        raw = np.asarray(response, dtype=np.float64) * self.clip + self.centre
        return np.exp(raw) if self.transform == "log" else raw


@dataclass(frozen=True)
class Tuning:
    """How the design was chosen.

    kind: "reference data" (set aside), "public reference data", "simulated", "given" (typed in, public
    by the curator's word), "private selection" (its cost is inside the release's epsilon) or
    "not accounted".
    """

    kind: str
    detail: str

    @property
    def accounted(self) -> bool:
        return self.kind != "not accounted"


@dataclass(frozen=True)
class ReceiptLine:
    """One line of the receipt: what it is about, what it says, and whether it is a warning."""

    topic: str
    text: str
    warning: bool = False


@dataclass(frozen=True)
class Guarded:
    """The privacy facts of a release, as they stand in its statement."""

    epsilon: float
    delta: float
    order: float | None
    unit: str  # "point" or "cell"
    unit_word: str  # "sale", "sensor" or "cell"
    n: int
    bound: str
    bound_source: str
    proved: bool
    rdp_orders: tuple[float, ...]
    rdp_values: tuple[float, ...]
    group: tuple[tuple[int, float, float], ...] = ()


@dataclass(frozen=True)
class Release:
    """What was released, ready to leave the building.

    cells            H3 indices of the public domain, sorted, length N
    region           public region as a GeoJSON geometry (WGS84)
    paths            (L, N) released paths in response units, before smoothing
    prior_mean       (N,) public prior mean in response units that was added back, or None
                     (`paths` already contain it)
    threshold        in the data's own unit; direction "above" or "below"
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
    direction: str
    design: Design
    privacy: Guarded
    tuning: Tuning
    paths: NDArray[np.float64]
    receipt: tuple[ReceiptLine, ...]
    attribution: tuple[str, ...] = ()
    generated: bool = False
    simulation: bool = False
    prior_mean: NDArray[np.float64] | None = None
    domain_origin: str = ""
    ledger_entry: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        if self.paths.ndim != 2 or self.paths.shape[1] != len(self.cells):
            raise ValueError("paths must have one column per cell of the domain.")
        if not np.all(np.isfinite(self.paths)):
            raise ValueError("released paths must be finite.")
        if list(self.cells) != sorted(set(self.cells)):
            raise ValueError("cells must be sorted and unique.")
        if self.direction not in ("above", "below"):
            raise ValueError(f"direction must be 'above' or 'below', got {self.direction!r}.")

    @property
    def level(self) -> float:
        """The threshold in response units."""
        return float(self.response.forward(self.threshold))

"""The project: private observations, public domain and reference data of one release, loaded and placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data_loaders import LoadReport, Observations, load_sales, load_sensors
from dpgp_core.curve import RdpCurve
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.lattice import Lattice
from dpgp_core.priors import can_make, make_prior
from geo import Domain, domain_from_bbox, domain_from_geojson
from workflow.errors import WorkflowError
from workflow.records import PlacedObservations, cell_medians, place, public_n
from workflow.released import ResponseScale
from workflow.settings import ReleaseSettings, SourceSettings

PADDING_RINGS = 4
CLIP_QUANTILE = 0.9
SIMULATION_SEED = 20260617
MOST_SHARED = 0.2  # of the private sales that may agree with one of the reference in place and price
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Loaded:
    """One source after loading and placing: the loader's report and the placed observations."""

    report: LoadReport
    placed: PlacedObservations
    observations: Observations

    def sentences(self) -> list[str]:
        """What was read, kept and dropped, in words."""
        lines = list(self.report.lines())
        if self.placed.outside:
            lines.append(f"{self.placed.outside:,} rows lie outside the domain and were dropped.")
        lines.append(f"{self.placed.index.size:,} rows lie inside the domain.")
        return lines


@dataclass(frozen=True)
class Pilot:
    """What tuning has cost: the pilot's RDP curve, its epsilon on its own, and its ledger entry."""

    curve: RdpCurve
    epsilon: float
    entry: str


@dataclass(frozen=True)
class Project:
    """All that the search and the release need. `private` and `baseline` data never leave the curator.

    reference_kind  "public reference data", "reference data", "simulated" or "private selection" (a pilot)
    pilot           what an accounted pilot has cost, where one stands in for reference data
    prior_mean      (N,) public prior mean in response units, or None
    """

    settings: ReleaseSettings
    domain: Domain
    lattice: Lattice
    response: ResponseScale
    private: Loaded
    reference: PlacedObservations
    reference_kind: str
    reference_report: LoadReport | None
    attribution: tuple[str, ...]
    generated: bool
    pilot: Pilot | None = None

    @property
    def level(self) -> float:
        """The threshold in response units."""
        return float(self.response.forward(self.settings.threshold))

    @property
    def priors(self) -> tuple[str, ...]:
        """The asked prior families that can be made on so many cells; all of them where none can."""
        asked = self.settings.priors
        return tuple(name for name in asked if can_make(name, self.lattice.size)) or asked


def load_source(source: SourceSettings, unit: str = "") -> tuple[Observations, LoadReport]:
    """Read one source with the loader that fits it."""
    if source.is_sales:
        if source.postcodes is None:  # excluded by SourceSettings; kept for the type checker's sake
            raise WorkflowError("Price Paid rows need a postcode lookup: set `postcodes`.")
        return load_sales(source.path, source.postcodes, segment=source.segment, years=source.years or None)
    if source.value is None or source.x is None or source.y is None:
        raise WorkflowError("A sensor table needs `value`, `lon` and `lat` columns.")
    return load_sensors(
        source.path,
        value=source.value,
        x=source.x,
        y=source.y,
        crs=source.crs,
        unit=unit,
        where=dict(source.where) or None,
    )


def build_domain(settings: ReleaseSettings) -> Domain:
    """The public domain of the settings' region and resolution."""
    if settings.bbox is not None:
        return domain_from_bbox(*settings.bbox, settings.resolution)
    return domain_from_geojson(str(settings.region), settings.resolution)


def build_lattice(domain: Domain) -> Lattice:
    """The domain as a prior sees it, with padding rings for graph priors."""
    return Lattice(*domain.lattice_arrays(padding_rings=PADDING_RINGS))


def load_project(settings: ReleaseSettings, progress: Progress | None = None) -> Project:
    """Load the domain first, then the sources; every failure is one sentence."""
    report = progress or (lambda fraction, text: None)
    report(0.0, "Filling the region with hexagons")
    domain = build_domain(settings)
    report(0.2, "Reading the private data")
    observations, private_report = load_source(settings.data, settings.value_unit)
    private = Loaded(private_report, place(observations, domain), observations)
    lattice = build_lattice(domain)
    reference_report: LoadReport | None = None
    if settings.reference is not None:
        report(0.6, "Reading the reference data")
        reference_observations, reference_report = load_source(settings.reference, settings.value_unit)
        refuse_overlap(observations, reference_observations)
        reference = place(reference_observations, domain)
        kind = "public reference data" if settings.reference_public else "reference data"
        response = choose_response(settings, reference)
        attribution = observations.attribution + reference_observations.attribution
        generated = observations.generated
    else:
        response = choose_response(settings, None)
        reference = simulate_reference(settings, lattice, response, public_n(private.placed, settings.unit))
        kind = "simulated"
        attribution, generated = observations.attribution, observations.generated
    report(1.0, "Loaded")
    return Project(
        settings, domain, lattice, response, private, reference, kind, reference_report,
        tuple(dict.fromkeys(attribution)), generated,
    )  # fmt: skip


def refuse_overlap(private: Observations, reference: Observations) -> None:
    """Refuse reference data that hold the private records: tuning on them would be unaccounted.

    Sales hardly ever agree in place and exact price, so a share above MOST_SHARED is refused; readings of
    fixed sensors may agree, so these are refused only where every private row is among the others.
    """
    if private.crs != reference.crs:
        return
    share = shared_rows(private, reference)
    if share > MOST_SHARED if private.kind == "sale" else share == 1.0:
        raise WorkflowError(
            "The reference data hold the private records themselves, so tuning on them would not be private: "
            "name another file, or other years."
        )


def shared_rows(private: Observations, reference: Observations) -> float:
    """Share of the private rows whose place and value stand in the reference data exactly."""
    rows = np.hstack([np.vstack([each.x, each.y, each.value]) for each in (private, reference)])
    order = np.lexsort(rows)
    new = np.any(np.diff(rows[:, order], axis=1) != 0, axis=0)
    group = np.concatenate([[0], np.cumsum(new)])
    public = order >= private.size
    known = np.zeros(group[-1] + 1, dtype=bool)
    known[group[public]] = True
    return float(known[group[~public]].mean())


def choose_response(settings: ReleaseSettings, reference: PlacedObservations | None) -> ResponseScale:
    """Public centre and clip bound: as given, otherwise from reference data; never from the private data.

    From reference data the centre is the median over cells of the cells' medians (a path falls back to it
    where there are no records, so crowded cells must not pull it), and the clip bound is the distance from it
    that holds 90 % of the observations and always reaches the threshold. Raises `WorkflowError` where neither
    is to be had.
    """
    transform = "log" if settings.uses_log else "identity"
    if settings.centre is not None and settings.clip is not None:
        return ResponseScale(transform, settings.centre, settings.clip, "given by the curator as public")
    if reference is None:
        raise WorkflowError(
            "Without reference data the public centre and clip bound must be given: set `centre` and `clip` "
            f"in {'log units' if transform == 'log' else 'the data unit'}, or name `reference` data."
        )
    unscaled = ResponseScale(transform, 0.0, 1.0, "")
    value = unscaled.forward(reference.value)
    middle = float(np.median(unscaled.forward(cell_medians(reference)[1])))
    centre = settings.centre if settings.centre is not None else round(middle, 4)
    level = float(unscaled.forward(settings.threshold))
    spread = float(np.quantile(np.abs(value - centre), CLIP_QUANTILE))
    clip = settings.clip if settings.clip is not None else round(max(spread, 1.25 * abs(level - centre)), 4)
    if clip <= 0:
        raise WorkflowError("The reference values do not vary: give a public `clip` bound.")
    return ResponseScale(transform, centre, clip, "from the reference data")


def simulate_reference(
    settings: ReleaseSettings, lattice: Lattice, response: ResponseScale, n: int
) -> PlacedObservations:
    """A simulated stand-in for reference data: a drawn field with noise, `n` records spread evenly.

    For the unit "cell" each of the n records has a cell of its own.

    Public by construction: only the domain, the response scale and the public number of records enter.
    """
    entropy = SimulationEntropy(SIMULATION_SEED)
    extent = float(np.ptp(lattice.domain_centres, axis=0).max())
    prior = make_prior("car", lattice, max(extent / 5.0, 2.0 * lattice.spacing))
    field: NDArray[np.float64] = 0.5 * prior.colour(entropy.normal((prior.white_size, 1)))[:, 0]
    if settings.unit == "cell":
        index = np.argsort(entropy.uniform(lattice.size), kind="stable")[:n].astype(np.int64)
        n = int(index.size)
    else:
        index = np.minimum((entropy.uniform(n) * lattice.size).astype(np.int64), lattice.size - 1)
    value = response.value(field[index] + 0.5 * entropy.normal(n))
    return PlacedObservations(index, value, n, 0)

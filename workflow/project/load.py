"""The project: private observations, public domain and reference data of one release, loaded and placed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from data_loaders import LoadReport, Observations, bound_contributions
from data_loaders.files.guarded import reading
from dpgp_core.accounting.composition import Cost
from dpgp_core.labels.ranges import FieldModel
from dpgp_core.numbers import significant
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import can_make
from geo import Domain, accuracy_note, crs_by_name
from geo.basemap import read_basemap
from geo.context.own_layers import OwnLayer
from workflow.errors import WorkflowError
from workflow.project.area import build_domain, load_layers, refuse_private_layers
from workflow.project.overlap import refuse_overlap
from workflow.project.read_before import read_or_remembered
from workflow.project.records import PlacedObservations, cell_medians, located, place, public_n
from workflow.project.relative import Relative, relative_field
from workflow.project.response import ResponseScale, tidy
from workflow.project.simulated import simulate_reference
from workflow.project.trip import TripProtection, trip_protection
from workflow.settings.defaults import default_priors, usual_delta
from workflow.settings.model import ReleaseSettings
from workflow.settings.source import SourceSettings
from workflow.settings.words import TRIED_ON, ReferenceKind, Transform, TriedOn

PADDING_RINGS = 4
CLIP_QUANTILE = 0.9
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Loaded:
    """One source after loading and placing.

    Parameters
    ----------
    report
        what the loader kept and dropped
    placed
        the rows inside the domain
    observations
        all rows
    """

    report: LoadReport
    placed: PlacedObservations
    observations: Observations

    def with_note(self, sentence: str) -> Loaded:
        """The same with one more sentence for the curator."""
        return replace(self, report=replace(self.report, notes=(*self.report.notes, sentence)))

    def sentences(self) -> list[str]:
        """What was read, kept and dropped, in words."""
        lines = list(self.report.lines())
        if self.placed.outside:
            lines.append(f"{self.placed.outside:,} rows lie outside the domain and were dropped.")
        lines.append(f"{self.placed.index.size:,} rows lie inside the domain.")
        if self.placed.sure is not None:
            lines.append(
                "Places carry known noise: each row counts in its likeliest hexagon, which is right with "
                f"probability {self.placed.sure:.0%} on average. Larger hexagons are surer."
            )
        return lines


@dataclass(frozen=True)
class Pilot:
    """What an accounted look at the private records has cost, and what it chose.

    Parameters
    ----------
    cost
        everything that is proved about the look
    epsilon
        its epsilon on its own, an upper bound
    entry
        the seal of its ledger entry
    model
        Range and scatter that a private choice found; None for a pilot.
    """

    cost: Cost
    epsilon: float
    entry: str
    model: FieldModel | None = None

    @property
    def words(self) -> str:
        """What was paid for."""
        if self.model is None:
            return "a pilot"
        model = f"range {significant(self.model.lengthscale, 4)} m and ridge {self.model.ridge:g}"
        return f"a private choice of {model} among the values"


@dataclass(frozen=True)
class Project:
    """All that the search and the release need. What `private` holds never leaves the curator.

    Parameters
    ----------
    domain
        the cells and the public region
    lattice
        the same as a prior sees it, padded
    response
        the public map between values and responses
    private
        the private rows, placed (curator only)
    reference
        what the design is tuned on
    reference_kind
        what `reference` is
    reference_report
        what its loader kept and dropped, where it was read from a file
    attribution
        credits of all data
    generated
        whether the data are generated, so that no real person is described
    pilot
        what an accounted look has cost, where one stands in for reference data
    trip
        how the places of the readings are protected, where a sanitised trip tells them
    relative
        the public field to which all values here are relative, where the question varies over the map
    layers
        public layers of the curator's own, which are published with the map
    """

    settings: ReleaseSettings
    domain: Domain
    lattice: Lattice
    response: ResponseScale
    private: Loaded
    reference: PlacedObservations
    reference_kind: ReferenceKind
    reference_report: LoadReport | None
    attribution: tuple[str, ...]
    generated: bool
    pilot: Pilot | None = None
    trip: TripProtection | None = None
    relative: Relative | None = None
    layers: tuple[OwnLayer, ...] = ()

    @property
    def unit(self) -> str:
        """Unit of measure of the values that are asked about, relative ones in words."""
        own = self.settings.value_unit or self.private.observations.unit
        return own if self.relative is None else self.relative.unit(own)

    @property
    def delta(self) -> float:
        """The delta of the release: that of the settings, or the usual one for its number of records."""
        given = self.settings.delta
        return usual_delta(public_n(self.private.placed, self.settings.unit)) if given is None else given

    @property
    def simulated(self) -> bool:
        """Whether the reference data are simulated, with or without a range that was chosen privately."""
        return self.reference_kind == "simulated" or (self.pilot is not None and self.pilot.model is not None)

    @property
    def tried_on(self) -> TriedOn:
        """What designs are tried on, as a screen says it: no reference data where the fields are invented."""
        if self.pilot is not None and self.pilot.model is not None:
            return "simulated fields of the chosen range"
        return TRIED_ON[self.reference_kind]

    @property
    def level(self) -> float:
        """The threshold in response units."""
        return float(self.response.forward(self.settings.threshold))

    @property
    def priors(self) -> tuple[str, ...]:
        """The asked prior families that can be made on so many cells; all of them where none can.

        Where none are asked for, those that are quick on so many cells.
        """
        asked = self.settings.priors or default_priors(self.lattice.size)
        return tuple(name for name in asked if can_make(name, self.lattice.size)) or asked


def load_source(
    source: SourceSettings, unit: str = "", owner: str | None = None
) -> tuple[Observations, LoadReport]:
    """Read one source with its loader, of `LOADERS`.

    Parameters
    ----------
    source : SourceSettings
    unit : str
        Unit of measure of a sensor table's value.
    owner : str, optional
        Column of a sensor table that names the sensor or the person of a row.

    Returns
    -------
    Observations
    LoadReport
        It says where the conversion of coordinates loses more than half a metre.

    Raises
    ------
    DataError, CrsError, WorkflowError
        One sentence each.
    """
    named = replace(source, crs=crs_by_name(source.crs))
    found, report = read_or_remembered(named, unit, owner, lambda: named.read_by.read(named, unit, owner))
    note = "" if named.is_sales else accuracy_note(named.crs)
    return found, replace(report, notes=(*report.notes, note)) if note else report


def place_private(
    observations: Observations, report: LoadReport, domain: Domain, most: int | None = None
) -> Loaded:
    """Place the private rows, and bound what each owner contributes to them.

    Parameters
    ----------
    observations : Observations
    report : LoadReport
    domain : Domain
    most : int, optional
        Rows inside the domain that each owner may keep; all without it.

    Returns
    -------
    Loaded
        Its `observations` are all rows: the ledger must know those again that another release keeps.

    Raises
    ------
    WorkflowError
        Where no row lies inside the domain.
    """
    loaded = Loaded(report, place(observations, domain), observations)
    if most is None:
        return loaded
    inside = located(observations, domain)[0] >= 0
    bounded = bound_contributions(observations.take(inside), most)
    placed = place(bounded.observations, domain)
    loaded = replace(loaded, placed=replace(placed, read=loaded.placed.read, outside=loaded.placed.outside))
    for sentence in bounded.lines():
        loaded = loaded.with_note(sentence)
    return loaded


def build_lattice(domain: Domain) -> Lattice:
    """The domain as a prior sees it, with padding rings for graph priors."""
    return Lattice(*domain.lattice_arrays(padding_rings=PADDING_RINGS))


def load_project(settings: ReleaseSettings, progress: Progress | None = None) -> Project:
    """Load the domain first, then the sources.

    Parameters
    ----------
    progress
        told (fraction, text); may raise to cancel

    Raises
    ------
    WorkflowError, DataError, GeoError
        One sentence, for whatever settings or files do not do.
    """
    report = progress or (lambda fraction, text: None)
    trip = None if settings.data.trip is None else trip_protection(settings.data.trip)
    report(0.0, "Filling the region with hexagons")
    domain = build_domain(settings, lambda share, text: report(0.2 * share, text))
    layers = load_layers(
        settings.layers, settings.label_columns, domain, settings.layer_colours, settings.layer_widths
    )
    if settings.basemap is not None:
        read_basemap(settings.basemap).refuse_elsewhere(domain)
    report(0.2, "Reading the private data")
    with reading(_read_words(settings.data, lambda share, text: report(0.2 + 0.39 * share, text))):
        observations, private_report = load_source(settings.data, settings.value_unit, settings.owner)
    refuse_private_layers(layers, observations, places_public=settings.places_public)
    private = place_private(observations, private_report, domain, settings.records_per_owner)
    lattice = build_lattice(domain)
    reference_report: LoadReport | None = None
    if settings.reference is not None:
        report(0.6, "Reading the reference data")
        reference_observations, reference_report = load_source(settings.reference, settings.value_unit)
        warning = refuse_overlap(observations, reference_observations)
        if warning is not None:
            private = private.with_note(warning)
        reference = place(reference_observations, domain)
        kind: ReferenceKind = "public reference data" if settings.reference_public else "reference data"
        relative = relative_field(settings, domain, lattice, reference)
        if relative is not None:
            private = replace(private, placed=relative.of(private.placed))
            reference = relative.of(reference)
        if relative is None or relative.clip is None:
            response = choose_response(settings, reference)
        else:  # the reference cannot show change against itself: simulated change stands in
            response = change_response(settings, relative.clip)
            reference, kind = _stand_in(settings, domain, lattice, response, private), "simulated"
        attribution = observations.attribution + reference_observations.attribution
        generated = observations.generated
    else:
        relative = relative_field(settings, domain, lattice, None)
        if relative is not None:
            private = replace(private, placed=relative.of(private.placed))
        response = choose_response(settings, None)
        reference = _stand_in(settings, domain, lattice, response, private)
        kind = "simulated"
        attribution, generated = observations.attribution, observations.generated
    report(1.0, "Loaded")
    return Project(
        settings, domain, lattice, response, private, reference, kind, reference_report,
        tuple(dict.fromkeys(attribution)), generated, trip=trip, relative=relative, layers=layers,
    )  # fmt: skip


def _read_words(source: SourceSettings, report: Progress) -> Callable[[int], None]:
    """Say how much of a source is read: of its file alone, not of its postcodes."""
    path = Path(source.path)
    whole = path.stat().st_size if os.path.isfile(path) else 0

    def tell(done: int) -> None:
        share = min(done / whole, 1.0) if whole else 0.0
        report(share, f"Reading the private data, {done / 1e6:,.0f} MB of {whole / 1e6:,.0f} MB")

    return tell


def _stand_in(
    settings: ReleaseSettings, domain: Domain, lattice: Lattice, response: ResponseScale, private: Loaded
) -> PlacedObservations:
    """Simulated observations, as many as there are private records where that number is public."""
    # Where one record may be more or less their number is not public: one for each hexagon stands for it.
    counted = settings.relation == "replace-one"
    n = public_n(private.placed, settings.unit) if counted else domain.size
    known = private.placed.index if settings.places_public else None
    return simulate_reference(settings, lattice, response, n, known)


def change_response(settings: ReleaseSettings, spread: float) -> ResponseScale:
    """Public scale of change: centred at none, clipped where 90 % of the reference lie around its map.

    Parameters
    ----------
    spread
        the distance, in transformed units, that holds these 90 %
    """
    transform: Transform = "log" if settings.uses_log else "identity"
    centre = 0.0 if settings.centre is None else settings.centre
    level = float(ResponseScale(transform, 0.0, 1.0, "").forward(settings.threshold))
    reach = max(spread, 1.25 * abs(level - centre), 1e-6)
    clip = settings.clip if settings.clip is not None else float(f"{reach:.4g}")
    given = settings.centre is not None and settings.clip is not None
    origin = "given by the curator as public" if given else "from the reference data around their own map"
    return ResponseScale(transform, centre, clip, origin)


def choose_response(settings: ReleaseSettings, reference: PlacedObservations | None) -> ResponseScale:
    """Public centre and clip bound: as given, otherwise from reference data; never from the private data.

    From reference data the centre is the median over cells of the cells' medians (a path falls back to it
    where there are no records, so crowded cells must not pull it), and the clip bound is the distance from it
    that holds 90 % of the observations and always reaches the threshold.

    Raises
    ------
    WorkflowError
        If neither is to be had.
    """
    transform: Transform = "log" if settings.uses_log else "identity"
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
    centre = settings.centre if settings.centre is not None else tidy(middle)
    level = float(unscaled.forward(settings.threshold))
    spread = float(np.quantile(np.abs(value - centre), CLIP_QUANTILE))
    reach = max(spread, 1.25 * abs(level - centre))
    lost = 0.0 if settings.centre is not None else 2.0 * abs(centre - middle)  # by rounding the centre
    clip = settings.clip if settings.clip is not None else tidy(reach)
    if settings.clip is None and reach <= lost:
        raise WorkflowError("The reference values do not vary: give a public `clip` bound.")
    return ResponseScale(transform, centre, clip, "from the reference data")

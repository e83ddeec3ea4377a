"""London as a task: the real files or the generated ones, on the product's domain or a comparison's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from geo import domain_from_cells
from hexcursion.errors import WorkflowError
from hexcursion.project.example import example_settings
from hexcursion.project.load import build_lattice, load_project
from hexcursion.project.model import Loaded, Project
from hexcursion.project.records import PlacedObservations
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from studies.reporting.figures import DomainName

THRESHOLD = 442_413.0  # pounds: 13.0 in the logarithm, the paper's threshold
SEGMENT = "existing-leasehold-flats"
BOROUGHS = "15 boroughs"
DOMAINS: tuple[DomainName, ...] = ("region", "occupied")
"""`region`: all hexagons of the public region. `occupied`: those with a sale in either year."""


def real_settings(folder: Path) -> ReleaseSettings:
    """Settings on the real files.

    Raises
    ------
    WorkflowError
        If the folder lacks them.
    """
    postcodes = folder / "postcodes" / "london_postcodes_nspl_style.csv.gz"
    region = folder / "boundaries" / "greater_london_wgs84.geojson"
    sales = [folder / "price_paid" / f"pp-{year}-london-15boroughs.csv.gz" for year in (2018, 2017)]
    missing = [path.name for path in (postcodes, region, *sales) if not path.is_file()]
    if missing:
        raise WorkflowError(
            f"The real London files are not there ({', '.join(missing)}): they are not shipped; put "
            "them into shared/data beside the checkout, or run the study on generated data."
        )
    data, reference = (SourceSettings(str(path), str(postcodes), SEGMENT) for path in sales)
    return ReleaseSettings(
        data=data,
        reference=reference,
        reference_public=True,
        prior_mean=False,
        region=str(region),
        resolution=8,
        threshold=THRESHOLD,
        value_name="price",
        value_unit="GBP",
    )


def generated_settings() -> ReleaseSettings:
    """Settings on the generated example, with nothing chosen beyond its files and threshold."""
    return example_settings().with_changes(prior_mean=False)


def load_task(settings: ReleaseSettings, domain: DomainName) -> Project:
    """Load the project on one of DOMAINS."""
    project = load_project(settings)
    return project if domain == "region" else occupied_only(project)


def occupied_only(project: Project) -> Project:
    """The project on the cells with an observation in either year.

    For comparison with published tables only: such a mask is taken from the private data and could not be
    published with a release.
    """
    occupied = np.unique(np.concatenate([project.private.placed.index, project.reference.index]))
    domain = domain_from_cells([project.domain.cells[cell] for cell in occupied])
    order = {cell: position for position, cell in enumerate(domain.cells)}
    place = np.full(project.domain.size, -1, dtype=np.int64)
    place[occupied] = [order[project.domain.cells[cell]] for cell in occupied]

    def moved(placed: PlacedObservations) -> PlacedObservations:
        return PlacedObservations(place[placed.index], placed.value, placed.read, placed.outside)

    private = project.private
    return replace(
        project,
        domain=domain,
        lattice=build_lattice(domain),
        reference=moved(project.reference),
        private=Loaded(private.report, moved(private.placed), private.observations),
    )

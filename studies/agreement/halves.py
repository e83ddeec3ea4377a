"""How often releases are said to differ from the public map that they start from, on real records.

Command: `python -m studies.agreement.halves [FOLDER]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence says so.
One random half of a year is public and the other private, so that nothing has changed; then pairs of years.
Public numbers of records are used as a release uses them. For answers of yes and no the last column holds the
expected calibration error, over tenths, of the shares that the public half states for the private records;
the last row knows no numbers of records, and is why a release without public ones states no change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.drift_reading import DriftReader
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_release import PreparedSums
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.prior import Law
from dpgp_core.spectral.sums import ExactNoise
from hexcursion.bundle.statement.change import CHANGED
from hexcursion.comparing.run import calibration_error
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations, bin_records
from hexcursion.search.public_map import public_field, scale_about
from studies.agreement.panel import rows
from studies.material.real_files import real_files_parser

SEED, HALVES, PAIRS, DELTA = 1, 20, 5, 1e-5
YEARS = (
    "Lucas 1993, 80,000",
    "Lucas 1997, 80,000",
    "London flats 2017, 442,413",
    "London new 2015, 442,413",
    "Lucas 1993, answers, 20 %",
    "Lucas 1997, answers, 20 %",
)  # rows of the panel; thresholds do not enter


def main() -> None:
    """Print one line for each pair of years."""
    options = real_files_parser(__doc__).parse_args()
    try:
        every = rows(options.folder)
        projects = {name: load_project(every[name]) for name in YEARS}
    except WorkflowError as error:
        print(error)
        return
    print(f"Said to differ from the public map by more than chance ({CHANGED:g}), epsilon 1.")
    print(f"Seed {SEED} draws the halves.")
    print(
        f"{'row of the panel':29} of {HALVES} halves (at .1)  of {PAIRS} releases of two years  chance    ECE"
    )
    for name, public in (*((name, True) for name in YEARS), (YEARS[-2], False)):
        project = projects[name]
        generator, year = np.random.default_rng(SEED), project.reference
        halves, errors = [], []
        shared = PublicFacts(project.lattice, 1)  # whose work on the domain is used again
        for number in range(HALVES):
            half = generator.random(year.index.size) < 0.5
            chance, error = _chance(project, shared, year.part(half), year.part(~half), number, public)
            halves.append(chance)
            errors.append(error)
        private = project.private.placed
        pairs = [_chance(project, shared, year, private, seed, public)[0] for seed in range(PAIRS)]
        often_at_5, often_at_10 = (int(np.sum(np.array(halves) <= limit)) for limit in (CHANGED, 0.1))
        apart = int(np.sum(np.array(pairs) <= CHANGED))
        error_text = f"{np.mean(errors):7.3f}" if project.answers else ""
        title = name if public else "the first answers, no numbers"
        print(
            f"{title:29} {often_at_5:10} ({often_at_10:2}) {apart:25} {np.median(pairs):12.2g}{error_text}",
            flush=True,
        )


def _chance(
    project: Project,
    shared: PublicFacts,
    public: PlacedObservations,
    private: PlacedObservations,
    seed: int,
    public_numbers: bool,
) -> tuple[float, float]:
    """Return the chance that a release states of its difference from the public map.

    The second number is the calibration error of that map for answers.
    """
    settings, response = project.settings, project.response
    field = public_field(project, public)
    scale = scale_about(project, field)
    field = field.rescaled((scale.centre - response.centre) / response.clip, scale.clip / response.clip)
    mean = field.at_cells(project.lattice.domain_centres)
    records = bin_records(private, scale, settings.unit, mean, response)
    law: Law = "amount" if project.answers is None else "yes-no"
    counts = np.bincount(public.index, minlength=project.lattice.size).astype(np.float64)
    facts = replace(shared, n=records.n, law=law, field=field, counts=counts if public_numbers else None)
    mechanism = mechanism_named("spectral-statistics")
    (shape,) = mechanism.search.grid(facts, SearchSpec(("exponential",), 30))
    design = mechanism.calibrate(shape, facts, Budget(settings.epsilon, DELTA))
    prepared = mechanism.prepare(design, facts, records)
    assert isinstance(prepared, PreparedSums)
    (released,) = prepared.released(ExactNoise(SimulationEntropy(seed)))
    reader = DriftReader.of(prepared.plan, prepared.known, released.counts, field)
    share = ndtr(field.at_nodes / np.hypot(1.0, np.sqrt(field.before(1.0, 0.0))))
    place, yes = field.nodes.place[private.index], response.response(private.value) > 0.0
    return reader.unchanged(released.sums), calibration_error(share[place], yes)


if __name__ == "__main__":
    main()

"""A survey of yes and no: where more than 20 and 50 % of shallow wells have arsenic above 50 ug/l.

Command: `python -m studies.agreement.answers [FOLDER] [--releases N]`.

FOLDER is ../shared/data of the checkout unless named; one sentence says where the file is absent. Wells
less than 150 deep, resolution 6, the fixed design with the range of the two maps. Scored are hexagons with a
well: the agreement of the released set with the map without privacy, which is read by the same moments once
from the wells themselves, and the calibration error of stated chances of that map (ten bins). The expectation
beforehand covers all hexagons, with the range of eight of ten releases. A second table attributes the loss of
agreement at epsilon 1 to the cut, the unknown number of wells in each hexagon, the noise, and the range. The
last scores the same releases against other maps without privacy: read in rounds as a release is, in all
functions of the prior, and in those along which it varies most.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy.special import ndtri

from dpgp_core.excursion import OWN_CUTOFFS, agreed, exceedance_probability, iou
from dpgp_core.linalg import Bools, Floats, Ints
from dpgp_core.mechanisms.spectral_design import FIXED_RANGE, FIXED_RIDGE, SPREAD_OF_ANSWERS, fixed_design
from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.prior import REACH, ClippedPrior, LinearLaw, PublicPrior
from dpgp_core.spectral.settled import settled
from geo.context.named_areas import areas_named
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.search.tuning import tune
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from studies.agreement.covariates import fixed_sets
from studies.agreement.looks import SMOOTH, smoothed
from studies.material.real_files import is_here, real_files_parser
from studies.reporting.measures import calibration_error as calibration_error
from studies.reporting.measures import standard_error

FILE = "wells/bangladesh_wells_arsenic.csv.gz"
DEEP, LIMIT, SHARES = 150.0, 50.0, (20.0, 50.0)
EPSILONS, DELTA, SEED = (0.5, 1.0, 3.0), 1e-5, 155
FUNCTIONS = (None, SMOOTH, SMOOTH // 2)
"""Numbers of functions of the prior in which these maps are read; None for all."""
LEVEL = 0.1  # variance of the unknown mean share of the map without privacy, in units of answers


def main() -> None:
    options = real_files_parser(__doc__, 8).parse_args()
    if not is_here(options.folder / FILE):
        return
    with TemporaryDirectory() as folder:
        project = load_project(settings_of(options.folder, Path(folder)))
    hexagons = np.unique(project.private.placed.index)
    truth = map_without_privacy(project)
    print(f"{project.public_n:,} wells in {hexagons.size:,} of {project.domain.size:,} hexagons")
    print("epsilon  share   all     IoU   (s.e.)   ECE    told   80 % range")
    for epsilon in EPSILONS:
        for share in SHARES:
            level = float(ndtri(share / 100.0))
            inside = (truth > level)[hexagons]
            ious, chance = released_scores(project, epsilon, level, inside, hexagons, options.releases)
            error = standard_error(ious)
            changed = project.settings.with_changes(epsilon=epsilon, threshold=share)
            expected = tune(replace(project, settings=changed), frontier=()).choice.expected
            assert expected is not None
            print(
                f"{epsilon:7g}  {share:4.0f} %  {inside.mean():.3f}  {ious.mean():.3f}  ({error:.3f})  "
                f"{calibration_error(chance, np.tile(inside, options.releases)):.3f}  "
                f"{expected.agreement:.3f}  {expected.low:.2f} to {expected.high:.2f}",
                flush=True,
            )
    print("epsilon 1, where the loss sits             20 %   50 %")
    for name, reached in losses(project, truth, hexagons, options.releases):
        print(f"{name:42} {reached[0]:.3f}  {reached[1]:.3f}", flush=True)
    print("epsilon 1, another map without privacy   share  with the one above   IoU   (s.e.)   ECE")
    for functions in FUNCTIONS:
        other = map_in_rounds(project, functions)
        for share in SHARES:
            level = float(ndtri(share / 100.0))
            inside = (other > level)[hexagons]
            ious, chance = released_scores(project, 1.0, level, inside, hexagons, options.releases)
            print(
                f"read in rounds, in {functions or 'all'} functions".ljust(40),
                f"{share:4.0f} %              {iou((truth > level)[hexagons], inside):.3f}  "
                f"{ious.mean():.3f}  "
                f"({standard_error(ious):.3f})  "
                f"{calibration_error(chance, np.tile(inside, options.releases)):.3f}",
                flush=True,
            )
    print(f"Seed {SEED}; {options.releases} releases of each row, delta {DELTA:g}; all: everything painted.")


def settings_of(folder: Path, work: Path) -> ReleaseSettings:
    """Shallow wells, answers of arsenic above the limit; table and outline are written to a folder."""
    region = work / "bangladesh.geojson"
    region.write_text(json.dumps(areas_named(["Bangladesh (every area)"])), encoding="utf-8")
    table = pd.read_csv(folder / FILE)
    path = work / "wells.csv"
    table[table["Depth"] < DEEP].to_csv(path, index=False)
    return ReleaseSettings(
        data=SourceSettings(str(path), value="Arsenic", x="lon", y="lat"),
        values="yes-no",
        yes_above=LIMIT,
        value_unit="ug/l",
        value_name="arsenic",
        record_word="well",
        region=str(region),
        resolution=6,
        threshold=SHARES[0],
        mechanisms=("spectral-statistics",),
    )


def map_without_privacy(project: Project) -> Floats:
    """(N,) probit of the share of yes: one reading of the moments of answers, from the records."""
    law = ClippedPrior.of(PublicPrior(0.0, SPREAD_OF_ANSWERS, 1.0 / SPREAD_OF_ANSWERS, "yes-no"))
    records = bin_records(project.private.placed, project.response, "point")
    prior = make_prior("exponential", project.lattice, FIXED_RANGE * project.lattice.spacing)
    covariance = law.deviation**2 * prior.correlation() + LEVEL
    index, mean = records.index, float(np.average(records.mean, weights=records.count))
    observed = covariance[np.ix_(index, index)] + np.diag(law.record_noise**2 / records.count)
    answer = mean + covariance[:, index] @ np.linalg.solve(observed, records.mean - mean)
    return np.asarray(ndtri(np.clip((1.0 + answer) / 2.0, 1e-3, 1.0 - 1e-3)))


def map_in_rounds(project: Project, functions: int | None = None) -> Floats:
    """(N,) the same map, with answers made linear in rounds, each around the reading before.

    `functions` is the number of functions of the prior, largest variance first; None for all.
    """
    records = bin_records(project.private.placed, project.response, "point")
    design = fixed_design(project.lattice.spacing).for_law("yes-no")
    corr = make_prior(design.prior, project.lattice, design.lengthscale).correlation()
    covariance = SPREAD_OF_ANSWERS**2 * ((1.0 - design.common) * corr + design.common)
    if functions is not None:
        covariance = smoothed(covariance, functions)
    index, variance = records.index, covariance.diagonal()

    def read(current: Floats) -> Floats:
        law = LinearLaw.about(0.0, *current[:, index])
        link = covariance[:, index] * law.deviation
        observed = law.deviation[:, None] * link[index] + np.diag(law.record_noise**2 / records.count)
        gain = np.linalg.solve(observed, link.T).T
        value = np.clip(gain @ (records.mean - law.mean), -REACH, REACH)
        return np.array([value, np.sqrt(variance - np.einsum("ij,ij->i", gain, link))])

    return settled(read, read(np.array([np.zeros(variance.size), np.sqrt(variance)])))[0]


def released_scores(
    project: Project, epsilon: float, level: float, inside: Bools, hexagons: np.ndarray, releases: int
) -> tuple[Floats, Floats]:
    """(R,) agreements with the map without privacy, and (R k,) its stated chances, at k hexagons.

    Raises
    ------
    WorkflowError
        As `fixed_sets`, and for a release that states no map without privacy.
    """
    ious, chances = [], []
    for released, region in fixed_sets(project, epsilon, level, releases):
        of_map = released.shown_map
        if of_map is None:
            raise WorkflowError("The release states no map without privacy.")
        ious.append(iou(region[hexagons], inside))
        chances.append(exceedance_probability(*of_map, level, "above")[hexagons])
    return np.array(ious), np.concatenate(chances)


def losses(
    project: Project, truth: Floats, hexagons: Ints, releases: int
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Agreements at both shares with the map `truth` (N,) over `hexagons`, one change at a time.

    Raises
    ------
    WorkflowError
        As `fixed_sets`.
    """
    spacing = project.lattice.spacing
    public_places = replace(project, settings=project.settings.with_changes(places_public=True))
    levels = [float(ndtri(share / 100.0)) for share in SHARES]
    inside = {level: (truth > level)[hexagons] for level in levels}

    def reached(case: Project, epsilon: float, steps: float, *, cut: bool = False) -> tuple[float, float]:
        model, agreements = (steps * spacing, FIXED_RIDGE), []
        for level in levels:
            best = []
            for released, region in fixed_sets(case, epsilon, level, releases, model):
                chance, sets = released.set_chance(level), [region]
                if cut and chance is not None:
                    sets = [agreed(chance, cutoff) for cutoff in OWN_CUTOFFS]
                best.append(max(iou(candidate[hexagons], inside[level]) for candidate in sets))
            agreements.append(float(np.mean(best)))
        return agreements[0], agreements[1]

    yield "as released", reached(project, 1.0, FIXED_RANGE)
    yield "each cut where it agrees best, afterwards", reached(project, 1.0, FIXED_RANGE, cut=True)
    yield "places of the wells public", reached(public_places, 1.0, FIXED_RANGE)
    yield "half of the range", reached(project, 1.0, FIXED_RANGE / 2.0)
    yield "twice the range", reached(project, 1.0, 2.0 * FIXED_RANGE)
    yield "hardly any noise (epsilon 300)", reached(project, 300.0, FIXED_RANGE)


if __name__ == "__main__":
    main()

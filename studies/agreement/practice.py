"""What today's rules of disclosure control show and tell, beside private releases of the same records.

Command: `python -m studies.agreement.practice [FOLDER] [--releases N]`.

House sales of Lucas County in 1998, which ship with the program, with those of 1997 set aside as reference;
and, where FOLDER (../shared/data beside the checkout unless named) holds them, flats of London in 2018.
"""

from __future__ import annotations

import os

from dpgp_core.linalg import Bools

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from dpgp_core.excursion import iou
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from hexcursion.comparing.attacks import told_apart
from hexcursion.comparing.practice import Records, Table, careful
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import fit_baseline
from hexcursion.project.example import county_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice
from hexcursion.search.tuning import tune
from hexcursion.settings.model import ReleaseSettings
from studies.agreement.panel import simulated
from studies.attacks.table_rules import changes, own_medians, rules_of, two_editions
from studies.london.task import real_settings
from studies.material.real_files import real_files_parser

SEED, RELEASES, EPSILONS, DELTA = 8, 20, (0.5, 1.0, 3.0), 1e-5
SURE = 0.9


def lucas_settings(before: int = 1997) -> ReleaseSettings:
    """Sales of 1998 above 80,000 dollars, with those of an earlier year set aside as reference."""
    return county_settings(before).with_changes(
        reference_public=False, delta=DELTA, mechanisms=("spectral-statistics",)
    )


def main() -> None:
    """Print one line a rule and one an epsilon, for each set of records."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--releases", type=int, default=RELEASES, help=f"default {RELEASES}")
    asked = parser.parse_args()
    cases = {"Lucas County 1998, above 80,000 dollars": lucas_settings()}
    try:
        flats = real_settings(asked.folder).with_changes(
            prior_mean=False, reference_public=False, delta=DELTA, mechanisms=("spectral-statistics",)
        )
        cases["London flats 2018, above 442,413 pounds"] = flats
    except WorkflowError as error:
        print(error)
    print(
        "Agreement: IoU with the map without privacy, as published, and as a careful reader fills the blanks:"
    )
    print("by the nearest shown hexagon, or by the baseline's own model of the published numbers, if better.")
    print(
        "Own: IoU with the hexagons' own medians, occupied ones. Exact: records whose value two editions of a"
    )
    print("table give away. Changes: records without which the table is another one. AUC: 'was it in?'.")
    print(f"Seed {SEED} draws the noise of {asked.releases} simulated releases; delta {DELTA:g}.")
    for title, settings in cases.items():
        for line in lines(title, settings, asked.releases):
            print(line, flush=True)


def lines(title: str, settings: ReleaseSettings, releases: int) -> list[str]:
    """The lines of one set of records."""
    project = load_project(settings)
    records, tuned = Records.of(project), {each: tune(_at(project, each), beside=()) for each in EPSILONS}
    truth = fit_baseline(project, tuned[1.0].result.model).inside
    occupied = int((records.count > 0).sum())
    model = tuned[1.0].result.model
    found = [
        f"{title}: {records.cell.size:,} records, {records.size:,} hexagons, {occupied} with records, "
        f"{int(truth.sum())} above",
        f"  {'rule':24} shown %  records %  agreement  filled    own  exact %  changes %   AUC",
    ]
    for name, rule in rules_of(project.domain.cells).items():
        table = rule.apply(records)
        exact, changed = 100.0 * two_editions(records, rule), changes(records, rule)
        told = careful(project, model, records, table, truth)
        shown, held = 100.0 * table.shown.mean(), 100.0 * table.shown[records.cell].mean()
        found.append(
            f"  {name:24} {shown:7.0f}  {held:9.0f}  {iou(table.inside, truth):9.2f}  "
            f"{told:6.2f}  {own_medians(table, records):5.2f}  {exact:7.0f}  "
            f"{100.0 * changed:9.1f}  {told_apart(changed):.2f}"
        )
    for epsilon, each in tuned.items():
        agreement, own, sure = _released(_at(project, epsilon), each.choice, truth, records, releases)
        design = each.choice.design
        assert isinstance(design, SpectralStatisticsDesign)
        most = NormalDist().cdf(design.mu / np.sqrt(2.0))
        found.append(
            f"  {f'private, epsilon {epsilon:g}':24} {100:7}  {100:9}  {agreement:9.2f}  {'':6}  {own:5.2f}  "
            f"{0:7}  {'every':>9}  at most {most:.3f}; sure of {100.0 * sure:.0f} %"
        )
    return found


def _at(project: Project, epsilon: float) -> Project:
    return replace(project, settings=project.settings.with_changes(epsilon=epsilon))


def _released(
    project: Project, choice: Choice, truth: Bools, records: Records, releases: int
) -> tuple[float, float, float]:
    """Agreement, agreement with the hexagons' own medians, and share of hexagons told surely: means."""
    found = []
    for _, region, probability in simulated(project, choice, releases, SEED):
        sure = np.mean((probability >= SURE) | (probability <= 1.0 - SURE))
        found.append((iou(region, truth), own_medians(Table(region, region), records), sure))
    agreement, own, sure = np.mean(found, axis=0)
    return float(agreement), float(own), float(sure)


if __name__ == "__main__":
    main()

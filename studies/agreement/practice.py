"""What today's rules of disclosure control show and reveal, and private releases of the same records.

Command: `python -m studies.agreement.practice [FOLDER] [--releases N]`.

House sales of Lucas County in 1998, which ship with the program, with those of 1997 set aside as reference;
and, where FOLDER (../shared/data unless named) holds them, flats of London in 2018.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from dpgp_core.excursion import iou
from dpgp_core.linalg import Bools
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from hexcursion.comparing.attacks import told_apart
from hexcursion.comparing.practice import Records, Table, Target, careful
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import curators_map
from hexcursion.project.example import county_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice
from hexcursion.search.tuning import tune
from hexcursion.settings.model import ReleaseSettings
from studies.agreement.panel import judged, simulated
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
    options = real_files_parser(__doc__, RELEASES).parse_args()
    cases = {"Lucas County 1998, above 80,000 dollars": lucas_settings()}
    try:
        flats = real_settings(options.folder).with_changes(
            prior_mean=False, reference_public=False, delta=DELTA, mechanisms=("spectral-statistics",)
        )
        cases["London flats 2018, above 442,413 pounds"] = flats
    except WorkflowError as error:
        print(error)
    print("Agreement: IoU with the map without privacy over judged hexagons, as published, and as a careful")
    print("reader fills the blanks:")
    print("by the nearest shown hexagon, or by the baseline's own model of the published numbers, if better.")
    print(
        "Own: IoU with the hexagons' own medians, occupied ones. Exact: records whose value two editions of a"
    )
    print("table give away. Changes: records without which the table is another one. AUC: 'was it in?'.")
    print(f"Seed {SEED} draws the noise of {options.releases} simulated releases; delta {DELTA:g}.")
    for title, settings in cases.items():
        for line in lines(title, settings, options.releases):
            print(line, flush=True)


def lines(title: str, settings: ReleaseSettings, releases: int) -> list[str]:
    """The lines of one set of records."""
    project = load_project(settings)
    records, tuned = (
        Records.of(project),
        {tuning: tune(_at(project, tuning), frontier=()) for tuning in EPSILONS},
    )
    truth = curators_map(project, tuned[1.0].result.model).inside
    first, *_ = next(simulated(_at(project, 1.0), tuned[1.0].choice, 1, SEED))
    domain = judged(first)
    occupied = int((records.count > 0).sum())
    model = tuned[1.0].result.model
    rows = [
        f"{title}: {records.cell.size:,} records, {records.size:,} hexagons, {occupied} with records, "
        f"{int(domain.sum())} judged, {int((truth & domain).sum())} of them above",
        f"  {'rule':24} shown %  records %  agreement  filled    own  exact %  changes %   AUC",
    ]
    for name, rule in rules_of(project.domain.cells).items():
        table = rule.apply(records)
        exact, changed = 100.0 * two_editions(records, rule), changes(records, rule)
        filled = careful(project, model, records, table, Target(truth, domain))
        shown, share = 100.0 * table.shown.mean(), 100.0 * table.shown[records.cell].mean()
        rows.append(
            f"  {name:24} {shown:7.0f}  {share:9.0f}  {iou(table.inside & domain, truth & domain):9.2f}  "
            f"{filled:6.2f}  {own_medians(table, records):5.2f}  {exact:7.0f}  "
            f"{100.0 * changed:9.1f}  {told_apart(changed):.2f}"
        )
    for epsilon, tuning in tuned.items():
        shown, share = (
            100.0 * domain.mean(),
            100.0 * domain[records.cell].mean(),
        )
        agreement, medians, sure = _released(_at(project, epsilon), tuning.choice, truth, records, releases)
        design = tuning.choice.design
        assert isinstance(design, SpectralStatisticsDesign)
        auc = NormalDist().cdf(design.mu / np.sqrt(2.0))
        rows.append(
            f"  {f'private, epsilon {epsilon:g}':24} {shown:7.0f}  {share:9.0f}  {agreement:9.2f}  {'':6}  "
            f"{medians:5.2f}  {0:7}  {'every':>9}  at most {auc:.3f}; sure of {100.0 * sure:.0f} %"
        )
    return rows


def _at(project: Project, epsilon: float) -> Project:
    return replace(project, settings=project.settings.with_changes(epsilon=epsilon))


def _released(
    project: Project, choice: Choice, truth: Bools, records: Records, releases: int
) -> tuple[float, float, float]:
    """Mean agreement, agreement with the hexagons' medians, and share of hexagons decided surely."""
    scores = []
    for release, region, probability in simulated(project, choice, releases, SEED):
        judged_hexagons = judged(release)
        sure = float(np.mean(((probability >= SURE) | (probability <= 1.0 - SURE))[judged_hexagons]))
        scores.append(
            (iou(region, truth & judged_hexagons), own_medians(Table(region, region), records), sure)
        )
    agreement, medians, sure = np.mean(scores, axis=0)
    return float(agreement), float(medians), float(sure)


if __name__ == "__main__":
    main()

"""A private choice of the range beside free tuning on simulated fields.

Command: `python -m studies.agreement.range_choice`.

Maps with public places and no reference data: plumes seen by 800 and by 20,000 sensors and, with the real
files (their folder is ../shared/data beside the checkout unless named), Meuse lead. At each budget the
designs of functional noise and bin means are tuned on a simulated field, for free, or on one of a range and
scatter chosen by the exponential mechanism with 20 % of epsilon, which the release then lacks. Both are
judged by the map to be reached; the choice is drawn anew for each of 8 groups of 5 releases. The sharpness is
the difference of mean squared errors that the odds of e need; above .05 nothing would be charged.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from dpgp_core.excursion import ious
from dpgp_core.mechanisms.grids import FieldModel
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.private_choice import choice_cost
from hexcursion.project.load import load_project
from hexcursion.project.model import Pilot, Project
from hexcursion.project.records import bin_records
from hexcursion.search.choice import Choice, tuning_of
from hexcursion.search.pilot import planned_choice, with_model
from hexcursion.search.tuning import tune
from studies.agreement.spectral_sensors import peer_map
from studies.excursions.fields import Bools, Floats
from studies.leaderboard.fields import SURVEYS, plumes, survey
from studies.london.study import released_sets
from studies.material.real_files import real_files_parser

SEED, SHARE, EPSILONS, GROUPS, EACH, MANY = 14, 0.2, (1.0, 3.0), 8, 5, 20_000
MECHANISMS = ("functional", "bin-means")


def maps(folder: Path, scratch: Path) -> Iterator[tuple[str, Project, Bools]]:
    """Title, project with public places and without reference data, and the map to be reached."""
    contests = [plumes(scratch), replace(plumes(scratch, MANY), title="Plumes, many")]
    if (folder / "sensors").is_dir():
        contests.append(survey(SURVEYS[1], folder, peer_map))
    for each in contests:
        scale = each.project.response
        settings = each.project.settings.with_changes(
            reference=None, reference_public=False, places_public=True, delta=1e-5, mechanisms=MECHANISMS,
            quick=True, centre=scale.centre, clip=scale.clip, priors=("car",), accept_low_agreement=True,
        )  # fmt: skip
        yield each.title, load_project(settings), each.truth


def judged(project: Project, truth: Bools, count: int, entropy: SimulationEntropy) -> tuple[str, Floats]:
    """The tuned mechanism, and agreements of simulated releases of the data themselves."""
    tuned = tune(project, beside=())
    choice = Choice(tuned.choice.design, tuned.choice.response, tuning_of(project, "simulated", ""))
    return mechanism_of(choice.design).name, ious(released_sets(project, choice, count, entropy), truth)


def compared(title: str, project: Project, truth: Bools, epsilon: float) -> str:
    """A line of the table."""
    entropy = SimulationEntropy(SEED)
    asked = replace(project, settings=project.settings.with_changes(epsilon=epsilon))
    free, plain = judged(asked, truth, GROUPS * EACH, entropy)
    records = bin_records(asked.private.placed, asked.response, "point")
    plan, paid = planned_choice(asked, records), SHARE * epsilon
    settings = asked.settings.with_changes(range_choice=SHARE)

    @cache
    def tuned(model: FieldModel) -> Project:
        return with_model(
            replace(asked, settings=settings), model, Pilot(choice_cost(paid), paid, "1:x", model)
        )

    counts: dict[FieldModel, int] = {}
    for _ in range(GROUPS):
        model, _ = plan.draw(records, paid, entropy, simulation=True)
        counts[model] = counts.get(model, 0) + 1
    found = [judged(tuned(model), truth, EACH * many, entropy) for model, many in counts.items()]
    chosen = np.concatenate([values for _, values in found])

    def words(values: Floats) -> str:
        return f"{values.mean():6.3f} ({values.std(ddof=1) / np.sqrt(values.size):.3f})"

    return (
        f"{title:24}{records.n:7,}{asked.domain.size:7,}{epsilon:8g}{plan.sharpness(records.n, paid):10.3f}  "
        f"{words(plain)}  {free:12}{words(chosen)}  {len(counts)} of {len(plan.models)} chosen"
    )


def main() -> None:
    parser = real_files_parser(__doc__)
    asked = parser.parse_args()
    head = f"{'map':24}{'n':>7}{'cells':>7}{'epsilon':>8}{'sharpness':>10}"
    print(f"{head}  {'free tuning':29}range chosen")
    with tempfile.TemporaryDirectory() as scratch:
        for title, project, truth in maps(asked.folder, Path(scratch)):
            for epsilon in EPSILONS:
                print(compared(title, project, truth, epsilon), flush=True)
    print(f"Seed {SEED}; mean IoU and its standard error over {GROUPS * EACH} releases; quick searches.")


if __name__ == "__main__":
    main()

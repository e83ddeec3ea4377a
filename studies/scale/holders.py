"""Records split among holders: one map of all their sums, a map of each alone, and one of all records.

Command: `python -m studies.scale.holders [FOLDER] [--releases N] [--only NAME]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence
says so. Every holder releases the same sums at epsilon 1. Agreement is IoU with the map of all
records without privacy, over hexagons that hold a record; right is the share of all records whose
side of the threshold the map shows. Shuffled: the same with values exchanged over all places.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.excursion import exceedance_probability, iou
from dpgp_core.linalg import Bools, Floats, Ints
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import PreparedSums, add_sums
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.sums import ExactNoise, KeptSums
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import fit_baseline
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.search.scenes import ask_of, public_facts
from hexcursion.search.score import fixed_model
from studies.agreement.panel import rows
from studies.material.real_files import real_files_parser

SEED, RELEASES, DELTA, EPSILON = 11, 5, 1e-5, 1.0
SCALES = {"London all 2015, 442,413": (13.0, 1.0), "Lucas 1997, 80,000": (11.3, 1.2)}
"""Rows of the panel, here without their reference, with a public centre and clip of the logarithm."""
NUMBERS = (2, 4, 8)


def main() -> None:
    """Print one line for each row, number of holders and way to split."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--releases", type=int, default=RELEASES, help=f"default {RELEASES}")
    parser.add_argument("--only", default="", help="rows whose names hold this")
    asked = parser.parse_args()
    try:
        every = rows(asked.folder)
    except WorkflowError as error:
        print(error)
        return
    print(f"Means of {asked.releases} simulated releases at epsilon {EPSILON:g} each.")
    print(f"Seed {SEED} draws the splits, the noise and the shuffled values.")
    print("One: one holder of everything. Loss: of agreement, one less together.")
    print(
        f"{'row':26} {'split':8} holders  records  one    together  loss    alone   shuffled  "
        "right: one  together  alone"
    )
    for name, (centre, clip) in SCALES.items():
        if asked.only in name:
            settings = every[name].with_changes(
                reference=None, reference_public=False, prior_mean=None, public_counts=None,
                centre=centre, clip=clip,
            )  # fmt: skip
            _measure(name, load_project(settings), asked.releases)


def _measure(name: str, project: Project, releases: int) -> None:
    placed, facts = project.private.placed, public_facts(project)
    records = bin_records(placed, project.response, "point")
    budget = Budget(EPSILON, DELTA, None)
    truth = fit_baseline(project, fixed_model(facts, ask_of(project), budget, project.response).design).inside
    generator = np.random.default_rng(SEED)
    responses = project.response.response(placed.value)
    level = float(project.response.forward(project.settings.threshold))
    above = placed.value > project.settings.threshold
    scene = _Scene(facts, placed.index, responses, above, truth, level)
    one = scene.released(np.zeros(records.n, dtype=np.int64), 1, releases)
    mixed = replace(scene, responses=generator.permutation(responses))
    for holders in NUMBERS:
        for split in ("by place", "random"):
            owner = _owners(project, holders, split, generator)
            together, alone = scene.released(owner, holders, releases), scene.alone(owner, holders)
            shuffled = mixed.released(owner, holders, max(2, releases // 5))
            print(
                f"{name:26} {split:8} {holders:7} {records.n:8,} {one[0]:6.3f} {together[0]:9.3f} "
                f"{one[0] - together[0]:+7.3f} {alone[0]:7.3f} {shuffled[0]:9.3f} "
                f"{one[1]:11.3f} {together[1]:9.3f} {alone[1]:6.3f}",
                flush=True,
            )


def _owners(project: Project, holders: int, split: str, generator: np.random.Generator) -> Ints:
    """(n,) the holder of each record: strips of equally many records from west to east, or at random."""
    index = project.private.placed.index
    if split == "random":
        return generator.integers(0, holders, index.size)
    rank = np.argsort(np.argsort(project.domain.centres[index, 0], kind="stable"), kind="stable")
    return np.asarray(rank * holders // index.size)


@dataclass(frozen=True, eq=False)
class _Scene:
    facts: PublicFacts
    index: Ints
    responses: Floats
    above: Bools
    truth: Bools
    level: float

    def released(self, owner: Ints, holders: int, releases: int) -> Floats:
        """Mean agreement and share right of maps of all holders together."""
        design = _shared(self.facts, holders, self.index.size)
        parts = [self._prepared(design, owner == holder) for holder in range(holders)]
        facts = replace(self.facts, n=self.index.size)
        scores = []
        for number in range(releases):
            kept = [
                KeptSums.of(part.released(ExactNoise(SimulationEntropy(_seed(number, holder))))[0],
                            part.plan.features)
                for holder, part in enumerate(parts)
            ]  # fmt: skip
            reading = add_sums([design] * holders, kept, facts).reading
            scores.append(self._scores(reading.mean, reading.sd))
        return np.asarray(np.mean(scores, axis=0))

    def alone(self, owner: Ints, holders: int) -> Floats:
        """The same of one map of each holder alone, by the usual design, scored on all records."""
        scores = []
        for holder in range(holders):
            mine = owner == holder
            scores.append(replace(self, index=self.index, responses=self.responses)._one(mine, holder))
        return np.asarray(np.mean(scores, axis=0))

    def _one(self, mine: Bools, holder: int) -> Floats:
        facts = replace(self.facts, n=int(mine.sum()))
        mechanism = MECHANISMS[SpectralStatisticsDesign.mechanism]
        design = mechanism.calibrate(
            mechanism.search.fixed(facts.lattice.spacing), facts, Budget(EPSILON, DELTA, None)
        )
        part = replace(self, facts=facts)._prepared(design, mine)
        released = part.released(ExactNoise(SimulationEntropy(_seed(0, holder))))[0]
        reading = add_sums([design], [KeptSums.of(released, part.plan.features)], facts).reading
        return self._scores(reading.mean, reading.sd)

    def _prepared(self, design: SpectralStatisticsDesign, mine: Bools) -> PreparedSums:
        records = CollapsedRecords.from_records(self.index[mine], self.responses[mine])
        facts = replace(self.facts, n=records.n)
        prepared = MECHANISMS[design.mechanism].prepare(design, facts, records)
        assert isinstance(prepared, PreparedSums)
        return prepared

    def _scores(self, mean: Floats | None, sd: Floats | None) -> Floats:
        assert mean is not None
        assert sd is not None
        shown = exceedance_probability(mean, sd, self.level, "above") >= 0.5
        inhabited = np.unique(self.index)
        right = np.mean(shown[self.index] == self.above)
        return np.array([iou(shown[inhabited], self.truth[inhabited]), right])


def _shared(facts: PublicFacts, holders: int, records: int) -> SpectralStatisticsDesign:
    mechanism, budget = MECHANISMS[SpectralStatisticsDesign.mechanism], Budget(EPSILON, DELTA, None)
    shape = mechanism.search.fixed(facts.lattice.spacing)
    if holders > 1:
        shape = replace(shape, pool_records=float(records), pool_mu=budget.mu / math.sqrt(holders))
    design = mechanism.calibrate(shape, facts, budget)
    assert isinstance(design, SpectralStatisticsDesign)
    return design


def _seed(number: int, holder: int) -> int:
    return SEED + 1_000 * number + holder


if __name__ == "__main__":
    main()

"""Records split among holders: one map of all their sums, a map of each alone, and one of all records.

Command: `python -m studies.scale.holders [FOLDER] [--releases N] [--only NAME]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence
says so. Every holder releases the same sums at epsilon 1. Agreement is IoU with the curator's map of all
records (without privacy, fitted by likelihood), over hexagons with a record; right is the share of all
records whose side of the threshold the map shows. Shuffled: the same with values exchanged over all
places. Rule: one holder of everything at the Gaussian-DP parameter mu over the root of the number of
holders.

The attack: of the first holder's table the two neighbours that its sums tell apart best. The adversary
knows every other record of all holders and sees all bundles, or the added sums alone; mu is what a test
between the two tables reaches. Exchanged: the same with the tables' names exchanged at random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.excursion import exceedance_probability, iou
from dpgp_core.linalg import Bools, Floats, Ints
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_release import PreparedSums, add_sums
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.sums import ExactNoise, KeptSums, mean_and_noise
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import curators_map
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.search.scenes import ask_of, public_facts
from hexcursion.search.score import fixed_model
from studies.agreement.panel import rows
from studies.material.real_files import real_files_parser

SEED, RELEASES, DELTA, EPSILON = 11, 20, 1e-5, 1.0
TRIALS = 5_000  # of either table in the attack
SCALES = {"London all 2015, 442,413": (13.0, 1.0), "Lucas 1997, 80,000": (11.3, 1.2)}
"""Rows of the panel, here without their reference, with a public centre and clip of the logarithm."""
NUMBERS = (2, 4, 8)


def main() -> None:
    """Print one line for each row, number of holders and way to split."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--releases", type=int, default=RELEASES, help=f"default {RELEASES}")
    parser.add_argument("--only", default="", help="rows whose names hold this")
    options = parser.parse_args()
    try:
        every = rows(options.folder)
    except WorkflowError as error:
        print(error)
        return
    print(f"Means of {options.releases} simulated releases at epsilon {EPSILON:g} each.")
    print(f"Seed {SEED} draws the splits, the noise and the shuffled values.")
    print("One: one holder of everything. Loss: of agreement, one less together.")
    print(
        f"Attack: {TRIALS:,} releases of either table; a standard error of mu is {math.sqrt(2 / TRIALS):.3f}."
    )
    print(
        f"{'row':26} {'split':8} holders  records  one    together  loss    rule  epsilon  alone   "
        "shuffled  right: one  together  alone"
    )
    for name, (centre, clip) in SCALES.items():
        if options.only in name:
            settings = every[name].with_changes(
                reference=None, reference_public=False, prior_mean=None, public_counts=None,
                centre=centre, clip=clip,
            )  # fmt: skip
            _measure(name, load_project(settings), options.releases)


def _measure(name: str, project: Project, releases: int) -> None:
    observations, facts = project.private.placed, public_facts(project)
    records = bin_records(observations, project.response, "point")
    budget = Budget(EPSILON, DELTA, None)
    model = fixed_model(facts, ask_of(project), budget, project.response).design
    truth = curators_map(project, model).inside
    generator = np.random.default_rng(SEED)
    responses = project.response.response(observations.value)
    level = float(project.response.forward(project.settings.threshold))
    above = observations.value > project.settings.threshold
    scene = _Scene(facts, observations.index, responses, above, truth, level)
    single = scene.released(np.zeros(records.n, dtype=np.int64), 1, releases)
    shuffled_scene = replace(scene, responses=generator.permutation(responses))
    attacks = []
    for holders in NUMBERS:
        mu = budget.mu / math.sqrt(holders)
        rule = scene.released(np.zeros(records.n, dtype=np.int64), 1, releases, mu)
        for split in ("by place", "random"):
            owner = _owners(project, holders, split, generator)
            if split == "by place":
                attacks.append((holders, *scene.attacked(owner, holders, generator)))
            together, alone = scene.released(owner, holders, releases), scene.alone(owner, holders)
            shuffled = shuffled_scene.released(owner, holders, max(2, releases // 5))
            print(
                f"{name:26} {split:8} {holders:7} {records.n:8,} {single[0]:6.3f} {together[0]:9.3f} "
                f"{single[0] - together[0]:+7.3f} {rule[0]:7.3f} {gaussian_epsilon(mu, DELTA):8.3f} "
                f"{alone[0]:6.3f} {shuffled[0]:9.3f} "
                f"{single[1]:11.3f} {together[1]:9.3f} {alone[1]:6.3f}",
                flush=True,
            )
    print(f"{'attack on one holder':26} holders  stated mu  exact  all bundles  added sums  exchanged")
    for number, stated_mu, exact, bundles, added_sums, exchanged in attacks:
        print(
            f"{name:26} {number:7} {stated_mu:10.4f} {exact:6.4f} {bundles:12.3f} "
            f"{added_sums:11.3f} {exchanged:10.3f}"
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

    def released(self, owner: Ints, holders: int, releases: int, mu: float | None = None) -> Floats:
        """Mean agreement and share right of maps of all holders together, at epsilon each, or at `mu`."""
        design = _shared(self.facts, holders, self.index.size)
        if mu is not None:
            design = replace(design, mu=mu)
        parts = [self._prepared(design, owner == holder) for holder in range(holders)]
        facts = replace(self.facts, n=self.index.size)
        scores = []
        for number in range(releases):
            sums = [
                KeptSums.of(part.released(ExactNoise(SimulationEntropy(_seed(number, holder))))[0],
                            part.plan.features)
                for holder, part in enumerate(parts)
            ]  # fmt: skip
            reading = add_sums([design] * holders, sums, facts).reading
            scores.append(self._scores(reading.mean, reading.sd))
        return np.asarray(np.mean(scores, axis=0))

    def attacked(self, owner: Ints, holders: int, generator: np.random.Generator) -> tuple[float, ...]:
        """Stated mu of the first holder, the exact distance of two tables, and what attacks reach."""
        design = _shared(self.facts, holders, self.index.size)
        mine = np.flatnonzero(owner == 0)[1:]  # one record of the table is exchanged
        cells, values = _told_apart(self._prepared(design, owner == 0))
        tables = [
            self._of(design, np.append(self.index[mine], cell), np.append(self.responses[mine], value))
            for cell, value in zip(cells, values, strict=True)
        ]
        means = [mean_and_noise(each.plan.features, each.plan.nodes, each.records, each.plan.noise)
                 for each in tables]  # fmt: skip
        noise = means[0][1]
        apart = (means[0][0] - means[1][0]) / noise
        exact = float(np.linalg.norm(apart))
        guarantee = MECHANISMS[design.mechanism].guarantee(design, replace(self.facts, n=tables[0].records.n))
        source = ExactNoise(SimulationEntropy(_seed(0, holders)))
        scores, added_scores = (np.empty((2, TRIALS)) for _ in range(2))
        for side, table in enumerate(tables):
            for trial in range(TRIALS):
                (sums,) = table.released(source)
                score = (np.concatenate(sums.parts) - means[1][0]) / noise @ apart / exact
                scores[side, trial] = score
                noises = generator.normal(0.0, 1.0, (holders - 1))  # of other holders, that direction
                added_scores[side, trial] = (score + noises.sum()) / math.sqrt(holders)
        exchanged = generator.permuted(scores, axis=0)
        return (
            float(guarantee.cost.gaussian_mu or math.nan),
            exact,
            *map(_reached, (scores, added_scores, exchanged)),
        )

    def alone(self, owner: Ints, holders: int) -> Floats:
        """The same of one map of each holder alone, by the usual design, scored on all records."""
        scores = []
        for holder in range(holders):
            mine = owner == holder
            scores.append(self._one(mine, holder))
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
        return self._of(design, self.index[mine], self.responses[mine])

    def _of(self, design: SpectralStatisticsDesign, index: Ints, responses: Floats) -> PreparedSums:
        records = CollapsedRecords.from_records(index, responses)
        facts = replace(self.facts, n=records.n)
        prepared = MECHANISMS[design.mechanism].prepare(design, facts, records)
        assert isinstance(prepared, PreparedSums)
        return prepared

    def _scores(self, mean: Floats | None, sd: Floats | None) -> Floats:
        assert mean is not None
        assert sd is not None
        inside = exceedance_probability(mean, sd, self.level, "above") >= 0.5
        inhabited = np.unique(self.index)
        right = np.mean(inside[self.index] == self.above)
        return np.array([iou(inside[inhabited], self.truth[inhabited]), right])


def _shared(facts: PublicFacts, holders: int, records: int) -> SpectralStatisticsDesign:
    mechanism, budget = MECHANISMS[SpectralStatisticsDesign.mechanism], Budget(EPSILON, DELTA, None)
    shape = mechanism.search.fixed(facts.lattice.spacing)
    if holders > 1:
        shape = replace(shape, pool_records=float(records), pool_mu=budget.mu / math.sqrt(holders))
    design = mechanism.calibrate(shape, facts, budget)
    assert isinstance(design, SpectralStatisticsDesign)
    return design


def _told_apart(prepared: PreparedSums) -> tuple[tuple[int, int], tuple[float, float]]:
    """Cells and responses of two records whose exchange moves the sums most, in deviations of the noise."""
    plan = prepared.plan
    products = plan.features.values @ plan.features.values.T
    square = np.diag(products)
    a, b = plan.noise.sums**-2, (plan.noise.counts or math.inf) ** -2
    shifts = {
        other: a * (square[:, None] + square - 2.0 * other * products)
        + b * (square[:, None] + square - 2.0 * products)
        for other in (-1.0, 1.0)
    }
    other = max(shifts, key=lambda sign: float(shifts[sign].max()))
    nodes = np.unravel_index(int(np.argmax(shifts[other])), products.shape)
    first, second = (int(np.flatnonzero(plan.nodes.place == node)[0]) for node in nodes)
    return (first, second), (1.0, other)


def _reached(scores: Floats) -> float:
    """Distance of two rows of scores, in units of their deviation."""
    return float((scores[0].mean() - scores[1].mean()) / math.sqrt(scores.var(axis=1).mean()))


def _seed(number: int, holder: int) -> int:
    return SEED + 1_000 * number + holder


if __name__ == "__main__":
    main()

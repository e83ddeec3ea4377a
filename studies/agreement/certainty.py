"""Whether probabilities and intervals come true in simulated worlds.

Command: `python -m studies.agreement.certainty`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from dpgp_core.excursion import JointField, area_shares, exceedance_probability, joint_excursions
from dpgp_core.features.nodes import Nodes
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign, fixed_design
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral.prior import Law, share_of_yes
from dpgp_core.spectral.public_answers import field_of_answers
from dpgp_core.spectral.public_field import MapModel, PublicField
from hexcursion.bundle.statement.change import CHANGED, HALF_WIDTH
from studies.material.disk import SPACING, rings

RADIUS, PADDING, EACH = 8, 4, 20  # a disk of 217 hexagons, twenty records each on average
WORLDS, FIRST, SETS, DELTA, CONFIDENCE = 400, 200, 1_000, 1e-5, 0.9
LEVELS = (-0.2, 0.0, 0.2)
SHARES, USUAL = (0.1, 0.3, 0.6), (-1.3, -0.5, 0.4)  # thresholds of answers, and probits of their usual share
SCATTER, UNEVEN = 0.5, 1.05  # counts are as uneven as a release without public ones assumes


@dataclass(frozen=True)
class Case:
    """A mechanism's design, its budget, and the law of the fields of its worlds."""

    title: str
    design: Design
    epsilon: float
    ranges: tuple[float, ...]
    deviations: tuple[float, ...]
    drifts: tuple[float, ...] = ()
    """Of the field since the published records, as shares of its deviation; none without published ones."""
    law: Law = "amount"

    @property
    def levels(self) -> tuple[float, ...]:
        """Thresholds in response units; shares of yes of answers."""
        return LEVELS if self.law == "amount" else tuple(float(each) for each in ndtri(SHARES))


CASES = (
    *(
        Case(
            "posterior sampling, 1 path",
            PosteriorSamplingDesign("car", 2_000.0, 6.0, 1.0), epsilon, (1_500.0, 3_000.0, 6_000.0),
            (0.25, 0.4, 0.7),
        )
        for epsilon in (0.5, 1.0)
    ),
    Case(
        "posterior sampling, 3 paths",
        PosteriorSamplingDesign("car", 2_000.0, 6.0, 1.0, paths=3), 3.0, (1_500.0, 3_000.0, 6_000.0),
        (0.25, 0.4, 0.7),
    ),
    Case(
        "spectral statistics, 100 free paths",
        SpectralStatisticsDesign(
            "water-filled", "exponential", 3_000.0, 0.5, 0.0, 0.4, 1.0, SCATTER / 0.4, 1.0, paths=100
        ),
        1.0, (2_400.0, 3_000.0, 3_750.0), (0.32, 0.4, 0.5),
    ),
    Case(
        "noisy cell statistics, 100 free paths",
        NoisyCellStatisticsDesign("exponential", 3_000.0, SCATTER / 0.4, 0.4, 1.0, paths=100),
        1.0, (2_400.0, 3_000.0, 3_750.0), (0.32, 0.4, 0.5),
    ),
    Case(
        "spectral statistics without reference data", fixed_design(SPACING), 1.0,
        (1_600.0, 2_400.0, 3_200.0), (0.4, 0.5, 0.6),
    ),
    *(
        Case(
            f"spectral statistics with published records, drifts {', '.join(map(str, drifts))}",
            SpectralStatisticsDesign(
                "water-filled", "exponential", 8.0 * SPACING, 0.5, 0.0, 1.0, 1.0, 1.28, 1.0, paths=100,
                cutoff_from="release", drift=True,
            ),
            1.0, (2_400.0, 3_000.0, 3_750.0), (0.32, 0.4, 0.5), drifts,
        )
        for drifts in ((0.0,), (0.05, 0.15, 0.4, 1.0))
    ),
    *(
        Case(
            f"answers of yes and no with published ones, drifts {', '.join(map(str, drifts))}",
            SpectralStatisticsDesign(
                "water-filled", "exponential", 8.0 * SPACING, 0.5, 0.0, 1.0, 1.0, 1.28, 1.0, paths=100,
                cutoff_from="release", drift=True,
            ),
            1.0, (2_400.0, 3_000.0, 3_750.0), (0.3, 0.6, 1.0), drifts, "yes-no",
        )
        for drifts in ((0.0,), (0.05, 0.15, 0.4, 1.0))
    ),
)  # fmt: skip


def boroughs(lattice: Lattice) -> np.ndarray:
    """(6, N) six sectors of the disk, which share its middle."""
    centres = lattice.domain_centres
    angle = np.arctan2(centres[:, 1], centres[:, 0])
    sector = np.floor((angle + np.pi) / (np.pi / 3.0)).astype(int).clip(0, 5)
    return np.asarray(np.eye(6)[sector].T)


def published(nodes: Nodes, cells: np.ndarray, values: np.ndarray, law: Law) -> PublicField:
    """Fit the public field to published records and scale amounts to their clip bound."""
    if law == "yes-no":
        field = field_of_answers(nodes, cells, values)
        return replace(field, map=MapModel("exponential", 3_000.0, 1.0, 0.0, 1.0))
    field = PublicField.of(nodes, cells, values)
    model = MapModel("exponential", 3_000.0, SCATTER / 0.4, 0.0, 1.0 / field.bound)
    return field.rescaled(0.0, field.bound, model)


def releases(
    case: Case, facts: PublicFacts, worlds: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[float, float, bool]]]:
    """(field, mean, sd, draws) of simulated worlds, as a bundle states them.

    The last entry holds the drift of the world, the stated chance of so large a difference from the public
    map, and whether the 90 % interval covers the mean change; zeros and False without a public map.
    """
    facts, answers = replace(facts, law=case.law), case.law == "yes-no"
    mechanism: Mechanism = mechanism_of(case.design)
    design = mechanism.calibrate(case.design, facts, Budget(case.epsilon, DELTA))
    if design is None:
        raise SystemExit(f"{case.title}: no design costs {case.epsilon}.")
    generator, entropy = np.random.default_rng(seed), SimulationEntropy(seed + 1)
    nodes = Nodes.of(facts.lattice)
    uneven = facts.prior("exponential", 3_000.0)
    for _ in range(worlds):
        prior = facts.prior("exponential", float(generator.choice(case.ranges)))
        white = generator.standard_normal((prior.white_size, 2))
        deviation, field = float(generator.choice(case.deviations)), prior.colour(white)[:, 0]
        if share := getattr(case.design, "common", 0.0):  # the mean is unknown too
            field = np.sqrt(1.0 - share) * field + np.sqrt(share) * generator.standard_normal()
        field = deviation * field
        density = np.exp(UNEVEN * uneven.colour(white)[:, 1])
        cells = generator.choice(facts.lattice.size, facts.n, p=density / density.sum())
        if case.drifts:
            field = field + (float(generator.choice(USUAL)) if answers else 0.0)
            value = field[cells] + (1.0 if answers else SCATTER) * generator.standard_normal(cells.size)
            public = published(nodes, cells, np.sign(value) if answers else value, case.law)
            numbers = np.bincount(cells, minlength=facts.lattice.size).astype(np.float64)
            unit, offset = public.map.clip, public.at_cells(facts.lattice.domain_centres)  # type: ignore[union-attr]
            drift = float(generator.choice(case.drifts))
            field = field * unit + drift * (public.roots[1] @ generator.standard_normal(nodes.size))
            cells = generator.choice(facts.lattice.size, facts.n, p=density / density.sum())
            if answers:
                left = np.sign(field[cells] + generator.standard_normal(cells.size))
            else:
                left = field[cells] - offset[cells] + SCATTER * unit * generator.standard_normal(cells.size)
            records = CollapsedRecords.from_records(cells, np.clip(left, -1.0, 1.0))
            public_facts = replace(facts, field=public, counts=numbers if answers else None)
            released = draw_release(
                mechanism.prepare(design, public_facts, records), entropy, simulation=True
            )
            shifted = released.shifted(offset)
            assert shifted.mean is not None
            assert shifted.sd is not None
            assert released.model_check is not None
            assert released.model_check.change is not None
            change = released.model_check.change
            sd_before = np.sqrt(public.before(1.0, 0.0))
            change_of_mean = ndtr(field) - share_of_yes(offset, sd_before)[0] if answers else field - offset
            change_of_mean = float(np.average(change_of_mean, weights=change.records))
            stated_change = (
                drift,
                change.chance,
                abs(change_of_mean - change.level) <= HALF_WIDTH * change.level_sd,
            )
            yield field / unit, shifted.mean / unit, shifted.sd / unit, shifted.paths / unit, stated_change
            continue
        values = np.clip(field[cells] + SCATTER * generator.standard_normal(cells.size), -1.0, 1.0)
        records = CollapsedRecords.from_records(cells, values)
        released = draw_release(mechanism.prepare(design, facts, records), entropy, simulation=True)
        reading = questions.read(design, facts, records, released.paths, entropy)
        if reading is not None:
            yield field, reading.mean, reading.sd, reading.draws, (0.0, 0.0, False)
        elif released.mean is not None and released.sd is not None:
            yield field, released.mean, released.sd, released.paths, (0.0, 0.0, False)


def ranks(shares: np.ndarray, true: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Ranks, 0 to 1, of true shares (A,) among those of sets (S, A); `chance` (A,) breaks ties.

    An area holds a whole number of hexagons, so intervals cover more than their level. These ranks are
    uniform if the statements are right, whatever the number.
    """
    below, equal = (shares < true - 1e-9).mean(axis=0), (np.abs(shares - true) < 1e-9).mean(axis=0)
    return np.asarray(below + chance * equal)


def gaps(stated: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observed minus stated in ten bins, standard errors, and hexagons in each; (W, H) each.

    Hexagons of one world depend on each other, so errors are those of sums over worlds.
    """
    bins = np.minimum((10 * stated).astype(int), 9)
    gap, error, size = np.empty(10), np.empty(10), np.empty(10, dtype=int)
    for k in range(10):
        in_bin = bins == k
        size[k] = in_bin.sum()
        by_world = np.where(in_bin, true - stated, 0.0).sum(axis=1)
        gap[k] = by_world.sum() / size[k]
        error[k] = np.sqrt(np.square(by_world - gap[k] * in_bin.sum(axis=1)).sum()) / size[k]
    return gap, error, size


def main() -> None:
    """Print, for each mechanism, observed minus stated in ten bins, and how often intervals hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=WORLDS)
    parser.add_argument("--only", default="", help="cases whose titles hold this")
    parser.add_argument("--seed", type=int, default=7, help="of the worlds; the next number draws releases")
    options = parser.parse_args()
    lattice = rings(RADIUS, PADDING)
    facts, areas = PublicFacts(lattice, EACH * lattice.size), boroughs(lattice)
    print(
        f"{options.worlds} worlds of {lattice.size} hexagons, {facts.n:,} records whose places are not known,"
    )
    print(
        f"delta {DELTA:g}; thresholds {', '.join(map(str, LEVELS))} in response units, for intervals in turn;"
    )
    print(f"of answers, whose fields have deviations .3, .6 and 1, shares of {', '.join(map(str, SHARES))};")
    print("the numbers of answers in each hexagon are public.")
    print(f"Seed {options.seed} draws the worlds, seed {options.seed + 1} the releases.")
    for case in (each for each in CASES if options.only in each.title):
        stated, true, covered, widths, own_coverage, rank, changes = [], [], [], [], [], [], []
        generator = np.random.default_rng(options.seed)
        for number, (field, mean, sd, draws, change) in enumerate(
            releases(case, facts, options.worlds, options.seed)
        ):
            levels = case.levels
            stated.append(np.concatenate([exceedance_probability(mean, sd, level) for level in levels]))
            true.append(np.concatenate([field > level for level in levels]))
            level = levels[number % len(levels)]
            field_drawn = JointField(mean, sd, draws)
            sets = list(joint_excursions(field_drawn, level, "above", SETS, SimulationEntropy(number)))
            shares = areas @ (field > level) / areas.sum(axis=1)
            answers = area_shares(sets, areas, CONFIDENCE)
            covered.append([a.low - 1e-9 <= s <= a.high + 1e-9 for a, s in zip(answers, shares, strict=True)])
            widths.append([a.high - a.low for a in answers])
            shares_drawn = np.concatenate(sets) @ areas.T / areas.sum(axis=1)
            ends = np.array([(a.low - 1e-9, a.high + 1e-9) for a in answers]).T
            own_coverage.append(((shares_drawn >= ends[0]) & (shares_drawn <= ends[1])).mean(axis=0))
            rank.append(ranks(shares_drawn, shares, generator.uniform(size=shares.size)))
            changes.append(change)
        probability, inside = np.array(stated), np.array(true)
        gap, error, size = gaps(probability, inside)
        early = gaps(probability[:FIRST], inside[:FIRST])[0]
        print(f"\n{case.title}, epsilon {case.epsilon:g}")
        print("  observed - stated, by tenths  " + " ".join(f"{each:+.3f}" for each in gap))
        print("  standard error                " + " ".join(f"{each:6.3f}" for each in error))
        print("  hexagons in each              " + " ".join(f"{each:6d}" for each in size))
        print(f"  largest gap {np.abs(gap).max():.3f}; of the first {FIRST} worlds {np.abs(early).max():.3f}")
        each = np.array(covered).mean(axis=1)
        print(
            f"  90 % intervals of six areas of about {lattice.size // 6} hexagons hold in "
            f"{100 * each.mean():.1f} of 100 (standard error {100 * each.std() / np.sqrt(each.size):.1f}), "
            f"{100 * np.mean(np.array(covered)[:, 0]):.0f} of the first; mean width {np.mean(widths):.2f}"
        )
        middle = np.abs(np.array(rank) - 0.5) <= 0.5 * CONFIDENCE
        print(
            f"  they hold {100 * np.mean(own_coverage):.1f} of 100 of the release's own sets, "
            "as hexagons are whole; "
            f"with ties broken at random the middle {100 * CONFIDENCE:.0f} hold in {100 * middle.mean():.1f}"
        )
        for drift in case.drifts:
            chances = np.array([chance for size, chance, _ in changes if size == drift])
            if not chances.size:
                continue
            often = ", ".join(f"{100 * np.mean(chances <= most):.1f} at {most:g}" for most in (CHANGED, 0.1))
            print(f"  drift {drift:g}: said to differ from the public map in, of 100: {often}")
            holds = 100 * np.mean([hit for size, _, hit in changes if size == drift])
            print(f"    the 90 % interval of the mean change holds in {holds:.1f} of 100")


if __name__ == "__main__":
    main()

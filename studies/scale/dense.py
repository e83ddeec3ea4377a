"""Hexagons with many records: where a map from released sums loses against one noisy sum per hexagon.

Command: `python -m studies.scale.dense [FOLDER] [--releases N]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence says so.
Dense hexagons have at least 20 released records. All records are released and ask, or 70 % of them are
released and the others ask. Answers were first tried on Lucas County 1993 and London's new builds of 2015,
and on no other row before this table. All variants but answers exist in this study alone. All maps of a row
are judged over the same hexagons: those that the program's first release judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.spatial.distance import cdist

from dpgp_core.excursion import iou
from dpgp_core.features.gridded import Features, inner_products
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_release import PreparedSums
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.spectral.cost import noise_for
from dpgp_core.spectral.model import Prepared
from dpgp_core.spectral.prior import Law
from dpgp_core.spectral.public_field import evidence_of_means
from dpgp_core.yardstick import HALF, Sides, judged_domain
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.search.public_map import public_field, scale_about
from hexcursion.settings.model import ReleaseSettings
from studies.agreement.panel import rows, rows_named, shuffled, thinned
from studies.material.real_files import real_files_parser

SEED, RELEASES, DELTA, DENSE = 7, 3, 1e-5, 20
CASES = (
    ("Lucas 1993, 80,000", 1.0),
    ("Lucas 1993, 80,000", 0.7),
    ("London new 2015, 442,413", 0.7),
    ("+ London new 2015-17, 400,000", 0.7),
    ("London flats 2017, 442,413", 0.7),
    ("! Lucas 1994-98, 120,000", 0.7),
)  # rows of the panel, and the share of their records that is released
OWN, SHARE = 128, 0.5  # hexagons with a feature of their own, and its share of the squared length
TIGHT = 0.6  # times the clip bound of the program
FINE = 2.0  # deviation for which finer features are chosen; the program's is .5
RANGES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of changes since the public map, in spacings
PARTS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.0)  # variance of a change, times a record's
LEVEL = 4.0  # variance of their level, times a record's
QUIET = 1e3  # times mu: next to no noise


@dataclass(frozen=True, eq=False)
class Case:
    """One row: who asks, and where all maps are judged."""

    asking: Sides
    judged: Bools  # (N,) hexagons that the program's first release judges
    dense: Bools  # (N,) hexagons with at least DENSE released records


def main() -> None:
    """Print one line for each map of each row."""
    options = real_files_parser(__doc__, RELEASES).parse_args()
    every = rows_named("", rows, options.folder)
    if every is None:
        return
    print(f"Share of asking records on the side shown: judged hexagons, those with {DENSE} records or more,")
    print("the others; agreement (IoU) with the side of most asking records over the dense ones. Epsilon 1.")
    print(f"Seed {SEED} draws what is released and the noise; means of {options.releases} releases.")
    for name, keep in CASES:
        for line in lines(every[name], keep, options.releases, name):
            print(line, flush=True)


def lines(settings: ReleaseSettings, keep: float, releases: int, name: str) -> Iterator[str]:
    """The lines of one row."""
    project, asking = thinned(load_project(settings), keep)
    assert asking is not None
    placed, size = project.private.placed, project.lattice.size
    count = np.bincount(placed.index, minlength=size)
    dense = count >= DENSE
    yield (
        f"{name}: {int(dense.sum())} dense hexagons hold {int(count[dense].sum()):,} of "
        f"{placed.value.size:,} records; {'all' if keep == 1.0 else 'the others'} ask"
    )
    shared = PublicFacts(project.lattice, 1)  # whose work on the domain is used again
    model = _Maps(project, shared, settings.threshold)
    released = model.maps(releases)
    case = Case(asking, released[0][1], dense)
    yield _line("public map", case, [model.public])
    above, below = (
        np.bincount(placed.index[side], minlength=size)
        for side in (placed.value > settings.threshold, placed.value <= settings.threshold)
    )
    sums, generator = (above - below).astype(np.float64), np.random.default_rng(SEED)
    noise = 2.0 / model.prepared.design.mu
    yield _line("side of most released", case, [sums > 0.0])
    noisy = [sums + generator.normal(0.0, noise, size) > 0.0 for _ in range(5 * releases)]
    yield _line("a noisy sum of sides each", case, noisy)
    steps, kriged = model.kriged(project)
    yield _line(f"kriged, range {steps:g}, no noise", case, [kriged])
    yield _line("the program's", case, [side for side, _ in released])
    yield _line("  without noise", case, model.sides(1, model.with_mu(QUIET)))
    yield _line("  own features", case, model.sides(releases, model.with_own()))
    tight = _Maps(project, shared, settings.threshold, TIGHT)
    yield _line("  tight and finer", case, tight.sides(releases, tight.finer()))
    asked = settings.with_changes(
        values="yes-no", yes_above=settings.threshold, threshold=50.0, transform=None, record_word="sale"
    )
    answers, _ = thinned(load_project(asked), keep)
    assert np.array_equal(answers.private.placed.index, placed.index)
    yes_no = _Maps(answers, shared, 50.0)
    yield _line("the program's, answers", case, yes_no.sides(releases))
    yield _line("  own features", case, yes_no.sides(releases, yes_no.with_own()))
    exchanged = _Maps(shuffled(answers, 0), shared, 50.0)
    yield _line("  exchanged values", case, exchanged.sides(1))


def _line(title: str, case: Case, sides: list[Bools]) -> str:
    """Mean figures of the sides (N,) that maps show."""
    figures, asking, dense = [], case.asking, case.dense
    most = asking.inside > asking.outside
    for side in sides:
        shares = [asking.right(side, part) for part in (case.judged, dense, case.judged & ~dense)]
        figures.append([*shares, iou(side & dense, most & dense)])
    return f"  {title:28} " + " ".join(f"{each:6.3f}" for each in np.mean(figures, axis=0))


class _Maps:
    """The release of a project that starts from its published reference, and variants of its features."""

    def __init__(self, project: Project, shared: PublicFacts, threshold: float, tight: float = 1.0) -> None:
        response, settings = project.response, project.settings
        field = public_field(project, project.reference)
        about = scale_about(project, field)
        scale = replace(about, clip=tight * about.clip)
        field = field.rescaled((scale.centre - response.centre) / response.clip, scale.clip / response.clip)
        self._scale, self._mean = scale, field.at_cells(project.lattice.domain_centres)
        self._level = float(scale.forward(threshold))
        records = bin_records(project.private.placed, scale, settings.unit, self._mean, response)
        self._counts = np.bincount(project.reference.index, minlength=project.lattice.size).astype(np.float64)
        law: Law = "amount" if project.answers is None else "yes-no"
        facts = replace(shared, n=records.n, law=law, field=field, counts=self._counts, reads="field")
        self._facts, mechanism = facts, mechanism_named("spectral-statistics")
        (shape,) = mechanism.search.grid(facts, SearchSpec(("exponential",), 30))
        prepared = mechanism.prepare(
            mechanism.calibrate(shape, facts, Budget(settings.epsilon, DELTA)), facts, records
        )
        assert isinstance(prepared, PreparedSums)
        self._records, self._mechanism, self.prepared = records, mechanism, prepared

    @property
    def public(self) -> Bools:
        """(N,) the side that the public map shows."""
        return self._mean >= self._level

    def kriged(self, project: Project) -> tuple[float, Bools]:
        """Krige the changes since the public map from the private records themselves, without noise.

        Returns the range under which they are likeliest, in spacings, and the side (N,) of that map.
        """
        placed, centres = project.private.placed, project.lattice.domain_centres
        apart = np.clip(self._scale.forward(placed.value), -1.0, 1.0) - self._mean[placed.index]
        index, place, count = np.unique(placed.index, return_inverse=True, return_counts=True)
        number = count.astype(np.float64)
        mean = np.bincount(place, weights=apart) / number
        scatter = float(np.square(apart - mean[place]).sum() / (apart.size - index.size))
        distance = cdist(centres, centres[index]) / project.lattice.spacing
        likelihoods = []
        for steps, share in product(RANGES, PARTS):
            shape = np.exp(-distance[index] / steps)
            evidence = evidence_of_means(shape, share * scatter, scatter, number, mean)
            likelihoods.append((evidence, steps, share))
        _, steps, share = max(likelihoods)
        covariance = scatter * (share * np.exp(-distance / steps) + LEVEL)
        noisy = covariance[index] + np.diag(scatter / number)
        change = covariance @ np.linalg.solve(noisy, mean)
        return steps, self._mean + change >= self._level

    def sides(self, releases: int, plan: Prepared | None = None) -> list[Bools]:
        """The sides of `maps`."""
        return [side for side, _ in self.maps(releases, plan)]

    def maps(self, releases: int, plan: Prepared | None = None) -> list[tuple[Bools, Bools]]:
        """Sides and judged hexagons, (N,) each, of simulated releases, of this plan if one is given."""
        prepared, made = self.prepared if plan is None else replace(self.prepared, plan=plan), []
        for number in range(releases):
            release = draw_release(prepared, SimulationEntropy(SEED + number), simulation=True)
            chance = release.shifted(self._mean).probability(self._level)
            assert chance is not None
            assert release.records is not None
            made.append((chance >= HALF, judged_domain(release.records)))
        return made

    def with_mu(self, times: float) -> Prepared:
        """The same features at a multiple of mu."""
        return self._priced(self.prepared.plan.features, times)

    def finer(self) -> Prepared:
        """Features chosen for a larger signal."""
        design = replace(self.prepared.design, signal=FINE)
        other = self._mechanism.prepare(design, self._facts, self._records)
        assert isinstance(other, PreparedSums)
        return other.plan

    def with_own(self) -> Prepared:
        """Beside the smooth features one for each of the hexagons with most published records."""
        smooth = self.prepared.plan.features.values
        length = np.linalg.norm(smooth, axis=1, keepdims=True)
        listed = np.argsort(-self.prepared.plan.nodes.gather(self._counts), kind="stable")[:OWN]
        own = np.zeros((smooth.shape[0], OWN))
        own[listed, np.arange(OWN)] = np.sqrt(SHARE)
        left = np.sqrt(1.0 - np.square(own).sum(axis=1, keepdims=True))
        joint: Floats = np.hstack([left * smooth / np.where(length > 0.0, length, 1.0), own])
        return self._priced(Features.of("with own", joint), 1.0)

    def _priced(self, features: Features, times: float) -> Prepared:
        plan, products = self.prepared.plan, inner_products(features)
        noise = noise_for(times * plan.plan.mu, products, plan.plan.relation)
        return replace(plan, features=features, products=products, noise=noise)


if __name__ == "__main__":
    main()

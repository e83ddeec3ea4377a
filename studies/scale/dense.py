"""Hexagons with many records: where a map from released sums loses against one noisy sum per hexagon.

Command: `python -m studies.scale.dense [FOLDER] [--releases N]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence says so.
Dense hexagons have at least 20 released records. All records are released and ask, or 70 % of them are
released and the others ask. Answers were first tried on Lucas County 1993 and London's new builds of 2015,
and on no other row before this table. All variants but answers exist in this study alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

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
QUIET = 1e3  # times mu: next to no noise


@dataclass(frozen=True, eq=False)
class Case:
    """One row: its released records, who asks, and what is public."""

    project: Project
    asking: Sides
    dense: Bools  # (N,) hexagons with at least DENSE released records


def main() -> None:
    """Print one line for each map of each row."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--releases", type=int, default=RELEASES, help=f"default {RELEASES}")
    options = parser.parse_args()
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
    case = Case(project, asking, count >= DENSE)
    yield (
        f"{name}: {int(case.dense.sum())} dense hexagons hold {int(count[case.dense].sum()):,} of "
        f"{placed.value.size:,} records; {'all' if keep == 1.0 else 'the others'} ask"
    )
    shared = PublicFacts(project.lattice, 1)  # whose work on the domain is used again
    model = _Maps(project, shared, settings.threshold)
    judged, public = model.public
    yield _line("public map", case, [(public, judged)])
    above, below = (
        np.bincount(placed.index[side], minlength=size)
        for side in (placed.value > settings.threshold, placed.value <= settings.threshold)
    )
    sums, generator = (above - below).astype(np.float64), np.random.default_rng(SEED)
    noise = 2.0 / model.prepared.design.mu
    yield _line("side of most released", case, [(sums > 0.0, judged)])
    noisy = [(sums + generator.normal(0.0, noise, size) > 0.0, judged) for _ in range(5 * releases)]
    yield _line("a noisy sum of sides each", case, noisy)
    yield _line("the program's", case, model.maps(releases))
    yield _line("  without noise", case, model.maps(1, model.with_mu(QUIET)))
    yield _line("  own features", case, model.maps(releases, model.with_own()))
    tight = _Maps(project, shared, settings.threshold, TIGHT)
    yield _line("  tight and finer", case, tight.maps(releases, tight.finer()))
    asked = settings.with_changes(
        values="yes-no", yes_above=settings.threshold, threshold=50.0, transform=None, record_word="sale"
    )
    answers, _ = thinned(load_project(asked), keep)
    assert np.array_equal(answers.private.placed.index, placed.index)
    sides = _Maps(answers, shared, 50.0)
    yield _line("the program's, answers", case, sides.maps(releases))
    yield _line("  own features", case, sides.maps(releases, sides.with_own()))
    exchanged = _Maps(shuffled(answers, 0), shared, 50.0)
    yield _line("  exchanged values", case, exchanged.maps(1))


def _line(title: str, case: Case, maps: list[tuple[Bools, Bools]]) -> str:
    """Mean figures of maps: sides (N,) and judged hexagons (N,)."""
    figures, asking, dense = [], case.asking, case.dense
    most = asking.inside > asking.outside
    for side, judged in maps:
        rest = judged & ~dense
        shares = [asking.right(side, part) for part in (judged, dense, rest)]
        figures.append([*shares, iou(side & dense, most & dense)])
    return f"  {title:26} " + " ".join(f"{each:6.3f}" for each in np.mean(figures, axis=0))


class _Maps:
    """The release of a project that starts from its published reference, and variants of its features."""

    def __init__(self, project: Project, shared: PublicFacts, threshold: float, tight: float = 1.0) -> None:
        response, settings = project.response, project.settings
        field = public_field(project, project.reference)
        about = scale_about(project, field)
        scale = replace(about, clip=tight * about.clip)
        field = field.rescaled((scale.centre - response.centre) / response.clip, scale.clip / response.clip)
        self._mean = field.at_cells(project.lattice.domain_centres)
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
    def public(self) -> tuple[Bools, Bools]:
        """Judged hexagons by public counts, and the public map's side; both (N,)."""
        return judged_domain(self._counts), self._mean >= self._level

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

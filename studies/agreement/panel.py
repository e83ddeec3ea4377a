"""What a map states and shows, judged by records: pairs of years, and surveys alone.

Command: `python -m studies.agreement.panel [FOLDER] [--keep SHARE ...] [--only NAME] [--releases N]
[--epsilon E]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence says so.
Each record asks: is it on the side that the map shows at its place? With `--keep` below 1 that share of the
records is released and the others ask. All figures are about the judged hexagons. Stated chances are compared
with those of a map that is fitted to all records without privacy. As a control each row is also released with
its values shuffled over places.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from dpgp_core.excursion import iou
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import Released, draw_release
from dpgp_core.yardstick import HALF, Sides, judged_domain, promise_of, shown_side, tempered
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import curators_map, free_map
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.record import tells_tempered
from hexcursion.releasing.release_guard import objections
from hexcursion.search.choice import Choice
from hexcursion.search.tuning import Tuned, tune
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from studies.agreement.spectral_sensors import OTHERS, SURVEYS, survey_settings
from studies.london.task import real_settings
from studies.material.real_files import real_files_parser
from studies.reporting.judged_rows import FIGURES, LEGEND, Row, factors, sides_of, stops, together
from studies.reporting.measures import calibration_error

SEED, RELEASES, EXCHANGES = 7, 8, 4
KEPT = (1.0, 0.5)
TOLEDO = (-83.88, 41.415, -83.16, 41.735)
LONDON = "house_sales/london_transactions_2015_2018_latlon.csv.gz"
LUCAS = "house_sales/lucas_county_ohio_1993_98.csv.gz"
STATIONS = "sensors/london_laqn_annual_means_2022_2024.csv"


def rows(folder: Path) -> dict[str, ReleaseSettings]:
    """The settings of each row, at epsilon 1 unless its name gives another."""
    flats = real_settings(folder).with_changes(
        prior_mean=None, epsilon=1.0, mechanisms=("spectral-statistics",)
    )

    def sales(file: str, year: str, before: int, last: int, level: float, **more: object) -> ReleaseSettings:
        extra = more.pop("where", ())
        data, reference = (
            SourceSettings(
                str(folder / file),
                value="price",
                x="lon",
                y="lat",
                where=((year, str(each)), *extra),  # type: ignore[misc]
            )
            for each in (last, before)
        )
        return flats.with_changes(
            data=data,
            reference=reference,
            threshold=level,
            transform="log",
            region=more.get("region"),
            bbox=more.get("bbox"),
            epsilon=more.get("epsilon", 1.0),
        )

    def air(last: int, level: float) -> ReleaseSettings:
        data, reference = (
            SourceSettings(
                str(folder / STATIONS),
                value="annual_mean",
                x="Longitude",
                y="Latitude",
                where=(("species", "NO2"), ("year", str(each))),
            )
            for each in (last, last - 1)
        )
        box = next(each.box for each in SURVEYS if each.title.startswith("LAQN"))
        return ReleaseSettings(
            data=data,
            reference=reference,
            reference_public=True,
            threshold=level,
            value_unit="ug/m3",
            bbox=box,
            resolution=7,
            mechanisms=("spectral-statistics",),
        )

    def shares(asked: ReleaseSettings) -> ReleaseSettings:
        """Where more than 20 % of the sales are above 130,000 dollars."""
        return asked.with_changes(
            values="yes-no", yes_above=130_000.0, threshold=20.0, transform=None, record_word="sale"
        )

    alone = {
        f"{mark}{each.title} alone{said}": survey_settings(each, folder).with_changes(epsilon=epsilon)
        for mark, surveys in (("", SURVEYS), ("* ", OTHERS))
        for epsilon, said in ((1.0, ""), (0.5, ", .5"))
        for each in surveys
    }
    london, new = {"region": flats.region}, (("new_build", "1"),)
    toledo = {"bbox": TOLEDO}
    return {
        "London flats 2017, 442,413": flats,
        "London flats, 2017 set aside": flats.with_changes(reference_public=False),
        "London all 2015, 442,413": sales(LONDON, "year", 2015, 2018, 442_413.0, **london),
        "London all 2015, epsilon .1": sales(LONDON, "year", 2015, 2018, 442_413.0, epsilon=0.1, **london),
        "London all 2015, 700,000": sales(LONDON, "year", 2015, 2018, 700_000.0, **london),
        "London new 2015, 442,413": sales(LONDON, "year", 2015, 2018, 442_413.0, where=new, **london),
        "Lucas 1993, 80,000": sales(LUCAS, "syear", 1993, 1998, 80_000.0, **toledo),
        "Lucas 1997, 80,000": sales(LUCAS, "syear", 1997, 1998, 80_000.0, **toledo),
        "Lucas 1993, 130,000": sales(LUCAS, "syear", 1993, 1998, 130_000.0, **toledo),
        "LAQN NO2 2022, 25": air(2023, 25.0),
        "Lucas 1993, answers, 20 %": shares(sales(LUCAS, "syear", 1993, 1998, 1.0, **toledo)),
        "Lucas 1997, answers, 20 %": shares(sales(LUCAS, "syear", 1997, 1998, 1.0, **toledo)),
        **alone,
        "+ London flats 2017, 330,000": flats.with_changes(threshold=330_000.0),
        "+ London all 2016-17, 400,000": sales(LONDON, "year", 2016, 2017, 400_000.0, **london),
        "+ London new 2015-17, 400,000": sales(LONDON, "year", 2015, 2017, 400_000.0, where=new, **london),
        "+ London new 2016, 500,000": sales(LONDON, "year", 2016, 2018, 500_000.0, where=new, **london),
        "+ Lucas 1993-96, 100,000": sales(LUCAS, "syear", 1993, 1996, 100_000.0, **toledo),
        "+ Lucas 1996-97, 60,000": sales(LUCAS, "syear", 1996, 1997, 60_000.0, **toledo),
        "+ LAQN NO2 2023-24, 22": air(2024, 22.0),
        "! Lucas 1993-95, 75,000": sales(LUCAS, "syear", 1993, 1995, 75_000.0, **toledo),
        "! Lucas 1994-98, 120,000": sales(LUCAS, "syear", 1994, 1998, 120_000.0, **toledo),
        "! Lucas 1995-97, 90,000": sales(LUCAS, "syear", 1995, 1997, 90_000.0, **toledo),
        "! London all 2016-18, 350,000": sales(LONDON, "year", 2016, 2018, 350_000.0, **london),
        "! London new 2016-17, 550,000": sales(LONDON, "year", 2016, 2017, 550_000.0, where=new, **london),
        "! London flats 380,000, .2": flats.with_changes(threshold=380_000.0, epsilon=0.2),
    }


def rows_named(
    part: str, rows_of: Callable[[Path], dict[str, ReleaseSettings]], folder: Path
) -> dict[str, ReleaseSettings] | None:
    """The rows whose names have this part; without the real files None, and the reason is printed."""
    try:
        return {name: settings for name, settings in rows_of(folder).items() if part in name}
    except WorkflowError as error:
        print(error)
        return None


def main() -> None:
    """Print one line a row, then the summaries, for each share that is released."""
    parser = real_files_parser(__doc__)
    parser.add_argument(
        "--keep", type=float, nargs="+", default=KEPT, help="shares released, default 1 and .5"
    )
    parser.add_argument("--releases", type=int, default=RELEASES, help=f"default {RELEASES}")
    parser.add_argument("--only", default="", help="rows whose names hold this")
    parser.add_argument("--epsilon", type=float, help="replaces the epsilon of every row")
    options = parser.parse_args()
    every = rows_named(options.only, rows, options.folder)
    if every is None:
        return
    if options.epsilon is not None:
        every = {name: each.with_changes(epsilon=options.epsilon) for name, each in every.items()}
    print(f"Means of {options.releases} simulated releases.")
    print(f"Seed {SEED} draws the noise, the share that is released and the shuffled values.")
    print(LEGEND)
    for keep in options.keep:
        print(
            f"\nA share of {keep:g} of the records is released; {'all' if keep == 1 else 'the others'} ask."
        )
        print(f"{'row':29}      n  " + " ".join(f"{name[:6]:>6}" for name in FIGURES) + "  stopped")
        results = []
        for name, settings in every.items():
            row = measured(name, settings, keep, options.releases)
            results.append(row)
            figures = " ".join(f"{row.figures[each]:6.3f}" for each in FIGURES)
            print(f"{name:29} {row.records:6}  {figures}  {'yes' if row.stopped else 'no'}", flush=True)
        for line in (*together(results), *stops(results), *factors(results)):
            print(line)


def best(project: Project) -> Tuned:
    """What the search of the program chooses."""
    return tune(project, frontier=())


def measured(
    name: str,
    settings: ReleaseSettings,
    keep: float,
    releases: int,
    choose: Callable[[Project], Tuned] = best,
) -> Row:
    """Release a share of a row's records repeatedly, and ask the others."""
    complete = load_project(settings)
    project, asking = thinned(complete, keep)
    tuned = choose(project)
    choice, model = tuned.choice, tuned.result.model
    no_reference = settings.reference is None
    public = None if no_reference else free_map(project, model)
    truth = curators_map(complete, model, choice.cut).probability
    own_sides = sides_of(project)
    controls = list(
        chain.from_iterable(
            _shows(shuffled(project, number), choice, 1, SEED + number) for number in range(EXCHANGES)
        )
    )
    temper = tells_tempered(
        choice.response.origin, public=choice.public_map is not None, simulated=project.simulated
    )
    figures, pairs = list[list[float]](), list[tuple[Floats, Floats]]()
    for release in _shows(project, choice, releases, SEED):
        domain, side, records = release.judged, release.side, release.records
        chance = tempered(release.chance) if temper else release.chance
        stated, reached = (promise_of(each, side, domain, records) for each in (chance, truth))
        weight = np.where(domain, records, 0.0)
        sure = float(weight @ np.where(side, truth, 1.0 - truth)) / float(weight.sum())
        shares = [np.nan] * 7
        if asking is not None and own_sides is not None:
            count = asking.inside + asking.outside
            free, own_free_share = (
                np.nan if public is None else each.right(public, domain) for each in (asking, own_sides)
            )
            right, colour = asking.right(side, domain), asking.one_colour(domain)
            shares = [
                float(count[domain].sum() / count.sum()), right, colour, free,
                float(np.mean([asking.right(each.side, domain) for each in controls])),
                right - float(np.fmax(colour, free)),
                own_sides.right(side, domain) - float(np.fmax(own_sides.one_colour(domain), own_free_share)),
            ]  # fmt: skip
        inside = (truth >= HALF) & domain
        agreement = [
            iou(side, inside),
            float(np.mean([iou(each.side & domain, inside) for each in controls])),
        ]
        error = calibration_error(chance[domain], truth[domain])
        promised = [stated.right, sure, stated.orange, reached.orange, stated.finds, reached.finds, error]
        figures.append([*shares, *promised, *agreement])
        pairs.append((release.chance[domain], truth[domain]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing is above, or there is no public map
        means = np.nanmean(np.array(figures), axis=0).tolist()
    told, chances = (np.concatenate(each) for each in zip(*pairs, strict=True))
    against = objections(choice.expected, choice.yardsticks, choice.level(settings.threshold))
    return Row(
        name, project.public_n, not no_reference, bool(against), dict(zip(FIGURES, means, strict=True)),
        told, chances, _before(choice),
    )  # fmt: skip


def _before(choice: Choice) -> float:
    expected = choice.expected
    return np.nan if expected is None or expected.records is None else expected.records


def thinned(project: Project, keep: float) -> tuple[Project, Sides | None]:
    """The project with a share of its records, and the sides of the others, or of all if all are kept."""
    placed = project.private.placed
    kept_rows = np.random.default_rng(SEED).uniform(size=placed.value.size) < keep
    if kept_rows.all():
        return project, sides_of(project)
    holdout = replace(project, private=replace(project.private, placed=placed.part(~kept_rows)))
    part = replace(project, private=replace(project.private, placed=placed.part(kept_rows)))
    return part, sides_of(holdout)


@dataclass(frozen=True, eq=False)
class Shown:
    """What one release shows: arrays of shape (N,)."""

    side: Bools  # the judged hexagons shown above
    judged: Bools
    chance: Floats
    records: Floats  # expected


def _shows(project: Project, choice: Choice, releases: int, seed: int) -> Iterator[Shown]:
    for release, region, chance in simulated(project, choice, releases, seed):
        assert release.records is not None
        yield Shown(region, judged(release), chance, release.records)


def simulated(
    project: Project, choice: Choice, releases: int, seed: int
) -> Iterator[tuple[Released, Bools, Floats]]:
    """Simulated releases of the private records, each with its set and its probabilities, (N,) both.

    The set is that of a bundle: judged hexagons with a chance of at least one half.
    """
    mean = None if choice.public_map is None else choice.public_map.mean
    response = None if mean is None else project.response
    records = bin_records(project.private.placed, choice.response, project.settings.unit, mean, response)
    prepared = mechanism_of(choice.design).prepare(choice.design, choice.facts(project), records)
    level = float(choice.response.forward(project.settings.threshold))
    for number in range(releases):
        release = draw_release(prepared, SimulationEntropy(seed + number), simulation=True).shifted(mean)
        probability = release.probability(level)
        assert probability is not None
        yield release, shown_side(probability, judged(release)), probability


def judged(release: Released) -> Bools:
    """(N,) hexagons that a simulated release judges."""
    assert release.records is not None
    return judged_domain(release.records)


def shuffled(project: Project, number: int) -> Project:
    """The same with the private values exchanged among their places."""
    placed = project.private.placed
    order = np.random.default_rng(SEED + number).permutation(placed.value.size)
    exchanged = replace(placed, value=placed.value[order])
    return replace(project, private=replace(project.private, placed=exchanged))


if __name__ == "__main__":
    main()

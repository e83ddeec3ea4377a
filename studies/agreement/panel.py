"""What is told before a release, told by it, and reached: pairs of years, and surveys without a reference.

Command: `python -m studies.agreement.panel [FOLDER] [--releases N] [--only NAME] [--epsilon E]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
Each row is also released with its private values shuffled over places: what these give is no merit of them.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpgp_core.excursion import exceedance_probability, iou, stated_scores
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import Released, draw_release
from dpgp_core.yardstick import judged_domain, shown_side
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import fit_baseline, free_map
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.record import LEAST_GAIN
from hexcursion.releasing.release_guard import objections
from hexcursion.search.choice import Choice
from hexcursion.search.tuning import tune
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from studies.agreement.spectral_sensors import CLEAR, OTHERS, SURVEYS, smooth_map, survey_settings
from studies.london.task import real_settings
from studies.material.real_files import real_files_parser

SEED, RELEASES = 7, 20
LOSS = 0.005  # by which a release that is not stopped may lie below the public map
SETTLED, TOO_HIGH = (
    0.5,
    0.05,
)  # agreement of two maps without privacy, and what is told beyond what is reached
KINDS = {"+": "Added later", "!": "Held back", "*": "Other metals"}
TOLEDO = (-83.88, 41.415, -83.16, 41.735)
LONDON = "house_sales/london_transactions_2015_2018_latlon.csv.gz"
LUCAS = "house_sales/lucas_county_ohio_1993_98.csv.gz"
STATIONS = "sensors/london_laqn_annual_means_2022_2024.csv"


def rows(folder: Path) -> dict[str, ReleaseSettings]:
    """The settings of each row, at epsilon 1 but where its name says another."""
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
        "the same, 2017 set aside": flats.with_changes(reference_public=False),
        "London all 2015, 442,413": sales(LONDON, "year", 2015, 2018, 442_413.0, **london),
        "the same, epsilon .1": sales(LONDON, "year", 2015, 2018, 442_413.0, epsilon=0.1, **london),
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


def main() -> None:
    """Print one line a row."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--releases", type=int, default=RELEASES, help=f"default {RELEASES}")
    parser.add_argument("--only", default="", help="rows whose names hold this")
    parser.add_argument("--epsilon", type=float, help="replaces the epsilon of every row")
    asked = parser.parse_args()
    try:
        every = {name: each for name, each in rows(asked.folder).items() if asked.only in name}
        if asked.epsilon is not None:
            every = {name: each.with_changes(epsilon=asked.epsilon) for name, each in every.items()}
    except WorkflowError as error:
        print(error)
        return
    print(f"Means of {asked.releases} simulated releases; agreement is IoU with the map without privacy.")
    print(f"Seed {SEED} draws the noise and the shuffled values.")
    print("ECE: expected calibration error of the field's probabilities (p) and the map's (q), inhabited.")
    print("Gain: agreement beyond shuffled reference values, before the release. Empty: hexagons in which it")
    print(
        "expects no record; held: those of them that hold one. Some: over the other hexagons alone, of which"
    )
    print("a map speaks; the map without privacy shows empty land by its prior.")
    print("+: other years and thresholds, added when the reading was mended: seen then, as all rows were.")
    print("!: first looked at when rules had been chosen by the others; none was changed after.")
    print("*: other metals of the samples at the Meuse and in the Jura, on which nothing was chosen.")
    print(
        f"Without a reference a pass is wrong below a gain of {LEAST_GAIN:g}, a stop from {CLEAR:g} on; with"
    )
    print("one a pass below the public or the shuffled map, and a stop that gains as much over both.")
    print("As good: changes that may be, of 16, in which the public map is foretold to agree as well.")
    print(
        f"{'row':29} before     range      told  reached  shuffled  colour   free  ECE q  ECE p   gain"
        "  as good  empty  held  some: told  reached  stopped"
    )
    found: dict[str, list[tuple[float, float]]] = {}
    missed: dict[str, list[str]] = {}
    within, high = [], []
    for name, settings in every.items():
        project = load_project(settings)
        tuned = tune(project, beside=())
        choice, model = tuned.choice, tuned.result.model
        gain = tuned.result.chosen.utility.gain
        as_good = choice.yardsticks and choice.yardsticks.as_good
        truth = fit_baseline(project, model).inside
        own = _released(project, choice, truth, asked.releases)
        without = settings.reference is None
        exchanges = asked.releases if without else max(2, asked.releases // 4)
        mixed = np.mean(
            [_released(_shuffled(project, k), choice, truth, 1, SEED + k) for k in range(exchanges)], axis=0
        )
        free = np.nan if without else iou(free_map(project, model), truth)
        against = objections(choice.expected, choice.yardsticks, choice.level(project.settings.threshold))
        before = choice.expected
        assert before is not None
        shown = "".rjust(13)
        if before.low is not None and before.high is not None:
            shown = f"{before.low:5.3f} to {before.high:.3f}"
            within.append(before.low <= own[1] <= before.high)
        kind = KINDS.get(name[0], "Alone" if without else "With a reference")
        found.setdefault(kind, []).append((own[0] - own[1], own[6] - own[7]))
        more = own[1] - np.nanmax([free, mixed[1]])
        wrong = more >= LEAST_GAIN if against else own[1] < free - LOSS or own[1] < mixed[1]
        if without:
            wrong = more >= CLEAR if against else more < LEAST_GAIN
            if own[0] - own[1] > TOO_HIGH and iou(smooth_map(project), truth) >= SETTLED:
                high.append(name)
        if wrong:
            missed.setdefault("stopped" if against else "not stopped", []).append(name)
        print(
            f"{name:29} {before.agreement or np.nan:6.3f} {shown:13} {own[0]:6.3f} {own[1]:8.3f} "
            f"{mixed[1]:9.3f} {truth.mean():7.3f} {free:6.3f} {own[2]:6.3f} {own[3]:6.3f} "
            f"{gain:6.3f} {'{} of {}'.format(*as_good) if as_good else '':>8} {own[4]:6.0f} {own[5]:5.0f} "
            f"{own[6]:11.3f} {own[7]:8.3f}  {'yes' if against else 'no'}",
            flush=True,
        )
    print("Told by the release less reached: on average, in size, at most; then where it expects a record.")
    for kind, both in found.items():
        gaps = np.array(both)
        shown = [
            f"{np.nanmean(gap):+.3f} {np.nanmean(np.abs(gap)):.3f} {np.nanmax(gap):+.3f}" for gap in gaps.T
        ]
        print(f"{kind:16} ({len(gaps)} rows) {';  '.join(shown)}")
    print(f"Told too high by more than {TOO_HIGH:g} where two maps without privacy agree: {'; '.join(high)}.")
    for what, names in missed.items():
        print(f"Wrongly {what}: {'; '.join(names)}.")
    print(f"The range told beforehand holds in {sum(within)} of {len(within)} rows.")


def simulated(
    project: Project, choice: Choice, releases: int, seed: int
) -> Iterator[tuple[Released, Bools, Floats]]:
    """Simulated releases of the private records, each with its set and its probabilities, (N,) both.

    The set is that of a bundle: judged hexagons with a chance of at least one half.
    """
    mean = None if choice.public_map is None else choice.public_map.mean
    own = None if mean is None else project.response
    records = bin_records(project.private.placed, choice.response, project.settings.unit, mean, own)
    prepared = mechanism_of(choice.design).prepare(choice.design, choice.facts(project), records)
    level = float(choice.response.forward(project.settings.threshold))
    for number in range(releases):
        drawn = draw_release(prepared, SimulationEntropy(seed + number), simulation=True).shifted(mean)
        probability = drawn.probability(level)
        assert probability is not None
        yield drawn, shown_side(probability, judged(drawn)), probability


def judged(drawn: Released) -> Bools:
    """(N,) hexagons that a simulated release judges."""
    assert drawn.records is not None
    return judged_domain(drawn.records)


def _released(project: Project, choice: Choice, truth: Bools, releases: int, seed: int = SEED) -> Floats:
    """Told by the release, reached, ECE of q and of p over inhabited hexagons, empty, held: means.

    Then told and reached over the hexagons in which the release expects a record.
    """
    level = float(choice.response.forward(project.settings.threshold))
    inhabited, found = np.unique(project.private.placed.index), []
    for drawn, region, probability in simulated(project, choice, releases, seed):
        assert drawn.shown_map is not None
        of_map = exceedance_probability(*drawn.shown_map, level)
        told = stated_scores(of_map, region).agreement
        errors = [_ece(each[inhabited], truth[inhabited]) for each in (of_map, probability)]
        empty = ~judged(drawn)
        some = (stated_scores(of_map[~empty], region[~empty]).agreement, iou(region[~empty], truth[~empty]))
        found.append([told, iou(region, truth), *errors, empty.sum(), empty[inhabited].sum(), *some])
    return np.asarray(np.mean(found, axis=0))


def _ece(stated: Floats, came: Bools) -> float:
    """Expected calibration error in ten bins."""
    bins = np.minimum((10 * stated).astype(int), 9)
    parts = [mine for mine in (bins == number for number in range(10)) if mine.any()]
    return float(sum(abs(stated[mine].mean() - came[mine].mean()) * mine.mean() for mine in parts))


def _shuffled(project: Project, number: int) -> Project:
    """The same with the private values exchanged among their places, each time anew."""
    placed = project.private.placed
    order = np.random.default_rng(SEED + number).permutation(placed.value.size)
    mixed = replace(placed, value=placed.value[order])
    return replace(project, private=replace(project.private, placed=mixed))


if __name__ == "__main__":
    main()

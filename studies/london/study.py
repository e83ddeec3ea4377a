"""Study D: every mechanism on London at equal epsilon, tuned on the earlier year, judged on the later one.

The map without privacy is fitted to the later year's records by likelihood; the free map has the model of a
search on the earlier year."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from dpgp_core.excursion import iou, ious
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Unit
from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.releasing import Released
from dpgp_core.simulation import World
from geo.errors import part_of
from hexcursion.project.baseline import curators_map, free_map
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice
from hexcursion.search.executors import Run
from hexcursion.search.results import settle_on
from hexcursion.search.scenes import NO_START, Question, Start, make_scene, private_n
from hexcursion.search.task import family_of
from hexcursion.search.tuning import tune
from hexcursion.words import design_words
from studies.excursions.fields import Bools, Floats
from studies.london.paper_map import COLUMNS as MAP_COLUMNS
from studies.london.recipe import free_design, paper_recipe
from studies.london.task import BOROUGHS, generated_settings, load_task, real_settings
from studies.reporting.figures import DomainName, FamilyName
from studies.reporting.tables import Preset, Report, Stopwatch, StudyResult, StudyTable, quiet, rounded

COLUMNS = (
    "domain", "family", "mechanism", "unit", "delta", "epsilon", "IoU", "IoU SD", "standard error",
    "free map", "IoU, cells' map", "free map, cells' map", "design",
)  # fmt: skip

PAIR = ("posterior-sampling", "noisy-cell-statistics")
PAPER_EPSILON = 10.0
PAPER_TITLE = (
    "Figure 4 by the published recipe, its constant not proved: three simulated one-path releases, each at "
    "epsilon 10 for cell records, on the hexagons with a sale"
)
OUR_TITLE = (
    "Figure 4 by this program: three simulated one-path releases, each at epsilon 1 for point records, on "
    "the whole region"
)


@dataclass(frozen=True)
class LondonSettings:
    """Study D.

    Parameters
    ----------
    folder
        of the real files; empty for the generated example
    domains
        among `task.DOMAINS`
    families
        of mechanisms to compare
    draws
        simulated releases per design
    delta
        for point records; n^-1.1 for cell records
    quick_search
        whether the search's grid is coarse
    """

    folder: str = ""
    domains: tuple[DomainName, ...] = ("region", "occupied")
    families: tuple[FamilyName, ...] = ("paper code", "cell records", "point records", "public prior mean")
    draws: int = 60
    delta: float = 1e-5
    quick_search: bool = True
    seed: int = 2018
    preset: Preset = "full"

    @staticmethod
    def quick() -> LondonSettings:
        """Under a minute, on generated data: point records on the product's domain."""
        return LondonSettings(domains=("region",), families=("point records",), draws=50, preset="quick")

    @staticmethod
    def full() -> LondonSettings:
        """On generated data, which anyone has."""
        return LondonSettings(quick_search=False)

    @staticmethod
    def real(folder: Path) -> LondonSettings:
        """On the real files in a folder."""
        return LondonSettings(folder=str(folder), quick_search=False, preset="real")


@dataclass(frozen=True)
class _Entry:
    """One design to be released and judged: its mechanism in words, its project and budget."""

    mechanism: str
    project: Project
    choice: Choice
    epsilon: float


def run(settings: LondonSettings, report: Report | None = None) -> StudyResult:
    """IoU with the later year's non-private set against epsilon, for every family, and one map."""
    tell, clock = report or quiet, Stopwatch()
    base = real_settings(Path(settings.folder)) if settings.folder else generated_settings()
    base = base.with_changes(quick=settings.quick_search)
    entropy = SimulationEntropy(settings.seed)
    rows: list[tuple[str | float, ...]] = []
    maps: list[StudyTable] = []
    sizes = []
    for step, domain in enumerate(settings.domains):
        low, share = step / len(settings.domains), 1.0 / len(settings.domains)
        tell(low, f"Loading, domain: {domain}")
        project = load_task(base, domain)
        sizes.append(f"{domain}: {project.domain.size:,} hexagons, {private_n(project):,} sales")
        domain_rows, painted = _domain_rows(
            settings, project, domain, entropy, part_of(tell, low, low + share)
        )
        rows += domain_rows
        maps += painted
    return StudyResult(
        "london",
        settings.preset,
        asdict(replace(settings, folder="shared/data" if settings.folder else "")),
        (settings.seed,),
        f"{settings.draws} simulated releases per design",
        clock.seconds,
        (
            StudyTable("iou", "Agreement with the non-private map of the later year", COLUMNS, tuple(rows)),
            *maps,
        ),
        _notes(settings, sizes),
    )


def _notes(settings: LondonSettings, sizes: list[str]) -> tuple[str, ...]:
    where = (
        f"HM Land Registry sales of {BOROUGHS} of Greater London, existing leasehold flats, 2017 and 2018."
        if settings.folder
        else "Generated sales of an imagined city in the real formats; no real person is described."
    )
    return (
        f"{where} {'; '.join(sizes)}.",
        "Designs are tuned on the earlier year only and released on the later one. The domain 'occupied' "
        "holds the hexagons with a sale in either year: a protocol of comparison, which could not be "
        "published, because the mask is taken from private data.",
        "'paper code' simulates the published code's recipe with its unproved constant, for comparison; it "
        "is never released. The free map is what the earlier year alone gives, at epsilon 0.",
        "IoU is with the non-private map of the same records (sales, or cells' medians); the cells' map is "
        "given for all as well. Both maps are fitted to the later year by likelihood; the free map has the "
        "model of the unconstrained search on the earlier year.",
        "Each search refines its grid at epsilon 1; at the other budgets the best design of the coarse grid "
        "is shown." + (" Coarse grids throughout (the quick search)." if settings.quick_search else ""),
        "Cell records protect one hexagon's median at delta n^-1.1; point records protect one sale at "
        f"delta {settings.delta:g}: different units, not to be ranked against each other without saying so.",
    )


def _domain_rows(
    settings: LondonSettings, project: Project, domain: DomainName, entropy: Entropy, tell: Report
) -> tuple[list[tuple[str | float, ...]], list[StudyTable]]:
    rows: list[tuple[str | float, ...]] = []
    painted: list[StudyTable] = []
    tell(0.0, f"{domain}: maps without privacy")
    units: tuple[Unit, ...] = ("point", "cell")
    aims = {unit: _aim(_with(project, unit, settings)) for unit in units}

    def row(
        family: FamilyName, mechanism: str, family_project: Project, epsilon: float, sets: Bools, design: str
    ) -> None:
        aim, cells = aims[family_project.settings.unit], aims["cell"]
        rows.append((
            domain, family, mechanism, family_project.settings.unit, family_project.delta, epsilon,
            *_figures(ious(sets, aim.truth)), aim.free, rounded(float(ious(sets, cells.truth).mean())),
            cells.free, design,
        ))  # fmt: skip

    for number, family in enumerate(settings.families):

        def part(fraction: float, text: str, number: int = number, family: FamilyName = family) -> None:
            tell((number + fraction) / len(settings.families), f"{domain}, {family}: {text.lower()}")

        part(0.0, "Searching")
        if family == "paper code":
            family_project = _with(project, "cell", settings)
            for epsilon, sets, words in paper_recipe(
                family_project, FRONTIER_EPSILONS, settings.draws, entropy
            ):
                row(
                    family,
                    "posterior sampling, exponential, unproved constant",
                    family_project,
                    epsilon,
                    sets,
                    words,
                )
                if epsilon == PAPER_EPSILON and domain == "occupied":
                    painted.append(_painted(project, "map-paper", PAPER_TITLE, aims["cell"].truth, sets))
            continue
        for entry in _entries(settings, project, family, part):
            sets = released_sets(entry.project, entry.choice, settings.draws, entropy)
            row(
                family, entry.mechanism, entry.project, entry.epsilon, sets, design_words(entry.choice.design)
            )
            posterior = not mechanism_of(entry.choice.design).free_paths
            first = not painted and domain == "region" and family == "point records"
            if first and posterior and entry.epsilon == 1.0:
                title = f"{OUR_TITLE}, {family_of(entry.choice.design)[1]} prior"
                painted.append(_painted(project, "map", title, aims["point"].truth, sets))
    return rows, painted


@dataclass(frozen=True, eq=False)
class _Aim:
    """The later year's non-private set, and the IoU with it of the earlier year's: the free map."""

    truth: Bools
    free: float


def _aim(project: Project) -> _Aim:
    """The first fitted by likelihood, the other with the design of the search on the earlier year."""
    design = free_design(project)
    truth = curators_map(project, design).inside
    return _Aim(truth, rounded(iou(free_map(project, design), truth)))


def _figures(values: Floats) -> tuple[float, float, float]:
    deviation = float(values.std(ddof=1))
    return rounded(float(values.mean())), rounded(deviation), rounded(deviation / math.sqrt(values.size))


def _with(project: Project, unit: Unit, settings: LondonSettings, **changes: object) -> Project:
    """The project with another unit of protection and its delta."""
    drafted = replace(project, settings=project.settings.with_changes(unit=unit, epsilon=1.0))
    delta = private_n(drafted) ** -1.1 if unit == "cell" else settings.delta
    return replace(drafted, settings=drafted.settings.with_changes(delta=delta, **changes))


def _entries(
    settings: LondonSettings, project: Project, family: FamilyName, tell: Report
) -> Iterator[_Entry]:
    """Every design of a family's frontier."""
    unit: Unit = "cell" if family == "cell records" else "point"
    variants: list[dict[str, object]] = [
        {
            "mechanisms": PAIR if unit == "point" else PAIR[:1],
            "prior_mean": family == "public prior mean",
        }
    ]
    if unit == "cell":  # the paper's own bound, for comparison with ours
        variants.append({"mechanisms": PAIR[:1], "priors": ("exponential",), "bound": "triangle"})
    for number, changes in enumerate(variants):
        variant_project = _with(project, unit, settings, **changes)
        tuned = tune(variant_project, Run(tell).part(number / len(variants), 0.8 / len(variants)))
        for step, point in enumerate(tuned.result.frontier):
            tell((number + 0.8 + 0.2 * step / len(tuned.result.frontier)) / len(variants), "Releasing")
            settled, choice = settle_on(variant_project, tuned, point)
            design = choice.design
            prior = family_of(design)[1]
            bound = getattr(design, "bound", "")
            words = ", ".join(filter(None, (mechanism_of(design).title.lower(), prior, bound)))
            yield _Entry(words, settled, choice, point.epsilon)


def released_sets(project: Project, choice: Choice, draws: int, entropy: Entropy) -> Bools:
    """(draws, N) sets of simulated releases of the later year's records.

    Noisy cell statistics are judged by the set of their posterior mean, to which free paths' votes converge.
    """
    design, world = choice.design, released_world(project, choice)
    if mechanism_of(design).free_paths:
        return questions.simulated_sets(design, world, world.records, draws, entropy)
    cells, wanted = range(project.domain.size), questions.Draws(draws, entropy)
    paths = questions.seen(design, world.facts, world.records, cells, wanted)
    return np.array([world.published(Released(each), design) for each in paths])


def released_world(project: Project, choice: Choice) -> World:
    """The private records as a choice would release them; for simulations only."""
    start = NO_START
    if choice.public_map is not None:
        start = Start(choice.public_map.mean, own=project.response)
    facts, placed = choice.facts(project), project.private.placed
    return make_scene(facts, Question.of(project), placed, choice.response, start).world


def _painted(project: Project, name: str, title: str, truth: Bools, sets: Bools) -> StudyTable:
    places = project.domain.centres_lonlat
    rows: tuple[tuple[str | float, ...], ...] = tuple(
        (cell, rounded(places[k, 0], 5), rounded(places[k, 1], 5), int(truth[k]), *map(int, sets[:3, k]))
        for k, cell in enumerate(project.domain.cells)
    )
    return StudyTable(name, title, MAP_COLUMNS, rows)

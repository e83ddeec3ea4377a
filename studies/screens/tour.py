"""The files of the finished example and of the tour, made and measured again.

Command: `python -m studies.screens.tour`.

Searches on the house sales of Lucas County, Ohio, charges and draws one release of those of 1998 with a
ledger that is thrown away, and writes the search, the bundle and the measurements into static/tour. The
release is drawn from the operating system's entropy, so its figures differ each time. One sale is chosen at
random, with a seed, to show what a table of today's practice, its classes, and the release reveal of it.
`--keep` measures the shipped release again. `--pages` writes the pages of its bundle again with today's
program, and draws and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpgp_core.excursion import iou
from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from hexcursion.bundle import layout, read_bundle
from hexcursion.bundle.again import field_again
from hexcursion.bundle.layout import contents_of, script_bytes
from hexcursion.bundle.page.papers import attribution_text, readme_text
from hexcursion.bundle.published.bundle_store import offers
from hexcursion.bundle.published.site import zip_anew
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.statement.build import products_block, statement_text
from hexcursion.bundle.statement.change import change_block
from hexcursion.bundle.statement.designs import design_from, schema_bytes
from hexcursion.bundle.statement.expected import map_block, verdict_block
from hexcursion.bundle.tables import rounded_field
from hexcursion.comparing.attacks import changes, one_more, two_editions
from hexcursion.comparing.practice import Records, Rule, Target, careful, minimum, smoothed
from hexcursion.door.remedies import BUDGETS
from hexcursion.ledger import open_ledger
from hexcursion.project.baseline import curators_map, free_map
from hexcursion.project.example import COUNTY_YEARS, county_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.choice import Choice
from hexcursion.search.results import settle_on, text_of
from hexcursion.search.tuning import Tuned, tune
from studies.agreement.panel import judged, simulated

TOUR = Path(__file__).resolve().parents[2] / "static" / "tour"
SEED = 2024  # of the simulated releases and of the chosen sale; the shipped release has no seed
EPSILON = 1.0
LEAST = 5  # the usual rule: hexagons with fewer records are blank
SMOOTHED = 10.0  # the best of the usual rules here: kernel means of at least this weight
LATER = 1997  # another year that could be public
ADDRESS = "12 Maple Court"  # invented


def bits(mask: np.ndarray) -> str:
    """A set of cells as a text of zeros and ones, in the order of the bundle's cells."""
    return "".join("01"[int(inside)] for inside in mask)


def frontier(project: Project, tuned: Tuned, truth: np.ndarray, draws: int) -> list[dict[str, Any]]:
    """The release's mechanism at other budgets: tuned on the public year, measured on the private one."""
    best: dict[float, Any] = {}
    method = tuned.choice.design.mechanism
    for point in (p for p in tuned.result.frontier if p.scored.design.mechanism == method):
        current = best.get(point.epsilon)
        if point.epsilon not in FRONTIER_EPSILONS:
            continue
        if current is None or point.scored.utility.records > current.scored.utility.records:
            best[point.epsilon] = point
    rows = []
    for epsilon, point in sorted(best.items()):
        settled, choice = settle_on(project, tuned, point)
        agreements = judged_agreements(settled, choice, draws, truth)
        rows.append(
            {
                "epsilon": epsilon,
                "agreement": round(float(agreements.mean()), 4),
                "spread": round(float(agreements.std(ddof=1)), 4),
                "expected": round(point.scored.utility.judged_iou, 4),
            }
        )
    return rows


def judged_agreements(project: Project, choice: Choice, draws: int, truth: np.ndarray) -> np.ndarray:
    """IoU of simulated releases with (N,) `truth`, over the hexagons that each judges."""
    agreements = [
        iou(region, truth & judged(release)) for release, region, _ in simulated(project, choice, draws, SEED)
    ]
    return np.array(agreements)


def pages_anew(place: Path) -> None:
    """Write a zip again with the layers, papers and picture that today's program makes of its bundle."""
    contents = contents_of(place)
    bundle = bundle_from_contents(contents)
    subject = bundle.statement["subject"]
    scope = {**subject["scope"], "since": county_settings().scope.since}
    bundle = replace(bundle, statement={**bundle.statement, "subject": {**subject, "scope": scope}})
    design, draws = design_from(bundle.statement["design"]), bundle.draws
    ranked = bundle.field is not None
    by_map = bundle.statement["products"].get("cut_by_map", False)
    count = None if draws is None else len(draws)
    products = products_block(design, count, ranked=ranked, cut_by_map=by_map)
    read, change = field_again(bundle), None
    check, map_field = read.model_check, read.shown_map
    if check is not None and check.change is not None:
        change = change_block(check.change, bundle.response, bundle.statement["subject"])
    bundle = replace(bundle, statement={**bundle.statement, "products": products})
    shown = bundle.shown if map_field is None or by_map else rounded_field(*map_field)
    of_map = map_block(bundle.published, shown, read.map_draws)
    block = verdict_block(bundle.published, bundle.statement, of_map, check, change)
    # the same numbers, and the consequences of its sums in today's words
    bundle = replace(bundle, statement={**bundle.statement, "told": block})
    statement = bundle.statement
    papers = {
        layout.STATEMENT: statement_text(statement),
        layout.README: readme_text(statement, bundle.published),
        layout.ATTRIBUTION: attribution_text(statement),
    }
    mechanism = design.mechanism
    renewed = {**contents, **{name: text.encode() for name, text in papers.items()}}
    renewed |= {offer.file: offer.make() for offer in offers(bundle) if offer.file in contents}
    renewed |= {layout.STATEMENT: papers[layout.STATEMENT].encode(), layout.REDRAW: script_bytes()}
    renewed[layout.SCHEMA] = schema_bytes(mechanism)
    left_out = (layout.SUMS, layout.SIGNATURE)
    summed = {name: content for name, content in renewed.items() if name not in left_out}
    renewed = {**summed, layout.SUMS: layout.sums_text(summed).encode()}
    place.write_bytes(zip_anew("bundle", renewed, bundle))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--draws", type=int, default=40, help="simulated releases of each design (default 40)"
    )
    parser.add_argument("--keep", action="store_true", help="measure the shipped release, draw none")
    parser.add_argument("--pages", action="store_true", help="make the shipped bundle's pages anew, no more")
    options = parser.parse_args()
    if options.pages:
        pages_anew(TOUR / "bundle.zip")
        return
    draws, start = options.draws, time.process_time()
    settings = county_settings().with_changes(epsilon=EPSILON)
    project = load_project(settings)
    tuned = tune(project, walked=BUDGETS)
    if not options.keep:
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            os.environ |= {"HEXCURSION_HOME": str(place / "home"), "HEXCURSION_WITNESS": str(place / "seen")}
            planned = plan_release(project, tuned.choice, open_ledger())
            TOUR.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(publish(planned, open_ledger(), place / "bundle").archive, TOUR / "bundle.zip")
    (TOUR / "search.json").write_text(text_of(project, tuned), encoding="utf-8")
    model = tuned.result.model
    public_map, truth = free_map(project, model), curators_map(project, model).inside
    bundle = read_bundle(TOUR / "bundle.zip")
    records, judged = Records.of(project), bundle.published.judged
    table = minimum(records, LEAST)
    story: dict[str, Any] = {
        "command": "python -m studies.screens.tour",
        "seed": SEED,
        "draws": draws,
        "years": list(COUNTY_YEARS),
        "sales": int(project.private.placed.index.size),
        "public_sales": int(project.reference.index.size),
        "search": {
            "designs": tuned.result.evaluated,
            "mechanism": tuned.choice.design.mechanism,
            "expected": round(tuned.result.chosen.utility.records, 4),
            "public_alone": round(tuned.result.chosen.utility.public_records, 4),
        },
        "measured": {
            "public": round(iou(public_map & judged, truth & judged), 4),
            "released": round(iou(bundle.published.in_set, truth & judged), 4),
            "table": round(iou(table.inside & judged, truth & judged), 4),
            "filled": round(careful(project, model, records, table, Target(truth, judged)), 4),
            "smoothed": round(
                careful(project, model, records, smoothed(records, SMOOTHED), Target(truth, judged)), 4
            ),
        },
        "later": later(draws),
        "frontier": frontier(project, tuned, truth, draws),
        "practice": {
            "least": LEAST,
            "exact": round(two_editions(records, Rule("minimum", 5.0)), 4),
            "classes": round(changes(records, Rule("minimum", 5.0, numbers=False)), 4),
        },
        "house": house(records, float(bundle.statement["design"]["mu"])),
        "public_map": bits(public_map),
        "truth": bits(truth),
        "shown": bits(table.shown),
        "inside": bits(table.inside),
    }
    (TOUR / "tour.json").write_text(json.dumps(story), encoding="utf-8")
    tell(project.domain.size, story)
    spent = time.process_time() - start
    print(f"{draws} simulated releases for each budget, seed {SEED}; {spent:.0f} s of CPU time.")


def later(draws: int) -> dict[str, Any]:
    """Agreements of the map of a later public year, and of releases that start from it."""
    project = load_project(county_settings(LATER).with_changes(epsilon=EPSILON))
    tuned = tune(project, frontier=())
    truth = curators_map(project, tuned.result.model).inside
    agreements = judged_agreements(project, tuned.choice, draws, truth)
    public_map = free_map(project, tuned.result.model)
    ends = [judged(drawn) for drawn, *_ in simulated(project, tuned.choice, 1, SEED)]
    return {
        "year": LATER,
        "public": round(iou(public_map & ends[0], truth & ends[0]), 4),
        "released": round(float(np.mean(agreements)), 4),
    }


def house(records: Records, mu: float) -> dict[str, Any]:
    """What two tables, with and without one sale, their classes, and the release reveal of that sale.

    Parameters
    ----------
    mu
        of the release, a Gaussian mechanism: see `pages.compare.view.release_sentence`
    """
    number = int(np.random.default_rng(SEED).integers(records.cell.size))
    editions = one_more(records, LEAST, number)
    return {
        "address": ADDRESS,
        "cell": int(records.cell[number]),
        "price": editions.value,
        "editions": [
            None if each is None else [each[0], round(each[1], 2)]
            for each in (editions.before, editions.after)
        ],
        "same_class": editions.side_before == editions.side_after,
        "times": math.floor(2.0 * 1.96 * math.sqrt(2.0) / mu),
    }


def tell(hexagons: int, story: dict[str, Any]) -> None:
    """Print the measurements."""
    measured, practice, sale = story["measured"], story["practice"], story["house"]
    print(f"{hexagons:,} hexagons, {story['sales']:,} sales; IoU with the map of all sales:")
    print(
        f"  public map {measured['public']:.3f}, this release {measured['released']:.3f}, "
        f"table of at least {LEAST} {measured['table']:.3f}, as a careful reader fills it "
        f"{measured['filled']:.3f}"
    )
    print(
        f"The release at epsilon {EPSILON:g}: {story['search']['mechanism']}, expected to show "
        f"{story['search']['expected']:.3f} of the records right, public data alone "
        f"{story['search']['public_alone']:.3f}"
    )
    for row in story["frontier"]:
        print(f"  epsilon {row['epsilon']:>5g}: {row['agreement']:.3f} (SD {row['spread']:.3f})")
    print(
        f"With {story['later']['year']} public: its map {story['later']['public']:.3f}, "
        f"releases {story['later']['released']:.3f}"
    )
    print(
        f"Two editions give away {100 * practice['exact']:.1f} % of the prices; classes alone change for "
        f"{100 * practice['classes']:.1f} % of the sales"
    )
    print(f"One sale: {sale}")


if __name__ == "__main__":
    main()

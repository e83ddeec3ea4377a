"""The files of the finished example and of the tour, made and measured again.

Command: `python -m studies.screens.tour`.

Searches the generated city whose last year differs from its public year, charges and draws one release of it
with a ledger that is thrown away, and writes the city's files, the search, the bundle and the measurements
into static/tour. The release is drawn from the operating system's entropy: it differs each time, and its
figures with it. `--keep` measures the release again that is shipped, where only the rest has changed.
`--pages` only makes the pages of its bundle anew, with today's program, and draws and measures nothing.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from data_loaders import DEMO_SEED, DEMO_YEARS, DemoField
from data_loaders.demo_data.city import WARDS, inside, river_north, to_km, to_lonlat, ward_of
from dpgp_core.excursion.scores import iou, ious
from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from dpgp_core.noise.entropy import SimulationEntropy
from hexcursion.bundle import read_bundle
from hexcursion.bundle.documents.papers import readme_text
from hexcursion.bundle.documents.registry import registry_yaml
from hexcursion.bundle.files import layout
from hexcursion.bundle.files.archive import contents_of
from hexcursion.bundle.files.attached import script_bytes
from hexcursion.bundle.published.offers import offers
from hexcursion.bundle.published.site import zip_anew
from hexcursion.bundle.reading.read import bundle_from_contents
from hexcursion.bundle.statement.designs import design_from
from hexcursion.bundle.statement.expected import told_words
from hexcursion.bundle.statement.products_block import products_block
from hexcursion.bundle.statement.schemas import schema_bytes
from hexcursion.bundle.writing.write import statement_text
from hexcursion.ledger import open_ledger
from hexcursion.project.baseline import fit_baseline, free_map
from hexcursion.project.example import changed_settings, example_folder
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.decision.settle import settle_on
from hexcursion.search.decision.stored import text_of
from hexcursion.search.decision.tuning import Tuned, tune
from pages.privacy.designs.designs import BUDGETS
from studies.london.study import released_sets

TOUR = Path(__file__).resolve().parents[2] / "static" / "tour"
SEED = 2024  # of the simulated releases; the one that is shipped has none
EPSILON = 1.0


def bits(mask: np.ndarray) -> str:
    """A set of cells as a text of zeros and ones, in the order of the bundle's cells."""
    return "".join("01"[int(inside)] for inside in mask)


def river() -> list[list[float]]:
    """The river's middle within the city, degrees."""
    east = np.arange(-20.0, 20.0, 0.1)
    north = river_north(east)
    kept = inside(east, north)
    lon, lat = to_lonlat(east[kept], north[kept])
    return np.column_stack([lon, lat]).round(5).tolist()


def frontier(project: Project, tuned: Tuned, truth: np.ndarray, draws: int) -> list[dict[str, Any]]:
    """The release's own method at other budgets: found on the public year, measured on the private one."""
    best: dict[float, Any] = {}
    method = tuned.choice.design.mechanism
    for point in (one for one in tuned.result.frontier if one.scored.design.mechanism == method):
        known = best.get(point.epsilon)
        if point.epsilon not in FRONTIER_EPSILONS:
            continue
        if known is None or point.scored.utility.agreement > known.scored.utility.agreement:
            best[point.epsilon] = point
    rows = []
    for epsilon, point in sorted(best.items()):
        settled, choice = settle_on(project, tuned, point)
        found = ious(released_sets(settled, choice, draws, SimulationEntropy(SEED)), truth)
        rows.append(
            {
                "epsilon": epsilon,
                "agreement": round(float(found.mean()), 4),
                "spread": round(float(found.std(ddof=1)), 4),
                "expected": round(point.scored.utility.agreement, 4),
            }
        )
    return rows


def pages_anew(place: Path) -> None:
    """Write a zip again with the layers, papers and picture that are made of its bundle today, no more."""
    contents = contents_of(place)
    bundle = bundle_from_contents(contents)
    design, draws = design_from(bundle.statement["design"]), bundle.draws
    ranked = bundle.field is not None
    products = products_block(design, None if draws is None else len(draws), ranked=ranked)
    told = bundle.statement["told"]
    statement = {  # its numbers, and what follows from them in today's words
        **bundle.statement,
        "products": products,
        "told": {**told, "in_words": told_words(told)},
    }
    bundle = replace(bundle, statement=statement)
    papers = {
        layout.STATEMENT: statement_text(statement),
        layout.README: readme_text(statement, bundle.published),
        layout.REGISTRY: registry_yaml(statement),
    }
    mechanism = design.mechanism
    made = {**contents, **{name: text.encode() for name, text in papers.items()}}
    made |= {offer.file: offer.make() for offer in offers(bundle) if offer.file in contents}
    made |= {layout.STATEMENT: papers[layout.STATEMENT].encode(), layout.REDRAW: script_bytes()}
    made[layout.SCHEMAS[2]] = schema_bytes(2, mechanism)
    rest = {name: content for name, content in made.items() if name not in (layout.SUMS, layout.SIGNATURE)}
    made = {**rest, layout.SUMS: layout.sums_text(rest).encode()}
    place.write_bytes(zip_anew("bundle", made, bundle))


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
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ |= {"HEXCURSION_HOME": str(place / "home"), "HEXCURSION_WITNESS": str(place / "witness")}
        settings = changed_settings(place).with_changes(epsilon=EPSILON)
        project = load_project(settings)
        tuned = tune(project, walked=BUDGETS)
        TOUR.mkdir(parents=True, exist_ok=True)
        if not options.keep:
            planned = plan_release(project, tuned.choice, open_ledger())
            shutil.copyfile(publish(planned, open_ledger(), place / "bundle").archive, TOUR / "bundle.zip")
        shutil.rmtree(TOUR / "files", ignore_errors=True)
        shutil.copytree(example_folder(place, changed=True), TOUR / "files")
        (TOUR / "search.json").write_text(text_of(project, tuned), encoding="utf-8")
    places = project.domain.centres_lonlat
    price = np.exp(DemoField(DEMO_SEED, DEMO_YEARS[1], changed=True).log_price(places[:, 0], places[:, 1]))
    truth = price > settings.threshold
    known = free_map(project, tuned.result.model)
    unprotected = fit_baseline(project, tuned.result.model).inside
    released = read_bundle(TOUR / "bundle.zip").published.vote_set
    rows = frontier(project, tuned, truth, draws)
    story = {
        "command": "python -m studies.screens.tour",
        "seed": SEED,
        "draws": draws,
        "years": list(DEMO_YEARS),
        "sales": int(project.private.placed.index.size),
        "search": {
            "designs": tuned.result.evaluated,
            "mechanism": tuned.choice.design.mechanism,
            "expected": round(tuned.result.chosen.utility.agreement, 4),
            "public_alone": round(float(tuned.free_agreement or 0.0), 4),
        },
        "measured": {
            "public": round(iou(known, truth), 4),
            "released": round(iou(released, truth), 4),
            "unprotected": round(iou(unprotected, truth), 4),
        },
        "frontier": rows,
        "public_map": bits(known),
        "truth": bits(truth),
        "district": ward_of(*to_km(places[:, 0], places[:, 1])).tolist(),
        "districts": [ward.title() for ward, *_ in WARDS],
        "river": river(),
    }
    (TOUR / "tour.json").write_text(json.dumps(story), encoding="utf-8")
    measured = story["measured"]
    print(f"{project.domain.size:,} hexagons, {story['sales']:,} sales; IoU with the truth:")
    print(f"  last year's public map {measured['public']:.3f}, this release {measured['released']:.3f}, "
          f"this year's map without privacy {measured['unprotected']:.3f}")  # fmt: skip
    print(f"The release at epsilon {EPSILON:g}: {tuned.choice.design.mechanism}, "
          f"expected agreement {story['search']['expected']:.3f} on the public year, where public data alone "
          f"reach {story['search']['public_alone']:.3f}")  # fmt: skip
    for row in rows:
        print(f"  epsilon {row['epsilon']:>5g}: {row['agreement']:.3f} (SD {row['spread']:.3f})")
    spent = time.process_time() - start
    print(f"{draws} simulated releases for each budget, seed {SEED}; {spent:.0f} s of CPU time.")


if __name__ == "__main__":
    main()

"""A network behind spectral statistics.

Command: `python -m plugins.peers.studies.convcnp_correction [FOLDER] [--weights FILE]`.

The network sees a release's two readings, by the design's prior and by one of a third of its range, and
corrects the first (`hexcursion_peers/neural/corrected.py`). Simulated fields first, of the kinds of
`plugins.peers.studies.convcnp`: each release is read by the posterior and by the network; `convcnp` has a
release of its own. Range and width are chosen on two fields of the kind. Then London, real and generated:
the design is that which the search finds for spectral statistics on the earlier year, the cutoff is chosen
for each reading on simulated releases of that year, and both read the same releases of the later one; the
map without privacy is the curator's, fitted by likelihood.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from dpgp_core import gaussian_mu
from dpgp_core.excursion import agreed, iou
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.spectral.model import Prepared, PublicCounts, SpectralModel, SpectralPlan
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.sums import GridRecords, release_sums
from hexcursion.project.baseline import curators_map, free_map
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.search.optimise import search
from hexcursion.search.scenes import Question, make_scene, public_facts
from hexcursion.search.tuning import search_task
from hexcursion_peers.neural.corrected import CORRECTION, NEUTRAL, Correction, context_of, read_twice
from hexcursion_peers.neural.lattice import Window
from hexcursion_peers.neural.mechanism import ConvCnp, ConvCnpDesign
from hexcursion_peers.neural.network import LEAST_SD, Network
from hexcursion_peers.neural.simulated.corrected_tasks import SimulatedNoise, make_pool
from hexcursion_peers.neural.simulated.tasks import WIDTHS, finer
from hexcursion_peers.neural.weights import STORED_CORRECTION, network
from plugins.peers.studies.convcnp import (
    CELLS,
    CHOOSING,
    DELTA,
    LEVELS,
    RANGES,
    RECORDS,
    RIDGE,
    SHOWN,
    SPREAD,
    TIMED,
    Score,
    round_lattice,
    scored,
    simulated,
)
from studies.material.real_files import both_sales, real_files_parser

SEED, EPSILONS, JUDGED = 1616, (0.5, 1.0, 3.0), 16
CUTOFFS = (0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
CHOICES = 12  # simulated releases of the earlier year on which cutoffs are chosen
READINGS = ("posterior", "network", "convcnp")


def both(
    model: SpectralModel,
    plan: Prepared,
    records: GridRecords,
    public_counts: PublicCounts,
    way: Correction,
    judge: Network,
    rng: np.random.Generator,
) -> tuple[Released, Released]:
    """One simulated release as the posterior reads it, and as the network does."""
    released = release_sums(plan.features, plan.nodes, records, plan.noise, SimulatedNoise(rng))
    reading = read_twice(model, plan, released, public_counts)
    field = plan.plan.field
    context = context_of(plan, float(records.n), way.window.half)
    mean, sd = way.apply(judge, [reading], context, field.mean, field.deviation)
    return Released(reading.mean[None], reading.mean, reading.sd), Released(mean, mean[0], sd[0])


def contests(judge: Network, judged: int) -> Iterator[str]:
    """A line for each kind, epsilon and reading, and the differences on the same fields."""
    lattice = round_lattice(CELLS)
    facts, model = PublicFacts(lattice, RECORDS), SpectralModel(lattice)
    window = Window.of(lattice.centres, lattice.spacing)
    way, neural, rng = Correction(window), ConvCnp(), np.random.default_rng(SEED)
    fields = {kind: [simulated(kind, lattice, rng) for _ in range(CHOOSING + judged)] for kind in SHOWN}
    belief = PublicPrior(0.0, SPREAD, RIDGE)
    for epsilon in EPSILONS:
        mu = float(gaussian_mu(epsilon, DELTA)) * (1.0 - 2.0**-40)
        for kind in SHOWN:
            scores: dict[str, list[list[Score]]] = {name: [] for name in READINGS}
            for share in RANGES:
                plan = model.prepare(
                    SpectralPlan(
                        "water-filled",
                        "exponential",
                        share * window.half,
                        belief,
                        mu,
                        RECORDS / CELLS,
                        signal=0.5,
                        rough=True,
                    )
                )
                noise, rows = np.random.default_rng(SEED + 1), []
                for field in fields[kind]:
                    grid_records = GridRecords(field.records.index, field.records.count, field.records.units)
                    public_counts = PublicCounts("unknown", float(grid_records.n))
                    pair = both(model, plan, grid_records, public_counts, way, judge, noise)
                    rows.append([scored(release, field.truth) for release in pair])
                for name, column in zip(READINGS[:2], zip(*rows, strict=True), strict=True):
                    scores[name].append(list(column))
            for width in WIDTHS[:4]:
                design = ConvCnpDesign(width * window.half, 0.0, SPREAD, 1.0, RIDGE, mu)
                scores["convcnp"].append(
                    [
                        scored(
                            neural.prepare(design, facts, field.records).without_paths(
                                SimulationEntropy(SEED + k), 1
                            )[0],
                            field.truth,
                        )
                        for k, field in enumerate(fields[kind])
                    ]
                )
            best = {
                name: max(rows, key=lambda row: np.mean([score.iou for score in row[:CHOOSING]]))[CHOOSING:]
                for name, rows in scores.items()
            }
            for name, row in best.items():
                values = np.array([[score.iou, score.nll, score.held] for score in row])
                text = f"{kind:8}  {epsilon:7.1f}  {name:9}  " + "  ".join(
                    f"{value:6.3f}" for value in values.mean(axis=0)
                )
                if name != "network":
                    ours = np.array([[score.iou, score.nll] for score in best["network"]])
                    less = ours - values[:, :2]
                    error = less.std(axis=0, ddof=1) / np.sqrt(len(less))
                    text += "   network less this: " + ", ".join(
                        f"{what} {mean:+.3f} ({se:.3f})"
                        for what, mean, se in zip(("IoU", "NLL"), less.mean(axis=0), error, strict=True)
                    )
                yield text


def london(project: Project, judge: Network, draws: int) -> Iterator[str]:
    """A line for each epsilon and reading."""
    free = None
    for epsilon in EPSILONS:
        question = replace(
            project,
            settings=project.settings.with_changes(
                epsilon=epsilon,
                mechanisms=("spectral-statistics",),
                unit="point",
                priors=("car", "exponential"),
            ),
        )
        result = search(replace(search_task(question, unconstrained=free), frontier=()))
        free, proposal = result.unconstrained, result.chosen
        design, facts = proposal.design, public_facts(question)
        model = SpectralModel(question.lattice)
        way = Correction(Window.of(question.lattice.domain_centres, question.lattice.spacing))
        rng = np.random.default_rng(SEED)
        probabilities: dict[str, list[Floats]] = {}
        for year, observations, number in (
            ("earlier", question.reference, CHOICES),
            ("later", question.private.placed, draws),
        ):
            records: CollapsedRecords = bin_records(observations, proposal.response, "point", None)
            scene = make_scene(facts, Question.of(question), observations, proposal.response)
            prepared = mechanism_of(design).prepare(design, facts, records)
            pairs = [
                both(model, prepared.plan, prepared.records, prepared.known, way, judge, rng)
                for _ in range(number)
            ]
            for name, column in zip(READINGS[:2], zip(*pairs, strict=True), strict=True):
                probabilities[f"{name} {year}"] = [scene.world.probabilities(release) for release in column]
        baseline = curators_map(question, result.model).inside
        free_set = free_map(question, result.model)
        for name in READINGS[:2]:
            cutoff = max(
                CUTOFFS,
                key=lambda cut: np.mean(
                    [iou(agreed(field, cut), free_set) for field in probabilities[f"{name} earlier"]]
                ),
            )
            values = np.array(
                [iou(agreed(field, cutoff), baseline) for field in probabilities[f"{name} later"]]
            )
            yield (
                f"{epsilon:7.1f}  {name:9}  {values.mean():.3f}  {values.std(ddof=1):.3f}  "
                f"{iou(free_set, baseline):.3f}  cutoff {cutoff:g}, range {design.lengthscale:.4g} m"
            )


def coverage(judge: Network, domains: int, per_domain: int) -> Iterator[str]:
    """NLL and shares of the true values within stated intervals, by the reading and by the network."""
    pool = {name: part.astype(np.float32) for name, part in make_pool(SEED + 2, domains, per_domain).items()}
    channels, truth = pool["channels"], pool["truth"]
    shift, factor = judge(channels, pool["context"])
    inside = np.repeat(np.repeat(channels[:, -1], 2, axis=1), 2, axis=2) > 0
    for name, mean, sd in (
        ("posterior", channels[:, 0], channels[:, 1]),
        ("network", channels[:, 0] + shift, np.maximum(channels[:, 1] * factor / NEUTRAL, LEAST_SD)),
    ):
        apart, deviation = np.abs(truth - finer(mean)) / finer(sd), finer(sd)
        nll = 0.5 * np.square(apart) + np.log(deviation) + 0.5 * np.log(2.0 * np.pi)

        def over(values: Floats) -> float:
            return float(np.mean([row[at].mean() for row, at in zip(values, inside, strict=True)]))

        shares = [over(apart <= ndtri(0.5 + level / 2.0)) for level in LEVELS]
        yield f"{name:9}  {over(nll):6.3f}  " + "  ".join(f"{share:.3f}" for share in shares)


def timings() -> Iterator[str]:
    """CPU seconds of the public work, once per domain, range and budget, and of one release after it."""
    for cells in TIMED:
        lattice = round_lattice(cells)
        half = Window.of(lattice.centres, lattice.spacing).half
        design = ConvCnpDesign(0.4 * half, 0.0, SPREAD, 1.0, RIDGE, 0.25, sums="water-filled", paths=100)
        records = simulated("smooth", lattice, np.random.default_rng(SEED)).records
        begun = time.process_time()
        prepared = ConvCnp().prepare(design, PublicFacts(lattice, RECORDS), records)
        ready = time.process_time()
        prepared.draw(SystemEntropy())
        yield f"{cells:6,}  {ready - begun:7.2f}  {time.process_time() - ready:7.2f}"


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--weights", type=Path, default=STORED_CORRECTION, help="a file of weights")
    parser.add_argument("--draws", type=int, default=60, help="simulated releases of the later year")
    parser.add_argument("--judged", type=int, default=JUDGED, help="fields of each kind")
    parser.add_argument("--only", choices=("fields", "london", "time"), help="a part alone")
    options = parser.parse_args()
    begun = time.process_time()
    judge = network(options.weights, CORRECTION)
    print(f"Seed {SEED}, delta {DELTA:g}.")
    if options.only in (None, "fields"):
        print(
            f"{CELLS:,} hexagons, {RECORDS:,} records, {CHOOSING} fields to choose on, {options.judged} "
            "judged."
        )
        print("field     epsilon  reading    IoU     NLL     in 90 %")
        for line in contests(judge, options.judged):
            print(line, flush=True)
        print("256 simulated tasks of the training's own law: NLL, share within 50, 90 and 95 % intervals.")
        for line in coverage(judge, 16, 16):
            print(line, flush=True)
    if options.only in (None, "time"):
        print("CPU seconds by the shipped weights: cells, public work once, one release with 100 paths.")
        for line in timings():
            print(line, flush=True)
    if options.only in (None, "london"):
        print(f"London, {options.draws} simulated releases of the later year, point records.")
        print("sales      epsilon  reading    IoU    SD     free   design")
        for name, project in both_sales(options.folder):
            for line in london(project, judge, options.draws):
                print(f"{name:9}  {line}", flush=True)
    print(f"The whole benchmark took {time.process_time() - begun:.0f} s of CPU time.")


if __name__ == "__main__":
    main()

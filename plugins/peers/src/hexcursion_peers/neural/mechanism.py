"""The neural process: noisy smooth sums over the map, once, and a network trained on simulated fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.errors import DesignError
from dpgp_core.features.eigen import FolderStore
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Mechanism, SearchSpace
from dpgp_core.mechanisms.design import MU, NUMBER, RIDGE, Budget, Design, Parameter, Protection, SearchSpec
from dpgp_core.mechanisms.grids import CUTOFFS, tried
from dpgp_core.noise import Entropy, SimulationEntropy, distance_of
from dpgp_core.numbers import significant
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.simulation import SEED, World
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.model import SpectralModel
from dpgp_core.spectral.sums import ExactNoise, GridRecords, SpectralSums, release_sums
from hexcursion_peers.neural.corrected import CORRECTION, Correction
from hexcursion_peers.neural.lattice import Window
from hexcursion_peers.neural.plan import (
    NARROWEST,
    WIDEST,
    Accounting,
    EncoderPlan,
    PublicInputs,
    channel_noise,
    priced,
)
from hexcursion_peers.neural.simulated.tasks import WIDTHS
from hexcursion_peers.neural.water_filled import LONGEST, SHORTEST, WaterFilledPlan
from hexcursion_peers.neural.weights import STORED_CORRECTION, network

Sums = Literal["set-convolution", "water-filled"]
"""Summed functions: kernels on a lattice, or features of spectral statistics, whose reading is corrected."""

RANGES = (0.25, 0.5, 1.0)  # of the prior for water-filled sums, window units
RIDGES = (0.5, 1.0, 2.0)  # scatter of a record in units of the field's deviation
AMPLITUDES = (1.0, 1.6)  # of the public spread, which plumes and steps exceed
STEP = 1.4  # of the local stage, up and down from there
PATHS = 100  # paths drawn after the noise cost nothing


@dataclass(frozen=True)
class ConvCnpDesign(Design):
    """Smooth sums with Gaussian noise, and what the network gets to know of the field.

    Parameters
    ----------
    width
        Length scale of the encoder's kernel, or range of the water-filled sums' prior, metres, > 0: wider
        means fewer and less noisy numbers.
    middle
        Mean of the field before clipping, response units, from public knowledge.
    spread
        What the reference says of the field's standard deviation, response units, > 0.
    amplitude
        Standard deviation that the network gets, in units of `spread`, > 0.
    ridge
        Scatter of one record around its cell's value, in units of that deviation, > 0.
    mu
        Gaussian-DP parameter that the release may cost, > 0: smaller is safer.
    accounting
        "joint" (both channels change for the same record) or "paper" (each by itself, composed: more noise).
    sums
        "set-convolution" (the paper's kernel sums on a lattice) or "water-filled" (those of spectral
        statistics, whose reading the network corrects).
    """

    mechanism: ClassVar[str] = "convcnp"

    width: float
    middle: float
    spread: float
    amplitude: float
    ridge: float
    mu: float
    accounting: Accounting = "joint"
    sums: Sums = "set-convolution"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("width", "spread", "amplitude", "ridge", "mu")
        if not np.isfinite(self.middle):
            raise DesignError(f"middle must be a finite number, got {self.middle!r}.")
        self.refuse_unless_among("accounting", get_args(Accounting))
        self.refuse_unless_among("sums", get_args(Sums))
        self.refuse_smoothing()

    def told(self, number: int) -> PublicInputs:
        """The facts that the network gets with a release of `number` records."""
        return PublicInputs(number, self.middle, self.spread * self.amplitude, self.ridge)


@dataclass(frozen=True)
class _SimulatedNoise:
    """The same law in floating point, which is quicker: for simulations only."""

    source: SimulationEntropy

    def rounded_normal(self, scale: float, size: int) -> np.ndarray:
        return np.rint(scale * self.source.normal((size,))).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _PreparedSums:
    """The plan and the records, ready for the noise."""

    design: ConvCnpDesign
    plan: EncoderPlan | WaterFilledPlan
    records: CollapsedRecords

    def release(self, entropy: Entropy) -> SpectralSums:
        """Draw both channels once."""
        grid_records = GridRecords(self.records.index, self.records.count, self.records.units)
        noise = _noise(self.design, self.plan)
        source = _SimulatedNoise(entropy) if isinstance(entropy, SimulationEntropy) else ExactNoise(entropy)
        return release_sums(self.plan.features, self.plan.nodes, grid_records, noise, source)

    def fields(self, released: Sequence[SpectralSums]) -> tuple[Floats, Floats]:
        """(R, N) means and deviations that the network reads from R releases."""
        sums = np.array([release.sums for release in released])
        counts = np.array([release.counts for release in released], dtype=float)
        return self.plan.field(sums, counts, released[0].noise, self.design.told(self.records.n))

    def draw(self, entropy: Entropy) -> Released:
        released = self.release(entropy)
        means, sds = self.fields([released])
        mean, sd = means[0], sds[0]
        inputs = self.design.told(self.records.n)
        paths = mean + sd * self.plan.deviates(released, inputs, self.design.paths, entropy)
        raw = (released.sums,) if released.counts is None else (released.sums, released.counts)
        return Released(paths, mean, sd, raw)

    def without_paths(self, entropy: Entropy, releases: int) -> list[Released]:
        """Simulated releases judged by their probabilities only."""
        means, sds = self.fields([self.release(entropy) for _ in range(releases)])
        return [Released(mean[None], mean, sd) for mean, sd in zip(means, sds, strict=True)]


def window_of(facts: PublicFacts) -> Window:
    """The public window of the domain, kept with the domain's other shared work."""
    lattice = facts.lattice
    return facts.cache.keep(
        "convcnp window", None, lambda: Window.of(lattice.domain_centres, lattice.spacing)
    )


class ConvCnpSpace(SearchSpace):
    """Widths within what the network was trained for."""

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[ConvCnpDesign, ...]:
        """The widths of the training; middle and spread of the field are those of a world: `fitted`."""
        half = window_of(facts).half
        corrected = tuple(
            ConvCnpDesign(
                float(f"{share * half:.6g}"), 0.0, 0.5, 1.0, 1.0, 1.0, sums="water-filled", paths=PATHS
            )
            for share in (RANGES[1:2] if ask.quick else RANGES)
        )
        return corrected + tuple(
            ConvCnpDesign(float(f"{width * half:.6g}"), 0.0, 0.5, amplitude, ridge, 1.0, paths=PATHS)
            for width in (WIDTHS[1::2] if ask.quick else WIDTHS)
            for ridge in tried(RIDGES, ask.thorough)
            for amplitude in tried(AMPLITUDES, ask.thorough, 0)
        )

    def refinement(
        self, best: Sequence[ConvCnpDesign], facts: PublicFacts, ask: SearchSpec
    ) -> tuple[ConvCnpDesign, ...]:
        """One parameter moved at a time, within what the network was trained for."""
        half = window_of(facts).half
        ends = {"set-convolution": (NARROWEST, WIDEST), "water-filled": (SHORTEST, LONGEST)}
        neighbours = [
            replace(design, **{name: getattr(design, name) * factor})
            for design in best
            for name in ("width", "amplitude", "ridge")
            for factor in (STEP, 1.0 / STEP)
        ]
        return tuple(
            design
            for design in neighbours
            if ends[design.sums][0] <= design.width / half <= ends[design.sums][1]
        )

    def fitted(self, design: ConvCnpDesign, world: World) -> ConvCnpDesign:
        """Mean and spread of the field from the reference data of a world."""
        return replace(design, middle=float(f"{world.middle:.6g}"), spread=float(f"{world.spread:.6g}"))

    def group_of(self, design: ConvCnpDesign) -> tuple[str, float]:
        return design.sums, design.width

    def place_of(self, design: ConvCnpDesign, facts: PublicFacts) -> ConvCnpDesign:
        return replace(design, mu=1.0, cutoff=0.5)

    def variants(self, design: ConvCnpDesign, ask: SearchSpec) -> tuple[ConvCnpDesign, ...]:
        return tuple(replace(design, cutoff=cutoff) for cutoff in CUTOFFS[:5])


class ConvCnp(Mechanism):
    """Release noisy smooth sums of responses and of ones; a trained network reads mean and deviation."""

    name = "convcnp"
    title = "Neural process"
    summary = (
        "Adds noise to smooth sums over the map, once; a network trained on simulated fields turns them into "
        "a map, and any number of maps follows at no further cost."
    )
    source = "plugins/peers/docs/convcnp.md, Theorem 1"
    protection = Protection("values and places", ("point", "cell"))
    design_type = ConvCnpDesign
    space = ConvCnpSpace
    parameters = (
        Parameter("width", "encoder_width", "length"),
        RIDGE,
        Parameter("amplitude", "model_scale", "positive"),
        MU,
        NUMBER,
    )
    free_paths = True
    exact_on_a_computer = True

    def guarantee(self, design: ConvCnpDesign, facts: PublicFacts) -> Guarantee:
        """Exact mu of the Gaussian mechanism, from the extremes of the rounded features themselves."""
        plan = self.plan(design, facts)
        mu = priced(plan.products, _noise(design, plan), design.accounting)
        return Guarantee.gaussian(Cost.gaussian(mu, distance_of(2 * plan.features.size)), self.source)

    def calibrate(self, design: ConvCnpDesign, facts: PublicFacts, budget: Budget) -> ConvCnpDesign:
        return replace(design, mu=budget.mu)

    def prepare(self, design: ConvCnpDesign, facts: PublicFacts, records: CollapsedRecords) -> _PreparedSums:
        records.refuse_outside(facts.lattice.size)
        plan = self.plan(design, facts)
        # a damaged file of weights must not be found out after the charge
        network() if design.sums == "set-convolution" else network(STORED_CORRECTION, CORRECTION)
        zeros = np.zeros((1, plan.features.size))
        plan.field(zeros, zeros, _noise(design, plan), design.told(records.n))
        return _PreparedSums(design, plan, records)

    def plan(self, design: ConvCnpDesign, facts: PublicFacts) -> EncoderPlan | WaterFilledPlan:
        """Everything public of a design, kept likewise."""
        lattice = facts.lattice
        if design.sums == "water-filled":
            store = None if facts.store is None else FolderStore(facts.store)
            model = facts.cache.keep(
                "spectral model", len(facts.parents), lambda: SpectralModel(lattice, store, facts.parents)
            )
            way = facts.cache.keep("convcnp correction", None, lambda: Correction(window_of(facts)))
            return WaterFilledPlan(
                model, way, design.width, design.mu, facts.n / lattice.size, facts.counts, facts.single
            )
        nodes = facts.cache.keep("convcnp nodes", None, lambda: Nodes.of(lattice))
        return facts.cache.keep(
            "convcnp plan",
            design.width,
            lambda: EncoderPlan.of(lattice, window_of(facts), nodes, design.width),
        )

    def describe(self, design: ConvCnpDesign) -> str:
        what = "water-filled sums, range {} m" if design.sums == "water-filled" else "encoder {} m wide"
        return (
            f"{what.format(significant(design.width, 4))}, mu {significant(design.mu, 4)}; told "
            f"a spread of {significant(design.spread * design.amplitude, 3)} and a scatter of "
            f"{significant(design.ridge, 3)}"
        )


def _noise(design: ConvCnpDesign, plan: EncoderPlan | WaterFilledPlan) -> SpectralNoise:
    return channel_noise(design.mu, plan.products, design.accounting)


questions.simulated_sets.register(ConvCnpDesign)(questions.sets_without_paths)
questions.held_out.register(ConvCnpDesign)(questions.held_out_without_paths)


@questions.simulate.register
def _simulate(design: ConvCnpDesign, world: World, *, quick: bool = False) -> Bools:
    return questions.simulate_without_paths(design, world, SEED + 8)


@questions.receipt_lines.register
def _receipt_lines(design: ConvCnpDesign) -> tuple[tuple[str, str], ...]:
    return (
        *questions.receipt_lines.dispatch(object)(design),
        (
            "Joint law",
            "Mean and deviation of each hexagon are the network's; that paths vary together over the "
            "encoder's width is an assumption, so read areas and contours off them with care.",
        ),
    )


@questions.seen.register
def _seen(
    design: ConvCnpDesign,
    facts: PublicFacts,
    records: CollapsedRecords,
    cells: Sequence[int],
    draws: questions.Draws,
) -> Floats:
    """The released numbers themselves, which are the same wherever an attack looks."""
    prepared = ConvCnp().prepare(design, facts, records)
    releases = [prepared.release(draws.entropy) for _ in range(draws.releases)]
    return np.array(
        [np.concatenate([release.sums, np.asarray(release.counts)])[None] for release in releases]
    )

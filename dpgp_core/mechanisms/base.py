"""What a mechanism is: the questions that every one of them answers, and nobody else asks by name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import ndtr, ndtri

from dpgp_core.accounting.gaussian import gaussian_epsilon, gaussian_mu
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.errors import BoundRefused, InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Budget, Design, Parameter, Protection, Reads, SearchSpec
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import Prepared, PublicFacts, to_grid, up_to_grid
from dpgp_core.simulation import World

DRAWS = 100  # draws of the field that go along with paths which are none themselves
DRAW_STEP = 2.0**-10
"""Draws are rounded to multiples of this public step, response units: far finer than any deviation."""

WITHIN = 0.9
"""Probability of the interval in which a mixture of readings and the normal law that stands for it agree."""

HALVINGS = 16

ANY_BUDGET = Budget(1.0, 1e-5)  # of designs that are compared without their noise

LEAST_WEIGHT = 0.02  # beliefs with less posterior weight than this are left out


@dataclass(frozen=True, eq=False)
class Reading:
    """The posterior of the field given what was released: post-processing, free."""

    # mean, sd: (N,) response units: exceedance probabilities follow at every threshold
    mean: Floats
    sd: Floats
    draws: Floats  # (J, N) joint draws, response units

    def __post_init__(self) -> None:
        if not (self.mean.shape == self.sd.shape == self.draws.shape[1:]):
            raise InvalidValue("mean, deviation and draws of a reading need one number per cell.")
        if not all(np.all(np.isfinite(part)) for part in (self.mean, self.sd, self.draws)):
            raise InvalidValue("a reading must be finite.")
        if np.any(self.sd < 0):
            raise InvalidValue("a reading's deviation must not be negative.")

    def on_grid(self) -> Reading:
        """The same on public grids; deviations are rounded up."""
        return Reading(to_grid(self.mean), up_to_grid(self.sd), np.round(self.draws / DRAW_STEP) * DRAW_STEP)

    def shuffled(self, entropy: Entropy) -> Reading:
        """The same with its draws in an order that tells no belief."""
        return Reading(self.mean, self.sd, self.draws[np.argsort(entropy.uniform(len(self.draws)))])

    def shifted(self, prior_mean: Floats | None) -> Reading:
        """With a public prior mean (N,), response units, added back to the field."""
        if prior_mean is None:
            return self
        return Reading(self.mean + prior_mean, self.sd, self.draws + prior_mean)


def mixed(readings: Sequence[Reading], weight: Floats) -> Reading:
    """The mixture of B readings as one, by posterior weights (B,) that sum to 1; its draws are all of theirs.

    Its mean is the mixture's, and its deviation is that for which the normal law's interval of probability
    WITHIN holds so much of the mixture. One with the mixture's variance would mostly tell how wide the widest
    beliefs are, however unlikely.
    """
    means = np.array([reading.mean for reading in readings])
    spreads = np.maximum([reading.sd for reading in readings], 1e-12)
    mean, reach = weight @ means, float(ndtri(0.5 + 0.5 * WITHIN))
    apart = means - mean
    least, most = spreads.min(axis=0), (spreads + np.abs(apart) / reach).max(axis=0)
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        low, high = ((sign * reach * middle - apart) / spreads for sign in (-1.0, 1.0))
        enough = weight @ (ndtr(high) - ndtr(low)) >= WITHIN
        least, most = np.where(enough, least, middle), np.where(enough, middle, most)
    return Reading(mean, most, np.concatenate([reading.draws for reading in readings]))


def shares(weight: Floats, count: int) -> list[int]:
    """Whole numbers that sum to `count`, in proportion to weights (B,)."""
    ends = np.rint(np.cumsum(weight) * count).astype(int)
    return [int(number) for number in np.diff(np.concatenate([[0], ends]))]


class SearchSpace:
    """What a search may try of a mechanism: by default the one design that its class makes without a choice.

    A mechanism with more to try names a subclass as its `space`.
    """

    stages: ClassVar[int] = 1  # how often a search looks around the best designs that it has found so far
    quick: ClassVar[bool] = False
    """Whether simulations are quick enough for a local search at every budget of a frontier."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[Design, ...]:
        """Designs for the search, noise still open, those that share work next to each other.

        By default one, of its class's own numbers. Raises DesignError where one has no default.
        """
        paths = {"paths": ask.paths} if "paths" in self.mechanism.reads else {}
        return (self.mechanism.design_type.from_mapping(paths),)

    def fixed(self, spacing: float, looks: int = 1) -> Design | None:
        """The design, noise still open, that is released unsearched where no reference data say anything.

        None where the mechanism has none: it is then searched for on simulated fields. `spacing` of the cells
        is in metres; `looks` is 2 for a second look made from what a first released.
        """
        return None

    def given(self, facts: PublicFacts, ask: SearchSpec, lengthscale: float, ridge: float) -> Design | None:
        """The design that a curator means by a lengthscale (metres) and a ridge; None if nothing."""
        return None

    def group_of(self, design: Any) -> tuple[Any, ...]:
        """Designs with the same answer share expensive work in a simulation."""
        return (getattr(design, "prior", ""), getattr(design, "lengthscale", 0.0))

    def fitted(self, design: Any, world: World) -> Design:
        """The design with what a world's reference data say about its reading; unchanged by default."""
        return cast(Design, design)

    def unpriced(self, design: Any, facts: PublicFacts) -> Design:
        """The design with its noise taken out: equal for designs that differ in their noise only.

        By default with the noise of one and the same budget.
        """
        return self.mechanism.calibrate(design, facts, ANY_BUDGET) or cast(Design, design)

    def place_of(self, design: Any, facts: PublicFacts) -> Design:
        """The design with noise and free post-processing taken out: where the local stage looks around."""
        return self.unpriced(design, facts)

    def refinement(self, best: Sequence[Any], facts: PublicFacts, ask: SearchSpec) -> tuple[Design, ...]:
        """Designs near the best ones, for a local stage of the search; none by default."""
        return ()

    def variants(self, design: Any, ask: SearchSpec) -> tuple[Design, ...]:
        """The design with every free post-processing (smoothing, cutoff) that the search should try."""
        return (design,)

    def varied(self, design: Any, name: str, value: float) -> Design:
        """The design with one of its mechanism's `parameters` changed."""
        if name in design.held:
            return cast(Design, design)
        kinds = {parameter.name: parameter.kind for parameter in self.mechanism.parameters}
        return cast(Design, replace(design, **{name: int(value) if kinds[name] == "count" else value}))


def _refused(guarantee: Callable[..., Guarantee]) -> Callable[..., Guarantee]:
    @wraps(guarantee)
    def checked(self: Mechanism, design: Any, facts: PublicFacts) -> Guarantee:
        self.refuse_unprotected(facts)
        if facts.owner is None:
            return guarantee(self, design, facts)
        one = guarantee(self, design, replace(facts, owner=None))
        apart = self.apart_mu(design, facts.owner.records) if facts.owner.apart else None
        return one.of_owner(facts.owner.records, apart)

    return checked


def _nothing(calibrate: Callable[..., Design | None]) -> Callable[..., Design | None]:
    @wraps(calibrate)
    def checked(self: Mechanism, design: Any, facts: PublicFacts, budget: Budget) -> Design | None:
        if self.protection.refusal(facts):
            return None
        if facts.owner is None:
            return calibrate(self, design, facts, budget)
        return _for_owner(self, partial(calibrate, self), design, facts, budget)

    return checked


OWNER_STEPS = 12  # tries at the price of one record that spends an owner's whole budget
UNSPENT = 1e-6  # share of an owner's budget, in mu, that may be left


def _for_owner(
    mechanism: Mechanism,
    calibrate: Callable[..., Design | None],
    design: Any,
    facts: PublicFacts,
    budget: Budget,
) -> Design | None:
    """The design with about the least noise at which all records of an owner together meet the budget.

    Calibrated for one record at a share of the budget's mu, which starts at 1 in the number of records and
    follows what the design is then proved to cost an owner. None where no such share can be met.
    """
    single, most, best = replace(facts, owner=None), budget.mu, None
    share = most / (facts.owner.records if facts.owner else 1)
    for _ in range(OWNER_STEPS):
        epsilon = gaussian_epsilon(share, budget.delta)
        made = calibrate(design, single, replace(budget, epsilon=epsilon)) if epsilon > 0.0 else None
        if made is None:
            return best
        proved = mechanism.guarantee(made, facts)
        found = proved.epsilon(budget.delta).epsilon
        if not math.isfinite(found):
            share *= 0.5
            continue
        spent = proved.exact_gaussian_mu or gaussian_mu(found, budget.delta)
        if found <= budget.epsilon:
            best = made
            if spent >= most * (1.0 - UNSPENT):
                break
        share *= most / spent * (1.0 - 0.1 * UNSPENT)
    return best


class Mechanism(ABC):
    """A way to release a field on hexagons privately: four methods to write, and no state in instances."""

    name: ClassVar[str]  # key in `MECHANISMS`
    # title, summary, source: in words: what it is called, what it does, and where it is proved
    title: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    protection: ClassVar[Protection]  # whom it protects, and what must be public for it
    design_type: ClassVar[type[Design]]  # class of its designs
    parameters: ClassVar[tuple[Parameter, ...]] = ()  # numbers of a design that a person may vary
    reads: ClassVar[tuple[Reads, ...]] = ()
    """Which choices of a person change its releases: others are refused, not ignored."""
    free_paths: ClassVar[bool] = False  # whether the number of paths costs nothing
    exact_on_a_computer: ClassVar[bool] = False
    """Whether the proof covers the numbers as a computer draws them, not only real numbers."""
    bounds: ClassVar[tuple[str, ...]] = ()
    """Names of its proved bounds that back its releases, beside the registered ones."""
    usual: ClassVar[bool] = False  # whether a search tries it unless told otherwise
    weighs_drift: ClassVar[bool] = False
    """Whether it can start from a published map and weigh how far the field has drifted since."""
    space: ClassVar[type[SearchSpace]] = SearchSpace  # what a search may try of it

    def __init_subclass__(cls) -> None:
        """Let a mechanism promise nothing under facts where its protection does not hold.

        That holds too where the method is of a class beside it that is no mechanism.
        """
        for name, where in (("guarantee", _refused), ("calibrate", _nothing)):
            home = next(each for each in cls.__mro__ if name in vars(each))
            if home is cls or not issubclass(home, Mechanism):
                setattr(cls, name, where(vars(home)[name]))

    def refuse_unprotected(self, facts: PublicFacts) -> None:
        """Raise `BoundRefused` under facts where the protection does not hold."""
        if why := self.protection.refusal(facts):
            raise BoundRefused(f"{self.title} {why}")

    @property
    def search(self) -> SearchSpace:
        """What a search may try of this mechanism."""
        return self.space(self)

    @abstractmethod
    def guarantee(self, design: Any, facts: PublicFacts) -> Guarantee:
        """The proved cost of one release, an upper bound from public facts; else BoundRefused."""

    def apart_mu(self, design: Any, q: int) -> float | None:
        """mu for q records exchanged at once, at most one in each cell before and after; an upper bound.

        None, the default, where nothing less than q times the price of one record is proved.
        """
        return None

    @abstractmethod
    def calibrate(self, design: Any, facts: PublicFacts, budget: Budget) -> Design | None:
        """The design with the least noise within the budget, otherwise as `design`; None if there is none.

        How much noise `design` has does not matter (of paths the share of prior noise does). Raises
        BoundRefused for a named bound that does not hold for the prior or is not proved.
        """

    @abstractmethod
    def prepare(self, design: Any, facts: PublicFacts, records: CollapsedRecords) -> Prepared:
        """Do everything before the draw that can fail, and return what `draw` releases once.

        It is made of PRIVATE records. Raises CoreError for a design that cannot be released.
        """

    @abstractmethod
    def describe(self, design: Any) -> str:
        """The parameters in one line, each with its word and unit of measure."""

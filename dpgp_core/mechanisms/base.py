"""The interface of a mechanism: four methods, a search space, and the guards around them."""

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

DRAWS = 100  # draws of the field for mechanisms whose paths are not draws of it
DRAW_STEP = 2.0**-10
"""Draws are rounded to multiples of this public step, response units: far finer than any
deviation."""

WITHIN = 0.9
"""Probability of the interval on which a mixture of readings and its normal approximation agree."""

HALVINGS = 16

ANY_BUDGET = Budget(1.0, 1e-5)  # common budget for comparing designs without their noise

LEAST_WEIGHT = 0.02  # beliefs with less posterior weight than this are left out


@dataclass(frozen=True, eq=False)
class Reading:
    """The posterior of the field given a release: post-processing, free."""

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
        """Round to public grids; deviations are rounded up."""
        return Reading(to_grid(self.mean), up_to_grid(self.sd), np.round(self.draws / DRAW_STEP) * DRAW_STEP)

    def shuffled(self, entropy: Entropy) -> Reading:
        """Shuffle the draws, so that their order does not reveal their beliefs."""
        return Reading(self.mean, self.sd, self.draws[np.argsort(entropy.uniform(len(self.draws)))])

    def shifted(self, prior_mean: Floats | None) -> Reading:
        """Add a public prior mean (N,), response units, back to the field."""
        if prior_mean is None:
            return self
        return Reading(self.mean + prior_mean, self.sd, self.draws + prior_mean)


def mixed(readings: Sequence[Reading], weight: Floats) -> Reading:
    """Combine B readings by posterior weights (B,) that sum to 1; the result has the draws of all.

    Its mean is the mixture's mean. Its deviation is that of the normal law whose central interval
    of probability WITHIN also has probability WITHIN under the mixture. The mixture's own variance
    would mostly reflect the widest beliefs, however unlikely.
    """
    # Bisection between two bounds: a normal law narrower than every belief contains too little of
    # the mixture, and one that reaches as far as every belief contains enough.
    means = np.array([reading.mean for reading in readings])
    spreads = np.maximum([reading.sd for reading in readings], 1e-12)
    mean, reach = weight @ means, float(ndtri(0.5 + 0.5 * WITHIN))
    apart = means - mean
    lower, upper = spreads.min(axis=0), (spreads + np.abs(apart) / reach).max(axis=0)
    for _ in range(HALVINGS):
        middle = 0.5 * (lower + upper)
        low, high = ((sign * reach * middle - apart) / spreads for sign in (-1.0, 1.0))
        enough = weight @ (ndtr(high) - ndtr(low)) >= WITHIN
        lower, upper = np.where(enough, lower, middle), np.where(enough, middle, upper)
    return Reading(mean, upper, np.concatenate([reading.draws for reading in readings]))


def shares(weight: Floats, count: int) -> list[int]:
    """Whole numbers that sum to `count`, in proportion to weights (B,)."""
    # Differences of rounded cumulative sums: rounding errors do not accumulate.
    ends = np.rint(np.cumsum(weight) * count).astype(int)
    return [int(number) for number in np.diff(np.concatenate([[0], ends]))]


class SearchSpace:
    """Candidate designs of a mechanism: by default the one design with the defaults of its class.

    A mechanism with more candidates names a subclass as its `space`.
    """

    stages: ClassVar[int] = 1  # number of local stages of a search around its best designs
    quick: ClassVar[bool] = False
    """Whether simulations are quick enough for a local search at every budget of a frontier."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[Design, ...]:
        """Designs for the search, noise still open, those that share work next to each other.

        By default one, with the defaults of its class. Raises DesignError if a parameter has no
        default.
        """
        paths = {"paths": ask.paths} if "paths" in self.mechanism.reads else {}
        return (self.mechanism.design_type.from_mapping(paths),)

    def fixed(self, spacing: float, looks: int = 1) -> Design | None:
        """The design, noise still open, for a release without reference data and without a search.

        None if the mechanism has no such design: a search on simulated fields then chooses one.
        `spacing` of the cells is in metres; `looks` is 2 for a second look that depends on the
        released first look.
        """
        return None

    def given(self, facts: PublicFacts, ask: SearchSpec, lengthscale: float, ridge: float) -> Design | None:
        """The design for a curator's lengthscale (metres) and ridge; None if they define no
        design."""
        return None

    def group_of(self, design: Any) -> tuple[Any, ...]:
        """Designs with the same answer share expensive work in a simulation."""
        return (getattr(design, "prior", ""), getattr(design, "lengthscale", 0.0))

    def fitted(self, design: Any, world: World) -> Design:
        """Fit the design's reading to a world's reference data; unchanged by default."""
        return cast(Design, design)

    def unpriced(self, design: Any, facts: PublicFacts) -> Design:
        """Normalise the noise, so that designs that differ in their noise only become equal.

        By default this is the noise of one common budget.
        """
        return self.mechanism.calibrate(design, facts, ANY_BUDGET) or cast(Design, design)

    def place_of(self, design: Any, facts: PublicFacts) -> Design:
        """Normalise noise and free post-processing: the centre of the local stage."""
        return self.unpriced(design, facts)

    def refinement(self, best: Sequence[Any], facts: PublicFacts, ask: SearchSpec) -> tuple[Design, ...]:
        """Designs near the best ones, for a local stage of the search; none by default."""
        return ()

    def variants(self, design: Any, ask: SearchSpec) -> tuple[Design, ...]:
        """The design with every free post-processing (smoothing, cutoff) that the search should
        try."""
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
        single = guarantee(self, design, replace(facts, owner=None))
        apart = self.apart_mu(design, facts.owner.records) if facts.owner.apart else None
        return single.of_owner(facts.owner.records, apart)

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


OWNER_STEPS = 12  # largest number of steps towards the price of one record that spends an owner's budget
UNSPENT = 1e-6  # share of an owner's budget, in mu, that may remain


def _for_owner(
    mechanism: Mechanism,
    calibrate: Callable[..., Design | None],
    design: Any,
    facts: PublicFacts,
    budget: Budget,
) -> Design | None:
    """The design with about the least noise at which all records of an owner together meet the
    budget.

    Each step calibrates for one record at a share of the budget's mu. The share starts at 1 over
    the number of records, and each step scales it by the proved cost of the last design for an
    owner. None if no share can be met.
    """
    single, budget_mu, best = replace(facts, owner=None), budget.mu, None
    share = budget_mu / (facts.owner.records if facts.owner else 1)
    for _ in range(OWNER_STEPS):
        epsilon = gaussian_epsilon(share, budget.delta)
        candidate = calibrate(design, single, replace(budget, epsilon=epsilon)) if epsilon > 0.0 else None
        if candidate is None:
            return best
        proved = mechanism.guarantee(candidate, facts)
        epsilon_of_owner = proved.epsilon(budget.delta).epsilon
        if not math.isfinite(epsilon_of_owner):
            share *= 0.5
            continue
        # The cost of an owner is nearly proportional to the share: a secant step, a little below
        # the target so that it is met.
        spent = proved.exact_gaussian_mu or gaussian_mu(epsilon_of_owner, budget.delta)
        if epsilon_of_owner <= budget.epsilon:
            best = candidate
            if spent >= budget_mu * (1.0 - UNSPENT):
                break
        share *= budget_mu / spent * (1.0 - 0.1 * UNSPENT)
    return best


class Mechanism(ABC):
    """A way to release a field on hexagons privately: four methods to write, and no state in
    instances."""

    name: ClassVar[str]  # key in `MECHANISMS`
    # title, summary, source: its name, its effect and the place of its proof, in words
    title: ClassVar[str]
    product: ClassVar[str] = ""  # what it publishes, where its title names a method instead
    summary: ClassVar[str]
    source: ClassVar[str]
    protection: ClassVar[Protection]  # the protected units, and the necessary public facts
    design_type: ClassVar[type[Design]]  # class of its designs
    parameters: ClassVar[tuple[Parameter, ...]] = ()  # numbers of a design that a person may vary
    reads: ClassVar[tuple[Reads, ...]] = ()
    """Choices of a person that change its releases: other choices are refused, not ignored."""
    free_paths: ClassVar[bool] = False  # whether the number of paths costs nothing
    exact_on_a_computer: ClassVar[bool] = False
    """Whether the proof covers the computer's draws, not only real numbers."""
    bounds: ClassVar[tuple[str, ...]] = ()
    """Names of its proved bounds for its releases, in addition to the registered ones."""
    usual: ClassVar[bool] = False  # whether a search tries it by default
    sole: ClassVar[bool] = False  # whether people are offered it without the other usual ones
    weighs_drift: ClassVar[bool] = False
    """Whether it can start from a published map and weigh the field's drift since."""
    space: ClassVar[type[SearchSpace]] = SearchSpace  # its candidates for a search

    def __init_subclass__(cls) -> None:
        """Guard `guarantee` and `calibrate`: neither promises anything if the protection does not
        hold.

        The guard also covers methods inherited from a class that is not a mechanism.
        """
        for name, where in (("guarantee", _refused), ("calibrate", _nothing)):
            home = next(base for base in cls.__mro__ if name in vars(base))
            if home is cls or not issubclass(home, Mechanism):
                setattr(cls, name, where(vars(home)[name]))

    @property
    def line(self) -> str:
        """The name of its line in a chart: its product, by default its title."""
        return self.product or self.title

    def refuse_unprotected(self, facts: PublicFacts) -> None:
        """Raise `BoundRefused` if the protection does not hold under these facts."""
        if why := self.protection.refusal(facts):
            raise BoundRefused(f"{self.title} {why}")

    @property
    def search(self) -> SearchSpace:
        """The candidates of this mechanism for a search."""
        return self.space(self)

    @abstractmethod
    def guarantee(self, design: Any, facts: PublicFacts) -> Guarantee:
        """The proved cost of one release, an upper bound from public facts; else BoundRefused."""

    def apart_mu(self, design: Any, q: int) -> float | None:
        """mu for q records exchanged at once, at most one in each cell before and after; an upper
        bound.

        None, the default, if the only proved price is q times that of one record.
        """
        return None

    @abstractmethod
    def calibrate(self, design: Any, facts: PublicFacts, budget: Budget) -> Design | None:
        """The design with the least noise within the budget, otherwise equal to `design`; None if
        none exists.

        The noise of `design` itself does not matter, except for the share of prior noise in paths.
        Raises BoundRefused for a named bound that does not hold for the prior or is not proved.
        """

    @abstractmethod
    def prepare(self, design: Any, facts: PublicFacts, records: CollapsedRecords) -> Prepared:
        """Do every step that can fail before the draw, and return an object that `draw` releases
        once.

        It contains PRIVATE records. Raises CoreError for a design that cannot be released.
        """

    @abstractmethod
    def describe(self, design: Any) -> str:
        """Describe the parameters in one line, each with its name and unit of measure."""

"""A release of several columns at once: prepared, drawn after one charge, and each layer read by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from dpgp_core._checks import refuse_bad_call
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.atlas.design import AtlasDesign, Columns, atlas_design
from dpgp_core.atlas.together import together
from dpgp_core.errors import InvalidValue, NumericalFailure
from dpgp_core.excursion import RANGE_DRAWS
from dpgp_core.mechanisms.beliefs import (
    GivenSums,
    Output,
    drifted_again,
    each_belief,
    read_drifted,
    read_sums,
    unseen_by,
)
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_release import known_counts, prepared_plan, public_counts_of
from dpgp_core.noise import Entropy, SimulationEntropy, SystemEntropy
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, Released, draw_release
from dpgp_core.spectral.model import Prepared as PreparedPlan
from dpgp_core.spectral.model import PublicCounts
from dpgp_core.spectral.prior import ClippedPrior
from dpgp_core.spectral.public_field import PublicField
from dpgp_core.spectral.rates import RateReading
from dpgp_core.spectral.sums import (
    ExactNoise,
    GridRecords,
    KeptSums,
    RoundedNoise,
    SpectralSums,
    release_sums,
)


@dataclass(frozen=True, eq=False)
class Atlas:
    """What left an atlas: nothing in it is private any more, everything computed from it is free."""

    layers: tuple[Released, ...]  # one for each column, each with the sums that it was read from

    def on_grid(self) -> Self:
        """The same on the public grid; deviations are rounded up to it."""
        return replace(self, layers=tuple(layer.on_grid() for layer in self.layers))


@dataclass(frozen=True, eq=False, repr=False)
class PreparedAtlas:
    """The exact integer sums' makers of all columns, ready for the noise."""

    design: AtlasDesign
    plan: PreparedPlan
    records: GridRecords  # private
    known: PublicCounts
    fields: tuple[PublicField, ...] = ()  # the published map of each column, if the release starts from them

    def released(self, source: RoundedNoise) -> SpectralSums:
        """What leaves the curator's hands, once."""
        plan = self.plan
        return release_sums(plan.features, plan.nodes, self.records, plan.noise, source)

    def draw(self, entropy: Entropy) -> Atlas:
        """One release of all layers; every call draws anew."""
        released, count = self.released(ExactNoise(entropy)), self.design.columns
        layers = (
            [released] if released.sums.ndim == 1 else [released.layer(column) for column in range(count)]
        )
        readings = self._drifted(layers, entropy) if self.fields else self._read(layers, entropy)
        fields = self.fields or (None,) * count
        releases = []
        for read, layer, field in zip(readings, layers, fields, strict=True):
            sums = KeptSums.of(layer, self.plan.features, self.known.cells, field)
            releases.append(replace(read, sums=sums))
        return Atlas(tuple(releases))

    def _read(self, layers: Sequence[SpectralSums], entropy: Entropy) -> Iterator[Released]:
        maps = RANGE_DRAWS if self.design.paths > 1 else 0
        output = Output(self.design.paths, entropy, maps)
        return _read_layers(self.design, self.plan, layers, self.known, output)

    def _drifted(self, layers: Sequence[SpectralSums], entropy: Entropy) -> Iterator[Released]:
        for layer, field in zip(layers, self.fields, strict=True):
            evidence = GivenSums(self.plan, layer, self.known)
            yield read_drifted(evidence, field, Output(self.design.paths, entropy))


def _read_layers(
    design: AtlasDesign,
    plan: PreparedPlan,
    layers: Sequence[SpectralSums],
    public_counts: PublicCounts,
    output: Output,
) -> Iterator[Released]:
    """Each column as a release of it alone with this noise; amounts of one reach share all but the sums."""
    amounts = design.ball.amounts
    layer_sums, joint = [layers[column].sums for column in amounts], None
    read_by = partial(unseen_by, design)
    shared: dict[float, tuple[RateReading, ...]] = {}  # by reach
    for column, released in enumerate(layers):
        layer_plan, layer = _plan_of(design, plan, column), released.in_reach(column)
        reach, evidence = design.ball.reach(column), GivenSums(layer_plan, layer, public_counts)
        if design.presence or column in design.answers:
            under = each_belief(evidence)
        else:
            if reach not in shared:
                shared[reach] = each_belief(evidence)
            under = tuple(replace(reading, seen=layer.sums) for reading in shared[reach])
        if column in amounts[:1] and design.reading == "likelier" and len(amounts) > 1:
            joint = together(layer_plan, under, layer_sums)
        if joint is not None and column in amounts:
            under = joint[amounts.index(column)]
        yield read_sums(evidence, read_by, output, under)


def _plan_of(design: AtlasDesign, plan: PreparedPlan, column: int) -> PreparedPlan:
    """The plan by which one column is read: by its law, in units of its reach."""
    if not design.reaches:
        return plan
    field = design.field_of(column)
    return replace(
        plan,
        plan=replace(plan.plan, field=field),
        noise=plan.noise.of_layer(column),
        prior=ClippedPrior.of(field),
        further=plan.further if field.law == "amount" else (),
    )


def read_atlas_again(
    design: AtlasDesign, facts: PublicFacts, released_sums: Sequence[KeptSums]
) -> tuple[Released, ...]:
    """Mean and deviation of every layer, as a release stated them, from the sums of all layers: free.

    Layers that were read together, as the sums chose, have a `map_mean`.

    `facts` as for one column (`read_again`). Without paths. Raises InvalidValue if a layer is missing, or the
    sums were made with other features, another noise than the design's, or other counts for each layer.
    """
    plan = prepared_plan(design, facts)
    layers = [sums.again(plan.features) for sums in released_sums]
    if len(layers) != design.columns:
        raise InvalidValue(f"this atlas has {design.columns} layers, and the sums of {len(layers)} are here.")
    if any(layer.noise != plan.noise for layer in layers):
        raise InvalidValue("the noise of these sums is not that of their design.")
    shared = [sums.counts for sums in released_sums if sums.counts is not None]
    if not design.presence and any(not np.array_equal(counts, shared[0]) for counts in shared):
        raise InvalidValue("layers of one atlas share their counts, and these do not.")
    public_counts = public_counts_of(facts, released_sums[0])
    if design.drift:
        pairs = zip(layers, released_sums, strict=True)
        return tuple(
            drifted_again(GivenSums(plan, layer, public_counts), sums.field) for layer, sums in pairs
        )
    output = Output(0, SimulationEntropy(0), RANGE_DRAWS)
    return tuple(_read_layers(design, plan, layers, public_counts, output))


def prepare_atlas(
    design: AtlasDesign,
    facts: PublicFacts,
    cells: Any,
    responses: Any,
    fields: Sequence[PublicField] = (),
) -> PreparedAtlas:
    """Do everything before the draw that can fail, and return what `draw_release` draws once.

    Parameters
    ----------
    design : AtlasDesign
        Calibrated for the budget.
    facts : PublicFacts
        The public facts, without a public field.
    fields : sequence of k PublicField, optional
        The published map of each column in its response units, for a design with drift; responses are then
        less these maps.
    cells : (n,) array_like of int
        The cell of each record: PRIVATE.
    responses : (n, k) array_like
        The responses of each record, NaN where one is missing: PRIVATE. They are cut to the design's ball.
        Answers are 1 for yes and -1 for no.

    Raises
    ------
    InvalidValue
        For records that cannot be released by this design.
    """
    values = np.asarray(responses, dtype=np.float64)
    if facts.field is not None or len(fields) != (design.columns if design.drift else 0):
        raise InvalidValue("an atlas starts from a published map of each of its columns, or from none.")
    if not design.presence and np.any(np.isnan(values)):
        raise InvalidValue("some values are missing: count the records that have each column (`presence`).")
    if design.presence and facts.neighbours == "values-only":
        raise InvalidValue(
            "who has a value is hidden with the places: make places private, or leave columns with gaps out."
        )
    exact = GridRecords.of_vectors(cells, values, design.ball)
    if exact.cell[-1] >= facts.lattice.size:
        raise InvalidValue("a record lies outside the domain.")
    if np.any(np.isnan(values).all(axis=0)):
        raise InvalidValue("a column has no value at all: leave it out.")
    mapped = tuple(replace(field, ball=design.ball) for field in fields)
    return PreparedAtlas(design, prepared_plan(design, facts), exact, known_counts(facts, exact), mapped)


def calibrated(design: AtlasDesign, facts: PublicFacts, budget: Budget) -> AtlasDesign:
    """Return the design with the least noise within the budget, otherwise the same.

    Raises InvalidValue where the mechanism does not protect under these facts.
    """
    cheapest = mechanism_named(design.mechanism).calibrate(design, facts, budget)
    if not isinstance(cheapest, AtlasDesign):
        raise InvalidValue("nothing is proved of an atlas under these public facts: name other neighbours.")
    return cheapest


def atlas_guarantee(design: AtlasDesign, facts: PublicFacts) -> Guarantee:
    """The proved cost of all layers of one release together: an upper bound from public facts.

    One layer alone is not promised more. Source: docs/spectral-statistics.md, Theorem D.
    """
    return mechanism_named(design.mechanism).guarantee(design, facts)


def release_atlas(
    values: Any,
    cells: Any,
    lattice: Lattice,
    epsilon: float,
    delta: float,
    *,
    presence: bool = False,
    reading: Columns | None = None,
    answers: Sequence[int] = (),
    weights: Sequence[float] = (),
) -> tuple[Released, ...]:
    """Release the fields of several columns of private records, together (epsilon, delta)-private.

    One record exchanged for another, all its values and its place, is hidden; the number of records is
    public. Every call draws anew and costs epsilon, for all columns together: nothing keeps account here.

    Parameters
    ----------
    values : (n, k) array_like
        Responses, k from 1 to 20: `(value - centre) / (1.6 scale)` with a public centre and a public guess of
        the standard deviation of each column. Values beyond -1 and 1 are cut to them, and vectors that are
        too long are shortened. NaN where a value is missing.
    cells : (n,) array_like of int
        The cell of each record, a position in the domain of `lattice`.
    lattice : Lattice
        The public domain, N cells.
    epsilon, delta : float
        The budget.
    presence : bool
        Whether values may be missing; then the records that have each column are counted apart.
    reading : "likelier" or "apart", optional
        Each column by itself or with all others, whichever the released sums make likelier, or each by
        itself. Answers, columns with missing values and columns of several weights are read apart, all
        others as is likelier, unless this says how.
    answers : sequence of int
        The columns, from 0 and increasing, that are answers: 1 for yes and -1 for no. Their layer is the
        probit of the share of yes, whose level of a share q is the q quantile of the normal law.
    weights : sequence of k floats
        Public priorities of the columns: twice the weight is half the noise. All alike if left out.

    Returns
    -------
    tuple of Released
        One layer for each column: `mean` and `sd`, (N,) in response units; `probability(level)`.

    Raises
    ------
    InvalidValue
        For values or cells that cannot be released, and an impossible budget; nothing is drawn then.
    NumericalFailure
        Where the computed cost exceeds the budget; nothing is drawn then.

    Examples
    --------
    >>> import numpy as np
    >>> from dpgp_core import Lattice, release_atlas
    >>> lattice = Lattice.grid(rows=6, columns=8, spacing=1000.0)
    >>> cells = np.arange(4800) % lattice.size
    >>> west = np.where(cells % 8 < 4, -0.6, 0.6)
    >>> layers = release_atlas(np.column_stack([west, -west]), cells, lattice, 1.0, 1e-5)
    >>> len(layers), layers[1].probability(0.0).shape
    (2, (48,))
    """
    try:
        responses, index = np.asarray(values, dtype=np.float64), np.asarray(cells)
    except (TypeError, ValueError):  # numpy's own words quote the value, which is private
        raise InvalidValue("values must be a table of numbers, one row for each record.") from None
    if responses.ndim != 2 or responses.shape[1] == 0:
        raise InvalidValue("values must be a table of numbers, one row for each record.")
    refuse_bad_call(index, len(responses), "row of values", lattice.size, epsilon)
    facts = PublicFacts(lattice, n=max(1, index.size))
    answers_and_weights = tuple(answers), _weights(weights, responses.shape[1])
    design = atlas_design(lattice.spacing, responses.shape[1], facts.n, presence, False, *answers_and_weights)
    usual: Columns = "apart" if presence or not design.alike else "likelier"
    design = calibrated(replace(design, reading=reading or usual), facts, Budget(epsilon, delta))
    ready = prepare_atlas(design, facts, index, responses)
    if not atlas_guarantee(design, facts).epsilon(delta).epsilon <= epsilon:
        raise NumericalFailure("this design does not keep the budget: choose a larger epsilon or delta.")
    return draw_release(ready, SystemEntropy()).layers


def _weights(weights: Sequence[float], columns: int) -> tuple[float, ...]:
    """Weights in the order of the columns, from 1/32 of the largest on."""
    checked_weights = tuple(float(weight) for weight in weights)
    if checked_weights and (
        len(checked_weights) != columns
        or not min(checked_weights) > 0.0
        or not max(checked_weights) <= 32.0 * min(checked_weights)
    ):
        raise InvalidValue("give each column one weight above 0, the largest at most 32 times the smallest.")
    return checked_weights

"""The cost of one release of spectral sums: the exact Gaussian parameter mu, for three
relations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

from dpgp_core._checks import positive
from dpgp_core.accounting.composition import HIDING, Neighbours
from dpgp_core.errors import InvalidValue, NumericalFailure
from dpgp_core.features.gridded import InnerProducts
from dpgp_core.spectral.ball import ONE_COLUMN, Ball

Relation: TypeAlias = Neighbours
"""Neighbouring relation; the counts are public under "values-only"."""

LEAST_WEIGHT = 0.3
"""Least weight of the counts: a release of few directions pays up to 4.4 % more noise for it."""

# Directed rounding: each factor outweighs the few ulps by which a formula below may be off, so that
# costs are rounded up and free weights down.
_UP = 1.0 + 2.0**-48
_DOWN = 1.0 - 2.0**-48


@dataclass(frozen=True)
class SpectralNoise:
    """Standard deviations of the noise: `sums` on `sum y phi`, `counts` on `sum phi` (None: not
    released).

    If a record has several columns, `sums` applies to the sums of each column, and with presence
    sums `counts` applies to the presence of each; `ball` contains all vectors of a record's
    responses.
    """

    sums: float
    counts: float | None
    ball: Ball = ONE_COLUMN
    unit: float = 1.0  # response that counts as 1 in these sums: the reach of a column read by itself

    def __post_init__(self) -> None:
        positive("the noise of the sums", self.sums)
        if self.counts is not None:
            positive("the noise of the counts", self.counts)
            # The proofs of Theorems C and D need b <= a, or B <= A (docs/spectral-statistics.md,
            # section 2).
            if self.counts < self.whole / self.ball.radius * math.sqrt(self.ball.parts):
                raise InvalidValue("counts need at least the noise of the sums: their weight is at most 1.")

    @property
    def whole(self) -> float:
        """Noise of the sums of whole responses, in response units."""
        return self.sums * self.unit

    def of_layer(self, column: int) -> SpectralNoise:
        """The same for the sums of one column in units of its reach."""
        unit = self.ball.reach(column)
        return self if unit == 1.0 else replace(self, sums=self.sums / unit, unit=unit)

    @property
    def weight(self) -> float:
        """Weight w of the counts, in [0, 1]: `sums/counts` for one column."""
        if self.counts is None:
            return 0.0
        return self.whole / self.ball.radius / self.counts * math.sqrt(self.ball.parts)

    @property
    def powers(self) -> tuple[float, float]:
        """A and B of Theorem D: those of the longest vector, and of all counts of a complete
        record."""
        # In the ball of radius R the longest vector has sum v_j^2/s^2 = R^2/s^2. With presence a
        # complete record adds to `parts` vectors of counts, whose noise is larger by sqrt(parts)
        # (Corollary 5).
        a = self.ball.radius**2 / self.whole**2
        return a, 0.0 if self.counts is None else self.ball.parts / self.counts**2


def _checked(relation: Relation) -> Relation:
    if relation not in HIDING:
        raise InvalidValue(f"unknown neighbouring relation {relation!r}: choose {', '.join(HIDING)}.")
    return relation


def release_mu(
    products: InnerProducts,
    noise: SpectralNoise,
    relation: Relation = "replace-one",
    *,
    counted: bool = False,
) -> float:
    """Gaussian-DP parameter mu of releasing the noisy sums (and counts) once, rounded upwards.

    `products` are the exact inner products of the released features. With `counted` every response
    is 1, and the sums are the only released counts. Some pair of records attains mu. Raises
    InvalidValue for an unknown relation, or if counts are released under "values-only" or missing
    under another relation.

    With a = 1/sums^2, b = 1/counts^2 <= a, responses in [-1, 1], and k, D the largest squared
    length and the largest squared distance of features (docs/spectral-statistics.md, Theorem C and
    its corollaries; of several columns Theorem D, with `noise.powers` for a and b):

        replace-one    mu^2 = max(4 a k, (a + b) D)
        add-or-remove  mu^2 = (a + b) k
        values-only    mu^2 = 4 a k

    For counted records an exchange moves the sums by a difference of two features, and one record
    more or less moves them by one feature: mu^2 = a D and a k.
    """
    relation = _checked(relation)
    if counted:
        square = _counted_square(products, noise, relation) / noise.sums**2
        return math.sqrt(square * _UP) * _UP
    if (noise.counts is None) != (relation == "values-only"):
        raise InvalidValue(
            "counts are released exactly when places are private: give both noises, or neither."
        )
    a, b = noise.powers
    largest, widest = products.largest_square, products.widest_square
    # Q(y, y') is convex, so a corner decides: opposite responses in one cell, or equal ones in the
    # two cells farthest apart in features (Theorem C). Corollary 2: one record more or less moves
    # both sums by one feature. Corollary 3: with public places the cell stays, and only opposite
    # responses remain.
    if relation == "replace-one":
        square = max(4.0 * a * largest, (a + b) * widest)
    elif relation == "add-or-remove":
        square = (a + b) * largest
    else:
        square = 4.0 * a * largest
    return math.sqrt(square * _UP) * _UP


def _counted_square(products: InnerProducts, noise: SpectralNoise | None, relation: Relation) -> float:
    """Squared sensitivity of sums whose responses are all 1."""
    # The corners of Theorem C with y = y' = 1 and without counts (docs/spectral-statistics.md,
    # section 4, "Counted records").
    if relation == "values-only" or (noise is not None and noise.counts is not None):
        raise InvalidValue("records that are counted have no values: their places are private, and one sum.")
    return products.widest_square if relation == "replace-one" else products.largest_square


def exchange_mu(
    products: InnerProducts, noise: SpectralNoise, relation: Relation, *, counted: bool = False
) -> float | None:
    """Gaussian-DP parameter of one exchanged record for an "add-or-remove" release, rounded
    upwards.

    Exact, as `release_mu`: the same noisy sums and counts, priced for the exchange. None for the
    other relations: "replace-one" is priced for it already, and "values-only" gives no guarantee
    for it.
    """
    return release_mu(products, noise, counted=counted) if _checked(relation) == "add-or-remove" else None


def free_weight(products: InnerProducts) -> float:
    """Largest weight w in [0, 1] of the counts at which they add nothing to the cost, rounded down.

    `(1 + w^2) D <= 4 k`, replace-one; 0 if two features are opposite.
    """
    # Corollary 1 (docs/spectral-statistics.md, section 2), with the exact D in place of 2 (1 +
    # kappa).
    if products.widest_square == 0.0:
        return 1.0
    square = 4.0 * products.largest_square / products.widest_square * _DOWN - 1.0
    return min(1.0, math.sqrt(max(0.0, square)) * _DOWN)


def noise_for(
    mu: float,
    products: InnerProducts,
    relation: Relation = "replace-one",
    weight: float | None = None,
    *,
    counted: bool = False,
    ball: Ball = ONE_COLUMN,
) -> SpectralNoise:
    """The least noise at which one release costs at most mu > 0; by default with counts that cost
    nothing.

    For "replace-one" the default weight, in (0, 1], is the largest that costs nothing, but at least
    LEAST_WEIGHT, whose cost is included. For "add-or-remove" it is 1, which gives squared
    sensitivity 2. Records that are `counted` have no other counts. `ball` contains the vectors of a
    record's responses. Raises InvalidValue for mu or a weight out of range, or several columns of
    counted records.
    """
    mu, relation = positive("mu", mu), _checked(relation)
    if counted:
        if ball != ONE_COLUMN:
            raise InvalidValue(
                "records that are counted have no values: their places are private, and one sum."
            )
        square = _counted_square(products, None, relation)
        # Features that are the same everywhere do not depend on the place, so an exchange moves
        # nothing.
        if square <= 0.0:
            raise InvalidValue("these features are the same everywhere: choose another strategy.")
        noise = SpectralNoise(math.sqrt(square) / mu * _UP**3, None)
        return _settled(noise, products, relation, mu, counted=True)
    if relation == "values-only":
        sums = 2.0 * math.sqrt(products.largest_square) / mu * _UP**3 * ball.radius
        return _settled(SpectralNoise(sums, None, ball), products, relation, mu)
    if weight is None:
        weight = max(free_weight(products), LEAST_WEIGHT) if relation == "replace-one" else 1.0
    if not 0.0 < weight <= 1.0:
        raise InvalidValue(f"the weight of the counts must lie in (0, 1], got {weight!r}.")
    # `release_mu` solved for the noise: all costs are proportional to 1/sums^2, with counts = sums
    # / weight.
    if relation == "replace-one":
        square = max(4.0 * products.largest_square, (1.0 + weight**2) * products.widest_square)
    else:
        square = (1.0 + weight**2) * products.largest_square
    sums = math.sqrt(square) / mu * _UP**3
    counts = sums / weight * math.sqrt(ball.parts) * (1.0 if ball == ONE_COLUMN else _UP)
    return _settled(SpectralNoise(sums * ball.radius, counts, ball), products, relation, mu)


def _settled(
    noise: SpectralNoise, products: InnerProducts, relation: Relation, mu: float, *, counted: bool = False
) -> SpectralNoise:
    """Return the noise once `release_mu` confirms that it costs at most mu."""
    if release_mu(products, noise, relation, counted=counted) > mu:
        raise NumericalFailure("no noise was found that meets mu to working precision; ask for a larger mu.")
    return noise

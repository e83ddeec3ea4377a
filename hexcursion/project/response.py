"""The response scale: the public map between the unit of the data and responses in [-1, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from dpgp_core.errors import InvalidValue
from hexcursion.settings.names import Transform


def tidy(number: float, places: int = 4) -> float:
    """Round a scale's number to `places` decimals, or to as many digits if it is too small for
    those."""
    if abs(number) >= 10.0 ** (1 - places):
        return round(number, places)
    return float(f"{number:.{places}g}")


FOCUSED = "centred at the threshold, the clip bound by the search"
"""The origin of a scale that was made for one threshold."""

FARTHEST = 3.0
"""The largest size of a probit of a share, in deviations: from .13 to 99.87 per cent."""


@dataclass(frozen=True)
class Answers:
    """The definition of a yes: a value above a limit, or a 1 in the data."""

    yes: str  # in words, such as "arsenic above 50 ug/l"
    yes_above: float | None  # the limit in the unit of the values, None for answers of 1 and 0

    def block(self) -> dict[str, Any]:
        """Return the member `answers` of a statement's subject."""
        return {"yes": self.yes, "yes_above": self.yes_above}

    def of(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values (n,) as 100 for yes and 0 for no: shares of one record, in per cent.

        Raise `InvalidValue`, without a limit, for values that are neither 0 nor 1.
        """
        if self.yes_above is not None:
            return np.where(value > self.yes_above, 100.0, 0.0)
        if not np.all((value == 0.0) | (value == 1.0)):
            raise InvalidValue(
                "values of yes and no must be 1 and 0: correct the others, or say with `yes_above` above "
                "which number a value is a yes."
            )
        return 100.0 * value


@dataclass(frozen=True)
class ResponseScale:
    """The public map from values to responses: clip((transform(value) - centre) / clip, -1, 1).

    Raise `InvalidValue` for an unknown transform, an infinite centre, and a clip bound that is not
    positive and finite.
    """

    transform: Transform | Literal["probit"]  # "probit" is for shares in per cent
    centre: float  # public, in transformed units
    clip: float  # public, in transformed units, positive
    origin: str  # of centre and clip, in words

    def __post_init__(self) -> None:
        if self.transform not in ("log", "identity", "probit"):
            raise InvalidValue(f"transform must be 'log', 'identity' or 'probit', got {self.transform!r}.")
        if not np.isfinite(self.centre):
            raise InvalidValue("the public centre must be a finite number.")
        if not (np.isfinite(self.clip) and self.clip > 0):
            raise InvalidValue("the public clip bound must be a positive finite number.")

    def forward(self, value: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return values of any shape as unclipped responses.

        Raise `InvalidValue` for one not positive under the log transform.
        """
        value = np.asarray(value, dtype=np.float64)
        if self.transform == "log":
            if np.any(~(value > 0)):
                raise InvalidValue("logarithms need values above 0: drop or correct the others.")
            value = np.log(value)
        elif self.transform == "probit":
            value = np.clip(ndtri(np.clip(value / 100.0, 0.0, 1.0)), -FARTHEST, FARTHEST)
        return np.asarray((value - self.centre) / self.clip)

    def of_records(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of records, of any shape, as unclipped responses; raise as `forward`.

        Under the log transform a 0 is -inf, below every other value, so the clip bound limits it.
        """
        if self.transform != "log":
            return self.forward(value)
        zero = np.equal(value, 0.0)
        return np.where(zero, -np.inf, self.forward(np.where(zero, 1.0, value)))

    def response(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of records, of any shape, as responses clipped to [-1, 1]; raise as
        `of_records`."""
        return np.clip(self.of_records(value), -1.0, 1.0)

    def cut(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of any shape, limited to the clip bound around the centre; answers
        unchanged.

        The map without privacy limits records in this way; a release from a public map does the
        same before it limits residuals. Raise as `of_records`: a price of -5 is a slip and not a
        low price.
        """
        if self.transform == "probit":
            return value
        self.of_records(value)
        low, high = self.value(np.array([-1.0, 1.0]))
        return np.clip(value, low, high)

    def value(self, response: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return responses of any shape as values in the data's unit."""
        raw = np.asarray(response, dtype=np.float64) * self.clip + self.centre
        if self.transform == "probit":
            return np.asarray(100.0 * ndtr(raw))
        return np.exp(raw) if self.transform == "log" else raw

    def field_of(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return mean responses, (N,), as field values: the inverse of `seen`, the identity without
        answers."""
        if self.transform != "probit":
            return mean
        return np.asarray(self.forward(50.0 * (1.0 + np.clip(mean, -1.0, 1.0))))

    def seen(self, level: float) -> float:
        """Return the mean response at a level of the field (response units).

        Answers, -1 and 1, have the mean of their share.
        """
        if self.transform != "probit":
            return level
        return float(2.0 * ndtr(level * self.clip + self.centre) - 1.0)

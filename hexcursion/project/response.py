"""The response scale: the public map between the data's own unit and responses in [-1, 1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from hexcursion.settings.words import Transform


def tidy(number: float, places: int = 4) -> float:
    """A scale's number with so many decimals, or with so many digits where it is too small for those."""
    if abs(number) >= 10.0 ** (1 - places):
        return round(number, places)
    return float(f"{number:.{places}g}")


@dataclass(frozen=True)
class ResponseScale:
    """Public map between the data's own unit and responses in [-1, 1].

    response = clip((transform(value) - centre) / clip, -1, 1).

    Parameters
    ----------
    transform
        "log" or "identity"
    centre, clip
        public, in transformed units; `clip` is positive
    origin
        where they came from, in words

    Raises
    ------
    InvalidValue
        For an unknown transform, and a centre or clip bound that is none.
    """

    transform: Transform
    centre: float
    clip: float
    origin: str

    def __post_init__(self) -> None:
        if self.transform not in ("log", "identity"):
            raise InvalidValue(f"transform must be 'log' or 'identity', got {self.transform!r}.")
        if not np.isfinite(self.centre):
            raise InvalidValue("the public centre must be a finite number.")
        if not (np.isfinite(self.clip) and self.clip > 0):
            raise InvalidValue("the public clip bound must be a positive finite number.")

    def forward(self, value: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Values to unclipped responses.

        Parameters
        ----------
        value
            any shape, the data's unit

        Returns
        -------
        array
            the shape of `value`

        Raises
        ------
        InvalidValue
            Under the log transform, for a value that is not positive.
        """
        value = np.asarray(value, dtype=np.float64)
        if self.transform == "log":
            if np.any(~(value > 0)):
                raise InvalidValue("the log transform needs positive values: drop or correct the others.")
            value = np.log(value)
        return np.asarray((value - self.centre) / self.clip)

    def response(self, value: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Values to responses clipped to [-1, 1]; raises as `forward`.

        Parameters
        ----------
        value
            any shape, the data's unit

        Returns
        -------
        array
            the shape of `value`
        """
        return np.clip(self.forward(value), -1.0, 1.0)

    def value(self, response: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Responses back to values.

        Parameters
        ----------
        response
            any shape

        Returns
        -------
        array
            the shape of `response`, in the data's unit
        """
        raw = np.asarray(response, dtype=np.float64) * self.clip + self.centre
        return np.exp(raw) if self.transform == "log" else raw

"""What a mechanism released, and the one place where it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import Direction, cutoff_for_map, exceedance_probability
from dpgp_core.linalg import Floats
from dpgp_core.noise import Entropy, SystemEntropy
from dpgp_core.spectral.kept import KeptSums
from dpgp_core.spectral.model_check import ModelCheck

GRID = 2.0**-20
"""Released numbers are rounded to multiples of this public step, about a millionth of a response unit.

The low bits of a normal deviate computed in floating point can betray the value it was added to (Mironov
2012, CCS); a fixed grid, far coarser than the spacing of the numbers, removes them. Multiples of a power of
two are exact, so that every reader thresholds the same numbers.
"""


def to_grid(values: Floats) -> Floats:
    """The nearest multiples of the public step `GRID`, for values of any shape."""
    return np.round(values / GRID) * GRID


def up_to_grid(values: Floats) -> Floats:
    """The least multiples of `GRID` not below the values, of any shape: for deviations, never understated."""
    return np.asarray(np.ceil(values / GRID) * GRID)


@dataclass(frozen=True, eq=False)
class Released:
    """What left a mechanism: nothing in it is private any more, everything computed from it is free.

    Parameters
    ----------
    paths
        (L, N) response units, on the public grid `GRID`; smoothing is applied later.
    mean, sd
        (N,) mean and standard deviation of the field given the release, response units, where the mechanism
        has them: exceedance probabilities then exist at every threshold. None otherwise.
    raw
        The released numbers behind them, where these are not the paths themselves.
    map_sd
        (N,) standard deviation, given the release, of what a map of the same records without privacy noise
        shows, response units. None where that is not known.
    map_mean
        (N,) its mean, where that is not the field's own: the published set is then cut by that map.
    records
        (N,) expected number of records, >= 0, given the release and what is public of their places. None
        where the mechanism does not know it.
    sums
        The released sums in whole numbers, from which readers compute mean and deviation again. None where
        the mechanism releases no sums.
    model_check
        How the released sums compare with draws of the model that reads them; None where not known.
    """

    paths: Floats
    mean: Floats | None = None
    sd: Floats | None = None
    raw: tuple[Floats, ...] = ()
    map_sd: Floats | None = None
    map_mean: Floats | None = None
    records: Floats | None = None
    sums: KeptSums | None = None
    model_check: ModelCheck | None = None

    def __post_init__(self) -> None:
        if self.paths.ndim != 2 or not np.all(np.isfinite(self.paths)):
            raise InvalidValue("released paths must be finite, one row per path.")
        if (self.mean is None) != (self.sd is None):
            raise InvalidValue("a released mean and its standard deviation come together.")
        if self.mean is not None and self.sd is not None:
            shape = self.paths.shape[1:]
            if self.mean.shape != shape or self.sd.shape != shape:
                raise InvalidValue("the released mean and deviation need one number per cell.")
            if not (np.all(np.isfinite(self.mean)) and np.all(np.isfinite(self.sd)) and np.all(self.sd >= 0)):
                raise InvalidValue(
                    "the released mean and deviation must be finite, the deviation not negative."
                )

    def on_grid(self) -> Released:
        """The same on the public grid; deviations are rounded up to it."""
        mean = None if self.mean is None else to_grid(self.mean)
        sd = None if self.sd is None else up_to_grid(self.sd)
        records = None if self.records is None else to_grid(self.records)
        return replace(self, paths=to_grid(self.paths), mean=mean, sd=sd, records=records)

    def shifted(self, prior_mean: Floats | None) -> Released:
        """With a public prior mean (N,), response units, added back to the field."""
        if prior_mean is None:
            return self
        mean = None if self.mean is None else self.mean + prior_mean
        shown = None if self.map_mean is None else self.map_mean + prior_mean
        return replace(self, paths=self.paths + prior_mean, mean=mean, map_mean=shown)

    @property
    def shown_map(self) -> tuple[Floats, Floats] | None:
        """Mean and deviation, (N,) each, of what the map without privacy shows; None where not known."""
        mean = self.mean if self.map_mean is None else self.map_mean
        return None if mean is None or self.map_sd is None else (mean, self.map_sd)

    def probability(self, level: Floats | float, direction: Direction = "above") -> Floats | None:
        """(N,) probability that the field lies on the asked side of `level`, None where there is none."""
        if self.mean is None or self.sd is None:
            return None
        return exceedance_probability(self.mean, self.sd, level, direction)

    def set_chance(self, level: Floats | float, direction: Direction = "above") -> Floats | None:
        """(N,) chance by which cells enter the published set; None where there is none.

        With `map_mean`, it is the chance that the map of the same records without privacy noise shows the
        cell inside: the set that this chance cuts agrees best with that map, above all where no record lies.
        Without it, it is `probability`.
        """
        if self.map_mean is None or self.map_sd is None:
            return self.probability(level, direction)
        return exceedance_probability(self.map_mean, self.map_sd, level, direction)

    def own_cutoff(self, level: Floats | float, direction: Direction = "above") -> float:
        """The one of `OWN_CUTOFFS` at which this release should agree best with the map without privacy
        noise.

        `level` is the threshold, response units: a number, or (N,) one per cell. Raises InvalidValue if the
        release does not say how sure the map is.
        """
        found, shown = self.set_chance(level, direction), self.shown_map
        if found is None or shown is None:
            raise InvalidValue("this release does not say how sure the map is: take the design's cutoff.")
        return cutoff_for_map(found, exceedance_probability(*shown, level, direction))


class Prepared(Protocol):
    """A release that is ready to be drawn: all that can fail has been tried."""

    def draw(self, entropy: Entropy) -> Released:
        """One release; every call draws anew."""
        ...


def draw_release(prepared: Prepared, entropy: Entropy, *, simulation: bool = False) -> Released:
    """Draw a prepared release once, on the public grid.

    The noise of a release comes from `SystemEntropy` and nothing else; any other source needs
    `simulation=True`, which is for reference data, simulations and tests. What it costs is the accountant's
    business: the caller writes it to the ledger first.

    Raises
    ------
    InvalidValue
        If the entropy is another and this is no simulation.
    """
    if type(entropy) is not SystemEntropy and not simulation:
        raise InvalidValue("a release must draw from SystemEntropy; a seeded source is for simulations only.")
    return prepared.draw(entropy).on_grid()

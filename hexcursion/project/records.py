"""Rows placed in hexagons, and records in response units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_loaders import Observations
from data_loaders.columns.coordinates import rounded_to
from data_loaders.files.spool import Column, chosen, strides
from dpgp_core.mechanisms.design import Unit
from dpgp_core.posterior.records import CollapsedRecords
from geo import Domain, is_lonlat, outside_reason, to_lonlat
from geo.domains.hexagons import average_spacing
from hexcursion.errors import WorkflowError
from hexcursion.project.record_store import cells_or_remembered
from hexcursion.project.response import ResponseScale

Floats = NDArray[np.float64]
KNOWN_PLACES = 4 << 20
"""The number of distinct places whose cells are cached in a loop over rows."""
GROUP = 4 << 20
"""Rows per step in the computation of medians."""


@dataclass(frozen=True, eq=False, repr=False)
class PlacedObservations:
    """Observations inside the domain, with cell and value; private to the curator."""

    index: NDArray[np.int64]  # (n,) positions in the domain's cell array
    value: Floats  # (n,) values in the unit of the data
    read: int  # rows the loader kept; `outside` of them are outside the domain
    outside: int
    # (n,) calendar years, None if the time of a row is unknown
    year: NDArray[np.int64] | None = None
    # mean probability that a row is in its hexagon; None for exact places
    sure: float | None = None

    def part(self, mask: NDArray[np.bool_]) -> PlacedObservations:
        """Return the observations in the (n,) `mask`."""
        year = None if self.year is None else self.year[mask]
        return PlacedObservations(self.index[mask], self.value[mask], int(mask.sum()), 0, year, self.sure)


def located(observations: Observations, domain: Domain) -> tuple[NDArray[np.int64], Floats | None]:
    """Return each row's position in the cell array, (n,), -1 outside, and that cell's probability,
    (n,).

    Places with known noise get their likeliest cell. The probability is None for exact places.
    """
    if observations.place_sd is None:
        return cells_or_remembered(observations, domain, lambda: _cells(observations, domain)), None
    # Look up each place once: with places known to a number of metres, many rows share one.
    rows = np.column_stack([observations.x, observations.y, observations.place_sd])
    places, back = np.unique(rows, axis=0, return_inverse=True)
    longitude, latitude = to_lonlat(places[:, 0], places[:, 1], observations.crs)
    index, sure = domain.locate_uncertain(longitude, latitude, places[:, 2])
    return index[back], sure[back]


def places_in_words(metres: float, domain: Domain) -> str:
    """State the uncertainty of all places, `metres` of standard deviation per axis, and sensible
    hexagons.

    The finest sensible hexagons are at least four standard deviations wide. The sentence is public.
    """
    fits = finest_sensible(metres)
    enough = (
        ""
        if domain.resolution <= fits
        else f" Hexagons at least four times as wide, of resolution {fits} or coarser, show what is known; "
        f"these, of resolution {domain.resolution}, are finer than that."
    )
    return (
        f"Places are known to {metres:,.0f} metres (standard deviation per axis); each row counts in its "
        f"likeliest hexagon.{enough}"
    )


def finest_sensible(metres: float) -> int:
    """Return the finest H3 resolution with hexagons at least four times `metres` wide, 0 at
    least."""
    return max(
        (resolution for resolution in range(16) if average_spacing(resolution) >= 4.0 * metres), default=0
    )


def rounding_note(observations: Observations, domain: Domain) -> str:
    """Warn if places are rounded to more than a hexagon of the domain; otherwise return ""."""
    crs = observations.crs
    metres = rounded_to(observations.x, observations.y, degrees=is_lonlat(crs))
    if observations.place_sd is not None or metres is None or metres <= domain.spacing:
        return ""
    deviation = metres / math.sqrt(12.0)  # of the uniform law within the rounding
    return (
        f"Places are rounded to about {metres:,.0f} metres, more than hexagons of resolution "
        f"{domain.resolution} are wide ({domain.spacing:,.0f}): say so with `place_sd` (--place-sd "
        f"{deviation:.0f}), or take resolution {finest_sensible(deviation)} or coarser."
    )


def _cells(observations: Observations, domain: Domain) -> NDArray[np.int64]:
    """Return the (n,) cells of observations, -1 outside, looking up each place once, or once a
    stride."""
    index = Column()
    if observations.spot is not None:
        of_spot = _cells_of_spots(observations, observations.spot, domain)
        for rows in strides(observations.size):
            index.add(of_spot[observations.spot[rows]])
        return index.array("i8")
    cached_places, cells = pd.Index(np.empty(0, np.complex128)), np.empty(0, np.int64)
    for rows in strides(observations.size):
        back, places = pd.factorize(observations.x[rows] + 1j * observations.y[rows])
        at = cached_places.get_indexer(places)  # many rows have one postcode or sensor
        new = at < 0
        place_cells = np.empty(places.size, np.int64)
        place_cells[~new] = cells[at[~new]]
        lonlat = to_lonlat(places[new].real, places[new].imag, observations.crs)
        place_cells[new] = domain.locate(*lonlat)
        index.add(place_cells[back])
        if new.any() and cached_places.size < KNOWN_PLACES:
            cached_places, cells = (
                cached_places.append(pd.Index(places[new])),
                np.append(cells, place_cells[new]),
            )
    return index.array("i8")


def _cells_of_spots(observations: Observations, spot: NDArray[np.int32], domain: Domain) -> NDArray[np.int64]:
    """Return the cell of each spot by its number, -1 outside and for numbers without rows."""
    row = np.full(1 + max(int(spot[rows].max()) for rows in strides(spot.size)), -1)
    for rows in strides(spot.size):
        row[spot[rows]] = np.arange(rows.start, rows.stop)
    met = row >= 0
    lonlat = to_lonlat(observations.x[row[met]], observations.y[row[met]], observations.crs)
    row[met] = domain.locate(*lonlat)
    return row


def place(observations: Observations, domain: Domain) -> PlacedObservations:
    """Find each observation's cell; drop and count rows outside the domain.

    With known noise the cell is the likeliest hexagon, a function of the row alone. Raise
    `WorkflowError` if no row is inside, and state whether swapped coordinates explain this.
    """
    index, sure = located(observations, domain)
    inside = np.asarray(index >= 0)
    if not inside.any():
        reason = outside_reason(observations.x, observations.y, observations.crs, domain)
        raise WorkflowError(f"All observations lie outside the domain. {reason}")
    columns = chosen({"index": index, "value": observations.value}, inside)
    return PlacedObservations(
        columns["index"],
        columns["value"],
        int(index.size),
        int((~inside).sum()),
        _years(observations, inside),
        None if sure is None else float(sure[inside].mean()),
    )


def _years(observations: Observations, inside: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    if observations.time is None:
        return None
    years = Column()
    for rows in strides(inside.size):
        time = observations.time[rows][inside[rows]]
        if np.isnat(time).any():
            return None
        years.add(time.astype("datetime64[Y]").astype(np.int64) + 1970)
    return years.array("i8")


def bin_records(
    observations: PlacedObservations,
    response: ResponseScale,
    unit: Unit,
    prior_mean: Floats | None = None,
    public_scale: ResponseScale | None = None,
) -> CollapsedRecords:
    """Collapse placed observations to records in response units.

    Point record: each observation, moved to its cell centre, is a record. Cell record: the median
    value of each non-empty cell is one record (paper, appendix D.2). First subtract the public
    `prior_mean` (N,), in response units; the clip bound applies to the residual. Answers of yes and
    no stay -1 and 1, since their reading starts from the prior mean. With a
    `public_scale`, first limit values to its clip bound.
    """
    return CollapsedRecords.from_records(
        *responses_of(observations, response, unit, prior_mean, public_scale)
    )


def responses_of(
    observations: PlacedObservations,
    response: ResponseScale,
    unit: Unit,
    prior_mean: Floats | None = None,
    public_scale: ResponseScale | None = None,
) -> tuple[NDArray[np.int64], Floats]:
    """Return cell and response, in [-1, 1], of each record, (n,) each. Arguments as for `bin_records`."""
    value, index = observations.value, observations.index
    if unit == "cell":
        index, value = cell_medians(observations)
    raw = response.of_records(value if public_scale is None else public_scale.cut(value))
    if prior_mean is not None and response.transform != "probit":
        raw = raw - prior_mean[index]
    return index, np.clip(raw, -1.0, 1.0)


def public_n(observations: PlacedObservations, unit: Unit) -> int:
    """Return the number of records of a unit of protection, which is public under "replace-one"."""
    return int(np.unique(observations.index).size if unit == "cell" else observations.index.size)


def public_places(observations: PlacedObservations) -> NDArray[np.int64]:
    """Return the (n,) cells of the records, ascending, without the order of the rows.

    Values are assigned to public places in this order, since the order of the rows may reveal
    values.
    """
    return np.sort(observations.index)


def cell_shares(observations: PlacedObservations) -> tuple[NDArray[np.int64], Floats]:
    """Return the non-empty cells, (k,), ascending, and their shares of yes in per cent, (k,)."""
    count = np.bincount(observations.index)
    total = np.bincount(observations.index, weights=observations.value)
    cells = np.flatnonzero(count)
    return cells, total[cells] / count[cells]


def cell_medians(observations: PlacedObservations) -> tuple[NDArray[np.int64], Floats]:
    """Return the non-empty cells, (k,), ascending, and their median values, (k,), in the data's
    unit.

    Work on groups of whole cells with about `GROUP` rows; a larger cell is a group.
    """
    size = 1 + int(
        max((observations.index[rows].max() for rows in strides(observations.index.size)), default=-1)
    )
    count = np.zeros(size, dtype=np.int64)
    for rows in strides(observations.index.size):
        count += np.bincount(observations.index[rows], minlength=size)
    group = np.cumsum(count) // GROUP
    medians = [np.empty(0)]
    for number in np.unique(group[count > 0]):
        first, end = np.searchsorted(group, [number, number + 1])
        masks = [
            (observations.index[rows] >= first) & (observations.index[rows] < end)
            for rows in strides(observations.index.size)
        ]
        index, value = (
            np.concatenate(
                [column[rows][mine] for rows, mine in zip(strides(column.size), masks, strict=True)]
            )
            for column in (observations.index, observations.value)
        )
        medians.append(pd.Series(value).groupby(index).median().to_numpy())
    return np.flatnonzero(count), np.concatenate(medians)

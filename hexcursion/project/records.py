"""Rows in their hexagons, and records in response units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_loaders import Observations
from data_loaders.columns.coordinates import rounded_to
from data_loaders.files.blocks import Column, chosen, strides
from dpgp_core.mechanisms.design import Unit
from dpgp_core.posterior.records import CollapsedRecords
from geo import Domain, is_lonlat, outside_reason, to_lonlat
from geo.domains.hexagons import average_spacing
from hexcursion.errors import WorkflowError
from hexcursion.project.record_store import cells_or_remembered
from hexcursion.project.response import ResponseScale

Floats = NDArray[np.float64]
KNOWN_PLACES = 4 << 20
"""Different places whose cells are remembered while a column of rows is gone through."""
GROUP = 4 << 20
"""Rows whose medians are taken at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class PlacedObservations:
    """Observations that lie inside the domain: their cell and value, private to the curator."""

    index: NDArray[np.int64]  # (n,) positions in the domain's cell array
    value: Floats  # (n,) values in the data's own unit
    read: int  # rows the loader kept; `outside` of them lie outside the domain
    outside: int
    year: NDArray[np.int64] | None = None  # (n,) calendar years, None where a row's time is not known
    sure: float | None = None  # mean probability that a row is in its hexagon; None for exact places

    def part(self, kept: NDArray[np.bool_]) -> PlacedObservations:
        """Return those of the n observations that the mask `kept`, (n,), marks."""
        year = None if self.year is None else self.year[kept]
        return PlacedObservations(self.index[kept], self.value[kept], int(kept.sum()), 0, year, self.sure)


def located(observations: Observations, domain: Domain) -> tuple[NDArray[np.int64], Floats | None]:
    """Return each row's position in the cell array, (n,), -1 outside, the likeliest where noise is known.

    And that cell's probability, (n,); None where places are exact.
    """
    if observations.place_sd is None:
        return cells_or_remembered(observations, domain, lambda: _cells(observations, domain)), None
    # Each place is looked up once: where places are known to a number of metres, many rows share one.
    rows = np.column_stack([observations.x, observations.y, observations.place_sd])
    places, back = np.unique(rows, axis=0, return_inverse=True)
    longitude, latitude = to_lonlat(places[:, 0], places[:, 1], observations.crs)
    index, sure = domain.locate_uncertain(longitude, latitude, places[:, 2])
    return index[back], sure[back]


def places_in_words(metres: float, domain: Domain) -> str:
    """Say how sure every place is, `metres` of standard deviation per axis, and what hexagons can show.

    The finest sensible ones are at least four standard deviations wide. All of it is public.
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
    """The finest H3 resolution whose hexagons are at least four times `metres` wide; 0 where none is."""
    return max((one for one in range(16) if average_spacing(one) >= 4.0 * metres), default=0)


def rounding_note(observations: Observations, domain: Domain) -> str:
    """Say where places are rounded to more than a hexagon of the domain; "" where they are not."""
    crs = observations.crs
    metres = rounded_to(observations.x, observations.y, degrees=is_lonlat(crs))
    if observations.place_sd is not None or metres is None or metres <= domain.spacing:
        return ""
    deviation = metres / math.sqrt(12.0)  # of what is equally likely anywhere within
    return (
        f"Places are rounded to about {metres:,.0f} metres, more than hexagons of resolution "
        f"{domain.resolution} are wide ({domain.spacing:,.0f}): say so with `place_sd` (--place-sd "
        f"{deviation:.0f}), or take resolution {finest_sensible(deviation)} or coarser."
    )


def _cells(observations: Observations, domain: Domain) -> NDArray[np.int64]:
    """(n,) the cell of each observation, -1 outside: each place is looked up once, or once a stride."""
    index = Column()
    if observations.spot is not None:
        of_spot = _cells_of_spots(observations, observations.spot, domain)
        for rows in strides(observations.size):
            index.add(of_spot[observations.spot[rows]])
        return index.array("i8")
    known, cells = pd.Index(np.empty(0, np.complex128)), np.empty(0, np.int64)
    for rows in strides(observations.size):
        back, places = pd.factorize(observations.x[rows] + 1j * observations.y[rows])
        at = known.get_indexer(places)  # many rows have one postcode or sensor
        new = at < 0
        found = np.empty(places.size, np.int64)
        found[~new] = cells[at[~new]]
        lonlat = to_lonlat(places[new].real, places[new].imag, observations.crs)
        found[new] = domain.locate(*lonlat)
        index.add(found[back])
        if new.any() and known.size < KNOWN_PLACES:
            known, cells = known.append(pd.Index(places[new])), np.append(cells, found[new])
    return index.array("i8")


def _cells_of_spots(observations: Observations, spot: NDArray[np.int32], domain: Domain) -> NDArray[np.int64]:
    """The cell of each spot by its number, -1 outside and where no row has it."""
    row = np.full(1 + max(int(spot[rows].max()) for rows in strides(spot.size)), -1)
    for rows in strides(spot.size):
        row[spot[rows]] = np.arange(rows.start, rows.stop)
    met = row >= 0
    lonlat = to_lonlat(observations.x[row[met]], observations.y[row[met]], observations.crs)
    row[met] = domain.locate(*lonlat)
    return row


def place(observations: Observations, domain: Domain) -> PlacedObservations:
    """Find each observation's cell; rows outside the domain are dropped and counted.

    Under known noise that is the likeliest hexagon: a function of the row alone. Raise `WorkflowError` if
    none is inside; it says whether swapped coordinates explain that.
    """
    index, sure = located(observations, domain)
    inside = np.asarray(index >= 0)
    if not inside.any():
        reason = outside_reason(observations.x, observations.y, observations.crs, domain)
        raise WorkflowError(f"All observations lie outside the domain. {reason}")
    kept = chosen({"index": index, "value": observations.value}, inside)
    return PlacedObservations(
        kept["index"],
        kept["value"],
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
    placed: PlacedObservations,
    response: ResponseScale,
    unit: Unit,
    prior_mean: Floats | None = None,
    own: ResponseScale | None = None,
) -> CollapsedRecords:
    """Collapse placed observations to records in response units.

    Point record: each observation, moved to its cell centre, is a record. Cell record: the median value of
    each non-empty cell is one record (paper, appendix D.2). `prior_mean` (N,), in response units, is public
    and subtracted first; the clip bound applies to the residual. Answers of yes and no are released as they
    are, -1 and 1: their reading starts from it. With `own`, a public scale, values beyond its clip bound are
    moved to it before.
    """
    value, index = placed.value, placed.index
    if unit == "cell":
        index, value = cell_medians(placed)
    raw = response.forward(value if own is None else own.cut(value))
    if prior_mean is not None and response.transform != "probit":
        raw = raw - prior_mean[index]
    return CollapsedRecords.from_records(index, np.clip(raw, -1.0, 1.0))


def public_n(placed: PlacedObservations, unit: Unit) -> int:
    """The number of records of a unit of protection; of private data it is public under "replace-one"."""
    return int(np.unique(placed.index).size if unit == "cell" else placed.index.size)


def public_places(placed: PlacedObservations) -> NDArray[np.int64]:
    """(n,) cells of the records, ascending: which cells hold how many, and not in which order rows came.

    Whatever is dealt to public places goes by this order. That of the rows may tell their values.
    """
    return np.sort(placed.index)


def cell_shares(placed: PlacedObservations) -> tuple[NDArray[np.int64], Floats]:
    """Return the non-empty cells, (k,), ascending, and the per cent of yes among their answers, (k,)."""
    count = np.bincount(placed.index)
    total = np.bincount(placed.index, weights=placed.value)
    cells = np.flatnonzero(count)
    return cells, total[cells] / count[cells]


def cell_medians(placed: PlacedObservations) -> tuple[NDArray[np.int64], Floats]:
    """Return the non-empty cells, (k,), ascending, and the median value in each, (k,), in the data's unit.

    Of so many whole cells at a time as have `GROUP` rows together: more only where one cell has.
    """
    size = 1 + int(max((placed.index[rows].max() for rows in strides(placed.index.size)), default=-1))
    count = np.zeros(size, dtype=np.int64)
    for rows in strides(placed.index.size):
        count += np.bincount(placed.index[rows], minlength=size)
    group = np.cumsum(count) // GROUP
    medians = [np.empty(0)]
    for number in np.unique(group[count > 0]):
        first, end = np.searchsorted(group, [number, number + 1])
        chosen = [
            (placed.index[rows] >= first) & (placed.index[rows] < end) for rows in strides(placed.index.size)
        ]
        index, value = (
            np.concatenate(
                [column[rows][mine] for rows, mine in zip(strides(column.size), chosen, strict=True)]
            )
            for column in (placed.index, placed.value)
        )
        medians.append(pd.Series(value).groupby(index).median().to_numpy())
    return np.flatnonzero(count), np.concatenate(medians)

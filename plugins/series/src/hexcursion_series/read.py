"""The library's door to releases of several periods."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pandas import DataFrame, read_parquet
from threadpoolctl import threadpool_limits

from hexcursion.bundle.untrusted import BundleError
from hexcursion.door.released import Released
from hexcursion.ledger import open_ledger
from hexcursion_series.files import TABLE, series_files, series_statement, write_series
from hexcursion_series.report import Promise, promise_of, steps_of
from hexcursion_series.together import Series, read_together


class ReadSeries:
    """Bundles of several periods, read together.

    Attributes
    ----------
    read : Series
        The bundles in order of time, and the field of every period given all of them.
    promise : Promise
        The promise of all releases together.
    """

    def __init__(self, read: Series, promise: Promise) -> None:
        self.read, self.promise = read, promise

    @cached_property
    def statement(self) -> Mapping[str, Any]:
        """The statement of the series, as in `series.json`."""
        return series_statement(self.read, self.promise)

    @cached_property
    def table(self) -> DataFrame:
        """One row for each period and hexagon, as in `cells.parquet`."""
        return read_parquet(io.BytesIO(series_files(self.read, self.promise)[TABLE]))

    @property
    def changes(self) -> tuple[str, ...]:
        """The change from each period to the next, a sentence or two for each."""
        return tuple(step.sentence for step in steps_of(self.read))

    def save(self, path: str | Path) -> Path:
        """Write statement, maps, areas and page into a new folder.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path

        Raises
        ------
        WorkflowError
            If the path exists already, or cannot be written.
        """
        return write_series(self.read, self.promise, path)

    def __repr__(self) -> str:
        labels = self.read.labels
        return f"<{type(self).__name__} of {len(labels)} periods, {labels[0]} to {labels[-1]}>"


def series(
    bundles: Sequence[str | Path | Released],
    *,
    threshold: float | None = None,
    by: float = 0.0,
    times: Sequence[float] | None = None,
    layer: str | None = None,
    ledger: str | Path | None = None,
) -> ReadSeries:
    """Read bundles of several periods together, for a map of each period and for change; free.

    Parameters
    ----------
    bundles : sequence of str, Path or Released
        One for each period, spectral statistics of one area and question.
    threshold : float, optional
        In the data's unit; that of the newest by default.
    by : float
        Rise of the question: in the unit of values, or a share (.05 is 5 %) for logarithms of values.
    times : sequence of float, optional
        Of each bundle, if their periods are no dates.
    layer : str, optional
        The column to read if the bundles are atlases.
    ledger : str or Path, optional
        The curator's ledger, which knows whether the releases hold the same records.

    Returns
    -------
    ReadSeries

    Raises
    ------
    BundleError
        For a bundle that cannot be read, has no sums, or does not fit the others.
    NoLedger
        If there is no ledger at this place.
    """
    if isinstance(bundles, str | Path | Released):
        raise BundleError("Name the bundles of a series in a list, one for each period.")
    places = [bundle.place if isinstance(bundle, Released) else bundle for bundle in bundles]
    read, promise = read_series_of(
        places, threshold=threshold, by=by, times=times, layer=layer, ledger=ledger
    )
    return ReadSeries(read, promise)


def read_series_of(
    places: Sequence[str | Path | bytes],
    *,
    threshold: float | None,
    by: float,
    times: Sequence[float] | None,
    ledger: str | Path | None,
    layer: str | None = None,
) -> tuple[Series, Promise]:
    """Read a series with its promise, by the curator's ledger if it is named.

    Raise `NoLedger` if there is no ledger at this place, `BundleError` as `read_together`.
    """
    curator = None if ledger is None else open_ledger(ledger, create=False)
    with threadpool_limits(limits=1):
        read = read_together(places, threshold=threshold, by=by, times=times, layer=layer)
    if curator is None:
        return read, promise_of(read)
    names = [bundle.statement["release"]["id"] for bundle in read.bundles]
    shared = curator.periods_shared(list(zip(names, read.digests, strict=True)))
    return read, promise_of(read, shared)

"""The map of several holders as programs, sites and the viewer find it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pandas import DataFrame
from threadpoolctl import threadpool_limits

from hexcursion.bundle.layers import cell_columns
from hexcursion.bundle.page import html
from hexcursion.bundle.published.readings import Reading, ReadTogether
from hexcursion.bundle.untrusted import BundleError
from hexcursion.door.released import Released
from hexcursion_series.holder_files import (
    PAGE,
    holder_files,
    holder_statement,
    question_of,
    write_holders,
)
from hexcursion_series.holders import Holders, read_holders


class ReadHolders:
    """Bundles of several holders, read as one map.

    Attributes
    ----------
    read : Holders
        The bundles, and the field given their added sums.
    """

    def __init__(self, read: Holders) -> None:
        self.read = read

    @property
    def statement(self) -> Mapping[str, Any]:
        """The statement, as in `together.json`."""
        return holder_statement(self.read)

    @property
    def table(self) -> DataFrame:
        """One row for each hexagon, as in `cells.parquet`."""
        read = self.read
        field = read.reading.mean, read.reading.sd
        return DataFrame(
            dict(cell_columns(read.domain, read.products, field, read.first.response))  # type: ignore[arg-type]
        )

    def save(self, path: str | Path) -> Path:
        """Write statement, cells and page into a new folder.

        Raises
        ------
        WorkflowError
            If the path exists already, or cannot be written.
        """
        return write_holders(self.read, path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.read.bundles)} holders>"


def together(bundles: Sequence[str | Path | Released], *, threshold: float | None = None) -> ReadHolders:
    """Read the bundles of several holders as one map. Nothing is charged.

    Parameters
    ----------
    bundles : sequence of str, Path or Released
        One for each holder, made with one design file (`hexcursion design`).
    threshold : float, optional
        In the data's own unit; that of the first bundle by default.

    Returns
    -------
    ReadHolders

    Raises
    ------
    BundleError
        One sentence: for a bundle that cannot be read, holds no sums or has another design.
    """
    if isinstance(bundles, str | Path | Released):
        raise BundleError("Name the bundles of the holders in a list.")
    places = [bundle.place if isinstance(bundle, Released) else bundle for bundle in bundles]
    with threadpool_limits(limits=1):
        return ReadHolders(read_holders(places, threshold=threshold))


def read_for_site(paths: Sequence[Path]) -> ReadTogether:
    """Return the files of the map of several holders. Raise `BundleError` where bundles do not
    fit."""
    holders = read_holders(paths)
    return ReadTogether(question_of(holders), holders.first, holder_files(holders))


def show_tab(opened: Any) -> None:
    """Draw the viewer's tab. Streamlit is imported where there is a viewer."""
    from hexcursion_series.page.panel import HOLDERS, ask_together

    ask_together(opened, HOLDERS)


TOGETHER = Reading(
    name="together",
    needs="bundles of several holders",
    about="Several holders of records read as one map.",
    page=PAGE,
    read=together,
    files=read_for_site,
    script=html.script_text,
    tab="Other holders",
    show=show_tab,
)

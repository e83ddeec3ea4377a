"""The reading of several periods, as sites, the viewer and `hexcursion.series` find it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hexcursion.bundle.published.readings import Reading, ReadTogether
from hexcursion_series.files import PAGE, series_files
from hexcursion_series.read import series
from hexcursion_series.report import promise_of, question_of
from hexcursion_series.series_page import script_text
from hexcursion_series.together import read_together


def read_for_site(paths: Sequence[Path]) -> ReadTogether:
    """The files of a series of bundles, without a ledger; `BundleError` for bundles that do not
    fit."""
    together = read_together(paths)
    return ReadTogether(question_of(together), together.last, series_files(together, promise_of(together)))


def show_tab(opened: Any) -> None:
    """Draw the viewer's tab; Streamlit is imported where there is a viewer."""
    from hexcursion_series.page.panel import ask_together

    ask_together(opened)


SERIES = Reading(
    name="series",
    needs="bundles of several periods",
    about="Several periods read together: a map of each, change, a line for each area.",
    page=PAGE,
    read=series,
    files=read_for_site,
    script=script_text,
    tab="Over time",
    show=show_tab,
)

"""Applies a sales filter to one block of Price Paid rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.files.csvstream import mask
from data_loaders.house_prices.segments import SalesFilter
from data_loaders.report import Tally


def apply_filter(
    columns: dict[str, Any],
    wanted: SalesFilter,
    tally: Tally,
    seen: dict[str, set[str]],
    alive: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Find the rows that satisfy every filter.

    Parameters
    ----------
    columns : dict of str to Arrow array
        Text columns of one block of n rows, by field name.
    wanted : SalesFilter
    tally : Tally
        Each filter drops with its own reason.
    seen : dict of str to set of str
        Collects which of the districts and counties asked for were met.
    alive : (n,) bool
        Rows still in question.

    Returns
    -------
    (n,) bool
        Which of them satisfy all.
    """
    if wanted.years is not None:
        # ISO dates in all published files; slashes where a spreadsheet has rewritten a report.
        iso = pc.struct_field(pc.extract_regex(columns["date"], r"^(?P<year>[0-9]{4})[-/]"), [0])
        slashed = pc.struct_field(
            pc.extract_regex(columns["date"], r"^[0-9]+/[0-9]+/(?P<year>[0-9]{4})"), [0]
        )
        year = pc.coalesce(iso, slashed)
        alive = tally.drop_where("date unreadable", mask(pc.is_null(year)), alive)
        listed = pa.array([str(item) for item in sorted(wanted.years)], pa.string())
        alive = tally.drop_where("other year", ~mask(pc.is_in(year, value_set=listed)), alive)
    for field_name, words, codes in (
        ("district", "other district", wanted.districts),
        ("county", "other county", wanted.counties),
        ("property_type", "other property type", wanted.property_types),
        ("tenure", "other tenure", wanted.tenures),
        ("category", "other category", wanted.categories),
    ):
        if codes is not None:
            column = pc.ascii_upper(columns[field_name])
            inside = mask(pc.is_in(column, value_set=pa.array(sorted(codes), pa.string())))
            if field_name in ("district", "county"):
                met = pc.unique(column.filter(pa.array(inside))).to_pylist()
                seen.setdefault(field_name, set()).update(met)
            alive = tally.drop_where(words, ~inside, alive)
    if wanted.new_build is not None:
        flag = pc.ascii_upper(columns["new_build"])
        known = mask(pc.is_in(flag, value_set=pa.array(["Y", "N"], pa.string())))
        alive = tally.drop_where("new-build flag blank or unknown", ~known, alive)
        other_build = mask(pc.not_equal(flag, "Y" if wanted.new_build else "N"))
        alive = tally.drop_where(
            "existing, not new" if wanted.new_build else "newly built", other_build, alive
        )
    return alive

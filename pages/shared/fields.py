"""The labels of fields on the screens, by the settings that they ask for."""

from __future__ import annotations

import re

FIELDS = {
    "header_row": "Row with the names of the columns",
    "encoding": "Coding of its letters",
    "delimiter": "Between its columns",
    "quoting": "Quoted cells",
    "sides": "Columns of the letters E and W, N and S",
    "behind": "Letters that may stand behind a number",
    "decimal": "Decimal mark",
    "missing": "Numbers that stand for a missing value",
    "censored": "Readings such as <0.5 and > 200",
    "detection_limit": "Detection limit of readings such as ND",
    "condition": "Column that says which readings are below or above a limit",
    "limit_column": "Column with the limit of readings that name none",
    "day_first": "Dates such as 3/4/2018",
    "equal_rows": "Rows that are equal in everything",
    "where": "Keep only rows where",
    "unit_column": "Column with the unit of each row",
    "owner": "Sensor or person of a row",
    "place_sd": "Standard deviation of a row's place",
    "transform": "Values differ by",
    "value_unit": "Its unit",
    "value": "Measured value",
}


def on_screen(sentence: str) -> str:
    """Return a sentence with the labels of fields in place of the names of settings and options."""
    return re.sub(r"`(\w+)`(?: \(--(?:[^()]|\([^()]*\))+\))?", _label, sentence)


def _label(name: re.Match[str]) -> str:
    return f"“{FIELDS[name[1]]}”" if name[1] in FIELDS else name[0]

"""The leaderboard run by parts: a part that is run again replaces its stored rows, all others stay."""

from __future__ import annotations

from dataclasses import replace

from studies.leaderboard.run import COLUMNS, SECONDS_OF, ranked, tables_of
from studies.reporting.tables import Cell, StudyResult, StudyTable

ORDER = ("worlds", "laqn", "meuse", "jura", "plumes", "generated", "london")
EARLIER = "parts stored before they were timed each"


def merged(stored: StudyResult, fresh: StudyResult) -> StudyResult:
    """Merge a fresh run into the stored result.

    Parameters
    ----------
    stored : StudyResult
    fresh : StudyResult
        Its tables replace the stored ones of the same name. If only some mechanisms were run, their rows
        replace the stored rows of these mechanisms, and the stored settings stay.

    Returns
    -------
    StudyResult
        In the order of `ORDER`, further maps at the end; its seconds are the sum over all parts.
    """
    mechanisms, older = fresh.settings.get("mechanisms", ()), {table.name: table for table in stored.tables}
    tables = dict(older)
    for table in fresh.tables:
        tables[table.name] = _updated(older.get(table.name, table), table) if mechanisms else table
    spent_before = stored.settings.get(SECONDS_OF, {EARLIER: stored.seconds})
    all_data = {name: each for name, each in stored.settings.items() if name == "data"}
    suffix = f": {', '.join(mechanisms)}" if mechanisms else ""
    spent = {**spent_before, **{f"{part}{suffix}": each for part, each in fresh.settings[SECONDS_OF].items()}}
    return replace(
        fresh,
        settings={**(stored.settings if mechanisms else {**fresh.settings, **all_data}), SECONDS_OF: spent},
        tables=tuple(sorted(tables.values(), key=_position)),
        seconds=round(sum(spent.values()), 1),
    )


def _updated(stored: StudyTable, fresh: StudyTable) -> StudyTable:
    """The stored table with the rows of a fresh one, ranked again."""
    rows: dict[tuple[Cell, ...], dict[str, Cell]] = {}
    for row in (*stored.rows, *fresh.rows):
        cells = dict(zip(COLUMNS, row, strict=True))
        rows[tuple(cells[name] for name in ("hides", "epsilon", "mechanism"))] = cells
    return tables_of(ranked(list(rows.values())))[0]


def _position(table: StudyTable) -> int:
    return next((at for at, name in enumerate(ORDER) if table.name.startswith(name)), len(ORDER))

"""The leaderboard run by parts: what was run again takes the place of what was stored, all else stays."""

from __future__ import annotations

from dataclasses import replace

from studies.leaderboard.run import COLUMNS, SECONDS_OF, ranked, tables_of
from studies.reporting.tables import Cell, StudyResult, StudyTable

ORDER = ("worlds", "laqn", "meuse", "jura", "plumes", "generated", "london")
EARLIER = "parts stored before they were timed each"


def merged(stored: StudyResult, fresh: StudyResult) -> StudyResult:
    """Put a fresh run beside what is stored already.

    Parameters
    ----------
    stored : StudyResult
    fresh : StudyResult
        Its tables replace the stored ones of the same name, and where only some mechanisms were run their
        rows the stored rows of the same mechanisms; settings (but for such a run) and notes are its own.

    Returns
    -------
    StudyResult
        In the order of `ORDER`, further maps at the end; its seconds are those of all parts in sum.
    """
    some, older = fresh.settings.get("mechanisms", ()), {table.name: table for table in stored.tables}
    tables = dict(older)
    for table in fresh.tables:
        tables[table.name] = _beside(older.get(table.name, table), table) if some else table
    before = stored.settings.get(SECONDS_OF, {EARLIER: stored.seconds})
    all_data = {name: each for name, each in stored.settings.items() if name == "data"}  # not the part's own
    what = f": {', '.join(some)}" if some else ""
    spent = {**before, **{f"{part}{what}": each for part, each in fresh.settings[SECONDS_OF].items()}}
    return replace(
        fresh,
        settings={**(stored.settings if some else {**fresh.settings, **all_data}), SECONDS_OF: spent},
        tables=tuple(sorted(tables.values(), key=_position)),
        seconds=round(sum(spent.values()), 1),
    )


def _beside(stored: StudyTable, fresh: StudyTable) -> StudyTable:
    """The stored table with the rows of a fresh one, their places in a block given anew."""
    rows: dict[tuple[Cell, ...], dict[str, Cell]] = {}
    for row in (*stored.rows, *fresh.rows):
        named = dict(zip(COLUMNS, row, strict=True))
        rows[tuple(named[name] for name in ("hides", "epsilon", "mechanism"))] = named
    return tables_of(ranked(list(rows.values())))[0]


def _position(table: StudyTable) -> int:
    return next((at for at, name in enumerate(ORDER) if table.name.startswith(name)), len(ORDER))

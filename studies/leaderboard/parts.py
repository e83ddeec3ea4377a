"""The leaderboard run by parts: the tables of one run take the places of older ones, all others stay."""

from __future__ import annotations

from dataclasses import replace

from studies.leaderboard.run import SECONDS_OF
from studies.tables import StudyResult, StudyTable

ORDER = ("laqn", "meuse", "jura", "plumes", "generated", "london")
EARLIER = "parts stored before they were timed each"


def merged(stored: StudyResult, fresh: StudyResult) -> StudyResult:
    """Put the maps of a fresh run beside those that are stored already.

    Parameters
    ----------
    stored : StudyResult
    fresh : StudyResult
        Its tables replace the stored ones of the same name; settings and notes are its own.

    Returns
    -------
    StudyResult
        In the order of `ORDER`, further maps at the end; its seconds are those of all parts in sum.
    """
    tables = {table.name: table for table in (*stored.tables, *fresh.tables)}
    before = stored.settings.get(SECONDS_OF, {EARLIER: stored.seconds})
    spent = {**before, **fresh.settings[SECONDS_OF]}
    return replace(
        fresh,
        settings={**fresh.settings, SECONDS_OF: spent},
        tables=tuple(sorted(tables.values(), key=_position)),
        seconds=round(sum(spent.values()), 1),
    )


def _position(table: StudyTable) -> int:
    return next((at for at, name in enumerate(ORDER) if table.name.startswith(name)), len(ORDER))

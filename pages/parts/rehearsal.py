"""A rehearsal on a screen: what one release of a design looks like on reference data, beside its aim."""

from __future__ import annotations

import streamlit as st

from geo.layers import excursion_deck, legend, paint_set
from pages.parts import maps
from pages.parts.aside import planning, same
from pages.parts.ask import threshold_words
from pages.parts.workspace import Found, Workspace
from workflow.desk import Rehearsal, describe, family, rehearse
from workflow.scored import Scored

KEPT = 4


def show(work: Workspace, found: Found, scored: Scored, key: str) -> None:
    """The drawn map and the one it aims at, both of the reference data."""
    seen = _rehearsed(work, found, scored)
    private = found.project.reference_kind in ("reference data", "private selection")
    what = threshold_words(work)
    st.markdown(f"**{family(scored.design)}**: {describe(scored.design)}.")
    columns = st.columns(2)
    for column, cells, name, title in (
        (columns[0], seen.released, key, f"Rehearsed release, agreement {seen.iou:.2f}"),
        (columns[1], seen.baseline, f"{key}_aim", "The reference map without privacy"),
    ):
        with column:
            st.markdown(title)
            painting = paint_set(cells, inside=what, outside=f"not {what}", title=title)
            maps.show(
                excursion_deck(found.project.domain, painting, **maps.look(300, 210)),
                key=name,
                alt=f"{title}: {int(cells.sum()):,} of {cells.size:,} hexagons are {what}.",
                legend=legend(painting, maps.theme()),
                private=private,
                height=300,
            )


def _rehearsed(work: Workspace, found: Found, scored: Scored) -> Rehearsal:
    """Drawn once per design: the screen is redrawn far more often than the design changes."""
    kept = planning(work).rehearsals
    about = (scored.design, found.tuned)
    for earlier, seen in kept:
        if same(earlier, about):
            return seen
    seen = rehearse(found.project, found.tuned, scored)
    kept.append((about, seen))
    del kept[:-KEPT]
    return seen

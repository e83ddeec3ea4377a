"""A rehearsal on a screen: what one release of a design looks like on reference data, beside its aim."""

from __future__ import annotations

import streamlit as st

from geo.layers import Pane, legend, paint_set
from pages.parts import linked_maps, maps
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
    panes = [
        Pane(title, paint_set(cells, inside=what, outside=f"not {what}", title=title), private, word=word)
        for cells, title, word in (
            (seen.released, f"Rehearsal, agreement {seen.iou:.2f}", "Rehearsed"),
            (seen.baseline, "Without privacy", "Reference map"),
        )
    ]
    count, aim = int(seen.released.sum()), int(seen.baseline.sum())
    drawn = paint_set(seen.released, inside=what, outside=f"not {what}", title="")
    linked_maps.show(
        found.project.domain,
        panes,
        mode="beside",
        key=key,
        alt=f"Of {seen.released.size:,} hexagons {count:,} are {what} in the rehearsed release, and {aim:,} "
        "in the reference map without privacy.",
        legend=legend(drawn, maps.theme()),
        height=320,
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

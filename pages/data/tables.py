"""Tables and small charts of a source, for the curator's eyes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import altair as alt
import streamlit as st

from dpgp_core.numbers import significant
from geo import with_unit
from geo.colours import colour
from geo.maps.linked import PLACE_ROLES
from geo.maps.painting import LegendEntry
from pages.shared import linked_maps, maps
from pages.shared.plain_text import plain
from pages.shared.session.previews import Preview


def report_lines(lines: Iterable[str]) -> None:
    """The load report, one sentence per line; the first one, which counts, stands out."""
    first, *rest = lines
    st.markdown(plain(first))
    if rest:
        st.markdown("\n".join(f"- {plain(line)}" for line in rest))


def rows_table(preview: Preview, value_name: str) -> None:
    """The first rows as read: place and value."""
    name = value_name or "value"
    if preview.unit and preview.unit not in name:
        name = f"{name} ({preview.unit})"
    st.dataframe(
        [{"longitude": lon, "latitude": lat, name: value} for lon, lat, value in preview.rows],
        hide_index=True,
        height="content",
        column_config={
            "longitude": st.column_config.NumberColumn(format="%.4f"),
            "latitude": st.column_config.NumberColumn(format="%.4f"),
            name: st.column_config.NumberColumn(format="localized"),
        },
    )


def places_chart(preview: Preview) -> None:
    """Where the rows lie: coloured by value on a map with names, else by longitude and latitude."""
    if not preview.places:
        return
    latitudes = [lat for _, lat in preview.places]
    words = f"Places of {len(latitudes):,} of {preview.size:,} rows, for the curator only."
    if linked_maps.built():
        linked_maps.show_places(
            preview.places, key="data-places", alt=words, classes=preview.classes,
            legend=_value_legend(preview.limits, preview.unit),
        )  # fmt: skip
    else:
        _plain_chart(preview, words)
    shown = len(latitudes) if len(latitudes) < preview.size else 0
    st.caption(
        f"Places of {shown:,} of the {preview.size:,} rows."
        if shown
        else f"Places of all {preview.size:,} rows."
    )


def _value_legend(limits: Sequence[float], unit: str) -> tuple[LegendEntry, ...]:
    said = [with_unit(significant(limit, 3), unit) for limit in limits]
    if not said:
        return ()
    between = [f"{low} to {high}" for low, high in itertools.pairwise(said)]
    labels = (f"up to {said[0]}", *between, f"above {said[-1]}")
    return tuple(
        LegendEntry(label, colour(role, maps.theme()))
        for label, role in zip(labels, PLACE_ROLES, strict=True)
    )


def _plain_chart(preview: Preview, words: str) -> None:
    chart = (
        alt.Chart(alt.Data(values=[{"lon": lon, "lat": lat} for lon, lat in preview.places]))
        .mark_circle(size=9 if len(preview.places) > 300 else 40, opacity=0.45)
        .encode(
            x=alt.X("lon:Q", title="longitude (degrees)", scale=alt.Scale(zero=False, padding=12)),
            y=alt.Y("lat:Q", title="latitude (degrees)", scale=alt.Scale(zero=False, padding=12)),
        )
        .properties(height=430)
    )
    st.altair_chart(chart, alt=words)

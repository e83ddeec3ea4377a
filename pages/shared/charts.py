"""Altair for the screens. Tests hold charts against the schema of Vega-Lite; a run of a screen does not."""

from __future__ import annotations

from typing import Any

import altair as alt
from altair.utils.schemapi import disable_debug_mode

__all__ = ["alt", "spec_of"]

disable_debug_mode()  # else each part is checked as it is made: a quarter of a screen's time
alt.theme.enable("none")  # Streamlit has its own


def spec_of(chart: Any) -> dict[str, Any]:
    """What Vega-Lite draws; `st.altair_chart` would check it at each run, a tenth of a screen's time."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec

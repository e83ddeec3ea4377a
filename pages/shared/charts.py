"""Altair for the screens: a chart is checked against the schema of Vega-Lite once, when it is drawn."""

from __future__ import annotations

import altair as alt
from altair.utils.schemapi import disable_debug_mode

__all__ = ["alt"]

disable_debug_mode()  # else each part is checked again as it is made: a quarter of a screen's time

"""Progress: how a long computation says how far it is."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[float, str], None]
"""Told (fraction, text); may raise to cancel."""

"""Fixtures of the house's browser tests, for this plugin's own."""

from __future__ import annotations

from tests.browser.conftest import app, new_page

__all__ = ["app", "new_page"]

"""Fixtures of the house's tests of screens and of the browser, for this plugin's own."""

from __future__ import annotations

from tests.browser.conftest import app, new_page, page
from tests.pages.conftest import _computations_here, _nobody_configured, open_app

__all__ = ["_computations_here", "_nobody_configured", "app", "new_page", "open_app", "page"]

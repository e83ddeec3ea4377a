"""The name and version that every statement carries; the version is written here and nowhere else.

`pyproject.toml` reads it from this file, so that a checkout that was never installed knows it as well.
"""

from __future__ import annotations

NAME = "Hexcursion"
VERSION = "1.0.0"

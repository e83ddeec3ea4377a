"""The name and version that every statement carries; `pyproject.toml` reads the version from here too."""

from __future__ import annotations

NAME = "Hexcursion"
VERSION = "1.0.0"

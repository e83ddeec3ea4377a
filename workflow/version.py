"""The name and version that every statement carries."""

from __future__ import annotations

NAME = "Hexcursion"
VERSION = "1.0.0"

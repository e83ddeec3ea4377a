"""How long a test waits for something that must come: no test's truth depends on how busy the machine is."""

from __future__ import annotations

HANG = 600.0
"""Seconds after which something that has not come never will: a limit for what hangs, no claim about speed.

It stays below pytest's own limit, so that a test that hangs says what it was waiting for.
"""

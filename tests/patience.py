"""How long a test waits for what must come, however busy the machine is, and whether it tries many inputs."""

from __future__ import annotations

import os

HANG = 600.0
"""Seconds after which something that has not come never will: a limit for what hangs, no claim about speed.

It stays below pytest's own limit, so that a test that hangs says what it was waiting for.
"""

LONG = os.environ.get("CI") == "true"
"""Whether the long tests run too: then tests of random inputs and moments try many, otherwise a few."""

"""The protection of the places of readings that come from a sanitised trip."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpgp_core.numbers import upper
from hexcursion.errors import WorkflowError

TRIP_FORMAT = "hexcursion-trace"
PROTECTION = "conditional inferential privacy of a location trace"
MOMENT = "a secret moment of one trace, not a person's records in a map"
_MOST_BYTES = 4 << 20
_MOST_MOMENTS = 20_000
_ID = re.compile(r"^[0-9a-f]{16}\Z")


@dataclass(frozen=True)
class TripProtection:
    """The protection of the secret moments of a sanitised trip, the source of a map's places."""

    release_id: str  # of the released trip, 16 hex digits
    moments: int  # secret ones of the trip
    mu: float  # upper bound on the distinguishability of two hypotheses, rounded up to four digits
    radius: float  # largest distance between the hypotheses in metres

    @property
    def in_words(self) -> str:
        """The sentences about places for a map's statement."""
        many = "1 secret moment" if self.moments == 1 else f"{self.moments:,} secret moments"
        return (
            "Two protections stand side by side, in no sum. Places: the readings lie where the sanitised "
            f"trip {self.release_id} tells; {many} of it {'is' if self.moments == 1 else 'are'} hidden by "
            f"conditional inferential privacy (two hypotheses up to {self.radius:g} m apart are told apart "
            f"by mu at most {self.mu:g}), which is not differential privacy. Values: each record is "
            "protected by the guarantee of this statement."
        )

    def block(self) -> dict[str, Any]:
        """Return the member `trip` of a map's statement."""
        return {
            "protection": PROTECTION,
            "is_differential_privacy": False,
            "unit_of_protection": MOMENT,
            "release_id": self.release_id,
            "secret_moments": self.moments,
            "mu_at_most": self.mu,
            "radius_m": self.radius,
            "in_words": self.in_words,
        }

    @staticmethod
    def of_block(block: Mapping[str, Any]) -> TripProtection:
        """Read the block of a statement after the check of its schema."""
        return TripProtection(
            block["release_id"], block["secret_moments"], block["mu_at_most"], block["radius_m"]
        )


def trip_protection(path: str | Path) -> TripProtection:
    """Read the protection of a trip's places from the public `statement.json` of its release.

    Raise `WorkflowError` if the file is unreadable, or not the statement of a released trip.
    """
    name = Path(path).name
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        statement = json.loads(data.decode("utf-8")) if len(data) <= _MOST_BYTES else None
    except OSError:
        raise WorkflowError(f"{name} cannot be opened: name the statement.json of a released trip.") from None
    except (ValueError, RecursionError):
        statement = None
    if not isinstance(statement, dict) or statement.get("format") != TRIP_FORMAT:
        raise _no_statement(name)
    release, moments = statement.get("release_id"), statement.get("secrets")
    mu, radius = (_number(statement.get(key)) for key in ("mu", "radius_m"))
    if not isinstance(moments, int) or isinstance(moments, bool) or not 0 < moments <= _MOST_MOMENTS:
        raise _no_statement(name)
    if not (isinstance(release, str) and _ID.match(release) and min(mu, radius) > 0.0):
        raise _no_statement(name)
    return TripProtection(release, moments, float(upper(mu, 4).replace(",", "")), radius)


def _no_statement(name: str) -> WorkflowError:
    return WorkflowError(f"{name} is no statement of a released trip: name the statement.json beside it.")


def _number(value: Any) -> float:
    """Return a finite number, or -1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return -1.0
    return float(value)

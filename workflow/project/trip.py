"""What a map says of the sanitised trip that its places come from: a protection of its own kind."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from workflow.errors import WorkflowError
from workflow.words import upper

TRIP_FORMAT = "hexcursion-trace"
_MOST_BYTES = 4 << 20
_ID = re.compile(r"^[0-9a-f]{16}$")


def trip_note(path: str | Path) -> str:
    """The sentence about places for a map's statement, from the statement of the released trip.

    Parameters
    ----------
    path : str or Path
        The trip's `statement.json`, which is public.

    Returns
    -------
    str

    Raises
    ------
    WorkflowError
        Where the file cannot be read, or is no statement of a released trip.
    """
    name = Path(path).name
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        said = json.loads(data.decode("utf-8")) if len(data) <= _MOST_BYTES else None
    except OSError:
        raise WorkflowError(f"{name} cannot be opened: name the statement.json of a released trip.") from None
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or said.get("format") != TRIP_FORMAT:
        raise _no_statement(name)
    release = said.get("release_id")
    mu, radius, moments = (_number(said.get(key)) for key in ("mu", "radius_m", "secrets"))
    if not (isinstance(release, str) and _ID.match(release) and min(mu, radius, moments) > 0.0):
        raise _no_statement(name)
    many = "1 secret moment" if moments == 1 else f"{moments:g} secret moments"
    return (
        "Two protections stand side by side, in no sum. Places: the readings lie where the sanitised trip "
        f"{release} tells; {many} of it {'is' if moments == 1 else 'are'} hidden by conditional inferential "
        f"privacy (two hypotheses up to {radius:g} m apart are told apart by mu at most {upper(mu, 4)}), "
        "which is not differential privacy. Values: each record is protected by the guarantee of this "
        "statement."
    )


def _no_statement(name: str) -> WorkflowError:
    return WorkflowError(f"{name} is no statement of a released trip: name the statement.json beside it.")


def _number(value: Any) -> float:
    """A finite number, or -1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return -1.0
    return float(value)

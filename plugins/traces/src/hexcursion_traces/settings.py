"""The public choices about a trace; invalid ones cannot be constructed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dpgp_core.errors import InvalidValue
from hexcursion.errors import WorkflowError
from hexcursion_traces.mathematics.prior import ROBUST_FACTORS, TracePrior
from hexcursion_traces.mathematics.secret import MOVES, Moves
from hexcursion_traces.mathematics.windows import Mode

Goal: TypeAlias = Literal["error", "interval"]
GOALS: tuple[Goal, ...] = get_args(Goal)
MODES: tuple[Mode, ...] = get_args(Mode)


OPTIONS = {"metres": "--error or --interval", "error": "--receiver"}
"""Settings with another name on the command line."""

MOST_ODDS = 100.0
"""Factor of the odds above which a release is stopped and a map's receipt has a warning."""


@dataclass(frozen=True)
class Window:
    """A span of time that is secret: seconds since 1970, UTC, both ends included. Raise `WorkflowError`
    if it ends before it begins."""

    start: float
    end: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and math.isfinite(self.end) and self.start <= self.end):
            raise WorkflowError("A secret's window ends after it begins: give its start before its end.")


@dataclass(frozen=True)
class TraceSettings:
    """The settings of a trace's release; raise `WorkflowError` for an impossible value.

    `lengthscale`: seconds over which places stay alike, the adversary's belief; from public knowledge.
    `amplitude`: metres over which the mover roams, at least. `error`: metres; of the receiver.
    `windows`: secrets by time. `stops`: minutes: every longer stop is a secret; 0 for none.
    `stop_radius`: metres around the middle of a stop. `moves`: as for
    `hexcursion_traces.mathematics.secret.Secret`. `radius`: metres up to which hypotheses are confused.
    `goal`: whether `metres` is the root mean squared error per axis in the windows around secrets, or
    the least width of the adversary's 68 % interval at every secret. `every`: seconds between released
    records; 0 for all records. `delta`: at which epsilon and odds are stated. `accept_large_odds`:
    release although the odds of two hypotheses may change more than `MOST_ODDS` times."""

    lengthscale: float = 120.0
    amplitude: float = 500.0
    error: float = 3.0
    windows: tuple[Window, ...] = ()
    stops: float = 0.0
    stop_radius: float = 100.0
    moves: Moves = "together"
    radius: float = 200.0
    goal: Goal = "error"
    metres: float = 200.0
    every: float = 30.0
    mode: Mode = "robust"
    delta: float = 1e-5
    accept_large_odds: bool = False

    def __post_init__(self) -> None:
        for name in ("stop_radius", "radius", "metres"):
            good = 0.0 < getattr(self, name) < 1e6
            self._refuse(name, getattr(self, name), good, "a number of metres above 0 and below 1,000,000")
        self._refuse(
            "stops", self.stops, 0.0 <= self.stops < 1e5, "a number of minutes below 100,000, 0 for none"
        )
        self._refuse(
            "every",
            self.every,
            0.0 <= self.every < 1e6,
            "a number of seconds below 1,000,000, 0 for all records",
        )
        self._refuse("delta", self.delta, 0.0 < self.delta < 1.0, "between 0 and 1")
        span = "a positive number of seconds, at least 0.001 and below 1,000,000,000"
        self._refuse("lengthscale", self.lengthscale, 1e-3 <= self.lengthscale < 1e9, span)
        far = "a positive number of metres, at least 0.001 and below 1,000,000,000"
        self._refuse("amplitude", self.amplitude, 1e-3 <= self.amplitude < 1e9, far)
        self._refuse("error", self.error, 0.1 <= self.error < 1e4, "at least 0.1 and below 10,000 metres")
        self._refuse("moves", self.moves, self.moves in MOVES, " or ".join(MOVES))
        self._refuse("goal", self.goal, self.goal in GOALS, " or ".join(GOALS))
        self._refuse("mode", self.mode, self.mode in MODES, " or ".join(MODES))
        try:
            _ = self.prior
        except InvalidValue as error:
            raise WorkflowError(f"{str(error)[0].upper()}{str(error)[1:]}") from None

    @staticmethod
    def _refuse(name: str, value: object, good: bool, requirement: str) -> None:
        if not good:
            label = f"{name!r} ({OPTIONS[name]})" if name in OPTIONS else repr(name)
            raise WorkflowError(f"The setting {label} must be {requirement}, not {value!r}.")

    @property
    def prior(self) -> TracePrior:
        """The stated prior of the adversary."""
        return TracePrior(float(self.lengthscale), float(self.amplitude), float(self.error))

    @property
    def factors(self) -> tuple[float, ...]:
        """Lengthscales of the guarantee, relative to the stated one."""
        return ROBUST_FACTORS if self.mode == "robust" else (1.0,)

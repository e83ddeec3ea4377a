"""Numbers that several studies report: a standard error, a calibration error, and how cost grows."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpgp_core.linalg import Floats
from dpgp_core.releasing import Released
from hexcursion.errors import WorkflowError


def standard_error(values: Floats) -> float:
    """Standard error of the mean of independent values."""
    return float(values.std(ddof=1) / np.sqrt(values.size))


def calibration_error(chance: Floats, truth: Floats) -> float:
    """Expected calibration error of (M,) chances, in ten bins, given (M,) outcomes or true chances."""
    bins = np.minimum((10 * chance).astype(int), 9)
    return float(sum(abs((chance - truth)[bins == number].sum()) for number in range(10))) / chance.size


def stated_field(released: Released) -> tuple[Floats, Floats]:
    """Mean and deviation of a release, (N,) each.

    Raises
    ------
    WorkflowError
        If the release states none.
    """
    if released.mean is None or released.sd is None:
        raise WorkflowError("The release states no field.")
    return released.mean, released.sd


def growth(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Exponent of the power of the size that the costs follow, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def run_child(command: Sequence[str], **environment: str) -> dict[str, Any]:
    """Run a Python command in a separate process and return the JSON of its last line.

    Peaks of memory are those of a process, so each size of a study has its own.

    Raises
    ------
    SystemExit
        With the errors of the process if it fails.
    """
    process = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise SystemExit(process.stderr)
    return dict(json.loads(process.stdout.splitlines()[-1]))

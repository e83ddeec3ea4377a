"""Values that differ by factors need a logarithm: measured zeros are lowest, others are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hexcursion.errors import WorkflowError
from hexcursion.project.model import Loaded
from hexcursion.project.records import PlacedObservations
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings


def with_logarithm(value: NDArray[np.float64], zeros: bool) -> NDArray[np.bool_]:
    """Return which of (n,) values may be modelled on a log scale: those above 0, and `zeros` that
    are measurements. A missing value (NaN) may not."""
    return np.asarray((value > 0.0) | (zeros & (value == 0.0)))


def refuse_without_logarithm(value: NDArray[np.float64], zeros: bool, whose: str) -> None:
    """Raise `WorkflowError` unless all (n,) values may be modelled on a log scale.

    `whose` begins the sentence, such as "Private data". NaN, a missing value, may.
    """
    if np.any(value < 0.0):
        raise WorkflowError(
            f"{whose}: values below 0 have no logarithm. Correct them, or let values differ by amounts with "
            "`transform` (--transform identity)."
        )
    if not zeros and np.any(value == 0.0):
        raise WorkflowError(
            f"{whose}: a value of 0 has no logarithm. State `missing` (--missing 0) where it stands for a "
            "missing value or `none` (--missing none) where it is a measurement, then it counts as lower "
            "than all others; or let values differ by amounts with `transform` (--transform identity)."
        )


def with_logarithms(settings: ReleaseSettings, private: Loaded) -> Loaded:
    """Refuse values without a logarithm; drop them if n is hidden, since an error would reveal one.

    Raise `WorkflowError` for a refusal, and if no value is left.
    """
    zeros = settings.data.measured_zeros
    if settings.records_about is None:
        refuse_without_logarithm(private.placed.value, zeros, "Private data")
    fits = with_logarithm(private.placed.value, zeros)
    if fits.all():
        return private
    if not fits.any():
        raise WorkflowError("No value in the area has a logarithm: take `transform` identity.")
    positive = replace(private.placed.part(fits), read=private.placed.read, outside=private.placed.outside)
    lost, report = int((~fits).sum()), private.report
    dropped = (*report.dropped, ("only values above 0 have logarithms", lost))
    report = replace(report, kept=report.kept - lost, dropped=dropped)
    return replace(private, placed=positive, report=report)


def with_lowest(reference: PlacedObservations, source: SourceSettings) -> PlacedObservations:
    """Replace measured zeros of the reference by its smallest other value, which has a logarithm.

    Raise `WorkflowError` for other values without one, and if all are 0.
    """
    value = reference.value
    refuse_without_logarithm(value, source.measured_zeros, "Reference data")
    lowest = np.min(value, where=value > 0.0, initial=np.inf)
    if not np.isfinite(lowest):
        raise WorkflowError("Reference data: no value in the area is above 0, so none has a logarithm.")
    return replace(reference, value=np.maximum(value, lowest))

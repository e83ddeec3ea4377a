"""The public centre and clip bound of a project: given, or from reference data; never from private rows."""

from __future__ import annotations

import numpy as np

from hexcursion.errors import WorkflowError
from hexcursion.project.records import PlacedObservations, cell_medians
from hexcursion.project.response import ResponseScale, tidy
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.words import Transform

CLIP_QUANTILE = 0.9


def change_response(settings: ReleaseSettings, spread: float) -> ResponseScale:
    """Public scale of change: centred at none, clipped where 90 % of the reference lie around its map.

    Parameters
    ----------
    spread
        the distance, in transformed units, that holds these 90 %
    """
    transform: Transform = "log" if settings.uses_log else "identity"
    centre = 0.0 if settings.centre is None else settings.centre
    level = float(ResponseScale(transform, 0.0, 1.0, "").forward(settings.threshold))
    reach = max(spread, 1.25 * abs(level - centre), 1e-6)
    clip = settings.clip if settings.clip is not None else float(f"{reach:.4g}")
    given = settings.centre is not None and settings.clip is not None
    origin = "given by the curator as public" if given else "from the reference data around their own map"
    return ResponseScale(transform, centre, clip, origin)


def choose_response(settings: ReleaseSettings, reference: PlacedObservations | None) -> ResponseScale:
    """Public centre and clip bound: as given, otherwise from reference data; never from the private data.

    From reference data the centre is the median over cells of the cells' medians (a path falls back to it
    where there are no records, so crowded cells must not pull it), and the clip bound is the distance from it
    that holds 90 % of the observations and always reaches the threshold.

    Raises
    ------
    WorkflowError
        If neither is to be had.
    """
    if settings.values == "yes-no":
        return ResponseScale("probit", 0.0, 1.0, "the same for all answers of yes and no")
    transform: Transform = "log" if settings.uses_log else "identity"
    if settings.centre is not None and settings.clip is not None:
        return ResponseScale(transform, settings.centre, settings.clip, "given by the curator as public")
    if reference is None:
        raise WorkflowError(
            "Without reference data the public centre and clip bound must be given: set `centre` and `clip` "
            f"in {'log units' if transform == 'log' else 'the data unit'}, or name `reference` data."
        )
    unscaled = ResponseScale(transform, 0.0, 1.0, "")
    value = unscaled.forward(reference.value)
    middle = float(np.median(unscaled.forward(cell_medians(reference)[1])))
    centre = settings.centre if settings.centre is not None else tidy(middle)
    level = float(unscaled.forward(settings.threshold))
    spread = float(np.quantile(np.abs(value - centre), CLIP_QUANTILE))
    reach = max(spread, 1.25 * abs(level - centre))
    lost = 0.0 if settings.centre is not None else 2.0 * abs(centre - middle)  # by rounding the centre
    clip = settings.clip if settings.clip is not None else tidy(reach)
    if settings.clip is None and reach <= lost:
        raise WorkflowError("The reference values do not vary: give a public `clip` bound.")
    return ResponseScale(transform, centre, clip, "from the reference data")

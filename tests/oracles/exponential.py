"""An independent oracle: the exponential mechanism's law, in floating point from its formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def choice_probabilities(errors: ArrayLike, sensitivity: float, epsilon: float) -> NDArray[np.float64]:
    """(J,) `exp(-epsilon error/(2 sensitivity))`, normalised."""
    tempered = -np.asarray(errors, dtype=np.float64) * epsilon / (2.0 * sensitivity)
    share = np.exp(tempered - tempered.max())
    return np.asarray(share / share.sum())

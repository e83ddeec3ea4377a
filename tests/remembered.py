"""What a run of tests computes once, where the same input gives the same result."""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def once(work: Callable[..., Result], most: int) -> Callable[..., Result]:
    """The same work, once for the same input; the latest results are kept."""
    results: OrderedDict[bytes, Result] = OrderedDict()

    def remembered(*given: Any, **named: Any) -> Result:
        asked = hashlib.sha256(pickle.dumps((given, named))).digest()
        if asked not in results:
            results[asked] = work(*given, **named)
            if len(results) > most:
                results.popitem(last=False)
        results.move_to_end(asked)
        return results[asked]

    return remembered

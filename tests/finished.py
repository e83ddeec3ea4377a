"""Coroutines run to their end, also on a thread where a browser's driver keeps an event loop running."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns; it runs on a thread of its own, which has no event loop yet."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()

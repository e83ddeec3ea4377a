"""The hash by which a page lets its own style or script pass its content security policy."""

from __future__ import annotations

import base64
import hashlib


def source_of(text: str) -> str:
    """What a policy calls an inline style or script: its SHA-256.

    Examples
    --------
    >>> source_of("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

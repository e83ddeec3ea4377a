"""Text made harmless for files that other programs open, and the hash that lets our own pass."""

from __future__ import annotations

import base64
import hashlib
import unicodedata

from hexcursion.bundle.errors import BundleError

# A spreadsheet takes a cell that starts with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def clean(text: str, limit: int, what: str) -> str:
    """The text as one line without control, formatting and direction characters.

    Such characters can hide or reorder what a label shows.

    Raises
    ------
    BundleError
        If it is longer than `limit`; the sentence calls it `what`.
    """
    spaced = "".join(" " if character in "\t\r\n\v\f\u2028\u2029" else character for character in str(text))
    kept = "".join(c for c in unicodedata.normalize("NFC", spaced) if unicodedata.category(c)[0] != "C")
    line = " ".join(kept.split())
    if len(line) > limit:
        raise BundleError(f"{what} has {len(line):,} characters: shorten it to {limit:,}.")
    return line


def neutral_cell(text: str) -> str:
    """The text with a leading apostrophe where a spreadsheet would run it as a formula."""
    return f"'{text}" if text.lstrip().startswith(FORMULA_STARTS) or text.startswith(FORMULA_STARTS) else text


def source_of(text: str) -> str:
    """What a policy calls an inline style or script: its SHA-256.

    Examples
    --------
    >>> source_of("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

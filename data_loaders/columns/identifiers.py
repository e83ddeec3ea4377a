"""Makes columns of names into private record identifiers and owner numbers."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_AROUND = " \t\r\n{}"
LONGEST = 64  # bytes of an identifier; a longer one is replaced by its hash, in as many hexadecimal digits


def record_names(column: Any) -> Any:
    """Write n names of records (Arrow strings without nulls) so that one record has one name in every file.
    Drop blanks around a name and braces, capitalise: yearly Price Paid files write "{F887F88E-...}", the
    report builder "F887F88E-...". Names have at most 64 ASCII letters, "" for a blank; others become the 64
    hexadecimal digits of their BLAKE2b hash, so that one long entry cannot widen all rows."""
    plain = pc.string_is_ascii(column)
    if pc.all(plain).as_py():  # ASCII alone is worked on several times as fast
        names = pc.ascii_trim(pc.ascii_upper(column), characters=_AROUND)
    else:
        names = pc.utf8_trim(pc.utf8_upper(column), characters=_AROUND)
        plain = pc.string_is_ascii(names)
    odd = pc.or_(pc.greater(pc.binary_length(names), LONGEST), pc.invert(plain))
    letters = names.buffers()[2]  # row by row only where there is a zero byte at all
    if letters is not None and b"\0" in letters.to_pybytes():
        odd = pc.or_(odd, pc.match_substring(names, "\0"))
    if pc.any(odd).as_py():
        pairs = zip(names.to_pylist(), odd.to_pylist(), strict=True)
        written = [_hashed(name) if out else name for name, out in pairs]
        names = pa.array(written, pa.string())
    return names


def as_bytes(names: Any) -> NDArray[np.bytes_]:
    """Return names from `record_names` as an (n,) array of ASCII bytes."""
    binary = names.cast(pa.binary())
    widths = pc.unique(pc.binary_length(binary)).to_pylist()
    if len(widths) == 1 and widths[0] > 0:  # as most files have it
        whole = binary.cast(pa.binary(widths[0]))
        letters = np.frombuffer(whole.buffers()[1], dtype=f"S{widths[0]}")
        return letters[whole.offset : whole.offset + len(whole)]
    return np.array(binary.to_pylist(), dtype="S")


def _hashed(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=LONGEST // 2).hexdigest()


class OwnerNumbers:
    """Numbers the owners that a column names, block by block, from 0 in order of first appearance."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, column: Any) -> NDArray[np.int64]:
        """Number the owners in a block of n Arrow strings: equal (n,) int64 for equal names, over all blocks.
        Blanks around a name do not count, capitals do."""
        encoded = pc.utf8_trim_whitespace(column).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        numbers = np.array([self._known.setdefault(name, len(self._known)) for name in names], dtype=np.int64)
        return np.asarray(numbers[np.asarray(encoded.indices.to_numpy(zero_copy_only=False))])


def numbered_again(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber (n,) owners without gaps, from 0 in order of first appearance, where some lost all their
    rows."""
    _, first, back = np.unique(owner, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[back], dtype=np.int64)

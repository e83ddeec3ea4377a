"""Stores columns that grow block by block: short ones in memory, longer ones in a file without a name."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from data_loaders.errors import DataError

IN_MEMORY = 16 << 20
"""Bytes of one column that stay in memory; longer ones go to disk."""

STRIDE = 1 << 20
"""Rows per step in loops over a whole column."""


@dataclass(frozen=True)
class _Part:
    """One block of a column on disk: its start in the file, its type and its rows."""

    start: int
    kind: np.dtype[Any]
    rows: int


class Column:
    """A growing column. A long one is written to a file without a name in the folder for temporary
    files ($TMPDIR). No other process can open that file, and the operating system frees it with the
    last array of the column, even if the process is killed."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._limit = in_memory
        self._held: list[NDArray[Any]] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._parts: list[_Part] = []

    def add(self, block: NDArray[Any]) -> None:
        """Append an (n,) block of numbers, times or bytes, which may be wider than earlier blocks.
        Raise `DataError` on a full disk."""
        self._held.append(block)
        self._bytes += block.nbytes
        if self._file is not None or self._bytes > self._limit:
            self._write_out()

    def array(self, kind: str = "f8") -> NDArray[Any]:
        """Return the whole (n,) column, read-only; `kind` is the type of an empty one."""
        if self._file is None:
            column = np.concatenate(self._held) if self._held else np.empty(0, kind)
            column.setflags(write=False)
            return column
        widest = max((part.kind for part in self._parts), key=lambda dtype: dtype.itemsize)
        if any(part.kind != widest for part in self._parts):
            wider = Column(self._limit)
            for block in self._blocks():
                wider.add(block.astype(widest))
            return wider.array(kind)
        self._file.flush()
        return np.memmap(self._file, dtype=widest, mode="r")

    def _blocks(self) -> Iterator[NDArray[Any]]:
        assert self._file is not None
        for part in self._parts:
            self._file.seek(part.start)
            yield np.frombuffer(self._file.read(part.kind.itemsize * part.rows), part.kind)

    def _write_out(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
                weakref.finalize(self, self._file.close)  # its memory maps stay valid
            self._file.seek(0, 2)
            for block in self._held:
                if block.size:
                    self._parts.append(_Part(self._file.tell(), block.dtype, block.size))
                    self._file.write(np.ascontiguousarray(block).view(np.uint8).data)
        except OSError as error:
            failure = _full(error)
        else:
            self._held = []
            return
        raise failure


class Spool:
    """Columns of equal length that grow together, each with at most `in_memory` bytes in memory."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._columns: dict[str, Column] = {}

    def add(self, **blocks: NDArray[Any]) -> None:
        """Append a block of rows: one (n,) array for each column, the same names every time."""
        for name, block in blocks.items():
            self._columns.setdefault(name, Column(self._in_memory)).add(block)

    def array(self, name: str, kind: str = "f8") -> NDArray[Any]:
        """Return the whole (n,) column of a name, read-only; an empty one of type `kind` if
        absent."""
        return self._columns.get(name, Column()).array(kind)


def strides(size: int) -> Iterator[slice]:
    """Cut a number of rows into slices of at most `STRIDE`."""
    for start in range(0, size, STRIDE):
        yield slice(start, min(start + STRIDE, size))


def chosen(columns: Mapping[str, NDArray[Any]], selection: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return the selected rows of (n,) columns, read-only, without both copies in memory."""
    if selection.all():
        return {name: _read_only(column) for name, column in columns.items()}
    spool = Spool()
    for rows in strides(selection.size):
        spool.add(**{name: column[rows][selection[rows]] for name, column in columns.items()})
    return {name: spool.array(name, column.dtype.str) for name, column in columns.items()}


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of a column; a column on disk already is read-only."""
    if not column.flags.writeable:
        return column
    view = column.view()
    view.setflags(write=False)
    return view


def _full(error: OSError) -> DataError:
    return DataError(
        f"There is no room for the rows of this file in the folder for temporary files ({error.strerror}): "
        "free some, or name another folder by TMPDIR."
    )

"""Columns that grow block by block: in memory while they are short, in a file without a name beyond that."""

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
"""Rows that are worked on at a time wherever a whole column is gone through."""


@dataclass(frozen=True)
class _Part:
    """One block of a column that was written out: where it begins, and what it is."""

    start: int
    kind: np.dtype[Any]
    rows: int


class Column:
    """One column as it grows. What is written out lies in the folder for temporary files ($TMPDIR), in a file
    that has no name there: nobody else can open it, and the operating system takes it back with the last
    array made of it, also where the process is killed."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._limit = in_memory
        self._held: list[NDArray[Any]] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._parts: list[_Part] = []

    def add(self, block: NDArray[Any]) -> None:
        """Append a block of numbers, times or bytes, which may be wider than before. Raise `DataError` on a
        full disk."""
        self._held.append(block)
        self._bytes += block.nbytes
        if self._file is not None or self._bytes > self._limit:
            self._write_out()

    def array(self, kind: str = "f8") -> NDArray[Any]:
        """Return the whole column, read-only; `kind` is its type where nothing was added."""
        if self._file is None:
            whole = np.concatenate(self._held) if self._held else np.empty(0, kind)
            whole.setflags(write=False)
            return whole
        widest = max((part.kind for part in self._parts), key=lambda each: each.itemsize)
        if any(part.kind != widest for part in self._parts):
            again = Column(self._limit)
            for block in self._blocks():
                again.add(block.astype(widest))
            return again.array(kind)
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
                weakref.finalize(self, self._file.close)  # arrays made of it live on
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
    """Columns of equally many rows that grow together, each with so many bytes in memory."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._columns: dict[str, Column] = {}

    def add(self, **blocks: NDArray[Any]) -> None:
        """Append a block of rows: one (n,) array for each column, the same names every time."""
        for name, block in blocks.items():
            self._columns.setdefault(name, Column(self._in_memory)).add(block)

    def array(self, name: str, kind: str = "f8") -> NDArray[Any]:
        """Return the whole column of a name, read-only; empty and of type `kind` where there is none."""
        return self._columns.get(name, Column()).array(kind)


def strides(size: int) -> Iterator[slice]:
    """Cut a number of rows into slices of at most `STRIDE`."""
    for start in range(0, size, STRIDE):
        yield slice(start, min(start + STRIDE, size))


def chosen(columns: Mapping[str, NDArray[Any]], kept: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return the kept rows of (n,) columns, read-only, without holding both in memory."""
    if kept.all():
        return {name: _read_only(column) for name, column in columns.items()}
    spool = Spool()
    for rows in strides(kept.size):
        spool.add(**{name: column[rows][kept[rows]] for name, column in columns.items()})
    return {name: spool.array(name, column.dtype.str) for name, column in columns.items()}


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    """The same rows in an array that cannot be written to; a column on disk is one already."""
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

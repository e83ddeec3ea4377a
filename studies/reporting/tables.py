"""What a study returns: plain tables with their seeds, repetitions and run time, to and from JSON."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hexcursion.errors import WorkflowError

Preset = Literal["quick", "full", "real", "own design"]

Cell = str | float | int | None
Report = Callable[[float, str], None]
INFINITE = "Infinity"  # an infinite number in JSON; no table has it as a word


@dataclass(frozen=True)
class StudyTable:
    """One table: rows of plain cells under named columns; `None` for a missing number.

    Parameters
    ----------
    title
        what the table shows, with its units
    columns, rows
        of the same length

    Raises
    ------
    ValueError
        For a row of another length than the columns.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row of the table {self.name!r} must have {len(self.columns)} cells.")

    def records(self) -> list[dict[str, Cell]]:
        """One mapping per row, as a chart or a spreadsheet takes them; infinities become `None`."""
        return [dict(zip(self.columns, map(_finite, row), strict=True)) for row in self.rows]

    def column(self, name: str) -> tuple[Cell, ...]:
        """All cells of one column."""
        return tuple(row[self.columns.index(name)] for row in self.rows)

    def csv(self) -> str:
        """The table as CSV text."""
        lines = [",".join(map(_quoted, self.columns))]
        lines += [",".join(map(_quoted, row)) for row in self.rows]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class StudyResult:
    """A finished study.

    Parameters
    ----------
    study
        its name in `STUDIES`
    settings
        every setting it ran with
    seeds
        of all its random numbers
    repetitions
        in words
    seconds
        CPU time of its thread
    notes
        facts for a judgement: reductions, differences from the paper
    """

    study: str
    preset: Preset
    settings: dict[str, Any]
    seeds: tuple[int, ...]
    repetitions: str
    seconds: float
    tables: tuple[StudyTable, ...]
    notes: tuple[str, ...] = ()

    def table(self, name: str) -> StudyTable:
        """The table of this name."""
        return next(table for table in self.tables if table.name == name)

    def facts(self) -> str:
        """Seeds, repetitions and run time in one line."""
        first, last = self.seeds[0], self.seeds[-1]
        row = len(self.seeds) > 2 and self.seeds == tuple(range(first, last + 1))
        seeds = f"{first} to {last}" if row else ", ".join(map(str, self.seeds))
        word = "Seed" if len(self.seeds) == 1 else "Seeds"
        return f"{word} {seeds}; {self.repetitions}; {self.seconds:,.0f} s of CPU time."

    def to_json(self) -> str:
        """The result as JSON text that `from_json` reads back to an equal value."""
        return json.dumps(_plain(asdict(self)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> StudyResult:
        """A stored result.

        Raises
        ------
        WorkflowError
            If the text is no stored result.
        """
        try:
            raw = json.loads(text)
            tables = tuple(
                StudyTable(
                    item["name"],
                    item["title"],
                    tuple(item["columns"]),
                    tuple(_restored(row) for row in item["rows"]),
                )
                for item in raw.pop("tables")
            )
            seeds, notes = tuple(raw.pop("seeds")), tuple(raw.pop("notes"))
            settings = {key: _restored(value) for key, value in raw.pop("settings").items()}
            return StudyResult(tables=tables, seeds=seeds, notes=notes, settings=settings, **raw)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WorkflowError(
                "A stored study cannot be read: run `make studies` to write it again."
            ) from error


class Stopwatch:
    """CPU seconds of the current thread since its making: other jobs on the machine do not count."""

    def __init__(self) -> None:
        self._start = time.thread_time()

    @property
    def seconds(self) -> float:
        """CPU seconds so far, to a tenth."""
        return round(time.thread_time() - self._start, 1)


def quiet(fraction: float, text: str) -> None:
    """A report that goes nowhere."""


def progress(name: str) -> Report:
    """A report that prints the progress of a study to standard error, at most every five seconds."""
    last = [0.0]

    def report(fraction: float, text: str) -> None:
        if time.monotonic() - last[0] > 5.0:
            last[0] = time.monotonic()
            print(f"{name}: {100 * fraction:3.0f} %  {text}", file=sys.stderr, flush=True)

    return report


def load_result(path: Path) -> StudyResult | None:
    """A stored result, or None where the file does not exist."""
    return StudyResult.from_json(path.read_text(encoding="utf-8")) if path.is_file() else None


def rounded(value: float, digits: int = 4) -> float:
    """A finite or infinite float for a table, rounded to `digits` decimals."""
    return round(float(value), digits) + 0.0  # no minus before a zero


def _finite(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _quoted(cell: Cell) -> str:
    text = "" if cell is None else str(cell)
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if any(mark in text for mark in ',"\n') else text


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_restored, value))
    return math.inf if value == INFINITE else value


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return INFINITE if value > 0 else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value

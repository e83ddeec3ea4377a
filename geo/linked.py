"""Scenes of the linked maps: panes under one camera, as the plain data that the map component takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geo.colours import CLASSES, Theme, colour, ink_on, rgb
from geo.domain import Domain
from geo.hexagons import as_integers
from geo.painting import Painting, as_baseline
from geo.polygons import interface, rings

Mode = Literal["beside", "swipe", "toggle", "single"]
_DECIMALS = 5  # of drawn coordinates: about a metre


@dataclass(frozen=True)
class Line:
    """Lines of one colour: their role in the palette, width in pixels, and (K, 2) degrees each."""

    name: str
    role: str
    width: float
    paths: Sequence[NDArray[np.float64]]


@dataclass(frozen=True)
class Pane:
    """One of the maps of a scene.

    title     a few words that stand in its corner
    painting  its cells, or None for a pane of lines only
    private   True for anything of the baseline: a watermark stands over it, tooltips say so
    word      what tooltips call it; without one "Released", or "Private baseline" where it is private
    """

    title: str
    painting: Painting | None = None
    private: bool = False
    lines: Sequence[Line] = field(default=())
    word: str = ""

    def __post_init__(self) -> None:
        if not self.private and any(line.role == "baseline" for line in self.lines):
            raise ValueError("a pane with the baseline's boundary is private.")

    @property
    def worded(self) -> Painting | None:
        """The painting with the tooltips that its pane shows."""
        if self.painting is None or not (self.word or self.private):
            return self.painting
        return as_baseline(self.painting, self.word or "Private baseline")


def boundary_lines(
    domain: Domain, path_sets: Sequence[NDArray[np.bool_]], baseline: NDArray[np.bool_] | None = None
) -> tuple[Line, ...]:
    """Boundary lines in the paper's manner: one per released path, over a wide non-private one.

    Each set is (N,) booleans; its line runs between cells in and cells out, not along the domain's edge.
    """
    first = () if baseline is None else (_boundary(domain, "baseline", "baseline", 5.0, baseline),)
    return (
        *first,
        *(
            _boundary(domain, f"path-{k}", CLASSES["paths"][k % len(CLASSES["paths"])], 2.0, mask)
            for k, mask in enumerate(path_sets)
        ),
    )


def linked_scene(
    domain: Domain, panes: Sequence[Pane], *, mode: Mode, alt: str, theme: Theme = "light", height: int = 460
) -> dict[str, Any]:
    """A scene of one or two panes: `scene`, plain JSON, and `cells`, a table with one row per cell.

    The table has columns `cell` (uint64) and, for each pane with a painting, `class0`, `note0` and so on.
    A pane's private painting has its tooltips reworded before anything leaves this function.
    """
    if len(panes) != (1 if mode == "single" else 2):
        raise ValueError(
            f"a map drawn {mode!r} takes {1 if mode == 'single' else 2} panes, got {len(panes)}."
        )
    cells = as_integers(domain.cells)
    columns: dict[str, NDArray[Any]] = {"cell": cells}
    drawn = [_pane(pane, number, domain, columns, theme) for number, pane in enumerate(panes)]
    outline = [*rings(domain.drawn_outline)]
    return {
        "scene": {
            "mode": mode,
            "alt": alt,
            "height": height,
            "area": sha256(cells.tobytes()).hexdigest()[:16],
            "spacing": domain.spacing,
            "ground": colour("ground", theme),
            "ink": rgb("line", theme),
            "halo": rgb("halo", theme),
            "panes": drawn,
            "lines": [
                _line(Line("region-halo", "halo", 4.0, outline), theme),
                _line(Line("region", "line", 1.5, outline), theme),
            ],
        },
        "cells": pd.DataFrame(columns),
    }


def _pane(
    pane: Pane, number: int, domain: Domain, columns: dict[str, NDArray[Any]], theme: Theme
) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "id": f"pane{number}",
        "title": pane.title,
        "private": pane.private,
        "lines": [_line(line, theme) for line in pane.lines],
    }
    painting = pane.worded
    if painting is None:
        return drawn
    if painting.classes.size != domain.size:
        raise ValueError(f"the painting has {painting.classes.size} cells, the domain {domain.size}.")
    codes, notes = pd.factorize(np.asarray(painting.notes, dtype=object))
    columns[f"class{number}"] = painting.classes.astype(np.uint8)
    columns[f"note{number}"] = codes.astype(np.uint32)
    drawn["notes"] = notes.tolist()
    drawn["classes"] = [
        {
            "colour": rgb(entry.role, theme),
            "mark": entry.mark,
            "ink": rgb(ink_on(entry.role, theme), theme),
        }
        for entry in painting.entries
    ]
    return drawn


def _line(line: Line, theme: Theme) -> dict[str, Any]:
    return {
        "id": line.name,
        "colour": rgb(line.role, theme),
        "width": line.width,
        "paths": [np.round(path, _DECIMALS).tolist() for path in line.paths],
    }


def _boundary(domain: Domain, name: str, role: str, width: float, mask: NDArray[np.bool_]) -> Line:
    if mask.shape != (domain.size,) or mask.dtype != np.bool_:
        raise ValueError("a set of cells is one boolean for each cell of the domain.")
    return Line(name, role, width, interface(domain.cells, mask))

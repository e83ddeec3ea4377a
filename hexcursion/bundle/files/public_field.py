"""Public numbers of the hexagons in a bundle: the field that a question is relative to, and covariates."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from dpgp_core.spectral.basis import standardised
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.files import layout
from hexcursion.bundle.untrusted import clean
from hexcursion.project.public_numbers import Covariates
from hexcursion.record import Release

Floats = NDArray[np.float64]
HEADER = ["h3", "value"]


def relative_block(release: Release) -> dict[str, Any]:
    """The member `relative` of the statement's subject, nothing where values are the data's own."""
    relative = release.relative
    if relative is None:
        return {}
    return {
        "relative": {
            "file": layout.PUBLIC_FIELD,
            "kind": relative.kind,
            "ratio": relative.ratio,
            "origin": clean(relative.origin, 1000, "The origin of the public field"),
        }
    }


def field_bytes(cells: Sequence[str], field: Floats) -> bytes:
    """The table `h3`, `value`, a row a cell; the (N,) values as they are, in the data's own unit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows([cell, repr(float(value))] for cell, value in zip(cells, field, strict=True))
    return text.getvalue().encode()


def field_of(
    contents: Mapping[str, bytes], statement: Mapping[str, Any], cells: Sequence[str]
) -> Floats | None:
    """(N,) public values of a bundle, the data's own unit; None where the statement names none. Raise
    `BundleError` unless they are there exactly where the statement names them, a usable one for each cell."""
    stated = statement["subject"].get("relative")
    if (stated is None) != (layout.PUBLIC_FIELD not in contents):
        raise BundleError(f"The privacy statement and the bundle disagree about {layout.PUBLIC_FIELD}.")
    if stated is None:
        return None
    try:
        rows = list(csv.reader(io.StringIO(contents[layout.PUBLIC_FIELD].decode("utf-8"))))
        values = np.array([float(row[1]) for row in rows[1:]])
        fits = rows[0] == HEADER and [row[0] for row in rows[1:]] == list(cells)
    except (ValueError, IndexError, csv.Error) as error:
        raise BundleError(f"{layout.PUBLIC_FIELD} is damaged: it is not a table of hexagons.") from error
    if not fits or not np.all(np.isfinite(values)) or (stated["ratio"] and not np.all(values > 0)):
        raise BundleError(f"{layout.PUBLIC_FIELD} does not hold one public value for each hexagon.")
    return values


def covariates_block(covariates: Covariates | None) -> dict[str, Any]:
    """The statement's member `covariates`, nothing where no public columns were read."""
    if covariates is None:
        return {}
    named = zip(covariates.names, covariates.origins, strict=True)
    return {
        "covariates": {
            "file": layout.COVARIATES,
            "columns": [
                {
                    "name": clean(name, 100, "The name of a covariate"),
                    "origin": clean(origin, 500, "The origin of a covariate"),
                }
                for name, origin in named
            ],
        }
    }


def covariates_bytes(cells: Sequence[str], covariates: Covariates) -> bytes:
    """The table `h3` and a column for each covariate, numbered as the statement lists them; a row a cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_numbered(len(covariates.names)))
    for cell, row in zip(cells, covariates.values, strict=True):
        writer.writerow([cell, *(repr(float(value)) for value in row)])
    return text.getvalue().encode()


def covariates_of(
    contents: Mapping[str, bytes], statement: Mapping[str, Any], cells: Sequence[str]
) -> Floats | None:
    """(N, k) covariates of a bundle, those which the statement names and its design reads; None for none.
    Raise `BundleError` unless they are there exactly where both say so, a finite number for each hexagon,
    none constant."""
    stated, name = statement.get("covariates"), layout.COVARIATES
    read = bool(statement["design"].get("covariates"))
    if len({stated is not None, name in contents, read}) > 1:
        raise BundleError(f"The privacy statement, its design and the bundle disagree about {name}.")
    if stated is None:
        return None
    try:
        rows = list(csv.reader(io.StringIO(contents[name].decode("utf-8"))))
        values = np.array([[float(value) for value in row[1:]] for row in rows[1:]])
        fits = rows[0] == _numbered(len(stated["columns"])) and [row[0] for row in rows[1:]] == list(cells)
    except (ValueError, IndexError, csv.Error) as error:
        raise BundleError(f"{name} is damaged: it is not a table of hexagons.") from error
    if not fits or values.shape != (len(cells), len(stated["columns"])):
        raise BundleError(f"{name} does not hold one number of each covariate for each hexagon.")
    try:
        standardised(values)
    except InvalidValue as error:
        raise BundleError(f"{name} is not what was read: {error}") from error
    return values


def _numbered(count: int) -> list[str]:
    return [HEADER[0], *(f"covariate_{number}" for number in range(1, count + 1))]

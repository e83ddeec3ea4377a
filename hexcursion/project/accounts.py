"""The private data as the ledger knows them: the hashes of their records, and the area of a release."""

from __future__ import annotations

import hashlib
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from data_loaders import Observations
from geo import to_lonlat
from hexcursion.ledger import Ledger, RecordKeys
from hexcursion.project.model import Project
from hexcursion.project.read_before import file_fingerprint
from hexcursion.settings.source import SourceSettings

AREA_DIGITS = 16
# Hashing a large file takes seconds and a screen asks again with every click. The hashes live as long as the
# observations they belong to, and are nobody's but the ledger's whose identity stands beside them.
_KEPT: WeakKeyDictionary[Observations, tuple[str, RecordKeys]] = WeakKeyDictionary()


def record_keys(project: Project, ledger: Ledger) -> RecordKeys:
    """Keyed hashes of all located private rows, before any choice of domain, in WGS84."""
    private = project.private
    return keys_of(private.observations, project.settings.data, ledger, private.digest)


def keys_of(
    observations: Observations, source: SourceSettings, ledger: Ledger, digest: str = ""
) -> RecordKeys:
    """Keyed hashes of all rows of a source, as `record_keys`; `digest` is its table's, if it is no file."""
    kept = _KEPT.get(observations)
    if kept is None or kept[0] != ledger.identity:
        longitude, latitude = to_lonlat(observations.x, observations.y, observations.crs)
        names, time = observations.identifier, observations.time
        keys = ledger.record_keys(
            longitude,
            latitude,
            observations.value,
            time=None if time is None or bool(np.isnat(time).any()) else time,
            identity=None if names is None or bool((names == b"").any()) else names.astype(str),
            row=observations.row,
            file=digest or file_fingerprint(Path(source.path)),
            layer=source.layer or "",
        )
        kept = ledger.identity, keys
        _KEPT[observations] = kept
    return kept[1]


def area_facts(project: Project) -> dict[str, str | int]:
    """What the ledger remembers of a release's area, to tell later that another one is another."""
    cells = tuple(project.domain.cells)
    digest = hashlib.sha256("\n".join(cells).encode()).hexdigest()
    return {"area": digest[:AREA_DIGITS], "cells": len(cells)}

"""A released path asked at further places: one path in every session, charged once, refused for others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import hexcursion
from hexcursion.door.released import FOLDER
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.ledger.places import home
from tests.hexcursion.door.test_door import BY_HAND, charges
from tests.town import Town

KERNEL: dict[str, Any] = {**BY_HAND, "priors": ("exponential",), "budget": 9.0}


@pytest.fixture(scope="module")
def rows(town: Town) -> pandas.DataFrame:
    return pandas.read_csv(town.private)


def test_a_released_path_is_asked_at_further_places_and_stays_one_path(
    rows: pandas.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError("No space left on device")

    planned = hexcursion.plan(rows, **KERNEL)
    made = hexcursion.publish(planned, tmp_path / "bundle")
    before = charges(open_ledger(create=False))
    path = hexcursion.AskedPath(made)
    lon, lat = made.bundle.domain.centres_lonlat.T
    at_cells = path.at(lon[:3], lat[:3])
    np.testing.assert_allclose(at_cells, made.bundle.response.value(made.bundle.paths[0][:3]), rtol=1e-9)
    between = path.at([lon[0] + 0.003, lon[0] + 0.003, lon[1] + 0.001], [lat[0], lat[0], lat[1]])
    assert between[0] == between[1]
    assert len(np.unique(between)) == 2
    # another session, which has the bundle alone
    again = hexcursion.AskedPath(hexcursion.open_bundle(tmp_path / "bundle"))
    assert again.at(lon[0] + 0.003, lat[0])[0] == between[0]
    assert path.at(lon[2] + 0.002, lat[2])[0] == again.at(lon[2] + 0.002, lat[2])[0]
    (file,) = (home() / FOLDER).iterdir()
    assert [len(json.loads(line)["values"]) for line in file.read_text().splitlines()] == [2, 1]
    assert charges(open_ledger(create=False)) == before, "asking costs nothing"
    with pytest.raises(WorkflowError, match="longitudes and latitudes"):
        path.at(200.0, 50.0)
    kept = file.read_text()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(WorkflowError, match="could not be written down"):
            path.at(lon[3] + 0.001, lat[3])
    with pytest.raises(WorkflowError, match="open the path again"):
        path.at(lon[0], lat[0])
    for damaged in (kept[:-9], kept.splitlines(keepends=True)[0], "", "{}\n{}\n"):
        file.write_text(damaged)
        with pytest.raises(WorkflowError, match="restore that file"):
            hexcursion.AskedPath(made).at(lon[0], lat[0])
    file.write_text(kept + '{"places": [[')  # cut off before anybody saw it
    assert hexcursion.AskedPath(made).at(lon[0] + 0.003, lat[0])[0] == between[0]
    assert file.read_text() == kept


def test_a_release_without_a_path_between_hexagons_is_refused(rows: pandas.DataFrame, tmp_path: Path) -> None:
    made = hexcursion.release(rows, out=tmp_path / "bundle", **KERNEL)
    with pytest.raises(WorkflowError, match="has 1 paths"):
        hexcursion.AskedPath(made, number=2)
    made = hexcursion.release(rows, out=tmp_path / "graph", **{**KERNEL, "priors": BY_HAND["priors"]})
    with pytest.raises(WorkflowError, match="kernel prior"):
        hexcursion.AskedPath(made)
    assert not (home() / FOLDER).exists()

"""Layers are held against RFC 7946 before the charge of a release; afterwards only what is new in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geo import rfc7946_findings
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.choice import given_choice
from tests.town import Town


def test_public_outlines_are_checked_once(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def count(collection: Any) -> list[str]:
        first = collection["features"][0]["properties"]
        looked.append("cells" if "h3" in first else str(first["product"]))
        return rfc7946_findings(collection)

    project = load_project(town.settings(resolution=6, lengthscale=3000.0, ridge=20.0, priors=("car",)))
    ledger = open_ledger(str(tmp_path / "ledger.sqlite"))
    plan = plan_release(project, given_choice(project), ledger)
    monkeypatch.setattr("geo.geojson.rfc7946_findings", count)
    published = publish(plan, ledger, tmp_path / "bundle")
    assert published.folder.is_dir()
    assert looked == ["boundary", "cells", "likely", "likely"]

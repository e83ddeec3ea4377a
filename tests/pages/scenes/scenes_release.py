"""The screens from a plan on: released, published, read, compared; and the frame around all."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hexcursion.bundle import write_bundle
from hexcursion.bundle.density import Density
from hexcursion.ledger.places import bundles_folder
from pages.compare import view
from pages.ledger import view as ledger_view
from pages.ledger.view import AccountView, LedgerView
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Workspace
from pages.shared.shipped import shelved
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.hexcursion.bundle.spectral_samples import spectral_release
from tests.pages.scenes.scenes_pressed import AREA, begun
from tests.pages.scenes.screen import Screen
from tests.pages.scenes.states import (
    done,
    fresh,
    plain_scene,
    put,
    released,
    scene,
    searched,
)

# Release

plain_scene("release: too early", fresh)
plain_scene("release: the receipt", searched)
plain_scene("release: released", released)
plain_scene("release: opened by its address", fresh, release="")
plain_scene("release: weak", lambda: _expecting(0.45, 0.42, 0.6))
plain_scene("release: stopped", lambda: _expecting(0.31, 0.2, 0.4))


def _expecting(agreement: float, low: float, high: float) -> Workspace:
    """The example as if its map were expected to be of this agreement."""
    work = searched()
    assert work.outcome is not None
    known = work.outcome.choice.expected
    assert known is not None
    expected = replace(known, agreement=agreement, low=low, high=high)
    work.outcome = replace(work.outcome, choice=replace(work.outcome.choice, expected=expected))
    return work


@scene("release: questions answered, one by looking")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, searched())
    work.answers |= {"selection": "private data", "threshold": "public", "records_per_person": 3}
    work.finished = [shelved().name]


@scene("release: asked once more")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, searched())
    screen.answers["Release …"] = True


# Publish, viewer, compare, ledger

plain_scene("publish: nothing released", fresh)
plain_scene("publish: the example", released)
plain_scene("publish: no such release", fresh, release="0123456789abcdef")


@scene("publish: a page is made")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, released())
    screen.session_state[f"site_{shelved().name}"] = "https://maps.example.org/prices"


@scene("publish: an address that cannot be used")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, released())
    screen.answers |= {"Address where it will stand": " prices ", "Make the page": True}


def _own_release() -> str:
    name = "0123456789abcdef"
    write_bundle(make_release(small_domain(), release_id=name), bundles_folder() / name)
    return name


@scene("publish: an own release without a key")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, fresh())
    screen.query_params["release"] = _own_release()
    patch.delenv("HEXCURSION_SIGNING_KEY", raising=False)


@scene("publish: an own release, a key that is gone")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, fresh())
    screen.query_params["release"] = _own_release()
    patch.setenv("HEXCURSION_SIGNING_KEY", "/nowhere/office.key")
    patch.delenv("HEXCURSION_SIGNING_PASSWORD", raising=False)
    screen.session_state["signing_password"] = "a password"
    screen.answers["Sign the bundle"] = True


plain_scene("viewer: nothing to open", fresh)
plain_scene("viewer: the example", released)
plain_scene("viewer: no such release", fresh, release="0123456789abcdef")


@scene("viewer: counts, beside another release")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, fresh())
    first, second = "0123456789abcdef", "fedcba9876543210"
    town = small_domain()
    write_bundle(spectral_release(town, release_id=first), bundles_folder() / first)
    write_bundle(make_release(town, release_id=second), bundles_folder() / second)
    screen.query_params["release"] = first
    screen.session_state["viewer_density"] = 20.0
    found = Density(town, 20.0, np.full(town.size, 4.0), np.full(town.size, 2.0), "sale")
    patch.setattr(side_jobs, "same", lambda one, other: True)
    done(work, screen, "density", (), found)
    screen.chooses["viewer_beside"] = 1


plain_scene("compare: too early", fresh)
plain_scene("compare: mechanisms", searched)
plain_scene("compare: mechanisms, none chosen", searched, compare_names_0=[])
plain_scene("compare: today's practice", released)
plain_scene("compare: before a release", searched, compare_way_0="practice")


@scene("compare: one record more, from ten records on")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, released())
    screen.session_state |= {f"practice_record_{shelved().name}": 17, "practice_least": 10}


def _ledger(screen: Screen, patch: pytest.MonkeyPatch, seen: LedgerView) -> None:
    put(screen, fresh())
    patch.setattr(ledger_view, "view_ledger", lambda: seen)


ACCOUNT = AccountView("a.csv", "Each sale", "abab", "1e-05", "2", "0.5", "1.5", 0.25, "1 release", "set")


@scene("ledger: sound")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    _ledger(screen, patch, LedgerView((ACCOUNT,), ({"No.": 0}, {"No.": 1}), (), (), (1,)))


@scene("ledger: damaged")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    _ledger(screen, patch, LedgerView((), ({"No.": 0},), ("entry 1 was changed",), ("a clock",), ()))


@scene("compare: begun")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, searched())
    begun(screen, patch, view, "compare_job")
    screen.presses = "Compare"


@scene("compare: a record is drawn at random")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, released())
    patch.setattr(view, "random_record", lambda records: 3)
    screen.presses = "Take a"


@scene("viewer: shares of areas are computed")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, released())
    upload = SimpleNamespace(file_id="f", getvalue=lambda: json.dumps(AREA).encode())
    screen.answers["Areas (GeoJSON with polygons, such as boroughs)"] = upload
    screen.session_state[side_jobs.KEY] = side_jobs.Planning(0)
    patch.setattr(side_jobs, "same", lambda one, other: True)
    screen.session_state[side_jobs.KEY].jobs["areas"] = side_jobs.SideJob((), None, note="No polygons.")

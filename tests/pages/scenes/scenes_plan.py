"""The screens up to a plan: nothing read, data read, an area, a question, a search."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dpgp_core.mechanisms.design import LENGTHSCALE, RIDGE
from hexcursion.search.bench import Variation, Varied
from hexcursion.search.limit import Loss
from pages.data import public_files
from pages.data.public_files import Offer
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Workspace
from tests.pages.scenes.screen import Screen
from tests.pages.scenes.states import (
    SENSORS,
    done,
    filled,
    fresh,
    plain_scene,
    put,
    scene,
    searched,
    sensors,
    table,
    without_reference,
)

# Start, tour, help, studies

plain_scene("start: first visit", fresh)
plain_scene("help: all of it", fresh)
plain_scene("studies: membership", fresh)
for _step in ("What is public", "What changed", "How sure is it?", "Today's rule", "What an attacker learns"):
    plain_scene(f"tour: {_step}", fresh, tour_step=_step)
for _study in ("audit", "leaderboard", "london"):
    plain_scene(f"studies: {_study}", searched, study=_study)


@scene("start: the finished example is opened")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, fresh())
    screen.answers["Open the finished example"] = True


# Data

plain_scene("data: nothing read", fresh)
plain_scene("data: the example is read", filled)
plain_scene("data: places are public", lambda: filled(places_public=True))
plain_scene("data: reference set aside", lambda: filled(reference_public=False, prior_mean=False))
plain_scene("data: without reference", without_reference)
plain_scene("data: counts", lambda: without_reference(values="count"), data_kind="example")


def _offers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(public_files, "date", SimpleNamespace(today=lambda: SimpleNamespace(year=2026)))


@scene("data: sales by path, one file half here")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, fresh())
    _offers(patch)
    real = public_files.public_offers
    held = lambda year, earlier: tuple(  # noqa: E731 - in place of another function
        Offer(one.file, 7 * number, number == 1) for number, one in enumerate(real(year, earlier))
    )
    patch.setattr(public_files, "public_offers", held)
    screen.answers |= {"Years of transfer (optional)": "2023-2024, 2026"}
    screen.session_state |= {
        "data_kind": "sales",
        "sales_where": "path",
        "sales_private_path": "/p.csv",
        "sales_postcodes_path": "/codes.csv",
        "sales_reference_path": "/q.csv",
    }


@scene("data: a table by upload")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, fresh())
    screen.session_state["data_kind"] = "sensors"


@scene("data: a table with owners, filters and a reference")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    path = sensors(screen, owner="station", most=2, decimal=".", missing="-99, 9999", detection_limit=0.5)
    screen.session_state |= {
        f"sensors_where_{path}": ["kind"],
        f"sensors_where_{path}_kind": "a",
        "sensors_reference_path": table("before.csv", SENSORS.replace("20", "21")),
    }


@scene("data: a missing value that is no number")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    sensors(screen, missing="-99 none")


@scene("data: rows that are counted")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    sensors(screen, value="\0none", word="burglary", crs="", day_first="have the month first")


@scene("data: a table that cannot be read")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, fresh())
    screen.session_state |= {
        "data_kind": "sensors",
        "sensors_where": "path",
        "sensors_private_path": table("bad.csv", "a\n"),
    }


@scene("data: other columns than were read")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    path = sensors(screen)
    work = filled()
    work.choose(data=replace(work.choices["data"], path=path, loader=None, value="no2 (ug/m3)"))
    put(screen, work)
    screen.session_state |= {"data_shown": 0, "data_as_read": (0, {"data": "other"})}


# Hexagons

plain_scene("hexagons: no area", fresh)
plain_scene("hexagons: the example's area", filled)
for _way in ("named", "place", "draw"):
    plain_scene(f"hexagons: by {_way}", filled, region_way_0=_way)
for _way in ("box", "draw"):
    plain_scene(f"hexagons: by {_way}, no area yet", fresh, region_way_0=_way)
plain_scene(
    "hexagons: a box over the date line",
    lambda: fresh(choices={"bbox": (179.5, -17.0, -179.5, -16.5)}),
    resolution=5,
)
plain_scene("hexagons: another resolution is proposed", filled, records_public_0=200)
plain_scene("hexagons: a place by its name", filled, region_way_0="place", place_name_0="Toledo")
plain_scene("hexagons: a place of no such name", filled, region_way_0="place", place_name_0="Qqqqqq")
plain_scene("hexagons: named areas", filled, region_way_0="named", areas_0=["Attard, Malta"])


@scene("hexagons: layers and public numbers")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, filled())
    known = work.domain
    assert known is not None
    ring = [[-83.7, 41.6], [-83.5, 41.6], [-83.5, 41.7], [-83.7, 41.7], [-83.7, 41.6]]
    drawn = {"type": "Polygon", "coordinates": [ring]}
    area = {"type": "Feature", "properties": {"name": "Toledo"}, "geometry": drawn}
    region = table("town.geojson", json.dumps({"type": "FeatureCollection", "features": [area]}))
    text = "h3,forest,slope\n" + "".join(f"{cell},{i % 7},{i % 5}\n" for i, cell in enumerate(known.cells))
    work.choose(layers=(region,), covariates=(table("forest.csv", text),), covariate_columns=("slope",))
    screen.answers["Show on the map"] = "slope"


@scene("hexagons: numbers that do not fit")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, filled(covariates=(table("none.csv", "h3,forest\n"),), covariate_columns=("forest",)))


# Privacy and utility

plain_scene("privacy: nothing read", fresh)
plain_scene("privacy: ready to search", filled)
plain_scene("privacy: searched", searched)
plain_scene("privacy: the choices changed", lambda: _moved(threshold=90_000.0))
plain_scene("privacy: at most", lambda: filled(direction="below"))
plain_scene("privacy: no threshold", lambda: _dropped("threshold"))
plain_scene("privacy: the agreement is asked for", filled, goal_0="agreement")
plain_scene("privacy: without reference", lambda: without_reference(centre=11.0, clip=1.2))
plain_scene("privacy: without reference, no scale", without_reference)
plain_scene("privacy: a pilot", lambda: without_reference(centre=11.0, clip=1.2, pilot=0.3))
plain_scene("privacy: counts", lambda: without_reference(values="count", threshold=3.0, record_word="case"))
plain_scene("privacy: a risk", lambda: without_reference(values="count", threshold=1.5), counted_0="risk")
plain_scene("privacy: a change", lambda: filled(change=True, threshold=1.1))
plain_scene("privacy: limits by zone", filled, against_0="limits")
plain_scene(
    "privacy: answers",
    lambda: filled(
        values="yes-no", yes_above=80_000.0, threshold=50.0, transform=None, centre=None, clip=None
    ),
)
plain_scene("privacy: hexagons are protected", lambda: filled(unit="cell"))
plain_scene("privacy: the number is private", lambda: filled(relation="add-or-remove", records_about=4_000))
plain_scene("privacy: a large slack", lambda: filled(delta=0.01))
plain_scene("privacy: by hand", lambda: filled(lengthscale=5_000.0, ridge=2.0))


def _moved(**choices: Any) -> Workspace:
    work = searched()
    work.choose(**choices)
    return work


def _dropped(name: str) -> Workspace:
    work = filled()
    del work.choices[name]
    return work


@scene("privacy: a dot is clicked, jobs are done")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, searched())
    assert work.outcome is not None
    tuned, search = work.outcome.tuned, work.outcome.search
    number, point = next((k, one) for k, one in enumerate(tuned.result.frontier) if one.epsilon == 2.0)
    screen.clicks["frontier_0_1"] = number
    design = point.scored.design
    variations = tuple(
        Variation(
            parameter,
            2.0 * unit,
            tuple(
                Varied(value * unit, math.inf if value == 4.0 else 0.5 * value, 0.1 * value, 0.01)
                for value in (1.0, 2.0, 4.0)
            ),
        )
        for parameter, unit in ((LENGTHSCALE, 1000.0), (RIDGE, 1.0))
    )
    done(work, screen, "sweep", (design, search), variations)
    rate = SimpleNamespace(value=0.9, low=0.8, high=0.95)
    sets = SimpleNamespace(told=0.75, told_right=0.912, simulations=40, inner=rate, outer=rate)
    done(work, screen, "coverage", (design, search), SimpleNamespace(confidence=0.9, coverage=sets))
    losses = tuple(
        Loss(number=k, epsilon=one.epsilon, design=one.scored.design, lost=0.5, error=0.02, limit=0.3)
        for k, one in enumerate(tuned.result.frontier[:3])
    )
    done(work, screen, "limit", (search,), losses)
    done(work, screen, "typed", (design, point.scored.response, search), point.scored)


@scene("privacy: the smallest budget is found")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, searched())
    assert work.outcome is not None
    tuned = work.outcome.tuned
    point = next(one for one in tuned.result.frontier if one.epsilon == 2.0)
    done(work, screen, "solve", (0.75, work.outcome.search), point)
    screen.session_state[side_jobs.KEY].wanted = 0.75
    screen.session_state["goal_0"] = "agreement"
    screen.answers["Agreement needed (IoU)"] = 0.75


@scene("privacy: no budget is large enough")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    work = put(screen, searched())
    assert work.outcome is not None
    done(work, screen, "solve", (0.95, work.outcome.search), None)
    screen.session_state[side_jobs.KEY].wanted = 0.95
    screen.session_state["goal_0"] = "agreement"
    screen.answers["Agreement needed (IoU)"] = 0.95


@scene("privacy: an impossible design is typed")
def _(screen: Screen, patch: pytest.MonkeyPatch) -> None:
    put(screen, searched())
    screen.answers |= {"Try this design": True, "Ridge r": 0.0}

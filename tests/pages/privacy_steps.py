"""What tests do on the screen Privacy and utility: search, insist, count charges."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from hexcursion.ledger import open_ledger
from hexcursion.project.area import NamedArea
from pages.shared.session.previews import domain_of
from pages.shared.steps import DATA, PRIVACY
from tests.pages.conftest import OpenApp, press
from tests.pages.data_steps import kind, upload, work_of
from tests.pages.test_path import at_hexagons


def key_of(app: AppTest, name: str) -> str:
    return f"{name}_{work_of(app).mark}"


def at_privacy(open_app: OpenApp, resolution: int = 6, **choices: Any) -> AppTest:
    app = at_hexagons(open_app, resolution)
    # One mechanism and one prior: these tests are about the screen, and the free map is not always beaten.
    plain = {"quick": True, "priors": ("car",), "mechanisms": ("posterior-sampling",)}
    work_of(app).choose(**{**plain, **choices})
    app.switch_page(PRIVACY.path).run()
    assert not app.exception
    return app


def searched(open_app: OpenApp, resolution: int = 6, **choices: Any) -> AppTest:
    return press(at_privacy(open_app, resolution, **choices), "Search for the best design")


SENSORS = "lon,lat,no2 (ug/m3)\n" + "".join(
    f"{2.0 + 0.01 * (i % 40)},{54.6 + 0.01 * (i // 40)},{20 + (i % 40) / 2}\n" for i in range(1600)
)
BOX = (2.0, 54.6, 2.4, 55.0)


def without_reference(open_app: OpenApp) -> AppTest:
    """Sensors alone, their box and their public scale."""
    app = upload(kind(open_app(DATA.path), "sensors"), "sensors_private", "town.csv", SENSORS.encode())
    press(app, "Read the data")
    work = work_of(app)
    work.choose(
        bbox=BOX, region=None, resolution=6, threshold=30.0, centre=30.0, clip=12.0, epsilon=3.0, quick=True,
        priors=("car",), mechanisms=("posterior-sampling",),
    )  # fmt: skip
    work.asked_domain, work.domain = (None, BOX, 6), domain_of(NamedArea(None, BOX), 6)
    app.switch_page(PRIVACY.path).run()
    assert not app.exception
    return app


def charges(kinds: str = "draw") -> int:
    return sum(entry.kind == kinds for entry in open_ledger().entries())

"""The public prior mean is taken from the records before the fit, and added to what is released."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from hexcursion.bundle import read_bundle
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.records import PlacedObservations, bin_records
from hexcursion.project.response import ResponseScale
from hexcursion.record import Tuning
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.choice import Choice
from hexcursion.search.public_map import PublicMap
from tests.town import BOX, Town

SCALE = ResponseScale("identity", 20.0, 40.0, "literal")
DESIGN = Design(prior="car", lengthscale=3000.0, ridge=5.0, scale=0.1, bound="sharp")


def test_a_release_with_a_public_mean_shows_the_data_not_the_mean_twice_or_never(
    town: Town, tmp_path: Path, out: Path
) -> None:
    """Every reading is 36, which is 0.4; the public mean is 0.7 everywhere: what is released is 0.4 again.

    Added twice it would be near 1.1, left away near -0.3, subtracted near -1.0; the noise of about a thousand
    records in a hexagon is 0.02. Its price is finite: what costs more than an epsilon of 93 has none.
    """
    rng = np.random.default_rng(3)
    lon, lat = rng.uniform(BOX[0], BOX[2], 20_000), rng.uniform(BOX[1], BOX[3], 20_000)
    level = tmp_path / "level.csv"
    rows = "\n".join(f"{a:.6f},{b:.6f},36.0" for a, b in zip(lon, lat, strict=True))
    level.write_text(f"lon,lat,no2\n{rows}\n", encoding="utf-8")
    settings = town.settings(resolution=7, priors=("car",), centre=20.0, clip=40.0)
    project = load_project(
        settings.with_changes(data=type(settings.data)(str(level), value="no2", x="lon", y="lat"))
    )
    public = PublicMap(np.full(project.domain.size, 0.7), "a literal")
    choice = Choice(DESIGN, SCALE, Tuning("given", "typed in"), public)
    ledger = open_ledger()
    release = publish(plan_release(project, choice, ledger), ledger, out).release
    assert release.paths.shape == (1, 16)
    assert np.all(np.abs(release.paths - 0.4) < 0.1)
    assert release.prior_mean is not None
    assert np.all(release.prior_mean == 0.7)
    bundle = read_bundle(out)
    assert np.all(np.abs(bundle.response.value(bundle.paths) - 36.0) < 4.0)
    assert bundle.published.vote_set.all(), "36 lies above the threshold of 30 in every cell"


def test_the_records_are_residuals_of_the_public_mean() -> None:
    """Readings 36 and 12 are responses 0.4 and -0.2; less a mean of 0.7 and -0.9: -0.3 and 0.7."""
    placed = PlacedObservations(np.array([0, 1]), np.array([36.0, 12.0]), 2, 0)
    records = bin_records(placed, SCALE, "point", np.array([0.7, -0.9]))
    np.testing.assert_allclose(records.mean, [-0.3, 0.7], atol=1e-12)

"""Figure 3 of Smith and others on the sales at hand: cloaked prices over a square around London.

Command: `python -m plugins.peers.studies.cloaked_london [FOLDER]`.

As in the paper: 4,766 sales, prices cut to 100,000 to 500,000 pounds, a squared exponential kernel of 15 km,
delta .01, predictions on a grid; only prices are hidden. Sales are those of Greater London in 2015 and 2016
(the paper's: 2013 to 2016, its epsilon is lost from the text: 1 is taken). Prior deviation and scatter of a
sale, 100,000 pounds each around 300,000, are public guesses; the noise is the least mean square that
suffices and its Gaussian profile is exact, where the paper stops a search early and takes the classical one.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pandas
from scipy.spatial.distance import cdist

from dpgp_core import gaussian_mu
from dpgp_core.excursion import ious
from hexcursion_peers.labels.cloak import make_cloak
from studies.material.real_files import real_files_parser
from studies.reporting.pictures import PICTURES

FILE = Path("house_sales") / "london_transactions_2015_2018_latlon.csv.gz"
SEED, SALES, DRAWS = 2018, 4_766, 400
LEAST, MOST, MIDDLE, SPREAD, SCATTER = 1e5, 5e5, 3e5, 1e5, 1e5  # pounds
CENTRE, HALF, SIDE = np.array([530_000.0, 180_000.0]), 30_000.0, 17  # metres, grid points along an axis
RANGES, EPSILONS, DELTA, SHOWN = (5_000.0, 10_000.0, 15_000.0), (0.2, 0.5, 1.0), 0.01, (15_000.0, 1.0)
NEAR = 4_000.0  # metres
WIDTH, GREYS = 560, ("#ffffff", "#ececec", "#d4d4d4", "#b8b8b8", "#989898")


def picture(exact: np.ndarray, draw: np.ndarray, noise: np.ndarray) -> str:
    """The grid as SVG: grey bands without privacy, circles of a cloaked draw, paler where noise is larger."""
    cell, edges = WIDTH / SIDE, np.linspace(exact.min(), exact.max(), len(GREYS) + 1)
    band = np.clip(np.searchsorted(edges, exact, side="right") - 1, 0, len(GREYS) - 1)
    title = f"Cloaked prices around London, range {SHOWN[0] / 1e3:g} km, epsilon {SHOWN[1]:g}"
    ends = " to ".join(f"{value / 1e3:.0f},000" for value in (exact.min(), exact.max()))
    words = (
        f"Grey: without privacy, five bands from {ends} pounds.",
        "Circles: a cloaked draw, area by price, paler where the noise is larger",
        "(gone where its deviation is 40 % of 400,000 pounds).",
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 20} {WIDTH + 100}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="#222"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="10" y="20" font-weight="bold">{escape(title)}</text>'
    ]
    for at, (value, sd) in enumerate(zip(draw, noise, strict=True)):
        row, column = divmod(at, SIDE)
        x, y = 10 + column * cell, 30 + (SIDE - 1 - row) * cell
        radius = 0.5 * cell * np.sqrt(max(0.0, value) / 6e5)
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{cell:.1f}" fill="{GREYS[band[at]]}"/>'
            f'<circle cx="{x + cell / 2:.1f}" cy="{y + cell / 2:.1f}" r="{radius:.1f}" fill="#0072b2" '
            f'opacity="{max(0.0, 1.0 - sd / (0.4 * (MOST - LEAST))):.2f}"/>'
        )
    parts += [
        f'<text x="10" y="{WIDTH + 52 + 18 * row}">{escape(line)}</text>' for row, line in enumerate(words)
    ]
    return "".join([*parts, "</svg>\n"])


def main() -> int:
    file = real_files_parser(__doc__ or "").parse_args().folder / FILE
    if not file.is_file():
        print(f"The sales are not there: {file.name} is read from a folder of real files.", file=sys.stderr)
        return 1
    table = pandas.read_csv(file, usecols=["price", "year", "e", "n"]).dropna()
    table = table[(table["year"] <= 2016) & (np.abs(table[["e", "n"]] - CENTRE).max(axis=1) < HALF)]
    random = np.random.default_rng(SEED)
    table = table.iloc[random.permutation(len(table))[:SALES]]
    places, price = table[["e", "n"]].to_numpy(), np.clip(table["price"].to_numpy(float), LEAST, MOST)
    axis = np.linspace(-HALF, HALF, SIDE)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2) + CENTRE
    around = (cdist(grid, places) < NEAR).sum(axis=1)
    kinds = {
        "100 or more sales": around >= 100,
        "1 to 29 sales": (around >= 1) & (around < 30),
        "none within 12 km": cdist(grid, places).min(axis=1) > 12_000.0,
    }
    print(
        f"{SALES:,} sales of 2015 and 2016, a grid of {SIDE} by {SIDE} over {2 * HALF / 1e3:g} km. Noise: "
        f"deviation, thousand pounds,\nby sales within {NEAR / 1e3:g} km. IoU: of the region above "
        f"{MIDDLE / 1e3:g},000 pounds with that without privacy, mean of\n{DRAWS} draws.\n"
    )
    print(
        f"{'range':>7}{'epsilon':>9}  without privacy", *(f"{name:>18}" for name in kinds), " largest    IoU"
    )
    for reach in RANGES:
        among, across = (np.exp(-0.5 * np.square(cdist(points, places) / reach)) for points in (places, grid))
        weights = np.linalg.solve(among + (SCATTER / SPREAD) ** 2 * np.eye(SALES), across.T).T
        exact = MIDDLE + weights @ (price - MIDDLE)
        cloak = make_cloak(weights, sweeps=300)
        in_range = MIDDLE + cloak.basis @ (cloak.basis.T @ (exact - MIDDLE))
        for epsilon in EPSILONS:
            covariance = cloak.covariance(MOST - LEAST, float(gaussian_mu(epsilon, DELTA)))
            noise = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
            value, vector = np.linalg.eigh(covariance)
            draws = (
                in_range
                + random.standard_normal((DRAWS, value.size)) * np.sqrt(np.maximum(value, 0.0)) @ vector.T
            )
            agreed = float(ious(draws > MIDDLE, exact > MIDDLE).mean())
            means = (f"{noise[kind].mean() / 1e3:18.0f}" for kind in kinds.values())
            span = f"{exact.min() / 1e3:.0f} to {exact.max() / 1e3:.0f}"
            print(
                f"{reach / 1e3:4g} km{epsilon:9g}  {span:15}",
                *means,
                f"{noise.max() / 1e3:8.0f}{agreed:7.2f}",
            )
            if (reach, epsilon) == SHOWN:
                drawing = picture(exact, draws[0], noise)
                (PICTURES / "cloaked-london.svg").write_text(drawing, encoding="utf-8")
    print(f"\nSeed {SEED}; delta {DELTA:g}. Picture: docs/pictures/cloaked-london.svg.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

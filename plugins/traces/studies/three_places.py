"""Three sensitive stays of one trip, as in figure 3 of Meehan and Chaudhuri (2021).

Command: `python -m plugins.traces.studies.three_places [FOLDER]`.

The paper hides three times of a trace with its noise for multiple secrets, beside independent noise of the
same mean square, and draws what an adversary then believes of every place. Here it is drawn for a generated
trip, nobody's, and measured on it and on one trip of each GeoLife user in FOLDER (next to the checkout unless
named): the three successive stays that take the fewest records are the secrets.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hexcursion_traces.loading import Trace, load_traces
from hexcursion_traces.loading.demo_trip import generated_trip
from hexcursion_traces.mathematics.dominate import multiple_secrets_noise
from hexcursion_traces.mathematics.optimum import best_noise
from hexcursion_traces.mathematics.posterior import Estimate, estimate, interval, uniform_noise
from hexcursion_traces.mathematics.prior import ROBUST_FACTORS, Floats, TracePrior
from hexcursion_traces.mathematics.secret import Secret
from hexcursion_traces.plan import on_a_plane
from hexcursion_traces.stops import find_stops
from studies.material.real_files import real_files_parser
from studies.reporting.figures import COLOURS
from studies.reporting.pictures import PICTURES

SEED, ERROR, DRAWS = 61, 200.0, 200
LENGTH, RECEIVER = 120.0, 3.0  # seconds and metres of the prior; it roams as far as the trip does
EVERY, MOST = 30.0, 160  # seconds between records, and records at most
STAY, WITHIN, SECRETS, AROUND = 3.5, 100.0, 3, 10  # minutes, metres, stays, records on either side
WIDE, HIGH, MARGIN = 420.0, 300.0, 15.0  # of a panel, pixels
INDEPENDENT, PAPER, ROBUST = "independent", "the paper's", "for five lengthscales"
SHOWN = (INDEPENDENT, ROBUST)


@dataclass(frozen=True, eq=False)
class Trip:
    """Part of a trip with three secrets: times (n,) in seconds, places (n, 2) in metres, and the records
    of each stay, which move together."""

    times: Floats
    places: Floats
    secrets: tuple[Secret, ...]

    @property
    def hidden(self) -> np.ndarray:
        """(n,) whether a record belongs to a secret."""
        inside = np.zeros(self.times.size, dtype=bool)
        inside[[record for secret in self.secrets for record in secret.records]] = True
        return inside

    @property
    def prior(self) -> TracePrior:
        """With the trip's own deviation, to which the paper scales its traces."""
        return TracePrior(LENGTH, float(self.places.std(axis=0).mean()), RECEIVER)

    @property
    def covariances(self) -> list[Floats]:
        """(n, n) of the prior at each candidate lengthscale, square metres."""
        return [candidate.covariance(self.times) for candidate in self.prior.candidates()]


def part_of(trace: Trace) -> Trip | None:
    """The records around the three successive stays that take the fewest; None for fewer stays."""
    thin = trace.thinned(EVERY)
    places = on_a_plane(thin)[1]
    stops = find_stops(thin.time, places, STAY, WITHIN)
    runs = [stops[first : first + SECRETS] for first in range(len(stops) - SECRETS + 1)]
    if not runs:
        return None
    chosen = min(runs, key=lambda run: run[-1].last - run[0].first)
    first, last = max(0, chosen[0].first - AROUND), min(thin.size, chosen[-1].last + AROUND + 1)
    kept = np.unique(np.linspace(first, last - 1, min(MOST, last - first)).round().astype(int))
    stays = [np.flatnonzero((kept >= stop.first) & (kept <= stop.last)) for stop in chosen]
    secrets = tuple(Secret(tuple(stay.tolist())) for stay in stays)
    return Trip(thin.time[kept] - thin.time[kept[0]], places[kept], secrets)


def noises_for(trip: Trip) -> dict[str, Floats]:
    """(n, n) covariances per axis of three noises of one trace, square metres."""
    n = trip.times.size
    budget = n * ERROR**2
    covariances = trip.covariances
    middle = covariances[ROBUST_FACTORS.index(1.0)]
    paper = multiple_secrets_noise(middle, trip.secrets, budget / SECRETS, shape="paper", bare=True)
    return {
        INDEPENDENT: uniform_noise(n, budget),
        PAPER: paper * (budget / np.trace(paper)),
        ROBUST: best_noise(covariances, trip.secrets, budget).noise,
    }


def believed(
    trip: Trip, noise: Floats, generator: np.random.Generator
) -> tuple[Floats, tuple[Estimate, Estimate]]:
    """(n, 2) released places, and what the adversary with the stated prior makes of either axis."""
    value, vector = np.linalg.eigh(noise)
    white = generator.standard_normal((trip.times.size, 2))
    released = trip.places + (vector * np.sqrt(np.maximum(value, 0.0))) @ white
    covariance = trip.prior.covariance(trip.times)
    first, second = (estimate(released[:, axis], covariance, noise) for axis in (0, 1))
    return released, (first, second)


def held(trip: Trip, noise: Floats, generator: np.random.Generator) -> tuple[float, float]:
    """How often an axis of a place lies within the adversary's 68 % interval: secrets, other records."""
    inside = np.zeros(trip.times.size)
    for _ in range(DRAWS):
        for axis, about in enumerate(believed(trip, noise, generator)[1]):
            apart = np.abs(about.mean - trip.places[:, axis])
            inside += apart <= np.sqrt(about.covariance.diagonal())
    share = inside / (2.0 * DRAWS)
    return float(share[trip.hidden].mean()), float(share[~trip.hidden].mean())


def measured(name: str, trip: Trip, generator: np.random.Generator) -> Iterator[str]:
    """A line for each noise."""
    covariances = trip.covariances
    at = ROBUST_FACTORS.index(1.0)
    for title, noise in noises_for(trip).items():
        widths = [min(interval(c, noise, secret) for secret in trip.secrets) for c in covariances]
        other = believed(trip, noise, generator)[1][0].covariance.diagonal()[~trip.hidden]
        secret, rest = held(trip, noise, generator)
        yield (
            f"{name:10} {trip.times.size:4} {trip.hidden.sum():4}  {title:22} {widths[at]:6.0f} "
            f"{min(widths):6.0f} {2.0 * np.sqrt(np.median(other)):6.0f}  {100 * secret:3.0f} % "
            f"{100 * rest:3.0f} %"
        )


def panel(title: str, trip: Trip, noise: Floats, left: float) -> str:
    """The trip, its release, and a circle of one deviation around each place that the adversary expects."""
    released, (east, north) = believed(trip, noise, np.random.default_rng(SEED))
    low, high = trip.places.min(axis=0) - 900.0, trip.places.max(axis=0) + 900.0
    scale = float(min((WIDE - 2 * MARGIN) / (high - low)[0], (HIGH - 2 * MARGIN) / (high - low)[1]))

    def on_paper(places: Floats) -> Floats:
        x, y = (places - low).T * scale
        return np.column_stack([left + MARGIN + x, 40.0 + HIGH - MARGIN - y])

    guess = on_paper(np.column_stack([east.mean, north.mean]))
    radii = scale * np.sqrt(0.5 * (east.covariance.diagonal() + north.covariance.diagonal()))
    true, seen = on_paper(trip.places), on_paper(released)
    parts = [f'<text x="{left + MARGIN:g}" y="24" class="t">{title}</text>']
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="{COLOURS[2]}" fill-opacity=".13"/>'
        for (x, y), r in zip(guess, radii, strict=True)
    ]
    for places, colour in ((seen, COLOURS[5]), (true, COLOURS[6])):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>')
    for secret in trip.secrets:
        x, y = true[list(secret.records)].mean(axis=0)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{COLOURS[1]}" stroke="{COLOURS[0]}" '
            'stroke-width="2"/>'
        )
    x, y, kilometre = left + MARGIN, 40.0 + HIGH - 6.0, 1000.0 * scale
    parts.append(f'<path d="M{x:g} {y:g}h{kilometre:.1f}" stroke="#333"/>')
    parts.append(f'<text x="{x + kilometre + 6:.1f}" y="{y + 4:g}" class="s">1 km</text>')
    return "\n".join(parts)


def draw(trip: Trip) -> None:
    """Write docs/pictures/three-places.svg."""
    noises = noises_for(trip)
    titles = (f"Independent noise of {ERROR:g} m", "Noise shaped for the three stays, the same size")
    panels = [
        panel(title, trip, noises[name], place * WIDE)
        for place, (title, name) in enumerate(zip(titles, SHOWN, strict=True))
    ]
    entries = (
        (COLOURS[6], "the trip"),
        (COLOURS[5], "what is released"),
        (COLOURS[1], "three stays"),
        (COLOURS[2], "where the adversary expects each place, one deviation"),
    )
    legend, left = [], MARGIN
    for colour, words in entries:
        legend.append(f'<rect x="{left:g}" y="{HIGH + 52:g}" width="12" height="12" fill="{colour}"/>')
        legend.append(f'<text x="{left + 18:g}" y="{HIGH + 62:g}" class="s">{words}</text>')
        left += 44.0 + 6.6 * len(words)
    body = "\n".join([*panels, *legend])
    style = "text{font-family:sans-serif;fill:#222}.t{font-size:15px}.s{font-size:12px}"
    (PICTURES / "three-places.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDE:g} {HIGH + 75:g}" role="img" '
        f'aria-label="A trip with three stays under two noises">\n<style>{style}</style>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n',
        encoding="utf-8",
    )


def parts_of(folder: Path) -> Iterator[tuple[str, Trip]]:
    """Of each user, the part with the fewest records around three stays."""
    for user in sorted(folder.iterdir()):
        parts = [part_of(load_traces(path)[0][0]) for path in sorted((user / "Trajectory").glob("*.plt"))]
        found = [part for part in parts if part is not None]
        if found:
            yield f"user {user.name}", min(found, key=lambda part: part.times[-1])


def main() -> None:
    folder = real_files_parser(__doc__).parse_args().folder / "traces" / "geolife"
    begun, generator = time.process_time(), np.random.default_rng(SEED)
    trip = part_of(load_traces(generated_trip(SEED))[0][0])
    assert trip is not None
    print(
        f"Seed {SEED}. Noise of {ERROR:g} m per axis on average; the adversary's narrowest 68 % interval for "
        "a stay in metres at a lengthscale\nof 120 s and over five, and the usual one for another record; "
        f"how often they hold the true place, {DRAWS} draws.\n\n"
        "trip          n  secret  noise              120 s   five  other  held, other"
    )
    for name, part in (("generated", trip), *(parts_of(folder) if folder.is_dir() else ())):
        for line in measured(name, part, generator):
            print(line, flush=True)
    draw(trip)
    print(
        "\nPicture: docs/pictures/three-places.svg, of the generated trip. The whole study took "
        f"{time.process_time() - begun:.0f} s of CPU time."
    )


if __name__ == "__main__":
    main()

"""Stays of recorded trips: does a secret cover each stay that a plain detector by medians finds?

`python -m plugins.traces.studies.stays [FOLDER]`: the folder of GeoLife users, by default next to
the checkout.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hexcursion.errors import WorkflowError
from hexcursion_traces.loading import load_traces
from hexcursion_traces.plan import on_a_plane, secret_spans
from hexcursion_traces.settings import TraceSettings
from plugins.traces.tests.wandering import median_stays, share_hidden
from studies.material.real_files import BESIDE

FOLDER = BESIDE / "traces" / "geolife"
SETTINGS = TraceSettings(stops=10.0)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    print("No random numbers. Stays of ten minutes and more within 100 m, a record every 30 seconds.")
    print("user  trip            records  secrets  stays found  least share hidden")
    total, smallest = 0, 1.0
    for path in sorted(folder.rglob("*.plt")):
        trace = load_traces(path)[0][0]
        thin = trace.thinned(SETTINGS.every)
        try:
            secrets = secret_spans(trace, thin, SETTINGS)
        except WorkflowError:  # nothing to hide
            secrets = []
        stays_of_trip = median_stays(thin.time, on_a_plane(thin)[1], SETTINGS.stops)
        worst = min((share_hidden(span, secrets) for span in stays_of_trip), default=1.0)
        total, smallest = total + len(stays_of_trip), min(smallest, worst)
        print(
            f"{path.parts[-3]}   {path.stem}  {thin.size:7d}  {len(secrets):7d}  {len(stays_of_trip):11d}  "
            f"{worst:18.2f}",
            flush=True,
        )
    print(f"{total} stays; of each at least {smallest:.0%} is hidden by one secret.")


if __name__ == "__main__":
    main()

"""Server time of one redraw while a release is explored: `python -m studies.screens.redraw`.

The generated sales, released with five paths on a rectangle around their city, resolutions 8 and 9; then the
Release screen's own code is run again after each move of the threshold, as Streamlit does, without a browser.
The times are wall-clock seconds of one thread, harness included; medians over MOVES moves.
"""

from __future__ import annotations

import os
import tempfile
import time
from statistics import median

from streamlit.testing.v1 import AppTest

from hexcursion.project.example import example_settings
from hexcursion.project.load import load_project
from hexcursion.search.tuning import tune
from pages.release.releasing import release
from pages.shared.released_view import threshold_stops
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.workspace import KEY, Workspace

BOX = (1.8933, 54.59, 2.5267, 54.915)
MOVES = 20
WAYS = {"beside": "Side by side", "difference": "Difference", "lines": "Boundary lines"}


def screen() -> None:
    """The Release screen after a release, and nothing else."""
    from pages.release import result_panel
    from pages.shared.session import workspace

    work = workspace.current()
    assert work.outcome is not None and work.release_id is not None  # noqa: PT018
    result_panel.for_curator(work, work.outcome, work.release_id)


def released(resolution: int) -> Workspace:
    """A session that has released five paths."""
    settings = example_settings().with_changes(
        region=None, bbox=BOX, resolution=resolution, paths=5, quick=True, priors=("car",)
    )
    project = load_project(settings)
    tuned = tune(project)
    work = Workspace()
    work.adopt(settings)
    work.outcome = SearchOutcome(project, tuned, tuned.choice)
    work.release_id = release(project, tuned.choice, 10.0).release.release_id
    return work


def times(work: Workspace) -> dict[str, float]:
    """Median seconds of one redraw, for each way of comparing."""
    app = AppTest.from_function(screen, default_timeout=600)
    app.session_state[KEY] = work
    app.run()
    medians = {}
    for way, name in WAYS.items():
        app.button_group(key="result_way").set_value(way).run()
        assert work.explored is not None
        stops, seconds = threshold_stops(work.explored.viewer), []
        maps_shown = set()
        for move in range(MOVES):
            app.select_slider(key="result_threshold").set_value(stops[len(stops) // 2 - move])
            start = time.perf_counter()
            app.run()
            seconds.append(time.perf_counter() - start)
            (component,) = app.get("bidi_component")
            maps_shown.add(component.proto.SerializeToString())
        assert len(maps_shown) > MOVES // 2  # every stop is another map, but for neighbours that agree
        assert not app.exception
        medians[name] = median(seconds)
    return medians


def main() -> None:
    columns = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["HEXCURSION_HOME"] = os.environ["HEXCURSION_WITNESS"] = home
        for resolution in (8, 9):
            work = released(resolution)
            assert work.outcome is not None
            columns[work.outcome.project.domain.size] = times(work)
    print(
        f"{'server seconds per redraw, five paths':40s}" + "".join(f"{cells:>8,} cells" for cells in columns)
    )
    for name in WAYS.values():
        print(f"{name:40s}" + "".join(f"{column[name]:14.3f}" for column in columns.values()))


if __name__ == "__main__":
    main()

"""Posterior paths: their choice, a preview, their prior noise, and a comparison with spectral statistics.

All maps here are simulated from what the screen's preview is drawn from: reference data or the public map.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import streamlit as st

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS, mechanism_of
from geo.maps.layers import boundaries_legend
from geo.maps.linked import Pane, boundary_lines
from geo.maps.painting import LegendEntry, legend, paint_votes
from hexcursion.releasing.release_guard import objections
from hexcursion.search.bench import SEVERAL, SHARES, SimulatedRelease
from hexcursion.search.results import settle_on
from hexcursion.search.task import FrontierPoint, Scored
from hexcursion.settings.names import DEFAULT_MECHANISMS
from pages.privacy import design_panels, frontier, trials
from pages.privacy.designs import beside_job
from pages.privacy.question_view import threshold_words
from pages.shared import maps, panels
from pages.shared.glossary import PATHS, TERMS, label, tip
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.found import Found
from pages.shared.session.workspace import Workspace


def _costs_paths(name: str) -> bool:
    """Whether a further path of a mechanism costs."""
    return not MECHANISMS[name].free_paths


EITHER, OTHER = "either", "other"
# the mechanisms that may draw a map by themselves, first those whose paths cost nothing
SOLE = sorted((name for name in MECHANISMS.own if MECHANISMS[name].sole), key=_costs_paths)
DRAWN: dict[str, tuple[str, ...]] = {EITHER: DEFAULT_MECHANISMS, **{name: (name,) for name in SOLE}}
Shown = Literal["one", "several", "votes"]
SHOWN: dict[Shown, str] = {"one": "One path", "several": "Several paths", "votes": "Votes"}


def ask_drawn(work: Workspace) -> None:
    """Ask how the map is drawn: by whichever mechanism agrees better, or by one of the two of the house."""
    if work.choices.get("values", "amount") != "amount":  # others have one design
        return
    key = f"drawn_{work.mark}"
    chosen = _asked_for(work)
    way = next((way for way, names in DRAWN.items() if set(names) == chosen), OTHER)
    st.session_state[key] = way
    words = {name: MECHANISMS[name].line for name in SOLE}
    words |= {EITHER: "Whichever agrees better", OTHER: "As said under More choices"}
    st.selectbox(
        "How the map is drawn",
        [*DRAWN, *((OTHER,) if way == OTHER else ())],
        format_func=words.__getitem__,
        key=key,
        on_change=_take,
        args=(work, key),
        help=PATHS,
    )
    if way in SOLE and _costs_paths(way):
        ask_number(work, st)


def alone(work: Workspace) -> bool:
    """Whether paths alone were asked for, of which each costs."""
    return any(_asked_for(work) == {name} for name in SOLE if _costs_paths(name))


def _asked_for(work: Workspace) -> set[str]:
    """The mechanisms that a search may use."""
    chosen = st.session_state.get(f"mechanisms_{work.mark}") or work.choices.get("mechanisms")
    return set(chosen or DEFAULT_MECHANISMS)


def _take(work: Workspace, key: str) -> None:
    names = DRAWN.get(st.session_state[key])
    if names is not None:
        work.choose(mechanisms=names)
        st.session_state[f"mechanisms_{work.mark}"] = list(names)


def ask_number(work: Workspace, where: Any) -> None:
    """Ask for the number of paths, and choose it."""
    paths = where.number_input(
        label("paths"),
        1,
        1000,
        value=work.choices.get("paths", 1),
        help=tip("paths"),
        **work.keyed("paths"),
    )
    work.choose(paths=int(paths))


def show(work: Workspace, found: Found, scored: Scored) -> None:
    """The preview of a design of paths: one of them, several, or their votes, with the reference map."""
    seen = design_panels.simulated(work, found, scored)
    way: Shown = st.selectbox(
        "Shown of the paths",
        list(SHOWN),
        format_func=SHOWN.__getitem__,
        label_visibility="collapsed",
        key=f"paths_shown_{work.mark}",
    )
    drawn, entries, said = _drawn(work, found, seen, scored.design.paths, way)
    project = found.project
    maps.show(
        project.domain,
        [drawn, design_panels.set_pane(work, project, seen.baseline, "Without privacy", "Reference map")],
        mode="beside",
        key="simulated",
        alt=f"{said} Beside it the reference map without privacy: {int(seen.baseline.sum()):,} hexagons are "
        f"{threshold_words(work)}.",
        legend=entries,
        height=320,
        layers=project.layers,
    )


def _drawn(
    work: Workspace, found: Found, seen: SimulatedRelease, count: int, way: Shown
) -> tuple[Pane, tuple[LegendEntry, ...], str]:
    """The chosen pane, its legend, and the same in words."""
    project, what = found.project, threshold_words(work)
    private, paths = design_panels.is_private(project), seen.paths if count == 1 else seen.paths[:count]
    if way == "one":
        title = f"One path, simulated{_right(found, seen.right)}"
        pane = design_panels.set_pane(work, project, paths[0], title, "Simulated")
        return pane, design_panels.set_legend(work, paths[0]), f"{int(paths[0].sum()):,} hexagons are {what}."
    some = f"{SEVERAL} paths that could be drawn; one is" if count == 1 else f"{count} paths, all"
    if way == "several":
        lines = boundary_lines(project.domain, list(paths[:SEVERAL]))
        entries = boundaries_legend(len(paths[:SEVERAL]), baseline=False, theme=maps.theme())
        named = tuple(replace(each, label=f"path {k + 1}") for k, each in enumerate(entries))
        said = f"Boundaries of {len(paths[:SEVERAL])} simulated paths."
        return Pane(f"{some} released", private=private, lines=lines, word="Simulated"), named, said
    votes = paths.mean(axis=0)
    painting = paint_votes(votes, len(paths), what=what, title=f"Share of {some} released")
    pane = Pane(painting.title, painting, private, word="Simulated")
    sure = int((votes == 1.0).sum())
    entries = tuple(
        replace(each, label=each.label.removeprefix("in ").removesuffix(" paths"), cells=None)
        for each in legend(painting, maps.theme())
    )
    return pane, entries, f"{sure:,} hexagons are {what} in all {len(paths)} paths."


def _right(found: Found, share: float) -> str:
    """The end of a pane's title: the records on the side that it shows; "" of too few records."""
    return "" if found.few else f": {trials.of_100(share)} records on their right side"


def show_choices(work: Workspace, found: Found, scored: Scored) -> None:
    """The map side by side with spectral statistics at the same budget; what a path is, and its noise."""
    priced = found.project.pilot is None  # a paid look is part of a budget that was fixed before
    if priced:
        _beside(work, found, scored)
    with st.expander("What a path is, and its prior noise", icon=":material/gesture:"):
        panels.explain_paths()
        if priced:
            _prior_noise(work, found, scored)


def _beside(work: Workspace, found: Found, scored: Scored) -> None:
    mechanism, settings = mechanism_of(scored.design), found.project.settings
    rival_name = next(name for name in SOLE if name != mechanism.name)
    other = MECHANISMS[rival_name].line
    answer = side_jobs.follow(
        work,
        "beside",
        (found.tuned, settings.epsilon),
        f"Side by side with {plain(other).lower()} at ε {settings.epsilon:g}",
        "Stop",
        lambda: beside_job(found.project, found.tuned, rival_name),
    )
    if answer is None:
        return
    rival: Scored = answer.result
    own, project = mechanism.line, found.project
    first, second = (design_panels.simulated(work, found, each) for each in (scored, rival))
    sets = ((own, first.released, first.right), (other, second.released, second.right))
    what = threshold_words(work)
    panes = [
        design_panels.set_pane(work, project, cells, f"{name}{_right(found, right)}", name)
        for name, cells, right in sets
    ]
    maps.show(
        project.domain,
        panes,
        mode="beside",
        key="paths_beside",
        alt=f"{own}: {int(first.released.sum()):,} hexagons are {what}. {other}: "
        f"{int(second.released.sum()):,}.",
        legend=design_panels.set_legend(work, first.released),
        height=320,
        layers=project.layers,
    )
    said = f"Both at ε {settings.epsilon:g}, each drawn once in simulation. "
    expected = (
        f"Expected records on their right side: {own.lower()} {trials.of_100(scored.utility.records)}, "
        f"{other.lower()} {trials.of_100(rival.utility.records)}."
    )
    st.caption(plain(said + (f"{found.few}." if found.few else expected)))


def _prior_noise(work: Workspace, found: Found, scored: Scored) -> None:
    """The slider, and what each share does to the agreement while ε stays."""
    design, settings = scored.design, found.project.settings
    assert isinstance(design, PosteriorSamplingDesign)
    st.caption(
        f"{TERMS['noise_scale'].meaning} The other noise then shrinks, so that ε stays {settings.epsilon:g}; "
        "what it costs is how right the map is."
    )
    own = min(SHARES, key=lambda share: abs(share - design.noise_share))
    share = st.select_slider(
        "Share of prior noise in a path's variance",
        SHARES,
        value=own,
        format_func=lambda each: f"{100 * each:.0f} %",
        key=f"noise_share_{own:g}_{work.mark}",
    )
    about = (replace(design, scale=1.0, noise_scale=0.0, bound="sharp"), found.tuned)
    if side_jobs.running(work, "prior_noise", "Stop"):
        return
    known = side_jobs.planning(work).jobs.get("prior_noise")
    if known is None or not side_jobs.same(known.about, about):
        if share != own:
            side_jobs.start(work, "prior_noise", about, trials.noises_job(found.project, found.tuned, scored))
            st.rerun()
        return
    answer = side_jobs.found(work, "prior_noise", about)
    if answer is None:
        return
    judged = dict(answer.result)
    if share not in judged:
        st.info(f"No such path meets ε {settings.epsilon:g}.", icon=":material/block:")
        return
    was, now = (one.utility.records for one in (judged.get(own, scored), judged[share]))
    said = (
        f"With {100 * share:.0f} % prior noise: {trials.of_100(now)} records expected on their right side "
        f"at ε {settings.epsilon:g}, instead of {trials.of_100(was)}."
    )
    st.markdown(plain(f"{found.few}." if found.few else said))
    if share != own and judged[share].epsilon <= settings.epsilon:
        st.button(
            "Use this prior noise",
            icon=":material/check:",
            key=f"noise_use_{work.mark}",
            on_click=frontier.use_typed,
            args=(work, found, judged[share]),
        )


def needed(found: Found) -> str:
    """What a stopped map would need: the least budget of the curve at which it is not stopped, and another
    mechanism that is not at its own; "" where nothing stops it or no further point is known yet."""
    settings, own = found.project.settings, found.choice.design.mechanism
    if not found.against:
        return ""
    points = [
        point
        for point in found.tuned.result.frontier
        if (point.epsilon > settings.epsilon or point.scored.design.mechanism != own)
        and point.epsilon >= settings.epsilon
    ]
    if not points:
        return ""
    enough = [point for point in points if not _stopped(found, point)]
    larger = [point for point in enough if point.scored.design.mechanism == own]
    others = [point for point in enough if point.scored.design.mechanism != own]
    said = [f"{MECHANISMS[own].line}: ε {min(point.epsilon for point in larger):g}"] if larger else []
    if others:
        least = min(others, key=lambda point: point.epsilon)
        said.append(f"{MECHANISMS[least.scored.design.mechanism].line}: ε {least.epsilon:g}")
    if not said:
        most = max(point.epsilon for point in points)
        return f"Not even ε {most:g} would do: take coarser hexagons, or more records."
    return f"What would be needed: {'; '.join(said)}."


def _stopped(found: Found, point: FrontierPoint) -> bool:
    project, choice = settle_on(found.project, found.tuned, point)
    level = choice.level(project.settings.threshold)
    return bool(objections(choice.expected, choice.yardsticks, level))

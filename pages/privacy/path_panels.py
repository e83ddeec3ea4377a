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
from pages.shared.session.outcome import SearchOutcome
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
    names_asked = _asked_for(work)
    way = next((way for way, names in DRAWN.items() if set(names) == names_asked), OTHER)
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
    ticked = st.session_state.get(f"mechanisms_{work.mark}") or work.choices.get("mechanisms")
    return set(ticked or DEFAULT_MECHANISMS)


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


def show(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    """The preview of a design of paths: one of them, several, or their votes, with the reference map."""
    simulation = design_panels.simulated(work, outcome, candidate)
    way: Shown = st.selectbox(
        "Shown of the paths",
        list(SHOWN),
        format_func=SHOWN.__getitem__,
        label_visibility="collapsed",
        key=f"paths_shown_{work.mark}",
    )
    pane, entries, sentence = _drawn(work, outcome, simulation, candidate.design.paths, way)
    project = outcome.project
    maps.show(
        project.domain,
        [
            pane,
            design_panels.set_pane(work, project, simulation.baseline, "Without privacy", "Reference map"),
        ],
        mode="beside",
        key="simulated",
        alt=f"{sentence} Beside it the reference map without privacy: {int(simulation.baseline.sum()):,} "
        f"hexagons are {threshold_words(work)}.",
        legend=entries,
        height=320,
        layers=project.layers,
    )


def _drawn(
    work: Workspace, outcome: SearchOutcome, simulation: SimulatedRelease, count: int, way: Shown
) -> tuple[Pane, tuple[LegendEntry, ...], str]:
    """The chosen pane, its legend, and the same in words."""
    project, what = outcome.project, threshold_words(work)
    private, paths = (
        design_panels.is_private(project),
        simulation.paths if count == 1 else simulation.paths[:count],
    )
    if way == "one":
        title = f"One path, simulated{_right(outcome, simulation.right)}"
        pane = design_panels.set_pane(work, project, paths[0], title, "Simulated")
        return pane, design_panels.set_legend(work, paths[0]), f"{int(paths[0].sum()):,} hexagons are {what}."
    paths_words = f"{SEVERAL} paths that could be drawn; one is" if count == 1 else f"{count} paths, all"
    if way == "several":
        lines = boundary_lines(project.domain, list(paths[:SEVERAL]))
        entries = boundaries_legend(len(paths[:SEVERAL]), baseline=False, theme=maps.theme())
        entries_named = tuple(replace(entry, label=f"path {k + 1}") for k, entry in enumerate(entries))
        sentence = f"Boundaries of {len(paths[:SEVERAL])} simulated paths."
        return (
            Pane(f"{paths_words} released", private=private, lines=lines, word="Simulated"),
            entries_named,
            sentence,
        )
    votes = paths.mean(axis=0)
    painting = paint_votes(votes, len(paths), what=what, title=f"Share of {paths_words} released")
    pane = Pane(painting.title, painting, private, word="Simulated")
    sure = int((votes == 1.0).sum())
    entries = tuple(
        replace(entry, label=entry.label.removeprefix("in ").removesuffix(" paths"), cells=None)
        for entry in legend(painting, maps.theme())
    )
    return pane, entries, f"{sure:,} hexagons are {what} in all {len(paths)} paths."


def _right(outcome: SearchOutcome, share: float) -> str:
    """The end of a pane's title: the records on the side that it shows; "" of too few records."""
    return "" if outcome.few else f": {trials.of_100(share)} records on their right side"


def show_choices(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    """The map side by side with spectral statistics at the same budget; what a path is, and its noise."""
    priced = outcome.project.pilot is None  # a paid look is part of a budget that was fixed before
    if priced:
        _beside(work, outcome, candidate)
    with st.expander("What a path is, and its prior noise", icon=":material/gesture:"):
        panels.explain_paths()
        if priced:
            _prior_noise(work, outcome, candidate)


def _beside(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    mechanism, settings = mechanism_of(candidate.design), outcome.project.settings
    rival_name = next(name for name in SOLE if name != mechanism.name)
    other = MECHANISMS[rival_name].line
    answer = side_jobs.follow(
        work,
        "beside",
        (outcome.search, settings.epsilon),
        f"Side by side with {plain(other).lower()} at ε {settings.epsilon:g}",
        "Stop",
        lambda: beside_job(outcome.project, outcome.tuned, rival_name),
    )
    if answer is None:
        return
    rival: Scored = answer.result
    line, project = mechanism.line, outcome.project
    first, second = (design_panels.simulated(work, outcome, candidate) for candidate in (candidate, rival))
    sets = ((line, first.released, first.right), (other, second.released, second.right))
    what = threshold_words(work)
    panes = [
        design_panels.set_pane(work, project, cells, f"{name}{_right(outcome, right)}", name)
        for name, cells, right in sets
    ]
    maps.show(
        project.domain,
        panes,
        mode="beside",
        key="paths_beside",
        alt=f"{line}: {int(first.released.sum()):,} hexagons are {what}. {other}: "
        f"{int(second.released.sum()):,}.",
        legend=design_panels.set_legend(work, first.released),
        height=320,
        layers=project.layers,
    )
    sentence = f"Both at ε {settings.epsilon:g}, each drawn once in simulation. "
    expected = (
        f"Expected records on their right side: {line.lower()} {trials.of_100(candidate.utility.records)}, "
        f"{other.lower()} {trials.of_100(rival.utility.records)}."
    )
    st.caption(plain(sentence + (f"{outcome.few}." if outcome.few else expected)))


def _prior_noise(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    """The slider, and what each share does to the agreement while ε stays."""
    design, settings = candidate.design, outcome.project.settings
    assert isinstance(design, PosteriorSamplingDesign)
    st.caption(
        f"{TERMS['noise_scale'].meaning} The other noise then shrinks, so that ε stays {settings.epsilon:g}; "
        "what it costs is how right the map is."
    )
    own_share = min(SHARES, key=lambda share: abs(share - design.noise_share))
    share = st.select_slider(
        "Share of prior noise in a path's variance",
        SHARES,
        value=own_share,
        format_func=lambda value: f"{100 * value:.0f} %",
        key=f"noise_share_{own_share:g}_{work.mark}",
    )
    about = (replace(design, scale=1.0, noise_scale=0.0, bound="sharp"), outcome.search)
    if side_jobs.running(work, "prior_noise", "Stop"):
        return
    job = side_jobs.planning(work).jobs.get("prior_noise")
    if job is None or not side_jobs.same(job.about, about):
        if share != own_share:
            side_jobs.start(
                work, "prior_noise", about, trials.noises_job(outcome.project, outcome.tuned, candidate)
            )
            st.rerun()
        return
    answer = side_jobs.finished(work, "prior_noise", about)
    if answer is None:
        return
    judged = dict(answer.result)
    if share not in judged:
        st.info(f"No such path meets ε {settings.epsilon:g}.", icon=":material/block:")
        return
    was, now = (candidate.utility.records for candidate in (judged.get(own_share, candidate), judged[share]))
    sentence = (
        f"With {100 * share:.0f} % prior noise: {trials.of_100(now)} records expected on their right side "
        f"at ε {settings.epsilon:g}, instead of {trials.of_100(was)}."
    )
    st.markdown(plain(f"{outcome.few}." if outcome.few else sentence))
    if share != own_share and judged[share].epsilon <= settings.epsilon:
        st.button(
            "Use this prior noise",
            icon=":material/check:",
            key=f"noise_use_{work.mark}",
            on_click=frontier.use_typed,
            args=(work, outcome, judged[share]),
        )


def needed(outcome: SearchOutcome) -> str:
    """What a stopped map would need: the least budget of the curve at which it is not stopped, and another
    mechanism that is not at its own; "" where nothing stops it or no further point is known yet."""
    settings, own_name = outcome.project.settings, outcome.choice.design.mechanism
    if not outcome.against:
        return ""
    points = [
        point
        for point in outcome.tuned.result.frontier
        if (point.epsilon > settings.epsilon or point.scored.design.mechanism != own_name)
        and point.epsilon >= settings.epsilon
    ]
    if not points:
        return ""
    enough = [point for point in points if not _stopped(outcome, point)]
    larger = [point for point in enough if point.scored.design.mechanism == own_name]
    rivals = [point for point in enough if point.scored.design.mechanism != own_name]
    sentences = (
        [f"{MECHANISMS[own_name].line}: ε {min(point.epsilon for point in larger):g}"] if larger else []
    )
    if rivals:
        cheapest = min(rivals, key=lambda point: point.epsilon)
        sentences.append(f"{MECHANISMS[cheapest.scored.design.mechanism].line}: ε {cheapest.epsilon:g}")
    if not sentences:
        largest = max(point.epsilon for point in points)
        return f"Not even ε {largest:g} would do: take coarser hexagons, or more records."
    return f"What would be needed: {'; '.join(sentences)}."


def _stopped(outcome: SearchOutcome, point: FrontierPoint) -> bool:
    project, choice = settle_on(outcome.project, outcome.tuned, point)
    level = choice.level(project.settings.threshold)
    return bool(objections(choice.expected, choice.yardsticks, level))

"""What a budget buys: the frontier, the smallest epsilon for an agreement, and settling on a design."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from hexcursion import promises, words
from hexcursion.project.model import Project
from hexcursion.search.bench import STEPS
from hexcursion.search.choice import Choice
from hexcursion.search.limit import why_no_limit
from hexcursion.search.public_map import answered
from hexcursion.search.results import settle_on, settle_on_typed, with_frontier
from hexcursion.search.scenes import private_n, public_facts
from hexcursion.search.task import FrontierPoint, Scored
from pages.privacy import trials
from pages.privacy.designs import curve_job, dots, lines_of
from pages.privacy.trials import achieved_words, best_reached, cost, solve_job
from pages.shared.charts import alt, spec_of
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.workspace import Workspace

PICK = "picked"
RECORDS = "records on their right side"


def _budget(outcome: SearchOutcome, scale: alt.Scale) -> alt.Chart:
    """A ring around the design to release: it moves with the slider."""
    candidate = design_to_release(outcome)
    dot = {"epsilon": outcome.project.settings.epsilon, "records": candidate.utility.records}
    rows = [dot] if math.isfinite(dot["records"]) else []
    ring = alt.Chart(alt.Data(values=rows)).mark_point(
        size=320, strokeWidth=2.5, color="#c2410c", shape="circle"
    )
    ring_chart: alt.Chart = ring.encode(
        x="epsilon:Q",
        y=alt.Y("records:Q", scale=scale),
        tooltip=[
            alt.Tooltip("epsilon:Q", title="your budget ε", format=".3~g"),
            alt.Tooltip("records:Q", title=RECORDS, format=".0%"),
        ],
    )
    return ring_chart


def epsilon_layers(
    rows: list[dict[str, Any]],
    group: str,
    height: alt.Y,
    low: alt.Y,
    legend: alt.Legend,
    tooltips: list[alt.Tooltip],
    **dots: Any,
) -> list[alt.Chart]:
    """Return curves over epsilon, one for each `group`: lines, spreads, and dots that can be clicked."""
    pick = alt.selection_point(name=PICK, fields=["number"], nearest=False)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "epsilon:Q",
            title="privacy budget ε",
            scale=alt.Scale(type="log", nice=False, padding=14),
            axis=alt.Axis(values=sorted({row["epsilon"] for row in rows}), format=".3~g"),
        ),
        color=alt.Color(f"{group}:N", title=None, legend=legend),
    )
    dot = base.mark_point(filled=True).encode(
        y=height,
        shape=alt.Shape(f"{group}:N", title=None),
        size=alt.condition(pick, alt.value(170), alt.value(70), empty=False),
        tooltip=tooltips,
        **dots,
    )
    lines = base.mark_line(opacity=0.5).encode(y=height)
    return [lines, base.mark_rule(opacity=0.5).encode(y=low, y2="high:Q"), dot.add_params(pick)]


def family_layers(
    rows: list[dict[str, Any]], height: alt.Y, low: alt.Y, figures: list[alt.Tooltip]
) -> list[alt.Chart]:
    """`epsilon_layers` of families of designs, which say their `figures` where a person points at them."""
    tooltips = [
        alt.Tooltip("family:N", title="design"),
        alt.Tooltip("epsilon:Q", title="budget ε", format=".3~g"),
        *figures,
    ]
    legend = alt.Legend(orient="top", labelLimit=420, columns=1)
    return epsilon_layers(rows, "family", height, low, legend, tooltips, opacity=alt.value(1.0))


def clicked(layers: list[alt.Chart], key: str, alt_text: str) -> int | None:
    """Draw the layers; return the number of the dot that a person clicked."""
    size = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = alt.layer(*layers).properties(height=260, autosize=size)
    picked = st.vega_lite_chart(spec_of(chart), on_select="rerun", selection_mode=PICK, key=key, alt=alt_text)
    numbers = picked["selection"].get(PICK, [])
    return int(numbers[0]["number"]) if numbers else None


def show(work: Workspace, outcome: SearchOutcome, key: str) -> tuple[SearchOutcome, FrontierPoint | None]:
    """Draw the known frontier; return the current result, and the point that a person clicked, or None."""
    st.markdown("**What other budgets and mechanisms reach**", help=tip("records"))
    chart, bar = st.container(), st.container()
    with bar:
        outcome = continued(work, outcome)
    with chart:
        return outcome, _chart(outcome, key)


def continued(work: Workspace, outcome: SearchOutcome) -> SearchOutcome:
    """Search other budgets, mechanism by mechanism, while nothing else runs; return the results so far."""
    settings = outcome.project.settings
    neutral = {"accept_low_agreement": False, "accept_weaker_promise": False, "looked": False}
    budget = {} if outcome.project.pilot is not None else {"epsilon": 1.0}
    about = (settings.with_changes(basemap=None, **neutral, **budget),)
    steps = {
        name: partial(curve_job, outcome.project, outcome.tuned, name)
        for name in lines_of(outcome.tuned.result, settings)
    }
    brought = side_jobs.one_by_one(work, CURVE, about, steps, "Stop drawing the curve")
    frontier = outcome.tuned.result.frontier
    tuned = with_frontier(outcome.tuned, (point for points in brought.values() for point in points))
    if len(tuned.result.frontier) > len(frontier):
        outcome = work.outcome = replace(outcome, tuned=tuned)
    return outcome


def _chart(outcome: SearchOutcome, key: str) -> FrontierPoint | None:
    rows = dots(outcome.tuned)
    if not rows:
        return None
    free = design_to_release(outcome).utility.public_records
    grounds = [free] if math.isfinite(free) else []
    lowest = max(0.0, min([*grounds, *(row["low"] for row in rows)]) - 0.05)
    scale = alt.Scale(domain=[round(lowest, 1), 1.0])
    height = alt.Y("records:Q", title=RECORDS, scale=scale, axis=alt.Axis(format=".0%"))
    figures = [
        alt.Tooltip("records:Q", title=RECORDS, format=".0%"),
        alt.Tooltip("agreement:Q", title="agreement (IoU), judged hexagons", format=".2f"),
        alt.Tooltip("design:N", title="parameters"),
    ]
    layers = family_layers(rows, height, alt.Y("low:Q", scale=scale), figures)
    layers.append(_budget(outcome, scale))
    if grounds:
        ground = alt.Chart(alt.Data(values=[{"free": free}]))
        line = ground.mark_rule(strokeDash=[5, 4], color="#7b8a90")
        layers.append(line.encode(y=alt.Y("free:Q", scale=scale)))
        layers.append(
            ground.mark_text(align="left", dy=9, dx=4, color="#7b8a90", text="public map").encode(
                y=alt.Y("free:Q", scale=scale), x=alt.value(0)
            )
        )
    number = clicked(
        layers,
        f"{key}_{len(outcome.tuned.result.frontier)}",
        "Records on the side that the map shows, against the privacy budget: one dot for each design.",
    )
    st.caption(
        "The ring is the design to release. Click a dot to see its map."
        if not grounds
        else "The ring is the design to release. Click a dot to see its map. The dashed line is what public "
        "data alone reach."
    )
    if outcome.project.pilot is not None:
        st.caption(
            "The budgets on the chart are of a release alone; what was paid for beforehand comes on top."
        )
    return None if number is None else outcome.tuned.result.frontier[number]


MODEL = "from the model of the map without privacy"


def show_limit(work: Workspace, outcome: SearchOutcome) -> None:
    """Button, progress, then what every budget loses of a field, above the line that none can undercut;
    nothing of too few records."""
    project = outcome.project
    if outcome.few:
        st.caption(f"{plain(outcome.few)}.")
        return
    question = answered(project, outcome.tuned.result)
    if why := why_no_limit(question):
        st.caption(plain(why))
        return
    fields_words = "as they may have drifted from the public map" if question.settings.prior_mean else MODEL
    st.caption(
        f"How much better could any mechanism be? Fields are drawn {fields_words}, each is released by every "
        "design above, and what stays unknown of it is compared with a proved limit. It is about the field's "
        "values, not about the side that they lie on."
    )
    answer = side_jobs.follow(
        work,
        "limit",
        (outcome.search,),
        "Compare with the limit",
        "Cancel the comparison",
        lambda: trials.limit_job(project, outcome.tuned),
    )
    if answer is None:
        return
    rows = trials.loss_dots(answer.result)
    if not rows:
        st.caption(
            "The limit holds for releases with Gaussian noise alone, and none of these designs is one."
        )
        return
    title = "variance left (%)"
    scale = alt.Scale(zero=True)
    figures = [
        alt.Tooltip("lost:Q", title=title, format=".1f"),
        alt.Tooltip("limit:Q", title="no mechanism as private leaves less than (%)", format=".1f"),
    ]
    layers = family_layers(
        rows, alt.Y("lost:Q", title=title, scale=scale), alt.Y("low:Q", scale=scale), figures
    )
    layers += limit_lines(rows, alt.Y("limit:Q", scale=scale))
    clicked(
        layers,
        f"limit_{work.mark}",
        "What each budget leaves unknown of a field, for each design, and the limit that none can undercut.",
    )
    text = trials.loss_sentence(answer.result, project.settings.epsilon)
    st.markdown(plain(text) if text else "The thin line: no mechanism as private can leave less.")
    st.caption(
        "The thin line is the limit: every mechanism that protects a record as well as Gaussian noise of "
        "this ε and δ does lies above it, whatever it computes. It cannot be reached: a gap is no fault."
    )


def limit_lines(rows: list[dict[str, Any]], height: alt.Y) -> list[alt.Chart]:
    """The thin line of `limit` over epsilon, one value for each epsilon, and what it says."""
    once = sorted({row["epsilon"]: row for row in rows}.values(), key=lambda row: row["epsilon"])
    dot = alt.OverlayMarkDef(size=14, color="#7b8a90")  # of one budget alone there is no line
    line = alt.Chart(alt.Data(values=once)).mark_line(strokeWidth=1, color="#7b8a90", point=dot)
    note = alt.Chart(alt.Data(values=once[-1:])).mark_text(
        align="right", dy=11, fontSize=12, color="#7b8a90", text="no mechanism as private can leave less"
    )
    return [mark.encode(x="epsilon:Q", y=height) for mark in (line, note)]


def take_budget(work: Workspace, epsilon: float) -> None:
    """Set the budget as the slider does: the screen searches for its design."""
    work.choose(epsilon=epsilon)
    st.session_state[f"epsilon_{work.mark}"] = epsilon


def use_point(work: Workspace, outcome: SearchOutcome, point: FrontierPoint) -> None:
    """Release a design of the search at its own epsilon."""
    project, choice = settle_on(outcome.project, outcome.tuned, point)
    _settle(work, outcome, project, choice, point.scored)


def use_typed(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    """Release a typed design; it was checked to fit the budget, which stays as it is."""
    project, choice = settle_on_typed(outcome.project, outcome.tuned, candidate)
    _settle(work, outcome, project, choice, candidate)


def _settle(
    work: Workspace, outcome: SearchOutcome, project: Project, choice: Choice, candidate: Scored
) -> None:
    work.outcome = SearchOutcome(project, outcome.tuned, choice, candidate)
    settings = project.settings
    work.choose(epsilon=settings.epsilon, paths=settings.paths)
    work.design_changed()
    # The widgets of these choices show them again, also those that the screen has in another mode only.
    for name in ("epsilon", "paths"):
        st.session_state[f"{name}_{work.mark}"] = getattr(settings, name)


def design_to_release(outcome: SearchOutcome) -> Scored:
    """The known facts of the design to release."""
    return outcome.scored or outcome.tuned.result.chosen


SOLVE: side_jobs.SideJobName = "solve"
CURVE: side_jobs.SideJobName = "curve"


def begin_solving(work: Workspace, outcome: SearchOutcome, target: float) -> None:
    """Start solving for a wanted agreement."""
    side_jobs.start(work, SOLVE, (target, outcome.search), solve_job(outcome.project, outcome.tuned, target))


def show_solved(work: Workspace, outcome: SearchOutcome, target: float) -> FrontierPoint | None:
    """Progress, then the answer; the point it names while it is not yet settled on."""
    with st.container(border=True, key="solved"):
        st.markdown(f"**The smallest budget for an agreement of {target:.2f}**")
        answer = side_jobs.follow(
            work,
            SOLVE,
            (target, outcome.search),
            f"Find the smallest ε for {target:.2f}",
            "Cancel the solving",
            lambda: solve_job(outcome.project, outcome.tuned, target),
        )
        if answer is None:
            return None
        point: FrontierPoint | None = answer.result
        if point is None:
            _out_of_reach(outcome, target)
            return None
        return _reached(work, outcome, point)


def promise_of(project: Project, design: Design, epsilon: float) -> str:
    """What a design promises at its epsilon; of a Gaussian one the chance of a right guess by its own mu."""
    settings, chance = project.settings, _chance(project, design, epsilon)
    protected = promises.Protected(settings.unit_word, relation=settings.relation, owner=settings.owner_block)
    return promises.epsilon_sentence(protected, epsilon, project.delta, private_n(project), chance=chance)


def guess_of(outcome: SearchOutcome) -> str:
    """What the design to release makes of a guess about one record: the number that is published with it."""
    project, design = outcome.project, outcome.choice.design
    if private_n(project) * project.delta >= 1.0:
        return promise_of(project, design, project.settings.epsilon)
    chance = _chance(project, design, project.settings.epsilon)
    owner = project.settings.owner_block
    return f"{words.guess_words(chance, project.settings.unit_word if owner is None else owner['word'])}."


def _chance(project: Project, design: Design, epsilon: float) -> float:
    proved = mechanism_of(design).guarantee(design, public_facts(project))
    return words.surest(
        epsilon, project.delta, project.settings.relation, proved.exact_gaussian_mu, proved.distance
    )


def _reached(work: Workspace, outcome: SearchOutcome, point: FrontierPoint) -> FrontierPoint | None:
    project, settings = outcome.project, outcome.project.settings
    promise = promise_of(project, point.scored.design, point.epsilon)
    st.markdown(
        f":primary[**ε {point.epsilon:g}**] reaches it: {plain(achieved_words(point.scored))}. "
        f"{plain(promise)}"
    )
    st.caption(
        "About 2 % less does not reach it with this design. Expected over simulated releases on "
        f"{plain(project.tried_on)}: the private map may agree more or less. A design that is nowhere "
        "the best on the chart might need a little less still."
    )
    if point.scored.design == design_to_release(outcome).design:
        st.caption(":material/check: This is the design to release.")
        return None
    st.button(
        f"Use ε {point.epsilon:g}",
        type="primary",
        icon=":material/check:",
        key=f"solved_use_{work.mark}",
        on_click=use_point,
        args=(work, outcome, point),
        help="It becomes the design to release.",
    )
    st.caption(f"Until you use it, the design to release stays the one at ε {settings.epsilon:g}.")
    return point


def _out_of_reach(outcome: SearchOutcome, target: float) -> None:
    best = best_reached(outcome.tuned)
    st.warning(
        f"No design reaches {target:.2f}, even at ε {STEPS[-1]:g}. The best on the chart reaches "
        f"{plain(words.ratio_words(best.scored.utility.judged_iou))} at {plain(cost(best.epsilon))}: "
        "accept less, take coarser hexagons, or start from a public reference map.",
        icon=":material/block:",
    )

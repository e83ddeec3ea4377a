"""A closer look at a design: each number varied, numbers typed, its release simulated, its sets checked."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from dpgp_core.errors import DesignError
from dpgp_core.linalg import Bools
from dpgp_core.mechanisms.design import Design
from geo.maps.linked import Pane
from geo.maps.painting import LegendEntry, Painting, legend, paint_set
from hexcursion.bundle.products import paint_previewed
from hexcursion.project.model import Project
from hexcursion.search.bench import SimulatedRelease, Variation, simulated_release
from hexcursion.search.task import Scored, family_of
from pages.privacy import frontier, trials
from pages.privacy.question_view import threshold_words
from pages.privacy.trials import Entry
from pages.shared import maps
from pages.shared.charts import alt, spec_of
from pages.shared.glossary import TERMS, label, tip
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.side_jobs import planning, same
from pages.shared.session.workspace import Workspace

TYPED: side_jobs.SideJobName = "typed"


def show_own_design(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    """The form, then progress, then what the typed design is worth."""
    st.caption(
        "Type any design: it is priced by the proved bound, and its release is simulated on the reference "
        "data. Nothing of the private records is looked at, so trying costs nothing."
    )
    typed = _own_form(work, outcome, candidate)
    if typed is not None:
        side_jobs.start(
            work,
            TYPED,
            (typed, candidate.response, outcome.search),
            trials.typed_job(outcome.project, outcome.tuned, candidate, typed),
        )
    if side_jobs.running(work, TYPED, "Cancel the trial"):
        return
    job = side_jobs.planning(work).jobs.get(TYPED)
    if job is None:
        return
    about = job.about if job.about[2] is outcome.search else (outcome.search,)
    answer = side_jobs.finished(work, TYPED, about)
    if answer is not None:
        _worth(work, outcome, answer.result)


def _own_form(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> Design | None:
    families = trials.families_of(outcome.tuned)
    pairs, mark = list(families), work.mark
    own_pair = family_of(candidate.design)
    pair = st.selectbox(
        "Mechanism and prior",
        pairs,
        index=pairs.index(own_pair) if own_pair in pairs else 0,
        format_func=families.__getitem__,
        key=f"own_family_{mark}",
    )
    near = trials.start_of(outcome.tuned, candidate, pair)
    entries, rounds_offered = trials.entries_of(near), trials.smoothings(near)
    with st.form("own_design", border=False, enter_to_submit=False):
        columns = st.columns(
            len(entries) + (1 if len(rounds_offered) > 1 else 0), vertical_alignment="bottom"
        )
        values = {
            entry.name: _number(
                column, entry, f"own_{entry.name}_{mark if pair == own_pair else (*pair, mark)}"
            )
            for column, entry in zip(columns, entries, strict=False)
        }
        rounds = near.smoothing
        if len(rounds_offered) > 1:
            rounds = columns[-1].selectbox(
                "Smoothing (times)",
                rounds_offered,
                index=rounds_offered.index(near.smoothing),
                help="Averages each hexagon with its neighbours after the draw. It costs nothing.",
                key=f"own_smoothing_{mark}",
            )
        submitted = st.form_submit_button("Try this design", icon=":material/science:")
    if not submitted:
        return None
    try:
        return trials.typed_design(near, values, int(rounds))
    except DesignError as error:
        st.error(f"This design is impossible: {plain(error)}", icon=":material/block:")
        return None


def _number(column: Any, entry: Entry, key: str) -> float:
    title = f"{label(entry.term)} ({entry.unit})" if entry.unit else label(entry.term)
    if entry.whole:
        return float(
            column.number_input(plain(title), 1, 1000, int(entry.value), help=tip(entry.term), key=key)
        )
    return float(
        column.number_input(
            plain(title), min_value=0.0, value=entry.value, format="%g", help=tip(entry.term), key=key
        )
    )


def _worth(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    settings = outcome.project.settings
    reached = "" if outcome.few else f" · {plain(trials.achieved_words(candidate))}"
    st.markdown(f"**{plain(trials.cost(candidate.epsilon))}**{reached}")
    if candidate.epsilon > settings.epsilon:
        st.warning(
            f"It does not fit ε {settings.epsilon:g}: raise its ridge or scale, take fewer paths, or raise "
            "the budget and search again.",
            icon=":material/block:",
        )
    elif candidate.design == outcome.choice.design:
        st.caption(":material/check: This is the design to release.")
    else:
        st.button(
            "Use this design",
            type="primary",
            icon=":material/check:",
            key=f"own_use_{work.mark}",
            on_click=frontier.use_typed,
            args=(work, outcome, candidate),
            help="It becomes the design to release. The statement will say that you typed it in and tried it "
            f"on {plain(outcome.project.tried_on)}.",
        )
        st.caption(plain(frontier.promise_of(outcome.project, candidate.design, candidate.epsilon)))
    show_simulated(work, outcome, candidate, "own")


KEPT = 4


def show_simulated(work: Workspace, outcome: SearchOutcome, candidate: Scored, key: str) -> None:
    """The drawn map and the one it aims at, both of the reference data."""
    simulation = simulated(work, outcome, candidate)
    show_release_beside(work, outcome.project, simulation, ("Simulated release", "Without privacy"), key)


def show_release_beside(
    work: Workspace, project: Project, simulation: SimulatedRelease, titles: tuple[str, str], key: str
) -> None:
    """Draw a simulated release in the classes of a release, and the map it aims at where it judges."""
    what = threshold_words(work)
    private = is_private(project)
    painting, aim = (
        paint_previewed(simulation.classes, what, titles[0]),
        paint_previewed(simulation.aim, what, titles[1], sure=True),
    )
    panes = [
        Pane(titles[0], painting, private, word="Simulated"),
        Pane(titles[1], aim, private, word="Reference map"),
    ]
    entries, aimed = legend(painting, maps.theme()), legend(aim, maps.theme())
    likely, unsure, _, few_records = (entry.cells or 0 for entry in entries)
    maps.show(
        project.domain,
        panes,
        mode="beside",
        key=key,
        alt=f"Of {simulation.classes.size:,} hexagons {likely:,} are likely {what} in the simulated release, "
        f"{unsure:,} it cannot tell, and {few_records:,} have few records or none; {aimed[0].cells or 0:,} "
        f"are {what} in the reference map without privacy.",
        legend=entries,
        height=320,
        layers=project.layers,
    )


def is_private(project: Project) -> bool:
    """Whether what simulations are drawn from is for the curator's eyes only."""
    return project.reference_kind in ("reference data", "private selection")


def set_pane(work: Workspace, project: Project, cells: Bools, title: str, word: str) -> Pane:
    """Return the pane of one simulated (N,) set, with the word of its tooltips."""
    return Pane(title, _set(work, cells, title), is_private(project), word=word)


def set_legend(work: Workspace, cells: Bools) -> tuple[LegendEntry, ...]:
    """Return the legend of a simulated (N,) set."""
    return legend(_set(work, cells, ""), maps.theme())


def _set(work: Workspace, cells: Bools, title: str) -> Painting:
    what = threshold_words(work)
    return paint_set(cells, inside=what, outside=f"not {what}", title=title)


def simulated(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> SimulatedRelease:
    """Drawn once per design: the screen is redrawn far more often than the design changes."""
    simulations = planning(work).simulated
    about = (candidate.design, outcome.search)
    for earlier, simulation in simulations:
        if same(earlier, about):
            return simulation
    simulation = simulated_release(outcome.project, outcome.tuned.result, candidate)
    simulations.append((about, simulation))
    del simulations[:-KEPT]
    return simulation


def show_coverage(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    """Button, progress, then what the simulated releases say; nothing of too few records."""
    if outcome.few:
        st.caption(f"{plain(outcome.few)}.")
        return
    if not trials.covers(candidate.design):
        st.caption(
            "One path is one possible map: it cannot say what is surely inside. With two paths or more this "
            "shows how often the inner and the outer region are right."
        )
        return
    st.caption(
        "Several paths divide the map into surely inside, surely outside and cannot tell. How often is that "
        f"right? Releases of {plain(outcome.project.tried_on)} are simulated and compared with their map "
        "without privacy. That map has errors of its own, which no simulation shows."
    )
    answer = side_jobs.follow(
        work,
        "coverage",
        (candidate.design, outcome.search),
        "Simulate releases",
        "Cancel the simulation",
        lambda: trials.coverage_job(outcome.project, outcome.tuned, candidate),
    )
    if answer is not None:
        for sentence in trials.coverage_sentences(answer.result):
            st.markdown(plain(sentence))


GROUND = "#7b8a90"


def show_variations(work: Workspace, outcome: SearchOutcome, candidate: Scored) -> None:
    """Button, progress, then the charts of the design looked at; of too few records those of its cost."""
    too_few = bool(outcome.few)
    below = (
        f"{plain(outcome.few)}."
        if too_few
        else f"Below: the records on the side that the map shows, on {plain(outcome.project.tried_on)}."
    )
    st.caption(
        "One number of the design is varied, up to four times either way, and the others stay. Above: ε, the "
        f"lowest of the proved upper bounds. {below} The line marks the design as it is."
    )
    answer = side_jobs.follow(
        work,
        "sweep",
        (candidate.design, outcome.search),
        "Show what each number does",
        "Cancel the variation",
        lambda: trials.sweep_job(outcome.project, outcome.tuned, candidate),
    )
    if answer is None:
        return
    variations: tuple[Variation, ...] = answer.result
    with st.container(key="variations"):
        for column, variation in zip(st.columns(len(variations), gap="small"), variations, strict=True):
            with column:
                name, term, unit = (
                    variation.parameter.name,
                    variation.parameter.term,
                    trials.unit_of(variation.parameter)[0],
                )
                st.markdown(f"**{label(term)}**" + (f" ({plain(unit)})" if unit else ""), help=tip(term))
                words = f"{TERMS[term].word}: {trials.variation_words(variation, too_few=too_few)}"
                costs = _cost(variation, variations, too_few=too_few)
                st.vega_lite_chart(spec_of(costs), key=f"vary_{name}_cost", alt=f"Epsilon by {words}")
                if not too_few:
                    st.vega_lite_chart(
                        spec_of(_right(variation, variations)), key=f"vary_{name}", alt=f"Records by {words}"
                    )
    for variation in variations:
        st.caption(
            f"**{label(variation.parameter.term)}.** "
            f"{plain(trials.variation_words(variation, too_few=too_few))}"
        )
    if any(math.isinf(point.epsilon) for variation in variations for point in variation.points):
        st.caption("∞ marks values for which no finite bound is proved: such a design cannot be released.")


def _base(variation: Variation, title: str | None, *, too_few: bool = False) -> alt.Chart:
    rows = trials.varied_rows(variation, too_few=too_few)
    values = [row["value"] for row in rows]
    current = [row["value"] for row in rows if row["here"]]
    ticks = sorted({values[0], *current, values[-1]})
    axis = alt.Axis(values=ticks, format=".2~r", title=title)
    reached = [
        alt.Tooltip("records:Q", title="records on their right side", format=".1%"),
        alt.Tooltip("agreement:Q", title="agreement (IoU), judged hexagons", format=".3f"),
    ]
    return alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "value:Q",
            axis=axis,
            scale=alt.Scale(type="log", nice=False, padding=10, domain=[values[0], values[-1]]),
        ),
        tooltip=[
            alt.Tooltip("value:Q", title=TERMS[variation.parameter.term].word, format=".3~g"),
            alt.Tooltip("said:N", title="cost"),
            *(() if too_few else reached),
        ],
    )


def _here(base: alt.Chart) -> Any:
    return base.transform_filter("datum.here").mark_rule(color=GROUND, strokeDash=[3, 3])


def _cost(variation: Variation, variations: tuple[Variation, ...], *, too_few: bool = False) -> Any:
    """Solid: epsilon on one log scale for all charts; infinite values are signs on the upper edge."""
    base = _base(variation, None, too_few=too_few)
    ends, ticks = trials.cost_scale(variations)
    height = alt.Y(
        "epsilon:Q",
        title="ε at most",
        scale=alt.Scale(type="log", nice=False, padding=12, domain=list(ends)),
        axis=alt.Axis(format="~r", values=list(ticks)),
    )
    bounded = base.transform_filter("!datum.unbounded")
    layers = [
        _here(base),
        bounded.mark_line(strokeWidth=2.5).encode(y=height),
        bounded.mark_point(filled=True, size=45, opacity=1).encode(y=height),
        base.transform_filter("datum.unbounded")
        .mark_text(text="∞", fontSize=18, color=GROUND)
        .encode(y=alt.value(8)),
    ]
    return alt.layer(*layers).properties(height=130)


def _right(variation: Variation, variations: tuple[Variation, ...]) -> Any:
    """Dashed, hollow: the share of records on their right side, on one scale for all four charts."""
    shares = [point.records for other in variations for point in other.points if math.isfinite(point.records)]
    low, high = (min(shares), max(shares)) if shares else (0.0, 1.0)
    room = max(0.1 * (high - low), 0.01)
    unit = trials.unit_of(variation.parameter)[0]
    base = _base(variation, TERMS[variation.parameter.term].word + (f" ({unit})" if unit else ""))
    height = alt.Y(
        "records:Q",
        title="records right",
        scale=alt.Scale(domain=[max(0.0, low - room), min(1.0, high + room)], nice=True, zero=False),
        axis=alt.Axis(format=".0%", tickCount=4),
    )
    layers = [
        _here(base),
        base.mark_line(strokeWidth=2, strokeDash=[6, 3]).encode(y=height),
        base.mark_point(filled=False, size=45, opacity=1, strokeWidth=2).encode(y=height),
    ]
    return alt.layer(*layers).properties(height=130)

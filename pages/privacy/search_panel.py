"""The search on a screen: start, progress, cancel, and results."""

from __future__ import annotations

import streamlit as st

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.errors import WorkflowError
from hexcursion.estimates.forecasts import expected_of_search, planned
from hexcursion.project.model import Project
from hexcursion.search.choice import fixed_design_words, records_sentence
from hexcursion.search.results import at_budget
from hexcursion.search.score import takes_fixed
from hexcursion.search.task import FrontierPoint, Scored
from hexcursion.search.tuning import Tuned
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import TRIED_ON
from hexcursion.words import design_words
from pages.privacy import design_panels, frontier, path_panels, pilot_panel, question
from pages.privacy.designs import cutoff_rows, family, report_rows, search_job
from pages.privacy.trials import achieved_words
from pages.shared.fields import on_screen
from pages.shared.glossary import TERMS, tip
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.side_jobs import show_progress
from pages.shared.session.workspace import Workspace
from pages.shared.steps import RELEASE
from pages.shared.subprocess_job import Job, workers


def show(work: Workspace, settings: ReleaseSettings) -> Scored | None:
    """The panel in whatever state the search is; the design looked at, once there is one."""
    job = work.job
    if job is not None and job.state.state == "running":
        show_progress(job, "Cancel the search", lambda: _cancelled(work))
        return None
    if job is not None:
        work.job = None
        _collect(work, job)
    plan = side_jobs.planning(work)
    if plan.note:
        st.info(plain(plan.note), icon=":material/cancel:")
    if work.outcome is not None and work.fits():
        return _found(work, work.outcome)
    if work.outcome is not None and moved(work, work.outcome):
        begin(work)
        st.rerun()
    if work.outcome is not None:
        st.info("The choices have changed since the last search.", icon=":material/update:")
    if settings.lengthscale is not None:
        _by_hand(work, settings)
        return None
    unsaid = question.missing_scale(work)
    if unsaid is not None:
        st.info(plain(unsaid), icon=":material/info:")
        return None
    _ask_to_search(work, settings)
    return None


def _ask_to_search(work: Workspace, settings: ReleaseSettings) -> None:
    """What a search would go by, and the button that begins it."""
    piloted, fixed = None, False
    if settings.pilot is not None:
        piloted = pilot_panel.paid(work, settings)
        if piloted is None:
            return
        st.markdown("The search looks for the best design **on what was paid for**; it costs nothing more.")
    elif fixed := takes_fixed(settings):
        st.markdown(
            "Without reference data **one fixed design** is taken, and simulated fields show what it may "
            "reach. No private value is used."
        )
    elif settings.values == "yes-no":
        st.markdown(
            "**The release starts from the public reference data**, and fields that drifted from them show "
            "what it may reach. No private value is used."
        )
    else:
        where = TRIED_ON["simulated" if settings.reference is None else "reference data"]
        st.markdown(
            f"The search looks for the best design for this budget **on {plain(where)}**. No private value "
            "is used."
        )
    target = side_jobs.planning(work).wanted
    best = "See what the fixed design may reach" if fixed else "Search for the best design"
    if not fixed and settings.values == "yes-no":
        best = "See what the release may reach"
    st.button(
        best if target is None else "Search for the smallest budget",
        type="primary",
        icon=":material/search:",
        on_click=_start,
        args=(work, settings, piloted),
    )
    _how_long(work, settings)


def _how_long(work: Workspace, settings: ReleaseSettings) -> None:
    """What search and release are expected to take, once it is known how much there is to do."""
    if work.domain is not None and work.records is not None:
        search_plan = planned(settings, work.domain.size, work.records, alone=True)
        st.caption(f":material/schedule: {plain(expected_of_search(search_plan, workers()))}")


def _by_hand(work: Workspace, settings: ReleaseSettings) -> None:
    """Settings from a file may fix the design; this screen compares designs, so it has to be asked to."""
    st.info(
        f"These settings fix the design by hand, with ridge {settings.ridge:g}, for the command line. "
        "Here a design is searched for first; afterwards any numbers can be typed under Your own design.",
        icon=":material/edit:",
    )
    st.button(
        "Leave it out", icon=":material/search:", on_click=lambda: work.choose(lengthscale=None, ridge=None)
    )


def begin(work: Workspace) -> None:
    """Start the search for the present choices, where nothing has to be paid for before."""
    settings = work.settings()
    if settings.pilot is None and settings.lengthscale is None and question.missing_scale(work) is None:
        _start(work, settings, None)


def _start(work: Workspace, settings: ReleaseSettings, piloted: Project | None) -> None:
    work.outcome, side_jobs.planning(work).note = None, ""
    side_jobs.give_way(work)
    work.choose(accept_low_agreement=False)  # a poor map is accepted when it is seen, not before
    work.design_changed()
    settings = settings.with_changes(accept_low_agreement=False, looked=bool(work.choices.get("looked")))
    work.job = search_job(settings) if piloted is None else search_job(settings, piloted)
    work.ends_with(work.job)


def _cancelled(work: Workspace) -> None:
    work.job = None
    side_jobs.planning(work).note = "The search was cancelled. Nothing was released."


def _collect(work: Workspace, job: Job[tuple[Project, Tuned]]) -> None:
    """Take the result of a finished job, or say why it has no result; go on to the wanted agreement."""
    if job.state.state == "cancelled":
        _cancelled(work)
        return
    try:
        project, tuned = job.result()
    except (WorkflowError, ValueError) as error:
        st.error(plain(on_screen(str(error))), icon=":material/error:")
        return
    work.outcome = SearchOutcome(project, tuned, tuned.choice)
    target = side_jobs.planning(work).wanted
    if target is not None and work.fits() and not work.outcome.few:
        frontier.begin_solving(work, work.outcome, target)
    st.rerun()  # the side bar, the steps and the slack were drawn before anything was found


def _found(work: Workspace, outcome: SearchOutcome) -> Scored:
    """The proposal, its preview and the way on; then what other budgets and mechanisms reach."""
    st.header("The proposal", anchor=False)
    target = side_jobs.planning(work).wanted
    solved = None if target is None or outcome.few else frontier.show_solved(work, outcome, target)
    st.markdown(f"**{plain(verdict(outcome))}**")
    if target is not None and outcome.few:
        st.caption("No budget is looked for by agreement, as nothing tells the agreement of so few records.")
    st.caption(plain(frontier.guess_of(outcome)))
    preview = st.container()
    if st.button("Go to the release", type="primary", icon=RELEASE.icon, key=f"to_release_{work.mark}"):
        st.switch_page(RELEASE.path)
    key = f"frontier_{work.mark}_{outcome.project.settings.epsilon:g}"
    too_few = outcome.few
    outcome, picked = (outcome, None) if too_few else frontier.show(work, outcome, key)
    if sentence := path_panels.needed(outcome):
        st.markdown(plain(sentence))
    if picked is not None:
        _offer(work, outcome, picked)
    looked_at = picked or solved
    candidate = frontier.design_to_release(outcome) if looked_at is None else looked_at.scored
    of_paths = isinstance(candidate.design, PosteriorSamplingDesign)
    with preview:
        if of_paths:
            path_panels.show(work, outcome, candidate)
        else:
            design_panels.show_simulated(work, outcome, candidate, "simulated")
    if of_paths:
        path_panels.show_choices(work, outcome, candidate)
    with st.expander("The figures, and how they came about", icon=":material/table_chart:"):
        scored_words = f"{outcome.tuned.result.evaluated:,} designs were scored"
        fixed = f"one fixed design, {fixed_design_words(outcome.tuned.result)}"
        what = fixed if outcome.tuned.result.fixed else scored_words
        st.caption(f"Measured on {plain(outcome.project.tried_on)}; {plain(what)}.")
        if not too_few:
            st.markdown(
                f"**{'The design to release' if looked_at is None else 'The design looked at'}:** "
                f"{plain(achieved_words(candidate))}."
            )
        st.markdown(f"**{plain(family(candidate.design))}**: {plain(design_words(candidate.design))}.")
        if not too_few:
            _report(outcome)
            _cutoffs(outcome)
        for remark in outcome.tuned.remarks():
            st.caption(f":material/lightbulb: {plain(remark)}")
    return candidate


def _offer(work: Workspace, outcome: SearchOutcome, picked: FrontierPoint) -> None:
    """The button that makes a clicked dot the design to release.

    The best of another budget is searched for there, so that the command line finds the same."""
    if outcome.project.pilot is not None:
        st.caption(
            f"What was paid for is part of a total of ε {outcome.project.settings.epsilon:g} that was fixed "
            "before it was drawn, so neither the slider nor another dot changes the design."
        )
        return
    best = at_budget(outcome.tuned, picked.epsilon)
    other = picked.epsilon != outcome.project.settings.epsilon
    if other and best is not None and best.scored.design == picked.scored.design:
        st.button(
            f"Search at ε {picked.epsilon:g}",
            icon=":material/search:",
            on_click=frontier.take_budget,
            args=(work, picked.epsilon),
        )
    elif picked.scored.design != outcome.choice.design:
        st.button(
            f"Use this design at ε {picked.epsilon:g}",
            icon=":material/check:",
            on_click=frontier.use_point,
            args=(work, outcome, picked),
            help="It becomes the design to release.",
        )


def _cutoffs(outcome: SearchOutcome) -> None:
    """What each cutoff does to agreement and area, where more than one was tried for the design."""
    rows = cutoff_rows(outcome.tuned, frontier.design_to_release(outcome))
    if rows:
        st.caption("From which probability on a hexagon is inside, and what that does; no privacy cost.")
        st.table(
            {
                "inside from": [plain(row["inside from"]) for row in rows],
                "agreement (IoU), all hexagons": [plain(row["agreement (IoU)"]) for row in rows],
                "area off by": [plain(row["area off by"]) for row in rows],
            },
            hide_index=True,
            border="horizontal",
        )


def _report(outcome: SearchOutcome) -> None:
    rows = report_rows(outcome.tuned, outcome.scored)
    st.table(
        {
            "What is compared": [
                plain(f"{TERMS[term].word.capitalize()} {TERMS[term].symbol}") for term in rows
            ],
            "without privacy": [plain(free) for free, _ in rows.values()],
            "the design to release": [plain(private) for _, private in rows.values()],
        },
        hide_index=True,
        border="horizontal",
    )
    with st.popover("What do these words mean?", type="tertiary", icon=":material/help:"):
        for term in rows:
            st.markdown(tip(term))


def moved(work: Workspace, outcome: SearchOutcome) -> bool:
    """Whether the budget alone has changed since a search: another search answers for the new one.

    A pilot paid for beforehand belongs to one budget, and a typed design to the one it was typed for."""
    try:
        settings = work.settings()
    except WorkflowError:
        return False
    searched = outcome.project.settings
    same = searched.with_changes(epsilon=settings.epsilon, accept_low_agreement=settings.accept_low_agreement)
    return settings == same and settings.epsilon != searched.epsilon and outcome.project.pilot is None


def verdict(outcome: SearchOutcome) -> str:
    """Worth releasing or not, and why, for the design that is to be released."""
    choice, epsilon = outcome.choice, outcome.project.settings.epsilon
    against = outcome.against
    if against:
        is_known = choice.expected is not None and choice.expected.agreement is not None
        helps = "; the step Release proposes what helps" if is_known else ""
        return f"Not worth releasing as it stands: {' and '.join(against)}{helps}."
    if outcome.few:
        return f"Not stopped, but {outcome.few}."
    sentence = records_sentence(choice.expected, choice.yardsticks)
    if not sentence:
        return "Nothing is known of how right this map will be: its design was given by hand."
    return f"Worth releasing for ε {epsilon:g}: {sentence[:1].lower()}{sentence[1:]}"

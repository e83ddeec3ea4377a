"""Before a release: the leak check, and the stop before a poor map with what helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import streamlit as st

from hexcursion import words
from hexcursion.door.remedies import REFERENCE, Remedy, Tried, lacks_reference, remedies, weak
from hexcursion.lint.checks import LEAK, NOT_STATED, PRIVATE, Finding, PlannedRelease, lint
from hexcursion.lint.command import plan_from_settings
from hexcursion.releasing.transaction import Plan
from pages.privacy import search_panel
from pages.privacy.trials import remedy_job
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.previews import domain_of_choices
from pages.shared.session.workspace import Workspace
from pages.shared.steps import PRIVACY
from pages.shared.subprocess_job import Job

ORIGIN = {
    "public": "From public knowledge",
    "reference data": "On the reference data",
    PRIVATE: "By looking at the private data",
}
QUESTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "selection": ("How were the rows chosen: years, kinds, filters?", ORIGIN),
    "threshold": ("How was the threshold chosen?", ORIGIN),
    "draws": (
        "Which map will be published?",
        {
            "once": "The one that is drawn, whatever it shows",
            "until one looks right": "One of several draws that looks right",
        },
    ),
    "n_handling": (
        "May everybody know the number of records?",
        {"public by nature": "It is public anyway", "taken as public": "I take it as public"},
    ),
}
CLEAN = ("selection", "threshold")


def answers(work: Workspace) -> dict[str, Any]:
    """What the curator has answered; a question that was not answered is not stated."""
    answers_given = {name: work.answers.get(name) or NOT_STATED for name in QUESTIONS}
    return {**answers_given, "records_per_person": work.answers.get("records_per_person")}


def by_looking(work: Workspace) -> bool:
    """Whether an answer says that something was chosen on the private data."""
    return any(answers(work)[name] == PRIVATE for name in CLEAN)


def checked(
    outcome: SearchOutcome, planned: Plan, statements: dict[str, Any]
) -> tuple[PlannedRelease, list[Finding]]:
    """The plan as far as the program and the curator know it, and what leaks."""
    program_facts = plan_from_settings(
        outcome.project.settings, n=planned.privacy.n, tuning=planned.choice.tuning.kind
    )
    plan = replace(program_facts, **statements)
    return plan, lint(plan)


def show_checks(work: Workspace, outcome: SearchOutcome, planned: Plan) -> None:
    """The questions, and what follows from the answers and from the plan."""
    _, findings = checked(outcome, planned, answers(work))
    worst = any(finding.severity == LEAK for finding in findings)
    count = words.plural(len(findings), "finding") if findings else "nothing found"
    with st.expander(f"Leak check: {plain(count)}", icon=":material/troubleshoot:", expanded=worst):
        st.markdown("**What only you know.** What is not answered cannot be checked.")
        for name, (question, choices) in QUESTIONS.items():
            answer = st.selectbox(
                question,
                list(choices),
                index=list(choices).index(work.answers[name]) if work.answers.get(name) else None,
                format_func=choices.__getitem__,
                placeholder="not answered yet",
                key=f"answer_{name}_{work.mark}",
            )
            _answer(work, name, answer)
        most_records = st.number_input(
            "Most records that one person may have",
            min_value=1,
            value=work.answers.get("records_per_person"),
            placeholder="not known",
            key=f"answer_person_{work.mark}",
        )
        _answer(work, "records_per_person", None if most_records is None else int(most_records))
        st.markdown("**What the plan gives away** beside its mechanism, to whom, and what to do about it.")
        for finding in findings:
            sign = (
                ":red[:material/warning: leak]"
                if finding.severity == LEAK
                else f"_{plain(finding.severity)}_"
            )
            if finding.code == "not-stated":  # a plan calls them by other names than the questions above
                silent = sum(answer == NOT_STATED for answer in answers(work).values())
                st.markdown(
                    f"{sign} · {plain(words.plural(silent, 'question'))} above without an answer: what is "
                    "not stated cannot be checked."
                )
                continue
            st.markdown(
                f"{sign} · {plain(finding.leaks)}  \nSeen by {plain(finding.to_whom)}. "
                f"**Remedy:** {plain(finding.remedy)}"
            )
        if not findings:
            st.markdown("Nothing was found.")


def _answer(work: Workspace, name: str, answer: Any) -> None:
    if work.answers.get(name) != answer:
        work.answers[name] = answer
        st.rerun()


def rows_dropped(work: Workspace, outcome: SearchOutcome) -> bool:
    """Ask whether rows may be left out where many are; return whether that stops the release."""
    project = outcome.project
    if not project.drops_many:
        return False
    lost, in_area = project.dropped
    report, outside = project.private.report, project.private.placed.outside
    reasons = [f"{count:,} {reason}" for reason, count in report.dropped if count]
    where = [f"{outside:,} outside the box or in the sea"] if outside else []
    st.warning(
        f"**{lost:,} of {in_area:,} rows are left out**: {plain('; '.join([*where, *reasons]))}. Is that "
        "meant? If not, mend the area on the step Hexagons or the table on the step Data. Only you see this.",
        icon=":material/filter_alt:",
    )
    label = "Release without these rows"
    return not accepts(work, outcome, "accept_dropped", label, f"accept_dropped_{work.mark}")


def stopped(work: Workspace, outcome: SearchOutcome) -> bool:
    """Say why this release is stopped, where it is; whether it is."""
    reasons = outcome.against
    if not reasons:
        return False
    accepted = outcome.project.settings.accept_low_agreement
    how_many = (
        "This map is"
        if outcome.atlas is None
        else f"{len(reasons)} of {len(outcome.atlas[0].layers)} maps are"
    )
    st.warning(
        f"**{how_many} expected to be poor**: {plain('; '.join(reasons))}."
        + ("" if accepted else " Nothing has been drawn or charged."),
        icon=":material/front_hand:",
    )
    if not accepted and outcome.atlas is not None:
        st.page_link(PRIVACY.path, label="Leave them out, or ask for a larger budget", icon=PRIVACY.icon)
    elif not accepted and _searched(outcome):
        st.markdown("**What helps.** Each button changes one choice and searches again.")
        _offer(work, outcome, at_once=True)
    label = (
        "Release this map anyway: its statement will say that it is expected to be poor"
        if outcome.atlas is None
        else "Release all maps anyway: the statement will say which are expected to be poor"
    )
    return not accepts(work, outcome, "accept_low_agreement", label, f"accept_low_{work.mark}")


def accepts(
    work: Workspace,
    outcome: SearchOutcome,
    name: Literal["accept_dropped", "accept_low_agreement", "accept_weaker_promise"],
    label: str,
    key: str,
) -> bool:
    """Ask for the tick that a setting needs, keep it as that setting, and return it."""
    accepted: bool = getattr(outcome.project.settings, name)
    ticked = st.checkbox(label, value=accepted, key=key)
    if ticked != accepted:
        work.restate(**{name: bool(ticked)})
        st.rerun()
    return bool(ticked)


def what_helps(work: Workspace, outcome: SearchOutcome) -> None:
    """The same remedies for a map that is expected to show little but is not stopped, tried when asked."""
    if weak(outcome.choice.expected) and _searched(outcome):
        with st.expander("What would help this map", icon=":material/healing:"):
            _offer(work, outcome, at_once=False)


def _searched(outcome: SearchOutcome) -> bool:
    expected = outcome.choice.expected
    return expected is not None and expected.agreement is not None


def _offer(work: Workspace, outcome: SearchOutcome, at_once: bool) -> None:
    """A button for each remedy, and its result, once that was tried in the background."""
    project = outcome.project
    trials = {} if project.pilot is not None else _tried(work, outcome, at_once)
    for remedy in remedies(project.settings, project):
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button(plain(remedy.label), key=f"remedy_{remedy.name}_{work.mark}"):
                _take(work, remedy)
            if remedy.name in trials:
                st.markdown(plain(trials[remedy.name].says + trials[remedy.name].loses))
    if lacks_reference(project.settings):
        st.caption(f"{plain(REFERENCE)}.")


def _tried(work: Workspace, outcome: SearchOutcome, at_once: bool) -> dict[str, Tried]:
    """The remedies tried for this plan, each as soon as it is judged; it begins by itself or when asked."""
    project, about = outcome.project, (outcome.search, outcome.project.settings.epsilon)
    chain = side_jobs.planning(work).chains.get("remedies")
    begun = chain is not None and side_jobs.same(chain.about, about)
    if not at_once and not begun and not st.button("Try them in simulation", icon=":material/play_arrow:"):
        return {}
    st.caption("What each reaches is found out by simulation: nothing is drawn or charged.")
    steps: dict[str, Callable[[], Job[Tried]]] = {
        remedy.name: partial(remedy_job, project, outcome.tuned, remedy)
        for remedy in remedies(project.settings, project)
    }
    return side_jobs.one_by_one(work, "remedies", about, steps, "Stop trying")


def _take(work: Workspace, remedy: Remedy) -> None:
    """Make the choice, show it in its widget, and search again."""
    work.choose(**remedy.changes)
    for name, value in remedy.changes.items():
        if name == "resolution":
            work.asked_domain = (work.choices.get("region"), work.choices.get("bbox"), value)
            work.domain = domain_of_choices(work.asked_domain, work.choices)
            st.session_state.pop("resolution_of", None)  # the slider is to show it, too
        else:
            st.session_state[f"{name}_{work.mark}"] = list(value) if isinstance(value, tuple) else value
    search_panel.begin(work)
    st.switch_page(PRIVACY.path)

"""The check before a release: asks what the program cannot see, says what leaks beside the mechanism."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from hexcursion import words
from hexcursion.lint import LEAK, lint, plan_from_settings
from hexcursion.lint.checks import NOT_STATED, PRIVATE, Finding, PlannedRelease
from hexcursion.releasing.transaction import Plan
from pages.shared.plain_text import plain
from pages.shared.session.workspace import Found, Workspace

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
    given = {name: work.answers.get(name) or NOT_STATED for name in QUESTIONS}
    return {**given, "records_per_person": work.answers.get("records_per_person")}


def by_looking(work: Workspace) -> bool:
    """Whether an answer says that something was chosen on the private data."""
    return any(answers(work)[name] == PRIVATE for name in CLEAN)


def checked(found: Found, planned: Plan, given: dict[str, Any]) -> tuple[PlannedRelease, list[Finding]]:
    """The plan as far as the program and the curator know it, and what leaks."""
    known = plan_from_settings(found.project.settings, n=planned.privacy.n, tuning=planned.choice.tuning.kind)
    plan = replace(known, **given)
    return plan, lint(plan)


def show(work: Workspace, found: Found, planned: Plan) -> None:
    """The questions, and what follows from the answers and from the plan."""
    _, findings = checked(found, planned, answers(work))
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
        most = st.number_input(
            "Most records that one person may have",
            min_value=1,
            value=work.answers.get("records_per_person"),
            placeholder="not known",
            key=f"answer_person_{work.mark}",
        )
        _answer(work, "records_per_person", None if most is None else int(most))
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

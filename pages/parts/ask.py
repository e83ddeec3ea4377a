"""Asking for the public choices of a release: the question, the unit of protection, the budget."""

from __future__ import annotations

from typing import Any

import streamlit as st

from geo.layers import format_value
from pages.parts import odds_panel, pilot_panel, public_scale
from pages.parts.aside import planning
from pages.parts.glossary import label, tip
from pages.parts.workspace import Workspace
from workflow import words
from workflow.desk import FAMILIES, MECHANISMS

KEEP: Any = {"persist_state": "session"}
BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
OBJECTIVES = {
    "iou": "Largest expected agreement of the released region",
    "bce": "Smallest cross-entropy of the map's probabilities",
}
GOALS = {"budget": "Set the budget ε", "agreement": "Set the agreement"}
SLACKS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def ask_privacy(work: Workspace) -> None:
    """All choices of this step, written into the workspace as they are made."""
    _question(work)
    public_scale.ask(work)
    _unit(work)
    _strength(work)
    pilot_panel.ask(work)
    _more(work)


def _question(work: Workspace) -> None:
    unit = work.choices.get("value_unit", "")
    name = work.choices.get("value_name") or "the value"
    st.subheader("The question", anchor=False)
    side, value = st.columns([2, 3])
    sides = ["above", "below"]
    direction = side.selectbox(
        f"Where is {name} …",
        sides,
        index=sides.index(work.choices.get("direction", "above")),
        key=f"direction_{work.mark}",
        **KEEP,
    )
    threshold = value.number_input(
        f"the threshold ({unit})" if unit else "the threshold",
        value=work.choices.get("threshold"),
        format="%g",
        help=tip("threshold"),
        key=f"threshold_{work.mark}",
        **KEEP,
    )
    if threshold is None:
        work.choices.pop("threshold", None)
        st.caption(":material/info: Give the threshold in the data's own unit.")
    else:
        work.choose(threshold=float(threshold), direction=direction)


def _unit(work: Workspace) -> None:
    kind = work.private.kind if work.private is not None else "observation"
    st.subheader("Who is protected", anchor=False)
    units = ["point", "cell"]
    unit = st.radio(
        label("unit"),
        units,
        index=units.index(work.choices.get("unit", "point")),
        format_func={"point": f"Each {kind}", "cell": "Each hexagon's median"}.__getitem__,
        captions=[
            f"Nobody can tell whether one {kind} was exchanged for any other, wherever it is.",
            "One hexagon's whole record is protected: the unit of the published London study.",
        ],
        help=tip("unit"),
        label_visibility="collapsed",
        key=f"unit_{work.mark}",
        **KEEP,
    )
    work.choose(unit=unit)


def _strength(work: Workspace) -> None:
    st.subheader("How strongly", anchor=False)
    if _goal(work) == "budget":
        planning(work).wanted = None
        asked = float(work.choices.get("epsilon", 1.0))
        budget = st.select_slider(
            label("epsilon"),
            sorted({*BUDGETS, asked}),
            value=asked,
            format_func=lambda value: f"{value:g}",
            help=tip("epsilon"),
            key=f"epsilon_{work.mark}",
            **KEEP,
        )
        work.choose(epsilon=float(budget))
    else:
        wanted = st.slider(
            "Agreement needed (IoU)",
            0.3,
            0.99,
            planning(work).wanted or 0.8,
            0.01,
            help=tip("iou"),
            key=f"wanted_{work.mark}",
            **KEEP,
        )
        planning(work).wanted = float(wanted)
        st.caption("The search then solves for the smallest ε that is expected to reach it.")
    _slack_and_paths(work)
    epsilon, delta = float(work.choices.get("epsilon", 1.0)), float(work.choices["delta"])
    kind = work.private.kind if work.private is not None else "record"
    protected = "cell" if work.choices.get("unit") == "cell" else kind
    st.caption(words.epsilon_sentence(epsilon, delta, protected))
    odds_panel.show(epsilon, delta, protected)


def _goal(work: Workspace) -> str:
    """What is given, the budget or the agreement; a pilot is a share of a budget that must be given."""
    if pilot_panel.chosen(work):
        return "budget"
    goal = st.segmented_control(
        "What is given",
        list(GOALS),
        default="agreement" if planning(work).wanted else "budget",
        format_func=GOALS.__getitem__,
        required=True,
        label_visibility="collapsed",
        key=f"goal_{work.mark}",
        **KEEP,
    )
    return str(goal)


def _slack_and_paths(work: Workspace) -> None:
    slack = float(work.choices.get("delta", 1e-5))
    slacks = sorted({*SLACKS, slack}, reverse=True)
    first, second = st.columns(2)
    delta = first.selectbox(
        label("delta"),
        slacks,
        index=slacks.index(slack),
        format_func=words.one_in,
        help=tip("delta"),
        key=f"delta_{work.mark}",
        **KEEP,
    )
    paths = second.number_input(
        label("paths"),
        1,
        1000,
        value=work.choices.get("paths", 1),
        help=tip("paths"),
        key=f"paths_{work.mark}",
        **KEEP,
    )
    work.choose(delta=float(delta), paths=int(paths))


def _more(work: Workspace) -> None:
    with st.expander("More choices"):
        mechanisms = st.multiselect(
            "Mechanisms to try",
            list(MECHANISMS),
            default=work.choices.get("mechanisms", list(MECHANISMS)[:1]),
            format_func=MECHANISMS.__getitem__,
            help="Posterior sampling releases whole fields without noise on the data. Noisy cell statistics "
            "add noise to each hexagon's count and sum; afterwards any number of paths is free.",
            key=f"mechanisms_{work.mark}",
            **KEEP,
        )
        priors = st.multiselect(
            "Priors to try",
            list(FAMILIES),
            default=[name for name in work.choices.get("priors", FAMILIES) if name in FAMILIES],
            format_func=FAMILIES.__getitem__,
            help=tip("prior"),
            key=f"priors_{work.mark}",
            **KEEP,
        )
        objective = st.selectbox(
            "What is best?",
            list(OBJECTIVES),
            index=list(OBJECTIVES).index(work.choices.get("objective", "iou")),
            format_func=OBJECTIVES.__getitem__,
            key=f"objective_{work.mark}",
            **KEEP,
        )
        prior_mean = st.checkbox(
            "Start from the public reference map",
            value=bool(work.choices.get("prior_mean")),
            disabled=not work.choices.get("reference_public"),
            help="Subtracts the map of the published reference data first: the private data then only have "
            "to say what is new, and the same budget buys far less noise. The reference must be public.",
            key=f"prior_mean_{work.mark}",
            **KEEP,
        )
        quick = st.checkbox(
            "Quick search on a coarser grid",
            value=bool(work.choices.get("quick")),
            key=f"quick_{work.mark}",
            **KEEP,
        )
        public = bool(work.choices.get("reference_public"))
        work.choose(
            mechanisms=tuple(mechanisms),
            priors=tuple(priors),
            objective=objective,
            prior_mean=bool(prior_mean and public),
            quick=bool(quick),
        )


def threshold_words(work: Workspace) -> str:
    """The question as the map's words: "at least £450,000"."""
    value = format_value(float(work.choices["threshold"]), str(work.choices.get("value_unit", "")))
    return f"{work.choices.get('direction', 'above')} {value}"

"""Your own design: typed numbers, what they cost and achieve, and the button that makes them the design."""

from __future__ import annotations

import streamlit as st

from pages.parts import aside, rehearsal, settling
from pages.parts.glossary import label, tip
from pages.parts.workspace import Found, Workspace
from workflow import words
from workflow.desk import (
    TypedDesign,
    cost,
    rehearsals_words,
    smoothings,
    typed_families,
    typed_job,
    typed_like,
)
from workflow.scored import Scored

NAME = "typed"


def show(work: Workspace, found: Found, scored: Scored) -> None:
    """The form, then progress, then what the typed design is worth."""
    st.caption(
        "Type any design: it is priced by the proved bound and rehearsed on the reference data. Nothing of "
        "the private records is looked at, so trying costs nothing."
    )
    typed = _form(work, found, typed_like(scored.design))
    if typed is not None:
        aside.start(
            work,
            NAME,
            (typed, scored.response, found.tuned),
            typed_job(found.project, found.tuned, scored, typed),
        )
    if aside.running(work, NAME, "Cancel the trial"):
        return
    kept = aside.planning(work).asides.get(NAME)
    if kept is None:
        return
    about = kept.about if kept.about[2] is found.tuned else (found.tuned,)
    answer = aside.found(work, NAME, about)
    if answer is not None:
        _worth(work, found, answer.result)


def _form(work: Workspace, found: Found, near: TypedDesign) -> TypedDesign | None:
    families = typed_families(found.project)
    pairs = list(families)
    mark = work.mark
    with st.form("own_design", border=False):
        start = pairs.index((near.mechanism, near.prior)) if (near.mechanism, near.prior) in pairs else 0
        mechanism, prior = st.selectbox(
            "Mechanism and prior",
            pairs,
            index=start,
            format_func=families.__getitem__,
            key=f"own_family_{mark}",
        )
        first, second, third, fourth, fifth = st.columns(5, vertical_alignment="bottom")
        kilometres = first.number_input(
            f"{label('lengthscale')} (km)", min_value=0.001, value=near.kilometres, format="%g",
            help=tip("lengthscale"), key=f"own_range_{mark}",
        )  # fmt: skip
        ridge = second.number_input(
            label("ridge"), min_value=0.001, value=near.ridge, format="%g", help=tip("ridge"),
            key=f"own_ridge_{mark}",
        )  # fmt: skip
        scale = third.number_input(
            "Scale σ or noise", min_value=0.0, value=near.scale, format="%g", key=f"own_scale_{mark}",
            help=f"{tip('scale')} With noisy cell statistics it is their noise. {tip('statistic_noise')}",
        )  # fmt: skip
        paths = fourth.number_input(
            label("paths"), 1, 1000, near.paths, help=tip("paths"), key=f"own_paths_{mark}"
        )
        rounds = fifth.selectbox(
            "Smoothing (rounds)", smoothings(), index=smoothings().index(near.smoothing),
            help="Rounds of averaging over neighbours after the draw. It costs nothing.",
            key=f"own_smoothing_{mark}",
        )  # fmt: skip
        submitted = st.form_submit_button("Try this design", icon=":material/science:")
    if not submitted:
        return None
    return TypedDesign(
        mechanism, prior, float(kilometres), float(ridge), float(scale), int(paths), int(rounds),
        near.model_scale,
    )  # fmt: skip


def _worth(work: Workspace, found: Found, scored: Scored) -> None:
    settings = found.project.settings
    st.markdown(f"**{cost(scored.epsilon)}** · agreement {rehearsals_words(scored)}")
    if scored.epsilon > settings.epsilon:
        st.warning(
            f"It does not fit ε {settings.epsilon:g}: raise its ridge or scale, take fewer paths, or raise "
            "the budget and search again.",
            icon=":material/block:",
        )
    elif scored.design == found.choice.design:
        st.caption(":material/check: This is the design to release.")
    else:
        st.button(
            "Use this design",
            type="primary",
            icon=":material/check:",
            key=f"own_use_{work.mark}",
            on_click=settling.on_typed,
            args=(work, found, scored),
            help="It becomes the design to release. The receipt will say that you typed it in and judged it "
            "on the reference data.",
        )
        st.caption(words.epsilon_sentence(scored.epsilon, settings.delta, settings.unit_word))
    rehearsal.show(work, found, scored, "own")

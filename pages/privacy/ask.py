"""Ask for the public choices of a release: unit, budget and slack, with an attacker's odds."""

from __future__ import annotations

from typing import Any

import streamlit as st

from data_loaders import owner_word_of
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.numbers import upper
from dpgp_core.priors.registry import PRIORS
from dpgp_core.releasing import Relation
from hexcursion import promises, words
from hexcursion.door.remedies import BUDGETS
from hexcursion.settings import field
from hexcursion.settings.names import DEFAULT_MECHANISMS, not_read, origin_of
from hexcursion.settings.privacy_settings import MOST_RECORDS
from pages.privacy import path_panels, pilot_panel, question
from pages.privacy.numbers import ask_cutoff, ask_slack_and_paths, slack_of
from pages.privacy.question_view import attack_odds
from pages.shared.charts import alt, spec_of
from pages.shared.glossary import PATHS, STATISTICS, label, tip
from pages.shared.plain_text import plain
from pages.shared.session.side_jobs import planning
from pages.shared.session.workspace import Workspace

OBJECTIVES = {
    "iou": "Largest expected agreement of the released region",
    "bce": "Smallest cross-entropy of the map's probabilities",
}
EITHER = "either"
STARTS: dict[bool | str, str] = {EITHER: "Try both and take the better", True: "Yes", False: "No"}
GOALS = {"budget": "Set the budget ε", "agreement": "Set the agreement"}


def ask_privacy(work: Workspace) -> None:
    """All choices of this step, written into the workspace as they are made."""
    question.ask(work)
    question.ask_scale(work)
    _unit(work)
    _strength(work)
    path_panels.ask_drawn(work)
    pilot_panel.ask(work)
    _more(work)
    show_attack(work)
    idle = _idle(work)
    also = ("covariate_columns",) if "covariates" in idle else ()
    still_asked = ("values",) if work.choices.get("values") == "count" else ()  # there is nothing else to ask
    work.choose(**{name: field(name).default for name in (*idle, *also) if name not in still_asked})


def _idle(work: Workspace) -> tuple[str, ...]:
    """Choices of which nothing would come with the mechanisms that are chosen: they are not asked for."""
    choices, ticked = work.choices, st.session_state.get(f"mechanisms_{work.mark}")
    mechanisms = ticked or choices.get("mechanisms") or DEFAULT_MECHANISMS
    amounts = choices.get("values", "amount") == "amount"  # others have one design, with a reference or not
    origin = origin_of(
        mechanisms,
        reference=amounts and choices.get("reference") is not None,
        pilot=choices.get("pilot") is not None,
        by_hand=choices.get("lengthscale") is not None,
    )
    return not_read(mechanisms, origin, amounts=amounts)


def _unit(work: Workspace) -> None:
    kind = plain(work.record_word)
    st.header("Who is protected", anchor=False)
    units = ["point"] if work.choices.get("values") in question.ONE_SCALE else ["point", "cell"]
    standing = work.choices.get("unit", "point")
    captions = {
        "point": f"ε limits what the map tells about one {kind}.",
        "cell": "One median per hexagon is used.",
    }
    unit = st.radio(
        label("unit"),
        units,
        index=units.index(standing) if standing in units else 0,
        format_func={"point": f"Each {kind}", "cell": "Each hexagon's median"}.__getitem__,
        captions=[captions[unit_name] for unit_name in units],
        help=tip("unit"),
        label_visibility="collapsed",
        **work.keyed("unit"),
    )
    work.choose(unit=unit)
    owner, most_records = work.choices.get("owner"), work.choices.get("records_per_owner") or 1
    if owner is not None and most_records > 1:
        st.caption(
            f"Up to {most_records:,} readings of one {plain(owner_word_of(owner))} are used, and ε is about "
            "all of them together."
        )


def ask_number(work: Workspace) -> None:
    """Ask whether the number of records is private too, and then for a public guess of it."""
    noun = "non-empty hexagons" if work.choices.get("unit") == "cell" else f"{plain(work.record_word)}s"
    places_public = bool(work.choices.get("places_public"))
    hidden = st.checkbox(
        f"Keep the number of {noun} private, too",
        value=work.choices.get("relation") == "add-or-remove" and not places_public,
        disabled=places_public,
        help="The release then also hides whether a record is there at all. Spectral statistics alone can do "
        "that, and only where places are not public: public places show how many records there are.",
        **work.keyed("number_private"),
    )
    if not hidden or places_public:
        work.choose(relation="replace-one", records_about=None)
        return
    about = st.number_input(
        f"About how many {noun}, by public knowledge",
        1,
        MOST_RECORDS,
        value=work.choices.get("records_about"),
        help="Such as last year's number. Slack, design and noise are made for it, and it is published.",
        **work.keyed("records_about"),
    )
    work.choose(relation="add-or-remove", records_about=None if about is None else int(about))


def _strength(work: Workspace) -> None:
    st.header("How strongly", anchor=False)
    if _goal(work) == "budget":
        planning(work).wanted = None
        ask_budget(work)
    else:
        target = st.slider(
            "Agreement needed (IoU)",
            0.3,
            0.99,
            planning(work).wanted or 0.8,
            0.01,
            help=tip("iou"),
            **work.keyed("wanted"),
        )
        planning(work).wanted = float(target)
        st.caption("The search then solves for the smallest ε that is expected to reach it.")


def ask_budget(work: Workspace) -> None:
    """Ask for epsilon."""
    epsilon = float(work.choices.get("epsilon", 1.0))
    budget = st.select_slider(
        label("epsilon"),
        sorted({*BUDGETS, epsilon}),
        value=epsilon,
        format_func=lambda value: f"{value:g}",
        help=tip("epsilon"),
        **work.keyed("epsilon"),
    )
    work.choose(epsilon=float(budget))


def show_attack(work: Workspace) -> None:
    """What budget and slack allow an attacker, whichever design is taken."""
    epsilon, delta = float(work.choices.get("epsilon", 1.0)), slack_of(work)
    protected = "cell" if work.choices.get("unit") == "cell" else work.record_word
    relation = work.choices.get("relation", "replace-one")
    n = None if protected == "cell" else work.records
    whom = promises.Protected(protected, relation=relation, owner=work.owner_block)
    with st.expander("What an attacker can do", icon=":material/shield:"):
        st.caption(plain(promises.epsilon_sentence(whom, epsilon, delta, n)))
        show_odds(epsilon, delta, whom.one, relation)


def _goal(work: Workspace) -> str:
    """Which of both is given, budget or agreement; a pilot is a share of a budget that must be given."""
    if pilot_panel.chosen(work):
        return "budget"
    goal = st.segmented_control(
        "What is given",
        list(GOALS),
        default="agreement" if planning(work).wanted else "budget",
        format_func=GOALS.__getitem__,
        required=True,
        label_visibility="collapsed",
        wrap=True,
        **work.keyed("goal"),
    )
    return str(goal)


def _more(work: Workspace) -> None:
    with st.expander("More choices"):
        ask_number(work)
        ask_slack_and_paths(work, "paths" not in _idle(work) and not path_panels.alone(work))
        mechanisms = st.multiselect(
            "Mechanisms to try",
            list(MECHANISMS),
            default=list(work.choices.get("mechanisms", DEFAULT_MECHANISMS)),
            format_func=lambda name: MECHANISMS[name].title,
            help=" ".join(f"{mechanism.title}: {mechanism.summary}" for mechanism in MECHANISMS.values()),
            **work.keyed("mechanisms"),
        )
        st.caption(f"{PATHS} {STATISTICS}")
        work.choose(looks=pilot_panel.ask_looks(work, mechanisms))
        _searched(work)
        answers = work.choices.get("values") == "yes-no"  # they start from a published reference anyway
        prior_mean = None if answers else _start(work)
        ask_cutoff(work)
        quick = st.checkbox(
            "Quick search on a coarser grid", value=bool(work.choices.get("quick")), **work.keyed("quick")
        )
        work.choose(
            mechanisms=tuple(mechanisms),
            prior_mean=prior_mean,
            quick=bool(quick),
        )


def _start(work: Workspace) -> bool | None:
    """Whether a release starts from the public map; None where the search decides."""
    public = bool(work.choices.get("reference_public")) and not work.choices.get("change")
    start = work.choices.get("prior_mean") if public else False
    answer = st.selectbox(
        "Start from the public reference map?",
        list(STARTS),
        index=list(STARTS).index(EITHER if start is None else start),
        format_func=STARTS.__getitem__,
        disabled=not public,
        help="Subtracts the map of the published reference data first: the private data then only have "
        "to say what is new, and the same budget buys far less noise. The reference must be public.",
        **work.keyed("prior_mean"),
    )
    return None if answer == EITHER else bool(answer and public)


def _searched(work: Workspace) -> None:
    """What a search tries and takes for best, where there is one."""
    idle = _idle(work)
    if "priors" not in idle:
        priors = st.multiselect(
            "Priors to try",
            list(PRIORS),
            default=list(work.choices.get("priors") or ()),
            format_func=lambda name: PRIORS[name].title,
            placeholder="those that are quick on so many hexagons",
            help=tip("prior"),
            **work.keyed("priors"),
        )
        work.choose(priors=tuple(priors) or None)
    if "objective" not in idle:
        objective = st.selectbox(
            "What is best?",
            list(OBJECTIVES),
            index=list(OBJECTIVES).index(work.choices.get("objective", "iou")),
            format_func=OBJECTIVES.__getitem__,
            **work.keyed("objective"),
        )
        work.choose(objective=objective)
    if "focus" not in idle and work.choices.get("reference") is None:
        once = work.choices.get("looks", 1) == 1
        alone = st.checkbox(
            "Only this threshold matters",
            value=work.choices.get("focus") == "threshold",
            disabled=not once,
            help="The design is made for it: the map shows a few more records on their right side, and is "
            "worse at other thresholds. This takes 500 records.",
            **work.keyed("focus"),
        )
        work.choose(focus="threshold" if alone and once else "all")


ODDS_HELP = (
    "An attacker knows every other record and wants to tell whether the remaining one is a certain record or "
    "another. No attack on the release, however clever, does better than this. The numbers follow from ε and "
    "δ alone, but for one: spectral statistics, which is taken unless you choose otherwise, adds Gaussian "
    "noise only, and of such a design the lower chance is stated."
)


def show_odds(epsilon: float, delta: float, record: words.UnitWord, relation: Relation) -> None:
    """The best any attack on one record can do at this epsilon and delta."""
    odds = attack_odds(epsilon, delta, relation)
    with st.container(key="odds"):
        st.markdown(
            f"**At ε {plain(upper(epsilon, 3))} an attacker who is after one {plain(record)}**",
            help=ODDS_HELP,
        )
        st.table(
            {
                "An attacker": [
                    "multiplies the odds of a claim, apart from δ, by",
                    "makes of a 50:50 guess",
                    "makes of a 50:50 guess, if all noise is Gaussian",
                    *(f"detects the record, with {plain(alarms)} false alarms" for alarms, _ in odds.rows),
                ],
                "at most": [
                    plain(odds.factor),
                    plain(odds.guesses),
                    plain(odds.gaussian),
                    *(plain(power) for _, power in odds.rows),
                ],
            },
            hide_index=True,
            border="horizontal",
        )
        with st.popover("As a curve", type="tertiary", icon=":material/show_chart:"):
            st.vega_lite_chart(
                spec_of(_odds_curve(odds.curve)),
                alt="The best detection rate of an attack against its rate of false alarms.",
            )
            st.caption("Solid: the best any attack can do. Dashed: guessing without looking at the release.")


def _odds_curve(points: tuple[tuple[float, float], ...]) -> Any:
    percent = alt.Axis(format="%", values=[0, 0.5, 1], title="false alarms")
    base = alt.Chart(alt.Data(values=[{"alarms": a, "detections": d} for a, d in points]))
    bound = base.mark_line(strokeWidth=2.5).encode(
        x=alt.X("alarms:Q", axis=percent, scale=alt.Scale(domain=[0, 1])),
        y=alt.Y(
            "detections:Q",
            axis=alt.Axis(format="%", values=[0, 0.5, 1], title="detected"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        tooltip=[
            alt.Tooltip("alarms:Q", title="false alarms", format=".1%"),
            alt.Tooltip("detections:Q", title="detected at most", format=".1%"),
        ],
    )
    guessing = (
        alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        .mark_line(strokeDash=[4, 4], color="#7b8a90", strokeWidth=1)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    )
    return alt.layer(guessing, bound).properties(height=240, width=320)

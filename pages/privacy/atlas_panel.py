"""Plan an atlas on a screen: what each map is expected to show, and which to leave out before the charge."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpgp_core.atlas.design import Columns
from hexcursion.project.atlas import AtlasProject
from hexcursion.search.atlas import AtlasChoice, foretold_words
from hexcursion.search.choice import Choice
from hexcursion.settings.atlas import MECHANISM, AtlasSettings
from hexcursion.words import listed, plural, quantity, ratio_words, side_words
from pages.privacy import ask
from pages.privacy.designs import atlas_job
from pages.privacy.numbers import ask_cutoff, ask_slack_and_paths
from pages.privacy.trials import of_100
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.side_jobs import SideJobName
from pages.shared.session.workspace import Workspace
from pages.shared.steps import DATA, RELEASE

NAME: SideJobName = "atlas"
READ: dict[Columns, str] = {"likelier": "As the released sums choose", "apart": "Each by itself"}


def ask_together(work: Workspace) -> None:
    """The choices of this step that several columns share."""
    _questions(work)
    work.choose(unit="point", looks=1, mechanisms=(MECHANISM,), pilot=None)
    st.header("How strongly", anchor=False)
    ask.ask_budget(work)
    with st.expander("More choices"):
        ask.ask_number(work)
        ask_slack_and_paths(work)
        ask_cutoff(work)
        reading = st.selectbox(
            "How the maps are read",
            list(READ),
            index=list(READ).index(work.atlas.reading),
            format_func=READ.__getitem__,
            help="Together, columns that are related lend each other strength. It costs no privacy.",
            **work.keyed("reading"),
        )
        work.atlas = replace(work.atlas, reading=reading)
    ask.show_attack(work)


def _questions(work: Workspace) -> None:
    """The columns and their thresholds, which are chosen on another screen."""
    st.header("The questions", anchor=False)
    lines = []
    for name, column in work.columns.items():
        limit, answers = column.get("threshold"), column.get("values") == "yes-no"
        unit = "% of yes" if answers else str(column.get("value_unit", ""))
        side = side_words(column.get("direction", "above"))
        question = "no threshold yet" if limit is None else f"{side} {quantity(limit, unit)}"
        lines.append(f"- {plain(work.called(name))}: {plain(question)}")
    st.markdown("\n".join(lines))
    st.page_link(DATA.path, label="Change them", icon=DATA.icon)


def show(work: Workspace, settings: AtlasSettings) -> None:
    """The panel in whatever state the plan is."""
    if work.outcome is not None and work.fits():
        _proposal(work, work.outcome)
        return
    st.markdown(
        f"**{len(settings.layers)} maps of the same records are released together**: one charge, one "
        "promise. Simulated fields show what each may reach. No private value is used."
    )
    side = side_jobs.follow(
        work,
        NAME,
        (settings,),
        "See what each map may reach",
        "Cancel",
        lambda: atlas_job(settings.with_changes(looked=False, accept_low_agreement=False)),
    )
    if side is not None:
        project, choice = side.result
        work.choose(accept_low_agreement=False)  # a poor map is accepted when it is seen, not before
        work.outcome = found_of(project.restated(looked=settings.first.looked), choice)
        st.rerun()


def found_of(project: AtlasProject, choice: AtlasChoice) -> SearchOutcome:
    """The result for all columns, and of the first what screens of one column ask for."""
    return SearchOutcome(project.first, choice.tuned[0], choice.layers[0], atlas=(project, choice))


def _proposal(work: Workspace, outcome: SearchOutcome) -> None:
    """A line for each map, the offer to leave poor ones out, and the way on."""
    assert outcome.atlas is not None
    project, choice = outcome.atlas
    names, poor = project.settings.names, outcome.poor
    st.header("The proposal", anchor=False)
    good = len(names) - len(poor)
    epsilon = project.first.settings.epsilon
    worth = "All" if not poor else f"{good} of"
    sentence = f"{worth} {plural(len(names), 'map')} are worth releasing for ε {epsilon:g} together."
    st.markdown(f"**{plain(sentence)}**")
    figures = [figures_of(layer) for layer in choice.layers]
    st.table(
        {
            "Map": [plain(work.called(name)) for name in names],
            "Records on their right side": [plain(records) for records, _ in figures],
            "Agreement (IoU)": [plain(agreement) for _, agreement in figures],
            "Advice": ["leave out" if name in poor else "release" for name in names],
        },
        hide_index=True,
        border="horizontal",
    )
    for name, why in poor.items():
        st.markdown(f":material/warning: **{plain(work.called(name))}**: {plain(why)}.")
    if poor and good:
        left = listed([work.called(name) for name in poor])
        if st.button(
            f"Leave out {plain(left)}",
            icon=":material/playlist_remove:",
            help="The other maps then have less noise for the same cost.",
        ):
            work.leave_out(poor)
            work.outcome = None
            st.rerun()
    if st.button("Go to the release", type="primary", icon=RELEASE.icon, key=f"to_release_{work.mark}"):
        st.switch_page(RELEASE.path)
    with st.expander("How this is known", icon=":material/info:"):
        st.markdown(plain(foretold_words(choice, names)[0]))


def figures_of(choice: Choice) -> tuple[str, str]:
    """The records that a map is expected to show on their right side, and its agreement, in words; neither
    where records are too few."""
    expected = choice.expected
    if choice.few:
        return "too few records", "–"
    if expected is None:
        return "–", "not known"
    records = "–" if expected.records is None else of_100(expected.records)
    return records, "not known" if expected.agreement is None else ratio_words(expected.agreement)

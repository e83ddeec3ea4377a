"""Ledger: every release and what it cost, whether the chain holds, and what a person may void."""

from __future__ import annotations

import streamlit as st

from hexcursion.errors import WorkflowError
from pages.ledger.view import LedgerView, view_ledger, void_charge
from pages.shared.glossary import tip
from pages.shared.plain_text import plain


def accounts(view: LedgerView) -> None:
    """One card per dataset and unit of protection: spent, left, budget."""
    st.header("Budgets", anchor=False, help=tip("ledger"))
    if not view.accounts:
        st.caption("No dataset has a budget yet: the first release sets one.")
    for account in view.accounts:
        with st.container(border=True):
            first, second, third, fourth = st.columns([3, 1, 1, 1])
            first.markdown(f"**{plain(account.name)}**")
            first.caption(
                f"{plain(account.protects)}, at δ {plain(account.delta)}",
                help=f"The ledger knows these data by the fingerprint {plain(account.dataset)}…",
            )
            second.metric("Budget ε", plain(account.budget))
            third.metric("Spent ε", plain(account.spent))
            fourth.metric("Left ε", plain(account.left))
            st.progress(account.share, text=f"{plain(account.releases)} charged")
            if account.note:
                st.caption(plain(account.note))


def entries(view: LedgerView) -> None:
    """Every entry in order, newest first."""
    st.header("Entries", anchor=False)
    st.dataframe(
        list(reversed(view.entries)),
        hide_index=True,
        column_config={"No.": st.column_config.NumberColumn(width="small")},
    )


def void(view: LedgerView) -> None:
    """Give back a charge that was never released; the reason becomes an entry."""
    if not view.open:
        return
    st.header("Charges without a release", anchor=False)
    st.caption(
        "A crash between charge and release leaves a charge behind. It stays charged until a person voids "
        "it, with a reason, and only when it is certain that nothing was released."
    )
    with st.form("void", border=True):
        number = st.selectbox("Entry", view.open)
        person = st.text_input("Your name")
        reason = st.text_input("Why it is certain that nothing was released")
        if st.form_submit_button("Void this charge", icon=":material/undo:"):
            try:
                void_charge(int(number), reason, person)
            except WorkflowError as error:
                st.error(plain(error), icon=":material/error:")
            else:
                st.rerun()


try:
    seen = view_ledger()
except WorkflowError as error:
    st.error(plain(error), icon=":material/error:")
else:
    if seen is None:
        st.info(
            "There is no ledger yet: the first release begins one. Nothing has been released from here.",
            icon=":material/receipt_long:",
        )
    else:
        if seen.findings:
            for finding in seen.findings:
                st.error(plain(finding), icon=":material/link_off:")
        else:
            st.success(
                f"{len(seen.entries):,} entries verified: nothing was changed, as far as can be known.",
                icon=":material/verified:",
            )
            for note in seen.notes:
                st.warning(plain(note), icon=":material/schedule:")
        accounts(seen)
        void(seen)
        entries(seen)

"""The public files on a screen: what a download fetches, from whom, to where, and the way by hand."""

from __future__ import annotations

from datetime import date

import streamlit as st

from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.releasing.reach import public_folder
from pages.data.public_files import Offer, by_hand, download_job, public_offers
from pages.data.sources import show_paths
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.side_jobs import show_progress
from pages.shared.session.workspace import Fetched, Workspace

FIRST_YEAR = 1995


def show(work: Workspace) -> None:
    """The panel in whatever state the download is; what was fetched is put into the file widgets."""
    job = work.download
    running = job is not None and job.state.state == "running"
    with st.expander(
        "No files yet? Download the public ones", expanded=running, icon=":material/cloud_download:"
    ):
        if job is not None and running:
            show_progress(job, "Cancel the download")
            return
        if job is not None:
            work.download = None
            try:
                _take(job.result())
            except Cancelled:
                st.info("Cancelled. The next download goes on from there.", icon=":material/cancel:")
            except WorkflowError as error:
                st.error(plain(error), icon=":material/cloud_off:")
            else:
                st.success(
                    "The files are here, and their paths are filled in below.", icon=":material/check:"
                )
        _offer(work)


def _take(fetched: Fetched) -> None:
    paths = {"sales_private": fetched.sales, "sales_postcodes": fetched.postcodes}
    show_paths({**paths, "sales_reference": fetched.reference or ""})


def _offer(work: Workspace) -> None:
    st.markdown(
        "The sales of England and Wales and the places of postcodes are published, under the Open Government "
        "Licence v3.0. They are not private, but here one year can play the private data and the year before "
        "the public reference."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        this_year = date.today().year
        year = st.selectbox(
            "Year of the sales",
            range(this_year, FIRST_YEAR - 1, -1),
            index=1,
            width=160,
            key="public_year",
            persist_state="session",
        )
        before = st.checkbox(
            "And the year before as reference data",
            value=True,
            key="public_before",
            persist_state="session",
            disabled=year == FIRST_YEAR,
        )
        again = st.checkbox(
            "Fetch again what is here",
            key="public_again",
            help="Public files are corrected in place, month by month.",
        )
    earlier = year - 1 if before and year > FIRST_YEAR else None
    offers = public_offers(year, earlier)
    coming = [offer for offer in offers if again or not offer.here]
    st.markdown("\n".join(f"- {_line(offer)}" for offer in offers))
    st.caption("  \n".join(dict.fromkeys(plain(line) for offer in offers for line in offer.attribution)))
    st.caption(f"Kept in {plain(public_folder())}, for all who use this installation.")
    size = sum(offer.megabytes - offer.held for offer in coming)
    hosts = " and ".join(dict.fromkeys(plain(offer.host) for offer in coming))
    st.button(
        f"Download from {hosts} (about {size} MB)" if coming else "Use the files that are here",
        icon=":material/cloud_download:" if coming else ":material/check:",
        on_click=_begin,
        args=(work, year, earlier, again),
    )
    with st.popover("No internet on this machine?", type="tertiary", icon=":material/cloud_off:"):
        st.markdown("\n".join(f"{number}. {step}" for number, step in enumerate(by_hand(year, earlier), 1)))


def _line(offer: Offer) -> Markdown:
    if offer.here:
        state = "already here"
    elif offer.held:
        state = f"{offer.held:,} of about {offer.megabytes:,} MB are here"
    else:
        state = f"about {offer.megabytes:,} MB"
    return f"**{plain(offer.title)}**, {state}, from {plain(offer.host)}"


def _begin(work: Workspace, year: int, earlier: int | None, again: bool) -> None:
    work.download = download_job(year, earlier, refresh=again)
    work.ends_with(work.download)

"""The public sales and postcodes: what a download fetches, from whom, to where all sessions share it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import streamlit as st

from data_loaders import CODE_POINT_OPEN, ONSPD_INSTRUCTIONS, PublicFile, fetch, price_paid_file
from geo.errors import part_of
from hexcursion.errors import Cancelled, Report, WorkflowError
from hexcursion.releasing.allowed_paths import public_folder
from pages.data.sources import show_paths
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.previews import as_workflow_errors
from pages.shared.session.side_jobs import show_progress
from pages.shared.session.workspace import Fetched, Workspace
from pages.shared.subprocess_job import Job

GLANCE = 0.1  # seconds between two looks at a download: a cancel is noticed within a second
_MEGA = 1_000_000


@dataclass(frozen=True)
class Offer:
    """One public file as a screen offers it: how many megabytes of it are kept, and whether it is whole."""

    file: PublicFile
    held: int
    here: bool


def public_offers(year: int, reference_year: int | None = None) -> tuple[Offer, ...]:
    """What a download of these years consists of, sales first, postcodes last."""
    folder = public_folder()
    return tuple(
        Offer(file, _held(folder / file.file_name) // _MEGA, (folder / file.file_name).is_file())
        for file in _files(year, reference_year)
    )


def download_job(year: int, reference_year: int | None = None, *, refresh: bool = False) -> Job[Fetched]:
    """Fetch what is missing, one file after another, in the background; `refresh` fetches again what is
    there.

    A cancelled or broken download goes on next time from what it has. Without a way to a host the job fails
    with a `WorkflowError` that says what to fetch by hand."""
    files = _files(year, reference_year)
    folder = public_folder()

    def work(report: Report) -> Fetched:
        missing = [_missing(folder / file.file_name, file, refresh) for file in files]
        total, fetched, paths = max(sum(missing), 1.0), 0.0, []
        for file, left in zip(files, missing, strict=True):
            share = left or 1.0
            tell = part_of(report, fetched / total, (fetched + share) / total)
            paths.append(_followed(file, folder, refresh, tell, share))
            fetched += left
        return Fetched(str(paths[0]), str(paths[1]) if reference_year is not None else None, str(paths[-1]))

    return Job(work)


def by_hand(year: int, reference_year: int | None = None) -> tuple[str, ...]:
    """What to do where the machine has no internet, step by step."""
    fetching = (
        f"Open {file.page} on a machine with internet and download {file.title!r}."
        for file in _files(year, reference_year)
    )
    names = ", ".join(file.file_name for file in _files(year, reference_year))
    return (
        *fetching,
        f"Copy the files here, into {public_folder()}, named {names}; or upload them.",
        f"Another postcode lookup does as well. {ONSPD_INSTRUCTIONS}",
    )


@as_workflow_errors()
def _files(year: int, reference_year: int | None) -> tuple[PublicFile, ...]:
    years = (year,) if reference_year is None else (year, reference_year)
    return (*(price_paid_file(of_year) for of_year in years), CODE_POINT_OPEN)


def _held(path: Path) -> int:
    part = path.with_name(path.name + ".part")
    return part.stat().st_size if part.is_file() else 0


def _missing(path: Path, file: PublicFile, refresh: bool) -> float:
    """Bytes still to come, roughly: what the bar and the time left are reckoned in."""
    if path.is_file() and not refresh:
        return 0.0
    return float(max(file.megabytes * _MEGA - _held(path), _MEGA))


@as_workflow_errors()
def _followed(file: PublicFile, folder: Path, refresh: bool, report: Report, size: float) -> Path:
    """Fetch in another thread, so that a cancel never waits for a silent host; `size` is what is missing."""
    latest: list[tuple[int, int | None]] = []
    ended: list[Path | BaseException] = []
    stop = threading.Event()
    first: list[int] = []

    def progress(bytes_read: int, total: int | None) -> bool:
        if bytes_read and not first:
            first.append(bytes_read)
        latest[:] = [(bytes_read, total)]
        return not stop.is_set()

    def run() -> None:
        try:
            ended.append(fetch(file, folder, progress=progress, refresh=refresh))
        except BaseException as failure:  # raised again below
            ended.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            bytes_read, total = latest[0] if latest else (0, None)
            part = (bytes_read - (first[0] if first else bytes_read)) / size
            report(min(part, 1.0), _words(file, bytes_read, total))
            thread.join(GLANCE)
    finally:
        stop.set()
    outcome = ended[0]
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _words(file: PublicFile, bytes_read: int, total: int | None) -> str:
    if not bytes_read:
        return f"{file.title}: asking {file.host}"
    size = total / _MEGA if total else file.megabytes
    return f"{file.title}: {bytes_read / _MEGA:.0f} of about {size:.0f} MB"


FIRST_YEAR = 1995


def ask_public_files(work: Workspace) -> None:
    """The panel in whatever state the download is; put fetched files into the file widgets."""
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
                _take_fetched(job.result())
            except Cancelled:
                st.info("Cancelled. The next download goes on from there.", icon=":material/cancel:")
            except WorkflowError as error:
                st.error(plain(error), icon=":material/cloud_off:")
            else:
                st.success(
                    "The files are here, and their paths are filled in below.", icon=":material/check:"
                )
        _offer_files(work)


def _take_fetched(fetched: Fetched) -> None:
    paths = {"sales_private": fetched.sales, "sales_postcodes": fetched.postcodes}
    show_paths({**paths, "sales_reference": fetched.reference or ""})


def _offer_files(work: Workspace) -> None:
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
        with_earlier = st.checkbox(
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
    earlier = year - 1 if with_earlier and year > FIRST_YEAR else None
    offers = public_offers(year, earlier)
    coming = [offer for offer in offers if again or not offer.here]
    st.markdown("\n".join(f"- {_line(offer)}" for offer in offers))
    st.caption("  \n".join(dict.fromkeys(plain(line) for offer in offers for line in offer.file.attribution)))
    st.caption(f"Kept in {plain(public_folder())}, for all who use this installation.")
    size = sum(offer.file.megabytes - offer.held for offer in coming)
    hosts = " and ".join(dict.fromkeys(plain(offer.file.host) for offer in coming))
    st.button(
        f"Download from {hosts} (about {size} MB)" if coming else "Use the files that are here",
        icon=":material/cloud_download:" if coming else ":material/check:",
        on_click=_begin_download,
        args=(work, year, earlier, again),
    )
    with st.popover("No internet on this machine?", type="tertiary", icon=":material/cloud_off:"):
        st.markdown("\n".join(f"{number}. {step}" for number, step in enumerate(by_hand(year, earlier), 1)))


def _line(offer: Offer) -> Markdown:
    if offer.here:
        state = "already here"
    elif offer.held:
        state = f"{offer.held:,} of about {offer.file.megabytes:,} MB are here"
    else:
        state = f"about {offer.file.megabytes:,} MB"
    return f"**{plain(offer.file.title)}**, {state}, from {plain(offer.file.host)}"


def _begin_download(work: Workspace, year: int, earlier: int | None, again: bool) -> None:
    work.download = download_job(year, earlier, refresh=again)
    work.ends_with(work.download)

"""Addresses and licences of the public files, and their download: resumable, verified, with
progress.

A failed download ends in a plain sentence; files without a fixed address have instructions.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from data_loaders.errors import DataError
from data_loaders.house_prices.postcodes import ONS_ATTRIBUTION
from data_loaders.house_prices.sales import LAND_REGISTRY
from data_loaders.house_prices.segments import FIRST_YEAR, LAST_YEAR

if TYPE_CHECKING:
    import requests

_LAND_REGISTRY = "https://price-paid-data.publicdata.landregistry.gov.uk/"
_PRICE_PAID_PAGE = "https://www.gov.uk/government/statistical-data-sets/price-paid-data-downloads"
_ORDNANCE_SURVEY = (
    "https://api.os.uk/downloads/v1/products/CodePointOpen/downloads?area=GB&format=CSV&redirect"
)
_CODE_POINT_PAGE = "https://osdatahub.os.uk/downloads/open/CodePointOpen"

# The address of ONSPD and NSPL changes with every quarterly edition.
ONSPD_INSTRUCTIONS = (
    "The ONS Postcode Directory (ONSPD) has a new address each quarter: open "
    "https://geoportal.statistics.gov.uk, search for ONSPD, download the zip file and choose it as it is."
)

# Called with bytes done and bytes in total (None if unknown); returning False stops the download.
Progress: TypeAlias = Callable[[int, int | None], bool | None]
MAX_BYTES = 16 << 30
ATTEMPTS = 4
PAUSE = 1.0  # seconds before a second attempt, growing
TURN = 0.2  # seconds between two attempts to lock a file that another process downloads
_TIMEOUT = (10.0, 60.0)
_CHUNK = 1 << 16  # the bytes lost when a connection breaks


@dataclass(frozen=True)
class PublicFile:
    """A file for public download."""

    name: str
    title: str  # a name for people
    address: str
    file_name: str  # on disk
    megabytes: int  # rough size, so that a person can decide
    page: str  # web page with the download
    attribution: tuple[str, ...]  # sentences that its licence requires

    @property
    def host(self) -> str:
        """The host of the download."""
        return urlsplit(self.address).hostname or ""


def price_paid_file(year: int | str) -> PublicFile:
    """Return the file of Price Paid Data of a year from 1995, "complete" (1995 until now) or
    "monthly"; raise `DataError` for anything else."""
    word = str(year).strip().lower()
    if word == "complete":
        stem, title, size = "pp-complete", "Price Paid Data, complete since 1995", 5300
    elif word == "monthly":
        stem, title, size = (
            "pp-monthly-update-new-version",
            "Price Paid Data, changes of the latest month",
            20,
        )
    elif word.isascii() and word.isdigit() and FIRST_YEAR <= int(word[:9]) <= LAST_YEAR:
        stem, title, size = f"pp-{word}", f"Price Paid Data {word}", 170
    else:
        raise DataError(
            f"Price Paid files exist for each year from {FIRST_YEAR}, as 'complete' and as 'monthly'."
        )
    return PublicFile(
        stem, title, f"{_LAND_REGISTRY}{stem}.csv", f"{stem}.csv", size, _PRICE_PAID_PAGE, (LAND_REGISTRY,)
    )


CODE_POINT_OPEN = PublicFile(
    "code-point-open",
    "Code-Point Open: postcodes of Great Britain",
    _ORDNANCE_SURVEY,
    "code-point-open.zip",
    20,
    _CODE_POINT_PAGE,
    ONS_ATTRIBUTION[:2],
)


def fetch(
    file: PublicFile,
    directory: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    refresh: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Path:
    """Download a public file into a folder. Keep an existing file with its stored checksum unless
    `refresh` is True, because public files are corrected in place. Call `progress` with the bytes
    done and, if known, the bytes in total; the answer False stops the download. An interrupted
    download leaves a ".part" file, from which the next one resumes unless the source has changed.
    Two downloads of one file take turns, also in several processes. Raise `DataError` for no
    connection, not found, too large, no room, stopped."""
    import requests

    folder = Path(directory)
    path = folder / file.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(path, progress):
            _retrieve(file, path, progress, refresh, max_bytes)
    except DataError:
        raise
    except requests.RequestException:
        failure = _by_hand(file, folder)
    except OSError:
        failure = DataError(f"{folder.name} cannot be written to: choose another folder with room.")
    else:
        return path
    raise failure


def _retrieve(file: PublicFile, path: Path, progress: Progress | None, refresh: bool, max_bytes: int) -> None:
    note = path.with_name(path.name + ".sha256")
    intact = _intact(path, _noted(note))
    if not intact:
        path.unlink(missing_ok=True)
    if refresh or not intact:  # the old edition stays until the new one is complete
        _Resuming(file, progress, max_bytes).fetch_to(path)
    note.write_text(_digest(path))


@contextlib.contextmanager
def _alone(path: Path, progress: Progress | None) -> Iterator[None]:
    """Hold the lock of one file; the system frees it when the process dies."""
    try:
        import fcntl
    except ImportError as error:  # on Windows
        raise DataError("Downloads need the locks of Linux or macOS: on Windows work in WSL 2.") from error
    with path.with_name(f".{path.name}.lock").open("wb") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _go_on(progress, 0, None)
                time.sleep(TURN)
        yield


def _go_on(progress: Progress | None, done: int, total: int | None) -> None:
    if progress is not None and progress(done, total) is False:
        raise DataError("The download was stopped; start it again and it goes on from there.")


def _by_hand(file: PublicFile, folder: Path) -> DataError:
    host = urlsplit(file.address).hostname
    return DataError(
        f"{host} cannot be reached from here: download {file.title!r} from {file.page} on a machine with "
        f"internet, and put it into {folder} as {file.file_name}, or choose it as a file."
    )


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _noted(note: Path) -> str | None:
    return note.read_text().strip() if note.is_file() else None


def _intact(path: Path, digest: str | None) -> bool:
    """Whether a file exists and has its expected checksum."""
    return path.is_file() and (digest is None or _digest(path) == digest)


class _Resuming:
    """A download that resumes where an earlier attempt stopped (RFC 9110, range requests)."""

    def __init__(self, file: PublicFile, progress: Progress | None, max_bytes: int) -> None:
        self._file, self._progress, self._max_bytes = file, progress, max_bytes
        self._answered = False

    def fetch_to(self, target: Path) -> None:
        """Download to a part file in the same folder, and move it to `target` once complete."""
        import requests

        part = target.with_name(target.name + ".part")
        for attempt in range(ATTEMPTS):
            try:
                self._continue(part)
                break
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
                # Resume from the part file, unless the server never answered.
                if attempt == ATTEMPTS - 1 or not self._answered:
                    raise
                time.sleep(PAUSE * (attempt + 1))
        os.replace(part, target)
        _tag_of(part).unlink(missing_ok=True)

    def _continue(self, part: Path) -> None:
        """Fetch the missing rest of `part`; raise a connection error if it stays incomplete."""
        import requests

        offset = part.stat().st_size if part.exists() else 0
        tag = _read_tag(part)
        headers = {"Accept-Encoding": "identity"}
        if offset and tag:
            # If-Range: never join two editions of a file that is corrected in place.
            headers |= {"Range": f"bytes={offset}-", "If-Range": tag}
        with requests.get(self._file.address, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
            self._answered = True
            if answer.status_code == 416:  # the server has no bytes after `offset`: start again
                part.unlink(missing_ok=True)
                raise requests.ConnectionError
            if answer.status_code in (404, 410):
                raise DataError(
                    f"{self._file.title} is not at its public address any more: "
                    f"look for it at {self._file.page}."
                )
            answer.raise_for_status()
            resumed = answer.status_code == 206 and _starts_at(answer, offset)
            start = offset if resumed else 0
            length = answer.headers.get("Content-Length", "")
            total = start + int(length) if length.isdecimal() else None
            self._check_room(part, start, total)
            _write_tag(part, answer)
            done = start
            with part.open("r+b" if resumed else "wb") as handle:
                handle.seek(start)
                for chunk in answer.iter_content(_CHUNK):
                    handle.write(chunk)
                    done += len(chunk)
                    self._report(done, total)
            if total is not None and done < total:
                raise requests.ConnectionError

    def _check_room(self, part: Path, start: int, total: int | None) -> None:
        if total is None:
            return
        if total > self._max_bytes:
            raise DataError(
                f"{self._file.title} is larger than {self._max_bytes:,} bytes and was not fetched."
            )
        if total - start > shutil.disk_usage(part.parent).free:
            raise DataError(
                f"{self._file.title} needs {total - start:,} bytes of disk: choose a folder with room."
            )

    def _report(self, done: int, total: int | None) -> None:
        if done > self._max_bytes:
            raise DataError(
                f"{self._file.title} is larger than {self._max_bytes:,} bytes: the download was ended."
            )
        _go_on(self._progress, done, total)


def _starts_at(answer: requests.Response, offset: int) -> bool:
    return answer.headers.get("Content-Range", "").startswith(f"bytes {offset}-")


def _tag_of(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _write_tag(part: Path, answer: requests.Response) -> None:
    """Store the edition of the part file: its strong ETag, otherwise its date."""
    etag = answer.headers.get("ETag", "")
    tag = etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified", "")
    _tag_of(part).write_text(json.dumps({"edition": tag}))


def _read_tag(part: Path) -> str:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return str(json.loads(_tag_of(part).read_text()).get("edition", ""))
    return ""

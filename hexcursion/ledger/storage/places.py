"""Where the ledger and its key live when nobody says otherwise."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from hexcursion.ledger.errors import LedgerError
from hexcursion.new_place import LONGEST

HOME_VARIABLE = "HEXCURSION_HOME"
LEDGER_VARIABLE = "HEXCURSION_LEDGER"
WITNESS_VARIABLE = "HEXCURSION_WITNESS"
BUNDLES_VARIABLE = "HEXCURSION_BUNDLES"


def home() -> Path:
    """The directory of this installation's ledgers: $HEXCURSION_HOME, else ./.hexcursion."""
    return Path(os.environ.get(HOME_VARIABLE) or ".hexcursion")


def witness_folder() -> Path:
    """Where witnesses are kept: $HEXCURSION_WITNESS, else `hexcursion` among the user's state files. By
    default that is ~/.local/state/hexcursion (or in $XDG_STATE_HOME): outside the folder of the ledger, so
    that a copy or a backup of that folder does not take the memory of the chain along with the chain. Raise
    `LedgerError` if the user has no home folder, and none is named."""
    if named := os.environ.get(WITNESS_VARIABLE):
        return Path(named)
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "hexcursion"
    except RuntimeError:
        raise LedgerError(
            f"This user has no home folder to keep the ledger's witness in: name one by {WITNESS_VARIABLE}."
        ) from None


def bundles_folder() -> Path:
    """Where published bundles lie: $HEXCURSION_BUNDLES, else `releases` in this installation's home."""
    return Path(os.environ.get(BUNDLES_VARIABLE) or home() / "releases")


def sites_folder() -> Path:
    """Where the screen Publish writes pages for a web server: `sites` in this installation's home."""
    return home() / "sites"


def ledger_url(place: str | Path | None = None) -> URL:
    """A database URL for `place`: a URL, a SQLite file, or None for $HEXCURSION_LEDGER, else home(). Raise
    `LedgerError` for a malformed URL, a folder, a name that no file has, or a database that is neither SQLite
    in a file nor PostgreSQL. A PostgreSQL server on another machine is spoken to over TLS, unless the address
    (or $PGSSLMODE) states an `sslmode` of its own: libpq's default would send the password in clear where the
    server asks for it."""
    if place is None:
        place = os.environ.get(LEDGER_VARIABLE) or home() / "ledger.sqlite"
    if "\0" in str(place):
        raise LedgerError(f"No ledger is called {str(place)!r}: name one without NUL characters.")
    if len(os.fsencode(Path(place).name)) > LONGEST:
        raise LedgerError(f"The ledger's name is too long: name its file in at most {LONGEST} bytes.")
    if isinstance(place, Path) or "://" not in place:
        if os.path.isdir(Path(place)):
            raise LedgerError(
                f"{place} is a folder: name the file of a ledger, as {Path(place) / 'ledger.sqlite'}."
            )
        return URL.create("sqlite", database=str(Path(place).absolute()))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):  # ValueError: a port that is no number
        raise LedgerError(
            "The ledger's address is not a database URL: write a file name or "
            "postgresql+psycopg://user:password@host/database."
        ) from None
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database and url.database != ":memory:" and "mode" not in url.query:
        return URL.create("sqlite", database=str(Path(url.database).absolute()))
    if backend == "postgresql" and url.database:
        return _encrypted(url.set(drivername="postgresql+psycopg"))
    raise LedgerError("A ledger lives in a SQLite file or in a PostgreSQL database: name one of the two.")


def _encrypted(url: URL) -> URL:
    """The address with `sslmode=require`, where it names another machine and nothing is said of TLS."""
    if "sslmode" in url.query or os.environ.get("PGSSLMODE"):
        return url
    asked = [url.host, *(url.query.get(name) for name in ("host", "hostaddr"))]
    hosts = [host for each in asked for host in ([each] if isinstance(each, str) else each or ())]
    named = hosts or [os.environ.get("PGHOSTADDR") or os.environ.get("PGHOST") or ""]
    if all(_is_here(host) for several in named for host in several.split(",")):
        return url
    return url.update_query_dict({"sslmode": "require"})


def _is_here(host: str) -> bool:
    """Whether a host is this machine: a socket (a folder, or nothing said) or a loopback address."""
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def default_key_path(url: URL) -> Path:
    """The key beside a SQLite file, or in home() under the name of the PostgreSQL database."""
    assert url.database is not None  # ledger_url made it
    if url.get_backend_name() == "sqlite":
        return Path(url.database).with_suffix(".key")
    return home() / f"{Path(url.database).name}.key"

"""The locations of a ledger, its key and its witness; and the key, the curator's secret."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from hexcursion.ledger.errors import LedgerError
from hexcursion.new_place import LONGEST, private_file

HOME_VARIABLE = "HEXCURSION_HOME"
LEDGER_VARIABLE = "HEXCURSION_LEDGER"
WITNESS_VARIABLE = "HEXCURSION_WITNESS"
BUNDLES_VARIABLE = "HEXCURSION_BUNDLES"


def home() -> Path:
    """Return the directory of this installation's ledgers: $HEXCURSION_HOME, else ./.hexcursion."""
    return Path(os.environ.get(HOME_VARIABLE) or ".hexcursion")


def witness_folder() -> Path:
    """Return the folder of witnesses: $HEXCURSION_WITNESS, else `hexcursion` among the user's state
    files. By default that is ~/.local/state/hexcursion (or in $XDG_STATE_HOME): outside the folder
    of the ledger, so that a copy or a backup of that folder does not contain the witness together
    with the chain. Raise `LedgerError` if the user has no home folder and the variable is not
    set."""
    if folder := os.environ.get(WITNESS_VARIABLE):
        return Path(folder)
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "hexcursion"
    except RuntimeError:
        raise LedgerError(
            f"This user has no home folder to keep the ledger's witness in: name one by {WITNESS_VARIABLE}."
        ) from None


def bundles_folder() -> Path:
    """Return the folder of published bundles: $HEXCURSION_BUNDLES, else `releases` in home()."""
    return Path(os.environ.get(BUNDLES_VARIABLE) or home() / "releases")


def sites_folder() -> Path:
    """Return the folder in which the screen Publish writes pages for a web server: `sites` in
    home()."""
    return home() / "sites"


def ledger_url(place: str | Path | None = None) -> URL:
    """Return the database URL of `place`: a URL, a SQLite file, or None for $HEXCURSION_LEDGER,
    else home(). Raise `LedgerError` for a malformed URL, a folder, an impossible file name, or a
    database that is neither SQLite in a file nor PostgreSQL. Use TLS for a PostgreSQL server on
    another machine, unless the address (or $PGSSLMODE) states an `sslmode`: by default libpq would
    send the password in clear text if the server requests it."""
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
    """Add `sslmode=require` to the address of another machine that does not state a mode of TLS."""
    if "sslmode" in url.query or os.environ.get("PGSSLMODE"):
        return url
    parameters = [url.host, *(url.query.get(name) for name in ("host", "hostaddr"))]
    hosts = [host for value in parameters for host in ([value] if isinstance(value, str) else value or ())]
    addresses = hosts or [os.environ.get("PGHOSTADDR") or os.environ.get("PGHOST") or ""]
    if all(_is_here(host) for several in addresses for host in several.split(",")):
        return url
    return url.update_query_dict({"sslmode": "require"})


def _is_here(host: str) -> bool:
    """Whether a host is this machine: a socket (a folder, or an empty name) or a loopback
    address."""
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def default_key_path(url: URL) -> Path:
    """Return the key in the folder of a SQLite file, or in home() for a PostgreSQL database."""
    assert url.database is not None  # ledger_url made it
    if url.get_backend_name() == "sqlite":
        return Path(url.database).with_suffix(".key")
    return home() / f"{Path(url.database).name}.key"


KEY_BYTES = 32
MOST_LETTERS = 10_000  # of a key's file: a line of 64, and a remark
_USED = "\n# A ledger was begun with this key.\n"  # always on a separate line


@dataclass(frozen=True)
class LedgerKey:
    """The curator's secret."""

    path: Path  # its file
    secret: bytes = field(repr=False)  # 32 bytes, never printed
    used: bool = False  # whether a ledger was begun with it

    def mac(self, purpose: str, message: bytes) -> str:
        """Return the HMAC-SHA256 in hex, separated by purpose so that signatures are not
        interchangeable."""
        return hmac.new(self.secret, purpose.encode() + b"\x00" + message, hashlib.sha256).hexdigest()

    def matches(self, purpose: str, message: bytes, mac: object, digits: int = 64) -> bool:
        """Whether `mac` is this key's signature, or its first `digits`; False for other objects."""
        if not isinstance(mac, str):
            return False
        right = self.mac(purpose, message)[:digits]
        return hmac.compare_digest(right.encode(), mac.encode("utf-8", "replace"))

    @property
    def identity(self) -> str:
        """A public name of the key that does not reveal it, to tell the right key from a wrong
        one."""
        return self.mac("identity", b"")

    def fingerprint(self, *columns: ArrayLike) -> str:
        """Return the keyed hash of a dataset, 64 hex digits. The same records in any order have the
        same name; one changed record gives another name (and another budget, which the curator must
        prevent). Without the key the hash reveals nothing about the records, not even to guesses.
        `columns`: (n,) numbers each, x, y and value as loaded, before any choice of domain,
        resolution or clip, so that such choices cannot turn an old dataset into a new one. Raise
        `LedgerError` without records."""
        table = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
        if table.size == 0:
            raise LedgerError("There are no records to take the fingerprint of: load data first.")
        table = np.where(np.isnan(table), np.nan, table + 0.0)  # one NaN, and no negative zero
        table = table[np.lexsort(table.T[::-1])]
        shape = f"{table.shape[0]}x{table.shape[1]}:".encode()
        return self.mac("dataset", shape + table.astype(">f8").tobytes())


def create_key(path: Path, secret: bytes | None = None) -> None:
    """Write a key of 32 bytes, readable only by its owner; `secret` defaults to new bytes from the
    operating system. Keep an existing key. Raise `LedgerError` if it cannot be written."""
    private_directory(path.parent)
    try:
        with suppress(FileExistsError):  # another process's key
            private_file(path, ((secret or secrets.token_bytes(KEY_BYTES)).hex() + "\n").encode())
    except OSError as error:
        raise LedgerError(
            f"The ledger's key could not be written to {path}: {error.strerror or error}."
        ) from None


def read_key(path: Path) -> LedgerKey:
    """Read the key. Raise `LedgerError` if it is missing, unreadable, open to others, or not a
    key."""
    used, mode = False, 0
    try:
        mode = path.stat().st_mode
        with path.open(encoding="ascii") as file:
            lines = [line.strip() for line in file.read(MOST_LETTERS).splitlines() if line.strip()]
        used = len(lines) > 1
        secret = bytes.fromhex(lines[0]) if lines and all(line[0] == "#" for line in lines[1:]) else b""
    except FileNotFoundError:
        raise LedgerError(f"The ledger's key {path} is missing: restore it from its backup.") from None
    except OSError as error:
        raise LedgerError(
            f"The ledger's key {path} cannot be read ({error.strerror or error}): name its file."
        ) from None
    except ValueError:
        secret = b""
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise LedgerError(f"The ledger's key {path} is open to other users: run `chmod 600 {path}`.")
    if len(secret) != KEY_BYTES:
        raise LedgerError(f"{path} is not a ledger key: restore the key from its backup.")
    return LedgerKey(path, secret, used=used)


def mark_used(key: LedgerKey) -> None:
    """Record in the key's file that a ledger was begun, so that no other ledger replaces it. The
    line is appended, so the secret is never rewritten. A read-only file (a mounted secret) does not
    get the line; the witness and the seals of the releases still serve."""
    if key.used:
        return
    with suppress(OSError), key.path.open("a", encoding="ascii") as file:
        file.write(_USED)
        file.flush()
        os.fsync(file.fileno())


def private_directory(directory: Path) -> None:
    """Create a folder that only its owner can read, unless it exists. Raise `LedgerError` if it
    cannot be created."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LedgerError(
            f"The directory {directory} cannot be created: {error.strerror or error}."
        ) from None

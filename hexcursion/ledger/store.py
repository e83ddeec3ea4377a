"""The database of a ledger: its tables, and every read and write as one transaction.

No other module accesses the database.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from hexcursion.ledger.entry import COLUMNS, Entry
from hexcursion.ledger.errors import LedgerBusy, LedgerError

METADATA = sa.MetaData()

ENTRIES = sa.Table(
    "ledger_entries",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("kind", "created", "dataset", "unit")),
    sa.Column("refers_to", sa.Integer),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("curve", "body", "previous", "hash")),
    sqlite_strict=True,
)

# One row: the number of entries and the last one's hash, signed with the curator's key.
HEAD = sa.Table(
    "ledger_head",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("entries", sa.Integer, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
    sqlite_strict=True,
)

# Record hashes of each dataset; the chain's `records` entry holds their SHA-256.
RECORDS = sa.Table(
    "ledger_records",
    METADATA,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("hashes", sa.LargeBinary, nullable=False),
    sqlite_strict=True,
)

# The entry that charged each request; the database refuses a second one.
REQUESTS = sa.Table(
    "ledger_requests",
    METADATA,
    sa.Column("request", sa.Text, primary_key=True),
    sa.Column("entry", sa.Integer, nullable=False, unique=True),
    sqlite_strict=True,
)

_APPEND_ONLY = "the ledger is append-only"
_IN_ORDER = "ledger entries are numbered without gaps"
_FORWARD = "the head of the ledger only moves forward"
_REFUSED = tuple(
    (table.name, verb)
    for table in (ENTRIES, HEAD, RECORDS, REQUESTS)
    for verb in ("update", "delete", "truncate")
    if (table, verb) != (HEAD, "update")
)
"""The operations that the tables refuse; an update of the head must add one entry."""

# Each trigger by its name. `missing_triggers` compares exactly these texts with those of the file.
SQLITE_TRIGGERS = {
    f"{table}_no_{verb}": f"""CREATE TRIGGER {table}_no_{verb} BEFORE {verb.upper()} ON {table}
        BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END"""
    for table, verb in _REFUSED
    if verb != "truncate"
} | {
    # Also stops INSERT OR REPLACE, which deletes without firing the triggers above.
    "ledger_entries_in_order": f"""CREATE TRIGGER ledger_entries_in_order BEFORE INSERT ON ledger_entries
        WHEN NEW.number IS NOT (SELECT coalesce(max(number) + 1, 0) FROM ledger_entries)
        BEGIN SELECT RAISE(ABORT, '{_IN_ORDER}'); END""",
    "ledger_head_forward": f"""CREATE TRIGGER ledger_head_forward BEFORE UPDATE ON ledger_head
        WHEN NEW.id IS NOT OLD.id OR NEW.entries IS NOT OLD.entries + 1
        BEGIN SELECT RAISE(ABORT, '{_FORWARD}'); END""",
}

POSTGRES_TRIGGERS = {
    f"{table}_no_{verb}": f"""CREATE TRIGGER {table}_no_{verb} BEFORE {verb.upper()} ON {table}
        FOR EACH {"STATEMENT" if verb == "truncate" else "ROW"} EXECUTE FUNCTION ledger_refuse()"""
    for table, verb in _REFUSED
} | {
    "ledger_entries_in_order": """CREATE TRIGGER ledger_entries_in_order BEFORE INSERT ON ledger_entries
        FOR EACH ROW EXECUTE FUNCTION ledger_check_order()""",
    "ledger_head_forward": """CREATE TRIGGER ledger_head_forward BEFORE UPDATE ON ledger_head
        FOR EACH ROW EXECUTE FUNCTION ledger_check_head()""",
}

POSTGRES_FUNCTIONS = (
    f"""CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '{_APPEND_ONLY}'; END $$""",
    f"""CREATE OR REPLACE FUNCTION ledger_check_order() RETURNS trigger LANGUAGE plpgsql AS
        $$ DECLARE following integer;
        BEGIN
            EXECUTE 'SELECT coalesce(max(number) + 1, 0) FROM '
                || quote_ident(TG_TABLE_SCHEMA) || '.ledger_entries' INTO following;
            IF NEW.number <> following THEN RAISE EXCEPTION '{_IN_ORDER}'; END IF;
            RETURN NEW;
        END $$""",
    f"""CREATE OR REPLACE FUNCTION ledger_check_head() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN
            IF NEW.id <> OLD.id OR NEW.entries <> OLD.entries + 1 THEN
                RAISE EXCEPTION '{_FORWARD}';
            END IF;
            RETURN NEW;
        END $$""",
)


WAIT_SECONDS = 60
LEAST_ROOM = 10_000_000
"""Free bytes required for a charge: its rows, a dataset's record hashes, and the database's
journal."""
# an arbitrary number: the advisory lock for creating tables in PostgreSQL
_CREATION_LOCK = 0x4865786C
_ROWS = sa.select(*(ENTRIES.c[name] for name in COLUMNS)).order_by(ENTRIES.c.number)


@dataclass(frozen=True)
class Head:
    """The number of entries, the last one's hash, and the key's signature of both."""

    entries: int
    hash: str
    signature: str


@dataclass(frozen=True)
class Snapshot:
    """All rows at one moment, ordered by number; `head` is None if its row is missing."""

    entries: tuple[Entry, ...]
    head: Head | None


@dataclass(frozen=True)
class Writing:
    """A transaction with exclusive access to the ledger: its rows, and the allowed writes."""

    snapshot: Snapshot
    _connection: sa.Connection

    def append(self, entry: Entry, head: Head) -> None:
        """Add one row to the chain and sign it."""
        self._connection.execute(ENTRIES.insert().values(**asdict(entry)))
        self._connection.execute(sa.update(HEAD).values(**asdict(head)))

    def records(self) -> dict[str, bytes]:
        """Return the stored record hashes of every registered dataset."""
        return _records(self._connection)

    def keep_records(self, dataset: str, hashes: bytes) -> None:
        """Store a dataset's record hashes, once for each dataset."""
        self._connection.execute(RECORDS.insert().values(dataset=dataset, hashes=hashes))

    def keep_request(self, request: str, entry: int) -> None:
        """Store the entry that charged a request; the database refuses the same request twice."""
        self._connection.execute(REQUESTS.insert().values(request=request, entry=entry))


class Store:
    """A SQLite file or a PostgreSQL database. Every method is one transaction on a new connection.
    Methods raise LedgerBusy after WAIT_SECONDS of waiting for another writer, and LedgerError for
    other errors of the database. `url` comes from `places.ledger_url`."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.sqlite = url.get_backend_name() == "sqlite"
        wait = {"timeout": WAIT_SECONDS} if self.sqlite else {"connect_timeout": 10}
        # A connection per transaction, so that threads and forked processes share no connection.
        self._engine: Engine = sa.create_engine(url, poolclass=NullPool, connect_args=wait)
        if self.sqlite:
            sa.event.listen(self._engine, "connect", _prepare_sqlite)

    @property
    def shown(self) -> str:
        """The address for a person: a file name, or a URL without its password."""
        return self.url.database or "" if self.sqlite else self.url.render_as_string(hide_password=True)

    @property
    def folder(self) -> Path | None:
        """The folder of a SQLite file; None for a server."""
        return Path(self.url.database or "").parent if self.sqlite else None

    def check_room(self) -> None:
        """Raise LedgerError if the disk of a SQLite ledger has no room for the rows of a
        release."""
        if self.folder is not None and shutil.disk_usage(self.folder).free < LEAST_ROOM:
            raise LedgerError(
                f"The disk of the ledger {self.shown} is nearly full: nothing was charged. Make room."
            )

    def is_new(self) -> bool:
        """Whether no ledger was begun here."""
        if self.sqlite and not Path(self.url.database or "").exists():
            return True
        with self._plain_errors(), self._engine.connect() as connection:
            if not sa.inspect(connection).has_table(ENTRIES.name):
                return True
            return connection.execute(sa.select(HEAD.c.id).limit(1)).first() is None and (
                connection.execute(sa.select(ENTRIES.c.number).limit(1)).first() is None
            )

    def create(self, first: Callable[[], tuple[Entry, Head]]) -> bool:
        """Create the tables and append the first entry, once; return False if another process was
        faster. Call `first` inside the lock, only if there is no entry yet; its exceptions roll
        everything back."""
        if self.sqlite:
            _private_file(Path(self.url.database or ""))
        with self._plain_errors(), self._engine.connect() as connection:
            if self.sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
            if not sa.inspect(connection).has_table(ENTRIES.name):
                METADATA.create_all(connection)
                postgres = (*POSTGRES_FUNCTIONS, *POSTGRES_TRIGGERS.values())
                for statement in SQLITE_TRIGGERS.values() if self.sqlite else postgres:
                    connection.exec_driver_sql(statement)
            if _read(connection).entries:
                return False
            entry, head = first()
            connection.execute(ENTRIES.insert().values(**asdict(entry)))
            connection.execute(HEAD.insert().values(id=1, **asdict(head)))
            connection.commit()
            return True

    def first(self) -> Entry | None:
        """Return the first row, damaged or not, or None."""
        with self._plain_errors(), self._engine.connect() as connection:
            row = connection.execute(_ROWS.limit(1)).first()
            return None if row is None else Entry(*row)

    def read(self) -> Snapshot:
        """Return every row, damaged or not."""
        with self._plain_errors(), self._engine.connect() as connection:
            connection.exec_driver_sql(
                "BEGIN" if self.sqlite else "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
            )
            return _read(connection)

    def records(self) -> dict[str, bytes]:
        """Return the stored record hashes of every registered dataset."""
        with self._plain_errors(), self._engine.connect() as connection:
            return _records(connection)

    def requests(self) -> dict[str, int]:
        """Return the entry that charged each request."""
        with self._plain_errors(), self._engine.connect() as connection:
            rows = connection.execute(sa.select(REQUESTS.c.request, REQUESTS.c.entry))
            return {row[0]: row[1] for row in rows}

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """Lock the ledger, yield its rows with the allowed writes, and commit at the end. In
        SQLite, BEGIN IMMEDIATE takes the write lock before reading. In PostgreSQL, the head's row
        is locked first, so the rows read afterwards are the latest. After an exception nothing is
        appended."""
        with self._plain_errors(), self._engine.connect() as connection:
            if self.sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                # A stricter default of the server would turn waiting for the head into an error.
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
                connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                connection.execute(sa.select(HEAD.c.id).with_for_update())

            yield Writing(_read(connection), connection)
            connection.commit()

    def missing_triggers(self) -> tuple[str, ...]:
        """Return the names of the append-only triggers that are missing, changed or switched
        off."""
        with self._plain_errors(), self._engine.connect() as connection:
            if self.sqlite:
                rows = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
                texts = {row[0] for row in rows}
                return tuple(name for name, text in SQLITE_TRIGGERS.items() if text not in texts)
            tables = ", ".join(f"to_regclass('{table.name}')" for table in METADATA.tables.values())
            rows = connection.exec_driver_sql(
                f"SELECT tgname FROM pg_trigger WHERE tgenabled IN ('O', 'A') AND tgrelid IN ({tables})"
            )
            names = {row[0] for row in rows}
            return tuple(name for name in POSTGRES_TRIGGERS if name not in names)

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            reason = (str(error.orig).strip().splitlines() or ["no reason given"])[0]
            locked = getattr(error.orig, "sqlstate", "") == "55P03" or "database is locked" in reason
            if locked:
                raise LedgerBusy(
                    f"Another release has held the ledger {self.shown} for {WAIT_SECONDS} seconds: try again "
                    "when it has finished."
                ) from error
            if "not a database" in reason:
                reason = (
                    "the file is not a database; name the ledger's own file, or restore that from its backup "
                    "if it was written over"
                )
            raise LedgerError(f"The ledger {self.shown} cannot be used: {reason}.") from error
        except UnicodeDecodeError as error:  # sqlite3 quotes the damaged text in its own message
            raise LedgerError(f"The ledger {self.shown} cannot be used: its tables are damaged.") from error


def _read(connection: sa.Connection) -> Snapshot:
    entries = tuple(Entry(*row) for row in connection.execute(_ROWS))
    head = connection.execute(sa.select(HEAD.c.entries, HEAD.c.hash, HEAD.c.signature)).first()
    return Snapshot(entries, None if head is None else Head(*head))


def _records(connection: sa.Connection) -> dict[str, bytes]:
    rows = connection.execute(sa.select(RECORDS.c.dataset, RECORDS.c.hashes))
    return {row[0]: bytes(row[1]) if isinstance(row[1], bytes | memoryview) else b"" for row in rows}


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # this module begins transactions, not sqlite3
    # Read a damaged text to report it: undecodable bytes survive, and the hash then differs.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA synchronous = EXTRA")  # a commit survives a power cut


def _private_file(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise LedgerError(f"The ledger {path} cannot be created: {error.strerror or error}.") from None

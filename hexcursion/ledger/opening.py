"""Opens a ledger or begins one; for planning, makes an empty one without a file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpgp_core.accounting.rdp import ORDERS as GRID
from hexcursion.ledger import chain, places
from hexcursion.ledger.account import encode
from hexcursion.ledger.book import check_version
from hexcursion.ledger.entry import SCHEMA_VERSION, Draft, Entry
from hexcursion.ledger.errors import LedgerDamaged, LedgerError, NoLedger
from hexcursion.ledger.ledger import Ledger
from hexcursion.ledger.store import Head, Snapshot, Store, Writing


def open_ledger(
    place: str | Path | None = None, key_path: str | Path | None = None, *, create: bool = True
) -> Ledger:
    """Open a ledger, or begin a new one. Every use compares the ledger with this
    machine's witness and with the seals of the releases near it: in `releases` in the folder of the
    SQLite file, in the home directory and in $HEXCURSION_BUNDLES. Default `place`:
    $HEXCURSION_LEDGER, else `ledger.sqlite` in $HEXCURSION_HOME, else in ./.hexcursion; default
    key: in the folder of the SQLite file, or `<database>.key` in the home directory. Raise
    `NoLedger` if there is no ledger and `create` is False, `LedgerError` for a missing, foreign or
    open key, and for a database that lost its entries."""
    store = Store(places.ledger_url(place))
    path = places.default_key_path(store.url) if key_path is None else Path(key_path)
    # Read before the database: every entry remembered by now was written to the database before.
    remembered = _remembered(places.read_key(path), store) if os.path.exists(path) else ""
    if store.is_new():
        if remembered:
            raise _lost(store, remembered)
        if not create:
            raise NoLedger(f"There is no ledger at {store.shown}: the first release begins one.")
        if not os.path.exists(path):
            places.create_key(path)
        key = places.read_key(path)
        store.create(lambda: _genesis(key, store))
    key = places.read_key(path)
    _check_identity(store, key)
    if not chain.witness_path(key).exists():
        _begin_witness(store, key)
    places.mark_used(key)
    return Ledger(store, key, chain.seals_beside(_release_folders(store), key))


def _remembered(key: places.LedgerKey, store: Store) -> str:
    """Describe the ledger that was begun with this key; "" for a key that was never used."""
    try:
        witness = chain.read_witness(key)
    except LedgerDamaged as error:
        return f"a chain ({error})"
    seals = chain.seals_beside(_release_folders(store), key)
    entries = max([witness.entries if witness is not None else 0, *(seal.number + 1 for seal in seals)])
    if entries:
        return f"{entries} entries"
    return "that one was begun" if key.used else ""


def _release_folders(store: Store) -> tuple[Path, ...]:
    folders = [places.home() / "releases", places.bundles_folder()]
    if store.sqlite and store.url.database:
        folders.append(Path(store.url.database).parent / "releases")
    return tuple(folders)


def _lost(store: Store, remembered: str) -> LedgerError:
    return LedgerError(
        f"The ledger's database at {store.shown} is empty or gone, but its key remembers {remembered}: "
        "restore the database from its backup, or use another key for a new ledger."
    )


def first_entry(key: places.LedgerKey) -> Entry:
    """Return the first entry of a new ledger."""
    facts = {"schema": SCHEMA_VERSION, "ledger": secrets.token_hex(8), "key": key.identity}
    return Draft("genesis", facts, curve=encode(GRID)).after(None)


def _genesis(key: places.LedgerKey, store: Store) -> tuple[Entry, Head]:
    remembered = _remembered(key, store)
    if remembered:
        raise _lost(store, remembered)
    entry = first_entry(key)
    return entry, chain.sign_head(key, entry)


def _check_identity(store: Store, key: places.LedgerKey) -> None:
    """Refuse a wrong key; leave a damaged first entry to `verify`."""
    first = store.first()
    if first is None or first.kind != "genesis" or first.hash != first.expected_hash():
        return
    check_version(first.facts["schema"])
    if first.facts["key"] != key.identity:
        raise LedgerError(f"The key {key.path} belongs to another ledger: name the right one.")


def _begin_witness(store: Store, key: places.LedgerKey) -> None:
    """Store the witness of a ledger that is new, or new to this machine, if its chain verifies."""
    snapshot = store.read()
    if not chain.check_chain(snapshot, key, None):
        last = snapshot.entries[-1]
        chain.advance_witness(key, chain.Witness(last.number + 1, last.hash))


class Unbegun(Store):
    """A SQLite ledger that is not begun yet: it reads as a new ledger and cannot be written.

    If another process begins the ledger with the same key, this store reads that ledger's entries,
    since the machine's witness records their first one and not the one in memory here.
    """

    def begin_with(self, key: places.LedgerKey) -> None:
        """Add a first entry in memory."""
        entry = first_entry(key)
        self._snapshot = Snapshot((entry,), chain.sign_head(key, entry))
        self._key = key

    def read(self) -> Snapshot:
        """Return only the first entry, until the ledger is begun with this key."""
        return super().read() if self._begun() else self._snapshot

    def records(self) -> dict[str, bytes]:
        """Return no records, until the ledger is begun with this key."""
        return super().records() if self._begun() else {}

    def _begun(self) -> bool:
        """Whether the file now holds the ledger of this key."""
        path = self._key.path
        return not self.is_new() and path.exists() and places.read_key(path).secret == self._key.secret

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """Always raise LedgerError: a charge needs `begin` first."""
        raise LedgerError(f"The ledger {self.shown} is not begun: open it before anything is charged.")
        yield


# The secret, by key file, of a ledger begun by this process. A screen plans again with every click,
# and records are hashed with this secret; a new secret would require hashing them again.
_SECRETS: dict[Path, bytes] = {}


def ledger_to_plan(place: str | Path | None = None) -> Ledger:
    """Open a ledger as `open_ledger` does, or make an empty one without a file. A plan previews the
    lines and the cost of a release with it; call `begin` before a charge. Open, or begin, a
    database on a server as usual. Raise `LedgerError` as `open_ledger`, and if a ledger could not
    be begun."""
    store = Unbegun(places.ledger_url(place))
    if not store.sqlite:
        return open_ledger(place)
    try:
        return open_ledger(place, create=False)
    except NoLedger:
        pass
    path = Path(store.shown)
    nearest = next(parent for parent in path.parents if os.path.exists(parent))
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
        raise LedgerError(f"The ledger {path} cannot be created: nothing can be written in {nearest}.")
    key_path = places.default_key_path(store.url)
    new = places.LedgerKey(key_path, _SECRETS.setdefault(key_path, secrets.token_bytes(places.KEY_BYTES)))
    key = places.read_key(key_path) if key_path.exists() else new
    store.begin_with(key)
    return Ledger(store, key)


def begin(ledger: Ledger) -> Ledger:
    """Return the ledger; begin one from `ledger_to_plan` without a file, with its key. If another
    process has begun the ledger in the meantime, its identity differs, and the release must be
    planned again. Raise `LedgerError` as `open_ledger`."""
    store = ledger._store
    if not isinstance(store, Unbegun):
        return ledger
    places.create_key(ledger._key.path, ledger._key.secret)
    _SECRETS.pop(ledger._key.path, None)  # a later ledger at this path needs a new secret
    return open_ledger(Path(store.shown))

"""Opening a ledger, or beginning one; to plan with, an empty one that leaves no file behind."""

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
    """Open a ledger, beginning a new one if there is none. What is there is compared, with every use, with
    this machine's witness and with the seals of the releases beside the ledger: in `releases` beside the
    SQLite file, in the home directory and in $HEXCURSION_BUNDLES. Default `place`: $HEXCURSION_LEDGER, else
    `ledger.sqlite` in $HEXCURSION_HOME, else in ./.hexcursion; default key: beside the SQLite file, or
    `<database>.key` in the home directory. Raise `NoLedger` where none is and none may be made, `LedgerError`
    for a missing, foreign or open key, and for a database that lost its entries."""
    store = Store(places.ledger_url(place))
    path = places.default_key_path(store.url) if key_path is None else Path(key_path)
    # Asked before the database is: what is remembered by now was written to it before.
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
    """What this key knows of a ledger that was begun with it; "" for a key that was never used."""
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
    """The first entry of a new ledger."""
    facts = {"schema": SCHEMA_VERSION, "ledger": secrets.token_hex(8), "key": key.identity}
    return Draft("genesis", facts, curve=encode(GRID)).after(None)


def _genesis(key: places.LedgerKey, store: Store) -> tuple[Entry, Head]:
    remembered = _remembered(key, store)
    if remembered:
        raise _lost(store, remembered)
    entry = first_entry(key)
    return entry, chain.sign_head(key, entry)


def _check_identity(store: Store, key: places.LedgerKey) -> None:
    """Refuse a wrong key; a damaged first entry is left for `verify` to name."""
    first = store.first()
    if first is None or first.kind != "genesis" or first.hash != first.expected_hash():
        return
    check_version(first.facts["schema"])
    if first.facts["key"] != key.identity:
        raise LedgerError(f"The key {key.path} belongs to another ledger: name the right one.")


def _begin_witness(store: Store, key: places.LedgerKey) -> None:
    """A new ledger, or a machine that sees this one for the first time: remember it as it is, if it holds."""
    snapshot = store.read()
    if not chain.check_chain(snapshot, key, None):
        last = snapshot.entries[-1]
        chain.advance_witness(key, chain.Witness(last.number + 1, last.hash))


class Unbegun(Store):
    """What would be read of a SQLite ledger that was just begun; nothing is written, and nothing can be.

    If another process begins the ledger with the same key, this one reads that ledger's entries: the
    machine's witness remembers the first of them, not the one that is in memory here.
    """

    def begin_with(self, key: places.LedgerKey) -> None:
        """Take a first entry in, in memory."""
        entry = first_entry(key)
        self._snapshot = Snapshot((entry,), chain.sign_head(key, entry))
        self._key = key

    def read(self) -> Snapshot:
        """The first entry alone, until the ledger is begun with this key."""
        return super().read() if self._begun() else self._snapshot

    def records(self) -> dict[str, bytes]:
        """None, until the ledger is begun with this key."""
        return super().records() if self._begun() else {}

    def _begun(self) -> bool:
        """Whether this very ledger stands in its file by now."""
        path = self._key.path
        return not self.is_new() and path.exists() and places.read_key(path).secret == self._key.secret

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """Raise LedgerError always: nothing is charged before `begin`."""
        raise LedgerError(f"The ledger {self.shown} is not begun: open it before anything is charged.")
        yield


# By key file: what a ledger begun by this process gets. A screen plans again with every click, and records
# are hashed with this secret: with another one each time they would be hashed each time.
_SECRETS: dict[Path, bytes] = {}


def ledger_to_plan(place: str | Path | None = None) -> Ledger:
    """Open a ledger as `open_ledger` does, else an empty one that leaves no file behind. A plan asks it what
    a release would say and cost; before a charge comes `begin`. A database on a server is opened, and begun,
    as always. Raise `LedgerError` as `open_ledger`; also where a ledger could not be begun."""
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
    kept = places.default_key_path(store.url)
    new = places.LedgerKey(kept, _SECRETS.setdefault(kept, secrets.token_bytes(places.KEY_BYTES)))
    key = places.read_key(kept) if kept.exists() else new
    store.begin_with(key)
    return Ledger(store, key)


def begin(ledger: Ledger) -> Ledger:
    """The ledger itself; one from `ledger_to_plan` that stands in no file is begun, with the key it has.
    Where another process has begun it in the meantime, that ledger's identity is another, and whatever was
    planned is to be planned again. Raise `LedgerError` as `open_ledger`."""
    store = ledger._store
    if not isinstance(store, Unbegun):
        return ledger
    places.create_key(ledger._key.path, ledger._key.secret)
    _SECRETS.pop(ledger._key.path, None)  # a further ledger in its place has another
    return open_ledger(Path(store.shown))

"""Opening a ledger: the right database, the right key, and a first entry where there is none."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from dpgp_core.accounting.orders import ORDERS as GRID
from hexcursion.ledger.accounts.book import check_version
from hexcursion.ledger.accounts.charge import encode
from hexcursion.ledger.chain import check_chain, sign_head
from hexcursion.ledger.errors import LedgerDamaged, LedgerError, NoLedger
from hexcursion.ledger.ledger import Ledger
from hexcursion.ledger.signing.key import LedgerKey, create_key, mark_used, read_key
from hexcursion.ledger.signing.seals import seals_beside
from hexcursion.ledger.signing.witness import Witness, advance_witness, read_witness, witness_path
from hexcursion.ledger.storage.entry import GENESIS, SCHEMA_VERSION, Draft, Entry
from hexcursion.ledger.storage.places import bundles_folder, default_key_path, home, ledger_url
from hexcursion.ledger.storage.store import Head, Store


def open_ledger(
    place: str | Path | None = None, key_path: str | Path | None = None, *, create: bool = True
) -> Ledger:
    """Open a ledger, beginning a new one if there is none. What is there is compared, with every use, with
    this machine's witness and with the seals of the releases beside the ledger: in `releases` beside the
    SQLite file, in the home directory and in $HEXCURSION_BUNDLES. Default `place`: $HEXCURSION_LEDGER, else
    `ledger.sqlite` in $HEXCURSION_HOME, else in ./.hexcursion; default key: beside the SQLite file, or
    `<database>.key` in the home directory. Raise `NoLedger` where none is and none may be made, `LedgerError`
    for a missing, foreign or open key, and for a database that lost its entries."""
    store = Store(ledger_url(place))
    path = default_key_path(store.url) if key_path is None else Path(key_path)
    # Asked before the database is: what is remembered by now was written to it before.
    remembered = _remembered(read_key(path), store) if os.path.exists(path) else ""
    if store.is_new():
        if remembered:
            raise _lost(store, remembered)
        if not create:
            raise NoLedger(f"There is no ledger at {store.shown}: the first release begins one.")
        if not os.path.exists(path):
            create_key(path)
        key = read_key(path)
        store.create(lambda: _genesis(key, store))
    key = read_key(path)
    _check_identity(store, key)
    if not witness_path(key).exists():
        _begin_witness(store, key)
    mark_used(key)
    return Ledger(store, key, seals_beside(_release_folders(store), key))


def _remembered(key: LedgerKey, store: Store) -> str:
    """What this key knows of a ledger that was begun with it; "" for a key that was never used."""
    try:
        witness = read_witness(key)
    except LedgerDamaged as error:
        return f"a chain ({error})"
    seals = seals_beside(_release_folders(store), key)
    entries = max([witness.entries if witness is not None else 0, *(seal.number + 1 for seal in seals)])
    if entries:
        return f"{entries} entries"
    return "that one was begun" if key.used else ""


def _release_folders(store: Store) -> tuple[Path, ...]:
    folders = [home() / "releases", bundles_folder()]
    if store.sqlite and store.url.database:
        folders.append(Path(store.url.database).parent / "releases")
    return tuple(folders)


def _lost(store: Store, remembered: str) -> LedgerError:
    return LedgerError(
        f"The ledger's database at {store.shown} is empty or gone, but its key remembers {remembered}: "
        "restore the database from its backup, or use another key for a new ledger."
    )


def first_entry(key: LedgerKey) -> Entry:
    """The first entry of a new ledger."""
    facts = {"schema": SCHEMA_VERSION, "ledger": secrets.token_hex(8), "key": key.identity}
    return Draft(GENESIS, facts, curve=encode(GRID)).after(None)


def _genesis(key: LedgerKey, store: Store) -> tuple[Entry, Head]:
    remembered = _remembered(key, store)
    if remembered:
        raise _lost(store, remembered)
    entry = first_entry(key)
    return entry, sign_head(key, entry)


def _check_identity(store: Store, key: LedgerKey) -> None:
    """Refuse a wrong key; a damaged first entry is left for `verify` to name."""
    first = store.first()
    if first is None or first.kind != GENESIS or first.hash != first.expected_hash():
        return
    check_version(first.facts["schema"])
    if first.facts["key"] != key.identity:
        raise LedgerError(f"The key {key.path} belongs to another ledger: name the right one.")


def _begin_witness(store: Store, key: LedgerKey) -> None:
    """A new ledger, or a machine that sees this one for the first time: remember it as it is, if it holds."""
    snapshot = store.read()
    if not check_chain(snapshot, key, None):
        last = snapshot.entries[-1]
        advance_witness(key, Witness(last.number + 1, last.hash))

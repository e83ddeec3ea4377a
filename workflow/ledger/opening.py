"""Opening a ledger: the right database, the right key, and a first entry where there is none."""

from __future__ import annotations

import secrets
from pathlib import Path

from dpgp_core.orders import ORDERS as GRID
from workflow.ledger.chain import check_chain, sign_head
from workflow.ledger.charge import encode
from workflow.ledger.entry import GENESIS, SCHEMA_VERSION, Draft, Entry
from workflow.ledger.errors import LedgerError, NoLedger
from workflow.ledger.key import LedgerKey, create_key, read_key
from workflow.ledger.ledger import Ledger
from workflow.ledger.places import default_key_path, ledger_url
from workflow.ledger.store import Head, Store
from workflow.ledger.witness import Witness, advance_witness, read_witness, witness_path


def open_ledger(
    place: str | Path | None = None, key_path: str | Path | None = None, *, create: bool = True
) -> Ledger:
    """Open a ledger, beginning a new one if there is none.

    place     SQLite file or database URL; default $HEXCURSION_LEDGER, else `ledger.sqlite` in
              $HEXCURSION_HOME, else in ./.hexcursion
    key_path  the curator's key; default beside the SQLite file, or `<database>.key` in the home directory
    create    False: a ledger that does not exist is an error

    Raises NoLedger under create=False; LedgerError for a missing, foreign or open key and for a database
    that lost its entries.
    """
    store = Store(ledger_url(place))
    path = default_key_path(store.url) if key_path is None else Path(key_path)
    if store.is_new():
        if not create:
            raise NoLedger(f"There is no ledger at {store.shown}: the first release begins one.")
        if not path.exists():
            create_key(path)
        key = read_key(path)
        store.create(lambda: _genesis(key))
    key = read_key(path)
    _check_identity(store, key)
    if not witness_path(key).exists():
        _begin_witness(store, key)
    return Ledger(store, key)


def _genesis(key: LedgerKey) -> tuple[Entry, Head]:
    witness = read_witness(key)
    if witness is not None:
        raise LedgerError(
            f"The ledger's database is empty, but its key remembers {witness.entries} entries: restore the "
            "database from its backup, or use another key for a new ledger."
        )
    facts = {"schema": SCHEMA_VERSION, "ledger": secrets.token_hex(8), "key": key.identity}
    entry = Draft(GENESIS, facts, curve=encode(GRID)).after(None)
    return entry, sign_head(key, entry)


def _check_identity(store: Store, key: LedgerKey) -> None:
    """Refuse a wrong key; a damaged first entry is left for `verify` to name."""
    first = store.first()
    if first is None or first.kind != GENESIS or first.hash != first.expected_hash():
        return
    if first.facts["schema"] > SCHEMA_VERSION:
        raise LedgerError("This ledger was written by a newer Hexcursion: open it with that version.")
    if first.facts["key"] != key.identity:
        raise LedgerError(f"The key {key.path} belongs to another ledger: name the right one.")


def _begin_witness(store: Store, key: LedgerKey) -> None:
    """A new ledger, or a machine that sees this one for the first time: remember it as it is, if it holds."""
    snapshot = store.read()
    if not check_chain(snapshot, key, None):
        last = snapshot.entries[-1]
        advance_witness(key, Witness(last.number + 1, last.hash))

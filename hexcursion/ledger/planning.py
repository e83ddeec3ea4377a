"""The ledger that a plan asks: the one that is there, or an empty one that stands in no file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hexcursion.ledger.chain import sign_head
from hexcursion.ledger.errors import LedgerError, NoLedger
from hexcursion.ledger.ledger import Ledger
from hexcursion.ledger.opening import first_entry, open_ledger
from hexcursion.ledger.signing.key import KEY_BYTES, LedgerKey, create_key, read_key
from hexcursion.ledger.storage.places import default_key_path, ledger_url
from hexcursion.ledger.storage.store import Snapshot, Store, Writing


class Unbegun(Store):
    """What would be read of a SQLite ledger that was just begun; nothing is written, and nothing can be.
    Where another process begins it meanwhile with the same key, what stands there is read: this machine's
    witness remembers that process's first entry, not the one that is in memory here."""

    def begin_with(self, key: LedgerKey, *, kept: bool) -> None:
        """Take a first entry in, in memory; `kept` is whether the key stands in its file."""
        entry = first_entry(key)
        self._snapshot = Snapshot((entry,), sign_head(key, entry))
        self._kept = kept

    def stands(self) -> None:
        """The key stands in its file from now on."""
        self._kept = True

    def read(self) -> Snapshot:
        """The first entry alone, until the ledger is begun with this key."""
        return super().read() if self._begun() else self._snapshot

    def records(self) -> dict[str, bytes]:
        """None, until the ledger is begun with this key."""
        return super().records() if self._begun() else {}

    def _begun(self) -> bool:
        """Whether this very ledger stands in its file by now."""
        return self._kept and not self.is_new()

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """Raise LedgerError always: nothing is charged before `begin`."""
        raise LedgerError(f"The ledger {self.shown} is not begun: open it before anything is charged.")
        yield


def ledger_to_plan(place: str | Path | None = None) -> Ledger:
    """Open a ledger as `open_ledger` does, else an empty one that leaves no file behind. A plan asks it what
    a release would say and cost; before a charge comes `begin`. A database on a server is opened, and begun,
    as always. Raise `LedgerError` as `open_ledger`; also where a ledger could not be begun."""
    store = Unbegun(ledger_url(place))
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
    kept = default_key_path(store.url)
    stands = kept.exists()
    key = read_key(kept) if stands else LedgerKey(kept, secrets.token_bytes(KEY_BYTES))
    store.begin_with(key, kept=stands)
    return Ledger(store, key)


def begin(ledger: Ledger) -> Ledger:
    """The ledger itself; one from `ledger_to_plan` that stands in no file is begun, with the key it has.
    Where another process has begun it in the meantime, that ledger's identity is another, and whatever was
    planned is to be planned again. Raise `LedgerError` as `open_ledger`."""
    store = ledger._store
    if not isinstance(store, Unbegun):
        return ledger
    create_key(ledger._key.path, ledger._key.secret)
    begun = open_ledger(Path(store.shown))
    if begun.identity == ledger.identity:
        store.stands()  # whoever still holds the one that was planned with reads this one from now on
    return begun

"""The witness: a small signed file, away from the ledger, that remembers how far the chain had come."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hexcursion.ledger.errors import LedgerDamaged, LedgerError
from hexcursion.ledger.signing.key import LedgerKey, private_directory
from hexcursion.ledger.storage.places import witness_folder
from hexcursion.new_place import sync_folder


@dataclass(frozen=True)
class Witness:
    """`entries` rows were seen on this machine, the last one with hash `hash`."""

    entries: int
    hash: str

    def signed_bytes(self) -> bytes:
        """What the signature covers."""
        return json.dumps(asdict(self), sort_keys=True).encode()


def witness_path(key: LedgerKey) -> Path:
    """The witness of a key: one key, one ledger, one witness, however often the key's file was copied."""
    return witness_folder() / f"{key.identity[:16]}.head"


def read_witness(key: LedgerKey) -> Witness | None:
    """The witness, or None where there is none yet. Raise `LedgerDamaged` if its signature does not hold,
    `LedgerError` if its file cannot be read."""
    return _read(witness_path(key), key)


def advance_witness(key: LedgerKey, witness: Witness) -> None:
    """Remember a longer chain; a shorter one than remembered is left alone. Called after the database has
    committed, never before: a crash in between leaves a witness that is one entry behind, which is harmless,
    where one that is ahead would look like a deleted entry. Raise `LedgerError` if it cannot be kept;
    LedgerDamaged if the one that is there was changed."""
    path = witness_path(key)
    with _locked(path):
        known = _read(path, key)
        if known is not None and known.entries >= witness.entries:
            return
        signature = key.mac("witness", witness.signed_bytes())
        draft = path.with_name(f".{path.name}.draft")  # one writer at a time, so one name is enough
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump({**asdict(witness), "signature": signature}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)


def _read(path: Path, key: LedgerKey) -> Witness | None:
    try:
        data = json.loads(path.read_bytes())
        signature = data.pop("signature")
        witness = Witness(**data)
        valid = key.matches("witness", witness.signed_bytes(), signature)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(
            f"The witness {path} cannot be read ({error.strerror or error}): restore it, or name another "
            "folder by HEXCURSION_WITNESS."
        ) from None
    except (ValueError, TypeError, AttributeError, KeyError):
        valid = False
    if not valid:
        raise LedgerDamaged(
            f"The witness {path} was changed by another hand: find out by whom, and restore it."
        )
    return witness


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        private_directory(path.parent)
        file = os.fdopen(os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600), "rb")
    except OSError as error:
        raise LedgerError(
            f"The witness cannot be kept in {path.parent} ({error.strerror or error}): name another folder "
            "by HEXCURSION_WITNESS."
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, whatever happens
        yield

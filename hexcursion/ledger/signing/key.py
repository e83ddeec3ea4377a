"""The curator's key: a secret file outside the database that names datasets and signs the ledger's head."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from hexcursion.ledger.errors import LedgerError
from hexcursion.new_place import private_file

KEY_BYTES = 32
MOST_LETTERS = 10_000  # of a key's file: a line of 64, and a remark
_USED = "\n# A ledger was begun with this key.\n"  # on a line of its own, whatever stands before


@dataclass(frozen=True)
class LedgerKey:
    """The curator's secret."""

    path: Path  # the file it came from
    secret: bytes = field(repr=False)  # 32 bytes, never printed
    used: bool = False  # whether a ledger was begun with it

    def mac(self, purpose: str, message: bytes) -> str:
        """HMAC-SHA256 in hex, separated by purpose so that no signature can pass for another."""
        return hmac.new(self.secret, purpose.encode() + b"\x00" + message, hashlib.sha256).hexdigest()

    def matches(self, purpose: str, message: bytes, mac: object, digits: int = 64) -> bool:
        """Whether `mac` is this key's signature, or its first `digits`; any other object is not."""
        if not isinstance(mac, str):
            return False
        right = self.mac(purpose, message)[:digits]
        return hmac.compare_digest(right.encode(), mac.encode("utf-8", "replace"))

    @property
    def identity(self) -> str:
        """A public name of the key that reveals nothing of it: tells the right key from a wrong one."""
        return self.mac("identity", b"")

    def fingerprint(self, *columns: ArrayLike) -> str:
        """Keyed hash of a dataset, 64 hex digits: the same records in any order give the same name, one
        changed record another (and another budget, which is the curator's to prevent). Without the key it
        tells nothing about the records, not even by guessing them. `columns`: (n,) numbers each, x, y and
        value as loaded, before any choice of domain, resolution or clip, so that such choices cannot make a
        new dataset of an old one. Raise `LedgerError` if there are no records."""
        table = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
        if table.size == 0:
            raise LedgerError("There are no records to take the fingerprint of: load data first.")
        table = np.where(np.isnan(table), np.nan, table + 0.0)  # one NaN, and no negative zero
        table = table[np.lexsort(table.T[::-1])]
        shape = f"{table.shape[0]}x{table.shape[1]}:".encode()
        return self.mac("dataset", shape + table.astype(">f8").tobytes())


def create_key(path: Path, secret: bytes | None = None) -> None:
    """Write a key of 32 bytes, new ones from the operating system unless given, readable by its owner only;
    one that is there is left alone. Raise `LedgerError` if it cannot be written."""
    private_directory(path.parent)
    try:
        with suppress(FileExistsError):  # another process's key
            private_file(path, ((secret or secrets.token_bytes(KEY_BYTES)).hex() + "\n").encode())
    except OSError as error:
        raise LedgerError(
            f"The ledger's key could not be written to {path}: {error.strerror or error}."
        ) from None


def read_key(path: Path) -> LedgerKey:
    """Read the key. Raise `LedgerError` if it is missing, cannot be read, is open to others, or is no key."""
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
    """Let the key's file remember that a ledger was begun, so that no other is begun in its place. The line
    is appended: nothing ever rewrites the secret. A file that may not be written (a mounted secret) keeps no
    such memory; the witness and the seals of the releases still do."""
    if key.used:
        return
    with suppress(OSError), key.path.open("a", encoding="ascii") as file:
        file.write(_USED)
        file.flush()
        os.fsync(file.fileno())


def private_directory(directory: Path) -> None:
    """Make a folder that only its owner can look into, where there is none yet. Raise `LedgerError` if it
    cannot be made."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LedgerError(
            f"The directory {directory} cannot be created: {error.strerror or error}."
        ) from None

"""The office's signing key: a file that a password encrypts, and the signing of a written bundle with it."""

from __future__ import annotations

import base64
import os
import stat
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from hexcursion.bundle import layout
from hexcursion.bundle.atlas.read import any_from_contents
from hexcursion.bundle.layout import contents_of, zip_bytes_to
from hexcursion.bundle.signature import signature_bytes, signature_of
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import WorkflowError
from hexcursion.new_place import private_file, sync_folder

KEY_VARIABLE = "HEXCURSION_SIGNING_KEY"
PASSWORD_VARIABLE = "HEXCURSION_SIGNING_PASSWORD"
LONGEST_PASSWORD = 1023  # bytes that OpenSSL takes
SHORTEST_PASSWORD = 16
"""Characters. The usual encryption of PKCS8 files slows a guess down little: the password must be long."""
_MOST_BYTES = 10_000


def new_key(path: Path, password: str) -> Ed25519PrivateKey:
    """Make a key and write it, encrypted, to a new file that only its owner can read. `path`: of the new
    file: PEM, PKCS8; `password`: of at least `SHORTEST_PASSWORD` characters. Raise `WorkflowError` for a
    short password, a file that exists, and one that cannot be written."""
    if len(password) < SHORTEST_PASSWORD:
        raise WorkflowError(
            f"The password of a signing key needs at least {SHORTEST_PASSWORD} characters: take a longer one."
        )
    key = Ed25519PrivateKey.generate()
    encryption = BestAvailableEncryption(_encoded(password))
    try:
        private_file(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    except FileExistsError:
        raise WorkflowError(f"{path} exists already: name a new file, no key is overwritten.") from None
    except OSError as error:
        raise WorkflowError(f"The signing key cannot be written to {path}: {error.strerror}.") from None
    return key


def open_key(path: Path, password: Callable[[], str]) -> Ed25519PrivateKey:
    """The key in a file. `path`: of the key's file; `password`: asked only where the file is there and closed
    to others. Raise `WorkflowError` if it is missing, open to other users, not encrypted, no Ed25519 key, or
    the password is wrong, naming the file without its folder: a browser shows the sentence."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_MOST_BYTES)
    except OSError as error:
        raise WorkflowError(
            f"The signing key {path.name} cannot be read ({error.strerror}): name its file, or make one with "
            "`key new`."
        ) from None
    if not stat.S_ISREG(mode):
        raise WorkflowError(f"{path.name} is no file: name the file of a signing key.")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise WorkflowError(
            f"The signing key {path.name} is open to other users: run `chmod 600` on its file."
        )
    if b"ENCRYPTED PRIVATE KEY" not in content:
        raise WorkflowError(f"{path.name} is not an encrypted signing key: make one with `key new`.")
    opening = _encoded(password())
    try:
        key = load_pem_private_key(content, opening)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise WorkflowError(
            f"The password does not open the signing key {path.name}: type it again."
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise WorkflowError(f"{path.name} is a key of another kind: make an Ed25519 key with `key new`.")
    return key


def _encoded(password: str) -> bytes:
    """A password as bytes; WorkflowError for one that no key can have."""
    try:
        encoded = password.encode()
    except UnicodeEncodeError:
        raise WorkflowError("The password holds characters that are no text: take another one.") from None
    if len(encoded) > LONGEST_PASSWORD:
        raise WorkflowError(f"The password is longer than {LONGEST_PASSWORD} bytes: take a shorter one.")
    return encoded


def public_line(key: Ed25519PrivateKey) -> str:
    """The public key in base64, as a list of signers holds it."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def sign_bundle(source: Path, key: Ed25519PrivateKey) -> tuple[Path, ...]:
    """Sign a bundle: its folder, its zip, or both where they are in one folder; a file is added, nothing
    changes. Return the paths signed now, not those that the same key had signed. Raise `BundleError` for a
    file that is no valid bundle, has another signature, is next to another bundle of its name, or cannot
    be written."""
    contents = contents_of(source)
    any_from_contents(contents)
    signature_file = signature_bytes(contents[layout.SUMS], key)
    new = signature_of({**contents, layout.SIGNATURE: signature_file})
    twin = source.with_name(f"{source.name}.zip") if source.is_dir() else source.with_suffix("")
    unsigned = []
    for path in (source, twin):
        if path is twin and not (path.is_file() or (path / layout.SUMS).is_file()):
            continue
        twin_contents = contents_of(path)
        if twin_contents[layout.SUMS] != contents[layout.SUMS]:
            raise BundleError(f"{path} lies beside {source} and is another bundle: move it away first.")
        old = signature_of(twin_contents)
        if old is not None and old != new:
            raise BundleError(
                f"{path} is signed with another key (fingerprint {old.fingerprint}): take "
                f"{layout.SIGNATURE} out of it before it is signed anew."
            )
        if old is None:
            unsigned.append((path, twin_contents))
    try:
        for path, twin_contents in unsigned:
            if path.is_dir():
                _put(path / layout.SIGNATURE, path.parent, signature_file)
                continue
            stream, times = BytesIO(), path.stat()
            with ZipFile(path) as archive:
                top = archive.namelist()[0].rpartition("/")[0] or path.stem
            zip_bytes_to(stream, top, {**twin_contents, layout.SIGNATURE: signature_file})
            _put(path, path.parent, stream.getvalue())
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # bundles are listed in order of these
    except OSError as error:
        raise BundleError(f"The signature cannot be written to {source} ({error.strerror}).") from error
    return tuple(path for path, _ in unsigned)


def _put(target: Path, work: Path, content: bytes) -> None:
    """Write a file whole or not at all, in place of the present one; drafts are in `work`."""
    handle, draft = tempfile.mkstemp(prefix=f".{target.name}.", dir=work)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(draft, 0o644)
        os.replace(draft, target)
        sync_folder(target.parent)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise

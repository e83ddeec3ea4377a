"""The signature of a bundle: Ed25519 over its checksums, and the words about its signer."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hexcursion.bundle import layout
from hexcursion.bundle.untrusted import BundleError, clean, strict_json
from hexcursion.errors import WorkflowError
from hexcursion.settings.model import read_toml

FORMAT = "hexcursion-signature-1"
PREFIX = b"hexcursion-signature-1\n"
"""Prefix of the signed bytes: a signature made for anything else never fits a bundle."""
SIGNERS_VARIABLE = "HEXCURSION_SIGNERS"
LONGEST_NAME = 80
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64
# The field of Ed25519, and d of its curve -x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032, 5.1)
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_WRONG = (
    f"The bundle's signature ({layout.SIGNATURE}) does not fit its files: they were changed after they were "
    "signed, or it was taken from another bundle. Get the bundle again from where it was published."
)


@dataclass(frozen=True)
class Signature:
    """A signature that was checked: whoever holds the private half of `key` signed these very
    checksums. It holds no name. A name with a key would be an unproved claim: whose
    key it is, the operator of a viewer says in a list of his own."""

    key: bytes  # Ed25519 public key, 32 bytes

    @property
    def fingerprint(self) -> str:
        """128 bits of the key's SHA-256, to compare by eye: groups of four hex digits."""
        return fingerprint(self.key)


@dataclass(frozen=True)
class Signers:
    """Whose keys the operator knows: his names for them by public key."""

    names: Mapping[bytes, str] = field(default_factory=dict)

    def knows(self, signature: Signature | None) -> bool:
        """Whether a bundle is signed with one of these keys."""
        return signature is not None and signature.key in self.names

    def says(self, signature: Signature | None) -> str:
        """One sentence on who signed a bundle; `None` is a bundle without a signature."""
        if signature is None:
            return "Not signed: nothing shows who published this bundle."
        if (name := self.names.get(signature.key)) is not None:
            return f"Signed by {name} (fingerprint {signature.fingerprint})."
        return (
            f"Signed with a key that this viewer does not know (fingerprint {signature.fingerprint}): that "
            "does not say by whom."
        )


def fingerprint(key: bytes) -> str:
    """128 bits of a public key's SHA-256, groups of four hex digits."""
    digits = hashlib.sha256(key).hexdigest()[:32]
    return " ".join(digits[start : start + 4] for start in range(0, 32, 4))


def signature_bytes(sums: bytes, key: Ed25519PrivateKey) -> bytes:
    """The file `SHA256SUMS.sig`: public key and signature of these checksums, as JSON."""
    content = {
        "format": FORMAT,
        "public_key": base64.b64encode(key.public_key().public_bytes_raw()).decode(),
        "signature": base64.b64encode(key.sign(PREFIX + sums)).decode(),
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def signature_of(contents: Mapping[str, bytes]) -> Signature | None:
    """The signature of a bundle's files, checked; None for an unsigned bundle. Whether the files have
    the checksums that are signed is checked by `layout.check_sums`. Raise `BundleError` for a file
    that is no signature, and for one that does not fit the checksums."""
    if layout.SIGNATURE not in contents:
        return None
    content = strict_json(contents[layout.SIGNATURE], layout.SIGNATURE)
    if (
        not isinstance(content, dict)
        or set(content) != {"format", "public_key", "signature"}
        or content["format"] != FORMAT
    ):
        raise BundleError(f"{layout.SIGNATURE} is not a signature of this program's.")
    key = _decoded(content["public_key"], _KEY_BYTES)
    signature = _decoded(content["signature"], _SIGNATURE_BYTES)
    if key is None or signature is None or not is_safe_key(key):
        raise BundleError(f"{layout.SIGNATURE} is not a signature of this program's.")
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, PREFIX + contents[layout.SUMS])
    except (InvalidSignature, ValueError) as error:
        raise BundleError(_WRONG) from error
    return Signature(key)


def read_signers(path: str | Path) -> Signers:
    """The operator's list: a TOML file with a line `"Name" = "public key in base64"` for each key.
    Raise `WorkflowError`, one sentence, for a file that cannot be read, and for an impossible name
    or key."""
    names: dict[bytes, str] = {}
    for name, text in read_toml(path, "list of signers").items():
        key, signer = _decoded(text, _KEY_BYTES), clean(name, LONGEST_NAME, "A signer's name")
        if not signer:
            raise WorkflowError("The list of signers has a key without a name: give it one.")
        if key is None:
            raise WorkflowError(
                f"The list of signers gives no public key for {signer!r}: write the one that `key public` "
                "prints."
            )
        if not is_safe_key(key):
            raise WorkflowError(
                f"The list of signers gives for {signer!r} a key that is no point of the curve, or one under "
                "which anybody can sign: write the one that `key public` prints."
            )
        if key in names:
            raise WorkflowError(f"The list of signers has one key twice: {names[key]!r} and {signer!r}.")
        names[key] = signer
    return Signers(names)


def is_safe_key(key: bytes) -> bool:
    """Whether 32 bytes are the one encoding of a point of the curve whose order is no divisor of 8.
    `cryptography` takes any 32 bytes for a public key, and of a point of order 1, 2, 4 or 8
    signatures are found without a private key. Twice a point has y = 0 exactly if x^2 + y^2 = 0, so
    of the points of order 8 d y^4 + 2 y^2 = 1."""
    number = int.from_bytes(key, "little")
    y, odd = number & (2**255 - 1), number >> 255
    if y >= _P:
        return False
    square = y * y % _P
    x_square = (square - 1) * pow(_D * square + 1, -1, _P) % _P
    if pow(x_square, (_P - 1) // 2, _P) == _P - 1 or (x_square == 0 and odd):
        return False
    return square not in (0, 1) and (_D * square * square + 2 * square - 1) % _P != 0


def operators_signers() -> Signers:
    """The list that `HEXCURSION_SIGNERS` names; an empty one without it. Raise `WorkflowError` as
    `read_signers`."""
    list_path = os.environ.get(SIGNERS_VARIABLE)
    return read_signers(list_path) if list_path else Signers()


def _decoded(text: object, size: int) -> bytes | None:
    """Base64 of exactly `size` bytes; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        decoded = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    return decoded if len(decoded) == size else None

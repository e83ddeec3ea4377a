"""The commands `key`, `sign` and `verify`: an office's key, its signature, and who signed a bundle."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hexcursion.bundle import read_bundle
from hexcursion.bundle.published.office_key import (
    PASSWORD_VARIABLE,
    SHORTEST_PASSWORD,
    new_key,
    open_key,
    public_line,
    sign_bundle,
)
from hexcursion.bundle.signature import (
    SIGNERS_VARIABLE,
    Signers,
    fingerprint,
    operators_signers,
    read_signers,
)
from hexcursion.errors import WorkflowError
from hexcursion.new_place import new_place


def add_signing_commands(commands: Any) -> None:
    """The three subcommands with their options."""
    text = "make the key with which an office signs what it publishes, or print its public half"
    key = commands.add_parser("key", help=text, description=text)
    kinds = key.add_subparsers(dest="kind", metavar="new|public", required=True)
    for kind, text in (("new", "make a key in a new file"), ("public", "print the public half of a key")):
        parser = kinds.add_parser(
            kind,
            help=text,
            description=f"{text}; the password is asked for, or read from {PASSWORD_VARIABLE}",
        )
        parser.add_argument("file", metavar="FILE", help="the key's file")
        parser.set_defaults(run=run_key)
    text = "sign a bundle: adds SHA256SUMS.sig to its folder and its zip, and changes nothing else"
    sign = commands.add_parser("sign", help=text, description=text)
    sign.add_argument("bundle", metavar="BUNDLE", help="folder or zip of a bundle")
    sign.add_argument("--key", metavar="FILE", required=True, help="the key's file, from `key new`")
    sign.set_defaults(run=run_sign)
    text = "check a bundle and say who signed it; status 0 only if that is a known signer"
    verify = commands.add_parser("verify", help=text, description=text)
    verify.add_argument("bundle", metavar="BUNDLE", help="folder or zip of a bundle")
    add_signers_option(verify)
    verify.set_defaults(run=run_verify)


def add_signers_option(parser: Any) -> None:
    """`--signers`, the list of keys that are called by name."""
    parser.add_argument(
        "--signers",
        metavar="FILE.toml",
        help=f'Whose keys are known, a line "NAME" = "PUBLIC KEY" for each. Default: {SIGNERS_VARIABLE}.',
    )


def add_sign_option(parser: Any) -> None:
    """`--sign`, the key that signs a new bundle."""
    parser.add_argument(
        "--sign",
        metavar="FILE",
        help="Sign the bundle with this key, from `key new`. It is opened before anything is charged.",
    )


def signers_of(options: argparse.Namespace) -> Signers:
    """Return the signers that a command knows; `WorkflowError` for a list that cannot be read."""
    return operators_signers() if options.signers is None else read_signers(options.signers)


def office_key(file: str) -> Ed25519PrivateKey:
    """Open the key in a file, its password from the environment or from the terminal.

    Raise `WorkflowError` as `open_key`, and where there is no password and nobody to ask.
    """
    return open_key(Path(file), lambda: _password(f"Password of {file}: "))


def run_key(options: argparse.Namespace) -> int:
    """Make a key, or open one, and print its public half."""
    if options.kind == "new":
        path = new_place(options.file, "file")
        asked = f"New password, at least {SHORTEST_PASSWORD} characters: "
        key = new_key(path, _password(asked, again="The same again: "))
        print(f"Key written to {path}. Keep a copy of it, and its password, apart from each other.")
    else:
        key = office_key(options.file)
    print(f"Public key:  {public_line(key)}")
    print(f"Fingerprint: {fingerprint(key.public_key().public_bytes_raw())}")
    return 0


def run_sign(options: argparse.Namespace) -> int:
    """Sign a bundle."""
    read_bundle(options.bundle)  # said before a password is asked for
    key = office_key(options.key)
    signed = sign_bundle(Path(options.bundle), key)
    for path in signed:
        print(f"Signed: {path}")
    if not signed:
        print("It was signed with this key already.")
    return 0


def run_verify(options: argparse.Namespace) -> int:
    """Check a bundle and say who signed it; 0 for a known signer, else 1.

    Raise `BundleError` for a bundle or signature that does not hold; `WorkflowError` for the list.
    """
    signers = signers_of(options)
    signature = read_bundle(options.bundle).signature
    print(signers.says(signature))
    return 0 if signers.knows(signature) else 1


def _password(asked: str, again: str = "") -> str:
    if (given := os.environ.get(PASSWORD_VARIABLE)) is not None:
        return given
    if not sys.stdin.isatty():
        raise WorkflowError(f"There is no terminal to ask for the password: set {PASSWORD_VARIABLE}.")
    first = getpass.getpass(asked)
    if again and getpass.getpass(again) != first:
        raise WorkflowError("The two passwords differ: nothing was written.")
    return first

"""Commands about bundles and areas: `areas`, `outline`, `key`, `sign` and `verify`."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from geo.context.named_areas import SOURCE, areas_like, areas_named
from hexcursion.bundle.areas import AreaAnswer, new_table, write_table
from hexcursion.bundle.atlas.read import AtlasBundle, layer_of, open_any
from hexcursion.bundle.page.officer import officer_text
from hexcursion.bundle.published.office_key import (
    PASSWORD_VARIABLE,
    SHORTEST_PASSWORD,
    new_key,
    open_key,
    public_line,
    sign_bundle,
)
from hexcursion.bundle.published.view import Viewer, answers_from, question_words
from hexcursion.bundle.signature import (
    SIGNERS_VARIABLE,
    Signers,
    fingerprint,
    operators_signers,
    read_signers,
)
from hexcursion.errors import WorkflowError
from hexcursion.new_place import made_whole, new_place
from hexcursion.settings import field
from hexcursion.words import plural


def add_outline_command(commands: Any) -> None:
    """The subcommand and its options."""
    text = "write the outlines of states, provinces or districts, for --region, --layers and --polygons"
    parser = commands.add_parser("outline", help=text, description=f"{text}. {SOURCE}")
    parser.add_argument(
        "names", metavar="NAME", nargs="+", help="such as 'Kent, United Kingdom' or 'Spain (every area)'"
    )
    parser.add_argument("--out", metavar="FILE", help="new .geojson file; without it the names that fit")
    parser.set_defaults(run=run_outline)


def run_outline(options: argparse.Namespace) -> int:
    """Write the file, or print the names that contain a text; opens nothing private.

    Raise `DomainError` for a name that is not known, `WorkflowError` for a file that cannot be written.
    """
    if options.out is None:
        for name in options.names:
            print("\n".join(areas_like(name)) or f"No area's name contains {name!r}.")
        return 0
    areas = areas_named(options.names)
    out = new_place(options.out, "file")
    with made_whole(out) as file:
        file.write_text(json.dumps(areas, ensure_ascii=False) + "\n", encoding="utf-8")
    properties = [area["properties"] for area in areas["features"][:5]]
    names = [f"{area['name'].removesuffix(', ' + area['country'])}, {area['country']}" for area in properties]
    ellipsis = "; ..." if len(areas["features"]) > len(properties) else ""
    print(f"Written: {'; '.join(names)}{ellipsis}.")
    print(f"{plural(len(areas['features']), 'area')} in {out}: --region takes the file as the area,")
    print(f"--layers draws its areas and answers for each. {SOURCE}")
    return 0


def add_areas_command(commands: Any) -> None:
    """The subcommand and its options."""
    text = "say how much of each area lies beyond the threshold, with intervals, from a bundle alone"
    parser = commands.add_parser("areas", help=text, description=text)
    parser.add_argument("bundle", metavar="BUNDLE", help="folder or zip of a bundle")
    parser.add_argument("--polygons", metavar="FILE", required=True, help="GeoJSON file with the areas")
    parser.add_argument("--name", metavar="PROPERTY", default="", help="property that names an area")
    add_layer_option(parser)
    parser.add_argument(
        "--threshold", type=float, help="another threshold, in the data's own unit (costs nothing)"
    )
    parser.add_argument(
        "--confidence", type=float, default=0.9, help="of the intervals, between 0 and 1 (default 0.9)"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="new file for the answers: .csv for a table, .geojson with the areas"
    )
    parser.set_defaults(run=run_areas)


def add_layer_option(parser: Any) -> None:
    """`--layer`, the column of an atlas that is meant."""
    parser.add_argument("--layer", metavar="COLUMN", help="of an atlas: the column that is asked about")


def run_areas(options: argparse.Namespace) -> int:
    """Print one line an area, and write the answers where asked; opens nothing private.

    Raise `BundleError` for a bundle or areas that cannot be read, and answers that cannot be written.
    """
    out = None if options.out is None else new_table(options.out)
    threshold = None if options.threshold is None else field("threshold").check(options.threshold)
    viewer = Viewer(layer_of(options.bundle, options.layer))
    areas, answers = answers_from(
        viewer, options.polygons, threshold=threshold, confidence=options.confidence, name=options.name
    )
    print(question_words(viewer, answers, threshold))
    for answer in answers:
        print(f"  {line(answer)}")
    if out is not None:
        write_table(out, [answer.row() for answer in answers], areas.shapes)
    return 0


def line(answer: AreaAnswer) -> str:
    """One area in words."""
    if answer.share is None or answer.low is None or answer.high is None:
        return f"{answer.name}: no hexagon of the release lies in it"
    text = f"{answer.name}: {_share(answer.share)} ({_share(answer.low)} to {_share(answer.high)})"
    return text if answer.covered > 0.995 else f"{text}; hexagons cover {_share(answer.covered)} of it"


def _share(share: float) -> str:
    return f"{share * 100:.0f} %"


def add_explain_command(commands: Any) -> None:
    """Add the subcommand and its options."""
    text = "explain a bundle's promise to a data protection officer, with its own numbers"
    parser = commands.add_parser("explain", help=text, description=f"{text}; opens nothing private")
    parser.add_argument("bundle", metavar="BUNDLE", help="folder or zip of a bundle")
    parser.add_argument(
        "--out", metavar="FILE", help="new text file (Markdown); without it the text is printed"
    )
    parser.set_defaults(run=run_explain)


def run_explain(options: argparse.Namespace) -> int:
    """Print the text or write it. Raise `BundleError` for a bundle that cannot be read."""
    out = None if options.out is None else new_place(options.out, "file")
    bundle = open_any(options.bundle)
    first = bundle.layers[0] if isinstance(bundle, AtlasBundle) else bundle
    text = officer_text(first.statement)
    if isinstance(bundle, AtlasBundle):
        text = f"{bundle.statement['atlas']['in_words']} Of the first of them:\n\n{text}"
    if out is None:
        print(text, end="")
        return 0
    with made_whole(out) as file:
        file.write_text(text, encoding="utf-8")
    print(f"Written: {out}.")
    return 0


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

    Raise `WorkflowError` as `open_key`, and without a password and a terminal to ask at.
    """
    return open_key(Path(file), lambda: _password(f"Password of {file}: "))


def run_key(options: argparse.Namespace) -> int:
    """Make a key, or open one, and print its public half."""
    if options.kind == "new":
        path = new_place(options.file, "file")
        prompt = f"New password, at least {SHORTEST_PASSWORD} characters: "
        key = new_key(path, _password(prompt, again="The same again: "))
        print(f"Key written to {path}. Keep a copy of it, and its password, apart from each other.")
    else:
        key = office_key(options.file)
    print(f"Public key:  {public_line(key)}")
    print(f"Fingerprint: {fingerprint(key.public_key().public_bytes_raw())}")
    return 0


def run_sign(options: argparse.Namespace) -> int:
    """Sign a bundle."""
    open_any(options.bundle)  # said before a password is asked for
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
    signature = open_any(options.bundle).signature
    print(signers.says(signature))
    return 0 if signers.knows(signature) else 1


def _password(prompt: str, again: str = "") -> str:
    if (password := os.environ.get(PASSWORD_VARIABLE)) is not None:
        return password
    if not sys.stdin.isatty():
        raise WorkflowError(f"There is no terminal to ask for the password: set {PASSWORD_VARIABLE}.")
    first = getpass.getpass(prompt)
    if again and getpass.getpass(again) != first:
        raise WorkflowError("The two passwords differ: nothing was written.")
    return first

"""Decide from environment, arguments, secrets and address what the app allows; every doubt locks.

Nothing here knows Streamlit: it is decided at the start of the server and again at every run of a screen,
because the operator's files can change while the server runs.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from hexcursion.errors import WorkflowError
from hexcursion.ledger.places import BUNDLES_VARIABLE

Mode = Literal["curator", "viewer"]
MODE, HOSTS, IDLE = "HEXCURSION_MODE", "HEXCURSION_HOSTS", "HEXCURSION_IDLE_MINUTES"
MODES: tuple[Mode, ...] = ("curator", "viewer")
VIEWER_ARGUMENT = "--viewer"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
SECTIONS = ("auth", "hexcursion")
OURS = ("curators", "data")  # what a section [hexcursion] may hold
SHORTEST_SECRET = 32  # characters of a cookie secret: whoever guesses it may sign in as any user
DEFAULT_IDLE, LONGEST_IDLE = 240, 7 * 24 * 60  # minutes
_NAME = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?")


class Locked(WorkflowError):
    """Why nothing is served: one sentence for the operator, with the remedy, without any path or secret."""


@dataclass(frozen=True)
class Secrets:
    """The operator's secrets by section, empty without a secrets file; `fault` says why existing ones could
    not be read."""

    sections: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None


@dataclass(frozen=True)
class Access:
    """What a process offers, and to whom."""

    mode: Mode  # "viewer": published bundles only, for everybody
    sign_in: bool
    curators: frozenset[str] | None  # lower-case e-mail addresses; None: everybody whom the provider knows
    hosts: tuple[str, ...]  # names under which the app answers; a leading "*." means any subdomain
    data: tuple[str, ...] | None  # folders that may be read by path, as the secrets list them
    idle_minutes: float  # until an unused session is freed

    @property
    def alone(self) -> bool:
        """Whether only the machine's own user reaches the app: no sign-in and no public name."""
        return not self.sign_in and all(is_loopback(host) for host in self.hosts)

    def admits(self, person: Mapping[str, Any]) -> bool:
        """Whether a person may curate, by what the identity provider vouches for: `is_logged_in`, `email`,
        and `email_verified`, without which a listed address does not count."""
        if self.mode == "viewer":
            return False
        if not self.sign_in:
            return True
        if person.get("is_logged_in") is not True:
            return False
        return self.curators is None or verified_email(person) in self.curators


def decide(
    environment: Mapping[str, str],
    arguments: Sequence[str],
    secrets: Secrets,
    address: str | None,
    named_hosts: Iterable[str] = (),
) -> Access:
    """Return what this process may offer; `Locked` wherever the operator's intention is in doubt, or a
    curator's screens would be open to the network.

    `arguments` are the script's own, without its name; `address` None or "" listens on every address;
    `named_hosts` are further names under which the server answers."""
    mode, hosts, idle = _mode(environment, arguments), _hosts(environment, named_hosts), _idle(environment)
    if mode == "viewer":
        return Access(mode, False, None, hosts or LOOPBACK_NAMES, None, idle)
    sections = _sections(secrets)
    auth, ours = sections.get("auth"), sections.get("hexcursion", {})
    curators = _curators(ours)
    if auth is None:
        if curators is not None:
            raise Locked(
                "The secrets list curators but have no section [auth], so nobody could be asked to sign in: "
                "add [auth], or take the list out."
            )
        if not is_loopback(address):
            raise Locked(
                f"The server would listen on {address or 'every address'} and let anybody curate: add a "
                f"section [auth] to the secrets, start it with {VIEWER_ARGUMENT}, or bind it to 127.0.0.1."
            )
        if not all(is_loopback(host) for host in hosts):
            raise Locked(
                f"{HOSTS} names {', '.join(hosts)}, where anybody could curate: add a section [auth] to the "
                f"secrets, or start the server with {VIEWER_ARGUMENT}."
            )
    else:
        back = _checked_auth(auth)
        hosts = hosts if is_loopback(back) else tuple(dict.fromkeys((*hosts, back)))
    return Access(mode, auth is not None, curators, hosts or LOOPBACK_NAMES, _data(ours), idle)


def unloosened(started: Access | None, now: Access) -> Access:
    """Return the access allowed now; `Locked` if that is more than what the server was started with.

    A secrets file that vanishes for a moment, or was saved half, must not open a running server."""
    if started is not None and (
        (started.sign_in and not now.sign_in)
        or (started.curators is not None and now.curators is None)
        or (started.mode == "viewer" and now.mode != "viewer")
    ):
        raise Locked("Since the start somebody took out the sign-in or its list: restart the app to mean it.")
    return now


def is_loopback(address: str | None) -> bool:
    """Whether an address or a host's name means this machine only; an unknown one does not."""
    text = (address or "").strip().lower().strip("[]")
    if text == "localhost":
        return True
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


def verified_email(person: Mapping[str, Any]) -> str | None:
    """The person's e-mail address in lower case, None where the provider does not say it verified it."""
    email = person.get("email")
    if person.get("email_verified") not in (True, "true") or not isinstance(email, str):
        return None
    return email.strip().lower() or None


def _mode(environment: Mapping[str, str], arguments: Sequence[str]) -> Mode:
    unknown = [argument for argument in arguments if argument != VIEWER_ARGUMENT]
    if unknown:
        raise Locked(f"The app does not know the argument {unknown[0]}: it takes {VIEWER_ARGUMENT} only.")
    value = environment.get(MODE, "").strip().lower()
    if value and value not in MODES:
        raise Locked(f"{MODE} is {value!r}: it must be {' or '.join(MODES)}, or unset.")
    return "viewer" if arguments or value == "viewer" else "curator"


def _hosts(environment: Mapping[str, str], further: Iterable[str]) -> tuple[str, ...]:
    """The names under which others reach the app; none where only loopback names are known."""
    entries = [*environment.get(HOSTS, "").replace(",", " ").split(), *further]
    hosts = tuple(dict.fromkeys(host.strip().lower().rstrip(".").strip("[]") for host in entries))
    for host in hosts:
        if not _is_name(host):
            raise Locked(
                f"{HOSTS} holds {host!r}, which is no host's name: name hosts like maps.example.org, "
                "without https:// and without a port."
            )
        if host.startswith("*.") and _anybodys(host[2:]):
            raise Locked(
                f"{HOSTS} holds {host!r}, under which anybody may have a name: name your hosts one by one, "
                "or write *. before a domain that is yours, like *.example.org."
            )
    return tuple(host for host in hosts if not is_loopback(host))


def _is_name(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return _NAME.fullmatch(host) is not None
    return True


def _anybodys(domain: str) -> bool:
    """Whether names below a domain belong to different people: `com`, `co.uk`, `github.io`, an address."""
    return bool(_suffixes().is_public(domain)) or domain.rsplit(".", 1)[-1].isdigit()


@cache
def _suffixes() -> PublicSuffixList:
    """The public suffix list, as it ships with its package: nothing is fetched."""
    return PublicSuffixList()


def _idle(environment: Mapping[str, str]) -> float:
    text = environment.get(IDLE, "").strip() or str(DEFAULT_IDLE)
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0.0 < minutes <= LONGEST_IDLE:
        raise Locked(f"{IDLE} is {text!r}: it must be a number of minutes up to {LONGEST_IDLE}.")
    return minutes


def _sections(secrets: Secrets) -> Mapping[str, Any]:
    """The secrets' sections, all of them known."""
    if secrets.fault is not None:
        raise Locked(f"The secrets cannot be read, so it is not known who may curate: {secrets.fault}")
    for name in secrets.sections:
        if name not in SECTIONS:
            raise Locked(f"The secrets have an entry {name!r} that this app does not know: {_meant(name)}.")
    ours = secrets.sections.get("hexcursion", {})
    if not isinstance(ours, Mapping):
        raise Locked("The secrets' entry hexcursion must be a section: [hexcursion].")
    for name in ours:
        if name not in OURS:
            raise Locked(f"The section [hexcursion] has an entry {name!r}: it may hold {' and '.join(OURS)}.")
    return secrets.sections


def _meant(name: str) -> str:
    sections = [f"[{section}]" for section in SECTIONS]
    near = difflib.get_close_matches(name.casefold(), SECTIONS, n=1)
    if near:
        return f"write [{near[0]}]"
    if name in OURS:
        return "it belongs into the section [hexcursion]"
    return f"it knows {' and '.join(sections)}; keep other programs' secrets in another file"


def _curators(ours: Mapping[str, Any]) -> frozenset[str] | None:
    listed = ours.get("curators")
    if listed is None:
        return None
    if not isinstance(listed, list) or not all(
        isinstance(address, str) and "@" in address for address in listed
    ):
        raise Locked('curators must be a list of e-mail addresses, like ["ada@example.org"].')
    return frozenset(address.strip().lower() for address in listed)


def _data(ours: Mapping[str, Any]) -> tuple[str, ...] | None:
    listed = ours.get("data")
    if listed is None:
        return None
    folders = [listed] if isinstance(listed, str) else listed
    if not isinstance(folders, list) or not all(
        isinstance(folder, str) and folder.strip() for folder in folders
    ):
        raise Locked('data must be a folder or a list of folders, like ["/srv/data"].')
    return tuple(folders)


def _checked_auth(auth: Any) -> str:
    """The host to which the identity provider sends people back, from a section [auth] that can work."""
    if not isinstance(auth, Mapping):
        raise Locked("The secrets' entry auth must be a section: [auth].")
    secret = auth.get("cookie_secret")
    if not isinstance(secret, str) or len(secret) < SHORTEST_SECRET:
        raise Locked(
            f"The section [auth] needs a cookie_secret of at least {SHORTEST_SECRET} characters: make one "
            'with python -c "import secrets; print(secrets.token_hex(32))".'
        )
    try:
        address = urlsplit(str(auth.get("redirect_uri", "")).replace(":{port}", ""))
        host = (address.hostname or "").rstrip(".")
    except ValueError:
        host = ""
    if not host or address.scheme not in ("http", "https") or not _is_name(host) or host.startswith("*"):
        raise Locked("The section [auth] needs a redirect_uri like https://maps.example.org/oauth2callback.")
    if address.scheme == "http" and not is_loopback(host):
        raise Locked(
            "The redirect_uri in [auth] must begin with https: the sign-in cookie would be readable."
        )
    return host


HELP = f"""Usage: python app.py [{VIEWER_ARGUMENT} [FOLDER]] [--server.port PORT] [--server.address ADDRESS]

Start the app; it is then open in a browser at the address that it prints.

  {VIEWER_ARGUMENT} [FOLDER]         show published bundles only, those of a folder where one is named
  --server.port PORT        where it listens, 8501 without it
  --server.address ADDRESS  this machine alone without it; see docs/deployment.md before naming another

Every further option of `streamlit run` is taken too: `streamlit run --help` lists them."""


def with_folder(arguments: list[str]) -> list[str]:
    """The arguments without the folder of bundles that may follow the viewer's; it goes into the environment.

    `SystemExit` with one sentence where there is no such folder."""
    place = arguments.index(VIEWER_ARGUMENT) + 1 if VIEWER_ARGUMENT in arguments else len(arguments)
    if place >= len(arguments) or arguments[place].startswith("-"):
        return arguments
    folder = Path(arguments[place]).expanduser()
    if not folder.is_dir():
        sys.exit(f"Hexcursion does not start. There is no folder of bundles at {folder}: name another one.")
    os.environ[BUNDLES_VARIABLE] = str(folder.absolute())
    return [*arguments[:place], *arguments[place + 1 :]]

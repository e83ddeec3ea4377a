"""The rules of access as decisions: what starts, what is locked and why, and who may curate."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from pages.shared.server.access_rules import (
    Access,
    Locked,
    Secrets,
    decide,
    is_loopback,
    unloosened,
)

SECRET = "0123456789abcdef0123456789abcdef"
AUTH = f"""
[auth]
redirect_uri = "https://maps.example.org/oauth2callback"
cookie_secret = "{SECRET}"
client_id = "hexcursion"
"""
LISTED = AUTH + '[hexcursion]\ncurators = ["Ada@example.org"]\n'


def decided(
    text: str = "",
    *,
    address: str | None = "127.0.0.1",
    arguments: tuple[str, ...] = (),
    named: tuple[str, ...] = (),
    **environment: str,
) -> Access:
    try:
        secrets = Secrets(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:  # as `access` says what Streamlit could not read
        secrets = Secrets(fault=f"secrets.toml: {error}")
    return decide(environment, arguments, secrets, address, named)


def test_without_anything_said_the_machines_own_user_curates() -> None:
    access = decided()
    assert (access.mode, access.sign_in, access.alone) == ("curator", False, True)
    assert access.hosts == ("localhost", "127.0.0.1", "::1")
    assert access.idle_minutes == 240
    assert access.admits({})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[auth\n", "cannot be read"),
        ("auth = [", "cannot be read"),
        (AUTH.replace("[auth]", "[Auth]"), r"write \[auth\]"),
        (AUTH.replace("[auth]", "[ath]"), r"write \[auth\]"),
        (AUTH.replace("[auth]", "[authentication]"), r"does not know|write \[auth\]"),
        (AUTH.replace("[auth]", "[oidc]"), "does not know"),
        (AUTH + "[hexcursions]\ncurators = []\n", r"write \[hexcursion\]"),
        (AUTH + "[Hexcursion]\ncurators = []\n", r"write \[hexcursion\]"),
        ('curators = ["ada@example.org"]\n' + AUTH, r"belongs into the section \[hexcursion\]"),
        (AUTH + '[hexcursion]\ncurator = ["ada@example.org"]\n', "'curator'"),
        (AUTH + '[hexcursion]\ncurators = "ada@example.org"\n', "list of e-mail addresses"),
        (AUTH + "[hexcursion]\ncurators = [1]\n", "list of e-mail addresses"),
        (AUTH + "[hexcursion]\ndata = 3\n", "list of folders"),
        ('[hexcursion]\ncurators = ["ada@example.org"]\n', r"no section \[auth\]"),
        ("[hexcursion]\ncurators = []\n", r"no section \[auth\]"),
        ("hexcursion = 1\n", "must be a section"),
        ("auth = true\n", "must be a section"),
        ("[auth]\n", "cookie_secret of at least 32"),
        (AUTH.replace(SECRET, SECRET[:-1]), "cookie_secret of at least 32"),
        (AUTH.replace("https://", "http://"), "must begin with https"),
        (AUTH.replace("https://maps.example.org", ""), "needs a redirect_uri"),
        (AUTH.replace("redirect_uri", "redirect_url"), "needs a redirect_uri"),
    ],
)
@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_secrets_that_leave_a_doubt_lock_the_app(text: str, said: str, address: str) -> None:
    with pytest.raises(Locked, match=said):
        decided(text, address=address)


@pytest.mark.parametrize("mode", ["veiwer", "viewers", "curate", "0", "none", "view er"])
def test_a_mistyped_mode_locks_the_app(mode: str) -> None:
    with pytest.raises(Locked, match="must be curator or viewer"):
        decided(HEXCURSION_MODE=mode)
    with pytest.raises(Locked, match="must be curator or viewer"):
        decided(LISTED, HEXCURSION_MODE=mode)


@pytest.mark.parametrize(("mode", "meant"), [("", "curator"), (" Viewer ", "viewer"), ("CURATOR", "curator")])
def test_a_mode_is_read_in_any_case(mode: str, meant: str) -> None:
    assert decided(HEXCURSION_MODE=mode).mode == meant


@pytest.mark.parametrize("argument", ["--veiwer", "viewer", "--curator", ""])
def test_an_argument_that_is_not_known_locks_the_app(argument: str) -> None:
    with pytest.raises(Locked, match="does not know the argument"):
        decided(arguments=(argument,))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "::",
        "",
        None,
        "192.0.2.7",
        "203.0.113.9",
        "maps.example.org",
        "unix:///run/app",
        "127.1.example",
    ],
)
def test_an_address_that_others_reach_needs_sign_in_or_a_viewers_process(address: str | None) -> None:
    with pytest.raises(Locked, match=r"let anybody curate: add a section \[auth\]"):
        decided(address=address)
    assert decided(LISTED, address=address).sign_in
    assert decided(address=address, arguments=("--viewer",)).mode == "viewer"


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("::1", True),
        ("[::1]", True),
        ("128.0.0.1", False),
        ("localhost.example.org", False),
        ("127.0.0.1.nip.example", False),
        ("0.0.0.0", False),
    ],
)
def test_loopback_is_this_machine_only(address: str, here: bool) -> None:
    assert is_loopback(address) is here


def test_a_public_name_needs_sign_in() -> None:
    with pytest.raises(Locked, match="where anybody could curate"):
        decided(HEXCURSION_HOSTS="maps.example.org")
    with pytest.raises(Locked, match="where anybody could curate"):
        decided(named=("localhost", "maps.example.org"))
    assert decided(HEXCURSION_HOSTS="localhost 127.0.0.1").alone


def test_the_app_answers_under_its_public_names_only() -> None:
    assert decided(LISTED).hosts == ("maps.example.org",)
    both = decided(LISTED, HEXCURSION_HOSTS="Karten.example.org., *.example.net")
    assert both.hosts == ("karten.example.org", "*.example.net", "maps.example.org")
    viewer = decided(HEXCURSION_MODE="viewer", HEXCURSION_HOSTS="open.example.org", address="0.0.0.0")
    assert viewer.hosts == ("open.example.org",)
    assert not decided(LISTED).alone


def test_a_sign_in_for_this_machine_keeps_its_names() -> None:
    here = AUTH.replace("https://maps.example.org/", "http://localhost:{port}/")
    assert decided(here).hosts == ("localhost", "127.0.0.1", "::1")
    assert not decided(here).alone  # others may reach it by a tunnel: paths are then limited


@pytest.mark.parametrize(
    "host", ["*", "https://maps.example.org", "maps.example.org:8501", "a b/c", "-x", "*.*"]
)
def test_what_is_no_hosts_name_locks_the_app(host: str) -> None:
    with pytest.raises(Locked, match=r"no host's name"):
        decided(HEXCURSION_MODE="viewer", HEXCURSION_HOSTS=host)


@pytest.mark.parametrize("host", ["*.com", "*.COM.", "*.co.uk", "*.github.io", "*.intranet", "*.10.0.0.1"])
def test_a_star_stands_before_a_domain_of_ones_own_only(host: str) -> None:
    with pytest.raises(Locked, match="under which anybody may have a name"):
        decided(LISTED, HEXCURSION_HOSTS=f"maps.example.org {host}")


def test_a_star_before_ones_own_domain_is_a_name_but_none_to_come_back_to() -> None:
    assert decided(LISTED, HEXCURSION_HOSTS="*.example.co.uk").hosts == (
        "*.example.co.uk",
        "maps.example.org",
    )
    with pytest.raises(Locked, match="needs a redirect_uri"):
        decided(LISTED.replace("maps.example.org", "*.example.org"))


@pytest.mark.parametrize("minutes", ["0", "-1", "soon", "nan", "inf", "10081"])
def test_the_idle_time_is_a_number_of_minutes(minutes: str) -> None:
    with pytest.raises(Locked, match="HEXCURSION_IDLE_MINUTES"):
        decided(HEXCURSION_IDLE_MINUTES=minutes)
    assert decided(HEXCURSION_IDLE_MINUTES="7.5").idle_minutes == 7.5


@pytest.mark.parametrize(
    ("person", "admitted"),
    [
        ({"is_logged_in": True, "email": "ada@example.org", "email_verified": True}, True),
        ({"is_logged_in": True, "email": " ADA@example.org", "email_verified": "true"}, True),
        ({"is_logged_in": True, "email": "ada@example.org"}, False),
        ({"is_logged_in": True, "email": "ada@example.org", "email_verified": False}, False),
        ({"is_logged_in": True, "email": "ada@example.org", "email_verified": "false"}, False),
        ({"is_logged_in": True, "email": "ada@example.org", "email_verified": "yes"}, False),
        ({"is_logged_in": True, "email": "eve@example.org", "email_verified": True}, False),
        ({"is_logged_in": True, "email": None, "email_verified": True}, False),
        ({"is_logged_in": True, "email": "", "email_verified": True}, False),
        ({"is_logged_in": False, "email": "ada@example.org", "email_verified": True}, False),
        ({"is_logged_in": "true", "email": "ada@example.org", "email_verified": True}, False),
        ({}, False),
    ],
)
def test_a_listed_address_counts_only_when_it_was_verified(person: Mapping[str, Any], admitted: bool) -> None:
    assert decided(LISTED).admits(person) is admitted


def test_without_a_list_everybody_whom_the_provider_knows_curates() -> None:
    assert decided(AUTH).admits({"is_logged_in": True})
    assert not decided(AUTH).admits({"is_logged_in": False})
    assert not decided(AUTH + "[hexcursion]\ncurators = []\n").admits({"is_logged_in": True})


def test_a_viewers_process_admits_nobody() -> None:
    access = decided(LISTED, HEXCURSION_MODE="viewer")
    assert not access.admits({"is_logged_in": True, "email": "ada@example.org", "email_verified": True})


def test_a_running_server_is_never_opened_by_what_vanishes() -> None:
    at_start, unlisted, alone = decided(LISTED), decided(AUTH), decided()
    viewer = decided(HEXCURSION_MODE="viewer")
    assert unloosened(None, alone) is alone
    assert unloosened(alone, at_start) is at_start
    assert unloosened(unlisted, at_start) is at_start
    for started, now in ((at_start, alone), (at_start, unlisted), (unlisted, alone), (viewer, alone)):
        with pytest.raises(Locked, match="restart the app to mean it"):
            unloosened(started, now)


def test_a_reason_names_neither_path_nor_secret() -> None:
    with pytest.raises(Locked) as caught:
        decided(f'[auth]\ncookie_secret = "{SECRET}" oops\n')
    assert SECRET not in str(caught.value)
    assert "line 2" in str(caught.value)

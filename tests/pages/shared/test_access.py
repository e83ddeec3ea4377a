"""Who sees which screen: sign-in on and off, curators listed or not, and the viewer's process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.server import access
from pages.shared.steps import DATA, VIEWER

AUTH = {"auth": {"redirect_uri": "http://localhost/oauth2callback", "cookie_secret": "x" * 32}}


class Person:
    """What Streamlit says about the person at the other end."""

    def __init__(self, **facts: object) -> None:
        self.is_logged_in = bool(facts)
        self._facts = facts

    def get(self, name: str, default: object = None) -> object:
        return self._facts.get(name, default)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def be(**facts: object) -> None:
        monkeypatch.setattr(access.st, "user", Person(**facts))

    return be


def title(app: AppTest) -> str:
    return app.title[0].value


def test_without_sign_in_configured_everything_is_open(open_app: Callable[..., AppTest]) -> None:
    assert title(open_app()) == "Start"
    assert title(open_app(DATA.path)) == "Data"


def test_with_sign_in_configured_a_stranger_sees_no_curator_screen(
    open_app: Callable[..., AppTest], person: Callable[..., None]
) -> None:
    person()
    app = open_app(secrets=AUTH)
    assert title(app) == "For curators"
    assert [button.label for button in app.button] == ["Sign in as a curator"]
    assert not app.file_uploader
    assert not app.sidebar.button
    with pytest.raises(ValueError, match="navigation page"):  # nor does the viewer, which is another process
        app.switch_page(VIEWER.path)
    with pytest.raises(ValueError, match="navigation page"):  # the screen does not exist for a stranger
        app.switch_page(DATA.path)


def test_somebody_signed_in_is_a_curator(
    open_app: Callable[..., AppTest], person: Callable[..., None]
) -> None:
    person(email="ada@example.org", name="Ada")
    app = open_app(secrets=AUTH)
    assert title(app) == "Start"
    assert [button.label for button in app.sidebar.button] == ["Sign out"]
    assert "Signed in as Ada." in [caption.value for caption in app.sidebar.caption]


@pytest.mark.parametrize(
    ("email", "open_to"), [("ada@example.org", True), ("ADA@example.org ", True), ("eve@example.org", False)]
)
def test_a_list_of_curators_narrows_it_down(
    open_app: Callable[..., AppTest], person: Callable[..., None], email: str, open_to: bool
) -> None:
    person(email=email, email_verified=True)
    app = open_app(secrets={**AUTH, "hexcursion": {"curators": ["Ada@example.org"]}})
    assert title(app) == ("Start" if open_to else "For curators")


@pytest.mark.parametrize("verified", [None, False, "false"])
def test_an_address_that_nobody_verified_opens_nothing(
    open_app: Callable[..., AppTest], person: Callable[..., None], verified: object
) -> None:
    person(email="ada@example.org", name="Ada", email_verified=verified)
    app = open_app(secrets={**AUTH, "hexcursion": {"curators": ["ada@example.org"]}})
    assert title(app) == "For curators"
    assert [caption.value for caption in app.caption] == [
        "Signed in as Ada, whose e-mail address the identity provider did not verify."
    ]


def test_an_empty_list_of_curators_lets_nobody_in(
    open_app: Callable[..., AppTest], person: Callable[..., None]
) -> None:
    person(email="")
    app = open_app(secrets={**AUTH, "hexcursion": {"curators": []}})
    assert title(app) == "For curators"


@pytest.mark.parametrize("way", ["environment", "argument"])
def test_a_viewers_process_is_closed_even_to_a_curator(
    open_app: Callable[..., AppTest], person: Callable[..., None], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "environment":
        monkeypatch.setenv("HEXCURSION_MODE", "viewer")
    else:
        monkeypatch.setattr("sys.argv", ["app.py", "--viewer"])
    person(email="ada@example.org")
    app = open_app(secrets=AUTH)
    assert title(app) == "Viewer"
    assert not app.sidebar.button


@pytest.mark.parametrize(
    "secrets",
    [
        {"Auth": AUTH["auth"]},
        {"hexcursion": {"curators": ["ada@example.org"]}},
        {"auth": {"redirect_uri": "http://localhost/oauth2callback"}},
        {**AUTH, "hexcursion": {"curator": ["ada@example.org"]}},
    ],
)
def test_secrets_that_leave_a_doubt_show_a_locked_page(
    open_app: Callable[..., AppTest], person: Callable[..., None], secrets: dict[str, object]
) -> None:
    person(email="ada@example.org", email_verified=True)
    app = open_app(secrets=secrets)
    assert title(app) == "Locked"
    assert [error.value for error in app.error] == [
        "This app was not set up safely, so it shows nothing. Its operator finds the reason in the "
        "server's log."
    ]
    assert not app.button
    assert not app.sidebar.caption
    with pytest.raises(ValueError, match="navigation page"):
        app.switch_page(DATA.path)


def test_a_mistyped_mode_shows_a_locked_page(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEXCURSION_MODE", "veiwer")
    assert title(open_app()) == "Locked"
    assert "HEXCURSION_MODE is 'veiwer': it must be curator or viewer, or unset." in caplog.text


def test_a_secrets_file_that_does_not_parse_shows_a_locked_page(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "secrets.toml"
    broken.write_text('[auth\ncookie_secret = "x"\n')
    options = {"secrets.files": [str(broken)], "server.address": "127.0.0.1", "server.allowedHosts": []}
    monkeypatch.setattr(access.st, "get_option", options.__getitem__)
    unreadable = access.StreamlitSecretNotFoundError("no")

    asked = []

    class Unreadable:
        def to_dict(self) -> dict[str, object]:
            asked.append(broken.exists())
            raise unreadable

    monkeypatch.setattr(access.st, "secrets", Unreadable())
    assert title(open_app()) == "Locked"
    broken.unlink()  # and without a file there is nothing to doubt
    assert title(open_app()) == "Start"
    assert asked.count(False) == 1  # nor to look for again
    broken.write_text("[auth")  # until there is one
    assert title(open_app()) == "Locked"

"""The screen Publish: a release is signed with the operator's key, whose password is asked for each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from hexcursion.bundle import read_bundle, write_bundle
from hexcursion.bundle.published.office_key import new_key
from hexcursion.bundle.signature import fingerprint
from hexcursion.ledger.places import bundles_folder
from pages.shared.steps import PUBLISH
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.pages.conftest import OpenApp, press, texts

PASSWORD, RELEASE = "correct horse battery staple", "0123456789abcdef"


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of this machine, whose operator has no key."""
    monkeypatch.delenv("HEXCURSION_SIGNING_KEY", raising=False)
    return write_bundle(make_release(small_domain(), release_id=RELEASE), bundles_folder() / RELEASE).zip


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ed25519PrivateKey:
    """The operator's key."""
    place = tmp_path / "office.key"
    made = new_key(place, PASSWORD)
    monkeypatch.setenv("HEXCURSION_SIGNING_KEY", str(place))
    monkeypatch.delenv("HEXCURSION_SIGNING_PASSWORD", raising=False)
    return made


def published(open_app: OpenApp) -> AppTest:
    app = open_app()
    app.query_params["release"] = RELEASE
    app.switch_page(PUBLISH.path).run()
    assert not app.exception
    return app


def passwords(app: AppTest) -> list[TextInput]:
    return [each for each in app.text_input if each.label == "Password of the signing key"]


def test_without_a_key_the_screen_says_how_to_sign_and_has_no_form(open_app: OpenApp, archive: Path) -> None:
    app = published(open_app)
    assert "Not signed. To sign what is published here, the operator makes a key (`key new`)" in texts(app)
    assert passwords(app) == []
    assert "Sign the bundle" not in [button.label for button in app.button]


def test_the_form_signs_with_the_right_password_alone(
    open_app: OpenApp, archive: Path, key: Ed25519PrivateKey
) -> None:
    app, before = published(open_app), archive.read_bytes()
    for wrong, refused in (("", False), (PASSWORD + "r", True), ("", True)):
        passwords(app)[0].set_value(wrong)
        press(app, "Sign the bundle")
        assert ("The password does not open the signing key" in texts(app)) is refused
        assert passwords(app)[0].value == "", "it is kept nowhere"
        assert app.session_state["signing_password"] == ""
        assert archive.read_bytes() == before
    passwords(app)[0].set_value(PASSWORD)
    press(app, "Sign the bundle")
    shown = fingerprint(key.public_key().public_bytes_raw())
    assert f"Signed (key {shown})." in texts(app)
    assert passwords(app) == []
    for bundle in (archive, archive.with_suffix("")):
        signature = read_bundle(bundle).signature
        assert signature is not None
        assert signature.fingerprint == shown


def test_a_password_of_the_operators_is_not_asked_for(
    open_app: OpenApp, archive: Path, key: Ed25519PrivateKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_SIGNING_PASSWORD", PASSWORD)
    app = published(open_app)
    assert passwords(app) == []
    assert read_bundle(archive).signature is None
    press(app, "Sign the bundle")
    assert read_bundle(archive).signature is not None
    assert PASSWORD not in texts(app)


def test_a_key_that_others_can_read_is_one_sentence(
    open_app: OpenApp, archive: Path, key: Ed25519PrivateKey, tmp_path: Path
) -> None:
    (tmp_path / "office.key").chmod(0o644)
    app = published(open_app)
    passwords(app)[0].set_value(PASSWORD)
    press(app, "Sign the bundle")
    [error] = app.error
    assert "is open to other users: run" in error.value
    assert read_bundle(archive).signature is None

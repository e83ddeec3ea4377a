"""Signed bundles: what a signature covers, whose it is said to be, and what a stranger cannot claim."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from geo import Domain
from hexcursion.bundle import BundleError, read_bundle, write_bundle
from hexcursion.bundle.layout import SIGNATURE, SUMS, contents_of, sums_text
from hexcursion.bundle.published.bundle_store import StoredBundle
from hexcursion.bundle.published.office_key import new_key, open_key, public_line, sign_bundle
from hexcursion.bundle.published.site import write_site
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.signature import (
    Signature,
    Signers,
    is_safe_key,
    read_signers,
    signature_bytes,
)
from hexcursion.cli.main import main
from hexcursion.errors import WorkflowError
from tests.hexcursion.bundle.bundle_samples import make_release
from tests.hexcursion.bundle.page.test_map_page import Page

PASSWORD = "correct horse battery staple"
Contents = dict[str, bytes]
# The public key and the signature of RFC 8032, 7.1, test 1: a key that anybody may check with.
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
OFFICE, OTHER = Ed25519PrivateKey.from_private_bytes(SEED), Ed25519PrivateKey.from_private_bytes(b"7" * 32)
KNOWN = Signers({PUBLIC: "Office of Maps"})


@pytest.fixture
def folder(bundle_folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(bundle_folder, tmp_path / "london")
    shutil.copy(bundle_folder.with_suffix(".zip"), tmp_path / "london.zip")
    return tmp_path / "london"


@pytest.fixture
def signed(contents: Contents) -> Contents:
    return {**contents, SIGNATURE: signature_bytes(contents[SUMS], OFFICE)}


@pytest.fixture
def key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEXCURSION_SIGNING_PASSWORD", PASSWORD)
    assert main(["key", "new", str(tmp_path / "office.key")]) == 0
    return tmp_path / "office.key"


def test_a_signed_bundle_opens_and_its_signer_has_the_operators_name(signed: Contents) -> None:
    signature = bundle_from_contents(signed).signature
    assert signature == Signature(PUBLIC)
    assert signature.fingerprint == "21fe 31df a154 a261 626b f854 046f d227"
    assert KNOWN.says(signature) == (
        "Signed by Office of Maps (fingerprint 21fe 31df a154 a261 626b f854 046f d227)."
    )
    assert Signers().says(signature) == (
        "Signed with a key that this viewer does not know (fingerprint 21fe 31df a154 a261 626b f854 046f "
        "d227): that does not say by whom."
    )
    assert KNOWN.says(None) == "Not signed: nothing shows who published this bundle."
    assert (KNOWN.knows(signature), Signers().knows(signature), KNOWN.knows(None)) == (True, False, False)


def test_the_signature_is_of_the_checksums_after_a_prefix(signed: Contents) -> None:
    """Signed elsewhere, the same bytes without the prefix are no signature of a bundle."""
    stated = json.loads(signed[SIGNATURE])
    OFFICE.public_key().verify(
        base64.b64decode(stated["signature"]), b"hexcursion-signature-1\n" + signed[SUMS]
    )
    bare = base64.b64encode(OFFICE.sign(signed[SUMS])).decode()
    with pytest.raises(BundleError, match="does not fit its files"):
        bundle_from_contents({**signed, SIGNATURE: json.dumps({**stated, "signature": bare}).encode()})


def resealed(contents: Contents) -> Contents:
    """The checksums made anew, as who changes a file would do."""
    rest = {name: content for name, content in contents.items() if name not in (SUMS, SIGNATURE)}
    return {**contents, SUMS: sums_text(rest).encode()}


def edited(signed: Contents, **changes: Any) -> Contents:
    stated: dict[str, Any] = {**json.loads(signed[SIGNATURE]), **changes}
    kept = {name: value for name, value in stated.items() if value is not None}
    return {**signed, SIGNATURE: json.dumps(kept).encode()}


FIT = "does not fit its files"
NONE = "is not a signature of this program's"
OTHER_KEY = base64.b64encode(OTHER.public_key().public_bytes_raw()).decode()
FORGED: dict[str, tuple[Callable[[Contents], Contents], str]] = {
    "a changed file": (lambda s: {**s, "README.txt": b"Hello"}, "README.txt was changed"),
    "a changed file and its checksum": (lambda s: resealed({**s, "README.txt": b"Hello"}), FIT),
    "a comment in the checksums": (lambda s: {**s, SUMS: s[SUMS] + b"\n"}, "is damaged"),
    "another key": (lambda s: edited(s, public_key=OTHER_KEY), FIT),
    "half a key": (lambda s: edited(s, public_key=OTHER_KEY[:20]), NONE),
    "no key": (lambda s: edited(s, public_key=None), NONE),
    "a number for a signature": (lambda s: edited(s, signature=5), NONE),
    "a signature of zeros": (lambda s: edited(s, signature=base64.b64encode(bytes(64)).decode()), FIT),
    "a name of its own": (lambda s: edited(s, name="Office of Maps"), NONE),
    "another format": (lambda s: edited(s, format="hexcursion-signature-2"), NONE),
    "a list": (lambda s: {**s, SIGNATURE: b"[]"}, NONE),
    "no JSON": (lambda s: {**s, SIGNATURE: b"{"}, "SHA256SUMS.sig is damaged"),
    "text that is not base64": (lambda s: edited(s, signature="€" * 88), NONE),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_was_changed_after_signing_is_refused_in_plain_words(signed: Contents, name: str) -> None:
    forge, sentence = FORGED[name]
    with pytest.raises(BundleError, match=sentence):
        bundle_from_contents(forge(signed))


def test_a_signature_of_another_bundle_does_not_fit(domain: Domain, signed: Contents, tmp_path: Path) -> None:
    other = contents_of(write_bundle(make_release(domain, title="Another"), tmp_path / "other").directory)
    with pytest.raises(BundleError, match="or it was taken from another bundle"):
        bundle_from_contents({**other, SIGNATURE: signed[SIGNATURE]})


def test_signing_adds_one_file_to_folder_and_zip_and_changes_nothing_else(folder: Path) -> None:
    before, shelved = contents_of(folder), (folder.with_suffix(".zip")).stat().st_mtime_ns
    assert sign_bundle(folder, OFFICE) == (folder, folder.with_suffix(".zip"))
    assert sign_bundle(folder, OFFICE) == ()
    for place in (folder, folder.with_suffix(".zip")):
        after = contents_of(place)
        assert {name: after[name] for name in before} == before
        assert set(after) - set(before) == {"SHA256SUMS.sig"}
        assert read_bundle(place).signature == Signature(PUBLIC)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["london", "london.zip"]
    assert folder.with_suffix(".zip").stat().st_mtime_ns == shelved, "the shelf stands in order of dates"
    with pytest.raises(BundleError, match=r"signed with another key \(fingerprint 21fe 31df"):
        sign_bundle(folder, OTHER)


def test_half_a_signing_is_finished_by_the_next_one_and_another_bundle_is_left_alone(
    domain: Domain, folder: Path
) -> None:
    archive = folder.with_suffix(".zip")
    kept = archive.read_bytes()
    sign_bundle(archive, OFFICE)
    archive.write_bytes(kept)
    assert sign_bundle(folder, OFFICE) == (archive,)
    archive.unlink()
    write_bundle(make_release(domain, title="Another"), folder.parent / "x")
    shutil.move(folder.parent / "x.zip", archive)
    with pytest.raises(BundleError, match="is another bundle: move it away first"):
        sign_bundle(folder, OFFICE)


def test_nothing_is_signed_that_would_not_open(folder: Path) -> None:
    (folder / "README.txt").write_text("Hello")
    with pytest.raises(BundleError, match="was changed after the bundle was made"):
        sign_bundle(folder, OFFICE)
    assert not (folder / SIGNATURE).exists()


# Keys


def test_a_key_is_encrypted_its_owners_alone_and_never_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "office.key"
    key = new_key(place, PASSWORD)
    assert place.stat().st_mode & 0o777 == 0o600
    assert b"BEGIN ENCRYPTED PRIVATE KEY" in place.read_bytes()
    assert public_line(open_key(place, lambda: PASSWORD)) == public_line(key)
    with pytest.raises(WorkflowError, match="exists already"):
        new_key(place, PASSWORD)
    assert list(tmp_path.iterdir()) == [place]
    with pytest.raises(WorkflowError, match=r"does not open the signing key office\.key: type"):
        open_key(place, lambda: PASSWORD + "r")
    with pytest.raises(WorkflowError, match="at least 16 characters"):
        new_key(tmp_path / "short.key", "fifteen letters")
    assert not (tmp_path / "short.key").exists()
    new_key(tmp_path / "long.key", "sixteen letters.")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_key_that_others_can_read_is_refused_before_a_password_is_asked_for(
    tmp_path: Path, mode: int
) -> None:
    place = tmp_path / "office.key"
    new_key(place, PASSWORD)
    place.chmod(mode)

    def ask() -> str:
        raise AssertionError("asked")

    said = "The signing key office.key is open to other users: run `chmod 600` on its file."
    with pytest.raises(WorkflowError, match=f"^{re.escape(said)}$"):
        open_key(place, ask)


def test_what_is_no_signing_key_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "office.key"
    with pytest.raises(WorkflowError, match=r"^The signing key office\.key cannot be read"):
        open_key(place, lambda: PASSWORD)
    place.touch(0o600)
    for content in (b"", b"-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----\n"):
        place.write_bytes(content)
        with pytest.raises(WorkflowError, match=r"^office\.key is not an encrypted signing key"):
            open_key(place, lambda: PASSWORD)


# Lists of signers


def test_a_list_of_signers_is_read_strictly(tmp_path: Path) -> None:
    place, line = tmp_path / "signers.toml", public_line(OFFICE)
    place.write_text(f'"Office of Maps" = "{line}"\n')
    assert read_signers(place) == KNOWN
    for text, sentence in (
        (f'"A" = "{line}"\n"B" = "{line}"\n', "one key twice"),
        ('"A" = "abc"\n', "gives no public key for 'A'"),
        ('"A" = 5\n', "gives no public key for 'A'"),
        (f'"" = "{line}"\n', "a key without a name"),
        (f'"{"A" * 81}" = "{line}"\n', "shorten it to 80"),
        ("A\n", "signers"),
    ):
        place.write_text(text)
        with pytest.raises(WorkflowError, match=sentence):
            read_signers(place)


# Every encoding of a point of order 1, 2, 4 or 8, and of none.
WEAK = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
)
BROKEN = {
    "no point": "0200000000000000000000000000000000000000000000000000000000000000",
    "1 with a sign": "0100000000000000000000000000000000000000000000000000000000000080",
    "1 plus the prime": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "the largest number": "ff" * 32,
}


@pytest.mark.parametrize("key", [*WEAK, *BROKEN.values()])
def test_a_key_under_which_anybody_can_sign_is_refused_in_one_sentence(
    signed: Contents, tmp_path: Path, key: str
) -> None:
    place, line = tmp_path / "signers.toml", base64.b64encode(bytes.fromhex(key)).decode()
    place.write_text(f'"Office of Maps" = "{line}"\n')
    with pytest.raises(WorkflowError, match="gives for 'Office of Maps' a key that is no point of the curve"):
        read_signers(place)
    with pytest.raises(BundleError, match=NONE):
        bundle_from_contents(edited(signed, public_key=line))


def test_the_identity_as_a_key_takes_one_signature_for_everything() -> None:
    """Why such keys are refused: the library verifies this, and no private key was needed."""
    identity = bytes.fromhex(WEAK[0])
    key = Ed25519PublicKey.from_public_bytes(identity)
    for text in (b"one text", b"another"):
        key.verify(identity + bytes(32), text)


def test_keys_that_were_made_are_safe() -> None:
    made = [Ed25519PrivateKey.from_private_bytes(bytes([k]) * 32) for k in range(100)]
    assert all(is_safe_key(key.public_key().public_bytes_raw()) for key in made)
    assert is_safe_key(PUBLIC)


# Commands


def test_an_office_signs_and_a_reader_verifies(
    folder: Path, key_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["key", "public", str(key_file)]) == 0
    public = capsys.readouterr().out.splitlines()[0].removeprefix("Public key:  ")
    signers = tmp_path / "signers.toml"
    signers.write_text(f'"Office of Maps" = "{public}"\n')
    verify = ["verify", str(folder), "--signers", str(signers)]
    assert main(verify) == 1
    assert capsys.readouterr().out.startswith("Not signed")
    assert main(["sign", str(folder), "--key", str(key_file)]) == 0
    assert main(verify) == 0
    assert "Signed by Office of Maps (fingerprint" in capsys.readouterr().out
    assert main(["verify", str(folder)]) == 1
    assert "does not know" in capsys.readouterr().out
    assert main(["view", str(folder), "--signers", str(signers)]) == 0
    assert "Signed by Office of Maps" in capsys.readouterr().out
    (folder / SUMS).write_bytes((folder / SUMS).read_bytes()[:-1] + b"\r\n")
    assert main(verify) == 2
    assert "error: " in capsys.readouterr().err


def test_without_a_terminal_the_password_comes_from_the_environment(
    tmp_path: Path, key_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HEXCURSION_SIGNING_PASSWORD")
    assert main(["key", "public", str(key_file)]) == 2
    assert "set HEXCURSION_SIGNING_PASSWORD" in capsys.readouterr().err
    assert main(["key", "new", str(key_file)]) == 2
    assert "exists already" in capsys.readouterr().err


# Publishing again


def test_a_signature_goes_along_wherever_the_bundle_goes(folder: Path, tmp_path: Path) -> None:
    sign_bundle(folder, OFFICE)
    assert read_bundle(StoredBundle("x", "x", folder).zipped()).signature == Signature(PUBLIC)
    for number, signers in enumerate((KNOWN, Signers())):
        (name,) = write_site([folder], tmp_path / f"site{number}", signers=signers)
        site = tmp_path / f"site{number}"
        assert read_bundle(site / name / f"{name}.zip").signature == Signature(PUBLIC)
        said = KNOWN.says(Signature(PUBLIC)) if number == 0 else "does not know (fingerprint 21fe"
        for page in (site / "index.html", site / name / "map.html"):
            assert said in Page(page.read_bytes()).text, page.name


def test_a_known_signers_own_pages_are_passed_on_and_a_strangers_are_not(
    contents: Contents, tmp_path: Path
) -> None:
    """A page that another version made: with the office's signature it goes on, else it is made anew."""
    changed = resealed({**contents, "map.html": b"<p>Of another version</p>"})
    place = tmp_path / "old"
    place.mkdir()
    for name, content in {**changed, SIGNATURE: signature_bytes(changed[SUMS], OFFICE)}.items():
        (place / name).write_bytes(content)
    (name,) = write_site([place], tmp_path / "known", signers=KNOWN)
    assert contents_of(tmp_path / "known" / name / f"{name}.zip") == contents_of(place)
    write_site([place], tmp_path / "unknown")
    made = contents_of(tmp_path / "unknown" / name / f"{name}.zip")
    assert SIGNATURE not in made
    assert b"Of another version" not in made["map.html"]


def test_a_bundle_cannot_say_itself_that_it_is_signed(domain: Domain, tmp_path: Path) -> None:
    claim = "Signed by Office of Maps"
    release = replace(make_release(domain), title=claim, notes=(claim,), attribution=(claim,))
    folder = write_bundle(release, tmp_path / "hostile").directory
    (name,) = write_site([folder], tmp_path / "site", signers=KNOWN)
    for page in ("index.html", f"{name}/map.html"):
        text = (tmp_path / "site" / page).read_text("utf-8")
        assert ">Not signed: nothing shows who published this bundle.</p>" in text
        assert f'signed">{claim}' not in text


@pytest.mark.parametrize(
    ("password", "sentence"), [("x" * 1024, "longer than 1023"), ("\udcff" * 20, "no text")]
)
def test_a_password_that_no_key_can_have_is_one_sentence(
    tmp_path: Path, password: str, sentence: str
) -> None:
    with pytest.raises(WorkflowError, match=sentence):
        new_key(tmp_path / "office.key", password)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(WorkflowError, match="is no file: name the file"):
        open_key(Path("/dev/null"), lambda: "sixteen letters!")

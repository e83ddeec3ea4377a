"""Refills: an old copy, a deleted witness or a copied folder does not give spent budget back."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hexcursion.ledger import Ledger, LedgerDamaged, LedgerError, NoLedger, open_ledger
from hexcursion.ledger.chain import parse_seal, read_witness, seals_beside, witness_path
from hexcursion.ledger.places import LedgerKey, create_key, read_key, witness_folder
from tests.hexcursion.ledger.places import DIGEST, charge_for

MU = 0.1


@dataclass(frozen=True)
class Home:
    """A folder with a ledger, its key and its releases, as a backup would take it along."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "ledger.sqlite"

    @property
    def key(self) -> Path:
        return self.folder / "ledger.key"

    @property
    def witness(self) -> Path:
        return witness_path(read_key(self.key))

    def open(self) -> Ledger:
        return open_ledger(self.database)

    def release(self, name: str, *, bundle: bool = True, mu: float = MU) -> str:
        """A whole release whose bundle lies beside the ledger; returns its seal."""
        ledger = self.open()
        dataset = ledger.fingerprint([1.0, 2.0])
        if ledger.account(dataset, "point").budget is None:
            ledger.set_budget(dataset, "point", 5.0, 1e-5)
        charge = charge_for(dataset, mu)  # its title tells it from another one of the same second
        with ledger.charged(replace(charge, facts={**charge.facts, "title": name})) as reservation:
            reservation.begin_draw()
            reservation.commit(name, DIGEST)
        if bundle:
            self.put_bundle(name, reservation.seal)
        return reservation.seal

    def put_bundle(self, name: str, seal: str) -> Path:
        folder = self.folder / "releases" / name
        folder.mkdir(parents=True)
        (folder / "statement.json").write_text(json.dumps({"ledger": {"entry": seal}}))
        return folder

    def spend(self) -> object:
        ledger = self.open()
        return ledger.reserve(charge_for(ledger.fingerprint([1.0, 2.0]), MU))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "home")
    found.release("first")
    return found


def saved(home: Home, tmp_path: Path) -> tuple[Path, Path]:
    """A backup of the database, and one of the witness."""
    copies = tmp_path / "ledger.backup", tmp_path / "witness.backup"
    shutil.copy(home.database, copies[0])
    shutil.copy(home.witness, copies[1])
    return copies


# The four refills


def test_database_and_witness_restored_together_are_found_by_the_release_beside(
    home: Home, tmp_path: Path
) -> None:
    database, witness = saved(home, tmp_path)
    home.release("second")
    shutil.copy(database, home.database)
    shutil.copy(witness, home.witness)
    (finding,) = home.open().verify()
    assert (finding.entry, "cut short or an old copy" in finding.text) == (5, True)
    with pytest.raises(LedgerDamaged, match="entry 5"):
        home.spend()


def test_a_deleted_witness_does_not_hide_an_old_copy(home: Home, tmp_path: Path) -> None:
    database, _ = saved(home, tmp_path)
    home.release("second")
    home.witness.unlink()
    assert home.open().verify() == [], "a witness may be lost: the database is whole"
    shutil.copy(database, home.database)
    home.witness.unlink()
    with pytest.raises(LedgerDamaged, match="entry 5"):
        home.spend()


def test_a_chain_that_grew_anew_is_not_the_one_the_releases_quote(home: Home, tmp_path: Path) -> None:
    database, witness = saved(home, tmp_path)
    home.release("second")
    shutil.move(home.folder / "releases" / "second", tmp_path / "aside")
    shutil.copy(database, home.database)
    shutil.copy(witness, home.witness)
    home.release("third", bundle=False, mu=2 * MU)  # another charge under the same number
    assert home.open().verify() == []
    shutil.move(tmp_path / "aside", home.folder / "releases" / "second")
    (finding,) = home.open().verify()
    assert "not the entry that the release in" in finding.text
    assert "second" in finding.text


@pytest.mark.parametrize("releases", [True, False], ids=["releases beside", "nothing beside"])
def test_with_the_key_kept_a_lost_ledger_is_never_called_none(home: Home, releases: bool) -> None:
    if not releases:
        shutil.rmtree(home.folder / "releases")
    home.database.unlink()
    home.witness.unlink()
    for create in (True, False):
        with pytest.raises(LedgerError) as refused:
            open_ledger(home.database, create=create)
        assert not isinstance(refused.value, NoLedger)
        assert "There is no ledger" not in str(refused.value)
        remembered = "3 entries" if releases else "that one was begun"
        assert f"its key remembers {remembered}: restore the database" in str(refused.value)
    assert not home.database.exists(), "no other is begun in its place"


def test_with_the_witness_kept_a_lost_ledger_is_never_called_none(home: Home) -> None:
    home.database.unlink()
    with pytest.raises(LedgerError, match="its key remembers 5 entries"):
        open_ledger(home.database, create=False)


def test_a_copied_folder_does_not_double_the_budget(home: Home, tmp_path: Path) -> None:
    """Both copies work until one goes on; then this machine's witness knows that the other is behind."""
    copy = Home(tmp_path / "copy")
    shutil.copytree(home.folder, copy.folder)
    assert copy.open().verify() == []
    home.release("second")
    assert copy.witness == home.witness
    with pytest.raises(LedgerDamaged, match="cut short or an old copy"):
        copy.spend()
    assert home.open().verify() == []


def test_two_machines_with_one_copied_ledger_part_at_the_first_meeting(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each spends by itself; a release of one beside the other shows the fork, without a shared witness."""
    copy = Home(tmp_path / "copy")
    shutil.copytree(home.folder, copy.folder)
    home.release("second")
    monkeypatch.setenv("HEXCURSION_WITNESS", str(tmp_path / "other machine"))
    copy.release("third", mu=2 * MU)
    assert copy.open().verify() == []
    shutil.copytree(home.folder / "releases" / "second", copy.folder / "releases" / "second")
    with pytest.raises(LedgerDamaged, match="not the entry that the release in"):
        copy.spend()


# The witness's place


def test_a_backup_of_the_folder_does_not_take_the_witness_along(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert not list(home.folder.rglob("*.head"))
    monkeypatch.delenv("HEXCURSION_WITNESS")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert witness_folder() == tmp_path / "state" / "hexcursion"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    assert witness_folder() == tmp_path / "user" / ".local" / "state" / "hexcursion"
    home.release("second")
    (kept,) = witness_folder().glob("*.head")
    assert kept == home.witness
    assert (kept.stat().st_mode & 0o777, witness_folder().stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_witness_that_cannot_be_kept_stops_the_charge_before_it_is_made(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = home.open().entries()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEXCURSION_WITNESS", str(tmp_path / "file" / "inside"))
    with pytest.raises(LedgerError, match="HEXCURSION_WITNESS"):
        home.spend()
    monkeypatch.undo()
    monkeypatch.setenv("HEXCURSION_WITNESS", str(tmp_path / "another"))
    assert home.open().entries() == rows


def test_a_second_line_in_the_key_is_a_memory_and_no_secret(home: Home, tmp_path: Path) -> None:
    lines = home.key.read_text().split("\n")
    assert [line for line in lines if line] == [lines[0], "# A ledger was begun with this key."]
    home.open()
    assert home.key.read_text().count("#") == 1, "written once"
    fresh = tmp_path / "fresh.key"
    create_key(fresh)
    assert (read_key(fresh).used, read_key(home.key).used) == (False, True)
    fresh.write_text(read_key(fresh).secret.hex())  # as an editor leaves it, without an end of line
    open_ledger(tmp_path / "other.sqlite", fresh)
    assert read_key(fresh).used
    fresh.write_text("ab" * 32 + "\nab\n")
    with pytest.raises(LedgerError, match="not a ledger key"):
        read_key(fresh)


# Seals


def test_seals_of_other_ledgers_are_nobodys_evidence(home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    for name in ("a", "b", "c"):
        other.release(name)
    for name in ("b", "c"):
        shutil.copytree(other.folder / "releases" / name, home.folder / "releases" / name)
    assert home.open().verify() == []
    for key, count in ((home.key, 1), (other.key, 2)):
        found = seals_beside([home.folder / "releases"], read_key(key))
        assert len(found) == count


def test_a_link_that_leads_nowhere_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "lost.zip").symlink_to(tmp_path / "gone")
    assert seals_beside([tmp_path], LedgerKey(tmp_path / "a.key", bytes(32))) == ()


def test_seals_are_found_in_zips_in_other_folders_and_never_trusted(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    seal = home.release("zipped", bundle=False)
    with zipfile.ZipFile(shelf / "zipped.zip", "w") as archive:
        archive.writestr("zipped/statement.json", json.dumps({"ledger": {"entry": seal}}))
    (shelf / "broken.zip").write_bytes(b"PK\x03\x04 no archive")
    (shelf / "empty").mkdir()
    (shelf / "odd").mkdir()
    (shelf / "odd" / "statement.json").write_bytes(b"\xff\xfe not JSON")
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(shelf))
    key = read_key(home.key)
    assert [seen.number for seen in seals_beside([shelf], key)] == [5]
    number, digest = parse_seal(seal)
    forged = [
        f"{number + 40}:{digest}:{seal[-16:]}",
        f"{number}:{'0' * 64}:{seal[-16:]}",
        f"9:{digest}:{'0' * 16}",
    ]
    for index, text in enumerate(forged):
        home.put_bundle(f"forged{index}", text)
    assert len(seals_beside([home.folder / "releases"], key)) == 1
    assert home.open().verify([seal]) == []
    assert seals_beside([tmp_path / "nowhere"], key) == ()


def test_the_tag_of_a_seal_does_not_betray_the_key(home: Home) -> None:
    seal = home.release("second")
    number, digest, tag = seal.split(":")
    assert (number, len(digest), len(tag)) == ("5", 64, 16)
    assert read_key(home.key).secret.hex() not in seal
    assert read_witness(read_key(home.key)) is not None


# A person's void


@pytest.mark.parametrize("where", ["folder", "zip", "beside"])
def test_a_charge_whose_bundle_exists_cannot_be_voided(home: Home, tmp_path: Path, where: str) -> None:
    """The finding: a bundle in place on an open charge, whose charge could then be voided."""
    ledger = home.open()
    reservation = ledger.reserve(charge_for(ledger.fingerprint([1.0, 2.0]), MU))
    place = tmp_path / "out" / "bundle"
    reservation.begin_draw(place)
    put: dict[str, Callable[[], object]] = {
        "folder": lambda: place.mkdir(parents=True),
        "zip": lambda: (place.parent.mkdir(), place.with_name("bundle.zip").write_bytes(b"")),
        "beside": lambda: home.put_bundle("left", reservation.seal),
    }
    put[where]()
    with pytest.raises(LedgerError, match=f"Entry {reservation.number} has a bundle"):
        home.open().void(reservation.number, "nobody has seen it", "Ada")
    shutil.rmtree(place.parent, ignore_errors=True)
    shutil.rmtree(home.folder / "releases" / "left", ignore_errors=True)
    home.open().void(reservation.number, "deleted unseen", "Ada")
    assert home.open().verify() == []


def test_bundles_on_open_charges_are_no_releases(home: Home) -> None:
    """With a seal of one of its charges, but not with one of another ledger, or without a tag."""
    ledger = home.open()
    open_charge = ledger.reserve(charge_for(ledger.fingerprint([1.0, 2.0]), MU))
    number, digest, _ = open_charge.seal.split(":")
    left = home.put_bundle("left", open_charge.seal)
    home.put_bundle("without a tag", f"{number}:{digest}")
    home.put_bundle("foreign", f"{number}:{'0' * 64}")
    assert home.open().uncommitted() == {left}
    assert home.open().verify() == []
    open_charge.begin_draw()
    open_charge.commit("late", DIGEST)
    assert home.open().uncommitted() == frozenset()

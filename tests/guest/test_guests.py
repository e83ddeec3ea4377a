"""The guest test: what a package beside the house brings goes through all of it, which knows none of it."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from argparse import ArgumentParser
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import hexcursion
from dpgp_core import (
    MECHANISMS,
    CollapsedRecords,
    SimulationEntropy,
    design_from_mapping,
    make_prior,
    plugins,
)
from dpgp_core.audit.design import Pair, among, audit_design, worst_pair
from dpgp_core.errors import BoundRefused, InvalidValue, NumericalFailure, PluginError, PriorError
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.ridge_family import RidgeFamily
from dpgp_core.releasing import PublicFacts
from hexcursion.bundle import BundleError, read_bundle
from hexcursion.bundle.layout import zip_bytes_to
from hexcursion.bundle.published.readings import READINGS, of_each
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.statement.designs import proved_bounds
from hexcursion.bundle.write import bundle_contents
from hexcursion.cli import main
from hexcursion.cli.main import add_site_command
from hexcursion.errors import WorkflowError
from hexcursion.lint.bundle import lint_bundle
from hexcursion.lint.checks import LEAK
from hexcursion.settings import field, settings_from_toml, settings_to_toml
from hexcursion.settings.catalogue import reference_page
from pages.shared.server.middleware import security_policy
from pages.shared.steps import all_sections
from tests.dpgp_core.hexmap import disk
from tests.hexcursion.bundle.bundle_samples import small_domain
from tests.hexcursion.bundle.spectral_samples import spectral_release
from tests.patience import HANG
from tests.town import BOX, THRESHOLD

pytestmark = pytest.mark.usefixtures("guests")

HEAD = f"""
bbox = {list(BOX)}
resolution = 8
threshold = {THRESHOLD}
epsilon = 2.0
quick = true
value_unit = "ug/m3"
accept_low_agreement = true
"""


def toml(triples: tuple[Path, Path], **choices: str) -> str:
    """A settings file with the guest loader's files, and further choices as TOML."""
    further = "\n".join(f"{name} = {value}" for name, value in choices.items())
    private, reference = (json.dumps(str(path)) for path in triples)
    return (
        f"{HEAD}{further}\n"
        f'[data]\npath = {private}\nloader = "guest-triples"\n'
        f"[reference]\npath = {reference}\n"
    )


def test_a_guest_goes_from_a_settings_file_to_a_bundle_that_others_read(
    triples: tuple[Path, Path],
    out: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    guests: ModuleType,
) -> None:
    text = toml(triples, mechanisms='["guest-stripes"]', priors='["guest-plateau"]', paths="3")
    settings = settings_from_toml(text)
    assert settings_from_toml(settings_to_toml(settings)) == settings
    assert settings.reference is not None
    assert settings.reference.loader == "guest-triples"
    file = tmp_path / "settings.toml"
    file.write_text(text, encoding="utf-8")

    assert main(["release", "--config", str(file), "--trust-settings", "--out", str(out)]) == 0
    said, curators = capsys.readouterr()
    assert "private.triples: 3,001 rows read, 3,000 kept." in curators
    assert "1 dropped: not three numbers." in curators
    assert re.search(r"Mechanism +Guest stripes, \d stripes, noise \d\.\d+ \(response units\)\.", said)
    assert re.search(r"Bound +gaussian-mechanism: a test, proved\.", said)
    assert re.search(r"Unit of protection +One reading: its value and its place, among 2,885 readings", said)

    bundle = read_bundle(out)
    design = design_from_mapping(bundle.statement["design"])
    assert isinstance(design, guests.StripesDesign)
    assert (design.paths, design.stripes) == (3, 4)  # its class's own: it says nothing of a search
    # Exactly calibrated: 2 sqrt(3) / mu with mu = 0.50156 for (2, 1e-5) (Balle and Wang 2018).
    assert design.noise == pytest.approx(6.90677, abs=1e-4)
    assert bundle.statement["guarantee"]["epsilon"] == pytest.approx(2.0, abs=1e-6)
    assert bundle.statement["subject"]["value"] == "height"
    readme = (out / "README.txt").read_text(encoding="utf-8")
    assert "stripes" in readme
    assert re.search(r"cells\.jsonl +the cells as one JSON object a line", readme)
    lines = [json.loads(line) for line in (out / "cells.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["h3"] for line in lines] == list(bundle.domain.cells)
    assert [line["in_set"] for line in lines] == bundle.published.vote_set.tolist()
    assert "stripes" in (out / "label.html").read_text(encoding="utf-8")
    # A path is constant on each public stripe: at most as many values as stripes.
    assert all(np.unique(path).size <= design.stripes for path in bundle.paths)

    assert [each for each in lint_bundle(out) if each.severity == LEAK] == []
    assert main(["lint", str(out)]) == 0
    viewer = Viewer(bundle)
    assert f"of {bundle.domain.size} hexagons" in viewer.sentences(viewer.at(25.0))[1]
    assert main(["view", str(out), "--threshold", "25"]) == 0
    capsys.readouterr()
    assert main(["ledger", "verify"]) == 0
    assert main(["ledger", "show"]) == 0
    assert "guest-stripes" in capsys.readouterr().out


def test_a_guest_is_named_on_the_command_line(
    triples: tuple[Path, Path], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A house mechanism with the guest prior, tuned on data of the guest loader."""
    words = [
        "release", "--data", str(triples[0]), "--loader", "guest-triples", "--reference", str(triples[1]),
        "--bbox", *map(str, BOX), "--resolution", "7", "--threshold", str(THRESHOLD), "--epsilon", "2",
        "--quick", "--priors", "guest-plateau", "--mechanisms", "posterior-sampling", "--out", str(out),
        "--show-baseline", "--accept-low-agreement",
    ]  # fmt: skip
    assert main(words) == 0
    assert "posterior-sampling" in capsys.readouterr().out.lower().replace(" ", "-")
    design = design_from_mapping(read_bundle(out).statement["design"])
    assert (design.mechanism, getattr(design, "prior", None)) == ("posterior-sampling", "guest-plateau")


def test_mechanisms_of_the_house_and_a_guest_are_searched_together(
    triples: tuple[Path, Path], out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        toml(
            triples,
            mechanisms='["guest-stripes", "noisy-cell-statistics"]',
            priors='["guest-plateau"]',
            resolution="7",
        ).replace("resolution = 8\n", ""),
        encoding="utf-8",
    )
    assert main(["release", "--config", str(file), "--trust-settings", "--out", str(out), "--dry-run"]) == 0
    assert "nothing was drawn" in capsys.readouterr().out


def test_words_and_pages_of_settings_name_the_guests() -> None:
    assert "guest-stripes" in field("mechanisms").choices
    assert field("priors").choices[-1] == "guest-plateau"
    assert field("data.loader").choices[-1] == "guest-triples"
    assert "guest-stripes" in reference_page()
    assert "guest-triples" in reference_page()


def test_a_guest_loader_says_itself_what_it_lacks(triples: tuple[Path, Path]) -> None:
    text = toml(triples).replace("private.triples", "private.csv")
    with pytest.raises(WorkflowError, match=r"^Guest triples end in \.triples: name such a file\.$"):
        settings_from_toml(text)


def test_the_posterior_of_a_guest_prior_is_the_textbook_one() -> None:
    """Against the plain formulas with K = 0.4 + 0.5 I, for fit, for a search's family and for the audit."""
    prior, records = (
        make_prior("guest-plateau", disk(1), 500.0),
        CollapsedRecords([0, 4], [2, 1], [0.5, -1.0]),
    )
    matrix = 0.4 + 0.5 * np.eye(7)
    kernel, noise = matrix[np.ix_([0, 4], [0, 4])], np.diag([2.25 / 2, 2.25 / 1])
    gain = matrix[:, [0, 4]] @ np.linalg.inv(kernel + noise)
    mean, variance = gain @ [0.5, -1.0], np.diag(matrix - gain @ matrix[[0, 4]])
    posterior = fit(prior, records, 1.5)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-12)
    np.testing.assert_allclose(posterior.variance, variance, atol=1e-12)
    family = RidgeFamily(prior, records, 2, SimulationEntropy(1)).at(1.5)
    np.testing.assert_allclose(family.mean, mean, atol=1e-12)
    np.testing.assert_allclose(family.variance, variance, atol=1e-12)
    np.testing.assert_allclose(among(prior, np.array([0, 3])), [[0.9, 0.4], [0.4, 0.9]])


@pytest.mark.parametrize("error", [NumericalFailure, PriorError])
def test_what_a_guest_cannot_do_is_one_sentence(
    triples: tuple[Path, Path],
    out: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    guests: ModuleType,
) -> None:
    def refuse(lattice: object, lengthscale: float) -> Any:
        raise error("the guest's matrix is singular: use a shorter lengthscale.")

    monkeypatch.setattr(guests, "PLATEAU", replace(guests.PLATEAU, make=refuse))
    file = tmp_path / "settings.toml"
    file.write_text(toml(triples, priors='["guest-plateau"]'), encoding="utf-8")
    assert main(["release", "--config", str(file), "--trust-settings", "--out", str(out)]) == 2
    *_, expected, said = capsys.readouterr().err.splitlines()
    assert expected.startswith("Expected now: about ")
    assert said == "error: the guest's matrix is singular: use a shorter lengthscale."
    assert not out.exists()


def test_a_guest_export_is_checked_by_the_reader_like_any_other(
    triples: tuple[Path, Path], out: Path, tmp_path: Path
) -> None:
    """One cell moved into the set, and the checksums made to fit: the reader still sees it."""
    file = tmp_path / "settings.toml"
    text = toml(triples, mechanisms='["guest-stripes"]').replace("resolution = 8", "resolution = 7")
    file.write_text(text, encoding="utf-8")
    assert main(["release", "--config", str(file), "--trust-settings", "--out", str(out)]) == 0
    export, sums = out / "cells.jsonl", out / "SHA256SUMS"
    told = export.read_text(encoding="utf-8")
    changed = told.replace('"in_set": false', '"in_set": true', 1)
    assert changed != told
    export.write_text(changed, encoding="utf-8")
    digests = [hashlib.sha256(each.encode()).hexdigest() for each in (told, changed)]
    sums.write_text(sums.read_text(encoding="utf-8").replace(*digests), encoding="utf-8")
    with pytest.raises(BundleError, match=r"cells\.jsonl"):
        read_bundle(out)


def test_without_the_guest_its_bundle_is_refused_in_one_sentence(
    triples: tuple[Path, Path], out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.toml"
    text = toml(triples, mechanisms='["guest-stripes"]').replace("resolution = 8", "resolution = 7")
    file.write_text(text, encoding="utf-8")
    assert main(["release", "--config", str(file), "--trust-settings", "--out", str(out)]) == 0
    assert read_bundle(out).statement["exports"] == ["cells.jsonl"]
    monkeypatch.setattr(plugins, "entry_points", lambda group: ())
    plugins.installed.cache_clear()
    assert "guest-stripes" not in MECHANISMS
    with pytest.raises(BundleError, match=r"^The mechanism 'guest-stripes' is not known here: install"):
        read_bundle(out)


def test_a_guest_is_known_in_a_spawned_process(guests: ModuleType) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        title = import_module(f"{guests.__name__}.command").title
        assert pool.submit(title).result(HANG) == "Guest stripes"


def test_a_guest_brings_a_command_and_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guests"]) == 0
    assert capsys.readouterr().out == "Guest stripes\n"
    sections = all_sections()
    assert [each.address for each in sections["Guests"]] == ["guests"]
    assert list(sections)[:3] == ["", "From data to map", "Guests"]
    assert [name for name in sections if name != "Trips"][3:] == ["Look and check", "About"]


def test_a_guest_reads_bundles_together_for_sites_programs_and_the_viewer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundles = [tmp_path / f"{name}.zip" for name in ("a", "b", "c")]
    for year, path in enumerate(bundles, 2017):
        contents = bundle_contents(spectral_release(small_domain(), 1, ranged=True, release_id=f"hx-{year}"))
        with path.open("wb") as stream:
            zip_bytes_to(stream, path.stem, contents)
    two, site = [str(path) for path in bundles[:2]], tmp_path / "site"
    assert main(["site", *two, "--out", str(site), "--pairs"]) == 0
    index = (site / "index.html").read_text(encoding="utf-8")
    (folder,) = re.findall(r'<a href="(pairs-[^"/]+)/pair\.html">Which two\?</a>', index)
    assert "Two &amp; no more." in index
    assert set((site / folder / "pair.html").read_text().split(" and ")) == {"hx-2017", "hx-2018"}
    capsys.readouterr()
    three = [str(path) for path in bundles]
    assert main(["site", *three, "--out", str(tmp_path / "three"), "--pairs"]) == 1
    assert capsys.readouterr().err.endswith("are not read together. A pair is two bundles: name two.\n")
    assert main(["site", two[0], "--out", str(tmp_path / "one"), "--pairs"]) == 1
    assert capsys.readouterr().err.endswith("name two bundles, or leave out the pairs.\n")
    assert hexcursion.pairs(bundles[:2]).files["pair.html"] == b"hx-2017 and hx-2018"
    digest = base64.b64encode(hashlib.sha256(b"'pairs'").digest()).decode()
    assert f"'sha256-{digest}'" in security_policy(b"")
    assert "Pairs" in [READINGS[name].tab for name in READINGS]


def test_a_reading_that_does_not_load_takes_nothing_else_away(
    monkeypatch: pytest.MonkeyPatch, guests: ModuleType
) -> None:
    monkeypatch.delattr(import_module(f"{guests.__name__}.pairs"), "PAIRS")
    names = [name for name in READINGS if name != "pairs"]
    found, refused = of_each(lambda reading: reading.name)
    assert found == names
    (sentence,) = map(str, refused)
    assert sentence.startswith("'pairs' of the package hexcursion-guest (hexcursion.readings) cannot be used")
    assert "script-src 'self'" in security_policy(b"")


def test_a_reading_cannot_take_the_name_of_an_option() -> None:
    commands = ArgumentParser().add_subparsers()
    with pytest.raises(PluginError, match="since it bears the name of an option of `site`: repair or"):
        add_site_command(commands, ["signers"])


def test_a_command_that_does_not_load_is_one_sentence_and_hinders_no_other(
    monkeypatch: pytest.MonkeyPatch, guests: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(import_module(f"{guests.__name__}.command"), "add_guests_command")
    assert main(["guests"]) == 2
    assert capsys.readouterr().err.startswith(
        "error: 'guests' of the package hexcursion-guest (hexcursion.commands) cannot be used, since it does "
        "not load (AttributeError: "
    )
    assert main(["ledger", "show"]) == 2
    assert "hexcursion-guest" not in capsys.readouterr().err


def test_a_mechanism_of_four_methods_is_searched_priced_and_attacked_by_defaults(guests: ModuleType) -> None:
    """Each default errs towards privacy: no smaller price, no promise and no law of its own."""
    mechanism, prior = guests.STRIPES, make_prior("car", disk(3), 500.0)
    facts, budget = PublicFacts(prior.lattice, 100, places_public=True), Budget(2.0, 1e-5)
    written = {name for name, thing in vars(guests.Stripes).items() if callable(thing)}
    assert written == {"guarantee", "calibrate", "prepare", "describe", "design_type"}
    assert mechanism.protection.hides(facts) == "values and places"
    assert (mechanism.free_paths, mechanism.exact_on_a_computer, mechanism.usual) == (False, False, False)
    (design,) = mechanism.search.grid(facts, SearchSpec(("car",), paths=3))
    assert design == guests.StripesDesign(paths=3)
    assert mechanism.search.refinement((design,), facts, SearchSpec(("car",))) == ()
    assert (
        mechanism.search.fixed(500.0)
        is mechanism.search.given(facts, SearchSpec(("car",)), 900.0, 1.0)
        is None
    )
    made = mechanism.calibrate(replace(design, paths=1), facts, budget)
    other = replace(facts, relation="add-or-remove")  # it does not look at the neighbours itself
    assert mechanism.calibrate(design, other, budget) is None
    with pytest.raises(
        BoundRefused, match=r"^Guest stripes is proved for other neighbours: choose 'replace-one'"
    ):
        mechanism.guarantee(made, other)
    louder = replace(made, noise=2.0 * made.noise)
    assert mechanism.search.unpriced(made, facts) == mechanism.search.unpriced(louder, facts)
    assert questions.sharpened(made, facts, budget) is made
    assert questions.priced(louder, facts, 1e-5) == (louder, pytest.approx(0.929495, abs=1e-6))
    assert questions.floor(made, facts, 1e-5) == 0.0
    assert mechanism.apart_mu(made, 3) is questions.least_cost(made) is None
    assert questions.mean_and_noise(made, facts, CollapsedRecords([0], [1], [1.0]), [0]) is None
    with pytest.raises(InvalidValue, match=r"^The audit knows no law of guest-stripes: name the pair"):
        worst_pair(made, prior, 100)
    first, second = (CollapsedRecords([0, 5], [1, 99], [value, 0.0]) for value in (1.0, -1.0))
    pair, claim = Pair(first, second, (0, 0), math.nan), mechanism.guarantee(made, facts).epsilon
    for noise, honest in ((made.noise, True), (0.25 * made.noise, False)):
        attacked = replace(made, noise=noise)
        found = audit_design(
            attacked, prior, 100, claim, 1e-5, entropy=SimulationEntropy(1), trials=2_000, pair=pair
        )
        assert found.alarm != honest


def test_a_guest_says_itself_which_bounds_of_its_own_are_proved(
    monkeypatch: pytest.MonkeyPatch, guests: ModuleType
) -> None:
    assert "stripe-lemma" not in proved_bounds("guest-stripes")
    monkeypatch.setattr(guests.Stripes, "bounds", ("stripe-lemma",))
    assert proved_bounds("guest-stripes") - proved_bounds("posterior-sampling") == {"stripe-lemma"}

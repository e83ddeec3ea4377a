"""The lint of written bundles: what someone might add to one, or leave out of its domain."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from dpgp_core.accounting.composition import Cost, epsilon
from dpgp_core.accounting.rdp import RdpCurve
from dpgp_core.accounting.tails import GaussianPairs
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.posterior_sampling import PosteriorSampling
from dpgp_core.releasing import PublicFacts
from geo import domain_from_cells, geometry_dict
from hexcursion.bundle import BundleError
from hexcursion.bundle.again import check_price
from hexcursion.bundle.layout import sums_text, zip_bytes_to
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.lint.bundle import lint_bundle, plan_from_bundle
from hexcursion.lint.checks import LEAK
from hexcursion.project.load import build_lattice
from hexcursion.record import Tuning
from tests.hexcursion.bundle.bundle_samples import groups_of, guarded, make_release, small_domain

Contents = dict[str, bytes]


@pytest.fixture(scope="module")
def contents() -> Contents:
    return bundle_contents(make_release(small_domain()))


def zipped(contents: Contents) -> bytes:
    sealed = {
        **contents,
        "SHA256SUMS": sums_text({n: c for n, c in contents.items() if n != "SHA256SUMS"}).encode(),
    }
    sink = io.BytesIO()
    zip_bytes_to(sink, "bundle", sealed)
    return sink.getvalue()


def codes(contents: Contents) -> set[str]:
    return {finding.code for finding in lint_bundle(zipped(contents))}


def with_json(contents: Contents, name: str, edit: Callable[[Any], None]) -> Contents:
    value = json.loads(contents[name])
    edit(value)
    return {**contents, name: json.dumps(value).encode()}


@pytest.mark.parametrize(
    ("share", "distance", "refused"),
    [
        (1.0, 2.0**-150, False),
        (0.1, 2.0**-150, True),
        (1.0, 2.0**-151, True),
        (1.0, 0.0, False),
        (0.1, 0.0, True),
    ],
)
def test_the_price_of_paths_is_computed_again_from_their_hexagons(
    share: float, distance: float, refused: bool
) -> None:
    """An epsilon of .2 was accepted for paths that cost 2: leverage and curve are the publisher's no more.

    A distance of 0 is that of a bundle from before exact paths, whose receipt claims no proof of its floats.
    """
    domain = small_domain()
    design = PosteriorSamplingDesign("car", 2000.0, 8.0, 1.0, paths=12, bound="joint-sharp")
    facts = PublicFacts(build_lattice(domain), 30_123)
    proved = PosteriorSampling().guarantee(design, facts).cost
    assert proved.pairs is not None
    curve = RdpCurve(share * proved.curve.values)
    cost = Cost(curve, pairs=GaussianPairs(share * proved.pairs.leverage, 12), distance=distance)
    privacy = replace(
        guarded(), cost=cost, epsilon=epsilon(cost, 1e-5).epsilon, order=None, group=groups_of(cost),
        rdp_values=tuple(curve.values.tolist()),
    )  # fmt: skip
    release = make_release(domain, design=design, privacy=privacy)
    bundle = bundle_from_contents(bundle_contents(release, None))
    if not refused:
        check_price(bundle)
        return
    with pytest.raises(BundleError, match="smaller than what the noise of its design costs"):
        check_price(bundle)


def test_a_bundle_as_written_leaks_nothing(contents: Contents) -> None:
    found = lint_bundle(zipped(contents))
    assert {finding.code for finding in found} == {
        "n-taken-as-public",
        "delta-close-to-1/n",
        "cannot-be-seen",
    }
    assert not any(finding.severity == LEAK for finding in found)


def test_what_no_file_can_show_is_not_passed_over(contents: Contents) -> None:
    """These eight were once filled with answers that pass every rule."""
    plan = plan_from_bundle(bundle_from_contents(contents))
    hidden = {item.name for item in fields(plan) if getattr(plan, item.name) == "cannot be seen in a bundle"}
    assert hidden == {
        "delta_rule",
        "scaling",
        "mask",
        "selection",
        "threshold",
        "legend",
        "seed",
        "draws",
    }
    (said,) = (one for one in lint_bundle(zipped(contents)) if one.code == "cannot-be-seen")
    assert said.severity == "note"
    for words in (
        "Cannot be seen in a bundle: whether delta was fixed before",
        "whether filters (years, kinds, districts) were chosen on the records",
        "whether the threshold was chosen on the records",
        "whether this was the only draw",
    ):
        assert words in said.leaks


def test_a_fixed_seed_can_be_seen() -> None:
    seeded = bundle_contents(make_release(small_domain(), simulation=True))
    plan = plan_from_bundle(bundle_from_contents(seeded))
    assert plan.seed == "fixed"
    assert "seed-fixed" in codes(seeded)


@pytest.mark.parametrize("name", ["README.txt", "ATTRIBUTION.txt", "label.html"])
def test_a_paper_that_says_otherwise_is_found(contents: Contents, name: str) -> None:
    assert "paper-changed" not in codes(contents)
    said = contents[name].decode().replace("Hexcursion", "Nobody").replace("2.397", "0.01").encode()
    assert said != contents[name]
    assert "paper-changed" in codes({**contents, name: said})


@pytest.mark.parametrize("key", ["count", "median", "baseline", "seed"])
def test_columns_joined_to_a_layer_are_found(contents: Contents, key: str) -> None:
    for name in ("cells.geojson", "regions.geojson", "boundary.geojson"):
        joined = with_json(contents, name, lambda c: c["features"][0]["properties"].update({key: 5}))
        assert "attribute-not-released" in codes(joined), name
        foreign = with_json(contents, name, lambda c: c.update({key: 5}))
        assert "attribute-not-released" in codes(foreign), name


def test_a_seed_in_any_text_is_found(contents: Contents) -> None:
    for name in ("README.txt", "label.html", "ATTRIBUTION.txt"):
        assert "seed-in-text" in codes({**contents, name: contents[name] + b"\nrandom seed = 12345\n"})


def test_scripts_and_outside_requests_in_the_label_are_found(contents: Contents) -> None:
    for addition in (
        b"<script>x()</script>",
        b'<img src="https://tracker.example/x.png">',
        b'<p onclick="x()">a</p>',
        b'<iframe src="x"></iframe>',
    ):
        page = contents["label.html"].replace(b"</main>", addition + b"</main>")
        assert "label-not-still" in codes({**contents, "label.html": page}), addition


def test_the_letters_of_a_picture_are_no_script(contents: Contents) -> None:
    """About one picture of a thousand ends in letters that read like the name of a handler of events."""
    page = re.sub(rb"base64,[^\"]+", b"base64,iVBOR/onE9==", contents["label.html"])
    assert page != contents["label.html"]
    assert "label-not-still" not in codes({**contents, "label.html": page})


def test_a_changed_script_is_refused(contents: Contents) -> None:
    with pytest.raises(BundleError, match="do not run it"):
        codes({**contents, "redraw.py": b"print('hello')\n"})


def test_a_domain_with_gaps_looks_like_a_mask() -> None:
    full = small_domain()
    occupied = domain_from_cells([c for k, c in enumerate(full.cells) if k % 7], geometry_dict(full.region))
    masked = bundle_contents(make_release(occupied))
    assert "domain-occupied-cells" in codes(masked)


def test_admissions_of_the_statement_are_repeated() -> None:
    admitted = bundle_contents(
        make_release(
            small_domain(), simulation=True, tuning=Tuning("not accounted", "by eye"), ledger_entry=""
        )
    )
    assert {"seed-fixed", "tuning-not-accounted", "ledger-missing"} <= codes(admitted)


def test_geojson_that_is_not_rfc_7946_is_noted(contents: Contents) -> None:
    def reverse(collection: Any) -> None:
        collection["features"][0]["geometry"]["coordinates"][0].reverse()

    assert "geojson-not-rfc7946" in codes(with_json(contents, "cells.geojson", reverse))


def test_the_shipped_example_has_the_pages_that_are_made_of_it_today() -> None:
    """After a change to the page or the label: `python -m studies.screens.tour --pages`."""
    shipped = Path(__file__).resolve().parents[3] / "static" / "tour" / "bundle.zip"
    assert {finding.code for finding in lint_bundle(shipped)} == {
        "n-taken-as-public",
        "delta-close-to-1/n",
        "cannot-be-seen",
    }

"""The worked pages of the documentation: short enough to be read, and their code does what they say."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from data_loaders import LOADERS, DataError, Loader
from dpgp_core import (
    MECHANISMS,
    Budget,
    CollapsedRecords,
    PriorFamily,
    PublicFacts,
    SimulationEntropy,
    SystemEntropy,
    design_from_mapping,
    draw_release,
)
from dpgp_core.mechanisms.base import Mechanism
from hexcursion.bundle import BundleError
from hexcursion.bundle.exports import EXPORTS
from hexcursion.bundle.layout import sums_text
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from pages.shared.session import workspace
from tests.dpgp_core.hexmap import disk
from tests.dpgp_core.mechanisms import test_mechanisms as laws
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain

PAGES = Path(__file__).resolve().parents[2] / "docs" / "contributing"
WORKED = ("mechanism", "prior", "loader", "page", "format")


def code_of(page: str) -> dict[str, Any]:
    """What the Python of a page defines."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (PAGES / f"{page}.md").read_text(encoding="utf-8"), re.M | re.S
    )
    assert blocks, f"{page}.md shows no code"
    names: dict[str, Any] = {"__name__": f"docs_{page}"}
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec", dont_inherit=True), names)
    return names


def indented(page: str) -> str:
    """The lines of a page that are set apart by four spaces, outside of its fenced code and its list."""
    text = re.sub(
        r"^```python\n.*?^```$", "", (PAGES / f"{page}.md").read_text(encoding="utf-8"), flags=re.M | re.S
    )
    found = re.findall(r"(?:^\n)((?:^(?: {4}.*)?\n)+)", text, re.M)
    return "\n".join(line[4:] for block in found for line in block.splitlines())


@pytest.mark.parametrize("page", WORKED)
def test_a_worked_page_has_at_most_forty_lines(page: str) -> None:
    assert len((PAGES / f"{page}.md").read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("page", ["mechanism", "prior", "loader", "page"])
def test_a_module_of_a_page_says_its_duty(page: str) -> None:
    """`tests/architecture` asks it of every module, and so of one that is copied from here."""
    assert code_of(page)["__doc__"]


@pytest.mark.parametrize("page", WORKED)
def test_the_code_of_a_page_can_stand_where_the_page_puts_it(page: str) -> None:
    """A registry imports what is registered, so that may import neither it nor the package that shows it."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    imported = set(re.findall(r"^from (\S+) import", text, re.M))
    assert not {name for name in imported if "." not in name and name != "dataclasses"}
    assert not {name for name in imported if name.endswith(".registry")}


def test_the_mechanism_of_the_page_costs_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    toy: Mechanism = code_of("mechanism")["DomainMean"]()
    monkeypatch.setitem(MECHANISMS, toy.name, toy)
    lattice = disk(2)
    records = CollapsedRecords(np.array([0, 3]), np.array([150, 50]), np.array([0.5, -0.5]))
    facts = PublicFacts(lattice, n=records.n)
    design = toy.calibrate(toy.design_type(), facts, Budget(1.0, 1e-5))
    assert design is not None
    # A Gaussian mechanism of sensitivity 2/200 at (1, 1e-5): noise 0.01 * 3.7306 (Balle and Wang 2018).
    assert design.noise == pytest.approx(0.037306, abs=2e-6)
    assert 0.9999 < toy.guarantee(design, facts).epsilon(1e-5).epsilon <= 1.0
    assert design_from_mapping(design.to_mapping()) == design
    released = draw_release(toy.prepare(design, facts, records), SystemEntropy())
    assert released.paths.shape == (1, lattice.size)
    means = [
        float(
            draw_release(toy.prepare(design, facts, records), SimulationEntropy(seed), simulation=True).paths[
                0, 0
            ]
        )
        for seed in range(400)
    ]
    assert np.mean(means) == pytest.approx(0.25, abs=0.008)  # (150 * 0.5 - 50 * 0.5) / 200
    assert np.std(means) == pytest.approx(0.0373, rel=0.15)


@pytest.mark.parametrize(
    "law",
    [
        laws.test_a_design_is_described_in_a_line,
        laws.test_a_release_has_its_shape_its_grid_and_its_statistics,
        laws.test_two_releases_differ_and_two_simulations_do_not,
        laws.test_a_release_refuses_seeds_and_records_outside,
    ],
)
def test_the_mechanism_of_the_page_keeps_the_laws_over_the_registry(
    law: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever adds a mechanism needs to enter it into no list of a test."""
    toy: Mechanism = code_of("mechanism")["DomainMean"]()
    monkeypatch.setitem(MECHANISMS, toy.name, toy)
    law(toy.name)


@pytest.mark.parametrize("page", ["mechanism", "prior", "loader"])
def test_a_page_names_the_command_that_writes_the_settings_page(page: str) -> None:
    """Its names stand in docs/settings.md, and a test compares that page."""
    assert "`python -m hexcursion.settings`" in (PAGES / f"{page}.md").read_text(encoding="utf-8")


def test_the_prior_of_the_page_keeps_the_laws_of_priors() -> None:
    names = code_of("prior")
    prior = names["make"](disk(3), 900.0)
    matrix = prior.correlation()
    assert np.linalg.eigvalsh(matrix).min() > 0
    assert 0 < prior.kappa <= matrix.min()
    assert names["matern52"](np.array(1.0)) == pytest.approx(0.5239941088318203)
    known = {"PriorFamily": PriorFamily, "matern52": SimpleNamespace(**names)}
    (family,) = eval(indented("prior"), known)
    assert (family.name, family.title, family.decay) == ("matern52", "Matérn 5/2 kernel", 3.5)
    assert family.make(disk(1), 900.0).name == "matern52"


def test_the_loader_of_the_page_accounts_for_every_line() -> None:
    load = code_of("loader")["load_triples"]
    found, report = load(b"-0.1;51.5;20\nnothing\n1;2\n-0.2;51.6;30.5\n", unit="ug/m3")
    assert found.value.tolist() == [20.0, 30.5]
    assert found.x.tolist() == [-0.1, -0.2]
    assert (report.rows_read, report.kept, report.dropped) == (4, 2, (("not three numbers", 2),))
    with pytest.raises(DataError, match="no line of three numbers"):
        load(b"a;b;c\n", unit="ug/m3")


def test_the_line_of_the_page_registers_its_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = eval(indented("loader"), {"Loader": Loader, **code_of("loader")})
    monkeypatch.setitem(LOADERS, line.name, line)
    path = tmp_path / "a.triples"
    path.write_bytes(b"-0.1;51.5;20\n")
    found, _ = LOADERS["triples"].read(SimpleNamespace(path=str(path)), "ug/m3", None)
    assert found.value.tolist() == [20.0]


def test_the_view_of_the_page_says_its_sentence() -> None:
    assert code_of("page")["Size"](1248, 8).sentence == "1,248 hexagons of resolution 8."


def test_the_page_of_the_page_draws_its_view(monkeypatch: pytest.MonkeyPatch) -> None:
    view = ModuleType("pages.size.view")
    vars(view).update(code_of("page"))
    monkeypatch.setitem(sys.modules, "pages.size", ModuleType("pages.size"))
    monkeypatch.setitem(sys.modules, "pages.size.view", view)
    screen = AppTest.from_string(indented("page"))
    work = SimpleNamespace(domain=None)
    monkeypatch.setattr(workspace, "current", lambda: work)
    assert [each.value for each in screen.run().info] == ["Choose hexagons first."]
    work.domain = SimpleNamespace(size=1248, resolution=8)
    assert [each.value for each in screen.run().text] == ["1,248 hexagons of resolution 8."]


def test_the_format_of_the_page_joins_a_bundle_and_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = code_of("format")["LINES"]
    monkeypatch.setitem(EXPORTS, toy.file, toy)
    contents = bundle_contents(make_release(small_domain()))
    lines = contents["cells.jsonl"].decode().splitlines()
    assert lines[0].startswith('{"h3": "88194ad061fffff", "class": "not above", "in_set": ')
    assert len(lines) == 122
    assert bundle_from_contents(contents).domain.size == 122
    domain = small_domain()  # a release with a probability has more columns
    mean = np.linspace(-1.0, 1.0, domain.size)
    more = bundle_contents(make_release(domain, mean=mean, sd=np.full(domain.size, 0.5)))
    assert '"excursion_function": ' in more["cells.jsonl"].decode().splitlines()[0]
    assert bundle_from_contents(more).domain.size == 122
    turned = contents["cells.jsonl"].replace(b'"in_set": false', b'"in_set": true', 1)
    forged = {**contents, "cells.jsonl": turned}
    rest = {name: content for name, content in forged.items() if name != "SHA256SUMS"}
    with pytest.raises(BundleError, match=r"cells\.jsonl does not follow from the paths: in_set"):
        bundle_from_contents({**rest, "SHA256SUMS": sums_text(rest).encode()})
    with pytest.raises(BundleError, match=r"cells\.jsonl is damaged"):
        toy.read(b"\xff")

"""The worked pages of the documentation: short enough to be read, and their code does what they say."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from data_loaders import DataError
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
from tests.dpgp_core.hexmap import disk
from tests.workflow.bundle.bundle_samples import make_release, small_domain
from workflow.bundle import BundleError
from workflow.bundle.exports.registry import EXPORTS
from workflow.bundle.files.layout import sums_text
from workflow.bundle.reading.read import bundle_from_contents
from workflow.bundle.writing.write import bundle_contents

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


@pytest.mark.parametrize("page", WORKED)
def test_a_worked_page_has_at_most_forty_lines(page: str) -> None:
    assert len((PAGES / f"{page}.md").read_text(encoding="utf-8").splitlines()) <= 40


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
    means = [float(draw_release(toy.prepare(design, facts, records), SimulationEntropy(seed), simulation=True)
                   .paths[0, 0]) for seed in range(400)]  # fmt: skip
    assert np.mean(means) == pytest.approx(0.25, abs=0.008)  # (150 * 0.5 - 50 * 0.5) / 200
    assert np.std(means) == pytest.approx(0.0373, rel=0.15)


def test_the_prior_of_the_page_keeps_the_laws_of_priors() -> None:
    names = code_of("prior")
    prior = names["make"](disk(3), 900.0)
    matrix = prior.correlation()
    assert np.linalg.eigvalsh(matrix).min() > 0
    assert 0 < prior.kappa <= matrix.min()
    assert names["matern52"](np.array(1.0)) == pytest.approx(0.5239941088318203)
    (line,) = re.findall(r"^    (PriorFamily\(.*\)),", (PAGES / "prior.md").read_text(encoding="utf-8"), re.M)
    family = eval(line, {"PriorFamily": PriorFamily, "matern52": SimpleNamespace(make=names["make"])})
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


def test_the_view_of_the_page_says_its_sentence() -> None:
    assert code_of("page")["Size"](1248, 8).sentence == "1,248 hexagons of resolution 8."


def test_the_format_of_the_page_joins_a_bundle_and_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = code_of("format")["LINES"]
    monkeypatch.setitem(EXPORTS, toy.file, toy)
    contents = bundle_contents(make_release(small_domain()))
    lines = contents["cells.jsonl"].decode().splitlines()
    assert lines[0].startswith('{"h3": "88194ad061fffff", "in_set": ')
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

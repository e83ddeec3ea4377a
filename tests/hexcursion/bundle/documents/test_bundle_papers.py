"""The papers of a bundle: label, README; safe to open whatever the release's texts hold."""

from __future__ import annotations

import json
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from geo import Domain
from hexcursion.bundle import neutral_cell, write_bundle
from hexcursion.bundle.page.papers import without_picture
from hexcursion.bundle.untrusted import FORMULA_STARTS, clean
from hexcursion.bundle.write import bundle_contents
from hexcursion.record import Release, Tuning
from tests.hexcursion.bundle.bundle_samples import make_release, retold
from tests.patience import HANG

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pdf-header-footer",
)
NASTY = "=cmd|'/c calc'!A1 <script>alert(1)</script> \u202egnp.exe\u202c \x1b[31m \"quoted\" & {braces}"


class Page(HTMLParser):
    """Tags, attributes and visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_label_is_still_and_escaped(release: Release) -> None:
    nasty = retold(
        release, title=NASTY, attribution=(NASTY,), notes=(NASTY,), value_name=NASTY, value_unit=NASTY[:50]
    )
    html = bundle_contents(nasty)["label.html"].decode()
    page = Page(html)
    assert not {"script", "link", "iframe", "object", "embed", "form", "a"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("href", "style")]
    sources = [value or "" for name, value in page.attributes if name == "src"]
    assert [value[:22] for value in sources] == ["data:image/png;base64,"]
    outside = without_picture(html.encode())
    assert "http" not in outside.replace("http-equiv", "")
    assert "url(" not in outside
    assert "@import" not in outside
    assert "<script>alert(1)</script>" in "".join(page.text)  # as text, never as a tag
    assert "\u202e" not in html
    assert "\x1b" not in html


def test_the_label_says_what_must_not_be_overlooked(release: Release) -> None:
    text = "".join(Page(bundle_contents(release)["label.html"].decode()).text)
    for wanted in (
        "One sale: its value and its place, among 30,123 sales.",
        "joint-sharp: docs/joint-bound.md, proved.",
        "Someone with up to 5 sales",
        "Where do properties sell for more than £442,413?",
        "The number of sales is treated as public.",
        "Open Government Licence",
        release.release_id,
    ):
        assert wanted in text
    bad = retold(
        release, generated=True, simulation=True, tuning=Tuning("not accounted", "chosen by looking")
    )
    flagged = bundle_contents(bad)
    for name in ("label.html", "README.txt"):
        content = flagged[name].decode().lower()
        for wanted in ("simulation with a fixed seed", "generated demo data", "tuning not accounted"):
            assert wanted in content


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed")
@pytest.mark.browser
def test_label_and_page_print_on_one_page_each(domain: Domain, release: Release, tmp_path: Path) -> None:
    long = retold(
        release,
        attribution=tuple(f"Source {k}: " + "licensed to be reused with attribution. " * 6 for k in range(5)),
        notes=("A note. " * 40,),
        domain_origin="Public geography: " + "a long description of the region " * 10,
        receipt=release.receipt + release.receipt[:6],
    )
    for name, case in (("usual", release), ("long", long), ("single", make_release(domain, paths=1))):
        folder = write_bundle(case, tmp_path / name).directory
        pdf = tmp_path / f"{name}.pdf"
        profile = f"--user-data-dir={tmp_path / 'profile'}"
        for paper in ("label.html", "map.html") if name == "long" else ("label.html",):
            page = (folder / paper).as_uri()
            command = [CHROMIUM, *FLAGS, profile, f"--print-to-pdf={pdf}", page]
            subprocess.run(command, check=True, capture_output=True, timeout=HANG)
            assert pdf.read_bytes().count(b"/Type /Page\n") == 1, (name, paper)


def test_text_is_cleaned_and_formulas_are_neutralised() -> None:
    assert clean("  a\n b\t\u202ec\u200b\x00 ", 10, "x") == "a b c"
    with pytest.raises(ValueError, match="shorten it to 3"):
        clean("four", 3, "A text")
    for start in FORMULA_STARTS:
        assert neutral_cell(f"{start}SUM(A1)")[0] == "'"
    assert neutral_cell(" =1+1")[0] == "'"
    assert neutral_cell("price") == "price"
    assert neutral_cell("") == ""


def test_no_attribute_of_a_layer_is_a_formula(release: Release) -> None:
    nasty = retold(release, title="=HYPERLINK(1)", value_name="@SUM(1)", value_unit="+1", release_id="-1")
    contents = bundle_contents(nasty)
    for name in ("cells.geojson", "regions.geojson", "boundary.geojson"):
        for feature in json.loads(contents[name])["features"]:
            for value in feature["properties"].values():
                assert not (isinstance(value, str) and value.startswith(("=", "+", "-", "@")))


def test_the_readme_lists_every_file(contents: dict[str, bytes]) -> None:
    text = contents["README.txt"].decode()
    for name in set(contents) - {"README.txt"}:
        assert f"\n{name} " in text
    assert max(map(len, text.splitlines())) <= 90


def test_what_the_publisher_says_himself_is_marked_wherever_it_stands(release: Release) -> None:
    claim = "Certified by the state."
    made = bundle_contents(retold(release, title=claim, notes=(claim,), attribution=(claim,)))
    mark = "publisher's own words, which no program checks"
    for name in ("label.html", "map.html", "README.txt"):
        text = " ".join("".join(Page(made[name].decode()).text).split())
        assert mark in text, name
    label, page = made["label.html"].decode(), made["map.html"].decode()
    assert label.count(f"<p>{claim} *</p>") == 2
    assert page.count(f"<blockquote>{claim}</blockquote>") == 2
    assert f"<p>{claim}</p>" not in page
    assert "resolution 8: " in label
    row = label[label.index("<th>Domain</th>") :].partition("</tr>")[0]
    assert row.endswith(" *</td>")
    assert not label[label.index("<th>Bound</th>") :].partition("</tr>")[0].endswith(" *</td>")

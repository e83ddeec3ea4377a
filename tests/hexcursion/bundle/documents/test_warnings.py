"""The label marks the receipt's warnings, and nothing else, as warnings."""

from __future__ import annotations

import re
from dataclasses import replace

from geo import Domain
from hexcursion.bundle.page import label
from hexcursion.bundle.page.label import label_html
from hexcursion.bundle.products import MapValues
from hexcursion.bundle.read import published_products
from hexcursion.bundle.statement.build import build_statement
from hexcursion.record import ReceiptLine, Release
from tests.hexcursion.bundle.bundle_samples import make_release


def rows(release: Release, domain: Domain) -> dict[str, bool]:
    """Topic of each row of the label's table -> whether it is marked."""
    statement = build_statement(release)
    products = published_products(statement, domain, MapValues(release.paths))
    html = label_html(statement, products, "<img>")
    return {
        topic: bool(mark) for mark, topic in re.findall(r"<tr( class=\"warning\")?><th>([^<]*)</th>", html)
    }


def test_warnings_are_marked_and_the_rest_is_not(domain: Domain) -> None:
    receipt = (ReceiptLine("Tuning", "Not accounted for.", True), ReceiptLine("Clip", "At 1.2.", False))
    found = rows(replace(make_release(domain), receipt=receipt), domain)
    assert found == {
        "Domain": False,
        "Tuning": True,
        "Clip": False,
        "Several records": False,
        "Design": False,
    }


def test_a_receipt_that_does_not_speak_of_tuning_has_the_statements_line_for_it(domain: Domain) -> None:
    plain = replace(make_release(domain), receipt=(ReceiptLine("Clip", "At 1.2.", False),))
    spent = replace(plain, tuning=replace(plain.tuning, kind="not accounted"))
    rest = {"Tuning": False, "Several records": False, "Design": False}
    assert rows(plain, domain) == {"Domain": False, "Clip": False} | rest
    assert rows(spent, domain)["Tuning"] is True


def test_the_picture_has_the_width_of_a_small_screen() -> None:
    """The limits of height keep the label on one printed page; on a phone its legend could not be read."""
    wide, _, small = label._style().partition("@media screen and (max-width: 720px)")
    assert ".tiny .map img { max-height: 46mm; }" in wide
    assert ".sheet .map img { width: 100%; max-height: none; }" in small

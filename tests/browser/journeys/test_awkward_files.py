"""The Data screen with twelve awkward files: each shows its one question, with the control that answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import (
    PATIENCE,
    RunningApp,
    appear,
    choose,
    give,
    open_screen,
    press,
    settle,
    unfold,
)
from tests.browser.screenshots import photograph
from tests.data_loaders.workbooks import workbook

ASKED = "Table of places and values (.csv"
SLOW = PATIENCE * 1000
WIDTHS = (390, 1280)
PICTURES = os.environ.get("HEXCURSION_PICTURES")  # a folder, for who wants to look


def table(head: str, *values: str, mark: str = ",", more: Callable[[int], str] = lambda at: "") -> str:
    rows = [f"{2.1 + 0.0137 * at:.4f}{mark}{54.7 + 0.0113 * at:.4f}{mark}{value}{more(at)}"
            for at, value in enumerate(values)]  # fmt: skip
    return "\n".join([head, *rows]) + "\n"


PLAIN = [f"{20 + at / 10:.1f}" for at in range(24)]


@dataclass(frozen=True)
class Awkward:
    """A file, what the screen says of it, and how a person answers."""

    data: bytes
    said: str  # on the screen before the data are read, or as the answer of reading them
    answer: Callable[[Page], None]
    unit: str = "ug/m3"
    kept: str = "24 rows read, 24 kept"
    name: str = "awkward.csv"
    refused: bool = False  # whether it is said by the button that reads, and not before


def type_in(label: str, words: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        unfold(page, page.get_by_role("textbox", name=label, include_hidden=True).first)
        page.get_by_role("textbox", name=label).first.fill(words)
        page.get_by_role("textbox", name=label).first.press("Enter")
        settle(page)

    return act


def click(name: str) -> Callable[[Page], None]:
    return lambda page: press(page, name)


def both(*acts: Callable[[Page], None]) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        for one in acts:
            one(page)

    return act


WEST = ("Łódź", "Žďár nad Sázavou", "Plzeň", "České Budějovice")
FILES: dict[str, Awkward] = {
    "German prices": Awkward(
        table("lon,lat,Preis", *(f"{245 + at}.000" for at in range(24))).encode(), "decimal mark",
        choose("Decimal mark", "comma"), unit="EUR",
    ),
    "zeros for deeds": Awkward(
        table("lon,lat,price", *("0" if at % 2 else f"{380_000 + 1_000 * at}" for at in range(24))).encode(),
        "hardly another comes near 0", click("0 stands for a missing value"), unit="USD",
        kept="24 rows read, 12 kept",
    ),
    "two units": Awkward(
        table("lon,lat,lead,Messeinheit", *PLAIN, more=lambda at: f",{'mg/l' if at % 4 == 0 else 'ug/l'}")
        .encode(), "6 rows in mg/l were converted to ug/l", lambda page: None, unit="ug/l",
    ),
    "two pollutants": Awkward(
        table("lon,lat,value,pollutant", *PLAIN, more=lambda at: f",{'NO2' if at % 2 else 'O3'}").encode(),
        "may say what a row measures",
        both(click("Keep the rows of one entry of pollutant"), choose("pollutant is", "NO2 (12)")),
        kept="24 rows read, 12 kept",
    ),
    "a sale on three rows": Awkward(
        table("lon,lat,price,id_mutation", *(f"{200_000 + 1_000 * (at // 3)}" for at in range(24)),
              more=lambda at: f",2023-{at // 3}").encode(),
        "names 8 different things", click("Protect all rows of one id_mutation together"), unit="EUR",
    ),
    "letters of a laboratory": Awkward(
        table("lon,lat,value", *(f"{20 + at}.5{' J' if at % 3 else ''}" for at in range(24))).encode(),
        "The unit of the value is not in its name", lambda page: None, unit="mg/kg",
    ),
    "an unknown code": Awkward(
        table("lon,lat,value", *("9999" if at % 2 else one for at, one in enumerate(PLAIN))).encode(),
        "Name above what stands for a missing value",
        type_in("Numbers that stand for a missing value", "9999"),
        kept="24 rows read, 12 kept",
    ),
    "dates of two orders": Awkward(
        table("lon,lat,value,when", *PLAIN,
              more=lambda at: ",3/14/2023" if at == 5 else f",{1 + at % 12}/{1 + at % 9}/2023").encode(),
        "say which stands first", choose("Dates such as 3/4/2018", "have the month first"), refused=True,
    ),
    "Central European letters": Awkward(
        table("lon,lat,value,město", *PLAIN, more=lambda at: f",{WEST[at % 4]}").encode("cp1250"),
        "WINDOWS-1250", lambda page: None,
    ),
    "places rounded to a kilometre": Awkward(
        ("lon,lat,value\n" + "".join(f"{2 + at % 7 / 100:.2f},{54 + at % 5 / 100:.2f},{one}\n"
                                     for at, one in enumerate(PLAIN))).encode(),
        "are rounded to about 1,113 metres", click("Take the noise of places as 321 metres"),
    ),
    "whole places in one column": Awkward(
        ("where|value\n" + "".join(f"POINT ({2.1 + 0.0137 * at:.4f} {54.7 + 0.0113 * at:.4f})|{one}\n"
                                   for at, one in enumerate(PLAIN))).encode(),
        "holds places, written as POINT", type_in("Coordinate system", "EPSG:4326"),
    ),
    "an agency's workbook": Awkward(
        workbook([["BOROUGH", "NEIGHBORHOOD", "BLOCK", "LOT", "SALE PRICE", "SALE DATE", "Latitude",
                   "Longitude"],
                  *([1, "X", 7, at, 900_000 + 1_000 * at, "2023-03-01", 40.7 + at / 1000, -74.0 + at / 900]
                    for at in range(24))]),
        "New York City rolling sales", click("Use its columns"), unit="USD", name="awkward.xlsx",
    ),
}  # fmt: skip


def refuse_exceptions(page: Page) -> None:
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth + 1")


@pytest.mark.parametrize("what", FILES)
def test_an_awkward_file_is_asked_about_and_answered(
    what: str, new_page: Callable[..., Page], app: RunningApp, tmp_path: Path
) -> None:
    awkward, page = FILES[what], new_page()
    path = tmp_path / awkward.name
    path.write_bytes(awkward.data)
    open_screen(page, app, "data")
    page.get_by_role("radio", name="Your own table").click()
    settle(page)
    give(page, ASKED, path)
    main = page.get_by_test_id("stMain")
    unit = page.get_by_role("textbox", name="Its unit")
    if unit.count() and not unit.first.input_value():
        type_in("Its unit", awkward.unit)(page)
    if awkward.refused or "converted" in awkward.said:
        press(page, "Read the data")
    expect(main).to_contain_text(awkward.said, timeout=SLOW)
    refuse_exceptions(page)
    keep(page, f"{what}-asked")
    awkward.answer(page)
    if unit.count() and not unit.first.input_value():
        type_in("Its unit", awkward.unit)(page)
    press(page, "Read the data")
    appear(page.get_by_text(awkward.kept).first)
    refuse_exceptions(page)
    keep(page, f"{what}-read")


def keep(page: Page, name: str) -> None:
    """Check that the page shows no exception at either width; keep pictures if asked to."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        refuse_exceptions(page)
        if PICTURES:
            photograph(page, Path(PICTURES) / f"{name.replace(' ', '-')}-{width}.png", width)
    page.set_viewport_size({"width": WIDTHS[-1], "height": 900})
    settle(page)

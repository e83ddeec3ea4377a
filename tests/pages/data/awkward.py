"""Twelve awkward files as people make them: what the screen Data says of each, and how a person answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.data_loaders.workbooks import workbook

Act = tuple[Literal["choose", "press", "type"], str, str]
"""Choose of a list, press a button or type into a field: its label, and what is chosen or typed."""


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
    answer: Sequence[Act]
    unit: str = "ug/m3"
    kept: str = "24 rows read, 24 kept"
    name: str = "awkward.csv"
    refused: bool = False  # whether it is said by the button that reads, and not before


WEST = ("Łódź", "Žďár nad Sázavou", "Plzeň", "České Budějovice")
FILES: dict[str, Awkward] = {
    "German prices": Awkward(
        table("lon,lat,Preis", *(f"{245 + at}.000" for at in range(24))).encode(), "decimal mark",
        [("choose", "Decimal mark", "comma")], unit="EUR",
    ),
    "zeros for deeds": Awkward(
        table("lon,lat,price", *("0" if at % 2 else f"{380_000 + 1_000 * at}" for at in range(24))).encode(),
        "hardly another comes near 0", [("press", "0 stands for a missing value", "")], unit="USD",
        kept="24 rows read, 12 kept",
    ),
    "two units": Awkward(
        table("lon,lat,lead,Messeinheit", *PLAIN, more=lambda at: f",{'mg/l' if at % 4 == 0 else 'ug/l'}")
        .encode(), "6 rows in mg/l were converted to ug/l", (), unit="ug/l",
    ),
    "two pollutants": Awkward(
        table("lon,lat,value,pollutant", *PLAIN, more=lambda at: f",{'NO2' if at % 2 else 'O3'}").encode(),
        "may say what a row measures",
        [("press", "Keep the rows of one entry of pollutant", ""), ("choose", "pollutant is", "NO2 (12)")],
        kept="24 rows read, 12 kept",
    ),
    "a sale on three rows": Awkward(
        table("lon,lat,price,id_mutation", *(f"{200_000 + 1_000 * (at // 3)}" for at in range(24)),
              more=lambda at: f",2023-{at // 3}").encode(),
        "has 8 different entries", [("press", "Protect all rows of one id_mutation together", "")],
        unit="EUR",
    ),
    "letters of a laboratory": Awkward(
        table("lon,lat,value", *(f"{20 + at}.5{' J' if at % 3 else ''}" for at in range(24))).encode(),
        "The unit of the value is not in its name", (), unit="mg/kg",
    ),
    "an unknown code": Awkward(
        table("lon,lat,value", *("9999" if at % 2 else one for at, one in enumerate(PLAIN))).encode(),
        "is far from all other values",
        [("type", "Numbers that stand for a missing value", "9999")],
        kept="24 rows read, 12 kept",
    ),
    "dates of two orders": Awkward(
        table("lon,lat,value,when", *PLAIN,
              more=lambda at: ",3/14/2023" if at == 5 else f",{1 + at % 12}/{1 + at % 9}/2023").encode(),
        "say which stands first",
        [("choose", "Dates such as 3/4/2018", "have the month first")], refused=True,
    ),
    "Central European letters": Awkward(
        table("lon,lat,value,město", *PLAIN, more=lambda at: f",{WEST[at % 4]}").encode("cp1250"),
        "WINDOWS-1250", (),
    ),
    "places rounded to a kilometre": Awkward(
        ("lon,lat,value\n" + "".join(f"{2 + at % 7 / 100:.2f},{54 + at % 5 / 100:.2f},{one}\n"
                                     for at, one in enumerate(PLAIN))).encode(),
        "are rounded to about 1,113 metres",
        [("press", "Take the noise of places as 321 metres", "")],
    ),
    "whole places in one column": Awkward(
        ("where|value\n" + "".join(f"POINT ({2.1 + 0.0137 * at:.4f} {54.7 + 0.0113 * at:.4f})|{one}\n"
                                   for at, one in enumerate(PLAIN))).encode(),
        "holds places, written as POINT", [("type", "Coordinate system", "EPSG:4326")],
    ),
    "an agency's workbook": Awkward(
        workbook([["BOROUGH", "NEIGHBORHOOD", "BLOCK", "LOT", "SALE PRICE", "SALE DATE", "Latitude",
                   "Longitude"],
                  *([1, "X", 7, at, 900_000 + 1_000 * at, "2023-03-01", 40.7 + at / 1000, -74.0 + at / 900]
                    for at in range(24))]),
        "New York City rolling sales", [("press", "Use its columns", "")], unit="USD", name="awkward.xlsx",
    ),
}  # fmt: skip

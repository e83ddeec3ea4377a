"""Tables as people write them, and what they say of them: for the record of how each is read."""

from __future__ import annotations

from typing import Any

GRID = "".join(
    f"{2.1 + 0.02 * k:.2f},{54.7 + 0.01 * k:.2f},{20 + k},s{k % 3},{'ab'[k % 2]},2018-0{1 + k % 9}-1{k % 9}\n"
    for k in range(40)
)
HEAD = "lon,lat,no2 (ug/m3),station,kind,date\n"
USUAL = {"value": "no2 (ug/m3)", "x": "lon", "y": "lat"}


def column(values: str, name: str = "v") -> str:
    """A table of these entries, one to a place."""
    listed = enumerate(values.split(), 1)
    return f"lon,lat,{name}\n" + "".join(f"10.{k:02d},50.1,{value}\n" for k, value in listed)


Case = tuple[str, dict[str, Any]]
TABLES: dict[str, Case] = {
    "plain": (HEAD + GRID, USUAL),
    "everything asked": (
        HEAD + GRID,
        {**USUAL, "identifier": None, "time": "date", "owner": "station", "where": (("kind", "a"),)},
    ),
    "counted": (HEAD + GRID, {"x": "lon", "y": "lat", "time": "date"}),
    "semicolons and commas": (
        "Longitude;Latitude;Wert\n"
        + "".join(f"{6 + k / 10:.1f};51,{k};{k},5\n".replace(".", ",") for k in range(1, 30)),
        {"value": "Wert", "x": "Longitude", "y": "Latitude"},
    ),
    "titles, units, comment": (
        "Report of the town\n\n# made by hand\nx,y,radon\nm,m,Bq/m3\n"
        + "".join(f"{400000 + 37 * k},{300000 + 11 * k},{k * k}\n" for k in range(1, 30)),
        {"value": "radon", "x": "x", "y": "y", "crs": "EPSG:27700", "unit": "Bq/m3"},
    ),
    "British grid": (
        "easting,northing,lead mg_kg,sample no\n"
        + "".join(f"{500000 + 9 * k},{180000 + 7 * k},{k % 7}.5,{k}\n" for k in range(30)),
        {
            "value": "lead mg_kg",
            "x": "easting",
            "y": "northing",
            "crs": "EPSG:27700",
            "identifier": "sample no",
        },
    ),
    "Dutch grid": (
        "x_rd,y_rd,pm10\n" + "".join(f"{90000 + 31 * k},{440000 + 17 * k},{10 + k % 4}\n" for k in range(30)),
        {"value": "pm10", "x": "x_rd", "y": "y_rd", "crs": "EPSG:28992"},
    ),
    "codes and limits": (
        column("1 2 3 <0.5 nd 4 >200 5 6 -999 7 8 n/a 9", "arsenic (ug/l)"),
        {"value": "arsenic (ug/l)", "x": "lon", "y": "lat", "detection_limit": 0.2},
    ),
    "half of a limit": (
        column("1 2 3 <0.5 4 5"),
        {"value": "v", "x": "lon", "y": "lat", "censored": "half"},
    ),
    "limits are dropped": (
        column("1 2 3 <0.5 4 5"),
        {"value": "v", "x": "lon", "y": "lat", "censored": "drop"},
    ),
    "far numbers": (
        column("1 2 3 4 5 6 9999 9999"),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "far numbers are named": (
        column("1 2 3 4 5 6 9999 9999"),
        {"value": "v", "x": "lon", "y": "lat", "missing": ("9999",)},
    ),
    "one far number": (
        column("1 2 3 4 5 6 9999"),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "answers": (
        "lon,lat,yes\n" + "".join(f"10.{k:02d},50.1,{k % 2}\n" for k in range(1, 30)),
        {"value": "yes", "x": "lon", "y": "lat", "unit": "%"},
    ),
    "answers at one place": (
        "lon,lat,yes\n" + 6 * "10.1,50.1,1\n10.2,50.1,0\n",
        {"value": "yes", "x": "lon", "y": "lat", "unit": "%"},
    ),
    "rows again": (
        "lon,lat,v,id\n" + 3 * "10.1,50.1,7,a\n" + "10.2,50.1,8,b\n10.3,50.1,9,\n10.4,50.2,9,\n",
        {"value": "v", "x": "lon", "y": "lat", "identifier": "id"},
    ),
    "rows that are each a record": (
        "lon,lat,v\n" + 3 * "10.1,50.1,7\n" + "10.2,50.1,8\n",
        {"value": "v", "x": "lon", "y": "lat", "equal_rows": "each"},
    ),
    "one identifier, two values": (
        "lon,lat,v,id\n10.1,50.1,7,a\n10.1,50.1,8,a\n",
        {"value": "v", "x": "lon", "y": "lat", "identifier": "id"},
    ),
    "American dates": (
        "lon,lat,v,when\n" + "".join(f"10.{k:02d},50.1,{k},{1 + k % 12}/{k}/2018\n" for k in range(1, 29)),
        {"value": "v", "x": "lon", "y": "lat", "time": "when"},
    ),
    "open dates": (
        "lon,lat,v,when\n" + "".join(f"10.{k:02d},50.1,{k},{k}/{k + 1}/2018\n" for k in range(1, 11)),
        {"value": "v", "x": "lon", "y": "lat", "time": "when"},
    ),
    "dates against what is said": (
        "lon,lat,v,when\n10.1,50.1,1,25/3/2018\n10.2,50.1,2,26/3/2018\n",
        {"value": "v", "x": "lon", "y": "lat", "time": "when", "day_first": False},
    ),
    "degrees, minutes, hemispheres": (
        "lat,lon,v\n" + "".join(f"51°{k}'30\"N,0°0{k % 6}'15\"W,{k}\n" for k in range(10, 30)),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "east of 180": (
        "lat,lon,v\n" + "".join(f"-17.{k},{350 + k / 10},{k}\n" for k in range(10, 30)),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "metres as degrees": (
        "lat,lon,v\n" + "".join(f"{180000 + k},{530000 + k},{k}\n" for k in range(10, 30)),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "places with noise": (
        "lon,lat,v,sd_m\n" + "".join(f"10.{k:02d},50.1,{k},{k if k % 5 else ''}\n" for k in range(10, 30)),
        {"value": "v", "x": "lon", "y": "lat", "place_sd": "sd_m"},
    ),
    "thousands": (
        "lon,lat,v\n" + "".join(f'10.{k:02d},50.1,"{k},{100 + k}.5"\n' for k in range(10, 30)),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "thousands or decimals": (
        "lon,lat,v\n" + "".join(f'10.{k:02d},50.1,"{k},{100 + k}"\n' for k in range(10, 30)),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "percent signs": (
        "lon,lat,v,w\n" + "".join(f"10.{k:02d},50.1,{k} %,{k}\n" for k in range(10, 30)),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "no filter fits": (HEAD + GRID, {**USUAL, "where": (("kind", "c"),)}),
    "no such column": (HEAD + GRID, {**USUAL, "value": "no3 (ug/m3)"}),
    "two names for one": (HEAD + GRID, {**USUAL, "value": "lon"}),
    "half a place": (HEAD + GRID, {**USUAL, "y": None}),
    "a header row that is not there": (HEAD + GRID, {**USUAL, "header_row": 99}),
    "a header row that is another": (HEAD + GRID, {**USUAL, "header_row": 3}),
    "a single column": ("v\n1\n2\n", {"value": "v", "x": "lon", "y": "lat"}),
    "no rows": (HEAD, USUAL),
    "ragged rows": (HEAD + GRID + "1,2\n1,2,3,4,5,6,7\n", USUAL),
    "blank values": (
        "lon,lat,v\n"
        + "".join(f"10.{k:02d},{'' if k == 12 else 50.1},{'' if k == 14 else k}\n" for k in range(10, 30)),
        {"value": "v", "x": "lon", "y": "lat"},
    ),
    "headers that repeat": (
        "lon,lat,Ozone,status,NO2,status\n"
        + "".join(f"10.{k:02d},50.1,{k},V,{k + 1},P\n" for k in range(10, 30)),
        {"value": "NO2", "x": "lon", "y": "lat", "where": (("Ozone status", "V"),)},
    ),
    "Latin letters": (
        "lon,lat,Länge\n" + "".join(f"10.{k:02d},50.1,{k}\n" for k in range(10, 30)),
        {"value": "Länge", "x": "lon", "y": "lat", "unit": "m"},
    ),
}

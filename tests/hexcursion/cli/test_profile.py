"""On the command line an agency's columns stand in for those that no option names; what is open is asked."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv, parquet
from pyproj import Transformer

from data_loaders import DataError
from data_loaders.columns.profiles import profiles
from hexcursion.bundle import read_bundle
from hexcursion.cli import main
from hexcursion.cli.main import build_parser
from hexcursion.cli.options import settings_from_options
from hexcursion.cli.profile import fill_from_profile
from hexcursion.errors import WorkflowError

OPENAQ = "location_id,sensors_id,location,datetime,lat,lon,parameter,units,value"
PURPLE = "time_stamp,sensor_index,latitude,longitude,pm2.5_atm_a,pm2.5_atm_b"
WQP = (
    "MonitoringLocationIdentifier,CharacteristicName,ResultDetectionConditionText,ResultMeasureValue,"
    "LatitudeMeasure,LongitudeMeasure,DetectionQuantitationLimitMeasure/MeasureValue"
)
KOLA = "ID,XCOO,YCOO,As,Pb"
ROWS = {
    OPENAQ: "7,21,Bow,2024-05-01,51.52,-0.02,pm25,ug/m3,8.5",
    PURPLE: "1714521600,131,37.7,-122.2,8,7",
    KOLA: "1,400000,7600000,3,4",
    WQP: "X-1,Lead,,4,41.5,-93.5,0.1",
}


@pytest.fixture
def table(tmp_path: Path) -> Any:
    def written(head: str) -> str:
        path = tmp_path / "t.csv"
        path.write_text(f"{head}\n{ROWS[head]}\n", encoding="utf-8")
        return str(path)

    return written


def test_columns_that_nobody_named_are_filled_in_and_said(table: Any) -> None:
    values: dict[str, Any] = {
        "data": {"path": table(OPENAQ), "where": {"parameter": "pm25"}},
        "reference": {"path": "r.csv"},
    }
    said = fill_from_profile(values, None)
    assert values == {
        "data": {
            "path": values["data"]["path"],
            "where": {"parameter": "pm25"},
            "x": "lon",
            "y": "lat",
            "crs": "EPSG:4326",
            "value": "value",
            "time": "datetime",
            "unit_column": "units",
        },
        "reference": {"path": "r.csv", "where": {"parameter": "pm25"}},
    }
    assert (
        "OpenAQ (--profile none reads it without): --lon lon --lat lat --crs EPSG:4326 --value value" in said
    )
    assert "--time datetime --unit-column units --reference-where parameter=pm25." in said
    assert "--owner location_id --records-per-owner 1 protects all that belong together." in said
    assert "\n" not in said


def test_what_a_person_named_stays(table: Any) -> None:
    named = {"x": "lat", "y": "lon", "value": "sensors_id", "time": "location", "crs": "EPSG:4269"}
    values: dict[str, Any] = {
        "data": {"path": table(OPENAQ), "where": {"Parameter": "o3"}, **named},
        "reference": {"path": "r", "where": {"parameter": "no2"}},
        "records_per_owner": 4,
        "owner": "location",
    }
    before = {"data": dict(values["data"]), "reference": dict(values["reference"])}
    assert fill_from_profile(values, None) == (
        "The table is read as OpenAQ (--profile none reads it without)."
    )
    assert {"data": values["data"], "reference": values["reference"]} == before
    assert (values["owner"], "value_unit" in values) == ("location", False)


def test_limits_of_detection_are_offered_and_not_taken_since_their_unit_may_be_another(table: Any) -> None:
    values: dict[str, Any] = {"data": {"path": table(WQP), "where": {"CharacteristicName": "Lead"}}}
    assert "--limit-column DetectionQuantitationLimitMeasure/MeasureValue takes" in fill_from_profile(
        values, None
    )
    assert (values["data"]["condition"], "limit_column" in values["data"]) == (
        "ResultDetectionConditionText",
        False,
    )


def test_an_owner_is_taken_where_a_person_says_how_many_of_its_records_count(table: Any) -> None:
    values: dict[str, Any] = {
        "data": {"path": table(PURPLE), "value": "PM2.5_atm_b"},
        "records_per_owner": 1,
    }
    assert "which is taken as --owner" in fill_from_profile(values, None)
    assert (values["owner"], values["value_unit"]) == ("sensor_index", "ug/m3")
    assert values["value_name"] == "PM2.5, atmospheric, channel B"


@pytest.mark.parametrize(
    ("head", "data", "wanted", "word"),
    [
        (OPENAQ, {}, None, "keep one quantity with --where, such as parameter=pm25"),
        (PURPLE, {}, None, r"several measured columns: name one with --value, of pm2.5_atm_a \(PM2.5, atm"),
        (KOLA, {"value": "As"}, None, "'XCOO' and 'YCOO' in several systems: state theirs with --crs"),
        (KOLA, {"value": "As", "x": "XCOO", "y": "YCOO"}, None, "state theirs with --crs"),
        (KOLA, {"value": "As"}, "epa-aqs", "no columns of the profile 'epa-aqs'"),
        (KOLA, {"value": "As"}, "price-paid", "is no table of readings"),
    ],
)
def test_what_is_open_is_asked(
    head: str, data: dict[str, Any], wanted: str | None, word: str, table: Any
) -> None:
    with pytest.raises(WorkflowError, match=word):
        fill_from_profile({"data": {"path": table(head), **data}}, wanted)


def test_a_named_profile_says_why_its_table_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{ROWS[OPENAQ]}\n{ROWS[OPENAQ]}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.csv has numbers in its first row: add a header"):
        fill_from_profile({"data": {"path": str(path)}}, "openaq")


def test_no_profile_for_none_for_a_settings_file_and_for_what_cannot_be_read(
    table: Any, tmp_path: Path
) -> None:
    values: dict[str, Any] = {"data": {"path": table(OPENAQ)}}
    assert fill_from_profile(values, "none") == ""
    assert fill_from_profile({"data": {"path": str(tmp_path / "absent.csv")}}, None) == ""
    assert fill_from_profile({"data": {**values["data"], "postcodes": "p.csv"}}, None) == ""
    config = tmp_path / "s.toml"
    config.write_text(
        "threshold = 9\nbbox = [0, 51, 1, 52]\n"
        '[data]\npath = "t.csv"\nvalue = "value"\nx = "lon"\ny = "lat"\n'
    )
    words = ["release", "--out", "o", "--config", str(config), "--trust-settings"]
    assert settings_from_options(build_parser().parse_args(words)).data.where == ()
    assert list(values["data"]) == ["path"]


AREA = ("--bbox", "0", "51.5", "0.1", "51.6", "--resolution", "7", "--accept-low-agreement")
STATED = ("--threshold", "10", "--centre", "10", "--clip", "9")
OWNED = ("--records-per-owner", "1")
# Of each profile its header, a row and what a person must say; then what the bundle measures of whom.
SHAPES: dict[str, tuple[str, str, tuple[str, ...], str, str]] = {
    "dvf": (
        "id_mutation,date_mutation,nature_mutation,valeur_fonciere,type_local,longitude,latitude",
        "{at},2023-01-15,Vente,{value},Appartement,{lon},{lat}", OWNED, "Price above €10", "sensor",
    ),
    "nyc-sales": (
        "BOROUGH,NEIGHBORHOOD,BLOCK,LOT,SALE PRICE,SALE DATE,Latitude,Longitude",
        "1,CHELSEA,700,{at},{value},2023-03-01,{lat},{lon}", (), "Price above $10", "reading",
    ),
    "openaq": (
        f"{OPENAQ}\n7,1,Bow,2024-05-01T01:00:00Z,51.52,0.02,no2,ug/m3,99",
        "{at},{at},Bow,2024-05-01T01:00:00+01:00,{lat},{lon},pm25,ug/m3,{value}",
        ("--where", "parameter=pm25", "--value-name", "PM2.5", "--value-unit", "ug/m3", *OWNED),
        "PM2.5 above 10 ug/m3", "sensor",
    ),
    "sensor-community": (
        "sensor_id;sensor_type;location;lat;lon;timestamp;P1;durP1;ratioP1;P2;durP2;ratioP2",
        "{at};SDS011;{at};{lat};{lon};2024-05-01T00:00:00;1.5;;;{value};;", ("--value", "P2"),
        "PM2.5 above 10 ug/m3", "reading",
    ),
    "epa-aqs": (
        "State Code,County Code,Site Num,Parameter Code,POC,Latitude,Longitude,Date Local,Arithmetic Mean",
        "06,{at:03d},{at:04d},88101,1,{lat},{lon},2019-01-01,{value}",
        ("--where", "Parameter Code=88101", "--value-unit", "ppb", *OWNED),
        "Arithmetic Mean above 10 ppb", "sensor",
    ),
    "eea": (
        "Country,Air Quality Station EoI Code,Air Pollutant,Year,Air Pollution Level,Longitude,Latitude",
        "Austria,AT{at:03d},NO2,2022,{value},{lon},{lat}",
        ("--where", "Air Pollutant=NO2", "--value-unit", "ug/m3", *OWNED),
        "Air Pollution Level above 10 ug/m3", "sensor",
    ),
    "eea (Parquet)": (
        "Samplingpoint,Pollutant,Start,End,Value,Unit,AggType,Validity,Verification,Longitude,Latitude",
        "AT/SPO-{at:03d},8,2023-05-01T00:00:00,2023-05-01T01:00:00,{value},ug.m-3,hour,1,1,{lon},{lat}",
        ("--where", "Pollutant=8", "Validity=1", "--value-unit", "ug/m3", *OWNED),
        "Value above 10 ug/m3", "sensor",
    ),
    "openaq (version 3)": (
        "value,parameter.name,parameter.units,coordinates.latitude,coordinates.longitude,sensor_id,"
        "period.datetimeFrom.utc",
        "{value},pm25,µg/m³,{lat},{lon},{at},2024-05-01T01:00:00Z",
        ("--where", "parameter.name=pm25", "--value-unit", "ug/m3", *OWNED), "Value above 10 ug/m3", "sensor",
    ),
    "geochemistry (GEMAS)": (
        "ID,C_ID,COUNTRY,XCOO,YCOO,TYPE,As,Pb", "{at},A{at},DE,{lon},{lat},Ap,{value},<3",
        ("--value", "As", "--crs", "EPSG:4326"), "Arsenic above 10 mg/kg", "reading",
    ),
    "uk-air": (
        "source,site,code,date,no2,latitude,longitude,site_type",
        "aurn,Place {at},C{at},2022-01-01 00:00:00,{value},{lat},{lon},Urban Background", OWNED,
        "Nitrogen dioxide above 10 ug/m3", "sensor",
    ),
    "wqp": (
        WQP.replace(",Det", ",ActivityStartDate,Det"),
        "X-{at},Nitrate,{said},{number},{lat},{lon},2021-06-01,5",
        ("--where", "CharacteristicName=Nitrate", "--value-unit", "mg/l",
         "--limit-column", "DetectionQuantitationLimitMeasure/MeasureValue"),
        "ResultMeasureValue above 10 mg/l", "reading",
    ),
    "usgs-rdb": (
        "# U.S. Geological Survey\n#\nagency_cd\tsite_no\tdec_lat_va\tdec_long_va\tlev_dt\tlev_va\n"
        "5s\t15s\t16s\t16s\t10d\t12s",
        "USGS\t{at:015d}\t{lat}\t{lon}\t2020-03-01\t{value}", OWNED, "Depth to water above 10 feet", "sensor",
    ),
    "purpleair": (
        PURPLE, "1714521600,{at},{lat},{lon},{value},{value}", ("--value", "pm2.5_atm_b", *OWNED),
        "PM2.5, atmospheric, channel B above 10 ug/m3", "sensor",
    ),
    "lucas": (
        "Depth,POINTID,pH_CaCl2,pH_H2O,OC,N,TH_LAT,TH_LONG,SURVEY_DATE",
        "0-20 cm,{at:08d},4.1,4.8,{value},<LOD,{lat},{lon},24-07-18", ("--value", "OC", *OWNED),
        "Organic carbon above 10 g/kg", "sensor",
    ),
    "geochemistry": (
        "National atlas\n\nSAMPLEID,SITEID,DEPTH,LATITUDE,LONGITUDE,As,Pb\nA,B,BOS,51.52,0.02,99,9",
        "S{at},{at},TOS,{lat},{lon},{value},<0.5", ("--value", "As", "--where", "DEPTH=TOS", *OWNED),
        "Arsenic above 10 mg/kg", "sensor",
    ),
    "property-price-register": (
        "Date of Sale (dd/mm/yyyy),Address,County,Eircode,Price (€),Not Full Market Price,VAT Exclusive,"
        "Description of Property,Property Size Description,latitude,longitude",
        '{day}/03/2023,"{at}, High Street",Dublin,,"€{value}",No,No,Second-Hand Dwelling,,{lat},{lon}', (),
        "Price above €10", "reading",
    ),
    "nyc-311": (
        "Unique Key,Created Date,Closed Date,Agency,Complaint Type,Incident Zip,Latitude,Longitude,Location",
        '{at},03/14/2023 11:05:09 PM,,NYPD,Noise - Residential,10001,{lat},{lon},"({lat}, {lon})"', (),
        "More than 2 requests per square kilometre", "request",
    ),
    "police-uk": (
        "Crime ID,Month,Reported by,Falls within,Longitude,Latitude,Location,LSOA code,LSOA name,Crime type,"
        "Last outcome category,Context",
        "{name},2023-05,A,A,0.031,51.541,On or near High Street,E01,A,Burglary,,", (),
        "More than 2 crimes per square kilometre", "crime",
    ),
    "stats19": (
        "collision_index,collision_year,location_easting_osgr,location_northing_osgr,longitude,latitude,"
        "collision_severity,number_of_casualties,date,time",
        "2023{at:09d},2023,{east},{north},{lon},{lat},3,1,01/03/2023,17:40", (),
        "More than 2 collisions per square kilometre", "collision",
    ),
    "gbif": (
        "gbifID\tbasisOfRecord\tspecies\tdecimalLatitude\tdecimalLongitude\tcoordinateUncertaintyInMeters\t"
        "eventDate\trecordedBy\toccurrenceStatus",
        "{at}\tHUMAN_OBSERVATION\tParus major\t{lat}\t{lon}\t50\t2023-05-01T08:30\tA{at}\tPRESENT", OWNED,
        "More than 2 persons per square kilometre", "person",
    ),
    "movebank": (
        "event-id,visible,timestamp,utm-easting,utm-northing,utm-zone,sensor-type,individual-local-identifier",
        "{at},true,2023-05-01 08:{at}:00.000,{utm_east},{utm_north},31N,gps,Anna", (),
        "More than 2 positions per square kilometre", "position",
    ),
    "dhs": (
        "DHSID,DHSCC,DHSYEAR,DHSCLUST,URBAN_RURA,LATNUM,LONGNUM,Travel_Times",
        "GB2023{at:08d},GB,2023,{at},R,{lat},{lon},{value}",
        ("--value", "Travel_Times", "--value-unit", "minutes", *OWNED), "Travel_Times above 10 minutes",
        "sensor",
    ),
    "price-paid": (
        "", '"{{{at}}}","{price}","2022-03-01 00:00","{code}","F","N","L","1","","A ""B"" C D","","T",'
        '"D","C","A","A"', ("--threshold", "300000"), "Price above £300,000", "sale",
    ),
}  # fmt: skip
POSTCODES = {
    "postcodes": (
        "pcd7,pcd8,pcds,dointr,doterm,east1m,north1m,gridind,lat,long",
        "{code},{code},{code},198001,,1,1,1,{lat},{lon}",
    ),
    "code-point": ("", '"{code}",10,{east},{north},"E92000001","","","","",""'),
}


UTM = Transformer.from_crs(4326, 32631, always_xy=True)


def rows_of(head: str, row: str) -> str:
    """Sixty rows in the square from 0.02 to 0.07 degrees east and 51.52 to 51.57 north."""
    rng, rows = random.Random(4), [head] if head else []
    for at in range(60):
        lat, lon, value = 51.52 + rng.random() / 20, 0.02 + rng.random() / 20, round(rng.gauss(10, 3), 2)
        low = at % 10 == 0  # what was not detected names its limit in another column
        rows.append(row.format(
            at=at, day=10 + at % 19, lat=f"{lat:.4f}", lon=f"{lon:.4f}", value=value,
            price=round(30_000 * value),
            name="" if low else f"c{at}", said="Not Detected" if low else "", number="" if low else value,
            utm_east=round(UTM.transform(lon, lat)[0]), utm_north=round(UTM.transform(lon, lat)[1]),
            code=f"QA{at // 10 + 1} {at % 10}AA", east=round(538_700 + 69_300 * lon),
            north=round(181_000 + 111_200 * (lat - 51.5)),
        ))  # fmt: skip
    return "\n".join(rows) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "codes"),
    [*((one, "") for one in SHAPES if one != "price-paid"), *(("price-paid", one) for one in POSTCODES)],
)
def test_a_table_of_each_profile_goes_on_to_a_bundle(
    name: str, codes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, row, more, title, word = SHAPES[name]
    path, lookup, out = tmp_path / "t.csv", tmp_path / "codes.csv", tmp_path / "out"
    path.write_text(rows_of(head, row), encoding="utf-8")
    if "Parquet" in name:
        table, path = csv.read_csv(path), tmp_path / "t.parquet"
        parquet.write_table(table, path)
    profile = profiles()[name.split()[0]]
    words = ["release", "--data", str(path), "--out", str(out), *AREA]
    if codes:
        lookup.write_text(rows_of(*POSTCODES[codes]), encoding="utf-8")
        words += ["--postcodes", str(lookup), "--centre", "12.6", "--clip", "2"]
    else:
        words += ("--threshold", "2") if profile.count else STATED
    assert main([*words, *more]) == 0
    statement = read_bundle(out).statement
    assert (statement["release"]["title"], statement["guarantee"]["unit_word"]) == (title, word)
    said = capsys.readouterr().err
    assert "60 rows lie inside the domain." in said
    assert codes or f"The table is read as {profile.title}" in said


def test_every_profile_has_a_shape_that_goes_on_to_a_bundle() -> None:
    assert {*(name.split()[0] for name in SHAPES), *POSTCODES} == set(profiles())

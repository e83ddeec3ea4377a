"""The tables of agencies are known by their columns, and read into the right places and values."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import DataError, guess_columns, load_postcodes, load_sales
from data_loaders.columns.guess import profile_of
from data_loaders.columns.profiles import profile_from, profiles, recognise
from tests.data_loaders.material import load_sensors

AQS = (
    '"State Code","County Code","Site Num","Parameter Code","POC","Latitude","Longitude","Datum",'
    '"Arithmetic Mean","Date Local"\n'
)
TABLES = {
    "dvf": (
        "id_mutation,date_mutation,nature_mutation,valeur_fonciere,type_local,longitude,latitude\n"
        "2023-1,2023-01-15,Vente,250000,Appartement,4.83,45.76\n"
        "2023-2,2023-02-10,Vente,410000.5,Maison,4.85,45.74\n"
        "2023-2,2023-02-10,Vente,410000.5,Appartement,4.86,45.74\n",
        ("valeur_fonciere", {}, "id_mutation", "date_mutation"),
        ([4.83, 4.85, 4.86], [45.76, 45.74, 45.74], [250000.0, 410000.5, 410000.5], "EPSG:4326", 2),
    ),
    "nyc-sales": (
        "BOROUGH,NEIGHBORHOOD,BLOCK,LOT,SALE PRICE,SALE DATE,Latitude,Longitude\n"
        "1,CHELSEA,700,12,925000,2023-03-01,40.745,-74.001\n"
        "1,CHELSEA,701,3,1250000,2023-04-01,40.746,-74.002\n",
        ("SALE PRICE", {}, "BOROUGH + BLOCK + LOT", "SALE DATE"),
        ([-74.001, -74.002], [40.745, 40.746], [925000.0, 1250000.0], "EPSG:4326", 2),
    ),
    "property-price-register": (
        "Date of Sale (dd/mm/yyyy),Address,County,Price (€),Not Full Market Price,VAT Exclusive,latitude,"
        'longitude\n03/02/2023,"1, Quay",Cork,"€245,000.00",No,No,51.9,-8.47\n'
        '14/02/2023,"2, Quay",Cork,"€1,310,500.50",No,No,51.91,-8.48\n',
        ("Price (€)", {}, None, "Date of Sale (dd/mm/yyyy)"),
        ([-8.47, -8.48], [51.9, 51.91], [245000.0, 1310500.5], "EPSG:4326", None),
    ),
    "nyc-311": (
        "Unique Key,Created Date,Complaint Type,Latitude,Longitude,Location\n"
        '51,03/14/2023 11:05:09 PM,Rodent,40.71,-74.01,"(40.71, -74.01)"\n'
        "52,03/15/2023 01:00:00 AM,Noise - Residential,40.72,-74.02,\n"
        "53,03/15/2023 02:00:00 AM,Noise - Residential,,,\n",
        (None, {}, None, "Created Date"),
        ([-74.01, -74.02], [40.71, 40.72], [1.0, 1.0], "EPSG:4326", None),
    ),
    "police-uk": (
        "Crime ID,Month,Reported by,Falls within,Longitude,Latitude,Location,Crime type,Context\n"
        "a1,2023-05,A,A,-0.12,51.51,On or near X,Burglary,\n,2023-05,A,A,-0.12,51.51,On or near X,Drugs,\n"
        ",2023-05,A,A,-0.12,51.51,On or near X,Drugs,\n",
        (None, {}, None, "Month"),
        ([-0.12, -0.12, -0.12], [51.51, 51.51, 51.51], [1.0, 1.0, 1.0], "EPSG:4326", None),
    ),
    "stats19": (
        "accident_index,location_easting_osgr,location_northing_osgr,longitude,latitude,accident_severity,date\n"
        "2021010287148,521508,193079,-0.246102,51.623425,3,01/02/2021\n"
        "2021010287149,535379,180783,NULL,NULL,2,01/02/2021\n",
        (None, {}, None, "date"),
        ([-0.246102], [51.623425], [1.0], "EPSG:4326", None),
    ),
    "gbif": (
        "gbifID\tbasisOfRecord\tspecies\tdecimalLatitude\tdecimalLongitude\tcoordinateUncertaintyInMeters\t"
        "eventDate\trecordedBy\n"
        '1\tHUMAN_OBSERVATION\tParus major\t52.1\t4.3\t25\t2023-05-01\tJan "J" Bos\n'
        "2\tHUMAN_OBSERVATION\tParus major\t52.2\t4.4\t\t2023-05\tAnna\n",
        (None, {}, "recordedBy", "eventDate"),
        ([4.3, 4.4], [52.1, 52.2], [1.0, 1.0], "EPSG:4326", 2),
    ),
    "movebank": (
        "event-id,visible,timestamp,location-long,location-lat,individual-local-identifier,utm-zone\n"
        "11,true,2023-05-01 08:00:00.000,9.1,47.7,Anna,32N\n"
        "12,true,2023-05-01 08:15:00.000,9.2,47.8,Anna,32N\n",
        (None, {}, "individual-local-identifier", "timestamp"),
        ([9.1, 9.2], [47.7, 47.8], [1.0, 1.0], "EPSG:4326", 1),
    ),
    "dhs": (
        "DHSID,DHSYEAR,DHSCLUST,URBAN_RURA,LATNUM,LONGNUM,Travel_Times\n"
        "KE200300000001,2003,1,U,-1.25,36.85,14.5\nKE200300000002,2003,2,R,0,0,31\n",
        ("Travel_Times", {}, "DHSID", None),
        ([36.85], [-1.25], [14.5], "EPSG:4326", 1),
    ),
    "openaq": (
        "location_id,sensors_id,location,datetime,lat,lon,parameter,units,value\n"
        '7,21,"Bow, E3",2024-05-01T01:00:00Z,51.52,-0.02,pm25,ug/m3,8.5\n'
        '7,22,"Bow, E3",2024-05-01T01:00:00Z,51.52,-0.02,no2,ug/m3,31.0\n'
        '8,23,"Kew",2024-05-01T01:00:00Z,51.48,-0.29,pm25,ug/m3,6.25\n',
        ("value", {"parameter": "pm25"}, "location_id", "datetime"),
        ([-0.02, -0.29], [51.52, 51.48], [8.5, 6.25], "EPSG:4326", 2),
    ),
    "sensor-community": (
        "sensor_id;sensor_type;location;lat;lon;timestamp;P1;durP1;ratioP1;P2;durP2;ratioP2\n"
        "92;SDS011;42;48.78;9.16;2024-05-01T00:00:12;11.60;;;4.20;;\n"
        "93;SDS011;43;48.79;9.17;2024-05-01T00:00:15;12.10;;;5.30;;\n",
        ("P2", {}, "sensor_id", "timestamp"),
        ([9.16, 9.17], [48.78, 48.79], [4.2, 5.3], "EPSG:4326", 2),
    ),
    "epa-aqs": (
        AQS + '"06","001","0007","88101",3,37.68,-121.78,"WGS84",9.4,"2019-01-01"\n'
        '"06","001","0007","88101",3,37.68,-121.78,"WGS84",7.1,"2019-01-02"\n'
        '"06","007","0007","88101",3,39.76,-121.84,"WGS84",12.0,"2019-01-01"\n'
        '"08","001","0007","44201",1,39.83,-104.94,"WGS84",0.03,"2019-01-01"\n',
        ("Arithmetic Mean", {"Parameter Code": "88101"}, "State Code + County Code + Site Num", "Date Local"),
        ([-121.78, -121.78, -121.84], [37.68, 37.68, 39.76], [9.4, 7.1, 12.0], "EPSG:4326", 2),
    ),
    "eea": (
        "Country,Air Quality Station EoI Code,Air Pollutant,Year,Air Pollution Level,"
        "Unit Of Air Pollution Level,Longitude,Latitude\n"
        "Austria,AT001,NO2,2022,18.2,ug/m3,16.37,48.21\nAustria,AT002,NO2,2022,11.9,ug/m3,16.30,48.16\n",
        ("Air Pollution Level", {"Air Pollutant": "NO2"}, "Air Quality Station EoI Code", "Year"),
        ([16.37, 16.30], [48.21, 48.16], [18.2, 11.9], "EPSG:4326", 2),
    ),
    "uk-air": (
        "source,site,code,date,no2,pm10,latitude,longitude,site_type\n"
        "aurn,London Bloomsbury,CLL2,2022-01-01 00:00,21.4,14,51.522,-0.126,Urban Background\n"
        "aurn,Leeds Centre,LEED,2022-01-01 00:00,,11,53.804,-1.546,Urban Background\n",
        ("no2", {}, "code", "date"),
        ([-0.126], [51.522], [21.4], "EPSG:4326", 1),
    ),
    "wqp": (
        "OrganizationIdentifier,MonitoringLocationIdentifier,ActivityStartDate,CharacteristicName,"
        "ResultDetectionConditionText,ResultMeasureValue,ActivityLocation/LatitudeMeasure,"
        "ActivityLocation/LongitudeMeasure\n"
        "X,X-1,2021-06-01,Nitrate,,1.4,41.1,-93.2\nX,X-2,2021-06-02,Nitrate,Not Detected,,41.2,-93.3\n"
        "X,X-2,2021-06-02,Lead,,9.0,41.2,-93.3\n",
        (
            "ResultMeasureValue",
            {"CharacteristicName": "Nitrate"},
            "MonitoringLocationIdentifier",
            "ActivityStartDate",
        ),
        ([-93.2, -93.3], [41.1, 41.2], [1.4, 0.1], "EPSG:4326", 2),
    ),
    "usgs-rdb": (
        "# US Geological Survey\n#\nagency_cd\tsite_no\tdec_lat_va\tdec_long_va\tlev_dt\tlev_va\n"
        "5s\t15s\t16s\t16s\t10d\t12s\n"
        "USGS\t01\t40.25\t-75.5\t2020-03-01\t12.5\nUSGS\t02\t40.5\t-75.75\t2020-03-02\t30.1\n",
        ("lev_va", {}, "agency_cd + site_no", "lev_dt"),
        ([-75.5, -75.75], [40.25, 40.5], [12.5, 30.1], "EPSG:4269", 2),
    ),
    "purpleair": (
        "time_stamp,sensor_index,latitude,longitude,pm2.5_atm_a,pm2.5_atm_b\n"
        "1714521600,131,37.75,-122.25,8.1,7.9\n1714521600,132,37.5,-122.5,3.5,3.6\n",
        ("pm2.5_atm_a", {}, "sensor_index", "time_stamp"),
        ([-122.25, -122.5], [37.75, 37.5], [8.1, 3.5], "EPSG:4326", 2),
    ),
    "lucas": (
        "Depth,POINTID,pH_CaCl2,pH_H2O,OC,N,P,NUTS_0,TH_LAT,TH_LONG,SURVEY_DATE\n"
        "0-20 cm,47862690,4.1,4.81,12.4,1.1,<LOD,AT,47.15,14.67,06-07-18\n"
        "0-20 cm,46462850,7.3,7.7,36.5,3.1,8.7,AT,48.64,12.77,24-07-18\n",
        ("OC", {}, "POINTID", "SURVEY_DATE"),
        ([14.67, 12.77], [47.15, 48.64], [12.4, 36.5], "EPSG:4326", 2),
    ),
    "geochemistry": (
        "SAMPLEID,SITEID,STATE,LATITUDE,LONGITUDE,As,Pb\n1,A1,NSW,-33.5,150.25,3.1,20\n2,A2,NSW,-33.6,150.5,<0.5,14\n",
        ("As", {}, "SITEID", None),
        ([150.25, 150.5], [-33.5, -33.6], [3.1, 0.5], "EPSG:4326", 2),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_an_agencys_table_is_recognised_and_read_right(name: str) -> None:
    text, (value, where, owner, time), (x, y, values, crs, owners) = TABLES[name]
    known = guess_columns(text.encode()).known
    assert known is not None
    assert known.place is not None
    assert (known.profile.name, known.owner, known.time) == (name, owner, time)
    assert [known.quantity] == (list(where) or [None])
    assert known.measured(value) is not None or not known.values
    unit = "EUR" if value == "Price (€)" else "u"
    found, _ = load_sensors(
        text.encode(), value=value, unit=unit, x=known.place.x, y=known.place.y, crs=known.place.crs or "",
        sensor=known.owner, where=where or None, time=known.time, condition=known.condition,
        detection_limit=0.1, identifier=known.identifier, equal_rows=known.profile.equal_rows,
        unit_column="none", place_sd=known.metres,
    )  # fmt: skip
    assert (found.crs, found.owners) == (crs, owners)
    np.testing.assert_array_equal([found.x, found.y, found.value], [x, y, values])


def test_every_profile_of_readings_has_a_table_here_and_says_what_it_is() -> None:
    assert set(TABLES) == {name for name, one in profiles().items() if one.rows == "readings"}
    assert {one.rows for one in profiles().values()} == {"readings", "sales", "postcodes"}
    assert all(
        one.title and one.about and one.places and (one.values or one.count or one.place_sd)
        for one in (profiles()[name] for name in TABLES)
    )
    assert all(one.quantity_example for one in profiles().values() if one.quantity)


def test_sales_and_postcodes_are_read_by_their_profiles() -> None:
    yearly = (
        '"{A}","250000","2022-03-01 00:00","QA1 0AA","F","N","L","1","2","HIGH ""OLD"" ROAD","","T",'
        '"D","C","A","A"\n'
    )
    places, _ = load_postcodes(b"pcd7,pcds,doterm,east1m,north1m\nQA1 0AA,QA1 0AA,,530000,180000\n")
    assert (places.x.tolist(), places.y.tolist()) == ([530000.0], [180000.0])
    sales, _ = load_sales(yearly.encode(), places)
    assert sales.value.tolist() == [250000.0]
    known = recognise(["{A}", *["x"] * 15])
    assert known is not None
    assert known.profile.name == "price-paid"
    with pytest.raises(DataError, match="load it as sales"):
        profile_of(yearly.encode())


@pytest.mark.parametrize(
    ("head", "name", "value", "owner", "time"),
    [
        ("location_id,location_name,parameter,value,unit,datetimeUtc,datetimeLocal,timezone,latitude,longitude",
         "openaq", "value", "location_id", "datetimeUtc"),
        ("state_code,county_code,site_number,parameter_code,poc,latitude,longitude,date_local,arithmetic_mean",
         "epa-aqs", "arithmetic_mean", "state_code + county_code + site_number", "date_local"),
        ("Date,Site ID,POC,Daily Mean PM2.5 Concentration,Units,Daily AQI Value,Site Latitude,Site Longitude",
         "epa-aqs", "Daily Mean PM2.5 Concentration", "Site ID", "Date"),
        ("Date,Site ID,POC,Daily Max 8-hour Ozone Concentration,DAILY_AQI_VALUE,SITE_LATITUDE,SITE_LONGITUDE",
         "epa-aqs", "Daily Max 8-hour Ozone Concentration", "Site ID", "Date"),
        ("sensor_id,sensor_type,location,lat,lon,timestamp,noise_LAeq,noise_LA_min", "sensor-community",
         "noise_LAeq", "sensor_id", "timestamp"),
        ("sensor_index,last_seen,name,latitude,longitude,pm2.5_60minute", "purpleair", "pm2.5_60minute",
         "sensor_index", "last_seen"),
        ("value,parameter.name,parameter.units,coordinates.latitude,coordinates.longitude,sensor_id,"
         "period.datetimeFrom.utc", "openaq", "value", "sensor_id", "period.datetimeFrom.utc"),
        ("Samplingpoint,Pollutant,Start,End,Value,Unit,AggType,Validity,Verification,ResultTime,Longitude,"
         "Latitude", "eea", "Value", "Samplingpoint", "Start"),
        ("unique_key,created_date,agency,complaint_type,latitude,longitude", "nyc-311",
         None, None, "created_date"),
        ("event-id,visible,timestamp,utm-easting,utm-northing,utm-zone,tag-local-identifier", "movebank",
         None, "tag-local-identifier", "timestamp"),
        ("collision_index,location_easting_osgr,longitude,latitude,legacy_collision_severity,date", "stats19",
         None, None, "date"),
        ("ID,C_ID,COUNTRY,XCOO,YCOO,Cr", "geochemistry", "Cr", None, None),
        ("COUNTRY,longitude,latitude,Xcoord,Ycoord,Cr,Ni", "geochemistry", None, None, None),
        ("Org_Identifier,Location_Identifier,Location_Latitude,Location_Longitude,Activity_StartDate,"
         "Result_Characteristic,Result_Measure,Result_ResultDetectionCondition,DetectionLimit_MeasureA",
         "wqp", "Result_Measure", "Location_Identifier", "Activity_StartDate"),
    ],
)  # fmt: skip
def test_an_agencys_other_tables_are_known(
    head: str, name: str, value: str | None, owner: str | None, time: str | None
) -> None:
    known = recognise(head.split(","))
    assert known is not None
    assert known.place is not None
    only = known.measured(None)
    assert (known.profile.name, only and only.column, known.owner, known.time) == (name, value, owner, time)


def test_what_else_a_profile_says() -> None:
    head = "Samplingpoint,Pollutant,Start,Value,Unit,AggType,Validity,Longitude,Latitude"
    known = recognise(head.split(","))
    assert known is not None
    assert (known.unit, known.kind, known.metres) == ("Unit", ("Validity", "1"), None)
    known = recognise(
        ["gbifID", "decimalLatitude", "decimalLongitude", "basisOfRecord", "coordinateUncertaintyInMeters"]
    )
    assert known is not None
    assert (known.identifier, known.place_sd, known.metres) == (
        "gbifID",
        "coordinateUncertaintyInMeters",
        None,
    )
    known = recognise(["DHSID", "DHSCLUST", "URBAN_RURA", "LATNUM", "LONGNUM"])
    assert known is not None
    assert (known.kind, known.place_sd, known.metres) == (("URBAN_RURA", "R"), None, "2072")
    known = recognise(["event-id", "timestamp", "utm-easting", "utm-northing", "utm-zone"])
    assert known is not None
    assert known.place is not None
    assert (known.place.x, known.place.zone, known.place.crs) == ("utm-easting", "utm-zone", None)


def test_a_table_that_merely_resembles_an_agencys_is_not_taken_for_it() -> None:
    assert recognise(["site", "code", "date", "latitude", "longitude", "no2"]) is None
    assert recognise(["sensor_id", "lat", "lon", "P1"]) is None
    both = [*AQS.replace('"', "").strip().split(","), "agency_cd", "site_no", "dec_lat_va", "dec_long_va"]
    assert recognise(both).profile.name == "epa-aqs"  # type: ignore[union-attr]  # seven columns against four
    twice = recognise(["agency_cd", "site_no", "dec_lat_va", "dec_long_va", "lev_va", "LEV_VA"])
    assert twice is not None
    assert twice.values == ()


def test_an_owner_of_several_columns_is_named_by_all_of_them() -> None:
    head = "state,county,a+b,x,y,v\n"
    rows = "1,11,p,0.1,51.1,1\n11,1,p,0.2,51.2,2\n1,11,q,0.3,51.3,3\n1,,q,0.4,51.4,4\n"

    def owners(name: str) -> list[int]:
        found, _ = load_sensors((head + rows).encode(), value="v", unit="u", x="x", y="y", sensor=name)
        assert found.owner is not None
        return found.owner.tolist()

    assert owners("state + county") == [0, 1, 0]  # the row without a county is named by nobody
    assert owners("state+county") == [0, 1, 0]
    assert owners("a+b") == [0, 0, 1, 1]
    with pytest.raises(DataError, match="no column 'country'; did you mean 'county'"):
        owners("state + country")


@pytest.mark.parametrize("text", ["title = ", 'title = "A"\nabout = "b"\ncolumns = ["c"]', 'about = "b"'])
def test_a_file_that_is_no_profile_is_refused_by_name(text: str) -> None:
    with pytest.raises(DataError, match="The profile 'mine' cannot be read"):
        profile_from("mine", text)

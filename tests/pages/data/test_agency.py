"""One click fills the fields of the Data screen from a profile, and empties what a person must choose."""

from __future__ import annotations

from data_loaders.columns.profiles import Recognised, held_against, named_profile
from pages.data.findings import agency_sentences, widget_state
from pages.data.table_columns import NO_VALUE


def of(name: str, head: str) -> Recognised:
    return held_against(named_profile(name), head.split(","))


def test_the_fields_hold_the_agencys_columns() -> None:
    known = of("usgs-rdb", "agency_cd,site_no,dec_lat_va,dec_long_va,lev_dt,lev_va")
    assert widget_state(known, "p") == {
        "sensors_x_p": "dec_long_va",
        "sensors_y_p": "dec_lat_va",
        "sensors_crs_p": "EPSG:4269",
        "sensors_value_p": "lev_va",
        "sensors_unit_p_lev_va": "feet",
        "sensors_name_p_lev_va": "depth to water",
        "sensors_owner_p": "agency_cd + site_no",
        "sensors_time_p": "lev_dt",
        "sensors_condition_p": None,
    }


def test_rows_without_values_are_counted_and_named() -> None:
    state = widget_state(of("police-uk", "Crime ID,Month,Reported by,Longitude,Latitude,Crime type"), "p")
    assert (state["sensors_value_p"], state["sensors_word_p"]) == (NO_VALUE, "crime")
    assert (state["sensors_identifier_p"], state["sensors_equal_rows_p"]) == ("Crime ID", "each")
    clusters = of("dhs", "DHSID,DHSCLUST,URBAN_RURA,LATNUM,LONGNUM")
    assert widget_state(clusters, "p")["sensors_place_sd_p"] == "2072"
    assert "Metres to which every place is known: 2072." in agency_sentences(clusters)
    tracks = of("movebank", "event-id,timestamp,utm-easting,utm-northing,utm-zone,visible")
    state = widget_state(tracks, "p")
    assert (state["sensors_zone_column_p"], state["sensors_crs_p"]) == ("utm-zone", "EPSG:4326")
    said = agency_sentences(tracks)
    assert "Places: utm-easting, utm-northing in the zones of utm-zone." in said
    assert "Kind of a row: visible, of which you may keep one entry, such as true." in said


def test_what_a_person_must_choose_is_emptied() -> None:
    state = widget_state(of("purpleair", "sensor_index,latitude,longitude,pm2.5_a,pm2.5_b"), "p")
    assert state["sensors_value_p"] is None
    assert not any(key.startswith("sensors_unit_p") for key in state)
    state = widget_state(of("geochemistry", "ID,XCOO,YCOO,As,Pb"), "p")
    assert (state["sensors_x_p"], state["sensors_crs_p"]) == ("XCOO", "")
    mixed = of("openaq", "location_id,sensors_id,datetime,lat,lon,parameter,value")
    state = widget_state(mixed, "p")
    assert (state["sensors_where_p"], state["sensors_reference_where_p"]) == (["parameter"], [])
    assert "What a row measures: parameter, of which you choose one entry." in agency_sentences(mixed)

"""Names that columns of coordinates have, in several languages and at the big agencies."""

from __future__ import annotations

import re

LONGEST = 120  # characters of a name that are looked at


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LATITUDE = _words(
    """lat latitude ylat latwgs84 latitudewgs84 wgs84lat latdd latdec latdeg latdecimal declat declatva
    decimallatitude latdecimaldegrees latitudedegrees latitudedeg latitudemeasure activitylatitudemeasure
    activitylocationlatitudemeasure gpslat gpslatitude thlat sitelat sitelatitude stationlat stationlatitude
    locationlat locationlatitude samplelat late7 latitudee7 latitud latitudine breite breitengrad geobreite
    geographischebreite geogrbreite breddegrad bredd szerokosc szerokość szerokośćgeograficzna leveysaste
    leveyspiiri leveys šířka zeměpisnášířka zemepisnasirka szélesség szelesseg enlem breedtegraad широта
    纬度 緯度 위도"""
)
_LONGITUDE = _words(
    """lon long lng longitude xlong xlon lonwgs84 longwgs84 longitudewgs84 wgs84lon wgs84long londd longdd
    londec longdec londeg longdeg londecimal declong declon declongva decimallongitude londecimaldegrees
    longitudedegrees longitudedeg longitudemeasure activitylongitudemeasure activitylocationlongitudemeasure
    gpslon gpslong gpslng gpslongitude thlong thlon sitelon sitelong sitelongitude stationlon stationlong
    stationlongitude locationlon locationlong locationlongitude samplelon lone7 lnge7 longe7 longitudee7
    longitud longitudine länge laenge längengrad laengengrad geolänge geographischelänge geogrlänge
    lengdegrad længdegrad längd długość dlugosc długośćgeograficzna pituusaste pituuspiiri pituus délka
    zeměpisnádélka zemepisnadelka hosszúság hosszusag boylam lengtegraad долгота 经度 經度 経度 경도"""
)
PAIRS = (
    ("easting", "northing"), ("eastings", "northings"), ("east", "north"), ("oseast1m", "osnrth1m"),
    ("x", "y"), ("xloc", "yloc"), ("xcoord", "ycoord"), ("coordx", "coordy"), ("utmx", "utmy"),
    ("xcoo", "ycoo"), ("xcoordinate", "ycoordinate"), ("xutm", "yutm"), ("utme", "utmn"),
    ("utmeasting", "utmnorthing"), ("rechtswert", "hochwert"), ("rw", "hw"), ("ostwert", "nordwert"),
    ("ekoord", "nkoord"), ("xkoord", "ykoord"), ("xkoordinate", "ykoordinate"), ("koordx", "koordy"),
    ("este", "norte"), ("est", "nord"), ("ost", "nord"), ("oost", "noord"), ("øst", "nord"),
    ("coordenadax", "coordenaday"), ("coordx", "coordy"), ("xlaea", "ylaea"), ("xetrs89", "yetrs89"),
    ("xmetres", "ymetres"), ("rdx", "rdy"), ("xrd", "yrd"),
)  # fmt: skip
"""Columns of easting and of northing, without blanks and marks."""

_PLACE = re.compile(
    r"(^|[^a-z])(lat|lon|long|lng|latitude|longitude|east(ing)?s?|north(ing)?s?|epsg|srid)($|[^a-z])"
)
_EAST_WEST = re.compile(
    r"(^|[^a-z])(e[ _/-]?w|w[ _/-]?e|east[ _/-]?west)($|[^a-z])|(lon|lng)[a-z]*[ _.-]*(hem|dir|ref|letter|ew)"
)
_NORTH_SOUTH = re.compile(
    r"(^|[^a-z])(n[ _/-]?s|north[ _/-]?south)($|[^a-z])|lat[a-z]*[ _.-]*(hem|dir|ref|letter|ns)"
)


def bare(name: str) -> str:
    """A name in small letters, without blanks and marks."""
    return re.sub(r"[\W_]+", "", name[:LONGEST].lower())


def is_latitude(name: str) -> bool:
    """Whether a column is named as latitude."""
    return bare(name) in _LATITUDE


def is_longitude(name: str) -> bool:
    """Whether a column is named as longitude."""
    return bare(name) in _LONGITUDE


def is_place(name: str) -> bool:
    """Whether a column is named as any coordinate, or as its system."""
    word = bare(name)
    return (
        word in _LATITUDE
        or word in _LONGITUDE
        or any(word in pair for pair in PAIRS)
        or bool(_PLACE.search(name[:LONGEST].lower()))
    )


def is_ten_millionths(name: str) -> bool:
    """Whether a column of degrees is named as holding them times 10^7, as devices write them."""
    return bare(name).endswith("e7") and (is_latitude(name) or is_longitude(name))


def names_hemisphere(name: str, *, of_latitude: bool) -> bool:
    """Whether a column may hold the letters N and S of latitudes, or E and W of longitudes."""
    return bool((_NORTH_SOUTH if of_latitude else _EAST_WEST).search(name[:LONGEST].lower()))

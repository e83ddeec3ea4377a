"""Reads users' files: sales, postcodes, sensor tables, generated demo data; each with a report."""

from data_loaders.columns.guess import ColumnGuess, guess_columns, profile_of
from data_loaders.columns.guess_names import owner_word_of
from data_loaders.columns.profiles import Profile, Recognised, named_profile, profiles
from data_loaders.columns.qualifiers import Finding
from data_loaders.columns.sensortable import Entries, count_entries
from data_loaders.columns.units import split_unit
from data_loaders.contributions import BoundedContributions, bound_contributions
from data_loaders.demo_data import DEMO_SEED, DEMO_YEARS, DemoField, DemoFiles, write_demo
from data_loaders.errors import DataError
from data_loaders.files.guarded import LIMITS, Limits
from data_loaders.files.layers import POINT_X, POINT_Y
from data_loaders.files.shapes import is_geopackage, shapes_of
from data_loaders.files.sources import Source
from data_loaders.house_prices.download import (
    CODE_POINT_OPEN,
    ONSPD_INSTRUCTIONS,
    Progress,
    PublicFile,
    fetch,
    price_paid_file,
)
from data_loaders.house_prices.postcodes import PostcodeTable, load_postcodes
from data_loaders.house_prices.sales import load_sales
from data_loaders.house_prices.segments import SEGMENTS, Segment
from data_loaders.observations import Kind, LoadReport, Observations, OwnerWord
from data_loaders.registry import LOADERS, Loader, loader_of
from data_loaders.sensors import load_sensors

__all__ = [
    "CODE_POINT_OPEN",
    "DEMO_SEED",
    "DEMO_YEARS",
    "LIMITS",
    "LOADERS",
    "ONSPD_INSTRUCTIONS",
    "POINT_X",
    "POINT_Y",
    "SEGMENTS",
    "BoundedContributions",
    "ColumnGuess",
    "DataError",
    "DemoField",
    "DemoFiles",
    "Entries",
    "Finding",
    "Kind",
    "Limits",
    "LoadReport",
    "Loader",
    "Observations",
    "OwnerWord",
    "PostcodeTable",
    "Profile",
    "Progress",
    "PublicFile",
    "Recognised",
    "Segment",
    "Source",
    "bound_contributions",
    "count_entries",
    "fetch",
    "guess_columns",
    "is_geopackage",
    "load_postcodes",
    "load_sales",
    "load_sensors",
    "loader_of",
    "named_profile",
    "owner_word_of",
    "price_paid_file",
    "profile_of",
    "profiles",
    "shapes_of",
    "split_unit",
    "write_demo",
]

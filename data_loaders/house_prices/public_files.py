"""Where the public files are: addresses, licences, and how to fetch by hand what has no fixed address."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from data_loaders.errors import DataError
from data_loaders.house_prices.postcodes import ONS_ATTRIBUTION
from data_loaders.house_prices.sales import LAND_REGISTRY
from data_loaders.house_prices.segments import FIRST_YEAR, LAST_YEAR

_LAND_REGISTRY = "https://price-paid-data.publicdata.landregistry.gov.uk/"
_PRICE_PAID_PAGE = "https://www.gov.uk/government/statistical-data-sets/price-paid-data-downloads"
_ORDNANCE_SURVEY = (
    "https://api.os.uk/downloads/v1/products/CodePointOpen/downloads?area=GB&format=CSV&redirect"
)
_CODE_POINT_PAGE = "https://osdatahub.os.uk/downloads/open/CodePointOpen"

# The address of ONSPD and NSPL changes with every quarterly edition, so it cannot be kept here.
ONSPD_INSTRUCTIONS = (
    "The ONS Postcode Directory (ONSPD) has a new address each quarter: open "
    "https://geoportal.statistics.gov.uk, search for ONSPD, download the zip file and choose it as it is."
)


@dataclass(frozen=True)
class PublicFile:
    """A file anybody may download."""

    name: str
    title: str  # a name for people
    address: str  # where it is
    file_name: str  # what it is called on disk
    megabytes: int  # rough size, so that a person can decide
    page: str  # where a person finds it in a browser
    attribution: tuple[str, ...]  # sentences its licence asks for
    # None for files corrected monthly in place, whose fixed checksum would soon be wrong
    sha256: str | None = None

    @property
    def host(self) -> str:
        """Whom a download asks."""
        return urlsplit(self.address).hostname or ""


def price_paid_file(year: int | str) -> PublicFile:
    """Find the file of Price Paid Data of a year from 1995, "complete" (1995 until now) or "monthly"; raise
    `DataError` for anything else."""
    word = str(year).strip().lower()
    if word == "complete":
        stem, title, size = "pp-complete", "Price Paid Data, complete since 1995", 5300
    elif word == "monthly":
        stem, title, size = (
            "pp-monthly-update-new-version",
            "Price Paid Data, changes of the latest month",
            20,
        )
    elif word.isascii() and word.isdigit() and FIRST_YEAR <= int(word[:9]) <= LAST_YEAR:
        stem, title, size = f"pp-{word}", f"Price Paid Data {word}", 170
    else:
        raise DataError(
            f"Price Paid files exist for each year from {FIRST_YEAR}, as 'complete' and as 'monthly'."
        )
    return PublicFile(
        stem, title, f"{_LAND_REGISTRY}{stem}.csv", f"{stem}.csv", size, _PRICE_PAID_PAGE, (LAND_REGISTRY,)
    )


CODE_POINT_OPEN = PublicFile(
    "code-point-open",
    "Code-Point Open: postcodes of Great Britain",
    _ORDNANCE_SURVEY,
    "code-point-open.zip",
    20,
    _CODE_POINT_PAGE,
    ONS_ATTRIBUTION[:2],
)

"""Settings: every public choice of one release, from one model."""

from hexcursion.settings.catalogue import catalogue, field
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import (
    ReleaseSettings,
    read_toml,
    settings_from_mapping,
    settings_from_toml,
    settings_to_toml,
)
from hexcursion.settings.names import default_delta, usual_delta
from hexcursion.settings.privacy_settings import StatedFacts

__all__ = [
    "ReleaseSettings",
    "SourceSettings",
    "StatedFacts",
    "catalogue",
    "default_delta",
    "field",
    "read_toml",
    "settings_from_mapping",
    "settings_from_toml",
    "settings_to_toml",
    "usual_delta",
]

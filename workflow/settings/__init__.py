"""Settings: every public choice of one release, from one model."""

from workflow.settings.catalogue import catalogue, field
from workflow.settings.defaults import default_delta, usual_delta
from workflow.settings.model import ReleaseSettings
from workflow.settings.source import SourceSettings
from workflow.settings.stated import StatedFacts
from workflow.settings.toml import (
    read_toml,
    settings_from_mapping,
    settings_from_toml,
    settings_to_toml,
)

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

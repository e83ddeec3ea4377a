"""The named parts of the market and how they are called on a screen."""

from data_loaders import SEGMENTS

SEGMENT_TITLES = {name: segment.title for name, segment in SEGMENTS.items()}

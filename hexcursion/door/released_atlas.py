"""A released atlas for programs: every layer as a released map, from one bundle."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

import pandas

from dpgp_core.numbers import upper
from hexcursion.bundle import BundleError
from hexcursion.bundle.atlas.derived import derived_columns
from hexcursion.bundle.atlas.read import AtlasBundle, atlas_doubts, atlas_from_contents
from hexcursion.bundle.layout import contents_of, is_atlas
from hexcursion.door.released import Opened, Released
from hexcursion.settings.derived import Derived, Kind

NO_ATLAS = "This bundle is a map of one column and no atlas: open it with `hexcursion.open_bundle`."


class ReleasedAtlas(Opened, Mapping[str, Released]):
    """A released atlas: public, checked, and a mapping from its columns to their maps.

    Parameters
    ----------
    place : str or Path
        Folder or zip of its bundle.

    Raises
    ------
    BundleError
        If it is not a valid bundle of an atlas.

    Attributes
    ----------
    place : Path
        Folder or zip of its bundle.
    bundle : AtlasBundle
        The content of the bundle.
    """

    def __init__(self, place: str | Path) -> None:
        self.place = Path(place)
        contents = contents_of(self.place)
        if not is_atlas(contents):
            raise BundleError(NO_ATLAS)
        self.bundle: AtlasBundle = atlas_from_contents(contents)
        self.statement = self.bundle.statement

    def __getitem__(self, name: str) -> Released:
        if name not in self.bundle.names:
            raise KeyError(name)
        return Released(self.place, self.bundle.layer(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.bundle.names)

    def __len__(self) -> int:
        return len(self.bundle.layers)

    def derived(self, kind: Kind, *columns: str, threshold: float | None = None) -> pandas.DataFrame:
        """Derive a layer from several layers, at no cost.

        Parameters
        ----------
        kind : "ratio", "difference", "sum", "both" or "any"
            Of two columns the ratio, difference or sum above a threshold; or all or any of several columns
            on the side in the question, at their published thresholds.
        *columns : str
            The columns, in order.
        threshold : float, optional
            Of a ratio, a difference or a sum.

        Returns
        -------
        DataFrame
            One row per hexagon: `h3` and its `probability`, given the release.

        Raises
        ------
        WorkflowError
            For columns that do not fit the kind, or were read together.
        """
        return pandas.DataFrame(derived_columns(self.bundle.by_name, Derived(kind, columns, threshold)))

    def __repr__(self) -> str:
        cells = self.bundle.domain.size
        return f"<{type(self).__name__} of {', '.join(self)}, {cells:,} hexagons, in {self.place}>"

    def _repr_html_(self) -> str:
        """Return the guarantee of all maps and their pictures for a notebook."""
        epsilon = upper(self.statement["guarantee"]["epsilon"])
        promise = f"{self.statement['atlas']['in_words']} \u03b5 {epsilon} for all of them."
        return f"<p><strong>{escape(self.title)}</strong><br>{escape(promise)}</p>" + "".join(
            layer._repr_html_() for layer in self.values()
        )


def open_atlas(path: str | Path) -> ReleasedAtlas:
    """Open the bundle of an atlas from any source: check all of its content and execute nothing.

    Prove the cost of all layers again, and compute every map again from the released sums; a
    `UserWarning` reports a difference.

    Parameters
    ----------
    path : str or Path
        Folder or zip.

    Returns
    -------
    ReleasedAtlas

    Raises
    ------
    BundleError
        With one sentence, for the first check that fails, and for a map of one column.
    """
    if not isinstance(path, str | Path) or not str(path):
        raise BundleError(f"Name the atlas' folder or zip as a text or a path, not {path!r}.")
    opened = ReleasedAtlas(path)
    for doubt in atlas_doubts(opened.bundle):
        warnings.warn(doubt, stacklevel=2)
    return opened

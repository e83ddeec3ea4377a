"""A released map as a program and a notebook see it: read from its bundle and from nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geo.domains.hexagons import cell_polygons
from hexcursion.bundle import Bundle, BundleError, read_bundle
from hexcursion.bundle.again import density_of
from hexcursion.bundle.layout import contents_of, zip_bytes_to
from hexcursion.bundle.products import class_column
from hexcursion.bundle.statement.expected import how_right
from hexcursion.errors import WorkflowError
from hexcursion.new_place import made_whole, new_place
from hexcursion.words import quantity, side_words

if TYPE_CHECKING:
    import geopandas


class Released:
    """A released map: public, checked, and shown by itself in a notebook.

    Parameters
    ----------
    place : str or Path
        Folder or zip of its bundle.

    Raises
    ------
    BundleError
        If it is no valid bundle.

    Attributes
    ----------
    place : Path
        Where its bundle lies.
    bundle : Bundle
        Everything that is in it.
    """

    def __init__(self, place: str | Path) -> None:
        self.place = Path(place)
        self.bundle: Bundle = read_bundle(self.place)

    @property
    def statement(self) -> Mapping[str, Any]:
        """The privacy statement, as in `statement.json`."""
        return self.bundle.statement

    @cached_property
    def map(self) -> geopandas.GeoDataFrame:
        """One row a hexagon, in degrees.

        Returns
        -------
        GeoDataFrame
            `h3`; `class`, as in the bundle's files: likely on the asked side of the threshold ("above"),
            "open", likely not ("not above"), "no record expected"; `in_set`: whether it belongs to the
            published set; `probability` of lying on that side and `mean` in the unit of the value, NaN where
            the mechanism has none.
        """
        import geopandas

        bundle, products = self.bundle, self.bundle.published
        unknown = np.full(bundle.domain.size, np.nan)
        columns = {
            "h3": list(bundle.domain.cells),
            "class": class_column(products),
            "in_set": products.vote_set,
            "probability": unknown if products.probability is None else products.probability,
            "mean": unknown if bundle.field is None else bundle.response.value(bundle.field[0]),
        }
        shapes = cell_polygons(bundle.domain.cells)  # two parts where a cell crosses the date line
        outlines = [each.geoms[0] if len(each.geoms) == 1 else each for each in shapes]
        made = geopandas.GeoDataFrame(columns, geometry=outlines, crs="EPSG:4326")
        made.attrs = {"unit": str(self.statement["subject"]["unit"]), "threshold": bundle.threshold}
        return made

    def density(self, above: float) -> geopandas.GeoDataFrame:
        """Where more than so many records lie per square kilometre, from the released counts: free.

        Parameters
        ----------
        above : float
            Records per square kilometre.

        Returns
        -------
        GeoDataFrame
            One row a hexagon, in degrees: `h3`, `denser` (in the set expected to agree best), its
            `probability`, the expected density `per_km2`, and its 90 % interval from `low` to `high`.

        Raises
        ------
        BundleError
            For no density, and a bundle without released counts of single records.
        """
        import geopandas

        found = density_of(self.bundle, above)
        shapes = cell_polygons(self.bundle.domain.cells)
        outlines = [each.geoms[0] if len(each.geoms) == 1 else each for each in shapes]
        return geopandas.GeoDataFrame(found.columns(), geometry=outlines, crs="EPSG:4326")

    @property
    def deck(self) -> Any:
        """The map as a deck of pydeck, which a notebook draws.

        Returns
        -------
        pydeck.Deck

        Raises
        ------
        WorkflowError
            Where pydeck is not installed.
        """
        try:
            from geo.maps.layers import pane_deck
        except ModuleNotFoundError as error:
            raise WorkflowError("A deck needs pydeck: install hexcursion[app].") from error
        from geo.maps.linked import Pane
        from geo.maps.painting import paint_shares, paint_votes

        products, subject = self.bundle.published, self.statement["subject"]
        what = f"{side_words(products.direction)} {quantity(self.bundle.threshold, str(subject['unit']))}"
        if products.probability is not None:
            painting = paint_shares(
                products.probability, what=what, title=self.title, word="a probability of"
            )
        else:
            count = int(self.bundle.paths.shape[0])
            painting = paint_votes(products.votes, count, what=what, title=self.title)
        return pane_deck(self.bundle.domain, Pane(self.title, painting))

    @property
    def title(self) -> str:
        """What the map is called."""
        return str(self.statement["release"]["title"])

    def save(self, path: str | Path) -> Path:
        """Copy the bundle to a new place: a zip where the name ends in `.zip`, otherwise a folder.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path

        Raises
        ------
        WorkflowError
            If the path exists already, or cannot be written.
        """
        place, files = new_place(path), contents_of(self.place)
        try:
            with made_whole(place) as made:
                if place.suffix.lower() == ".zip":
                    with made.open("wb") as stream:
                        zip_bytes_to(stream, place.stem, files)
                else:
                    made.mkdir()
                    for name, content in files.items():
                        (made / name).write_bytes(content)
        except OSError as error:
            raise WorkflowError(
                f"{place} cannot be written ({error.strerror}): name another place."
            ) from error
        return place

    def __repr__(self) -> str:
        cells = self.bundle.domain.size
        return f"<{type(self).__name__} {self.title!r}, {cells:,} hexagons, in {self.place}>"

    def _repr_html_(self) -> str:
        """The picture and what a reader should know beside it, for a notebook."""
        guarantee = self.statement["guarantee"]
        said = [
            f"ε {guarantee['epsilon']:.4g} at δ {guarantee['delta']:.3g}, for each {guarantee['unit']}.",
            *how_right(self.statement, self.bundle.published),
        ]
        picture = b64encode(self.bundle.map_png).decode()
        return (
            f'<figure><img alt="{escape(self.title)}" style="max-width: 100%" '
            f'src="data:image/png;base64,{picture}"><figcaption><strong>{escape(self.title)}</strong><br>'
            f"{'<br>'.join(map(escape, said))}</figcaption></figure>"
        )


def open_bundle(path: str | Path) -> Released:
    """Open a bundle that anybody may have made: everything in it is checked, nothing is executed.

    Parameters
    ----------
    path : str or Path
        Folder or zip.

    Returns
    -------
    Released

    Raises
    ------
    BundleError
        One sentence, for the first check that fails.
    """
    if not isinstance(path, str | Path) or not str(path):
        raise BundleError(f"Name the bundle's folder or zip as a text or a path, not {path!r}.")
    return Released(path)

"""A released map, and a path of it evaluated at places, for programs: from its bundle alone."""

from __future__ import annotations

import fcntl
import json
import os
import warnings
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from html import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.noise import SystemEntropy
from dpgp_core.numbers import upper
from dpgp_core.priors.dense import DensePrior
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import LazyPath
from geo.crs import project
from geo.domains.hexagons import cell_polygons
from hexcursion.bundle import Bundle, BundleError, read_bundle
from hexcursion.bundle.again import density_of, doubts
from hexcursion.bundle.layers import frame_of
from hexcursion.bundle.layout import contents_of, zip_bytes_to
from hexcursion.bundle.products import class_column
from hexcursion.bundle.statement.designs import design_from
from hexcursion.bundle.statement.expected import how_right
from hexcursion.errors import WorkflowError
from hexcursion.ledger.places import home, witness_folder
from hexcursion.new_place import made_whole, new_place, write_files
from hexcursion.project.load import build_lattice
from hexcursion.promises import protected_word
from hexcursion.words import one_in, quantity, side_words

if TYPE_CHECKING:
    import geopandas


class Opened:
    """A checked bundle and its path: the base of a map of one column and of an atlas.

    Attributes
    ----------
    place : Path
        Folder or zip of the bundle.
    statement : mapping
        The privacy statement, as in `statement.json`.
    """

    place: Path
    statement: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The title of the release."""
        return str(self.statement["release"]["title"])

    def save(self, path: str | Path) -> Path:
        """Copy the bundle to a new path: a zip if the name ends in `.zip`, otherwise a folder.

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
        return saved(self.place, path)


class Released(Opened):
    """A released map: public, checked, and displayed by notebooks.

    Parameters
    ----------
    place : str or Path
        Folder or zip of its bundle.
    bundle : Bundle, optional
        The bundle, if read before: a layer of an atlas.

    Raises
    ------
    BundleError
        If the bundle is invalid.

    Attributes
    ----------
    place : Path
        Folder or zip of its bundle.
    bundle : Bundle
        The content of the bundle.
    """

    def __init__(self, place: str | Path, bundle: Bundle | None = None) -> None:
        self.place = Path(place)
        self.bundle: Bundle = read_bundle(self.place) if bundle is None else bundle
        self.statement = self.bundle.statement

    @cached_property
    def map(self) -> geopandas.GeoDataFrame:
        """One row per hexagon, in degrees.

        Returns
        -------
        GeoDataFrame
            `h3`; `class`, as in the bundle's files: likely on the side of the threshold in the question
            ("above"), "open", likely not ("not above"), "no record expected"; `in_set`: whether it is judged
            and more likely on that side than not; `probability` of that side and `mean` in the unit of the
            value, NaN for mechanisms without them.
        """
        bundle, products = self.bundle, self.bundle.published
        unknown = np.full(bundle.domain.size, np.nan)
        columns = {
            "h3": list(bundle.domain.cells),
            "class": class_column(products),
            "in_set": products.in_set,
            "probability": unknown if products.probability is None else products.probability,
            "mean": unknown if bundle.field is None else bundle.response.value(bundle.field[0]),
        }
        frame = frame_of(columns, cell_polygons(bundle.domain.cells))
        frame.attrs = {"unit": str(self.statement["subject"]["unit"]), "threshold": bundle.threshold}
        return frame

    def density(self, above: float) -> geopandas.GeoDataFrame:
        """Return where the density of records exceeds `above`, from the released counts, at no
        cost.

        Parameters
        ----------
        above : float
            Records per square kilometre.

        Returns
        -------
        GeoDataFrame
            One row per hexagon, in degrees: `h3`, `denser` (in the set expected to agree best), its
            `probability`, the expected density `per_km2`, and its 90 % interval from `low` to `high`.

        Raises
        ------
        BundleError
            For an impossible density, and a bundle without released counts of single records.
        """
        density = density_of(self.bundle, above)
        return frame_of(density.columns(), cell_polygons(self.bundle.domain.cells))

    @property
    def deck(self) -> Any:
        """The map as a deck of pydeck, which a notebook draws with programs from the internet.

        It stays empty without a connection, while the picture of a `Released` needs none.

        Returns
        -------
        pydeck.Deck

        Raises
        ------
        WorkflowError
            If pydeck is not installed.
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

    def __repr__(self) -> str:
        cells = self.bundle.domain.size
        return f"<{type(self).__name__} {self.title!r}, {cells:,} hexagons, in {self.place}>"

    def _repr_html_(self) -> str:
        """Return the picture and its guarantee for a notebook."""
        guarantee = self.statement["guarantee"]
        protected = "hexagon's record" if guarantee["unit"] == "cell" else protected_word(guarantee)
        sentences = [
            f"ε {upper(guarantee['epsilon'])} at δ {one_in(guarantee['delta'])}, for each {protected}.",
            *how_right(self.statement, self.bundle.published),
        ]
        picture = b64encode(self.bundle.map_png).decode()
        return (
            f'<figure><img alt="{escape(self.title)}" style="max-width: 100%" '
            f'src="data:image/png;base64,{picture}"><figcaption><strong>{escape(self.title)}</strong><br>'
            f"{'<br>'.join(map(escape, sentences))}</figcaption></figure>"
        )


def saved(source: Path, path: str | Path) -> Path:
    """Copy a bundle to a new path; raise `WorkflowError` if it exists or cannot be written."""
    place, files = new_place(path), contents_of(source)
    with made_whole(place) as draft:
        if place.suffix.lower() == ".zip":
            with draft.open("wb") as stream:
                zip_bytes_to(stream, place.stem, files)
        else:
            write_files(draft, files)
    return place


def open_bundle(path: str | Path) -> Released:
    """Open a bundle from any source: check all of its content and execute nothing.

    Prove its cost again from its design and hexagons, and compute its map again from the released
    sums, if any; a `UserWarning` reports a difference. The command `lint` compares its documents
    with its statement; this function does not.

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
        With one sentence, for the first check that fails, and for an atlas, which `open_atlas` opens.
    """
    if not isinstance(path, str | Path) or not str(path):
        raise BundleError(f"Name the bundle's folder or zip as a text or a path, not {path!r}.")
    opened = Released(path)
    for doubt in doubts(opened.bundle):
        warnings.warn(doubt, stacklevel=2)
    return opened


Floats = NDArray[np.float64]
FOLDER = "paths"
DIGITS = 3  # of metres: places within a millimetre are one place, and one question
NO_KERNEL = (
    "Only a path of posterior sampling with a kernel prior has values between the hexagons: release with "
    "mechanisms=('posterior-sampling',) and priors=('exponential',) or ('matern32',)."
)
DAMAGED = "The answers in {file} cannot be read: restore that file, or another path would be followed."

LOST = (
    "An answer could not be written down, so it is not given: make room on the disk and open the path again."
)


class AskedPath:
    """One released path, evaluated at any places at no further cost.

    Parameters
    ----------
    released : Released
        The published release; nothing else is read, so any reader of the bundle may evaluate it.
    number : int
        The number of the path, from 1.

    Raises
    ------
    WorkflowError
        With one sentence, if the release has no path between hexagons.

    Notes
    -----
    The first answers are the published path at the hexagons. Each further answer is drawn given all earlier
    ones, from public numbers alone, and written to `paths` in this installation's home before it is returned,
    so repeated questions get equal answers. The number of answers is stored next to the ledger's witness, so
    a lost or restored file is refused. Another installation draws other answers of the same law, which does
    not affect privacy.
    """

    def __init__(self, released: Released, number: int = 1) -> None:
        bundle = released.bundle
        design, prior = _path_design(released)
        name = bundle.statement["release"]["id"]
        if bundle.statement["prior_mean_used"]:
            raise WorkflowError("A path around a public map has no values between the hexagons.")
        if not 1 <= number <= len(bundle.paths):
            raise WorkflowError(f"The release has {len(bundle.paths)} paths: ask for one of them.")
        self._response, self._crs = bundle.response, bundle.domain.crs
        self._file = home() / FOLDER / f"{name}-{number}.jsonl"
        self._witness = witness_folder() / FOLDER / f"{name}-{number}.count"
        self._path = LazyPath(prior, float(np.hypot(design.scale, design.noise_scale)))
        self._path.learn(np.round(prior.lattice.domain_centres, DIGITS), bundle.paths[number - 1])
        self._lost = False  # whether an answer drawn here could not be stored
        # lines of the file, and values that it holds
        self._taken, self._written = 0, len(self._path.values)

    def at(self, lon: ArrayLike, lat: ArrayLike) -> Floats:
        """Return the path at places in degrees, (B,) each, in the unit of the value; places may
        repeat.

        Raises
        ------
        WorkflowError
            For impossible coordinates and unreadable earlier answers, before anything is drawn.
        """
        places = np.column_stack([np.ravel(lon), np.ravel(lat)]).astype(np.float64)
        if not (np.all(np.abs(places[:, 0]) <= 180.0) and np.all(np.abs(places[:, 1]) <= 90.0)):
            raise WorkflowError("Places are longitudes and latitudes in degrees.")
        if self._lost:
            raise WorkflowError(LOST)
        metres = np.round(project(places, self._crs), DIGITS)
        with self._answers() as file:
            try:
                responses = self._path.ask(metres, SystemEntropy())
            except CoreError as error:
                raise WorkflowError(str(error)) from error
            try:
                self._write(file)
            except OSError as error:
                self._lost = True
                raise WorkflowError(LOST) from error
        return np.asarray(self._response.value(responses))

    @contextmanager
    def _answers(self) -> Iterator[IO[str]]:
        """Lock the file of all answers, and read the answers that other processes have added."""
        for folder in (self._file.parent, self._witness.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._file.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # closing the file releases it
            file.seek(0)
            text = file.read()
            complete = text[: text.rfind("\n") + 1]
            lines = complete.splitlines()
            try:
                answered = int(self._witness.read_text(encoding="utf-8")) if self._witness.exists() else 0
                if len(lines) < max(self._taken, answered):
                    raise ValueError
                for line in lines[self._taken :]:
                    answer: dict[str, Any] = json.loads(line)
                    self._path.learn(np.array(answer["places"], dtype=np.float64), np.array(answer["values"]))
                    self._taken, self._written = self._taken + 1, len(self._path.values)
            except (ValueError, KeyError, TypeError) as error:
                raise WorkflowError(DAMAGED.format(file=self._file.name)) from error
            file.truncate(len(complete.encode()))  # a truncated answer was never returned
            yield file

    def _write(self, file: IO[str]) -> None:
        """Store the drawn values and the number of answers before they are returned."""
        places, values = self._path.places[self._written :], self._path.values[self._written :]
        if not values.size:
            return
        file.write(json.dumps({"places": places.tolist(), "values": values.tolist()}) + "\n")
        file.flush()
        os.fsync(file.fileno())
        self._taken, self._written = self._taken + 1, len(self._path.values)
        self._witness.write_text(str(self._taken), encoding="utf-8")


def _path_design(released: Released) -> tuple[PosteriorSamplingDesign, DensePrior]:
    design = design_from(released.statement["design"])
    if not isinstance(design, PosteriorSamplingDesign):
        raise WorkflowError(NO_KERNEL)
    prior = make_prior(design.prior, build_lattice(released.bundle.domain), design.lengthscale)
    if not isinstance(prior, DensePrior):
        raise WorkflowError(NO_KERNEL)
    return design, prior

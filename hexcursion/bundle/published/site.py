"""A site of published maps: an index, a page for each release and its files, for any web server."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from operator import methodcaller
from pathlib import Path

from dpgp_core.errors import HexcursionError
from geo.context.surroundings import around
from hexcursion import words
from hexcursion.bundle import again, layout
from hexcursion.bundle.atlas.page import atlas_papers
from hexcursion.bundle.atlas.read import AtlasBundle, atlas_doubts, atlas_from_contents
from hexcursion.bundle.layout import contents_of, png_size, zip_bytes_to
from hexcursion.bundle.page.facts import added_title, answer, heading_of, place, three_facts, where
from hexcursion.bundle.page.html import RESOURCES
from hexcursion.bundle.page.papers import picture_html, without_picture
from hexcursion.bundle.published.bundle_store import file_size, is_page_of, offers, page_of, slug
from hexcursion.bundle.published.readings import READINGS
from hexcursion.bundle.read import Bundle, bundle_from_contents
from hexcursion.bundle.signature import Signers
from hexcursion.bundle.statement.guarantee import together_text
from hexcursion.bundle.untrusted import BundleError, source_of
from hexcursion.new_place import made_whole, new_place, write_files

INDEX = "index.html"
EMBED = "embed.txt"
EMBED_HEIGHT = 860  # pixels: question, answer, map and legend on a column of a page
UNKNOWN = "https://YOUR-SERVER"
NOBODY = Signers()
_ADDRESS = re.compile(
    r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?"
)


@dataclass(frozen=True, eq=False)
class Listed:
    """A release of a site: folder, bundle, titles and sizes of files, signer, size of its picture, source,
    doubts."""

    folder: str
    bundle: Bundle
    files: Mapping[str, tuple[str, int]]
    signed: str
    size: str
    path: Path
    doubts: tuple[str, ...] = ()
    atlas: AtlasBundle | None = None  # of which `bundle` is the first layer


def find_bundles(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Bundles among the given files and folders, and in folders of bundles; a zip and its folder count once.
    Raise `BundleError` if a folder holds none."""
    bundle_paths: list[Path] = []
    for source in sources:
        if not os.path.isdir(source) or (source / layout.STATEMENT).is_file():
            bundle_paths.append(source)
            continue
        try:
            inside = sorted(path for path in source.iterdir() if not path.name.startswith("."))
        except OSError as error:
            raise BundleError(
                f"{source} cannot be read ({error.strerror}): name a bundle or a folder of bundles."
            ) from error
        folders = [path for path in inside if (path / layout.STATEMENT).is_file()]
        unpacked = {path.name for path in folders}
        zips = [path for path in inside if path.suffix == ".zip" and path.stem not in unpacked]
        if not folders and not zips:
            raise BundleError(f"There is no bundle in {source}: name a bundle or a folder of bundles.")
        bundle_paths += [*folders, *zips]
    return tuple(bundle_paths)


@dataclass(frozen=True)
class _Site:
    """A site that is being written: its folder, its published address, "" for none, and known keys."""

    folder: Path
    address: str
    signers: Signers


def write_site(
    sources: Sequence[Path],
    out: Path,
    address: str = "",
    signers: Signers = NOBODY,
    left_out: Callable[[str], None] | None = None,
    *,
    readings: Sequence[str] = (),
) -> tuple[str, ...]:
    """Write the site into the new folder `out`, whole or not at all; return the folders of its releases. All
    is made anew from the checked bundle, and nothing in it asks another machine. `address`: of
    the published site, for cards of links; `signers`: whose keys the pages call by name; `left_out`: called
    with each bundle that cannot be read, without it the first one ends the writing; `readings`: names of the
    ways in which releases of one area and value are read together too. Raise `BundleError` for an
    impossible address, bundles that cannot be read, a folder that cannot be written, `WorkflowError` if
    `out` exists."""
    if address and not _ADDRESS.fullmatch(address):
        raise BundleError("Give the site's address as https://host/folder, without a query.")
    new_place(out)
    bundles = find_bundles(sources)
    listed: list[Listed] = []
    refused: list[BundleError] = []
    with made_whole(out) as work:
        work.mkdir()
        site = _Site(work, address, signers)
        for path in bundles:
            try:
                listed.append(_write_release(path, site, {release.folder for release in listed}))
            except HexcursionError as error:  # of several bundles the sentence says which
                sentence = str(error) if path.name in str(error) else f"{path.name}: {error}"
                refused.append(BundleError(sentence))
                if left_out is None or len(refused) == len(bundles):
                    raise refused[0] from error
        listed.sort(
            key=lambda release: (str(release.bundle.statement["release"]["created"]), release.folder),
            reverse=True,
        )
        joint = [page for name in readings for page in _read_together(name, listed, work, refused)]
        if refused and left_out is None:
            raise refused[0]
        (work / INDEX).write_bytes(index_html(listed, joint))
    for page in refused:
        assert left_out is not None  # without it the first one was raised
        left_out(str(page))
    return tuple(release.folder for release in listed)


def _read_together(
    name: str, listed: Sequence[Listed], work: Path, refused: list[BundleError]
) -> list[tuple[str, str, str]]:
    """Page, question and what the page shows, of all that a reading makes of the releases; why others make
    nothing goes to `refused`."""
    groups: dict[tuple[object, ...], list[Listed]] = {}
    for release in listed:
        if release.bundle.sums is not None and release.atlas is None:
            subject = release.bundle.statement["subject"]
            groups.setdefault((release.bundle.domain.cells, subject["value"], subject["unit"]), []).append(
                release
            )
    used_names, pages, reading = {path.name for path in work.iterdir()}, [], READINGS[name]
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        refused.append(
            BundleError(
                "No two releases of one area and value hold their sums, so none are read together: name "
                f"{reading.needs}, or leave out the {name}."
            )
        )
    for group in several:
        try:
            joint_files = READINGS.use(name, methodcaller("files", [release.path for release in group]))
        except BundleError as error:
            names = ", ".join(release.folder for release in group)
            refused.append(BundleError(f"{names} are not read together. {error}"))
            continue
        folder = _free(f"{name}-{slug(joint_files.newest)}", used_names)
        used_names.add(folder)
        write_files(work / folder, joint_files.files)
        pages.append((f"{folder}/{reading.page}", joint_files.question, reading.about))
    return pages


def _write_release(path: Path, site: _Site, used_names: set[str]) -> Listed:
    contents, address, signers = contents_of(path), site.address, site.signers
    if layout.is_atlas(contents):
        return _write_atlas(path, contents, site, used_names)
    bundle = bundle_from_contents(contents)
    doubts = again.doubts(bundle)
    name = _free(slug(bundle), used_names)
    where = f"{address.rstrip('/')}/{name}/{layout.PAGE}" if address else ""
    signed = signers.says(bundle.signature)
    files = {offer.file: (offer.title, offer.make()) for offer in offers(bundle)}
    files[layout.PAGE] = (files[layout.PAGE][0], page_of(bundle, where, signed=signed))
    files[layout.LABEL] = ("Label (HTML)", bundle.label_html.encode())
    files[EMBED] = ("Code that shows the map in another page", embed_code(bundle, name, address).encode())
    files[f"{name}.zip"] = ("Whole bundle (ZIP)", zip_anew(name, contents, bundle, signers))
    write_files(site.folder / name, {file: content for file, (_, content) in files.items()})
    sizes = {file: (title, len(content)) for file, (title, content) in files.items()}
    wide, high = png_size(files[layout.MAP][1])
    return Listed(name, bundle, sizes, signed, f'width="{wide}" height="{high}"', path, doubts)


def _write_atlas(path: Path, contents: Mapping[str, bytes], site: _Site, used_names: set[str]) -> Listed:
    """An atlas: its page and label made anew, the data of all layers, and the whole bundle."""
    atlas = atlas_from_contents(contents)
    first = atlas.layers[0]
    picture = picture_html(first.statement, first.domain, first.published, first.layers)
    papers = atlas_papers(atlas, picture)
    labels = {
        layout.of_layer(layout.LABEL, number): layer.label_html.encode()
        for number, layer in enumerate(atlas.layers, 1)
    }
    name = _free(slug(first), used_names)
    zip_contents = {
        file: content for file, content in {**contents, **papers, **labels}.items() if file != layout.SUMS
    }
    if not site.signers.knows(atlas.signature):  # its pages are made anew, which its signature would not fit
        zip_contents.pop(layout.SIGNATURE, None)
        zip_contents[layout.SUMS] = layout.sums_text(zip_contents).encode()
    else:
        zip_contents = dict(contents)
    stream = io.BytesIO()
    zip_bytes_to(stream, name, zip_contents)
    files = {
        layout.PAGE: ("Map page", papers[layout.PAGE]),
        layout.MAP: ("Picture of the first layer (PNG)", first.map_png),
        layout.LABEL: ("Label (HTML)", papers[layout.LABEL]),
        layout.GEOPACKAGE: ("All layers (GeoPackage)", contents[layout.GEOPACKAGE]),
        layout.STATEMENT: ("Privacy statement (JSON)", contents[layout.STATEMENT]),
        EMBED: ("Code that shows the map in another page", embed_code(first, name, site.address).encode()),
        f"{name}.zip": ("Whole bundle (ZIP)", stream.getvalue()),
    }
    write_files(site.folder / name, {file: content for file, (_, content) in files.items()})
    sizes = {file: (title, len(content)) for file, (title, content) in files.items()}
    wide, high = png_size(first.map_png)
    size = f'width="{wide}" height="{high}"'
    signed = site.signers.says(atlas.signature)
    return Listed(name, first, sizes, signed, size, path, atlas_doubts(atlas), atlas)


def embed_code(bundle: Bundle, folder: str, address: str = "") -> str:
    """The lines of HTML that show a release's page within another page. `folder`: of the release in its site;
    `address`: that of the site; without it a placeholder is to be replaced."""
    where = f"{(address or UNKNOWN).rstrip('/')}/{folder}/{layout.PAGE}"
    return (
        f'<iframe src="{escape(where)}" title="{escape(heading_of(bundle.statement))}" width="100%" '
        f'height="{EMBED_HEIGHT}" style="border: 0" loading="lazy"></iframe>\n'
    )


def zip_of_site(folder: Path) -> bytes:
    """A written site as a zip to unpack on any web server: the same site always gives the same bytes."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    stream = io.BytesIO()
    zip_bytes_to(stream, folder.name, files)
    return stream.getvalue()


def zip_anew(name: str, contents: Mapping[str, bytes], bundle: Bundle, signers: Signers = NOBODY) -> bytes:
    """The bundle, its pages made anew: what a stranger's bundle would run in a browser is not passed on. A
    bundle that a known key signed, and one whose pages are the same anew, goes on as it is, with its
    signature. Any other loses the signature, which would no longer fit."""
    stream = io.BytesIO()
    if signers.knows(bundle.signature) or _pages_follow(contents, bundle):
        zip_bytes_to(stream, name, contents)
        return stream.getvalue()
    pages = {layout.LABEL: bundle.label_html.encode()}
    if layout.PAGE in contents:
        pages[layout.PAGE] = page_of(bundle)
    made_here = (layout.SUMS, layout.SIGNATURE)
    files_anew = {file: content for file, content in {**contents, **pages}.items() if file not in made_here}
    zip_bytes_to(stream, name, {**files_anew, layout.SUMS: layout.sums_text(files_anew).encode()})
    return stream.getvalue()


def _pages_follow(contents: Mapping[str, bytes], bundle: Bundle) -> bool:
    """Whether label and page are those that the bundle gives, apart from the bytes of their pictures."""
    label, page = without_picture(contents[layout.LABEL]), contents.get(layout.PAGE)
    return label == without_picture(bundle.label_html.encode()) and (page is None or is_page_of(page, bundle))


def _free(name: str, used_names: set[str]) -> str:
    number, free = 1, name
    while free in used_names:
        number += 1
        free = f"{name}-{number}"
    return free


def index_html(listed: Sequence[Listed], joint: Sequence[tuple[str, str, str]] = ()) -> bytes:
    """The list of all releases, newest first: picture, question, answer, facts, files. It has no script.
    `joint`: page, question and what the page shows, of releases read together; they come first."""
    policy = (
        f"default-src 'none'; img-src 'self' data:; style-src '{source_of(_style())}'; base-uri 'none'; "
        "form-action 'none'"
    )
    number = words.plural(len(listed), "published map")
    # Two files of one release, with and without a signature, are one.
    releases = {release.bundle.drawn: release.bundle.statement["guarantee"] for release in listed}
    together = together_text(list(releases.values()))
    several = f'<p class="soft">{escape(together)}</p>\n' if together else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{number}: what each shows, how sure it is, whom it protects; its files.">
<link rel="icon" href="data:,">
<title>Published maps</title>
<style>{_style()}</style>
</head>
<body>
<header>
<h1>Published maps</h1>
<p class="soft">{number}, each with noise that protects single records.</p>
{several}\
</header>
<main>
{"".join(_together(*page) for page in joint)}\
{"".join(_article(release, first=release is listed[0]) for release in listed)}</main>
</body>
</html>
""".encode()


def _article(release: Listed, *, first: bool) -> str:
    """One release; pictures below the first are loaded when they come into view."""
    statement, products = release.bundle.statement, release.bundle.published
    places = around(release.bundle.domain).places
    covers = f"{words.covered(statement)} {place(release.bundle.domain, places)}"
    lies = where(release.bundle.domain, products.classes == 0, places)
    title, day = escape(heading_of(statement)), statement["release"]["created"][:10]
    answer_text = answer(products, lies)
    if release.atlas is not None:
        title = escape(release.atlas.statement["release"]["title"])
        answer_text = (
            f"{release.atlas.statement['atlas']['in_words']} Pictured is the first of them. {answer_text}"
        )
    facts = "".join(
        f"<dt>{escape(fact.about)}</dt><dd>{escape(fact.lead)}</dd>"
        for fact in three_facts(statement, products)
    )
    files = "".join(
        f'<li><a href="{release.folder}/{file}">{escape(name)}</a> '
        f'<span class="soft">{file_size(size)}</span></li>'
        for file, (name, size) in release.files.items()
        if file != layout.PAGE
    )
    doubts = "".join(f"<p>{escape(doubt)}</p>\n" for doubt in release.doubts)
    later = "" if first else ' loading="lazy"'
    return f"""<article>
<div><img src="{release.folder}/{layout.MAP}" {release.size} alt="Map: {title}"{later}></div>
<div>
<h2><a href="{release.folder}/{layout.PAGE}">{title}</a></h2>
<p class="question">{escape(added_title(statement))}</p>
<p>{escape(answer_text)}</p>
{doubts}\
<p class="soft">{escape(covers)} Released {escape(day)}.</p>
<p class="soft signed">{escape(release.signed)}</p>
<dl>{facts}</dl>
<ul>{files}</ul>
</div>
</article>
"""


def _together(page: str, question: str, about: str) -> str:
    """Releases that are read together: the question, and where the page is."""
    return f"""<article>
<div></div>
<div>
<h2><a href="{page}">{escape(question)}</a></h2>
<p class="question">{escape(about)}</p>
</div>
</article>
"""


@cache
def _style() -> str:
    return (RESOURCES / "site.css").read_text(encoding="utf-8")

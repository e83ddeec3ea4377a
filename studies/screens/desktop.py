"""Whether QGIS and R read a bundle as its statement says: `python -m studies.screens.desktop`.

Debian's packages python3-qgis, r-base-core and r-cran-sf must be installed; where a program is
missing one sentence says so. The example is released into a temporary folder, or BUNDLE is read.
QGIS opens the layer with the shipped style and draws it without a screen into --picture.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

from hexcursion.bundle import read_bundle
from hexcursion.bundle.products import class_column, class_labels, threshold_words
from hexcursion.cli.main import main as hexcursion

PYTHON = "/usr/bin/python3"  # QGIS belongs to the system's own Python
QGIS = """
import json, os, sys
from qgis.core import (
    QgsApplication, QgsMapRendererSequentialJob, QgsMapSettings, QgsVectorLayer
)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor
program = QgsApplication([], False)
program.initQgis()
folder, picture = sys.argv[1:]
found = {}
for name, source in (
    ("release.gpkg", "/release.gpkg|layername=cells"), ("cells.geojson", "/cells.geojson"),
    ("cells.csv", "/cells.csv"), ("cells.parquet", "/cells.parquet"),
):
    layer = QgsVectorLayer(folder + source, name, "ogr")
    if layer.isValid():
        found[name] = [feature["class"] for feature in layer.getFeatures()]
layer = QgsVectorLayer(folder + "/release.gpkg|layername=cells", "cells", "ogr")
legend = [category.label() for category in layer.renderer().categories()]
settings = QgsMapSettings()
settings.setLayers([layer])
settings.setOutputSize(QSize(800, 600))
settings.setExtent(layer.extent())
settings.setBackgroundColor(QColor("white"))
job = QgsMapRendererSequentialJob(settings)
job.start()
job.waitForFinished()
job.renderedImage().save(picture)
print(json.dumps({"files": found, "legend": legend}), flush=True)
os._exit(0)  # this QGIS ends with a fault where its layers are freed after it
"""
R = """
library(sf)
folder <- commandArgs(trailingOnly = TRUE)[1]
cells <- st_read(file.path(folder, "release.gpkg"), layer = "cells", quiet = TRUE)
writeLines(c("release.gpkg", cells$class))
cells <- st_read(file.path(folder, "cells.geojson"), quiet = TRUE)
writeLines(c("cells.geojson", cells$class))
if (requireNamespace("arrow", quietly = TRUE)) {
  cells <- arrow::read_parquet(file.path(folder, "cells.parquet"))
  writeLines(c("cells.parquet", cells$class))
}
"""
SILENT = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}


def main() -> None:
    """Print one line for each program and file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", nargs="?", help="folder of a bundle; the example without one")
    parser.add_argument("--picture", default="out/qgis.png", help="where QGIS draws the map")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(options.bundle or Path(place, "demo", "bundle"))
        if options.bundle is None:
            with redirect_stdout(sys.stderr):
                hexcursion(["demo", "--out", str(folder.parent)])
        report(folder, Path(options.picture))


def report(folder: Path, picture: Path) -> None:
    """Compare the hexagons that both programs read from a bundle's folder with its statement."""
    print("No random numbers of this study's own; the example is released anew in every run.")
    bundle = read_bundle(folder)
    counts = Counter(class_column(bundle.published))
    counts_text = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"The bundle: {counts_text}.")
    for name, read in (("QGIS", in_qgis(folder, picture)), ("R", in_r(folder))):
        for file, classes in read.items():
            same = "same counts" if Counter(classes) == counts else "OTHER COUNTS"
            print(f"{name:5} {file:14} {len(classes):5} hexagons, {same}")
    legend = class_labels(bundle.published, threshold_words(bundle.statement))
    print(f"The legend: {'; '.join(legend)}.")


def in_qgis(folder: Path, picture: Path) -> dict[str, list[str]]:
    """Read the files with QGIS and draw its map; {} where it is not installed."""
    output = _run([PYTHON, "-c", QGIS, str(folder), str(picture)], "QGIS", "python3-qgis")
    if output is None:
        return {}
    layers = json.loads(output.splitlines()[-1])
    print(f"QGIS draws: {'; '.join(layers['legend'])}.")
    return dict(layers["files"])


def in_r(folder: Path) -> dict[str, list[str]]:
    """Read the files with R; {} where it is not installed."""
    if shutil.which("Rscript") is None:
        print("R is not installed: apt-get install r-base-core r-cran-sf.")
        return {}
    output = _run(["Rscript", "-e", R, str(folder)], "R", "r-cran-sf")
    files: dict[str, list[str]] = {}
    for line in (output or "").splitlines():
        if line in ("release.gpkg", "cells.geojson", "cells.parquet"):
            files[line] = []
        else:
            next(reversed(files.values())).append(line)
    return files


def _run(command: list[str], name: str, package: str) -> str | None:
    process = subprocess.run(command, capture_output=True, text=True, env=SILENT, timeout=300, check=False)
    if process.returncode == 0:
        return process.stdout
    print(f"{name} cannot read the files here: apt-get install {package}.")
    return None


if __name__ == "__main__":
    main()

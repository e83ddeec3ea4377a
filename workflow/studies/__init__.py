"""The studies: every table and figure of the paper's experiments, and the audit, each from one function."""

from __future__ import annotations

from workflow.studies.design_audit import audit_choice
from workflow.studies.figures import COLOURS, DARK_COLOURS, FIGURES, Figure, Point, points, svg
from workflow.studies.paper_map import PaperMap, map_svg, paper_maps
from workflow.studies.registry import RESULTS, STUDIES, Study, audit_job, study_job
from workflow.studies.tables import StudyResult, StudyTable, load_result

__all__ = [
    "COLOURS",
    "DARK_COLOURS",
    "FIGURES",
    "RESULTS",
    "STUDIES",
    "Figure",
    "PaperMap",
    "Point",
    "Study",
    "StudyResult",
    "StudyTable",
    "audit_choice",
    "audit_job",
    "load_result",
    "map_svg",
    "paper_maps",
    "points",
    "study_job",
    "svg",
]

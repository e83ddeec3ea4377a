"""What settings ask of a search, counted before it begins."""

from __future__ import annotations

from dpgp_core.priors.registry import PRIORS, can_make
from hexcursion.estimates.model import Asked
from hexcursion.project.model import Project
from hexcursion.project.simulated import QUICK_WORLDS, WORLDS
from hexcursion.search.scenes import private_n
from hexcursion.search.score import takes_fixed
from hexcursion.search.tuning import CLIP_FACTORS, FOCUSED_FACTORS
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import default_priors


def asked_of(project: Project, alone: bool = False) -> Asked:
    """What the search of a loaded project is asked; `alone` as in `Asked`."""
    return planned(project.settings, project.domain.size, private_n(project), alone)


def planned(settings: ReleaseSettings, cells: int, records: int, alone: bool = False) -> Asked:
    """What the search of settings will be asked on so many hexagons and records."""
    if settings.focus == "threshold":
        scales = 1 + len(FOCUSED_FACTORS[: 3 if settings.quick else None])
    else:
        scales = 1 if settings.clip is not None else len(CLIP_FACTORS[: 2 if settings.quick else None])
    simulated = settings.reference is None and settings.pilot is None
    fixed = takes_fixed(settings)
    worlds = QUICK_WORLDS if settings.quick else WORLDS
    return Asked(
        cells=cells,
        records=records,
        fields=worlds if fixed else scales * (worlds if simulated else 1),
        fixed=fixed,
        quick=settings.quick,
        mechanisms=tuple(settings.mechanisms),
        dense=len(dense_priors(settings, cells)),
        starts=2 if settings.tries_public_map and not settings.weighs_drift else 1,
        reference=settings.reference is not None,
        alone=alone,
    )


def dense_priors(settings: ReleaseSettings, cells: int) -> tuple[str, ...]:
    """Priors with a dense matrix that are tried, asked for or usual on so many hexagons, and can be made."""
    tried = settings.priors or default_priors(cells)
    return tuple(name for name in tried if not PRIORS[name].sparse and can_make(name, cells))

"""Trying what can fail in a draw, with noise that anybody could repeat, before the draw is charged."""

from __future__ import annotations

import numpy as np

from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.reading import Reading
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise.entropy import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing.facts import PublicFacts
from dpgp_core.releasing.released import Prepared, Released, draw_release
from hexcursion.errors import WorkflowError

SEED = 20260618


def prepare_draw(design: Design, facts: PublicFacts, records: CollapsedRecords) -> Prepared:
    """The draw, ready: every factorisation done.

    Raises
    ------
    WorkflowError
        If the design cannot be drawn; nothing was charged.
    """
    try:
        return mechanism_of(design).prepare(design, facts, records)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise _impossible(error) from error


def try_draw(prepared: Prepared) -> Released:
    """A draw that is none: it has numbers of the size a release will have, and whatever fails fails here.

    The noise is repeatable, so what is drawn is as private as the records. It stays in memory.

    Raises
    ------
    WorkflowError
        If it fails; nothing was charged.
    """
    try:
        return draw_release(prepared, SimulationEntropy(SEED), simulation=True)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise _impossible(error) from error


def read_release(
    design: Design, facts: PublicFacts, records: CollapsedRecords, released: Released, *, trial: bool = False
) -> Reading | None:
    """The field given what was released, where the mechanism's paths are no draws of it; free.

    Parameters
    ----------
    trial
        Whether this is tried before a charge, with noise that anybody could repeat.

    Raises
    ------
    WorkflowError
        In a trial; after a charge the error is passed on as it is.
    """
    entropy = SimulationEntropy(SEED + 1) if trial else SystemEntropy()
    try:
        return mechanism_of(design).read(design, facts, records, released.paths, entropy)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        if trial:
            raise _impossible(error) from error
        raise


def _impossible(error: Exception) -> WorkflowError:
    return WorkflowError(
        f"This design cannot be drawn ({str(error).rstrip('.')}): nothing was charged. Choose another range, "
        "ridge or prior."
    )

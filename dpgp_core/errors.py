"""The tree of errors of this library: one root, each a sentence for a person that names the remedy."""

from __future__ import annotations


class HexcursionError(Exception):
    """Root of every error that this program raises on purpose."""


class CoreError(HexcursionError):
    """Root of the errors of the mathematics."""


class InvalidValue(CoreError, ValueError):
    """An argument that makes no sense; also a `ValueError`."""


class DesignError(InvalidValue):
    """A design that cannot exist, or that a mechanism does not take."""


class PriorError(InvalidValue):
    """A prior that does not exist: an unknown name, an impossible lengthscale, too many cells."""


class BoundRefused(InvalidValue):
    """A bound that does not hold for this prior, or is not proved, was asked to price a release."""


class NumericalFailure(CoreError, ArithmeticError):
    """A matrix is not positive definite. No jitter is added: it would change the law, and the guarantee."""


class PluginError(HexcursionError):
    """An installed package offers something that cannot be used, or under a name that is taken."""

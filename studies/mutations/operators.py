"""The mutation operators: a choice among those of Cosmic Ray, and three of our own for what it cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

from cosmic_ray.operators.exception_replacer import ExceptionReplacer
from cosmic_ray.plugins import get_operator, operator_names
from parso import parse
from parso.python.tree import Name, Number

Position = tuple[tuple[int, int], tuple[int, int]]

# One or two replacements an operator, not all eleven: the other sign, the boundary and the opposite.
CHOSEN = re.compile(
    r"core/(ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Div|Mod_Mul|Pow_Mul|BitOr_BitAnd"
    r"|BitAnd_BitOr|LShift_RShift|RShift_LShift)"
    r"|ReplaceComparisonOperator_(Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE|GtE_Gt|GtE_Lt|Eq_NotEq|NotEq_Eq"
    r"|Is_IsNot|IsNot_Is)"
    r"|ReplaceUnaryOperator_(USub_UAdd|Delete_Invert|Delete_Not)"
    r"|AddNot|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceAndWithOr|ReplaceOrWithAnd"
    r"|ReplaceBreakWithContinue|ReplaceContinueWithBreak|ExceptionReplacer|NumberReplacer"
    r"|ZeroIterationForLoop)"
)


class Operator(Protocol):
    """What Cosmic Ray asks of an operator."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Where the operator can change this node: one position for each way to change it."""

    def mutate(self, node: Any, index: int) -> Any:
        """The node changed in the way of this number; None deletes it."""


class ScaleFloat:
    """Doubles and halves a number with a fraction or an exponent: votes at 0.25, half the tolerance."""

    FACTORS = (2.0, 0.5)

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Every float but 0.0, once for each factor."""
        if _scalable(node):
            yield from ((node.start_pos, node.end_pos) for _ in self.FACTORS)

    def mutate(self, node: Any, index: int) -> Any:
        """The number times the factor."""
        return Number(repr(float(node.value) * self.FACTORS[index]), node.start_pos, node.prefix)


class DropKeyword:
    """Leaves out one keyword argument of a call, so that its default is taken."""

    WORDS_ONLY = ("help", "metavar")  # of a command line's usage text

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Every `name=value` in a call's arguments."""
        for argument in self._keywords(node):
            yield argument.start_pos, argument.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The arguments without it and without the comma that followed or preceded it."""
        at = node.children.index(self._keywords(node)[index])
        if node.type == "trailer":
            del node.children[at]
            return node
        comma = at + 1 if at + 1 < len(node.children) else at - 1
        for gone in sorted((at, comma), reverse=True):
            del node.children[gone]
        return node

    @classmethod
    def _keywords(cls, node: Any) -> list[Any]:
        if node.type not in ("arglist", "trailer"):
            return []
        return [
            child
            for child in node.children
            if child.type == "argument"
            and len(child.children) == 3
            and child.children[1] == "="
            and child.children[0].value not in cls.WORDS_ONLY
        ]


class DropCall:
    """Leaves out a statement that is nothing but a call: a check, an append, a write."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Every statement `name(...)` or `name.name(...)`."""
        if (
            node.type == "atom_expr"
            and node.parent.type == "simple_stmt"
            and node.children[0].type == "name"
            and node.children[-1].type == "trailer"
            and node.children[-1].children[0] == "("
        ):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """`pass` in its place."""
        return Name("pass", node.start_pos, node.get_first_leaf().prefix)


class DottedExceptionReplacer(ExceptionReplacer):
    """Cosmic Ray's operator, which writes over a name: in a tuple a dotted one (`np.linalg.LinAlgError`) is
    no name, and ended the whole run."""

    def mutate(self, node: Any, index: int) -> Any:
        """The handler with another exception in the place of this one."""
        caught = self._name_nodes(node)[index]
        if caught.type == "name":
            return super().mutate(node, index)
        place = caught.parent.children.index(caught)
        first = caught.get_first_leaf()
        caught.parent.children[place] = Name("CosmicRayTestingException", first.start_pos, first.prefix)
        return node


def operators() -> dict[str, Operator]:
    """Every operator by its name: Cosmic Ray's begin with `core/`, ours with `own/`."""
    found: dict[str, Operator] = {
        name: get_operator(name)() for name in operator_names() if CHOSEN.fullmatch(name)
    }
    return {
        **found,
        "core/ExceptionReplacer": DottedExceptionReplacer(),
        "own/ScaleFloat": ScaleFloat(),
        "own/DropKeyword": DropKeyword(),
        "own/DropCall": DropCall(),
    }


def applies(name: str, node: Any) -> bool:
    """Whether a change here can mean anything: not in an annotation, nor the `*` in a list of parameters, and
    each number changed in one way."""
    return not (
        (name == "core/NumberReplacer" and _scalable(node))
        or (node.type == "operator" and node.parent.type in ("parameters", "param"))
        or _in_annotation(node)
    )


def tree_of(source: str) -> Any:
    """The parse tree of a module."""
    return parse(source)  # type: ignore[no-untyped-call]


def _scalable(node: Any) -> bool:
    if node.type != "number" or node.value.lower().startswith(("0x", "0b", "0o")):
        return False
    return (
        bool(re.search(r"[.eE]", node.value)) and "j" not in node.value.lower() and float(node.value) != 0.0
    )


def _in_annotation(node: Any) -> bool:
    """Annotations are never evaluated: every module postpones them."""
    while node.parent is not None:
        parent = node.parent
        if parent.type == "annassign" and parent.children[1] is node:
            return True
        if parent.type == "tfpdef" and parent.children[-1] is node:
            return True
        if parent.type == "funcdef" and parent.annotation is node:
            return True
        node = parent
    return False

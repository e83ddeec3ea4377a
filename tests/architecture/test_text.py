"""The law of plain text: what a screen draws as Markdown is written in the program or went through `plain`.

Streamlit takes nearly every string for Markdown. A title out of a bundle that reaches it as it stands can
show links, colours and pictures, and a picture makes the reader's browser call whoever wrote the title. So
each argument that becomes Markdown is followed back here, within its function: it must be built from
literals, numbers with a number's format, the program's own constants, and calls of functions that answer
for their text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from tests.architecture.code import tree_of
from tests.architecture.test_rooms import STUDIES_PAGE, plugged

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "pages").rglob("*.py")), STUDIES_PAGE, *plugged("page")]

# Functions whose result has no meaning to Markdown, or is wholly ours; further ones say so by their type.
ANSWERING = frozenset({"plain", "legend_html", "belief_html", "by_hand", "len", "round", "min", "max", "sum"})
SAME_WORDS = frozenset({"strip", "capitalize", "lower", "upper"})  # methods that add nothing to a text
# The first argument and these keywords of a Streamlit element are Markdown.
KEYWORDS = frozenset({"body", "label", "help", "text", "captions", "title"})
FIRST = frozenset(
    {"markdown", "caption", "title", "header", "subheader", "info", "warning", "error", "success"}
    | {"toast", "write", "html", "expander", "popover", "tabs", "spinner", "status", "dialog", "table"}
    | {"toggle", "checkbox", "radio", "button", "form_submit_button", "download_button", "link_button"}
    | {"text_input", "text_area", "number_input", "slider", "select_slider", "selectbox", "multiselect"}
    | {"segmented_control", "pills", "file_uploader", "date_input", "metric"}
)
LATER = frozenset({"progress", "page_link", "image", "badge"})  # only their keywords are Markdown
OPTIONS = frozenset({"radio", "segmented_control", "pills", "select_slider"})  # whose options are, too
VALUES = frozenset({"metric"})  # whose second argument is Markdown, too
NUMBER = re.compile(r"[-+ ,._#0-9]*[,_bdeEfFgGn%]$")


@dataclass
class Place:
    """One module with what is needed to judge an expression in it."""

    path: Path
    tree: ast.Module
    passing: dict[str, list[str]]
    answering: frozenset[str] = ANSWERING

    @cached_property
    def scopes(self) -> dict[ast.AST, ast.AST]:
        """The innermost function around every node in one: inner functions are walked later."""
        functions = [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]
        return {child: function for function in functions for child in ast.walk(function)}

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The innermost function around a node, else the module."""
        return self.scopes.get(node, self.tree)


@cache
def passing_parameters() -> dict[str, list[str]]:
    """Names of all parameters, in order, of functions that have one of type `Markdown`; others as ""."""
    found: dict[str, list[str]] = {}
    for path in PAGES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                arguments = [*node.args.args, *node.args.kwonlyargs]
                names = [one.arg if _is_markdown(one.annotation) else "" for one in arguments]
                if any(names):
                    found[node.name] = names
    return found


@cache
def answering_functions() -> frozenset[str]:
    """Names of all functions that give `Markdown`; their own returns are looked at, too."""
    return ANSWERING | {
        node.name
        for path in PAGES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and _is_markdown(node.returns)
    }


def _is_markdown(annotation: ast.expr | None) -> bool:
    return annotation is not None and bool(re.fullmatch(r"Markdown( \| None)?", ast.unparse(annotation)))


def bodies(node: ast.Call, passing: dict[str, list[str]]) -> Iterator[ast.expr]:
    """The arguments of a call that become Markdown."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in passing:
        yield from (given for given, wanted in zip(node.args, passing[name], strict=False) if wanted)
        yield from (one.value for one in node.keywords if one.arg in passing[name])
    elif isinstance(node.func, ast.Attribute) and name in FIRST | LATER:
        if name in FIRST:
            yield from node.args[: 2 if name in VALUES else 1]
        yield from (one.value for one in node.keywords if one.arg in KEYWORDS)
        if name in OPTIONS:
            worded = [one.value for one in node.keywords if one.arg == "format_func"]
            yield from worded or node.args[1:2]


def ours(node: ast.expr | None, place: Place, scope: ast.AST, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression can only hold text of this program."""

    def all_ours(*nodes: ast.expr | None) -> bool:
        return all(ours(one, place, scope, seen) for one in nodes)

    match node:
        case None | ast.Constant():
            return True
        case ast.JoinedStr(values=values):
            return all_ours(*values)
        case ast.FormattedValue(value=value, format_spec=spec):
            return _is_number(spec) or all_ours(value)
        case ast.BinOp(left=left, right=right):
            return all_ours(left, right)
        case ast.IfExp(body=body, orelse=orelse):
            return all_ours(body, orelse)
        case ast.BoolOp(values=values):
            return all_ours(*values)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return all_ours(*elements)
        case ast.Dict(keys=keys, values=values):
            return all_ours(*keys, *values)
        case ast.Lambda(body=body):
            return all_ours(body)
        case ast.Attribute(attr="__getitem__", value=ast.Dict() as value):
            return all_ours(value)
        case ast.Starred(value=value):
            return all_ours(value)
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
            return all_ours(element)
        case ast.Subscript(value=value) | ast.Attribute(value=value):
            name = _root(value)
            return name.isupper() or (bool(name) and _assigned_ours(name, place, scope, seen))
        case ast.Name(id=name):
            return name.isupper() or name in place.answering or _assigned_ours(name, place, scope, seen)
        case ast.Call(func=ast.Attribute(attr="join", value=ast.Constant()), args=[many]):
            return all_ours(many)
        case ast.Call(func=ast.Attribute(attr="fromkeys", value=ast.Name(id="dict")), args=[many]):
            return all_ours(many)
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return all_ours(value)
        case ast.Call(func=ast.Attribute(attr=name, value=value)) if name in SAME_WORDS:
            return all_ours(value)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in place.answering or _root(node.func).isupper()
        case _:
            return False


def _root(node: ast.expr) -> str:
    """The name where a chain of attributes and subscripts begins."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Attribute) and node.attr.isupper():
            return node.attr  # a constant of a module
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_number(spec: ast.expr | None) -> bool:
    """Whether a format accepts numbers only: with it a text would be an error, not Markdown."""
    if not isinstance(spec, ast.JoinedStr) or not all(isinstance(v, ast.Constant) for v in spec.values):
        return False
    return bool(NUMBER.match("".join(str(value.value) for value in spec.values)))  # type: ignore[attr-defined]


def _assigned_ours(name: str, place: Place, scope: ast.AST, seen: frozenset[str]) -> bool:
    """Whether everything that a function binds to a name is ours, and it binds something."""
    if name in seen:
        return True
    values: list[ast.expr] = []
    if isinstance(scope, ast.FunctionDef):
        for argument in (*scope.args.args, *scope.args.kwonlyargs):
            if argument.arg == name:
                if not _is_markdown(argument.annotation):
                    return False
                values.append(ast.Constant(""))
    for node in ast.walk(scope):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            targets = [node.target]
        elif isinstance(node, ast.For | ast.comprehension):
            if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node.target)):
                return _root(node.iter).isupper() or _all_answered(node.iter, place)
            continue
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name:
                values.append(node.value)  # type: ignore[union-attr]
            elif any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(target)):
                return False
    return bool(values) and all(ours(value, place, scope, seen | {name}) for value in values)


def _all_answered(node: ast.expr, place: Place) -> bool:
    """Whether what is walked through is the result of a function that answers for it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "enumerate":
        node = node.args[0]
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in place.answering


def judged(place: Place) -> list[str]:
    """What a module draws or hands on as Markdown although it may not be ours."""
    wrong = [
        body
        for node in ast.walk(place.tree)
        if isinstance(node, ast.Call)
        for body in bodies(node, place.passing)
        if not ours(body, place, place.scope_of(node))
    ]
    wrong += [
        text
        for node in ast.walk(place.tree)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "badge"
        for text in node.args
        if not isinstance(text, ast.Constant)  # it escapes brackets itself: escaped twice is not escaped
    ]
    for function in ast.walk(place.tree):
        if isinstance(function, ast.FunctionDef) and _is_markdown(function.returns):
            returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
            wrong += [value for value in returned if value and not ours(value, place, function)]
    return [
        f"{place.path.parent.name}/{place.path.name}:{body.lineno} {ast.unparse(body)[:100]}"
        for body in wrong
    ]


def test_markdown_is_ours_or_plain() -> None:
    """What fails here is to be wrapped in `plain` (pages/shared/plain_text.py)."""
    passing, answering = passing_parameters(), answering_functions()
    assert [line for path in PAGES for line in judged(Place(path, tree_of(path), passing, answering))] == []


def test_html_from_strings_is_drawn_nowhere() -> None:
    """`st.html` takes a file of ours or what a `*_html` escapes; no other element may take HTML."""
    assert [path for path in PAGES if "unsafe_allow" in path.read_text(encoding="utf-8")] == []


def test_html_holds_no_escapes_of_markdown() -> None:
    """`plain` writes 73.2 as 73 with a backslash, which Markdown takes off and HTML shows."""
    writers = [
        node
        for path in PAGES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_html")
    ]
    assert sorted(writer.name for writer in writers) == ["belief_html", "legend_html"]
    assert [writer.name for writer in writers if "plain(" in ast.unparse(writer)] == []


def test_what_takes_no_markdown_gets_no_escapes_of_it() -> None:
    """Options of a selectbox are shown as they are: NAME_1 through `plain` had a backslash in it."""
    found = [
        f"{path.parent.name}/{path.name}:{node.lineno}"
        for path in PAGES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") in ("selectbox", "multiselect")
        and any(one.arg == "format_func" and "plain" in ast.unparse(one.value) for one in node.keywords)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("st.markdown('**bold**')", True),
        ("st.markdown(title)", False),
        ("st.markdown(f'**{plain(title)}**')", True),
        ("st.markdown(f'**{title}**')", False),
        ("st.markdown(f'{count:,} rows')", True),
        ("st.markdown(f'{count:>9}')", False),
        ("st.error(str(error))", False),
        ("st.error(plain(error), icon=':material/error:')", True),
        ("def f(title):\n    said = f'a {title}'\n    st.caption(said)", False),
        ("def f(title):\n    said = plain(title) or 'none'\n    st.caption(said)", True),
        ("def f(label: Markdown):\n    st.button(label)\nf('Go')", True),
        ("def f(title) -> Markdown:\n    return f'**{title}**'", False),
        ("def f(title) -> Markdown:\n    return f'**{plain(title)}**'", True),
        ("for line in lines:\n    st.caption(line)", False),
        ("st.markdown(release['title'])", False),
        ("st.markdown(viewer.unit)", False),
        ("st.markdown(f'{len(rows)} of {TERMS[name].word.capitalize()}')", True),
        ("st.table({'a': [term.word for term in TERMS.values()]})", True),
        ("st.table({'a': [term.word for term in terms.values()]})", False),
        ("for line in LINES:\n    st.caption(line)", True),
        ("first.metric('Rows', rows)", False),
        ("st.table({'a': [row.text for row in rows]})", False),
        ("st.button('Go', help=text)", False),
        ("st.text(title)", True),
        ("st.badge('new', help=plain(text))", True),
        ("st.badge(plain(title))", False),
        ("st.radio('Which?', names)", False),
        ("st.radio('Which?', names, format_func=plain)", True),
        ("st.radio('Which?', names, format_func=lambda name: f'*{name}*')", False),
        ("st.radio('Which?', names, format_func=lambda name: plain(name))", True),
        ("st.radio('Which?', names, format_func=NAMES.__getitem__)", True),
        ("st.pills('Which?', ['a', 'b'], format_func={'a': f'{name}'}.__getitem__)", False),
    ],
)
def test_the_law_itself_tells_text_from_markdown(code: str, allowed: bool) -> None:
    place = Place(Path("x.py"), ast.parse(code), {"f": ["label"]} if "label: Markdown" in code else {})
    assert (judged(place) == []) is allowed

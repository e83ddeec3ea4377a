"""One look: what a Streamlit element is given wherever it stands on a screen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.code import tree_of
from tests.architecture.test_rooms import STUDIES_PAGE, name_of, sources

ALWAYS = {
    "badge": {"color", "icon"},
    "dataframe": {"hide_index"},
    "download_button": {"icon"},
    "error": {"icon"},
    "file_uploader": {"key"},
    "info": {"icon"},
    "page_link": {"icon", "label"},
    "popover": {"icon", "type"},
    "radio": {"index"},
    "segmented_control": {"default", "required"},
    "success": {"icon"},
    "vega_lite_chart": {"alt"},
    "warning": {"icon"},
}


def bare(tree: ast.AST) -> Iterator[tuple[int, str, set[str]]]:
    """Line, element and lacking words of every call that leaves some out; `**` may bring any."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "_LOG":
                continue
            given = {word.arg for word in node.keywords}
            lacking = ALWAYS.get(node.func.attr, set()) - given
            if lacking and None not in given:
                yield node.lineno, node.func.attr, lacking


def test_each_element_has_the_words_of_its_kind() -> None:
    screens = [
        path for path in (*sources("pages"), STUDIES_PAGE) if "streamlit" in path.read_text(encoding="utf-8")
    ]
    assert len(screens) > 30
    assert [
        f"{name_of(path)}:{at}: {element} lacks {sorted(words)}"
        for path in screens
        for at, element, words in bare(tree_of(path))
    ] == []


def test_an_element_without_its_words_is_found() -> None:
    said = "st.info('a')\nst.info('a', icon='b')\nst.radio('a', b, **more)\nst.badge('a', icon='b')"
    assert list(bare(ast.parse(said))) == [(1, "info", {"icon"}), (4, "badge", {"color"})]

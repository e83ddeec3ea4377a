"""Plain text as Streamlit's own front end shows it, in every kind of element, with Markdown and without."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from pages.shared.plain_text import JOINER
from tests.browser.harness import IDLE, PATIENCE, running_script

TEXTS = (
    "![p](http://evil.example/a.png) [l](http://evil.example) <http://evil.example>",
    "http://evil.example/x?y=1 https://evil.example www.evil.example ftp://evil.example",
    "mailto:eve@evil.example eve@evil.example xmpp:eve@evil.example",
    "<b>bold</b> <img src=x onerror=alert(1)> <script>alert(1)</script> <!-- gone -->",
    "&lt;b&gt; &copy; &#65; &amp;",
    ":smile: :+1: :100: :red[red] :blue-background[blue] :material/home: :streamlit: :small[s] :rainbow[r]",
    "$x^2$ $$y$$ \\(z\\) \\[w\\]",
    "**b** __b__ *i* _i_ ~~s~~ ~s~ `c` ``c`` ^[note] [^1] [x][y]",
    "a -> b <- c <-> d -- e >= f <= g ~= h",
    "# heading",
    "> quote",
    "- item",
    "+ item",
    "1. item",
    "12) item",
    "--- ",
    "| a | b |",
    "=====",
    "```code",
    "\\*not\\* \\\\ \\",
    "12:30:45 and 1:2:3",
    "[ ] task [x] done",
    ":::note",
    "::leaf[x]",
)
SCRIPT = f"""
import streamlit as st
from pages.shared.plain_text import one_line, plain
for number, text in enumerate({TEXTS!r}):
    unmarked, text = one_line(text), plain(text)
    with st.container(key=f"text-{{number}}"):
        st.markdown(text)
        st.caption(text)
        st.header(text, anchor=False)
        st.error(text)
        st.button(text, key=f"button{{number}}")
        st.checkbox(text, key=f"box{{number}}")
        st.radio("?", ["a"], format_func=lambda _: text, key=f"radio{{number}}")
        st.metric(text, text)
        st.expander(text)
        st.progress(0.5, text=text)
        st.multiselect("?", [unmarked], default=[unmarked], key=f"several{{number}}")
        st.table({{"a": [text]}}, hide_index=True)
"""
LOOKED_AT = (
    "stMarkdown stCaptionContainer stHeading stAlert stButton stCheckbox stRadio stMetricLabel "
    "stMetricValue stExpander stProgress stMultiSelect stTable"
)


@pytest.fixture(scope="module")
def script(browser: object, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("texts")
    with running_script(folder, SCRIPT) as url:
        yield url


def test_every_text_stands_on_the_screen_as_it_is(page: Page, script: str) -> None:
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url) if "evil" in request.url else None)
    page.goto(script)
    page.wait_for_selector(IDLE, timeout=PATIENCE * 1000)
    page.locator(f".st-key-text-{len(TEXTS) - 1} table").wait_for(timeout=PATIENCE * 1000)
    wrong: list[str] = []
    for number, text in enumerate(TEXTS):
        place = page.locator(f".st-key-text-{number}")
        expected = " ".join(text.split())
        for kind in LOOKED_AT.split():
            seen = place.get_by_test_id(kind).all_inner_texts()
            if not any(expected in " ".join(one.replace(JOINER, "").split()) for one in seen):
                wrong.append(f"{kind}: {expected!r} became {seen}")
        for element in ("a", "img", ".katex", "code", "em", "strong", "del", "blockquote", "ul", "ol", "hr"):
            if place.locator(f"[data-testid=stMarkdownContainer] {element}").count():
                wrong.append(f"{element} from {expected!r}")
    assert wrong == [], "\n".join(wrong[:60])
    assert foreign == []

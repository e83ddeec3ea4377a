"""Plain text: words from files and people, made so that Streamlit's Markdown shows them unchanged."""

from __future__ import annotations

import re
import unicodedata
from typing import TypeAlias

# Markdown that this program wrote itself. A parameter of this type is passed on as it is; whoever calls
# answers for it (tests/architecture/test_text.py looks at every call).
Markdown: TypeAlias = str

# U+2060, word joiner: invisible, and no line breaks there. Some of what Streamlit does to text happens after
# escapes were taken off (addresses become links, `:name:` an emoji or an icon, `->` an arrow), so a backslash
# cannot stop it: only a letter in between can.
JOINER = "\u2060"
# An underscore within a word means nothing, and a screen reader would read out the sign before it.
_MARKS = re.compile(r"[\\`*~$\[\]<>|&]|(?<![^\W_])_|_(?![^\W_])")
_DIRECTIVE = re.compile(r":(?=[^\W\d])")  # :red[...], :material/home:
_BETWEEN = (
    re.compile(r"(:)(?=[^\s:]+:)"),  # :smile:, :material/home:, :streamlit:
    re.compile(r"(:)(?=/)"),  # https://
    re.compile(r"(www)(?=\.)", re.IGNORECASE),
    re.compile(r"(@)"),
    re.compile(r"(?<!\S)([<>~-])(?=(?:->|[-=>])(?!\S))"),  # <->, ->, <-, --, >=, <=, ~=
)
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})  # control, format and direction characters, halves of letters
_BLOCK = re.compile(r"(?:(\d+)([.)])|([#+=-]))")  # what begins a list, a heading or a line at the start


def one_line(text: object) -> str:
    """Return text on one line, without control characters and marks of writing direction, for a place that
    takes no Markdown.

    >>> one_line("NAME_1\\n*north*")
    'NAME_1 *north*'
    """
    words = str(text).split()  # at white space of every kind, line ends too
    return " ".join("".join(c for c in word if unicodedata.category(c) not in _UNSEEN) for word in words)


def plain(text: object) -> str:
    """Return text of a file, a person or an error as one line that Streamlit's Markdown shows unchanged.

    Links, bare addresses, pictures, HTML, formulas, emoji, icons and colours lose their meaning; control
    characters and marks of writing direction go, which could hide or turn round the text on the screen.
    Not for `st.badge`, which escapes brackets itself: a badge takes our own words only.

    >>> plain("![x](https://evil.example/x.png)") == "!" + chr(92) + "[x" + chr(92) + "](https:" + JOINER + \\
    ...     "//evil.example/x.png)"
    True
    """
    line = one_line(text)
    for pattern in _BETWEEN:
        line = pattern.sub(rf"\1{JOINER}", line)
    line = _MARKS.sub(r"\\\g<0>", line)
    line = _DIRECTIVE.sub(r"\\:", line)
    return _BLOCK.sub(_escaped_start, line, count=1) if _BLOCK.match(line) else line


def _escaped_start(match: re.Match[str]) -> str:
    number, mark, sign = match.groups()
    return f"{number}\\{mark}" if number else f"\\{sign}"

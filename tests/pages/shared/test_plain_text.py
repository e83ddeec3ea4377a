"""Plain text: nothing of it is Markdown, and all of it is still there."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared.plain_text import JOINER, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Flats above 450,000 pounds (2018)", "Flats above 450,000 pounds (2018)"),
        ("a_b*c`d", r"a_b\*c\`d"),
        ("_a_b_ c__d", r"\_a_b\_ c\_\_d"),
        ("[x](y)", r"\[x\](y)"),
        ("![x](y)", r"!\[x\](y)"),
        ("<b>&amp;", r"\<b\>\&amp;"),
        ("$5 and $6", r"\$5 and \$6"),
        ("~~no~~", r"\~\~no\~\~"),
        ("a | b", r"a \| b"),
        ("back\\slash", r"back\\slash"),
        (":red[x]", r"\:red\[x\]"),
        (":smile:", f":{JOINER}smile:"),
        (":material/home:", f":{JOINER}material/home:"),
        ("Note: yes", "Note: yes"),
        ("https://a.example", f"https:{JOINER}//a.example"),
        ("WWW.a.example", f"WWW{JOINER}.a.example"),
        ("eve@a.example", f"eve@{JOINER}a.example"),
        ("a -> b", f"a -{JOINER}\\> b"),
        ("a -- b", f"a -{JOINER}- b"),
        ("# one", r"\# one"),
        ("- one", r"\- one"),
        ("1. one", r"1\. one"),
        ("12) one", r"12\) one"),
        ("1.5 m", r"1\.5 m"),
        ("    four spaces", "four spaces"),
        ("a\n# b\r\n\tc\u2028d", "a # b c d"),
        ("\u202egnp.exe\u200b\x00", "gnp.exe"),
        ("", ""),
        (3, "3"),
        (ValueError("a*b"), r"a\*b"),
    ],
)
def test_each_sign_loses_its_meaning(text: object, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(alphabet=st.characters(exclude_characters=JOINER)))
def test_nothing_is_lost_but_what_cannot_be_seen(text: str) -> None:
    words = (
        "".join(c for c in word if unicodedata.category(c) not in ("Cc", "Cf", "Cs")) for word in text.split()
    )
    bare = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", plain(text).replace(JOINER, ""))
    assert bare == " ".join(words)


@given(st.text(alphabet=r"ab12 :/.@w[]()*_`$~<>|&\#-+=!"))
def test_no_sign_is_left_bare(text: str) -> None:
    shown = re.sub(r"\\[!-/:-@\[-`{-~]", "", plain(text))
    assert not re.search(r"[\[\]*_`$~<>|&\\]", shown)
    assert not re.search(r":[a-z]", shown)
    assert not re.search(rf"://|www\.|:[^\s:{JOINER}]+:", shown)
    assert "@" not in shown.replace(f"@{JOINER}", "")
    assert not re.match(r"[#+=-]|\d+[.)]", plain(text))

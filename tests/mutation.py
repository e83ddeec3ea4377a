"""Damage to a file's bytes as Hypothesis draws it: none of it may be fatal to a reader."""

from __future__ import annotations

import io
import zipfile

from hypothesis import strategies as st


@st.composite
def damaged(draw: st.DrawFn, base: st.SearchStrategy[bytes]) -> bytes:
    """A file with a few bytes changed, cut or doubled; of an archive now and then a file inside it."""
    data = draw(base)
    if data.startswith(b"PK") and draw(st.booleans()):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = draw(st.sampled_from(sorted(members)))
        members[name] = draw(changed(members[name]))
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members.items():
                archive.writestr(zipfile.ZipInfo(member), content)
        return held.getvalue()
    return draw(changed(data))


@st.composite
def changed(draw: st.DrawFn, base: bytes) -> bytes:
    """Up to four changes."""
    data = bytearray(base)
    for _ in range(draw(st.integers(0, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        action = draw(st.sampled_from(["set", "cut", "drop", "double"]))
        if action == "set":
            data[at] = draw(st.integers(0, 255))
        elif action == "cut":
            del data[at:]
        elif action == "drop":
            del data[at : at + draw(st.integers(1, 9))]
        else:
            data[at:at] = data[at : at + 40]
    return bytes(data)

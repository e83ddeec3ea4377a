"""What a session let go of goes back to the operating system when the session is forgotten."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

# Blocks of 100 KB are taken from the heap in turns, and every second one is held: what lies between two that
# are held can be given back page by page, and is not while nobody asks for it.
PROBE = """
import ctypes, re
from pathlib import Path
from streamlit.runtime.state import SessionState
from pages.shared.server.serve import forget

def held():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

library = ctypes.CDLL(None)
library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [library.malloc(100_000) for _ in range(2_000)]
for block in blocks:
    ctypes.memset(ctypes.c_void_p(block), 1, 100_000)
for block in blocks[::2]:
    library.free(block)
before = held()
forget(SessionState())
print(before - held() > 50.0)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc")
def test_the_pages_of_a_forgotten_session_are_given_back() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", PROBE], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"

"""The app: page configuration, navigation and the shared frame around each screen; nothing else.

Start it with `python app.py` (`--viewer FOLDER` shows published bundles only) or with `streamlit run app.py`.
"""

from __future__ import annotations

import sys

from hexcursion import NEEDS_POSIX, can_run

if not can_run():
    sys.exit(NEEDS_POSIX)

from streamlit.starlette import App

from pages.shared import frame
from pages.shared.server import access, serve

if serve.running():
    frame.configure()
    if not access.locked() and not access.turned_away():
        page, screen = frame.navigate()
        frame.header(screen)
        page.run()
        frame.footer(screen)
elif __name__ == "__main__":
    serve.start(__file__, sys.argv[1:])
elif __name__ != "__mp_main__":  # the name under which a spawned worker process reads the script
    app = App(__file__, **serve.around(__file__))  # what `streamlit run app.py` finds and serves

"""The app: page configuration, navigation and the shared frame around each screen; nothing else.

Start it with `python app.py` (`--viewer` shows published bundles only) or with `streamlit run app.py`.
"""

from __future__ import annotations

import sys

from pages.parts import frame, serve

if serve.running():
    frame.configure()
    page, screen = frame.navigate()
    frame.header(screen)
    page.run()
    frame.footer(screen)
else:
    serve.serve(__file__, sys.argv[1:])

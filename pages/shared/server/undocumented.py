"""Every part of Streamlit that its documentation does not promise, and what each is needed for.

| part | why nothing public does |
|---|---|
| `session_of_script` | nothing else gives the id of the session that a script runs for |
| `ForwardMsg`, `BackMsg`, `FileURLs`, `FileURLsRequest` | no hook sees what a browser and the server say |
| `use_navigation_only` | no setting turns the older discovery of a folder `pages/` off |
| `bootstrap`, `cli` | options have to be read before the app is made and the port is open |
| `session_state`, `close_session`, `clear_state` | no setting frees a session that idles |
| `is_active`, `has_left` | nothing else says whether a browser is connected to a session |
| `Uploads` | `server.maxUploadSize` bounds one file, not a session and not the server |

`tests/pages/shared/test_undocumented.py` holds that no other module imports these, and that the pinned
Streamlit is the one that they were tried with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs, FileURLsRequest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state import SessionState
from streamlit.runtime.uploaded_file_manager import UploadedFile
from streamlit.web import bootstrap, cli

__all__ = [
    "BackMsg",
    "FileURLs",
    "FileURLsRequest",
    "ForwardMsg",
    "SessionState",
    "UploadedFile",
    "Uploads",
    "bootstrap",
    "clear_state",
    "cli",
    "close_session",
    "has_left",
    "is_active",
    "session_of_script",
    "session_state",
    "use_navigation_only",
    "widget_types",
]

TRIED_WITH = "1.67.0"
"""The version of Streamlit that all of this was tried with."""


def session_of_script() -> str | None:
    """Return the session whose script runs in this thread, None outside of a server's script."""
    context = get_script_run_ctx(suppress_warning=True)
    return None if context is None else context.session_id


def use_navigation_only() -> None:
    """Let deep links wait for `st.navigation`, although the script's folder has a folder `pages/`."""
    PagesManager.uses_pages_directory = False


def session_state(session: str) -> SessionState | None:
    """Return what a session of the running server holds, None where there is no such session."""
    if not runtime.exists():
        return None
    app_session = runtime.get_instance().get_app_session(session)
    return None if app_session is None else app_session.session_state


def is_active(session: str) -> bool:
    """Whether a browser is connected to a session."""
    return runtime.get_instance().is_active_session(session)


def has_left(session: str) -> bool:
    """Whether a server runs and no browser is connected to this session of it."""
    return runtime.exists() and not is_active(session)


def close_session(session: str) -> None:
    """End a session of the running server."""
    runtime.get_instance().close_session(session)


def clear_state(state: SessionState) -> None:
    """Empty a session's state, and forget what its buttons would call and with what."""
    state.clear()
    state._new_widget_state.widget_metadata.clear()


def widget_types(session: str) -> Iterator[str]:
    """Yield the types of the values of every widget that a session has shown."""
    state = session_state(session)
    if state is not None:
        for widget in list(state._new_widget_state.widget_metadata.values()):
            yield widget.value_type


class Uploads:
    """The uploaded files that the running server holds, in memory."""

    @property
    def _manager(self) -> MemoryUploadedFileManager:
        return cast(MemoryUploadedFileManager, runtime.get_instance().uploaded_file_mgr)

    @property
    def together(self) -> tuple[int, int]:
        """Bytes and number of all files."""
        return self._manager._total_bytes, self._manager._file_count

    def places(self, session: str, names: Sequence[str]) -> list[FileURLs]:
        """Return a fresh place for each of the files that a widget of a session asks for."""
        urls = self._manager.get_upload_urls(session, names)
        return [
            FileURLs(file_id=place.file_id, upload_url=place.upload_url, delete_url=place.delete_url)
            for place in urls
        ]

    def sizes(self, session: str) -> dict[str, int]:
        """Bytes of the files of a session, by the name of the place."""
        files = self._manager.file_storage.get(session, {})
        return {name: len(file.data) for name, file in files.items()}

    def remove_talkative(self, session: str, name: str, limit: int) -> None:
        """Remove a file whose own name and type take more than `limit` bytes."""
        for file in self._manager.get_files(session, [name]):
            if len(file.name) + len(file.type) > limit:
                self._manager.remove_file(session, name)

    def forget_ended(self) -> None:
        """Remove the files of sessions that ended, also of one closed while its file was arriving."""
        info = runtime.get_instance()._session_mgr.get_session_info  # also of one that waits for its browser
        for session in [name for name in self._manager.file_storage if info(name) is None]:
            self._manager.remove_session_files(session)

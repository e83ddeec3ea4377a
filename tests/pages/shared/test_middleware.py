"""What stands before the app in the server: the gate, the headers, and what is left unsaid."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.shared.server.middleware import (
    Gate,
    Headers,
    ScrubPaths,
    host_allowed,
    origin_allowed,
    security_headers,
    security_policy,
    without_place,
)
from tests.finished import finished

Message = MutableMapping[str, Any]
HERE = ("localhost", "127.0.0.1", "::1")


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("localhost", True),
        ("localhost:8501", True),
        ("LocalHost.:8501", True),
        ("127.0.0.1:8501", True),
        ("[::1]:8501", True),
        ("evil.example", False),
        ("evil.example:8501", False),
        ("localhost.evil.example", False),
        ("localhost@evil.example", False),
        ("evil.example#localhost", False),
        ("evil.example/localhost", False),
        ("localhost:port", False),
        ("localhost:99999", False),
        ("", False),
        (None, False),
        ("127.0.0.2", False),
    ],
)
def test_a_host_header_is_one_of_the_apps_names(header: str | None, allowed: bool) -> None:
    assert host_allowed(header, HERE) is allowed


def test_a_star_stands_for_subdomains_only() -> None:
    assert host_allowed("a.example.org:443", ("*.example.org",))
    assert not host_allowed("example.org", ("*.example.org",))
    assert not host_allowed("evilexample.org", ("*.example.org",))


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),  # no browser
        ("http://localhost:8501", True),
        ("https://LOCALHOST:8501", True),  # TLS ends at a proxy
        ("http://localhost:9999", False),
        ("http://localhost", False),
        ("http://127.0.0.1:8501", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
        ("http://[", False),
    ],
)
def test_a_connection_comes_from_the_apps_own_page(origin: str | None, allowed: bool) -> None:
    assert origin_allowed(origin, "localhost:8501") is allowed
    assert not origin_allowed(origin or "http://", "")


async def _inner(scope: Message, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        cookies = [(b"set-cookie", b"a=1; Path=/"), (b"X-Frame-Options", b"SAMEORIGIN")]
        cookies.append((b"access-control-allow-origin", b"*"))
        await send({"type": "http.response.start", "status": 200, "headers": cookies})
        await send({"type": "http.response.body", "body": b"inside"})
    else:
        await receive()
        await send({"type": "websocket.accept"})


def answered(app: Any, **scope: Any) -> list[Message]:
    """What an application sends for one request."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect" if scope.get("type") == "websocket" else "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    whole = {"type": "http", "path": "/", "headers": [], "server": ("127.0.0.1", 8501), **scope}
    finished(app(whole, receive, send))
    return sent


def named(host: str, origin: str | None = None) -> list[tuple[bytes, bytes]]:
    return [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin else [])]


@pytest.mark.parametrize("path", ["/", "/_stcore/upload_file/a/b", "/media/x.csv", "/app/static/style.json"])
def test_a_foreign_name_is_turned_away_on_every_path(path: str) -> None:
    gate = Gate(_inner, HERE, loopback_only=True)
    assert answered(gate, path=path, headers=named("evil.example"))[0]["status"] == 421
    assert answered(gate, path=path, headers=[])[0]["status"] == 421
    assert answered(gate, path=path, headers=named("localhost:8501"))[0]["status"] == 200
    twice = [*named("localhost:8501"), *named("evil.example")]
    assert answered(gate, path=path, headers=twice)[0]["status"] == 421


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/_stcore/metrics", 404),
        ("/_stcore/metrics/", 404),
        ("/maps/_stcore/metrics", 404),
        ("/_stcore/script-health-check", 404),
        ("/_stcore/agent/openapi.json", 404),
        ("/_stcore/agent/interact", 404),
        ("/_stcore/", 404),
        ("/_stcore/healthy", 404),
        ("/_stcore/host-config", 200),
        ("/_stcore/upload_file/a/b", 200),
        ("/_stcore/bidi-components/x/y.js", 200),
        ("/metrics", 200),  # no address of Streamlit's: the app says that there is no such page
    ],
)
def test_what_is_for_operators_is_for_nobody_here(path: str, status: int) -> None:
    gate = Gate(_inner, HERE, loopback_only=False)
    assert answered(gate, path=path, headers=named("localhost:8501"), method="GET")[0]["status"] == status


def test_the_health_of_the_server_may_be_asked_under_any_name() -> None:
    gate = Gate(_inner, HERE, loopback_only=True)
    assert answered(gate, path="/_stcore/health", headers=named("10.0.0.7"))[0]["status"] == 200


@pytest.mark.parametrize(
    ("headers", "passed"),
    [
        (named("localhost:8501", "http://localhost:8501"), True),
        (named("localhost:8501"), True),
        (named("evil.example:8501", "http://evil.example:8501"), False),
        (named("localhost:8501", "http://evil.example"), False),
        (named("localhost:8501", "http://localhost:9000"), False),
        ([*named("localhost:8501", "http://localhost:8501"), (b"origin", b"http://evil.example")], False),
    ],
)
def test_a_socket_needs_the_apps_name_and_the_apps_page(
    headers: list[tuple[bytes, bytes]], passed: bool
) -> None:
    gate = Gate(_inner, HERE, loopback_only=True)
    sent = answered(gate, type="websocket", path="/_stcore/stream", headers=headers)
    assert sent == ([{"type": "websocket.accept"}] if passed else [{"type": "websocket.close", "code": 1008}])


@pytest.mark.parametrize("server", [("192.0.2.7", 8501), ("/run/app.sock", None), None])
def test_where_nobody_signs_in_only_this_machine_connects_however_it_was_started(server: Any) -> None:
    alone, public = (Gate(_inner, HERE, loopback_only=only) for only in (True, False))
    assert answered(alone, headers=named("localhost"), server=server)[0]["status"] == 421
    assert answered(public, headers=named("localhost"), server=server)[0]["status"] == 200


def test_every_answer_carries_the_headers_once() -> None:
    app = Headers(_inner, security_headers(b"<script>\nx = 1\n</script><script src='a.js'></script>"))
    headers = answered(app, scheme="http")[0]["headers"]
    given = {name.decode().lower(): value.decode() for name, value in headers}
    assert len(given) == len(headers) == 7
    assert given["x-frame-options"] == "DENY"
    assert given["x-content-type-options"] == "nosniff"
    assert given["referrer-policy"] == "same-origin"
    assert given["set-cookie"] == "a=1; Path=/"
    rules = dict(rule.split(" ", 1) for rule in given["content-security-policy"].split("; "))
    assert rules["default-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["object-src"] == "'none'"
    assert rules["connect-src"] == (
        "'self' data: blob: https://basemaps.cartocdn.com https://*.basemaps.cartocdn.com"
    )
    assert "'unsafe-inline'" not in rules["script-src"]
    assert "'unsafe-eval'" not in rules["script-src"]
    # printf '\nx = 1\n' | openssl dgst -sha256 -binary | base64
    assert "'sha256-qePFwVR9qMTNxrQG4lXebcA6vUN1TyiDYQPX18efdi8='" in rules["script-src"]


def test_no_page_may_ask_anything_of_anybody_but_the_street_map() -> None:
    foreign = {word for word in security_policy(b"").replace(";", " ").split() if "://" in word}
    assert foreign == {"https://basemaps.cartocdn.com", "https://*.basemaps.cartocdn.com"}


def test_cookies_of_readers_who_came_by_https_stay_on_https() -> None:
    headers = answered(Headers(_inner, {}), scheme="https")[0]["headers"]
    assert (b"set-cookie", b"a=1; Path=/; Secure") in headers


def new_session() -> ForwardMsg:
    message = ForwardMsg()
    message.new_session.main_script_path = "/srv/hexcursion/app.py"
    message.new_session.initialize.session_id = "s1"
    return message


def test_the_scripts_place_is_taken_out_of_a_new_run() -> None:
    cleaned = ForwardMsg()
    cleaned.ParseFromString(without_place(new_session().SerializeToString(), b"/srv/hexcursion"))
    assert cleaned.new_session.main_script_path == "app.py"
    assert cleaned.new_session.initialize.session_id == "s1"


def test_the_traceback_of_a_page_that_does_not_compile_stays_here() -> None:
    message = ForwardMsg()
    failed = message.session_event.script_compilation_exception
    failed.message = "invalid syntax (/srv/hexcursion/pages/x.py, line 3)"
    failed.stack_trace.append('File "/srv/hexcursion/pages/x.py", line 3')
    cleaned = without_place(message.SerializeToString(), b"/srv/hexcursion")
    assert b"/srv/hexcursion" not in cleaned
    assert b"the server's log says why" in cleaned


def test_other_messages_are_passed_on_as_they_are() -> None:
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "Kept in /srv/hexcursion/.hexcursion"  # a curator's screen
    payload = message.SerializeToString()
    assert without_place(payload, b"/srv/hexcursion") is payload
    assert without_place(b"\xff not a message", b"/srv/hexcursion") == b"\xff not a message"


def test_what_is_sent_to_a_browser_is_cleaned() -> None:
    async def telling(scope: Message, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "bytes": new_session().SerializeToString()})
        await send({"type": "websocket.send", "text": "ok"})

    sent = answered(ScrubPaths(telling, Path("/srv/hexcursion")), type="websocket")
    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.send", "websocket.send"]
    assert b"/srv" not in sent[1]["bytes"]

"""The app behind the shipped proxies: TLS, headers, the socket, an upload, and who says where a reader is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import streamlit
from playwright.sync_api import Browser

from tests.browser.harness import HANDSHAKE, PATIENCE, appear, settle, visit
from tests.proxy.harness import PROXIES, Proxy, echo_server, running_proxy

ROWS = 60_000  # a table of about 1.2 MB: more than a proxy takes by default


def socket_status(proxy: Proxy, host: str, origin: str) -> int:
    status, _, _ = proxy.ask(
        "/_stcore/stream",
        Host=host,
        Origin=origin,
        **HANDSHAKE,
    )
    return status


def test_every_header_arrives_once(proxy: Proxy) -> None:
    status, headers, body = proxy.ask("/")
    assert status == 200
    assert b'<div id="root">' in body
    names = [name for name, _ in headers]
    given = dict(headers)
    assert given["strict-transport-security"] == "max-age=31536000"
    assert given["x-frame-options"] == "DENY"
    assert given["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in given["content-security-policy"]
    for name in ("strict-transport-security", "content-security-policy", "x-frame-options"):
        assert names.count(name) == 1
    assert not any(digit in given.get("server", "") for digit in "0123456789")  # no version


def test_cookies_are_for_https_only(proxy: Proxy) -> None:
    _, headers, _ = proxy.ask("/_stcore/health")
    cookies = [value for name, value in headers if name == "set-cookie"]
    assert len(cookies) == 1
    assert cookies[0].startswith("_streamlit_xsrf=")
    assert "; Secure" in cookies[0]


def test_large_answers_are_compressed(proxy: Proxy) -> None:
    scripts = Path(streamlit.__file__).parent / "static" / "static" / "js"
    largest = max(scripts.glob("index.*.js"), key=lambda path: path.stat().st_size)
    _, headers, body = proxy.ask(f"/static/js/{largest.name}", Accept_Encoding="gzip")
    assert dict(headers)["content-encoding"] == "gzip"
    assert gzip.decompress(body) == largest.read_bytes()
    assert len(body) < 0.5 * largest.stat().st_size


def test_the_socket_is_upgraded_for_the_apps_own_page_only(proxy: Proxy) -> None:
    own = f"localhost:{proxy.port}"
    assert socket_status(proxy, own, f"https://{own}") == 101
    assert socket_status(proxy, own, "https://evil.example") == 403
    assert socket_status(proxy, own, "https://localhost") == 403
    assert socket_status(proxy, "evil.example", "https://evil.example") != 101


def test_a_foreign_name_gets_no_page(proxy: Proxy) -> None:
    status, _, body = proxy.ask("/", Host="evil.example")
    assert b'<div id="root">' not in body
    assert status in (200, 421)  # Caddy answers an unknown name with nothing at all


def test_an_upload_and_the_whole_page_go_through(proxy: Proxy, browser: Browser) -> None:
    rows = "".join(f"13.{n % 1000:03d},52.{n % 997:03d},{n % 80}\n" for n in range(ROWS))
    context = browser.new_context(ignore_https_errors=True)
    context.set_default_timeout(PATIENCE * 1000)
    try:
        page = context.new_page()
        refused: list[str] = []
        page.on(
            "console", lambda said: refused.append(said.text) if "Content Security" in said.text else None
        )
        visit(page, f"{proxy.url}/data")
        page.get_by_role("radio", name="Your own table").click()
        appear(page.get_by_text("Table of places and values (.csv").first)
        settle(page)
        assert page.get_by_role("heading", level=1).inner_text() == "Data"
        page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
            {"name": "stations.csv", "mimeType": "text/csv", "buffer": f"lon,lat,no2\n{rows}".encode()}
        )
        page.get_by_text("Guessed from the first rows").wait_for()
        assert refused == []
    finally:
        context.close()


@pytest.mark.parametrize("name", PROXIES)
def test_what_a_client_says_of_its_own_address_is_dropped(name: str, tmp_path: Path) -> None:
    with echo_server() as upstream, running_proxy(name, tmp_path / name, upstream) as proxy:
        _, _, body = proxy.ask(
            "/",
            X_Forwarded_For="198.51.100.7",
            X_Forwarded_Proto="http",
            Forwarded="for=198.51.100.7",
        )
        heard = json.loads(body)
        said = dict(heard)
        assert [value for key, value in heard if key == "x-forwarded-for"] == ["127.0.0.1"]
        assert said["x-forwarded-proto"] == "https"
        assert "forwarded" not in said
        assert said["host"] == f"localhost:{proxy.port}"


def test_nginx_sends_plain_http_to_https(tmp_path: Path) -> None:
    with echo_server() as upstream, running_proxy("nginx", tmp_path / "nginx", upstream) as proxy:
        status, headers, _ = proxy.ask_plainly("/viewer?release=1")
        assert (status, dict(headers)["location"]) == (301, f"{proxy.url}/viewer?release=1")

"""Real proxies for tests: the shipped templates on loopback, with other names, ports and a certificate."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.browser.harness import PATIENCE, ROOT, answer_of, free_port

DEPLOY = ROOT / "deploy"
PROXIES = ("nginx", "caddy")
NAME, UPSTREAM = "maps.example.org", "127.0.0.1:8501"


@dataclass(frozen=True)
class Proxy:
    """A running proxy: which, and its ports."""

    name: str
    port: int
    plain_port: int

    @property
    def url(self) -> str:
        """What a browser opens."""
        return f"https://localhost:{self.port}"

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers by lower-case name, and body of one request; no cookie, no redirect followed."""
        connection = HTTPSConnection(
            "localhost", self.port, timeout=PATIENCE, context=ssl._create_unverified_context()
        )
        return answer_of(connection, path, method, body, {"Host": f"localhost:{self.port}", **headers})

    def ask_plainly(self, path: str) -> tuple[int, list[tuple[str, str]], bytes]:
        """The same without TLS."""
        connection = HTTPConnection("127.0.0.1", self.plain_port, timeout=PATIENCE)
        return answer_of(connection, path, "GET", None, {"Host": f"localhost:{self.plain_port}"})


@contextmanager
def running_proxy(name: str, folder: Path, upstream: str) -> Iterator[Proxy]:
    """Start a proxy with the shipped template before an address; skip where it is not installed."""
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin")
    if program is None:
        if os.environ.get("HEXCURSION_REQUIRE_PROXY") == "1":
            pytest.fail(f"{name} is not installed, and HEXCURSION_REQUIRE_PROXY=1")
        pytest.skip(f"{name} is not installed: apt-get install nginx-light caddy to run the proxy tests")
    folder.mkdir(parents=True)
    proxy = Proxy(name, free_port(), free_port())
    certificate, key = _certificate(folder)
    if name == "nginx":
        command = _nginx(folder, proxy, upstream, certificate, key)
    else:
        command = _caddy(folder, proxy, upstream, certificate, key)
    environment = {
        **os.environ,
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [program, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=folder
        ) as process,
    ):
        try:
            _wait(process, proxy, folder / "log")
            yield proxy
        finally:
            process.terminate()


def _replaced(text: str, *pairs: tuple[str, str]) -> str:
    """The shipped text with each part replaced; every part must stand there."""
    for part, other in pairs:
        assert part in text, f"{part!r} is not in the template"
        text = text.replace(part, other)
    return text


def _nginx(folder: Path, proxy: Proxy, upstream: str, certificate: Path, key: Path) -> list[str]:
    live = "/etc/letsencrypt/live/maps.example.org"
    site = _replaced(
        (DEPLOY / "nginx.conf").read_text(),
        (f"{live}/fullchain.pem", str(certificate)),
        (f"{live}/privkey.pem", str(key)),
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{proxy.port} ssl http2;"),
        ("listen 80;", f"listen 127.0.0.1:{proxy.plain_port};"),
        (f"https://{NAME}$request_uri", f"https://localhost:{proxy.port}$request_uri"),
        (NAME, "localhost"),
        (UPSTREAM, upstream),
    )
    (folder / "site.conf").write_text(site)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}include {folder}/site.conf;\n}}\n"
    )
    return ["-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]


def _caddy(folder: Path, proxy: Proxy, upstream: str, certificate: Path, key: Path) -> list[str]:
    site = _replaced(
        (DEPLOY / "Caddyfile").read_text(),
        (f"{NAME} {{", f"https://localhost:{proxy.port} {{\n\tbind 127.0.0.1\n\ttls {certificate} {key}"),
        (UPSTREAM, upstream),
    )
    options = "\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n"
    (folder / "Caddyfile").write_text(site.replace("{\n", "{\n" + options, 1))
    return ["run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder / "cert.pem", folder / "key.pem"


def _wait(process: subprocess.Popen[bytes], proxy: Proxy, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            proxy.ask("/_stcore/health")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"{proxy.name} did not start:\n{log.read_text(errors='replace')[-2000:]}")


@contextmanager
def echo_server() -> Iterator[str]:
    """A server that answers every request with the headers it was sent, as JSON; its address."""

    class Echo(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = json.dumps([[key.lower(), value] for key, value in self.headers.items()]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()

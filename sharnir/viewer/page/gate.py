"""Who may come in: every request to the viewer's port is judged here, before anything is answered or upgraded.

A page needs the token of the printed address; it gets a cookie that its websockets bring along. `Host` must be ours, so
that no name made to point here by a stranger is served, and `Origin`, which browsers send for the page that asks, too.
"""

from __future__ import annotations

import hmac
import http
import ipaddress
import resource
import secrets
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from sharnir.errors import fail, shown

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST = 1 << 20  # bytes of a message that comes in
VIEW, BRIDGE = "/view", "/bridge"  # websockets: viser's, and that of keys and gamepads
SHORTEST = 16  # characters of a token for other machines
POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' {sockets} data: blob:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)  # viser's page is made of scripts in line; nothing of it lies elsewhere
STRANGERS = 64  # connections that have not shown the token yet; of more, those are cut off that have had a while
WHILE = 1.0  # s, in which whoever has the token shows it
CROWD = 2000  # strangers at once, whatever they have had; fewer where half of the open files are not as many
PAGES = 64  # websockets open at once
PATIENCE = 5.0  # s, from a connection to its whole request
QUEUE = 1024  # connections that the system holds until they are accepted
Handler = Callable[[Any], Awaitable[None]]


class Address(NamedTuple):
    """Where the page is served. token: None for a new one, which only this machine's own address allows."""

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    certificate: str | None = None  # files in PEM: with both, the page is served by TLS
    key: str | None = None


class Gate:
    """Judges requests. host: as bound. token: that of the address."""

    def __init__(self, host: str, token: str, page: bytes, tls: bool = False) -> None:
        self.host, self._token, self._page, self._tls = host, token, page, tls
        self.serving = False  # a server that asks this gate was started
        self._strangers: dict[Any, float] = {}  # s of the clock when they came, in that order
        self._crowd = min(CROWD, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._pages: set[Any] = set()

    def came(self, connection: Any) -> None:
        """Somebody has connected. Whoever hangs makes room for those who come later."""
        now = time.monotonic()
        self._strangers[connection] = now
        while len(self._strangers) > STRANGERS:
            oldest, since = next(iter(self._strangers.items()))
            if now - since < WHILE and len(self._strangers) <= self._crowd:
                break
            del self._strangers[oldest]
            oldest.transport.abort()

    def left(self, connection: Any) -> None:
        """And is gone."""
        self._strangers.pop(connection, None)
        self._pages.discard(connection)

    def answer(self, connection: Any, request: Any) -> Any:
        """The response that ends a request, or None to let a websocket be opened."""
        port = connection.local_address[1]
        try:
            hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
            reason = self._foreign(hosts, origins, port)
            target = urlsplit(request.path)
            asked = parse_qs(target.query, max_num_fields=16)
        except ValueError:
            return said(http.HTTPStatus.BAD_REQUEST, "not a request this server knows")
        if reason:
            return said(http.HTTPStatus.FORBIDDEN, reason)
        if not self._knows_token(asked.get("token", []), request.headers.get_all("Cookie"), port):
            return said(http.HTTPStatus.FORBIDDEN, "open the address that `sharnir view` printed: it holds the token")
        self._strangers.pop(connection, None)
        if [word.lower() for word in request.headers.get_all("Upgrade")] == ["websocket"]:
            if len(self._pages) >= PAGES:
                return said(http.HTTPStatus.SERVICE_UNAVAILABLE, f"{PAGES} websockets are open, which is all there are")
            if target.path in (VIEW, BRIDGE):
                self._pages.add(connection)
                return None
        elif target.path in ("/", "/index.html"):
            return self._served(port, hosts[0])
        return said(http.HTTPStatus.NOT_FOUND, "nothing here")

    def _foreign(self, hosts: list[str], origins: list[str], port: int) -> str:
        """Why a request is not one of ours; empty where it is."""
        if len(hosts) != 1 or not self._is_ours(hosts[0], port):
            return "Host is not this server"
        scheme = "https" if self._tls else "http"
        if any(origin != f"{scheme}://{hosts[0]}" for origin in origins):
            return "Origin is not this server"
        return ""

    def _is_ours(self, host: str, port: int) -> bool:
        """Whether a Host header means this server. Addresses cannot be made to point here, names can."""
        parts = urlsplit(f"//{host}")
        if (parts.port or (443 if self._tls else 80)) != port or parts.hostname is None or parts.username:
            return False
        if parts.hostname in LOOPBACK:
            return True
        if self.host in LOOPBACK:
            return False
        if parts.hostname in (socket.gethostname().lower(), socket.getfqdn().lower(), self.host.lower()):
            return True
        try:
            ipaddress.ip_address(parts.hostname)
        except ValueError:
            return False
        return True

    def _knows_token(self, given: list[str], cookies: list[str], port: int) -> bool:
        try:
            jar = SimpleCookie("; ".join(cookies))
        except CookieError:
            jar = SimpleCookie()
        held = [jar[cookie(port)].value] if cookie(port) in jar else []
        wanted = self._token.encode()
        return any([hmac.compare_digest(value.encode(), wanted) for value in [*given, *held]])

    def _served(self, port: int, host: str) -> Any:
        secure, scheme = ("; Secure", "wss") if self._tls else ("", "ws")
        more = {
            "Set-Cookie": f"{cookie(port)}={self._token}; HttpOnly; SameSite=Strict; Path=/{secure}",
            "Content-Security-Policy": POLICY.format(sockets=f"{scheme}://{host}"),
        }
        return response(http.HTTPStatus.OK, "text/html; charset=utf-8", self._page, more)


def cookie(port: int) -> str:
    """Name of the cookie that holds the token; browsers do not tell ports apart."""
    return f"sharnir_{port}"


def said(status: http.HTTPStatus, text: str) -> Any:
    return response(status, "text/plain; charset=utf-8", f"{text}\n".encode())


def response(status: http.HTTPStatus, kind: str, body: bytes, more: dict[str, str] | None = None) -> Any:
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    headers = {
        "Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close", "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
    }  # fmt: skip
    return Response(int(status), status.phrase, Headers(headers | (more or {})), body)


def page() -> bytes:
    """viser's page with our script in front of its own."""
    import viser

    script = resources.files("sharnir.viewer.page").joinpath("input_socket.js").read_text(encoding="utf-8")
    text = Path(viser.__file__).with_name("client").joinpath("build", "index.html").read_text(encoding="utf-8")
    before, head, after = text.partition("<head>")
    return f"{before}{head}<script>{script}</script>{after}".encode()


@contextmanager
def guarded(gate: Gate, bridge: Handler, tls: ssl.SSLContext | None) -> Iterator[None]:
    """Servers that start meanwhile, which is viser's, ask the gate first and take small messages only; websockets at
    BRIDGE are handled by `bridge`."""
    import websockets.asyncio.server as module

    class Guest(module.ServerConnection):
        """A connection of which the gate knows."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            gate.came(self)

        def connection_lost(self, exc: Exception | None) -> None:
            gate.left(self)
            super().connection_lost(exc)

    plain = module.serve

    def serve(handler: Handler, host: str, port: int, **options: Any) -> Any:
        async def route(connection: Any) -> None:
            await (bridge if urlsplit(connection.request.path).path == BRIDGE else handler)(connection)

        gate.serving = True
        options |= {"process_request": gate.answer, "max_size": LARGEST, "ssl": tls}
        options |= {"create_connection": Guest, "open_timeout": PATIENCE, "backlog": QUEUE}
        return plain(route, host, port, **options)

    module.serve = serve  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        module.serve = plain  # type: ignore[misc]


def checked_token(address: Address) -> str:
    """The token of an address: its own, or a new one."""
    if address.token is None:
        if address.host not in LOOPBACK:
            given = f"host {address.host!r} without a token"
            raise fail("view", "others could come in", given, "--token TEXT with it, or --host 127.0.0.1")
        return secrets.token_urlsafe(18)
    plain = address.token.isascii() and all(c.isalnum() or c in "-_" for c in address.token)
    if not plain or len(address.token) < (1 if address.host in LOOPBACK else SHORTEST):
        allowed = f"letters, digits, - and _, at least {SHORTEST} of them where others can reach it"
        raise fail("view", "token cannot be used", shown(address.token), allowed)
    return address.token


def tls_of(address: Address) -> ssl.SSLContext | None:
    """The context of an address with a certificate; None without."""
    if (address.certificate is None) != (address.key is None):
        raise fail("view", "certificate and key belong together", "one of them", "both, or neither")
    if address.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(address.certificate, address.key)
    except OSError as error:
        raise fail("view", "certificate cannot be used", str(error), "files of a certificate and its key") from None
    return context

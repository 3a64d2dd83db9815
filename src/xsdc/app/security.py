"""Nobody else in: a launch token, then a cookie; own Host and Origin only; a strict content policy."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE = {"GET", "HEAD"}
LARGEST_BODY = 64 * 2**20  # bytes; files of answers come in this way
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


class Guard:
    """Lets in who has the token, and nobody from elsewhere.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        Of this launch. ``/?token=...`` exchanges it for a cookie.
    hosts : iterable of str
        Values of Host that are ours, with their port.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Iterable[str]) -> None:
        self._app, self._token, self._hosts = app, token, frozenset(host.lower() for host in hosts)
        self._cookie = secrets.token_urlsafe(32)
        self._name = f"xsdc-{hash(self._hosts) & 0xFFFF:x}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSockets
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["path"] == "/" and "token" in query:
            await self._exchange(send, query["token"][0])
            return
        if not self._has_cookie(headers):
            await _answer(send, 401, "Open the address that xsdc label has printed: it holds the token of this launch.")
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
            await send(message)

        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Say why a request is refused before anything else is looked at."""
        if headers.get("host", "").lower() not in self._hosts:
            return 421, "This is not a name of this server."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() not in self._hosts:
            return 403, "Requests from other pages are refused."
        return None if scope["method"] in SAFE else _unsafe_refusal(scope["method"], headers)

    async def _exchange(self, send: Send, token: str) -> None:
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            await _answer(send, 401, "The token is not that of this launch.")
            return
        cookie = f"{self._name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())])

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(headers.get("cookie", ""))
        except CookieError:
            return False
        found = jar.get(self._name)
        return found is not None and hmac.compare_digest(found.value.encode(), self._cookie.encode())


def _unsafe_refusal(method: str, headers: dict[str, str]) -> tuple[int, str] | None:
    """Say why a request that changes something is refused: it must come from the page itself, as JSON."""
    site = headers.get("sec-fetch-site", "same-origin" if "origin" in headers else "none")
    length = headers.get("content-length", "")
    rules = (
        (method == "POST", 405, "Only GET and POST are answered."),
        (site == "same-origin", 403, "A request that changes something must come from the page itself."),
        (headers.get("content-type", "").split(";")[0] == "application/json", 415, "Only JSON is taken."),
        (length.isdecimal(), 411, "The length must be given."),
        (length.isdecimal() and int(length) <= LARGEST_BODY, 413, "This is too large."),
    )
    return next(((status, text) for holds, status, text in rules if not holds), None)


async def _answer(send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    plain = (b"content-type", b"text/plain; charset=utf-8")
    await send({"type": "http.response.start", "status": status, "headers": [plain, *HEADERS, *headers]})
    await send({"type": "http.response.body", "body": text.encode()})

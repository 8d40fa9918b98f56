"""Access control: an ASGI layer around Streamlit that every request passes before anything of the app runs.

A server for this computer only admits requests that address this computer by its own name and come straight from it: a
page elsewhere on the web cannot reach it through the browser (no foreign Origin, no foreign Host: DNS rebinding), and
what a proxy forwards does not count as local. On a server that is open to a class, a client from the network enters the
join code first, and stays within limits (`clients`). Streamlit asks an outside host for its own address when it meets a
foreign Origin (`net_util.get_external_ip`); those requests end here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from urllib.parse import urlencode, urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from collsim.locale import match_language

from .addresses import is_loopback
from .clients import LOCAL, Clients, identify_client
from .join_code import JoinCode
from .join_page import render_join_page, render_refusal
from .page_connection import PageConnection
from .uploads import UploadQuota

#: Everybody may ask this, so that whoever started the server can see that it runs.
HEALTH = "/_stcore/health"
#: The header that tells the app which client a page belongs to. Nobody else can set it: what a request brings under
#: this name is dropped.
CLIENT_HEADER = "x-collsim-client"
_UPLOAD = "/_stcore/upload_file/"
#: How the names of headers begin that proxies, tunnels and content delivery networks add and browsers do not; the only
#: header of Streamlit's pages that begins so is the second.
_PROXY_HEADERS = ("x-", "forwarded", "via", "cf-", "cdn-", "client-ip", "true-client-ip", "fastly-", "fly-", "akamai-")
_PAGE_HEADER = "x-xsrftoken"
# Seconds. Wrong codes of a browser are counted for an hour; whoever typed the right one is a member for a week.
_HOUR, _WEEK = 3600, 7 * 24 * 3600
#: Seconds after which a page that may not open hears of it, and how many pages of one client wait so: a client that
#: tries again whenever it is refused, as Streamlit's page does, costs the others little.
REFUSAL_DELAY, MAX_DELAYED = 2.0, 40


class ClientRequest(HTTPConnection):
    """A request or the connection of a page: where it comes from and what it asks for."""

    def is_well_formed(self) -> bool:
        """Whether its Host and Origin are such that a browser may have written them."""
        try:
            urlsplit(f"//{self.headers.get('host', '')}").port  # noqa: B018  reading it validates it
            urlsplit(self.headers.get("origin", ""))
        except ValueError:
            return False
        return True

    @property
    def is_local(self) -> bool:
        """Whether it comes from this computer, under its own name, and through no proxy on it."""
        name = urlsplit(f"//{self.headers.get('host', '')}").hostname or ""
        return is_loopback(self._peer) and is_loopback(name) and not self.is_forwarded

    @property
    def is_forwarded(self) -> bool:
        """Whether any header shows that a proxy passed it on. HTTP/1.0 does, too: some proxies speak it, browsers do
        not."""
        names = (name for name in self.headers if name != _PAGE_HEADER)
        return self.scope.get("http_version") == "1.0" or any(name.startswith(_PROXY_HEADERS) for name in names)

    @property
    def client_id(self) -> str:
        """The client that it comes from: `LOCAL`, or an address on the network."""
        return LOCAL if self.is_local else identify_client(self._peer)

    @property
    def _peer(self) -> str:
        return "" if self.client is None else self.client.host

    @property
    def is_cross_site(self) -> bool:
        """Whether a page of another site sent it."""
        origin = self.headers.get("origin")
        return origin is not None and urlsplit(origin).netloc != self.headers.get("host")

    @property
    def is_page(self) -> bool:
        """Whether a browser asks for a page."""
        is_get = self.scope["type"] == "http" and self.scope["method"] == "GET"
        return is_get and "text/html" in self.headers.get("accept", "")

    @property
    def join_text(self) -> str | None:
        """The join code that its address gives."""
        return self.query_params.get("join")

    @property
    def member_cookie(self) -> str:
        """The cookie of a client that has entered the join code, as the browser sends it."""
        return self.cookies.get(self.member_cookie_name, "")

    @property
    def browser_cookie(self) -> str:
        """The cookie of a browser in which somebody has entered a wrong join code."""
        return self.cookies.get(self.browser_cookie_name, "")

    @property
    def member_cookie_name(self) -> str:
        return self._name_cookie("collsim_join")

    @property
    def browser_cookie_name(self) -> str:
        return self._name_cookie("collsim_browser")

    def _name_cookie(self, purpose: str) -> str:
        """Return a name for each port: browsers send a host's cookies to all of its ports."""
        return f"{purpose}_{urlsplit('//' + self.headers.get('host', '')).port or 80}"

    @property
    def language(self) -> str:
        """The language to answer in: as the address says, else as the browser prefers."""
        return match_language(self.query_params.get("lang") or self.headers.get("accept-language", ""))

    @property
    def url_without_code(self) -> str:
        """The same address without the join code."""
        query = [pair for pair in self.query_params.multi_items() if pair[0] != "join"]
        path = "/" + self.scope["path"].lstrip("/\\")  # `//elsewhere` would lead to another host
        return f"{path}?{urlencode(query)}" if query else path

    def build_scope(self) -> Scope:
        """Return the scope for the app, with the header that names the client."""
        name = CLIENT_HEADER.encode()
        headers = [pair for pair in self.scope["headers"] if pair[0].lower() != name]
        return {**self.scope, "headers": [*headers, (name, self.client_id.encode("latin-1"))]}


class AccessControl:
    """The ASGI layer.

    Args:
        app: what is behind it.
        join_code: what a client of the class enters; None on a server for this computer only.
        clients: the limits of each client, and what it uses of them.
        base: the path before all paths of the app.
    """

    def __init__(self, app: ASGIApp, join_code: JoinCode | None, clients: Clients, base: str = ""):
        self.app, self.join_code, self.clients, self.base = app, join_code, clients, base
        self.uploads = UploadQuota(clients.limits.upload_bytes, clients.limits.upload_bytes_in_all)
        self._delayed = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, ask for the join code, or refuse."""
        if scope["type"] not in ("http", "websocket") or (scope["type"], scope["path"]) == ("http", self.base + HEALTH):
            await self.app(scope, receive, send)
            return
        request = ClientRequest(scope)
        refusal = await self._check(request)
        if refusal is not None:
            await _respond(refusal, scope, receive, send)
        elif scope["type"] == "websocket":
            await self._serve_page(request.client_id, request.build_scope(), receive, send)
        elif request.is_local:
            await self.app(request.build_scope(), receive, send)
        else:
            await self._serve_request(request, receive, send)

    async def _check(self, request: ClientRequest) -> Response | None:
        """Return the answer in place of the app's; None where the request is admitted. A request waits whose client
        makes too many."""
        if not request.is_well_formed():
            return PlainTextResponse("bad request\n", 400)
        if not request.is_local and request.scope["type"] == "http":
            delay = self.clients.pace_request(request.client_id)
            if delay is None:
                return PlainTextResponse("too many requests\n", 429)
            await asyncio.sleep(delay)
        if request.is_cross_site:
            return PlainTextResponse("this address answers only to its own pages\n", 403)
        if request.is_local:
            return None
        if self.join_code is None:
            return _build_page(render_refusal("here", request.language), 403)
        if self.join_code.members.is_issued(request.member_cookie):
            if request.is_page and self.clients.is_full(request.client_id):
                return _build_page(render_refusal("full", request.language), 429)
            has_code = request.join_text is not None and request.is_page
            return RedirectResponse(request.url_without_code, 303) if has_code else None
        if not request.is_page:
            return PlainTextResponse("the join code comes first\n", 403)
        if request.join_text is None:
            return _build_page(render_join_page(request.query_params.multi_items(), request.language), 401)
        return self._try_code(request, request.join_text)

    def _try_code(self, request: ClientRequest, code: str) -> Response:
        """Return the answer to a client that enters a join code."""
        assert self.join_code is not None
        query = request.query_params.multi_items()
        cookie = request.browser_cookie
        browser = cookie if self.join_code.browsers.is_issued(cookie) else ""
        if not self.clients.may_try_code(request.client_id, browser):
            return _build_page(render_join_page(query, request.language, "often"), 429)
        if not self.join_code.is_right(code):
            self.clients.count_wrong_code(request.client_id, browser)
            page = _build_page(render_join_page(query, request.language, "wrong"), 401)
            if not browser:
                cookie = self.join_code.browsers.issue()
                page.set_cookie(request.browser_cookie_name, cookie, max_age=_HOUR, httponly=True, samesite="lax")
            return page
        response = RedirectResponse(request.url_without_code, 303)
        response.set_cookie(
            request.member_cookie_name, self.join_code.members.issue(), max_age=_WEEK, httponly=True, samesite="lax"
        )
        return response

    async def _serve_request(self, request: ClientRequest, receive: Receive, send: Send) -> None:
        """Pass on a request of a client from the network; what it uploads counts."""
        path, prefix = request.scope["path"], self.base + _UPLOAD
        if not path.startswith(prefix) or request.scope["method"] not in ("PUT", "POST"):
            await self.app(request.build_scope(), receive, send)
            return
        length, client = request.headers.get("content-length", ""), request.client_id
        # Twelve digits are 1 TB, far above any limit; reading thousands of digits as a number would take long.
        nbytes = int(length[:12]) if length.isdecimal() else None
        if nbytes is None or not self.uploads.reserve(client, nbytes):
            text = render_refusal("upload", request.language, plain=True)
            await _respond(PlainTextResponse(text, 413), request.scope, receive, send)
            return
        try:
            await self.app(request.build_scope(), receive, send)
        finally:
            session, _, file = path.removeprefix(prefix).partition("/")
            self.uploads.settle(client, nbytes, session, file)

    async def _serve_page(self, client: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a page for as long as it is open. Limits hold for clients from the network."""
        if client == LOCAL:
            await PageConnection(receive, send, lambda: 0.0).serve(self.app, scope)
            return
        if not self.clients.open_page(client):
            await self._delay(client)
            text = "too many pages are open, or opened too often\n"
            await _respond(PlainTextResponse(text, 429), scope, receive, send)
            return
        try:
            pace = partial(self.clients.pace_message, client)
            await PageConnection(receive, send, pace).serve(self.app, scope)
        finally:
            self.clients.close_page(client)

    async def _delay(self, client: str) -> None:
        """Let a page that may not open wait, if not too many of its client do."""
        if self._delayed[client] >= MAX_DELAYED:
            return
        self._delayed[client] += 1
        try:
            await asyncio.sleep(REFUSAL_DELAY)
        finally:
            self._delayed[client] -= 1
            if not self._delayed[client]:
                del self._delayed[client]


def _build_page(page: str, status: int) -> HTMLResponse:
    """Return a page of the access control: the browser does not store it, no other page embeds it, nothing in it
    runs."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
    return HTMLResponse(page, status, {"Cache-Control": "no-store", "Content-Security-Policy": policy})


async def _respond(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in place of the app; a page's connection is refused before it is made (the client sees 403)."""
    if scope["type"] == "http":
        await response(scope, receive, send)
        return
    # ASGI sends "websocket.connect" first, which has to be taken before the connection can be refused.
    await receive()
    await send({"type": "websocket.close", "code": 1008})

"""The door: an ASGI layer around Streamlit that every request passes before anything of the app runs.

On a server for this computer only, it lets in what addresses this computer by its own name and comes straight from it:
a page elsewhere on the web cannot reach it through the browser (no foreign Origin, no foreign Host: DNS rebinding), and
what a proxy forwards is not taken for local. On one that is open to a room, a client from there gives the join code
first, and stays within limits (`clients`). Streamlit asks an outside host for its own address when it meets a foreign
Origin (`net_util.get_external_ip`); those end here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .admission import Admission
from .clients import Clients, client_of
from .entrance import entrance, refused
from .listening import is_loopback
from .turns import PAGES_OF_ONE, PageTurn, Turns

#: Open to all, so that whoever started the server can see that it runs.
HEALTH = "/_stcore/health"
_UPLOAD = "/_stcore/upload_file/"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_COOKIE = "collsim_join"
_WEEK = 7 * 24 * 3600
#: Seconds after which a page that may not open is told so, and of how many of one client they are waited for: who tries
#: again whenever it is refused, as Streamlit's own page does, costs the others little.
REFUSED_AFTER, REFUSED_AT_A_TIME = 2.0, 40


@dataclass(frozen=True)
class Visit:
    """What the door sees of a request."""

    path: str
    query: tuple[tuple[str, str], ...]
    headers: Headers
    client: str
    is_page: bool

    @classmethod
    def of(cls, scope: Scope) -> Visit:
        """Read from an ASGI scope."""
        headers = Headers(scope=scope)
        host = (scope.get("client") or ("", 0))[0]
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        is_page = scope["type"] == "http" and scope["method"] == "GET" and "text/html" in headers.get("accept", "")
        return cls(scope["path"], tuple(query), headers, client_of(host), is_page)

    @property
    def host(self) -> str:
        return urlsplit(f"//{self.headers.get('host', '')}").hostname or ""

    @property
    def is_here(self) -> bool:
        """Does it come from this computer, under its own name, and from no proxy on it?"""
        return not self.client and is_loopback(self.host) and not any(name in self.headers for name in _FORWARDED)

    @property
    def is_foreign(self) -> bool:
        """Was it sent by a page of another site?"""
        origin = self.headers.get("origin")
        return origin is not None and urlsplit(origin).netloc != self.headers.get("host")

    @property
    def join(self) -> str | None:
        """The join code that its address gives."""
        return dict(self.query).get("join")

    @property
    def cookie(self) -> str:
        try:
            found = SimpleCookie(self.headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return ""
        return "" if found is None else found.value

    @property
    def cookie_name(self) -> str:
        """One for each port: browsers send a host's cookies to all of them."""
        return f"{_COOKIE}_{urlsplit('//' + self.headers.get('host', '')).port or 80}"

    @property
    def lang(self) -> str:
        """The language to answer in: as the address says, else as the browser asks for."""
        asked = dict(self.query).get("lang") or self.headers.get("accept-language", "")
        return "zh" if asked.lower().startswith("zh") else "en"

    @property
    def without_code(self) -> str:
        """The same address without the join code."""
        rest = [pair for pair in self.query if pair[0] != "join"]
        path = "/" + self.path.lstrip("/\\")  # `//elsewhere` would lead to another host
        return f"{path}?{urlencode(rest)}" if rest else path


class Door:
    """The ASGI layer. `admission` is None where the server is for this computer only; `base` is the path before all."""

    def __init__(self, app: ASGIApp, admission: Admission | None, clients: Clients, base: str = ""):
        self.app, self.admission, self.clients, self.health = app, admission, clients, base + HEALTH
        self.turns = Turns(of_one=max(1, clients.limits.tabs // PAGES_OF_ONE))
        self._refused = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, ask for the join code, or refuse."""
        if scope["type"] not in ("http", "websocket") or (scope["type"], scope["path"]) == ("http", self.health):
            await self.app(scope, receive, send)
            return
        visit = _read(scope)
        answer = PlainTextResponse("bad request\n", 400) if visit is None else self._answer(visit)
        if answer is not None:
            await _say(answer, scope, receive, send)
        elif visit is None or visit.is_here:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._page(visit.client, scope, receive, send)
        else:
            await self._request(visit, scope, receive, send)

    def _answer(self, visit: Visit) -> Response | None:
        """What to say instead of letting it in; None where it may come in."""
        if visit.is_foreign:
            return PlainTextResponse("this address answers only to its own pages\n", 403)
        if visit.is_here:
            return None
        if self.admission is None:
            return _shown(refused("here", visit.lang), 403)
        if self.admission.knows(visit.cookie):
            if visit.is_page and self.clients.is_full(visit.client):
                return _shown(refused("full", visit.lang), 429)
            return RedirectResponse(visit.without_code, 303) if visit.join is not None and visit.is_page else None
        if not visit.is_page:
            return PlainTextResponse("the join code comes first\n", 403)
        return _shown(entrance(visit.query, visit.lang), 401) if visit.join is None else self._tried(visit)

    def _tried(self, visit: Visit) -> Response:
        """Somebody gives a code."""
        assert self.admission is not None
        assert visit.join is not None
        if not self.clients.may_try(visit.client):
            return _shown(entrance(visit.query, visit.lang, "often"), 429)
        if not self.admission.opens(visit.join):
            self.clients.failed(visit.client)
            return _shown(entrance(visit.query, visit.lang, "wrong"), 401)
        found = RedirectResponse(visit.without_code, 303)
        found.set_cookie(visit.cookie_name, self.admission.cookie(), max_age=_WEEK, httponly=True, samesite="lax")
        return found

    async def _request(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        """A request of a client from the room; what it uploads counts."""
        if _UPLOAD in visit.path and scope["method"] == "DELETE":
            self.clients.drop(visit.client, visit.path)
        elif _UPLOAD in visit.path and scope["method"] in ("PUT", "POST"):
            length = visit.headers.get("content-length", "")
            if not length.isdecimal() or not self.clients.upload(visit.client, visit.path, int(length[:12])):
                await _say(PlainTextResponse(refused("upload", visit.lang, plain=True), 413), scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _page(self, who: str, scope: Scope, receive: Receive, send: Send) -> None:
        """One page of a client from the room, for as long as it is open: each rerun it asks for comes in its turn."""
        if not self.clients.enter(who):
            await self._after_a_while(who)
            await _say(PlainTextResponse("too many pages are open, or opened too often\n", 429), scope, receive, send)
            return

        turn, gone = PageTurn(self.turns, who), False

        async def paced() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] == "websocket.disconnect"
            if message["type"] == "websocket.receive":
                if len(message.get("bytes") or message.get("text") or b"") > self.clients.limits.message_bytes:
                    return {"type": "websocket.disconnect", "code": 1009}
                await asyncio.sleep(self.clients.wait(who))
                await turn.asked(message.get("bytes") or b"")
            return message

        async def told(message: Message) -> None:
            nonlocal gone
            turn.answered(message.get("bytes") or b"")  # a rerun ends, whether or not somebody still hears of it
            if gone:
                return
            gone = message["type"] == "websocket.close"
            try:
                await send(message)
            except RuntimeError:  # it closed, and its word of that waits behind what it said before
                gone = True

        try:
            await self.app(scope, paced, told)
        except RuntimeError:  # Starlette's, where Streamlit reads from or closes what is closed already
            if not gone:
                raise
        finally:
            turn.left()
            self.clients.leave(who)

    async def _after_a_while(self, who: str) -> None:
        if self._refused[who] >= REFUSED_AT_A_TIME:
            return
        self._refused[who] += 1
        try:
            await asyncio.sleep(REFUSED_AFTER)
        finally:
            self._refused[who] -= 1
            if not self._refused[who]:
                del self._refused[who]


def _read(scope: Scope) -> Visit | None:
    """A visit; None for a request whose Host or Origin no browser writes."""
    try:
        visit = Visit.of(scope)
        for look in (visit.host, visit.cookie_name, visit.is_foreign):
            del look
    except ValueError:
        return None
    return visit


def _shown(page: str, status: int) -> HTMLResponse:
    """A page of the door: not kept by the browser, not shown within another page, and with nothing that runs."""
    rules = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
    return HTMLResponse(page, status, {"Cache-Control": "no-store", "Content-Security-Policy": rules})


async def _say(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in place of the app; a page's connection is refused before it is made (the client sees 403)."""
    if scope["type"] == "http":
        await answer(scope, receive, send)
        return
    await receive()
    await send({"type": "websocket.close", "code": 1008})

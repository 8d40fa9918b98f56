"""What a browser loads before it can draw a page, delivered quickly: an ASGI layer between access control and
Streamlit.

The modules of components are files that a browser keeps: Streamlit would send the text of a module with every change of
its data. The layer compresses them and Streamlit's scripts and style sheets (3 MB become 1), each of them once, because
their names change with their contents. The first page carries a picture of its run (`entry.first_frame`), which stands
there until the page has loaded.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import json
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass

from cachetools import LRUCache
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collsim.viz.hosts.bundle import BUNDLES, read_bundle

from .addresses import get_base_path

#: Bytes of compressed files in the cache.
CACHE_BYTES = 24 * 2**20
_COMPRESSIBLE = (".js", ".css", ".html", ".svg", ".json")
#: Below this path are the bundles of components, each under its name and the digest of its text.
_BUNDLES = "/bundles/"
#: Components that are in one bundle, as `scripts/bundle.mjs` has it: each has a player in it.
_PICTURES = {"player", "race", "route", "simple", "step"}
#: Names of all bundles that are files.
_NAMES = frozenset(file.stem for file in BUNDLES.glob("*.js"))
#: Headers that ask for a part of a file, or for nothing where it has not changed.
_CONDITIONAL_HEADERS = (b"range", b"if-none-match", b"if-modified-since", b"if-range")
#: Headers that are wrong once the body is another one.
_BODY_HEADERS = (b"content-length", b"etag", b"accept-ranges", b"last-modified")


@dataclass(frozen=True)
class StoredResponse:
    """A whole response of the app.

    Attributes:
        status: HTTP's number.
        headers: (name, value) in their order.
        body: as it was sent.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def replace_body(self, body: bytes, *headers: tuple[bytes, bytes]) -> StoredResponse:
        """Return a response with another body, with those headers that hold for any body, and with more headers."""
        lasting = tuple(pair for pair in self.headers if pair[0].lower() not in _BODY_HEADERS)
        return StoredResponse(self.status, (*lasting, *headers, (b"content-length", str(len(body)).encode())), body)

    def with_gzip(self, body: bytes) -> StoredResponse:
        """Return the response with its body, as gzip has compressed it."""
        return self.replace_body(body, (b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))

    async def send(self, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": self.body})


class PageDelivery:
    """The ASGI layer.

    Args:
        app: what is behind it.
        base: the path before all paths of the app.
        build_first_frame: returns the HTML that stands on a page until Streamlit has loaded there, or an empty text.
    """

    def __init__(
        self, app: ASGIApp, base: str = "", build_first_frame: Callable[[Scope, str], str] = lambda scope, base: ""
    ):
        self.app, self.base, self.build_first_frame = app, base, build_first_frame
        self._cache: MutableMapping[str, StoredResponse] = LRUCache(CACHE_BYTES, getsizeof=lambda file: len(file.body))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a compressed file or a page with its picture; let the app answer all other requests."""
        if scope["type"] == "http" and scope["method"] == "GET":
            bundle = find_bundle(scope["path"].removeprefix(self.base))
            if self._is_compressible(scope, bundle):
                await (await self._load_file(scope, bundle)).send(send)
                return
            if bundle is not None:
                await bundle.send(send)
                return
            frame = self.build_first_frame(scope, self.base)
            if frame:
                plain = await _call(self.app, scope)
                page = _insert_frame(frame, plain)
                if page is not plain and accepts_gzip(scope):
                    page = page.with_gzip(await asyncio.to_thread(_compress_page, page.body))
                await page.send(send)
                return
        await self.app(scope, receive, send)

    def _is_compressible(self, scope: Scope, bundle: StoredResponse | None) -> bool:
        path = scope["path"]
        is_file = bundle is not None or (path.startswith(f"{self.base}/static/") and path.endswith(_COMPRESSIBLE))
        return is_file and accepts_gzip(scope)

    async def _load_file(self, scope: Scope, bundle: StoredResponse | None) -> StoredResponse:
        """Return a file, compressed where the app has it."""
        path = scope["path"]
        if path in self._cache:
            return self._cache[path]
        plain = bundle or await _call(self.app, scope)
        if plain.status != 200 or any(name.lower() == b"content-encoding" for name, _ in plain.headers):
            return plain
        body = await asyncio.to_thread(gzip.compress, plain.body, 6, mtime=0)
        compressed = plain.with_gzip(body)
        if len(body) <= CACHE_BYTES:
            self._cache[path] = compressed
        return compressed


def write_loader(name: str) -> str:
    """Return the module of a component that takes it from its bundle, or from the page where the first frame has it.

    Args:
        name: of the component.
    """
    bundle, part = (name, "") if name not in _PICTURES else ("pictures", f".{name}")
    url = json.dumps(f"{get_base_path()}{_locate_bundle(bundle)}")
    load = f"(await import(new URL({url}, location.origin))).default{part}"
    # Streamlit takes a text of one line for the name of a file.
    return f"const component = globalThis.collsimOnPage?.{name} ?? {load};\nexport default component;"


@functools.cache
def _locate_bundle(name: str) -> str:
    digest = hashlib.sha256(read_bundle(name).encode()).hexdigest()[:16]
    return f"{_BUNDLES}{name}.{digest}.js"


def find_bundle(path: str) -> StoredResponse | None:
    """Return the bundle that has this path, for a browser to keep; None where none has.

    Args:
        path: without what is before all paths of the app.
    """
    name = path.removeprefix(_BUNDLES).partition(".")[0]
    if name not in _NAMES or path != _locate_bundle(name):
        return None
    body = read_bundle(name).encode()
    headers = [(b"content-type", b"text/javascript; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    return StoredResponse(200, (*headers, (b"cache-control", b"private, max-age=31536000, immutable")), body)


def accepts_gzip(scope: Scope) -> bool:
    """Whether a request takes a whole body that is compressed."""
    headers = Headers(scope=scope)
    return "gzip" in headers.get("accept-encoding", "") and "range" not in headers


@functools.lru_cache(maxsize=4)
def _compress_page(body: bytes) -> bytes:
    return gzip.compress(body, 6, mtime=0)


def _insert_frame(frame: str, page: StoredResponse) -> StoredResponse:
    """Return the page with the picture at its end; as it is where it is no page."""
    before, end, after = page.body.rpartition(b"</body>")
    return page.replace_body(before + frame.encode() + end + after) if page.status == 200 and end else page


async def _call(app: ASGIApp, scope: Scope) -> StoredResponse:
    """Return the app's whole response, as if the browser had nothing stored. The app does not hear when the browser
    goes: what it broke off then would stay in the cache for all others."""
    request: dict[str, object] = {**scope, "extensions": {}}
    request["headers"] = [(name, value) for name, value in scope["headers"] if name.lower() not in _CONDITIONAL_HEADERS]
    answers: list[Message] = []
    requests: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        return requests.pop() if requests else await asyncio.get_running_loop().create_future()

    async def store(message: Message) -> None:
        answers.append(message)

    await app(request, receive, store)
    start, *parts = answers
    body = b"".join(message.get("body", b"") for message in parts)
    headers = tuple((bytes(name), bytes(value)) for name, value in start.get("headers", ()))
    return StoredResponse(start["status"], headers, body)

"""Limits of connections, below the requests that the layers of the app see.

Streamlit is served by uvicorn, which stores the head of a request however long it is, reads any number of frames of a
websocket at once, and keeps any number of connections. One client could fill the memory or stop the server for all. So
uvicorn's protocols are extended here by limits, and `install_limits` makes uvicorn use them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from functools import partial

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from .addresses import is_loopback
from .clients import LeakyBucket, identify_client
from .message_filter import LARGEST

#: Bytes of the head of a request: its first line and its headers.
HEAD_BYTES = 64 * 2**10
#: Seconds in which a head has to arrive.
HEAD_SECONDS = 20.0
#: Requests that wait for the answer to the one before, in the same connection; browsers wait themselves.
PIPELINED_REQUESTS = 16
#: Connections of one client, for each page that it may open: a browser makes six to load a page, and keeps one.
CONNECTIONS_PER_PAGE = 10
#: Frames of one message. A browser cuts messages into frames of some 100 KB.
FRAMES_PER_MESSAGE = 256
#: Messages of a page that wait to be read; a browser sends one when something is clicked.
WAITING_MESSAGES = 256
#: Control frames (ping and pong) per second, and at once. A browser answers a ping every 30 s.
CONTROL_FRAMES, CONTROL_BURST = 1.0, 20
#: Seconds after which a connection is cut that should be closed and whose client does not read what is left to send.
CLOSE_SECONDS = 10.0
#: Open files of the server, where the system allows so many: each connection is one.
OPEN_FILES = 16_384
#: Bytes that are parsed before the limits are checked again: some 700 of the smallest frames.
PIECE = 4 * 2**10


class ConnectionCounter:
    """Counts the open connections of each client. Those of this computer itself are not limited.

    Attributes:
        most: connections of one client.
    """

    def __init__(self) -> None:
        self.most = 0
        self._clients: dict[asyncio.BaseTransport, str] = {}
        self._counts = Counter[str]()

    def add(self, transport: asyncio.BaseTransport) -> bool:
        """Count a connection; False where its client has as many as it may.

        Args:
            transport: One of this computer is not counted.
        """
        peer = transport.get_extra_info("peername") or ("",)
        host = str(peer[0])
        if is_loopback(host):
            return True
        client = identify_client(host)
        self._clients[transport] = client
        self._counts[client] += 1
        return self._counts[client] <= self.most

    def remove(self, transport: asyncio.BaseTransport) -> None:
        """Count a connection no longer.

        Args:
            transport: One that was not counted is ignored.
        """
        client = self._clients.pop(transport, None)
        if client is not None:
            self._counts[client] -= 1
            if not self._counts[client]:
                del self._counts[client]


COUNTER = ConnectionCounter()


class LimitedHTTP(HttpToolsProtocol):
    """uvicorn's HTTP protocol with a limit for the head of a request, in bytes and in seconds."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and wait for the head of its first request.

        Args:
            transport: Closed at once where its client has too many.
        """
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        if COUNTER.add(transport):
            self._await_head()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection no longer.

        Args:
            exc: None where it was closed as it should be.
        """
        COUNTER.remove(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, a piece at a time, and close the connection where a head is too long or too many requests
        wait.

        Args:
            data: Bytes of any length, also of several requests.
        """
        for start in range(0, len(data), PIECE):
            # After an upgrade the rest belongs to the protocol of the websocket.
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return
            piece, request = data[start : start + PIECE], self.cycle
            if request is None or not request.more_body:
                self._head_bytes += len(piece)
                self._await_head()
            super().data_received(piece)
            if self.cycle is not request:
                self._end_head()
            if self._head_bytes > HEAD_BYTES or len(self.pipeline) > PIPELINED_REQUESTS:
                self.transport.abort()

    def handle_websocket_upgrade(self) -> None:
        self._end_head()
        self.config.ws_max_size = LARGEST
        super().handle_websocket_upgrade()

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _end_head(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's websocket protocol with limits for messages, frames and the time that a closed connection takes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to count control frames.

        Args:
            transport: Already counted when it spoke HTTP.
        """
        super().connection_made(transport)
        self._control_frames = LeakyBucket(CONTROL_FRAMES, CONTROL_BURST, time.monotonic)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection no longer.

        Args:
            exc: None where it was closed as it should be.
        """
        COUNTER.remove(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, a piece at a time, and close the connection where too many frames or messages wait.

        Args:
            data: Bytes of any length, also of several frames.
        """
        for start in range(0, len(data), PIECE):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + PIECE])
            if len(self.frames) > FRAMES_PER_MESSAGE or self.queue.qsize() > WAITING_MESSAGES:
                self.transport.abort()

    def handle_ping(self) -> None:
        self._count_control_frame()
        super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Count a pong as a control frame.

        Args:
            event: The frame.
        """
        self._count_control_frame()
        super().handle_pong(event)

    def _count_control_frame(self) -> None:
        if self._control_frames.take() > 0:
            self.transport.abort()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.transport.abort()

    async def run_asgi(self) -> None:
        try:
            await super().run_asgi()
        finally:
            self.loop.call_later(CLOSE_SECONDS, self.transport.abort)


def install_limits(pages: int) -> None:
    """Give uvicorn's protocols the limits. uvicorn has chosen its classes by the time it imports the app, so those
    classes are made to create objects of the classes here.

    Args:
        pages: that one client may have open.
    """
    COUNTER.most = pages * CONNECTIONS_PER_PAGE
    for base, limited in ((HttpToolsProtocol, LimitedHTTP), (WebSocketsSansIOProtocol, LimitedWebSocket)):
        setattr(base, "__new__", partial(_create, limited))  # noqa: B010


def _create(limited: type, cls: type, *args: object, **options: object) -> object:
    return object.__new__(limited)


def raise_file_limit() -> None:
    """Let the server have as many open connections as the system allows it; many systems set a lower limit at first."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, OPEN_FILES)), hard))

"""The wire to one other rank: a socket that carries frames, and the token without which nobody gets one.

A frame is a head (what it is, the row of the transfer, bytes that follow, the moment at which they left) and bytes.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from ...errors import CollsimError

#: Frames: bytes of a transfer; it may come; it has arrived.
DATA, CLEAR, ARRIVED = 0, 1, 2
_HEAD = struct.Struct("<BIId")
_HELLO = struct.Struct("<32sI")
_BUFFER = 1 << 16  # bytes that the system may hold on a wire, unless said otherwise
_READ, _VIEWS = 1 << 18, 64  # bytes that are read, and parts that are handed over, at once
_MAX_FRAME = 1 << 18  # bytes of a transfer that one frame carries at most
HOST = "127.0.0.1"
_TOKEN_BYTES = 32
_WATCHED = 0.5  # s between two looks at what else may have happened
_MAX_STRANGERS = 64  # that have said nothing yet; the one that has been silent for longest goes first


class Frame(NamedTuple):
    """What came over a wire.

    Attributes:
        kind: `DATA` (bytes of a transfer), `CLEAR` (it may come) or `ARRIVED`.
        row: of the transfer.
        data: its bytes.
        left: s, the moment at which they left.
    """

    kind: int
    row: int
    data: bytes | memoryview
    left: float


class PeerWire:
    """One socket, never waited for. `waiting` are bytes that the system has not taken yet."""

    def __init__(self, peer: int, sock: socket.socket):
        """Take a connected socket.

        Args:
            peer: Number of the endpoint at the other end.
            sock: Connected; becomes non-blocking.
        """
        self.peer, self.sock = peer, sock
        sock.setblocking(False)
        self.waiting: deque[memoryview] = deque()
        self._come = bytearray()

    def fileno(self) -> int:
        return self.sock.fileno()

    @property
    def full(self) -> bool:
        """The system takes no more for now."""
        return bool(self.waiting)

    def send(self, frame: Frame) -> None:
        """Hand a frame over, or as much of it as the system takes; a copy of the rest waits for `flush`.

        Args:
            frame: Its data may be changed afterwards.
        """
        head = _HEAD.pack(frame.kind, frame.row, len(frame.data), frame.left)
        self.waiting.append(memoryview(head))
        if frame.data:
            self.waiting.append(memoryview(frame.data))
        self.flush()
        if self.waiting:
            self.waiting[-1] = memoryview(bytes(self.waiting[-1]))

    def flush(self) -> None:
        """Hand over what waits. Raises CollsimError where the other end has gone."""
        try:
            while self.waiting:
                self._drop(self._hand_over())
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise _describe_loss(self.peer) from error

    def _hand_over(self) -> int:
        """Bytes that the system took, of as many as it takes at once."""
        if hasattr(self.sock, "sendmsg"):  # not on every system
            return self.sock.sendmsg(list(islice(self.waiting, _VIEWS)))
        return self.sock.send(self.waiting[0])

    def _drop(self, taken: int) -> None:
        """So many bytes wait no longer."""
        while taken and taken >= len(self.waiting[0]):
            taken -= len(self.waiting.popleft())
        if taken:
            self.waiting[0] = self.waiting[0][taken:]

    def receive(self) -> list[Frame]:
        """What has come since. Raises CollsimError where the other end has gone, or says what no rank says."""
        try:
            data = self.sock.recv(_READ)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError as error:
            raise _describe_loss(self.peer) from error
        if not data:
            raise _describe_loss(self.peer)
        self._come += data
        return list(self._frames())

    def _frames(self) -> Iterator[Frame]:
        while len(self._come) >= _HEAD.size:
            kind, row, size, left = _HEAD.unpack_from(self._come)
            if kind > ARRIVED or size > _MAX_FRAME:
                raise CollsimError("what came from endpoint {peer} is no frame of a rank", peer=self.peer)
            end = _HEAD.size + size
            if len(self._come) < end:
                return
            with memoryview(self._come) as come:
                data = bytes(come[_HEAD.size : end])
            del self._come[:end]
            yield Frame(kind, row, data, left)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()


def _describe_loss(peer: int) -> CollsimError:
    return CollsimError("the connection to endpoint {peer} was closed", peer=peer)


def new_token() -> bytes:
    """What a rank shows to be let in; it reaches the processes over their stdin and stands nowhere else."""
    return secrets.token_bytes(_TOKEN_BYTES)


def open_listener(buffer: int = _BUFFER) -> socket.socket:
    """A socket that listens on this computer's own address alone.

    Args:
        buffer: Bytes that the system keeps for a connection before anybody reads.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    sock.bind((HOST, 0))
    sock.listen(64)
    return sock


def connect_rank(port: int, me: int, token: bytes, buffer: int = _BUFFER) -> socket.socket:
    """A socket to another rank, which knows us by the token.

    Args:
        port: Where the other rank listens.
        me: Number of this one.
        token: Of the run, which all of its processes know.
        buffer: Bytes that the system keeps.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    sock.connect((HOST, port))
    sock.sendall(_HELLO.pack(token, me))
    return _tune(sock, buffer)


def _tune(sock: socket.socket, buffer: int) -> socket.socket:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    return sock


def accept_ranks(
    listening: socket.socket,
    expected: set[int],
    token: bytes,
    seconds: float,
    buffer: int = _BUFFER,
    watch: Callable[[], None] = lambda: None,
) -> dict[int, socket.socket]:
    """The sockets of all that are expected.

    Whoever comes without the token, or a second time, is turned away; one that says nothing keeps nobody waiting.

    Args:
        listening: Of `open_listener`.
        expected: Numbers of endpoints.
        token: Of the run.
        seconds: Until it is given up.
        buffer: Bytes that the system keeps for each.
        watch: Called several times a second meanwhile; may raise.

    Raises:
        CollsimError: They have not all come in time.
    """
    sockets: dict[int, socket.socket] = {}
    strangers: dict[socket.socket, bytes] = {}
    until = time.perf_counter() + seconds
    try:
        while sockets.keys() != expected:
            rest = until - time.perf_counter()
            if rest <= 0:
                raise CollsimError("endpoints {missing} did not connect", missing=sorted(expected - sockets.keys()))
            watch()
            # select wakes at least every so often, so that `watch` can notice that a process has died.
            for sock in select.select([listening, *strangers], [], [], min(rest, _WATCHED))[0]:
                if sock.fileno() < 0:
                    continue  # shown out a moment ago
                if sock is listening:
                    strangers[_accept_stranger(listening)] = b""
                    # More callers than expected are strangers; the oldest goes, so that they cannot fill the table.
                    if len(strangers) > _MAX_STRANGERS:
                        _show_out(next(iter(strangers)), strangers)
                else:
                    _hear_stranger(sock, strangers, sockets, expected, token)
    finally:
        for sock in strangers:
            sock.close()
    return {who: _tune(sock, buffer) for who, sock in sockets.items()}


def _accept_stranger(listening: socket.socket) -> socket.socket:
    sock = listening.accept()[0]
    sock.setblocking(False)
    return sock


def _show_out(sock: socket.socket, strangers: dict[socket.socket, bytes]) -> None:
    del strangers[sock]
    sock.close()


def _hear_stranger(
    sock: socket.socket,
    strangers: dict[socket.socket, bytes],
    sockets: dict[int, socket.socket],
    expected: set[int],
    token: bytes,
) -> None:
    """What somebody says who is not known yet: one of ours, or shown out."""
    try:
        greeting = strangers[sock] + sock.recv(_HELLO.size - len(strangers[sock]))
    except OSError:
        greeting = b""
    if 0 < len(greeting) < _HELLO.size and len(greeting) > len(strangers[sock]):
        strangers[sock] = greeting
        return
    del strangers[sock]
    shown_token, who = _HELLO.unpack(greeting) if len(greeting) == _HELLO.size else (b"", -1)
    if hmac.compare_digest(shown_token, token) and who in expected - sockets.keys():
        sockets[who] = sock
    else:
        sock.close()

"""The other end of a ping-pong: an order on stdin names the pipe, and it sends back whatever comes over it."""

from __future__ import annotations

import os
import socket
import struct
import sys
from multiprocessing import shared_memory
from typing import Any

#: What goes first: over which pipe, bytes, and how often; a name of the shared memory follows, or a port and a token.
ORDER = struct.Struct("<BII64s")
PIPE, SOCKET, SHARED = 1, 2, 3


def read_bytes(fd: int, count: int) -> bytes:
    """Read a number of bytes, in as many pieces as they come.

    Args:
        fd: Of a pipe.
        count: Bytes.

    Raises:
        EOFError: The other end has gone.
    """
    data = bytearray()
    while len(data) < count:
        part = os.read(fd, count - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def write(fd: int, data: bytes | memoryview) -> None:
    """Write all bytes, in as many pieces as the pipe takes."""
    rest = memoryview(data)
    while len(rest):
        rest = rest[os.write(fd, rest) :]


def receive(sock: socket.socket, into: memoryview) -> None:
    """Fill a buffer from a socket.

    Args:
        sock: Connected, blocking.
        into: Its length is how much is read.

    Raises:
        EOFError: The other end has gone.
    """
    while len(into):
        count = sock.recv_into(into)
        if not count:
            raise EOFError
        into = into[count:]


def main() -> None:
    """Answer until stdin ends."""
    try:
        while True:
            kind, count, times, more = ORDER.unpack(read_bytes(0, ORDER.size))
            {PIPE: _answer_pipe, SOCKET: _answer_socket, SHARED: _answer_shared_memory}[kind](count, times, more)
    except (EOFError, OSError):
        sys.exit(0)


def _answer_pipe(count: int, times: int, more: bytes) -> None:
    for _ in range(times):
        write(1, read_bytes(0, count))


def _answer_socket(count: int, times: int, more: bytes) -> None:
    port, token = struct.unpack_from("<H32s", more)
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(token)
        data = memoryview(bytearray(count))
        for _ in range(times):
            receive(sock, data)
            sock.sendall(data)


def _answer_shared_memory(count: int, times: int, more: bytes) -> None:
    attach: Any = shared_memory.SharedMemory
    name = more.rstrip(b"\0").decode()
    block = attach(name, track=False) if sys.version_info >= (3, 13) else attach(name)
    for _ in range(times):
        read_bytes(0, 1)
        data = bytes(block.buf[:count])
        block.buf[count : 2 * count] = data
        write(1, b"!")
    block.close()

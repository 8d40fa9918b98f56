"""Limits of connections: heads, frames and connections of a real server, and what a client loses that exceeds them."""

import asyncio
import base64
import os
import socket
import struct
import threading
import time
from contextlib import contextmanager
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from collsim.app.server import connections
from collsim.app.server.connections import (
    CONNECTIONS_PER_PAGE,
    CONTROL_BURST,
    FRAMES_PER_MESSAGE,
    HEAD_BYTES,
    OPEN_FILES,
    PIECE,
    PIPELINED_REQUESTS,
    WAITING_MESSAGES,
    ConnectionCounter,
    install_limits,
    raise_file_limit,
)
from collsim.app.server.message_filter import LARGEST

FLOOD = 20 * 2**20
PING, PONG, BINARY, CONTINUATION = 9, 10, 2, 0


async def echo(scope, receive, send):
    """An app that answers a request with its path, and a message with its length."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        if scope["path"] in ("/flood", "/long flood"):
            await send({"type": "websocket.send", "bytes": bytes(FLOOD)})
        if scope["path"] == "/flood":
            return
        while (message := await receive())["type"] != "websocket.disconnect":
            if scope["path"] == "/deaf":
                await asyncio.Event().wait()
            await send({"type": "websocket.send", "bytes": str(len(message["bytes"])).encode()})
    elif scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        body = scope["path"].encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@contextmanager
def serve(**options):
    """The port of a server with limits."""
    with pytest.MonkeyPatch.context() as patch:
        for base in (HttpToolsProtocol, WebSocketsSansIOProtocol):
            patch.setattr(base, "__new__", base.__new__)  # as it was, when the test has ended
        install_limits(12)
        config = uvicorn.Config(echo, port=0, ws="websockets-sansio", lifespan="off", log_level="error", **options)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = server.force_exit = True
        thread.join(10)


@pytest.fixture
def port():
    """The port of a server with limits."""
    with serve() as port:
        yield port


@pytest.fixture
def count(monkeypatch):
    """Called with a protocol and a method of it: a list that has an entry for each of its calls from now on."""

    def count(protocol, method):
        calls, plain = [], getattr(protocol, method)

        def counted(self, *args):
            calls.append(method)
            return plain(self, *args)

        monkeypatch.setattr(protocol, method, counted)
        return calls

    return count


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def read(link):
    """What comes; nothing, where the server has cut the connection."""
    try:
        return link.recv(65536)
    except ConnectionError:
        return b""


def send(link, data):
    """Send as far as the server takes it."""
    try:
        link.sendall(data)
    except ConnectionError:
        return False
    return True


def request(path="/x", method="GET", body=b"", *headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def open_page(port, path="/page", early=b""):
    link = connect(port)
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13")
    send(link, request(path, "GET", b"", *upgrade) + early)
    assert b" 101 " in read(link)
    return link


def frame(kind, data, is_last=True):
    """A frame as a browser sends it (RFC 6455, 5.2), with a mask of noughts."""
    if len(data) < 126:
        length = bytes([0x80 | len(data)])
    elif len(data) < 2**16:
        length = b"\xfe" + struct.pack("!H", len(data))
    else:
        length = b"\xff" + struct.pack("!Q", len(data))
    return bytes([(0x80 if is_last else 0) | kind]) + length + bytes(4) + data


def is_cut(link, seconds=5.0):
    """Whether the server cuts the connection soon."""
    link.settimeout(seconds)
    try:
        while read(link):
            pass
    except TimeoutError:
        return False
    return True


def test_requests_are_answered_as_before_one_after_another_and_with_bodies(port):
    link = connect(port)
    for path, body in (("/a", b""), ("/b", b"x" * 3 * 2**20), ("/c", b"")):
        assert send(link, request(path, "POST", body))
        assert read(link).endswith(path.encode())
    for _ in range(3):  # heads that are longer together than one may be
        assert send(link, request("/d", "GET", b"", "A: " + "a" * (HEAD_BYTES // 2)))
        assert read(link).endswith(b"/d")


@pytest.mark.parametrize("kind", ["first line", "one header", "many headers", "second request"])
def test_a_head_has_so_many_bytes(port, kind):
    link = connect(port)
    if kind == "second request":
        send(link, request())
        assert b"200 OK" in read(link)
    start = b"GET /" if kind == "first line" else b"GET / HTTP/1.1\r\nHost: x\r\nA: "
    part = b"b\r\nA: " * 200 if kind == "many headers" else b"a" * 1000
    sent, send_more = 0, send(link, start)
    while send_more and sent < 8 * HEAD_BYTES:
        sent += len(part)
        send_more = send(link, part)
        time.sleep(0.001)
    assert sent < 4 * HEAD_BYTES
    assert is_cut(link)


def test_a_head_just_below_the_limit_is_taken(port):
    link = connect(port)
    assert send(link, request("/a", "GET", b"", "A: " + "a" * (HEAD_BYTES - 300)))
    assert b"200 OK" in read(link)


def test_a_head_that_does_not_come_is_not_waited_for(port, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    silent, slow, upload, second = (connect(port) for _ in range(4))
    page = open_page(port)
    send(slow, b"GET / HTTP")
    whole = request("/a", "POST", b"x" * 100)
    send(upload, whole[:-50])
    send(second, request())
    assert b"200 OK" in read(second)
    send(second, b"GET / HTTP")
    assert all(is_cut(link) for link in (silent, slow, second))
    send(upload, whole[-50:])
    assert b"200 OK" in read(upload), "a body may take its time"
    send(page, frame(BINARY, b"abc"))
    assert read(page).endswith(b"3"), "a page has sent its head"


def test_pipelined_requests_are_not_collected_without_end(port, count):
    """No more are read than fit into the piece after which the limit was checked."""
    requests = count(HttpToolsProtocol, "on_message_begin")
    link, one = connect(port), b"GET / HTTP/1.1\r\n\r\n"
    send(link, one * 20_000)
    assert is_cut(link)
    assert len(requests) <= PIECE // len(one) + PIPELINED_REQUESTS + 2


def test_what_a_page_sends_before_it_is_accepted_is_not_taken_for_a_request(port):
    link = open_page(port, "/page", frame(BINARY, b"x" * 100) * 200)
    send(link, frame(BINARY, b"abc"))
    assert read(link).endswith(b"3")


def test_messages_of_a_page_come_as_before_in_one_frame_or_in_several(port):
    link = open_page(port)
    for size in (0, 5, 300, 70_000, LARGEST):
        send(link, frame(BINARY, b"x" * size))
        assert read(link)[2:] == str(size).encode()
    parts = [frame(BINARY, b"x" * 1000, False), *[frame(CONTINUATION, b"x" * 1000, False)] * 100]
    send(link, b"".join(parts) + frame(CONTINUATION, b"", True))
    assert read(link)[2:] == b"101000"


def test_a_message_that_is_too_large_is_not_collected(port):
    link = open_page(port)
    send(link, frame(BINARY, b"x" * (LARGEST + 1)))
    assert is_cut(link)


@pytest.mark.parametrize(("kind", "answer"), [(PING, b"\x8a\x01x"), (PONG, b"")])
def test_so_many_control_frames_come_at_once(port, kind, answer):
    link = open_page(port)
    send(link, frame(kind, b"x") * CONTROL_BURST + frame(BINARY, b"abc"))
    answers = b""
    while not answers.endswith(b"3"):
        answers += read(link)
    assert answers.startswith(answer * CONTROL_BURST)
    send(link, frame(kind, b"x") * 100)
    assert is_cut(link)


def test_control_frames_have_a_pace(port, monkeypatch):
    monkeypatch.setattr(connections, "CONTROL_BURST", 2)
    link = open_page(port)
    for _ in range(6):
        send(link, frame(PING, b""))
        time.sleep(0.05)
    assert is_cut(link)


@pytest.mark.parametrize(
    ("method", "kind", "is_last", "most"),
    [
        ("handle_cont", CONTINUATION, False, FRAMES_PER_MESSAGE),
        ("handle_bytes", BINARY, True, WAITING_MESSAGES),
        ("handle_ping", PING, True, CONTROL_BURST),
    ],
)
def test_frames_are_not_collected_without_end(port, count, method, kind, is_last, most):
    """No more are read than fit into the piece after which the limit was checked, so that no flood stops the server."""
    frames, one = count(WebSocketsSansIOProtocol, method), frame(kind, b"", is_last)
    link = open_page(port, "/deaf")
    if kind == CONTINUATION:
        send(link, frame(BINARY, b"x", False))
    send(link, one * 40_000)
    assert is_cut(link)
    assert most < len(frames) <= most + PIECE // len(one) + 2


def test_a_page_that_answers_no_ping_is_cut_even_if_it_reads_nothing():
    with serve(ws_ping_interval=0.3, ws_ping_timeout=0.3) as port:
        page, silent, deaf = open_page(port), open_page(port), open_page(port, "/long%20flood")
        for _ in range(4):
            ping = read(page)
            assert ping[:2] == b"\x89\x04"
            send(page, frame(PONG, ping[2:]))
        send(page, frame(BINARY, b"abc"))
        assert read(page).endswith(b"3")
        assert is_cut(silent)
        assert receive_rest(deaf) < FLOOD


def transport(host):
    one = Mock()
    one.get_extra_info.return_value = (host, 50000)
    return one


def test_a_client_has_so_many_connections_and_this_computer_any_number():
    counter = ConnectionCounter()
    counter.most = 3
    phone = [transport("192.168.1.33") for _ in range(4)]
    assert [counter.add(one) for one in phone] == [True, True, True, False]
    assert counter.add(transport("192.168.1.34"))
    assert all(counter.add(transport("127.0.0.1")) for _ in range(10))
    assert [counter.add(transport(f"2001:db8::{k}")) for k in range(4)] == [True, True, True, False]
    for one in phone[2:]:
        counter.remove(one)
        counter.remove(one)  # a connection is lost once, whoever says so
    assert counter.add(transport("192.168.1.33"))


def test_connections_beyond_the_limit_are_cut_and_others_are_free_again_when_they_end(port, monkeypatch):
    monkeypatch.setattr(connections, "is_loopback", lambda host: False)
    monkeypatch.setattr(connections.COUNTER, "most", 3)
    links = [connect(port) for _ in range(2)]
    page = open_page(port)
    assert is_cut(connect(port))
    page.close()
    links[0].close()
    end = time.monotonic() + 5
    while connections.COUNTER._counts["127.0.0.1"] > 1:
        assert time.monotonic() < end
        time.sleep(0.01)
    link = connect(port)
    send(link, request())
    assert b"200 OK" in read(link)


def test_the_limit_of_connections_follows_that_of_pages(port):
    assert connections.COUNTER.most == 12 * CONNECTIONS_PER_PAGE


def test_a_page_that_does_not_read_is_cut_when_the_app_is_done_with_it(port, monkeypatch):
    monkeypatch.setattr(connections, "CLOSE_SECONDS", 0.2)
    link = open_page(port, "/flood")
    time.sleep(1.0)
    assert receive_rest(link) < FLOOD


def receive_rest(link):
    """Bytes that still come."""
    received = 0
    while data := read(link):
        received += len(data)
    return received


def test_the_server_may_open_as_many_files_as_it_needs_and_never_fewer_than_before(monkeypatch):
    resource = pytest.importorskip("resource")
    before = soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        raise_file_limit()
        most = min(hard, OPEN_FILES)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, hard)
        monkeypatch.setattr(connections, "OPEN_FILES", 100)
        raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

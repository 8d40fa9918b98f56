"""The websocket of a page: what reaches Streamlit of it, at what pace, and how it ends."""

import asyncio

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from collsim.app.server import page_connection
from collsim.app.server.page_connection import TOO_LARGE, UNRESPONSIVE, PageConnection

HEARTBEAT = BackMsg(app_heartbeat=True).SerializeToString()
CLEAR = BackMsg(clear_cache=True).SerializeToString()


def received(data):
    return {"type": "websocket.receive", "bytes": data}


GONE = {"type": "websocket.disconnect", "code": 1001}


async def read_all(scope, receive, send):
    """An app that reads messages until the page is closed."""
    scope["heard"] = []
    while (message := await receive())["type"] != "websocket.disconnect":
        scope["heard"].append(message["bytes"])
    scope["code"] = message["code"]


def serve(messages, app=read_all, send=None, pace=lambda: 0.0):
    """What an app heard of a page, and what the page was sent."""
    messages, sent, scope = [*messages], [], {}

    async def receive():
        return messages.pop(0) if messages else await asyncio.Event().wait()

    async def keep(message):
        sent.append(message)

    asyncio.run(PageConnection(receive, send or keep, pace).serve(app, scope))
    return scope, sent


def test_only_messages_of_pages_reach_the_app_and_each_counts():
    paces = []
    messages = [received(data) for data in (HEARTBEAT, CLEAR, HEARTBEAT)]
    scope, sent = serve([*messages, GONE], pace=lambda: paces.append(1) or 0.0)
    assert scope["heard"] == [HEARTBEAT] * 2
    assert len(paces) == 3
    assert sent == []


@pytest.mark.parametrize("message", [received(b"x" * 10**6), {"type": "websocket.receive", "text": "hello"}])
def test_a_message_that_is_too_large_or_none_ends_the_page(message):
    scope, sent = serve([received(HEARTBEAT), message, received(HEARTBEAT)])
    assert scope["heard"] == [HEARTBEAT]
    assert sent == [{"type": "websocket.close", "code": TOO_LARGE}]


@pytest.mark.parametrize("first", ["the client", "the app"])
def test_a_goodbye_to_a_page_that_has_gone_is_no_error(first):
    """Streamlit's loop closes, and its sender writes to, what the other side or they themselves have closed."""

    async def app(scope, receive, send):
        if first == "the client":
            await receive()
        await send({"type": "websocket.close", "code": 1000})
        await send({"type": "websocket.send", "bytes": b"late"})
        raise RuntimeError("WebSocket is not connected")

    _, sent = serve([GONE], app)
    assert [message["type"] for message in sent] == ([] if first == "the client" else ["websocket.close"])


@pytest.mark.parametrize("error", [RuntimeError, ConnectionError])
def test_what_cannot_be_sent_any_more_is_dropped_and_the_app_learns_of_it_when_it_reads(error):
    """It is no mistake of the app, which a client could else write into the server's log as often as it likes."""
    tried = []

    async def app(scope, receive, send):
        for _ in range(2):
            await send({"type": "websocket.send", "bytes": b"late"})
        scope["end"] = await receive()

    async def send(message):
        tried.append(message)
        raise error("Unexpected ASGI message 'websocket.send', after sending 'websocket.close'.")

    scope, _ = serve([GONE], app, send)
    assert len(tried) == 1
    assert scope["end"] == GONE


def test_a_mistake_of_the_app_in_an_open_page_is_an_error():
    async def app(scope, receive, send):
        raise RuntimeError("a mistake")

    with pytest.raises(RuntimeError, match="a mistake"):
        serve([], app)


def test_a_page_that_does_not_read_is_closed_even_while_the_app_waits_for_it(monkeypatch):
    monkeypatch.setattr(page_connection, "SEND_TIMEOUT", 0.05)

    async def app(scope, receive, send):
        sending = asyncio.ensure_future(send({"type": "websocket.send", "bytes": b"a page"}))
        await read_all(scope, receive, send)
        await sending

    async def never(message):
        await asyncio.Event().wait()

    scope, _ = serve([received(HEARTBEAT)], app, never)
    assert scope["heard"] == [HEARTBEAT]
    assert scope["code"] == UNRESPONSIVE

"""The Content-Security-Policy: on every response of the app, and it names nobody but this server."""

import asyncio

import pytest
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from collsim.app.server.content_policy import ContentPolicy, build_content_policy

HOST = "class.local:8501"


def send(response, **scope):
    """What comes of a request whose answer is this response."""
    messages = []

    async def store(message):
        messages.append(message)

    request = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", HOST.encode())], **scope}
    asyncio.run(ContentPolicy(response)(request, None, store))
    return messages


def read_policy(messages):
    policy = dict(messages[0]["headers"])[b"content-security-policy"].decode()
    return {kind: sources.split() for kind, _, sources in (part.partition(" ") for part in policy.split("; "))}


@pytest.mark.parametrize("response", [HTMLResponse("<p>page</p>"), Response(status_code=404)])
def test_every_response_lets_a_page_load_from_this_server_alone(response):
    policy = read_policy(send(response))
    outside = {source for sources in policy.values() for source in sources} - {"'self'", "'none'", "data:", "blob:"}
    assert outside == {f"ws://{HOST}", f"wss://{HOST}", "'unsafe-inline'", "'wasm-unsafe-eval'"}
    for kind in ("img-src", "font-src", "style-src", "script-src", "connect-src", "frame-src"):
        assert policy[kind], kind
    assert policy["default-src"] == ["'self'"], "for kinds that are not named"


def test_a_response_that_has_a_stricter_policy_keeps_it():
    response = PlainTextResponse("", headers={"Content-Security-Policy": "default-src 'none'"})
    assert read_policy(send(response)) == {"default-src": ["'none'"]}


@pytest.mark.parametrize("host", ["", "a b", "x; img-src *", "x\r\nSet-Cookie: a", "é.test", "x,y"])
def test_a_host_that_no_browser_writes_is_not_put_into_the_policy(host):
    assert "ws:" not in build_content_policy(host)
    assert build_content_policy(host) == build_content_policy("")


@pytest.mark.parametrize("host", ["localhost:8501", "[::1]:8501", "192.168.1.5", "class-room.local:80"])
def test_the_websocket_of_the_server_is_named(host):
    assert f"ws://{host} wss://{host}" in build_content_policy(host)


def test_the_connection_of_a_page_passes_as_it_is():
    async def accept(scope, receive, send):
        await send({"type": "websocket.accept", "headers": []})

    assert send(accept, type="websocket") == [{"type": "websocket.accept", "headers": []}]

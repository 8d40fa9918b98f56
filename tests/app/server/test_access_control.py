"""Access control: who comes in to the app, by which address, with which code; and nothing of the app runs before."""

import asyncio
import re
import time
from urllib.parse import urlencode

import pytest
from catalogs import pair_texts
from streamlit.proto.BackMsg_pb2 import BackMsg

from collsim.app.server import access_control
from collsim.app.server.access_control import AccessControl
from collsim.app.server.clients import ClientLimits, Clients
from collsim.app.server.join_code import JoinCode

TEXTS = pair_texts("classroom")
ROOM = "192.168.1.20:8501"
PHONE = "192.168.1.33"


class Behind:
    """The app behind access control: notes what reaches it, takes all messages of a page and ends."""

    def __init__(self):
        self.reached, self.messages, self.headers = [], [], []

    async def __call__(self, scope, receive, send):
        self.reached.append(scope["path"])
        self.headers.append(scope["headers"])
        if scope["type"] == "websocket":
            while (message := await receive())["type"] != "websocket.disconnect":
                self.messages += [message] if message["type"] == "websocket.receive" else []
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"the app"})


def knocked(
    guarded_server, client, path="/", kind="http", method="GET", headers=(), messages=(), version="1.1", **query
):
    """One request: its status (403 for a page's connection that is refused), headers and body."""
    given = {"host": ROOM, "accept": "text/html", **dict(headers)}
    scope = {
        "type": kind,
        "http_version": version,
        "method": method,
        "path": path,
        "query_string": urlencode(query).encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
        "client": (client, 50000),
    }
    come = [{"type": "websocket.connect"}] if kind == "websocket" else []
    come += [*messages, {"type": f"{kind}.disconnect"}]
    sent = []

    async def receive():
        return come.pop(0)

    async def send(message):
        sent.append(message)

    asyncio.run(guarded_server(scope, receive, send))
    if kind == "websocket":
        return 403 if sent and sent[0]["type"] == "websocket.close" else 101, {}, ""
    body = b"".join(message.get("body", b"") for message in sent).decode()
    return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}, body


@pytest.fixture
def behind():
    return Behind()


@pytest.fixture
def guarded_server(behind):
    """A server that is open to a room."""
    return AccessControl(behind, JoinCode("bcdfgh"), Clients())


@pytest.fixture
def shut(behind):
    """A server for its own computer only."""
    return AccessControl(behind, None, Clients())


def join_class(guarded_server, client=PHONE):
    headers = knocked(guarded_server, client, join="BCD-FGH")[1]
    return {"cookie": headers["set-cookie"].split(";")[0]}


# ---- open to a room ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/write", "/_stcore/host-config", "/static/js/index.js", "/media/x", "/_stcore/stream", "/x.html"]
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_nothing_of_the_app_is_reached_before_the_code_is_given(guarded_server, behind, path, kind, accept):
    status, _, body = knocked(guarded_server, PHONE, path, kind, headers={"accept": accept})
    assert status in (401, 403)
    assert "the app" not in body
    assert behind.reached == []


def test_only_whether_the_server_runs_can_be_asked_by_everybody(guarded_server, behind):
    assert knocked(guarded_server, PHONE, "/_stcore/health")[0] == 200
    for path in ("/x/_stcore/health", "/_stcore/upload_file/_stcore/health", "/_stcore/health/"):
        assert knocked(guarded_server, PHONE, path)[0] == 401
    assert knocked(guarded_server, PHONE, "/_stcore/health", "websocket")[0] == 403
    assert behind.reached == ["/_stcore/health"]
    below = AccessControl(behind, JoinCode("bcdfgh"), Clients(), base="/sim")
    assert knocked(below, PHONE, "/sim/_stcore/health")[0] == 200
    assert knocked(below, PHONE, "/_stcore/health")[0] == 401


def test_the_code_in_an_address_opens_it_and_is_taken_out_of_it(guarded_server, behind):
    status, headers, _ = knocked(guarded_server, PHONE, "/class", **{"class": "abcd", "join": "bcdfgh", "lang": "zh"})
    assert (status, headers["location"]) == (303, "/class?class=abcd&lang=zh")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "bcdfgh" not in cookie
    assert knocked(guarded_server, PHONE, headers={"cookie": cookie.split(";")[0]})[2] == "the app"
    assert (
        knocked(guarded_server, PHONE, "/_stcore/stream", "websocket", headers={"cookie": cookie.split(";")[0]})[0]
        == 101
    )
    assert behind.reached == ["/", "/_stcore/stream"]


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\evil.example", "///evil.example"])
def test_the_way_on_after_the_code_never_leads_to_another_host(guarded_server, path):
    assert re.match(r"/[^/\\]", knocked(guarded_server, PHONE, path, join="bcdfgh")[1]["location"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_wrong_code_is_told_and_after_many_none_is_tried(behind, language):
    control = AccessControl(behind, JoinCode("bcdfgh"), Clients(ClientLimits(wrong_codes=3)))
    headers = {"accept-language": f"{language}-CN,de;q=0.5"}
    for _ in range(3):
        status, _, body = knocked(control, PHONE, join="bcdfgx", headers=headers)
        assert status == 401
        assert TEXTS["wrong"][language == "zh"] in body
    status, _, body = knocked(control, PHONE, join="bcdfgh", headers=headers)
    assert status == 429
    assert TEXTS["often"][language == "zh"] in body
    assert knocked(control, "192.168.1.34", join="bcdfgh")[0] == 303, "the tries of one are not those of another"


def test_wrong_codes_in_one_browser_do_not_keep_the_right_code_of_another_out_behind_the_same_address(guarded_server):
    wrong = knocked(guarded_server, PHONE, join="bcdfgx")[1]
    assert "HttpOnly" in wrong["set-cookie"]
    browser = {"cookie": wrong["set-cookie"].split(";")[0]}
    answers = [knocked(guarded_server, PHONE, join="bcdfgx", headers=browser)[0] for _ in range(25)]
    assert answers == [401] * 20 + [429] * 5
    assert knocked(guarded_server, PHONE, join="bcdfgh", headers=browser)[0] == 429, "it may not try for a while"
    assert knocked(guarded_server, PHONE, join="bcdfgh")[0] == 303


def test_a_forged_cookie_gives_a_browser_no_tries_of_its_own(guarded_server):
    for k in range(120):
        assert (
            knocked(guarded_server, PHONE, join="bcdfgx", headers={"cookie": f"collsim_browser_8501={k}.{k}"})[0] == 401
        )
    assert knocked(guarded_server, PHONE, join="bcdfgh")[0] == 429


def test_what_an_address_says_is_kept_over_the_code_and_never_becomes_markup(guarded_server):
    body = knocked(guarded_server, PHONE, **{"class": '"><script>alert(1)</script>', "<b>": "x"})[2]
    assert "<script>" not in body
    assert "<b>" not in body
    assert 'name="class" value="&quot;&gt;&lt;script&gt;' in body


def test_whoever_sits_at_the_computer_needs_no_code_but_what_a_proxy_on_it_forwards_does(guarded_server):
    here = {"host": "localhost:8501"}
    assert knocked(guarded_server, "127.0.0.1", headers=here)[2] == "the app"
    assert knocked(guarded_server, "::1", headers={"host": "[::1]:8501"})[2] == "the app"
    assert knocked(guarded_server, "127.0.0.1", headers={"host": "rebound.example"})[0] == 401
    assert knocked(guarded_server, PHONE, headers=here)[0] == 401, "a name is easily said"


PROXIES = {
    "nginx": {"x-real-ip": PHONE, "x-forwarded-for": PHONE},
    "RFC 7239": {"forwarded": f"for={PHONE}"},
    "RFC 9110": {"via": "1.1 proxy"},
    "Cloudflare": {"cf-connecting-ip": PHONE},
    "Akamai": {"true-client-ip": PHONE},
    "Azure": {"x-azure-clientip": PHONE},
    "Google": {"x-cloud-trace-context": "105445aa7843bc8bf206b12000100000"},
    "Amazon": {"x-amzn-trace-id": "Root=1"},
    "Envoy": {"x-envoy-external-address": PHONE},
    "Fastly": {"fastly-client-ip": PHONE},
    "Fly": {"fly-client-ip": PHONE},
    "a header in capitals": {"X-Forwarded-Proto": "https"},
    "no more than a scheme": {"x-forwarded-proto": "https"},
    "an empty header": {"x-forwarded-for": ""},
}


@pytest.mark.parametrize("proxy", PROXIES)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_any_header_of_a_proxy_makes_a_request_one_of_the_network(guarded_server, shut, behind, proxy, kind):
    headers = {"host": "localhost:8501", **PROXIES[proxy]}
    for server in (guarded_server, shut):
        assert knocked(server, "127.0.0.1", "/_stcore/stream", kind, headers=headers)[0] in (401, 403)
    assert behind.reached == []


def test_a_request_in_http_1_0_comes_from_a_proxy(shut, behind):
    assert knocked(shut, "127.0.0.1", headers={"host": "localhost"}, version="1.0")[0] == 403
    assert behind.reached == []


def test_the_header_of_an_upload_is_no_header_of_a_proxy(shut):
    headers = {"host": "localhost", "x-xsrftoken": "a"}
    assert knocked(shut, "127.0.0.1", "/_stcore/upload_file/a/b", method="PUT", headers=headers)[0] == 200


@pytest.mark.parametrize(
    ("peer", "headers", "client"),
    [
        ("127.0.0.1", {"host": "localhost"}, ""),
        ("::ffff:127.0.0.1", {"host": "localhost"}, ""),
        (PHONE, {}, PHONE),
        ("127.0.0.1", {"host": "class.example", "x-forwarded-for": "203.0.113.9"}, "127.0.0.1"),
    ],
)
def test_the_app_is_told_which_client_a_page_belongs_to_and_nobody_can_forge_it(
    guarded_server, behind, peer, headers, client
):
    host = headers.get("host", ROOM)
    cookie = guarded_server.join_code.members.issue()
    port = host.partition(":")[2] or "80"
    forged = {**headers, "X-Collsim-Client": "", "cookie": f"collsim_join_{port}={cookie}"}
    if peer != PHONE:
        del forged["X-Collsim-Client"]
    knocked(guarded_server, peer, "/_stcore/stream", "websocket", headers=forged)
    (names,) = behind.headers
    assert [value for name, value in names if name == b"x-collsim-client"] == [client.encode()]


def test_a_forged_or_foreign_cookie_does_not_open_it(guarded_server):
    name = join_class(guarded_server)["cookie"].split("=")[0]
    for value in ("", "x.y", "a" * 5000, JoinCode("bcdfgh").members.issue(), '";', "\x00"):
        assert knocked(guarded_server, PHONE, headers={"cookie": f"{name}={value}"})[0] == 401


def test_a_page_of_another_site_reaches_nothing_even_with_the_cookie(guarded_server, behind):
    cookie = join_class(guarded_server)
    for origin in ("http://evil.example", "null", f"http://{ROOM}.evil.example", "http://192.168.1.20:9999"):
        for kind in ("http", "websocket"):
            assert (
                knocked(guarded_server, PHONE, "/_stcore/stream", kind, headers={**cookie, "origin": origin})[0] == 403
            )
    assert behind.reached == []
    assert knocked(guarded_server, PHONE, "/x", headers={**cookie, "origin": f"http://{ROOM}"})[0] == 200


@pytest.mark.parametrize("headers", [{"host": "a:b:c"}, {"host": "[::1"}, {"host": ""}, {"origin": "http://[x"}])
def test_a_request_that_no_browser_sends_is_refused_without_a_fault(guarded_server, behind, headers):
    assert 400 <= knocked(guarded_server, PHONE, headers=headers)[0] < 500
    assert behind.reached == []


# ---- limits ------------------------------------------------------------------------------------------------------


def test_a_client_with_all_its_pages_open_gets_no_more_and_is_told(behind, monkeypatch):
    monkeypatch.setattr(access_control, "REFUSAL_DELAY", 0.01)
    clients = Clients(ClientLimits(pages=2))
    control = AccessControl(behind, JoinCode("bcdfgh"), clients)
    cookie = join_class(control)
    assert clients.open_page(PHONE)
    assert clients.open_page(PHONE)
    assert knocked(control, PHONE, "/_stcore/stream", "websocket", headers=cookie)[0] == 403
    status, _, body = knocked(control, PHONE, headers=cookie)
    assert (status, TEXTS["full"][0] in body) == (429, True)
    assert behind.reached == []
    clients.close_page(PHONE)
    assert knocked(control, PHONE, "/_stcore/stream", "websocket", headers=cookie)[0] == 101
    assert clients.pages == 1, "a page that ended is not counted any more"


def test_a_page_that_may_not_open_is_told_after_a_while_and_of_many_only_some_are_waited_for(behind, monkeypatch):
    monkeypatch.setattr(access_control, "REFUSAL_DELAY", 0.2)
    monkeypatch.setattr(access_control, "MAX_DELAYED", 3)

    async def run():
        told, began = [], time.monotonic()
        control = AccessControl(behind, JoinCode("bcdfgh"), Clients(ClientLimits(pages=1)))
        assert control.clients.open_page(PHONE)

        async def page():
            async def receive():
                return {"type": "websocket.connect"}

            async def send(message):
                told.append((message["type"], time.monotonic() - began > 0.15))

            await control._serve_page(PHONE, {"type": "websocket", "path": "/"}, receive, send)

        await asyncio.gather(*(page() for _ in range(5)))
        return told, control._delayed

    told, refused = asyncio.run(run())
    assert told == [("websocket.close", late) for late in (False, False, True, True, True)]
    assert not refused


def test_messages_beyond_the_pace_are_late_and_none_is_lost(behind, monkeypatch):
    delays = []

    async def sleep(seconds):
        delays.append(seconds)

    monkeypatch.setattr("collsim.app.server.page_connection.asyncio.sleep", sleep)
    limits = ClientLimits(pages=1, messages_per_page=0.5, messages_at_once_per_page=3)
    control = AccessControl(behind, JoinCode("bcdfgh"), Clients(limits, lambda: 0.0))
    messages = [{"type": "websocket.receive", "bytes": BackMsg(app_heartbeat=True).SerializeToString()}] * 5
    cookie = join_class(control)
    delays.clear()
    knocked(control, PHONE, "/_stcore/stream", "websocket", headers=cookie, messages=messages)
    assert delays == pytest.approx([0, 0, 0, 2, 4])
    assert behind.messages == messages


def test_requests_beyond_the_pace_are_late_and_far_beyond_it_refused_with_the_code_or_without(behind, monkeypatch):
    delays = []

    async def sleep(seconds):
        delays.append(seconds)

    monkeypatch.setattr("collsim.app.server.access_control.asyncio.sleep", sleep)
    limits = ClientLimits(pages=1, requests_per_page=2.0, requests_at_once_per_page=3)
    control = AccessControl(behind, JoinCode("bcdfgh"), Clients(limits, lambda: 0.0))
    cookie = join_class(control)
    answers = [knocked(control, PHONE, "/x", headers=cookie)[0] for _ in range(40)]
    assert answers == [200] * 32 + [429] * 8
    assert delays[:5] == pytest.approx([0, 0, 0, 0.5, 1.0])
    assert max(delays) == pytest.approx(15.0)
    assert knocked(control, PHONE, join="bcdfgx")[0] == 429
    assert knocked(control, "192.168.1.34", join="bcdfgh")[0] == 303, "nobody else waits"
    assert knocked(control, "127.0.0.1", headers={"host": "localhost"})[0] == 200


def test_what_no_page_sends_reaches_the_app_from_nowhere_not_from_this_computer_either(guarded_server, shut, behind):
    messages = [{"type": "websocket.receive", "bytes": BackMsg(clear_cache=True).SerializeToString()}]
    knocked(
        guarded_server, PHONE, "/_stcore/stream", "websocket", headers=join_class(guarded_server), messages=messages
    )
    for server in (guarded_server, shut):
        headers = {"host": "localhost"}
        assert (
            knocked(server, "127.0.0.1", "/_stcore/stream", "websocket", headers=headers, messages=messages)[0] == 101
        )
    assert len(behind.reached) == 3
    assert behind.messages == []


def test_uploads_beyond_what_a_client_may_have_are_refused_before_they_are_read(behind):
    limits = ClientLimits(upload_bytes=100_000)
    control = AccessControl(behind, JoinCode("bcdfgh"), Clients(limits))
    cookie = join_class(control)

    def put(length, path="/_stcore/upload_file/session/a"):
        headers = {**cookie, **({} if length is None else {"content-length": length})}
        return knocked(control, PHONE, path, method="PUT", headers=headers)[0]

    assert [put(length) for length in ("100001", None, "-1", "9" * 400, "1e3")] == [413] * 5
    assert behind.reached == []
    assert [put("90000") for _ in range(3)] == [200] * 3, "nothing is stored of it"
    assert put(None, "/x/_stcore/upload_file/session/a") == 200, "no path of an upload"


# ---- for this computer only --------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501", "LOCALHOST", "127.1.2.3"])
def test_a_server_for_its_own_computer_answers_to_its_names(shut, host):
    assert knocked(shut, "127.0.0.1", headers={"host": host, "origin": f"http://{host}"})[2] == "the app"


@pytest.mark.parametrize(
    ("client", "headers"),
    [
        ("127.0.0.1", {"host": "rebound.example:8501"}),
        ("127.0.0.1", {"host": "localhost.evil.example"}),
        ("127.0.0.1", {"host": "localhost", "x-forwarded-host": "app.example"}),
        ("127.0.0.1", {"host": "localhost", "x-forwarded-for": "203.0.113.9"}),
        (PHONE, {"host": "localhost"}),
    ],
)
def test_it_refuses_rebound_names_proxies_and_others_and_says_how_to_open_it(shut, behind, client, headers):
    status, _, body = knocked(shut, client, headers=headers)
    assert status == 403
    assert "collsim app --class" in body
    assert knocked(shut, client, "/_stcore/stream", "websocket", headers=headers)[0] == 403
    assert behind.reached == []


def test_every_text_of_access_control_is_in_both_languages():
    for key, (english, chinese) in TEXTS.items():
        assert english.isascii(), key
        assert re.search(r"[\u4e00-\u9fff]", chinese), key

"""What the layer before Streamlit makes of what it serves: compressed files, and the first page with its picture."""

import asyncio
import gzip
import json
import re

import pytest
from starlette.responses import StreamingResponse

from collsim.app.entry import first_frame
from collsim.app.server import page_delivery
from collsim.app.server.page_delivery import PageDelivery
from collsim.viz.hosts.bundle import read_bundle

PAGE = b"<html><body><div id=root></div></body></html>"
SCRIPT = b"export const one = 1;\n" * 200


class Streamlit:
    """Two files and a page, and how often each was asked for."""

    def __init__(self):
        self.asked = []

    async def __call__(self, scope, receive, send):
        self.asked.append((scope["path"], dict(scope["headers"])))
        body, kind = (SCRIPT, b"text/javascript") if scope["path"].endswith(".js") else (PAGE, b"text/html")
        known = scope["path"] in ("/", "/static/js/a.js")
        headers = [
            (b"content-type", kind),
            (b"cache-control", b"immutable"),
            (b"etag", b"1"),
            (b"content-length", b"9"),
        ]
        await send({"type": "http.response.start", "status": 200 if known else 404, "headers": headers})
        await send({"type": "http.response.body", "body": body[:10], "more_body": True})
        await send({"type": "http.response.body", "body": body[10:]})


def got(layer, path, query=b"", receive=None, **headers):
    """Status, headers and body of an answer."""
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query}
    scope["headers"] = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    said = []

    async def send(message):
        said.append(message)

    asyncio.run(layer(scope, receive, send))
    return said[0]["status"], dict(said[0]["headers"]), b"".join(message["body"] for message in said[1:])


@pytest.fixture
def frames(monkeypatch):
    """Frames as they would be, in both languages."""
    monkeypatch.setattr(first_frame, "_FRAMES", {"en": "<i>frame</i>", "zh": "<i>画面</i>"})


def test_a_script_goes_compressed_and_is_compressed_once():
    behind = Streamlit()
    layer = PageDelivery(behind, build_first_frame=first_frame.build_first_frame)
    for _ in range(2):
        status, headers, body = got(layer, "/static/js/a.js", accept_encoding="gzip, br")
        assert (status, gzip.decompress(body)) == (200, SCRIPT)
        assert headers[b"content-encoding"] == b"gzip"
        assert headers[b"cache-control"] == b"immutable"
        assert headers[b"content-length"] == str(len(body)).encode()
        assert b"etag" not in headers
    assert len(behind.asked) == 1
    assert len(body) < len(SCRIPT) / 10


@pytest.mark.parametrize("headers", [{}, {"accept_encoding": "br"}, {"accept_encoding": "gzip", "range": "bytes=0-3"}])
def test_who_cannot_take_gzip_gets_the_file_as_it_is(headers):
    assert (
        got(PageDelivery(Streamlit(), build_first_frame=first_frame.build_first_frame), "/static/js/a.js", **headers)[2]
        == SCRIPT
    )


def test_a_browser_that_goes_leaves_the_others_a_whole_file():
    """Starlette ends an answer where it is, once it hears that nobody waits for it."""

    async def parts():
        for at in range(0, len(SCRIPT), 1000):
            await asyncio.sleep(0)
            yield SCRIPT[at : at + 1000]

    async def behind(scope, receive, send):
        await StreamingResponse(parts(), media_type="text/javascript")(scope, receive, send)

    async def gone():
        return {"type": "http.disconnect"}

    layer = PageDelivery(behind)
    for receive in (gone, None):
        assert gzip.decompress(got(layer, "/static/js/a.js", receive=receive, accept_encoding="gzip")[2]) == SCRIPT


def test_a_file_that_is_not_there_is_not_kept():
    behind = Streamlit()
    layer = PageDelivery(behind, build_first_frame=first_frame.build_first_frame)
    assert [got(layer, "/static/js/no.js", accept_encoding="gzip")[0] for _ in range(2)] == [404, 404]
    assert len(behind.asked) == 2


def test_the_first_page_carries_its_picture_even_where_the_browser_has_the_page(frames):
    behind = Streamlit()
    status, headers, body = got(
        PageDelivery(behind, build_first_frame=first_frame.build_first_frame),
        "/",
        accept="text/html",
        if_none_match="1",
    )
    assert status == 200
    assert body == PAGE.replace(b"</body>", b"<i>frame</i></body>")
    assert headers[b"content-length"] == str(len(body)).encode()
    assert b"if-none-match" not in behind.asked[0][1]


@pytest.mark.parametrize(("query", "asks"), [(b"lang=zh", "en"), (b"", "zh-CN,zh;q=0.9")])
def test_the_picture_is_in_the_language_of_the_address_or_the_browser(frames, query, asks):
    assert (
        "画面".encode()
        in got(
            PageDelivery(Streamlit(), build_first_frame=first_frame.build_first_frame),
            "/",
            query,
            accept="text/html",
            accept_language=asks,
        )[2]
    )


@pytest.mark.parametrize(
    ("path", "query", "accept"), [("/", b"ranks=4", "text/html"), ("/race", b"", "text/html"), ("/", b"", "*/*")]
)
def test_other_pages_and_other_runs_come_as_they_are(frames, path, query, accept):
    assert (
        got(PageDelivery(Streamlit(), build_first_frame=first_frame.build_first_frame), path, query, accept=accept)[2]
        == PAGE
    )


def test_the_frame_is_the_run_that_the_first_page_opens_with(monkeypatch):
    from collsim.app.scenario.choice import Choice
    from collsim.app.scenario.simple_run import run_simple, use_all_channels

    monkeypatch.setattr(first_frame, "_FRAMES", {})
    first_frame.make()
    shown = run_simple(use_all_channels(Choice()))
    for language, frame in first_frame._FRAMES.items():
        run = re.search(r'id="collsim-first-run">(.*?)</script>', frame, re.DOTALL)
        said = json.loads(run[1])
        assert said["language"] == language
        assert [one["time"] for one in said["runs"]] == [one.time for one in shown.runs]
    assert set(first_frame._FRAMES) == {"en", "zh"}


def load_component(name):
    """The path of a component's bundle, and what its module takes from it."""
    return re.search(
        r'new URL\("([^"]+)", location.origin\)\)\)\.default(\S*);', page_delivery.write_loader(name)
    ).groups()


@pytest.mark.parametrize("name", sorted({*page_delivery._PICTURES, *page_delivery._NAMES} - {"pictures"}))
def test_the_module_of_a_component_is_a_file_that_a_browser_keeps(name):
    behind = Streamlit()
    layer = PageDelivery(behind, "/lab")
    path, part = load_component(name)
    status, headers, body = got(layer, f"/lab{path}", accept_encoding="gzip")
    text = gzip.decompress(body).decode()
    assert (status, headers[b"content-encoding"]) == (200, b"gzip")
    assert b"immutable" in headers[b"cache-control"]
    assert got(layer, f"/lab{path}")[2].decode() == text == read_bundle("pictures" if part else name)
    assert behind.asked == []
    assert re.search(rf"[{{,]{name}[:,}}]", text.rpartition("export")[0][-400:]) if part else not part
    got(layer, f"/lab/bundles/{name}.0123456789abcdef.js")
    assert len(behind.asked) == 1, "an older text has another path"


def test_streamlit_does_not_take_the_module_of_a_component_for_the_name_of_a_file():
    assert "\n" in page_delivery.write_loader("player").strip()


def test_the_first_page_goes_compressed(frames):
    layer = PageDelivery(Streamlit(), build_first_frame=first_frame.build_first_frame)
    _, headers, body = got(layer, "/", accept="text/html", accept_encoding="gzip")
    assert headers[b"content-encoding"] == b"gzip"
    assert b"<i>frame</i>" in gzip.decompress(body)

"""Whatever a text makes of a page, the browser asks no other host for it."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from visits import REFUSALS, STILL

pytestmark = pytest.mark.browser

RUN = "?collective=allreduce&algorithm=allreduce_ring&network=switch&ranks=4&bandwidth=25GB/s&alpha=1us&nbytes=64MiB"
#: All ways in which markup or a script asks for something; `$` is the other host.
INJECTION = """(host) => {
  const add = (name, attributes) => {
    const element = Object.assign(document.createElement(name), attributes);
    document.body.append(element);
  };
  add("img", { src: `${host}/image` });
  add("link", { rel: "stylesheet", href: `${host}/style` });
  add("style", { textContent: `@import "${host}/import"; @font-face { font-family: x; src: url(${host}/font) }
    .x { font-family: x; background: url(${host}/background) }` });
  add("p", { className: "x", textContent: "x" });
  add("iframe", { src: `${host}/frame` });
  add("script", { src: `${host}/script` });
  add("video", { src: `${host}/video` });
  add("object", { data: `${host}/object` });
  fetch(`${host}/fetch`, { mode: "no-cors" }).catch(() => 0);
  try { new WebSocket(`${host.replace("http", "ws")}/socket`) } catch { /* refused at once */ }
  navigator.sendBeacon(`${host}/beacon`);
}"""
WAYS = {"image", "style", "font", "background", "frame", "script", "video", "object", "fetch", "socket", "beacon"}


@pytest.fixture
def other_host():
    """A server on another port, which is another host for a policy; it remembers who asked for what."""
    paths = set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            paths.add(self.path.lstrip("/"))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.paths, server.url = paths, f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()


def test_content_that_is_injected_is_asked_of_no_other_host(page, app_url, other_host):
    page.goto(f"{app_url}/class")
    page.get_by_role("textbox").first.wait_for()
    page.evaluate(INJECTION, other_host.url)
    page.wait_for_timeout(1500)
    assert other_host.paths == set()
    refusals = page.evaluate("window.refusals")
    assert WAYS - {"font", "frame", "object"} <= {refusal.rpartition("/")[2] for refusal in refusals}
    assert {"frame-src", "object-src"} <= {refusal.partition(" ")[0] for refusal in refusals}


def test_without_a_policy_the_same_injection_asks_the_other_host(tab, other_host):
    tab.goto(f"{other_host.url}/plain")
    tab.evaluate(INJECTION, other_host.url)
    tab.wait_for_timeout(1500)
    assert other_host.paths >= WAYS | {"import"}


@pytest.mark.slow
def test_a_teachers_question_shows_its_text_and_asks_no_host_for_an_image_in_it(page, app_url, chromium):
    text = "![x](http://outside.test/a.png) **b** :smile: <img src=http://outside.test/b.png>"
    page.goto(f"{app_url}/{RUN}&ask=1")
    page.get_by_role("button", name="Ask a class").click()
    code = re.search(r"\?class=([a-z]{4})$", page.locator(".cs-join b").inner_text())[1]
    page.get_by_role("button", name="Your own question").click()
    page.locator(".st-key-own_question_text input").fill(text)
    page.locator(".st-key-own_question_lines textarea").fill(f"*1 {text}\n2 {text}")
    page.locator(".st-key-own_question_ask button").click()
    page.locator(".cs-ask b", has_text="outside.test").wait_for()

    context = chromium.new_context(viewport={"width": 400, "height": 800}, locale="en-US")
    context.add_init_script(STILL)
    context.add_init_script(REFUSALS)
    student, outside = context.new_page(), []
    student.on("request", lambda request: outside.append(request.url) if "outside.test" in request.url else None)
    student.goto(f"{app_url}/class?class={code}")
    choices = student.locator(".st-key-choices button p")
    choices.nth(1).wait_for(timeout=90_000)
    shown = [choice.replace("\N{WORD JOINER}", "") for choice in choices.all_inner_texts()]
    assert shown == [f"A · 1 {text}", f"B · 2 {text}"]
    page.get_by_role("button", name="Reveal").click()
    student.locator(".cs-choice.right").wait_for(timeout=90_000)
    assert student.locator(".cs-choice.right b").inner_text() == f"1 {text}"
    for browser in (page, student):
        assert browser.evaluate("window.refusals") == []
        assert browser.locator("img[src*=outside]").count() == 0
    assert outside == []
    assert page.off_site == []
    context.close()

"""A room joins: the teacher at the computer, a phone that comes by its real address and gives the code once."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from sampling import sample
from visits import STILL

from collsim.app.server.addresses import list_addresses
from collsim.app.server.join_code import render_qr_svg
from collsim.locale import LANGUAGES, translate

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SLOW = 120_000
RUN = "?collective=allreduce&algorithm=allreduce_ring&network=switch&ranks=4&bandwidth=25GB/s&alpha=1us&nbytes=64MiB"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """The port of an app that is open to a room; it ends with a signal to the command, also while pages are open."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("room") / "log.txt"
    with log.open("w") as out:
        command = [sys.executable, "-m", "collsim", "app", "--class", "--headless", f"--port={port}"]
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        try:
            end = time.monotonic() + 90
            while not _answers(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.1)
            yield port
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        finally:
            process.kill()
            process.wait()


def _answers(port):
    try:
        return urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).status == 200
    except OSError:
        return False


@pytest.mark.skipif(not list_addresses(), reason="this machine has no address but its own loopback")
@pytest.mark.parametrize(("locale", "language"), sample([("en-US", 0), ("zh-CN", 1)], 1))
@pytest.mark.slow
def test_a_phone_joins_with_the_code_on_the_teachers_page(chromium, room, locale, language):
    contexts = [chromium.new_context(locale=locale, viewport={"width": w, "height": 900}) for w in (1280, 400)]
    for context in contexts:
        context.add_init_script(STILL)
        context.set_default_timeout(SLOW)
    teacher, phone = (context.new_page() for context in contexts)
    teacher.goto(f"http://localhost:{room}/{RUN}&ask=1")
    teacher.locator(".st-key-ask_class button").first.click()
    shown = teacher.locator(".cs-join b").first.inner_text()
    code = teacher.locator(".cs-join b.key").inner_text()
    assert re.fullmatch(rf"{re.escape(list_addresses()[0])}:{room}/\?class=[a-z]{{4}}", shown)
    picture = teacher.locator(".cs-join img")
    assert picture.evaluate("image => image.complete && image.naturalWidth") > 100
    assert picture.get_attribute("src") == render_qr_svg(f"http://{shown}&join={code.lower()}")

    phone.goto(f"http://{shown}")
    phone.get_by_text(translate(LANGUAGES[language], "classroom", "ask")).wait_for()
    phone.locator("#join").fill("wrong1")
    phone.keyboard.press("Enter")
    phone.get_by_text(translate(LANGUAGES[language], "classroom", "wrong")).wait_for()
    phone.locator("#join").fill(code)
    phone.keyboard.press("Enter")
    phone.wait_for_url(re.compile(r"/class\?class=[a-z]{4}"))
    assert code.lower() not in phone.url
    teacher.locator(".cs-count[data-here='1']").wait_for()
    phone.goto(f"http://{list_addresses()[0]}:{room}/lessons")
    phone.locator("h1").first.wait_for()
    for context in contexts:
        context.close()


@pytest.mark.skipif(not list_addresses(), reason="this machine has no address but its own loopback")
@pytest.mark.slow
def test_a_student_opens_two_classes_and_no_third_and_leads_none_of_the_teachers(chromium, room):
    contexts = [chromium.new_context(locale="en-US", viewport={"width": 1280, "height": 900}) for _ in range(2)]
    for context in contexts:
        context.add_init_script(STILL)
        context.set_default_timeout(SLOW)
    teacher, student = (context.new_page() for context in contexts)
    teacher.goto(f"http://localhost:{room}/{RUN}&ask=1")
    teacher.locator(".st-key-ask_class button").first.click()
    code = teacher.locator(".cs-join b.key").inner_text()
    teacher.wait_for_url(re.compile(r"class=[a-z]{4}-\w{8}"))
    student.goto(f"http://{list_addresses()[0]}:{room}/?join={code.lower()}")
    student.goto(teacher.url.replace("localhost", list_addresses()[0]))  # with the key that the projector shows
    student.get_by_text("was opened on another device").wait_for()
    assert student.locator(".st-key-class_reveal, .st-key-ask_end").count() == 0
    for count in (1, 2, 3):
        student.goto(f"http://{list_addresses()[0]}:{room}/{RUN}&ask={count}")
        student.locator(".st-key-ask_class button").first.click()
        if count < 3:
            student.locator(".cs-join b").first.wait_for()
    student.get_by_text("This device has 2 classes open").wait_for()
    assert student.locator(".cs-join").count() == 0
    teacher.locator(".st-key-class_reveal button").click()
    teacher.locator(".cs-choice.right").wait_for()
    for context in contexts:
        context.close()

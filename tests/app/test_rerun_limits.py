"""Pages in the queue of the server: all of their reruns wait there, and one that is refused says so and tries again."""

import ast
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from collsim.app.server.rerun_queue import RerunQueue
from collsim.app.shell import session
from collsim.app.shell.session import RETRY, queue_callback
from collsim.app.texts import say
from collsim.locale import LANGUAGES

APP = Path(session.__file__).parents[1]


def whole_app() -> None:
    from collsim.app.main import main

    main(first="story")


def words(at):
    return " ".join(element.proto.body for element in at.get("html"))


@pytest.fixture
def queue(monkeypatch):
    """The queue of a server of which this page is a client from the network."""
    queue = RerunQueue(slots=1)
    monkeypatch.setattr(session, "get_rerun_queue", lambda: queue)
    monkeypatch.setattr(session, "get_session_client", lambda: "192.0.2.7")
    return queue


@pytest.fixture
def full(queue, monkeypatch):
    """The same while somebody else's rerun does not end, and patience is short."""
    monkeypatch.setattr("collsim.app.server.rerun_queue.PATIENCE", 0.0)
    with queue.admit("192.0.2.8"):
        queue._thread.is_admitted = False  # the test and the page share a thread
        yield queue
        queue._thread.is_admitted = True


def test_a_page_takes_a_slot_and_gives_it_back_and_its_time_counts(queue):
    at = AppTest.from_function(whole_app, default_timeout=60).run()
    assert "st-key-story" in words(at)
    assert not queue._running
    assert queue._usage.seconds("192.0.2.7") > 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refused_page_says_so_and_tries_again_by_itself(full, language, monkeypatch):
    at = AppTest.from_function(whole_app, default_timeout=60)
    at.query_params["lang"] = language
    at.run()
    assert say(language, "server.busy") in words(at)
    assert not at.exception
    monkeypatch.setattr("collsim.app.server.rerun_queue.PATIENCE", 60.0)
    full._running.clear()
    at.session_state["rerun_refused_at"] = time.monotonic() - RETRY
    at.run()
    assert say(language, "server.busy") not in words(at)


def refused(seconds) -> None:
    import time

    import streamlit as st

    from collsim.app.shell import session

    st.session_state["runs"] = st.session_state.get("runs", 0) + 1
    if st.session_state["runs"] == 1:
        st.session_state["rerun_refused_at"] = time.monotonic() - seconds
        session._show_refusal()


@pytest.mark.parametrize(("seconds", "runs"), [(0.0, 1), (RETRY, 2)])
def test_the_sentence_runs_the_page_again_once_it_has_stood_for_a_while(seconds, runs):
    at = AppTest.from_function(refused, args=(seconds,)).run()
    assert at.session_state["runs"] == runs


def test_what_a_control_calls_is_refused_in_the_same_way(full, monkeypatch):
    shown, calls = [], []
    monkeypatch.setattr(session.st, "toast", shown.append)
    queue_callback(calls.append)(1)
    assert shown == [say("en", "server.busy")]
    full._running.clear()
    queue_callback(calls.append)(2)
    assert calls == [2]


def decorators(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name, [ast.unparse(decorator) for decorator in node.decorator_list]


def test_every_fragment_of_a_page_waits_in_the_queue():
    """A fragment is run again without the page around it."""
    found = [
        (path.name, name, names[names.index(fragment) + 1 :])
        for path in APP.rglob("*.py")
        for name, names in decorators(ast.parse(path.read_text(encoding="utf-8")))
        for fragment in names
        if fragment.startswith("st.fragment")
    ]
    assert len(found) >= 6
    free = {name for _, name, after in found if "queue_reruns" not in after}
    assert free == {"_show_refusal"}, "which says that there is no slot"

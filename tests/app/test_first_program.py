"""What the page Bring your program shows first is there before anybody opens it, and does not come back over what is
typed."""

from dataclasses import replace
from functools import partial

import pytest

from collsim.app.entry import ready
from collsim.app.jobs.computation import build_job_key
from collsim.app.jobs.worker_pool import get_worker_pool
from collsim.app.pages.program.program_drafts import ADDRESS, ProgramDraft
from collsim.app.pages.program.program_verdict import judge_program
from collsim.app.pages.write import editor
from collsim.app.shell import controls
from collsim.sandbox import Isolation, detect_isolation


@pytest.mark.skipif(detect_isolation() is Isolation.NONE, reason="needs a system with a sandbox")
def test_the_first_program_is_judged_before_the_page_asks_for_it():
    ready.judge_first_program()
    opened = replace(ADDRESS.read({})[0], turn=0)  # as the page asks for it
    assert opened == ProgramDraft()
    assert get_worker_pool().cache.get(build_job_key(judge_program, (opened,))) is not None


def test_nothing_runs_at_the_start_without_a_sandbox(monkeypatch):
    monkeypatch.setattr(ready, "detect_isolation", lambda: Isolation.NONE)
    monkeypatch.setattr(ready, "get_worker_pool", lambda: pytest.fail("a program was run"))
    ready.judge_first_program()


def test_the_value_of_a_control_that_is_gone_replaces_no_typed_code(monkeypatch):
    """A slow browser still sends the example that it showed before."""
    values, labels = {"program": ProgramDraft(code="x = 1")}, {"ring": "Ring", "farm": "Farm"}
    monkeypatch.setattr(editor, "get_remembered", values.get)
    monkeypatch.setattr(editor, "remember", values.__setitem__)
    begin = partial(editor._begin_with, "program", "program_collective")
    monkeypatch.setattr(editor.st, "session_state", {"w_program_start_ring": "ring", "w_program_start_own": "farm"})
    controls._on_start_picked("program_start", "ring", labels, begin)
    assert values["program"].code == "x = 1"
    controls._on_start_picked("program_start", "own", labels, begin)
    assert values["program"].starter == "farm"

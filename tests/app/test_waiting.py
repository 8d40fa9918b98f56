"""A page while work is under way: a bar with an estimate, a button that stops it, and the last result below."""

import json
import pickle
import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import explore, fine, messages, opened, players, unfolded

from collsim.app.jobs.computation import Computation, Tab, build_job_key
from collsim.app.jobs.engine_warmup import EngineLoader
from collsim.app.jobs.job_spec import get_job_spec
from collsim.app.scenario.choice import Choice
from collsim.app.scenario.outcome import compute_outcome
from collsim.app.shell import results
from collsim.app.texts import say
from collsim.locale import LANGUAGES

BUSY = {"network": "switch", "ranks": "4"}


def under_way(workers):
    return list(workers._jobs.values())


def stop(at):
    return next(b for b in at.button if b.key.startswith("stop_"))


@pytest.mark.parametrize(("language", "label"), [("en", "Cancel"), ("zh", "取消")])
def test_long_work_has_a_bar_and_a_button_and_stopping_it_leaves_a_sentence_and_a_picture(slow, language, label):
    at = opened(explore, lang=language, **BUSY)
    assert not at.exception
    assert stop(at).label == label
    assert len(under_way(slow)) == 1
    stop(at).click()
    at.run()
    assert under_way(slow) == []
    assert len(messages(at)) == 1
    assert players(at)
    next(b for b in at.button if b.key.startswith("again_")).click()
    at.run()
    assert len(under_way(slow)) == 1


def test_the_moment_of_an_address_is_not_that_of_the_run_before_it(slow):
    def done():
        (job,) = under_way(slow)
        slow.cache.put(job.key, pickle.dumps(compute_outcome(*job.key[1])))
        return fine(at.run())

    def sent():
        (shown,) = players(at)
        return json.loads(shown.proto.json)

    at = opened(explore, **BUSY)
    done()
    at.query_params["ranks"], at.query_params["t"], at.query_params["view"] = "5", "20us", "logical"
    at.run()
    assert (sent().get("t"), sent()["view"]) == (None, "logical"), "the run before it, under the bar"
    done()
    assert sent()["t"] == pytest.approx(20e-6)


@pytest.mark.parametrize("page", ["explore", "race", "compare", "whatif", "write"])
def test_whatever_a_page_computes_can_be_stopped_and_run_after_all(slow, page):
    at = AppTest.from_string(f"from collsim.app.main import main\nmain(first={page!r})", default_timeout=60).run()
    assert not at.exception
    (job,) = under_way(slow)
    stop(at).click()
    at.run()
    assert not at.exception
    assert job.is_stopped
    assert ["Stopped before it was done" in said for said in messages(at)] == [True]
    next(b for b in at.button if b.key.startswith("again_")).click()
    at.run()
    assert len(under_way(slow)) == 1


def test_a_file_under_way_can_be_stopped_and_nothing_else_is_shown_in_its_place(slow, monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 100.0)
    at = unfolded(opened(explore, **BUSY), "tables", "tab.files")
    at.selectbox(key="w_format").set_value("gif").run()
    monkeypatch.setattr(results, "ON_THE_SPOT", -1.0)
    at.button(key="files_make").click().run()
    (job,) = under_way(slow)
    assert job.key[0] == "collsim.app.scenario.run_files.build_file"
    stop(at).click()
    at.run()
    assert job.is_stopped
    assert messages(at) == ["Stopped before it was done."]
    assert [b for b in at.get("download_button") if "collsim" in b.proto.label] == []


@pytest.fixture
def shared_run(slow):
    """A page and somebody else wait for the same run: the page, the job, and a result for it."""
    at = opened(explore, **BUSY)
    (job,) = under_way(slow)
    assert slow.join(Tab("somebody else"), job.key) is job
    return at, job, pickle.dumps(compute_outcome(*job.key[1]), pickle.HIGHEST_PROTOCOL)


def finish(workers, job, result):
    """As a worker that comes to the end of a job."""
    job.result = result
    workers.cache.put(job.key, result)
    workers._jobs.pop(job.key)
    job.over.set()


def test_a_stop_wins_over_the_result_that_somebody_else_went_on_waiting_for(slow, shared_run):
    at, job, result = shared_run
    stop(at).click()
    at.run()
    assert not job.over.is_set()
    finish(slow, job, result)
    at.run()
    assert ["Stopped before it was done" in said for said in messages(at)] == [True]
    next(b for b in at.button if b.key.startswith("again_")).click()
    at.run()
    assert messages(at) == []
    assert under_way(slow) == []
    assert players(at)


def test_a_result_that_came_before_the_stop_is_shown(slow, shared_run):
    at, job, result = shared_run
    finish(slow, job, result)
    stop(at).click()
    at.run()
    assert messages(at) == []
    assert players(at)


def test_who_asks_for_what_is_under_way_joins_it_without_an_estimate(slow, monkeypatch):
    opened(explore, **BUSY)
    (job,) = under_way(slow)
    job.waiting = {Tab("somebody else"): job.waiting.popitem()[1]}
    spec = replace(get_job_spec(compute_outcome), expected=lambda _: pytest.fail("an estimate of what is under way"))
    monkeypatch.setattr(results, "get_job_spec", lambda _: spec)
    fine(opened(explore, **BUSY))
    assert under_way(slow) == [job]
    assert len(job.waiting) == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_nobody_can_know_has_no_estimate(monkeypatch, language):
    monkeypatch.setattr(results, "t", lambda key, **values: say(language, key, **values))
    job = Computation(build_job_key(compute_outcome, (Choice(),)), compute_outcome, 0.0)
    job.began, job.stage = time.monotonic() - 30, "run"
    doing = say(language, "work.run")
    assert results._describe_job(job) == say(language, "work.unknown", doing=doing, so_far=30)
    assert results._share(job) == 0
    job.share = 0.25
    assert results._share(job) == 0.25
    job.expected = 60.0
    assert results._describe_job(job) == say(language, "work.about", doing=doing, about=60, so_far=30)
    assert results._share(job) == pytest.approx(0.475, abs=0.01)


def test_another_choice_stops_the_work_for_the_one_before(slow):
    at = opened(explore, **BUSY)
    (first,) = under_way(slow)
    at.number_input(key="w_ranks").set_value(5)
    at.run()
    (second,) = under_way(slow)
    assert first.is_stopped
    assert second.key != first.key
    assert not at.exception


def test_the_last_result_stays_below_the_bar(slow, monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 10.0)
    at = opened(explore, **BUSY)
    assert players(at)
    before = json.loads(players(at)[0].proto.json)
    monkeypatch.setattr(results, "ON_THE_SPOT", -1.0)
    at.number_input(key="w_ranks").set_value(6)
    at.run()
    assert stop(at)
    after = json.loads(players(at)[0].proto.json)
    panels = before.pop("editing"), after.pop("editing")
    assert after == before
    for key in ("names", "tags"):
        assert panels[0][key] == panels[1][key], "they are of the picture"
    assert "switch(6" in panels[1]["code"], "what is edited is the machine that is chosen"


def test_a_run_that_needs_the_engine_waits_until_it_is_compiled(slow, monkeypatch):
    monkeypatch.setattr(results, "ON_THE_SPOT", 10.0)
    monkeypatch.setattr(results, "ENGINE", EngineLoader())
    at = opened(explore, engine="event", **BUSY)
    (job,) = under_way(slow)
    assert job.function.__name__ == "compile_engine"
    assert stop(at)
    results.ENGINE.is_ready.set()
    at.run()
    assert players(at)
    assert messages(at) == []

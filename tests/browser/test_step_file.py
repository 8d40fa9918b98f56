"""A step of training as an offline file and in a notebook: it draws itself without a network, plays, and opens a
bucket."""

import json
import re

import pytest

import collsim as cs

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def trace():
    return cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(bucket="5MiB"), batch=256)


@pytest.fixture
def opened(chromium, trace, tmp_path):
    """A function that opens the file: its card, and all that went wrong in it."""
    tabs = []

    def open_(**options):
        page = chromium.new_page(viewport={"width": 1280, "height": 1000})
        tabs.append(page)
        wrong = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.route(
            lambda url: not url.startswith("file:"), lambda route: (wrong.append(route.request.url), route.abort())
        )
        path = trace.animate(**options).save(tmp_path / "step.html")
        page.goto(path.as_uri())
        card = page.locator(".ts")
        card.wait_for()
        return page, card, wrong

    yield open_
    for tab in tabs:
        tab.close()


def test_the_file_draws_every_bucket_and_loads_nothing(opened, trace):
    page, card, wrong = opened()
    assert float(card.get_attribute("data-time")) == trace.time
    buckets = [t.name for t in trace.step.tasks if t.bucket >= 0 and not t.is_compute]
    assert int(card.get_attribute("data-collectives")) >= len(buckets)
    for name in buckets:
        assert page.locator(f'[data-name="{name}"]').count() >= 1, name
    assert wrong == []


def test_a_bucket_opens_and_the_player_runs_inside_it(opened, trace):
    page, card, wrong = opened()
    names = [t.name for t in trace.step.tasks if t.bucket >= 0 and not t.is_compute]
    other = next(name for name in names if name != card.get_attribute("data-open"))
    page.locator(f'[data-name="{other}"]').first.dispatch_event("click")
    page.wait_for_function("name => document.querySelector('.ts').dataset.opened === name", arg=other)
    at = float(card.get_attribute("data-t"))
    number = next(i for i, t in enumerate(trace.step.tasks) if t.name == other and not t.is_compute)
    assert trace.begin[number] <= at < trace.end[number], "the cursor went into it"
    assert page.locator(".ts .inside canvas").count() >= 1
    assert wrong == []


def test_it_plays(opened):
    page, card, wrong = opened(t=0.0)
    before = float(card.get_attribute("data-t"))
    card.focus()
    page.keyboard.press("Space")
    page.wait_for_function("t => Number(document.querySelector('.ts').dataset.t) > t", arg=before, timeout=10_000)
    assert wrong == []


def test_a_notebook_shows_it_in_a_frame_of_its_own_in_both_languages(chromium, trace):
    shown = trace._repr_html_()
    assert 'sandbox="allow-scripts' in shown
    page = chromium.new_page(viewport={"width": 1100, "height": 900})
    page.set_content(f"<body>{trace.animate('zh', theme='dark')._repr_html_()}</body>")
    card = page.frame_locator("iframe").locator(".ts")
    card.wait_for()
    assert re.search(r"[\u4e00-\u9fff]", card.inner_text())
    assert card.evaluate("e => e.lang") == "zh-CN"
    page.close()


def test_the_data_are_those_of_the_step_and_what_is_too_large_is_left_closed(trace, monkeypatch):
    from collsim.viz.training import step_page

    whole = trace.animate().data
    assert set(whole["inside"]) == {row["name"] for row in whole["step"]["collectives"]}
    json.dumps(whole, allow_nan=False)
    monkeypatch.setattr(step_page, "MAX_TRANSFERS", 10)
    assert set(trace.animate().data["inside"]) == {"buffers"}  # a chain of seven transfers; no ring is so small


def test_mistakes_are_sentences(trace, tmp_path):
    for call, words in (
        (lambda: trace.animate("fr"), "unknown language"),
        (lambda: trace.animate(view="logical"), "no option 'view'"),
        (lambda: trace.animate(theme="pink").page, "unknown theme"),
        (lambda: trace.animate().save(tmp_path / "x.gif"), "written as .html"),
    ):
        with pytest.raises(cs.CollsimError, match=words):
            call()
    assert not list(tmp_path.iterdir())

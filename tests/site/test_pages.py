"""The site in a browser, from file://: it plays, asks, reveals, in both languages, and asks nobody else for
anything."""

import re
from urllib.parse import urlparse

import pytest

import collsim as cs
from collsim.lessons.chapters import LESSONS, SECTIONS

pytestmark = pytest.mark.browser


class Visit:
    """A page with all that it asked for, and all that went wrong."""

    def __init__(self, page):
        self.page, self.asked, self.wrong = page, [], []
        page.on("request", lambda r: self.asked.append(r.url))
        page.on("pageerror", lambda e: self.wrong.append(str(e)))
        page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)


@pytest.fixture
def visit(chromium, site):
    context = chromium.new_context(viewport={"width": 1500, "height": 1000})
    page = context.new_page()
    seen = Visit(page)

    def go(name, fragment=""):
        page.goto((site.path / name).as_uri() + fragment)
        return seen

    yield go
    context.close()
    assert seen.wrong == []
    outside = [
        url for url in seen.asked if urlparse(url).scheme not in ("file", "blob", "data") or not _inside(url, site.path)
    ]
    assert outside == [], "requests that leave the folder"


def _inside(url, folder):
    return urlparse(url).scheme in ("blob", "data") or urlparse(url).path.startswith(str(folder))


def player(page, box="#player"):
    page.wait_for_selector(f"{box} [role=group][data-transfers]:not([data-transfers='0'])")
    return page.locator(f"{box} [role=group][data-t]").first


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_lesson_plays_from_a_file(visit, language):
    page = visit(f"{language}/lesson-3.html").page
    shown = player(page)
    assert shown.get_attribute("data-lang") == language
    before = float(shown.get_attribute("data-t"))
    shown.focus()
    later = "t => Number(document.querySelector('#player [role=group][data-t]').dataset.t) > t"
    page.keyboard.press("Space")
    page.wait_for_function(later, arg=before)
    page.keyboard.press("Space")  # it stands still
    here = float(shown.get_attribute("data-t"))
    page.keyboard.press("ArrowRight")
    page.wait_for_function(later, arg=here)
    assert page.locator("p.lead").count() == len(SECTIONS["ring"][1].before)
    card = page.locator(".question").first
    assert card.inner_text().startswith("1. " + SECTIONS["ring"][1].ask[language == "zh"])
    page.keyboard.press("End")
    assert shown.get_attribute("data-step") == "6"  # the next step answers the question
    card.get_by_role("button").first.click()
    page.wait_for_selector("#player [role=group][data-step='8']")
    assert not page.locator("details p").first.is_visible()
    page.locator("summary").click()
    assert page.locator("details p").first.is_visible()


def test_the_gallery_changes_runs_and_keeps_them_in_its_address(visit):
    page = visit("en/gallery.html").page
    player(page)
    assert page.evaluate("document.body.dataset.run") == "allreduce-ring--switch--8"
    page.select_option("#algorithm", "broadcast_chain")
    page.wait_for_selector("body[data-run^='broadcast-chain']")
    page.select_option("#network", "dgx-a100~2x")
    page.wait_for_selector("body[data-run='broadcast-chain--dgx-a100-2x--16']")
    assert page.url.endswith("#run=broadcast-chain--dgx-a100-2x--16")
    page.reload()
    page.wait_for_selector("body[data-run='broadcast-chain--dgx-a100-2x--16']")
    player(page)  # drawn a frame after the page knows its run
    assert page.locator("#player [role=group][data-t]").count() == 1


def test_every_run_of_the_gallery_can_be_drawn(visit):
    page = visit("en/gallery.html").page
    player(page)
    for key in page.evaluate("JSON.parse(document.getElementById('page').textContent).runs.map(r => r.key)"):
        page.evaluate("key => { location.hash = '#run=' + key }", key)
        page.wait_for_selector(f"body[data-run='{key}']")
        assert player(page).get_attribute("data-error") is None


def test_questions_are_answered_and_counted(visit):
    page = visit("en/questions.html").page
    page.wait_for_selector(".question")
    cards = page.locator(".question")
    assert cards.count() >= 20
    choice = page.locator(".question:has(.choices)").first
    choice.locator(".choices button").first.click()
    assert re.match(r"(Right|No)\.", choice.locator(".reply").inner_text())
    assert "of 1 right" in page.locator(".tally").inner_text()
    number = page.locator(".question:has(input)").first
    number.locator("input").fill("not a number")
    number.locator("button").first.click()
    assert "Write a number" in number.locator(".reply").inner_text()
    number.locator("button.reveal").click()
    told = number.locator("input").input_value()
    assert told
    number.locator("button").first.click()
    assert number.locator(".reply").inner_text().startswith("Right."), f"the printed answer {told!r} is not accepted"


@pytest.mark.slow
def test_every_printed_answer_is_accepted_by_its_own_question(visit):
    page = visit("zh/questions.html").page
    page.wait_for_selector(".question")
    for k in range(page.locator(".question:has(input)").count()):
        card = page.locator(".question:has(input)").nth(k)
        card.locator("button.reveal").click()
        card.locator("button").first.click()
        assert card.locator(".reply").inner_text().startswith("正确"), card.inner_text()


def test_racers_share_one_clock_and_the_slowest_is_last(visit):
    page = visit("en/race.html").page
    page.wait_for_selector("body[data-run]")
    assert page.locator("#racers [role=group][data-t]").count() == 3
    page.evaluate("raceClock.seek(raceClock.total * 0.5)")
    page.wait_for_timeout(500)
    shown = [
        float(t) for t in page.locator("#racers [role=group][data-t]").evaluate_all("all => all.map(p => p.dataset.t)")
    ]
    assert max(shown) > min(shown), "at half of the slowest run's time the others have ended"


def test_the_two_languages_lead_to_each_other(visit):
    page = visit("en/race.html").page
    page.wait_for_selector("body[data-run]")
    page.click("a.other")
    page.wait_for_url("**/zh/race.html")
    page.wait_for_selector("body[data-run]")
    assert "竞速" in page.title()


def test_the_first_page_goes_on_in_the_readers_language(visit):
    page = visit("index.html").page
    page.wait_for_url("**/en/index.html")
    assert page.locator("ol.lessons a").count() == len(SECTIONS)
    assert page.locator("ol.lessons li").count() == len(LESSONS)
    page.locator("ol.lessons a").first.click()
    player(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_story_is_told_from_a_file(visit, language):
    page = visit(f"{language}/story.html").page
    page.wait_for_selector(".st section.now")
    assert page.locator(".st section").count() == 7
    page.locator("#ring .chip.n input").focus()
    page.keyboard.press("ArrowRight")
    assert "N = 16" in page.locator("#hot-link, #ring").last.inner_text()
    assert page.locator("header a[aria-current=page]").get_attribute("href") == "story.html"
    page.locator(".st .after a").last.click()
    page.wait_for_url("**/index.html")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_free_choice_in_the_address_has_the_time_of_the_engine(visit, language):
    """A link in a slide: algorithm, ranks, size and cables; the page computes them."""
    page = visit(
        f"{language}/choose.html",
        "#algorithm=broadcast_chain&ranks=11&nbytes=3MB&bandwidth=10GB/s&alpha=2us&first=5GB/s",
    ).page
    page.wait_for_selector("#result[data-time]")
    network = cs.topology.switch(11, bandwidth="10GB/s", alpha="2us").with_link("gpu0", "switch0", bandwidth="5GB/s")
    trace = cs.simulate(cs.schedule("broadcast_chain", topology=network), network, "3MB")
    assert read_time(page) == pytest.approx(trace.time, rel=1e-12)
    assert page.locator(".times .chosen button").inner_text() == "broadcast_chain"
    times = page.locator(".times tr td:nth-child(3)").all_inner_texts()
    assert len(times) > 4


def read_time(page):
    return float(page.locator("#result").get_attribute("data-time"))


def test_a_free_choice_follows_its_fields_and_keeps_them_in_the_address(visit):
    page = visit("en/choose.html").page
    page.wait_for_selector("#result[data-time]")
    switch = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
    ring = cs.simulate(cs.schedule("allreduce_ring", topology=switch), switch, "64MiB")
    assert read_time(page) == pytest.approx(ring.time, rel=1e-12)
    assert cs.format_time(ring.time).replace(" ", "\u00a0") in page.locator("#result .lead").inner_text()
    page.locator(".times button", has_text="allreduce_parameter_server").first.click()
    server = cs.simulate(cs.schedule("allreduce_parameter_server", topology=switch), switch, "64MiB")
    assert read_time(page) == pytest.approx(server.time, rel=1e-12)
    page.select_option("#algorithm", "allreduce_swing")  # powers of two alone
    assert page.locator("#ranks option").all_inner_texts() == ["2", "4", "8", "16"]
    page.fill("#nbytes", "64")
    assert page.locator("#nbytes[aria-invalid=true]").count() == 1
    assert "with its unit" in page.locator("#result").inner_text()
    page.fill("#nbytes", "1KiB")
    before = read_time(page)
    page.reload()
    page.wait_for_selector("#result[data-time]")
    assert read_time(page) == before
    for unknown in ("constructor", "no_such_thing"):
        page.evaluate(f"location.hash = '#algorithm={unknown}&ranks=99'")
        page.wait_for_function("document.getElementById('algorithm').value === 'allreduce_ring'")
    assert page.locator("#ranks").input_value() == "8"

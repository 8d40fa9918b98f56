"""A class votes: the teacher's browser and those of two students, on one server."""

import re

import pytest
from visits import STILL

pytestmark = pytest.mark.browser

#: Three browsers and a server on two cores that others use as well: everything waits for what it needs to see, and
#: gives up late.
SLOW = 240_000
RUN = "?collective=allreduce&algorithm=allreduce_ring&network=switch&ranks=4&bandwidth=25GB/s&alpha=1us&nbytes=64MiB"


@pytest.fixture
def students(chromium):
    """Two browsers that share nothing with the teacher's or with each other; small ones, like phones."""
    contexts = [
        chromium.new_context(viewport={"width": 400, "height": 800}, locale=locale) for locale in ("en-US", "zh-CN")
    ]
    for context in contexts:
        context.add_init_script(STILL)
        context.set_default_timeout(SLOW)
    yield [context.new_page() for context in contexts]
    for context in contexts:
        context.close()


def test_a_class_votes_and_sees_the_answer_only_when_the_teacher_reveals_it(page, app_url, students):
    page.set_default_timeout(SLOW)
    page.goto(f"{app_url}/{RUN}&ask=1")
    page.get_by_text("How many steps does the schedule take?").wait_for()
    assert page.locator(".cs-head").count() == 0, "the figures would answer it"
    page.get_by_role("button", name="Ask a class").click()
    join = page.locator(".cs-join b")
    join.wait_for()
    code = re.search(r"\?class=([a-z]{4})$", join.inner_text())[1]
    page.wait_for_url(re.compile(rf"class={code}-\w{{8}}"))

    anna, bert = students
    anna.goto(f"{app_url}/?class={code}")
    anna.wait_for_url(re.compile(rf"/class\?class={code}"))
    bert.goto(f"{app_url}/class")
    bert.get_by_role("textbox", name="课堂代码").fill(code.upper())
    bert.keyboard.press("Enter")
    page.locator(".cs-count[data-here='2']").wait_for()

    anna.get_by_role("button", name="6 steps").click()
    page.locator(".cs-count[data-votes='1']").wait_for()
    anna.get_by_role("button", name=re.compile("[·] (3|4|7|2) steps")).first.click()
    anna.get_by_text("Your answer:").wait_for()
    anna.get_by_role("button", name="6 steps").click()
    bert.get_by_role("button", name="6 步").click()
    page.locator(".cs-count[data-votes='2']").wait_for()
    for tab in (page, anna, bert):
        assert tab.locator(".cs-votes").count() == 0, "nobody sees the votes before they are revealed"
        assert tab.locator(".cs-choice.right").count() == 0

    page.get_by_role("button", name="Reveal").click()
    for tab in (page, anna, bert):
        right = tab.locator(".cs-choice.right")
        right.wait_for()
        assert "2 · 100 %" in right.inner_text()
    anna.get_by_text("Right.").wait_for()
    bert.get_by_text("正确。").wait_for()
    page.locator(".cs-head").wait_for()

    page.get_by_role("button", name="Next", exact=True).click()
    anna.get_by_role("textbox", name="Your answer").wait_for()
    anna.get_by_role("textbox", name="Your answer").fill("half of it")
    anna.get_by_role("button", name="Check").click()
    anna.get_by_role("alert").wait_for()
    page.locator(".cs-count[data-votes='0']").wait_for()

    page.get_by_role("button", name="End the class").click()
    anna.get_by_text(f"There is no class with the code {code}.").wait_for()
    assert page.errors == []
    assert page.off_site == []

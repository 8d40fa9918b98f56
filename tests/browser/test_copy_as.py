"""The menu of a picture: each kind of file is made when it is asked for, opens again and shows the same step."""

import io
import re
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image
from playwright.sync_api import expect
from sampling import sample

pytestmark = pytest.mark.browser

SLOW = 180_000
#: Of each page: its address, the picture in it, and what the frame of an article begins at.
PICTURES = {
    "first": ("/?cards=all", ".sp[data-transfers]", "collsim.html#step=4"),
    "explore": ("/?mode=full", ".cs[data-transfers]", "collsim.html#step=4"),
    "race": ("/race", ".rc[data-runners]", "collsim.html#t="),
    "train": ("/train", ".ts[data-time]", "collsim-step.html#t="),
}


@pytest.fixture(params=sample(PICTURES, 1))
def picture(request, page, app_url):
    """A page whose picture has gone three steps, the picture, and the address that a frame of it has."""
    address, selector, frame = PICTURES[request.param]
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(app_url + address)
    box = page.locator(selector)
    box.wait_for(timeout=SLOW)
    box.get_by_role("button", name="Copy as").and_(page.locator(":visible")).wait_for(timeout=SLOW)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(box).to_have_attribute("data-playing", "false")
    if "#step=" in frame:
        expect(box).to_have_attribute("data-step", "4")
    return page, box, frame


def choose(page, box, kind):
    box.get_by_role("button", name="Copy as").and_(page.locator(":visible")).click()
    box.get_by_role("menuitem", name=re.compile(rf"^{re.escape(kind)}\b|^{re.escape(kind)}")).click()


def taken(page, box, kind):
    with page.expect_download(timeout=SLOW) as waiting:
        choose(page, box, kind)
    return waiting.value.path().read_bytes()


def test_a_picture_is_taken_as_every_kind_of_file(picture, chromium, tmp_path):
    page, box, frame = picture
    root = ElementTree.fromstring(taken(page, box, "SVG"))
    texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert len(texts) > 8
    if "#step=" in frame:
        assert root.get("data-step") == "4"
        assert any("Step 4 of 30" in text for text in texts)
    elif "step" in frame:  # of training: the moment is written beside the cursor
        assert any(
            text and text.strip().startswith(f"{1e3 * float(box.get_attribute('data-t')):.3g}") for text in texts
        )
    else:
        assert float(root.get("data-t")) == pytest.approx(float(box.get_attribute("data-t")))

    still = Image.open(io.BytesIO(taken(page, box, "PNG"))).convert("RGB")
    assert min(still.size) > 300
    assert len(still.getcolors(2**24)) > 20  # white paper alone has one

    film = Image.open(io.BytesIO(taken(page, box, "GIF")))
    assert film.n_frames > 20

    file = tmp_path / frame.partition("#")[0]
    file.write_bytes(taken(page, box, "HTML"))
    choose(page, box, "<iframe>")
    page.wait_for_function("frame => navigator.clipboard.readText().then((text) => text.includes(frame))", arg=frame)
    snippet = page.evaluate("navigator.clipboard.readText()")
    (address,) = re.findall(r'src="([^"]+)"', snippet)

    article = chromium.new_context(offline=True).new_page()
    wrong = []
    article.on("pageerror", lambda error: wrong.append(str(error)))
    for opened in (file.name, address):  # the page opens at the step by itself, and the frame moves it there
        article.goto(f"{tmp_path.as_uri()}/{opened}")
        shown = article.locator("[role=group][data-t]").first
        shown.wait_for(timeout=SLOW)
        assert shown.get_attribute("class").split()[0] == box.get_attribute("class").split()[0], "another picture"
        article.wait_for_function("() => Number(document.querySelector('[role=group][data-t]').dataset.t) > 0")
        if "#step=" in frame:
            assert shown.get_attribute("data-step") == "4"
        else:
            assert float(shown.get_attribute("data-t")) == pytest.approx(float(box.get_attribute("data-t")), rel=1e-4)
    article.keyboard.press("Space")  # before anything on the page was clicked
    expect(shown).to_have_attribute("data-playing", "true")
    assert wrong == []
    assert page.errors == []
    article.context.close()


def test_a_slide_holds_the_picture_and_its_sentence_alone(picture):
    page, box, _ = picture
    choose(page, box, "Slide view")
    slide = page.locator(".slide")
    expect(slide).to_have_count(1)
    expect(box.locator("button:visible")).to_have_count(0)
    before = slide.inner_text()
    page.keyboard.press("PageDown")  # a clicker
    expect(slide).not_to_have_text(before, use_inner_text=True)
    page.keyboard.press("Escape")
    expect(slide).to_have_count(0)
    assert box.locator("button:visible").count() > 3
    assert page.errors == []


def test_the_menu_is_used_by_keys_and_in_chinese(page, app_url):
    page.goto(app_url + "/?mode=full&lang=zh")
    box = page.locator(".cs[data-transfers]")
    box.wait_for(timeout=SLOW)
    button = box.get_by_role("button", name="复制为")
    button.focus()
    page.keyboard.press("Enter")
    menu = box.get_by_role("menu")
    names = menu.get_by_role("menuitem").all_inner_texts()
    assert [name.split("\n")[0] for name in names] == [
        "SVG",
        "PNG",
        "GIF",
        "MP4",
        "HTML",
        "<iframe>",
        "幻灯片视图（S）",
    ]
    assert all(re.search(r"[\u4e00-\u9fff]", name) for name in names)
    page.keyboard.press("ArrowDown")
    assert "PNG" in page.evaluate(
        "() => {let e = document.activeElement; while (e.shadowRoot) e = e.shadowRoot.activeElement; return e.innerText}"
    )
    page.keyboard.press("Escape")
    menu.wait_for(state="hidden")
    assert page.errors == []

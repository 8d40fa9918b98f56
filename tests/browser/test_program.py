"""Bring your program: from an empty page to a verdict, a picture, a fix and the schedule, on a screen and a phone."""

import re
import zipfile

import pytest
from playwright.sync_api import expect
from sampling import sample

import collsim as cs
from collsim.app.pages.program.program_drafts import EXAMPLES

SCREENS = {"1366": (1366, 768), "390": (390, 844)}
SEED_1 = """import numpy as np
def scatter_reduce(data, num_nodes):
    # 假设data是每个节点上的初始数组
    local_blocks = np.array_split(data, num_nodes)
    for i in range(num_nodes):
        other_blocks = [local_blocks[j] for j in range(num_nodes) if j != i]
        local_blocks[i] += np.sum(other_blocks, axis=0)
    final_result = np.sum(local_blocks, axis=0)
    return final_result

data = np.random.randint(0, 10, 20)
result = scatter_reduce(data, 4)
print("最终结果:", result)
"""
SEED_2 = """import numpy as np
def allgather(local_blocks, num_nodes):
    all_blocks = [np.empty_like(local_blocks) for _ in range(num_nodes)]
    for i in range(num_nodes):
        all_blocks[i][:] = local_blocks[i]
    for _ in range(num_nodes - 1):
        for i in range(num_nodes):
            target_node = (i + 1) % num_nodes
            np.copyto(all_blocks[target_node], local_blocks[i])
            np.copyto(local_blocks[i], all_blocks[target_node])
    return all_blocks

print(allgather(np.random.randint(0, 10, (4, 5)), 4))
"""


def paste(page, source):
    """Replace what is in the editor, and run it."""
    area = page.locator(".editor textarea")
    area.fill(source)
    area.press("Control+Enter")


def verdict(page):
    return page.locator(".st-key-program_stage .cs-why[role=status]")


@pytest.mark.parametrize("screen", sample(SCREENS, 1))
def test_the_tutorials_ring_is_right_drawn_and_played(page, app_url, screen, tmp_path):
    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{app_url}/program?lang=en&late=2")
    expect(verdict(page)).to_contain_text("Every rank has the expected result")
    expect(verdict(page)).to_contain_text("2.97 ms")
    expect(verdict(page)).to_contain_text("1.6 times as long as allreduce_ring of the library")
    picture = page.locator("svg.pl:visible")
    expect(picture).to_have_count(1)
    expect(picture).to_have_attribute("data-messages", "12")
    expect(picture.locator("polygon.band")).to_have_count(15)  # three messages leave below and come in above
    expect(picture.locator("rect.wait")).to_have_count(13)
    expect(page.locator(".cs[data-transfers='20']")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(path=tmp_path / f"ring-{screen}.png")
    assert not page.errors
    assert not page.off_site


def test_names_in_the_lanes_are_as_light_as_the_sentence_in_the_dark_theme(page, app_url):
    page.goto(f"{app_url}/program?lang=en&theme=dark")
    name, sentence = page.locator("svg.pl:visible text", has_text="rank 0").first, page.locator(".lanes .say")
    expect(name).to_be_visible()
    expect(name).to_have_css("fill", "rgb(238, 243, 245)")  # the ink of the dark theme
    expect(sentence).to_have_css("color", "rgb(238, 243, 245)")


def test_the_cursor_plays_steps_and_says_who_waits(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{app_url}/program?lang=en&late=2")
    lanes, words = page.locator(".lanes"), page.locator(".lanes .say")
    expect(words).to_contain_text("rank 0 waits in recv for rank 3 (line 14)")
    expect(words).to_contain_text("rank 2 has not begun")
    page.locator(".lanes").get_by_role("button", name="Play").click()
    page.wait_for_function("t => Number(document.querySelector('.lanes')?.dataset.t ?? 1) > t", arg=0.0)
    page.locator(".lanes").get_by_role("button", name="Pause").click()
    before = float(lanes.get_attribute("data-t"))
    lanes.get_by_role("button", name="Forward").click()
    assert float(lanes.get_attribute("data-t")) > before
    lanes.get_by_role("button", name="Start").click()
    expect(lanes).to_have_attribute("data-t", "0")
    page.locator("svg.pl:visible").click(position={"x": 400, "y": 120})
    assert float(lanes.get_attribute("data-t")) > 0
    expect(page.get_by_text("Right with 2 to 8 ranks too.")).to_be_visible()


def test_editor_and_lanes_show_each_other(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{app_url}/program?lang=en&late=2")
    picture, chips = page.locator("svg.pl:visible"), page.locator(".editor .lines .here .chip")
    expect(chips).to_have_text(["0", "1", "3"])  # line 14, at the beginning
    # An editor that is drawn after the lanes asks them.
    answer = page.evaluate(
        """() => new Promise((resolve) => {
            addEventListener("collsim-lines-at-cursor", (event) => resolve(event.detail));
            dispatchEvent(new CustomEvent("collsim-lines-requested"));
            setTimeout(() => resolve(null), 5000);
        })"""
    )
    assert answer == {"14": {"ranks": [0, 1, 3], "isStuck": False}}
    sent = picture.locator('[data-counter="sent"]')
    expect(sent).to_have_text(["0.00"] * 4)
    picture.locator("polygon.band").first.hover()
    expect(page.locator(".editor .lines .pointed")).to_have_count(2)  # the send and the receive
    page.locator(".lanes").focus()
    page.keyboard.press("End")
    expect(sent).to_have_text(["3.00"] * 4)
    expect(chips).to_have_count(0)
    line = page.locator(".editor .lines > span").nth(13).bounding_box()
    page.mouse.move(line["x"] + 300, line["y"] + 10)
    expect(picture.locator(".faded").first).to_be_attached()
    expect(picture.locator("rect.wait:not(.faded)")).to_have_count(8)  # eight receives in line 14
    page.mouse.move(2, 2)
    expect(picture.locator(".faded")).to_have_count(0)
    assert not page.errors


def test_a_wrong_sum_stands_where_it_goes_wrong(page, app_url):
    page.goto(f"{app_url}/program?lang=en")
    expect(verdict(page)).to_contain_text("Every rank has the expected result")
    paste(page, EXAMPLES["ring"][1].replace("range(size - 1)", "range(size - 2)"))
    expect(verdict(page)).to_contain_text("The contribution of rank 1 is missing")
    expect(page.locator(".lanes")).not_to_have_attribute("data-t", "0")


@pytest.mark.slow
def test_the_eager_switch_lets_small_messages_go(page, app_url):
    page.goto(f"{app_url}/program?lang=en&start=send&nbytes=4KiB")
    expect(page.locator("svg.pl:visible path.arrow")).to_have_count(4)
    page.get_by_text("Small messages are sent at once (eager)").first.click()
    expect(verdict(page)).to_contain_text("By luck")
    assert "buffered=8KiB" in page.url


@pytest.mark.slow
def test_the_schedule_is_taken_away_and_raced(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{app_url}/program?lang=en")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as MSCCL XML").click()
    assert "<algo" in download.value.path().read_text()
    page.get_by_role("button", name="Race it with a synthesized schedule").click()
    expect(page.locator(".st-key-card_synthesis .rc .cs[data-t]").first).to_be_visible()
    page.get_by_role("button", name="Play it in Explore").click()
    expect(page).to_have_url(re.compile("engine=event"))
    expect(page.get_by_text("program.json").first).to_be_visible()
    expect(page.locator(".cs[data-transfers='20']").first).to_be_visible()
    assert not page.errors


@pytest.mark.parametrize("screen", sample(SCREENS, 1))
def test_a_hang_names_the_cycle_and_a_fix_ends_it(page, app_url, screen, tmp_path):
    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{app_url}/program?lang=en&start=send")
    expect(verdict(page)).to_contain_text("Rank 0 waits in send (line 12) for rank 1")
    picture = page.locator("svg.pl:visible")
    expect(picture.locator("path.arrow")).to_have_count(4)
    expect(page.locator(".editor")).to_have_attribute("data-line", "12")
    page.screenshot(path=tmp_path / f"hang-{screen}.png")
    expect(page.locator(".st-key-card_timeout .pl-block")).to_contain_text("OpType=SEND")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the Flight Recorder dump").click()
    with zipfile.ZipFile(download.value.path()) as files:
        files.extractall(tmp_path / "dumps")
    assert cs.programs.load_hang(tmp_path / "dumps").findings
    expect(page.locator(".pl-diff .new").first).to_contain_text("request = dist.isend(buf, right)")
    page.get_by_role("button", name="isend, then recv").click()
    expect(verdict(page)).to_contain_text("Every rank has the expected result")
    expect(page.locator(".editor textarea")).to_have_value(re.compile(r"request = dist\.isend\(buf, right\)"))
    assert "code=" in page.url


def test_a_phone_names_a_hang_above_its_verdict(page, app_url):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app_url}/hangs?lang=en&hang=only_rank_0")
    name, reason = page.locator(".cs-hang"), page.locator(".st-key-hang_stage .cs-why[role=status]")
    expect(reason).to_be_visible()
    assert name.bounding_box()["y"] < reason.bounding_box()["y"]


@pytest.mark.slow
def test_a_pasted_program_is_judged_in_chinese_too(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{app_url}/program?lang=zh&collective=none")
    expect(verdict(page)).to_be_visible()
    paste(page, SEED_1)
    expect(page.locator(".pl-block").first).to_contain_text("最终结果")
    expect(page.get_by_text("没有消息")).to_be_visible()
    paste(page, SEED_2)
    expect(verdict(page)).to_contain_text("ValueError")
    expect(verdict(page)).to_contain_text("10")
    paste(page, "import numpy as npdef double(data):# 加倍return 2 * data# 示例\nprint(double(np.ones(3)))")
    expect(page.locator(".st-key-card_restored")).to_contain_text("return 2 * data")
    expect(page.locator(".pl-block").first).to_contain_text("[2. 2. 2.]")
    page.get_by_role("button", name="放入编辑器").click()
    expect(page.locator(".editor textarea")).to_have_value(re.compile(r"\n    return 2 \* data\n"))
    paste(page, "import numpy as npdef scatter_reduce(data, num_nodes):# 假设")
    expect(verdict(page)).to_contain_text("不是合法的 Python")


def test_a_program_in_a_link_waits_for_a_click(page, app_url):
    from collsim.app.scenario.address_parameters import pack_text

    source = "def run(rank, size, send, recv):\n    send((rank + 1) % size, rank)\n    recv((rank - 1) % size)\n"
    page.goto(f"{app_url}/program?lang=en&collective=none&code={pack_text(source)}")
    page.get_by_role("button", name="Run").first.click()
    expect(verdict(page)).to_contain_text("waits in send (line 2)")


@pytest.mark.parametrize("screen", sample(SCREENS, 1))
def test_a_hang_of_the_catalogue_is_shown_and_opened_as_a_program(page, app_url, screen):
    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{app_url}/hangs?lang=en&hang=only_rank_0")
    expect(page.locator(".pl-source .waits b").first).to_have_text("1–3")
    expect(page.get_by_text("Rank 0 in reduce (line 13), rank 1-3 in all_reduce (line 10)")).to_be_visible()
    expect(page.locator(".pl-block").first).to_contain_text('File "only_rank_0.py", line 13 in train')
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Open the fixed program").click()
    expect(verdict(page)).to_contain_text("It ends")
    expect(page.locator(".editor textarea")).to_have_value(
        re.compile(r"dist\.reduce\(loss, dst=0\)\n        if rank == 0")
    )
    assert not page.errors

"""Tasks of a teacher, from the first page on, each with the most clicks that it may take. Nobody sees a red message that
nobody caused. What to buy first is counted in `test_machine_editor.py`."""

import re

import pytest
from playwright.sync_api import expect
from visits import SLOW

import collsim as cs
from collsim.viz.hosts.player_page import build_standalone_page
from collsim.viz.timeline.timeline_document import build_encoded_timeline

pytestmark = pytest.mark.browser

TREE = """def my_broadcast(n):
    have = 1
    while have < n:
        for rank in range(min(have, n - have)):
            yield cs.copy(rank, have + rank, chunk=0)
        have *= 2
"""


class Hand:
    """A person with a mouse: counts clicks, and looks for a mistake after each."""

    def __init__(self, page):
        self.page, self.clicks = page, 0

    def click(self, target):
        target.click()
        self.clicks += 1
        self.settle()

    def choose(self, label, option):
        """Open a list and take an option of it: two clicks."""
        box = self.page.get_by_test_id("stSelectbox").filter(has=self.page.get_by_text(label, exact=True)).first
        self.click(box.locator("input"))
        options = self.page.get_by_test_id("stSelectboxVirtualDropdown").get_by_role("option")
        if not options.count():  # a list that was scrolled into the window to be clicked closes again
            box.locator("input").press("ArrowDown")
        self.click(options.filter(has_text=option).first)

    def open(self, group, name):
        self.click(self.page.get_by_test_id("stTopNavSection").filter(has_text=group))
        self.click(self.page.get_by_role("menuitem", name=name, exact=True))

    def settle(self):
        self.page.wait_for_timeout(300)
        self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=SLOW)
        for mark in (".cs-mistake", "[data-testid=stException]"):
            assert self.page.locator(mark).count() == 0, self.page.locator(mark).first.inner_text()


@pytest.fixture
def hand(page, app_url):
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{app_url}/?lang=en")
    page.locator(".sp[data-transfers]:not([data-transfers='0'])").first.wait_for(timeout=SLOW)
    yield Hand(page)
    assert page.errors == []


def test_ring_against_server_with_the_paradox_in_four_clicks(hand):
    page = hand.page
    hand.open("See", "Race")
    race = page.locator(".rc")
    race.locator(".lane:nth-child(3) .cs[data-t]").wait_for(timeout=SLOW)
    hand.click(race.get_by_role("button", name=re.compile("^Play")))
    assert hand.clicks <= 4
    expect(race.locator(".verdict b")).to_have_text(
        "Parameter server takes longer than Ring, although its ranks send less."
    )
    expect(race.locator(".verdict")).to_contain_text("8 buffers go into the server and 8 come out of it")
    page.wait_for_timeout(800)
    assert float(race.get_attribute("data-t")) > 0


@pytest.mark.slow
def test_two_nodes_of_four_pcie_gpus_with_25_gbit_ethernet_in_eight_clicks(hand):
    page = hand.page
    hand.click(page.get_by_role("radio", name="Full", exact=True))
    page.locator(".cs[data-transfers]").first.wait_for(timeout=SLOW)
    hand.choose("Machine or network", "PCIe server, 2 sockets, 8 GPUs")
    hand.click(page.get_by_text("Parts", exact=False).first)
    hand.click(page.get_by_test_id("stButtonGroup").filter(has_text="GPUs a node").get_by_role("radio", name="4"))
    hand.choose("Network card", "RoCE 25G")
    assert hand.clicks <= 8
    page.wait_for_url(re.compile("machine=pcie-8gpu&nodes=2.*parts=gpus%3A4%2Cnic%3Aroce-25"))
    page.get_by_text("Ethernet between the nodes").first.wait_for(timeout=SLOW)
    expect(page.locator(".cs[data-transfers='112']").first).to_be_visible()


def test_students_write_a_broadcast_along_a_tree_in_six_clicks(hand):
    page = hand.page
    hand.open("Learn", "Write your own")
    hand.choose("Collective", "broadcast")
    area = page.locator("textarea[aria-label^='Code']")
    hand.click(area)
    assert hand.clicks <= 6
    lines = area.input_value().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("def "))
    area.fill("\n".join(lines[:first]) + "\n" + TREE)
    page.get_by_text("Right: 4 ranks hold what broadcast asks for.").wait_for(timeout=SLOW)


@pytest.mark.slow
def test_a_run_is_pinned_and_raced_with_another_of_another_size(hand):
    page = hand.page
    page.goto(page.url.partition("?")[0] + "explore?network=switch&ranks=8&nbytes=64MiB&lang=en")
    page.locator(".cs[data-transfers='112']").first.wait_for(timeout=SLOW)
    hand.click(page.get_by_role("button", name="Pin this run"))
    page.wait_for_url(re.compile("pin="), timeout=SLOW)
    page.reload()
    page.get_by_role("button", name="Pinned: choose another run").wait_for(timeout=SLOW)
    hand.choose("Size", "16 MiB")
    hand.click(page.get_by_role("button", name="Race the pinned run"))
    race = page.locator(".rc[data-runners='2']")
    race.locator(".lane:nth-child(2) .cs[data-t]").wait_for(timeout=SLOW)
    expect(race.locator("h2")).to_have_text([re.compile("^64.MiB"), re.compile("^16.MiB")])
    expect(page).to_have_url(re.compile("/race.*nbytes%3A16MiB"))
    expect(race.locator(".verdict")).to_be_hidden()


def test_a_frame_of_an_article_goes_to_the_step_of_its_address(chromium, tmp_path):
    run = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "4MiB")
    file = tmp_path / "run.html"
    file.write_text(build_standalone_page(build_encoded_timeline(run)), encoding="utf-8")
    page = chromium.new_page()
    page.goto(f"{file.as_uri()}#step=3")
    player = page.locator(".cs[data-transfers='24']")
    expect(player).to_have_attribute("data-step", "3")
    page.evaluate("window.isSame = true; location.hash = 'step=5'")
    expect(player).to_have_attribute("data-step", "5")
    page.evaluate("location.hash = 'step=99'")  # no such step: the picture stays
    expect(player).to_have_attribute("data-step", "5")
    assert page.evaluate("window.isSame"), "the page was not loaded again"
    page.close()

"""The player by itself in a page without a server: every view, the wrong cell, patterns, keys, touch, and the contract
with notebooks."""

import json
import re

import pytest
from playwright.sync_api import expect
from sampling import sample

import collsim as cs
from collsim.teach.breaking import break_it
from collsim.viz.hosts.bundle import read_bundle
from collsim.viz.hosts.player_page import build_standalone_page
from collsim.viz.timeline.timeline_document import build_timeline, encode

pytestmark = pytest.mark.browser


def ring(n=8, engine="lockstep", **options):
    topology = cs.topology.switch(n)
    return cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "16MiB", engine=engine, **options)


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a run in a tab of its own; closes with no error in it."""
    contexts, errors = [], []

    def open_(trace, language="en", html=None, **screen):
        context = chromium.new_context(viewport={"width": 1500, "height": 1200}, color_scheme="light", **screen)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda e: errors.append(str(e)))
        page = tmp_path / f"{len(contexts)}.html"
        page.write_text(html or build_standalone_page(encode(build_timeline(trace)), language), encoding="utf-8")
        tab.goto(page.as_uri())
        box = tab.locator(".cs[data-transfers][data-t]")
        box.wait_for(timeout=20_000)
        return tab, box

    yield open_
    for context in contexts:
        context.close()
    assert errors == []


def seek(tab, share):
    tab.evaluate(f"player.seek(player.model.total * {share})")
    tab.wait_for_timeout(150)


def drawn(tab, canvas):
    """How many pixels of a canvas are not transparent, and how many colours they have."""
    return tab.evaluate(
        """(at) => { const c = document.querySelector(at), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const seen = new Set();
        let n = 0; for (let q = 0; q < d.length; q += 4) if (d[q + 3]) { n++; seen.add((d[q] << 16) | (d[q + 1] << 8) | d[q + 2]); }
        return [n, seen.size]; }""",
        canvas,
    )


@pytest.mark.parametrize(
    "engine",
    sample(
        [{}, {"engine": "event"}, {"engine": "event", "sharing": "fifo"}, {"engine": "event", "sharing": "none"}], 2
    ),
)
def test_every_chart_is_drawn_at_the_same_moment_for_every_engine(opened, engine):
    tab, box = opened(ring(**engine))
    seek(tab, 0.4)
    before, pictures = box.get_attribute("data-t"), []
    for name, chart in (("Links", "links"), ("Each link", "each"), ("Ranks", "endpoints"), ("Use", "use")):
        tab.get_by_role("button", name=name, exact=True).click()
        tab.wait_for_timeout(150)
        assert box.get_attribute("data-chart") == chart
        assert box.get_attribute("data-t") == before
        pictures.append(tuple(drawn(tab, ".rows canvas")))
        assert pictures[-1][0] > 2000
    assert len(set(pictures)) == 4


def test_hovering_a_chunk_lights_its_way_in_stage_matrix_and_rows(opened):
    tab, _ = opened(ring())
    seek(tab, 0.45)
    canvases = (".stage canvas:last-of-type", ".right canvas", ".rows canvas")
    before, bare = (
        [tab.evaluate("at => document.querySelector(at).toDataURL()", c) for c in canvases],
        drawn(tab, canvases[0])[0],
    )
    grid = tab.locator(".right canvas").bounding_box()
    tab.mouse.move(grid["x"] + 34 + 36 * 2.5, grid["y"] + 24 + 36 * 3.5)
    tab.wait_for_timeout(250)
    after = [tab.evaluate("at => document.querySelector(at).toDataURL()", c) for c in canvases]
    assert [a != b for a, b in zip(after, before, strict=True)] == [True, True, True]
    assert drawn(tab, canvases[0])[0] > 1.3 * bare, "its whole way, not only another shade"
    assert "chunk 2" in tab.locator(".tip").inner_text()
    tab.mouse.move(2, 2)
    tab.wait_for_timeout(250)
    assert [tab.evaluate("at => document.querySelector(at).toDataURL()", c) for c in canvases] == before


def test_hovering_a_bar_of_a_rank_names_the_transfer_and_a_link_its_bytes(opened):
    tab, _ = opened(ring())
    seek(tab, 0.5)
    tab.get_by_role("button", name="Ranks", exact=True).click()
    rows = tab.locator(".rows canvas").bounding_box()
    tab.mouse.move(rows["x"] + 216 + 60, rows["y"] + 6 + 31 * 1.6)
    assert re.search(r"rank 1\nchunk \d, 0 → 1, reduce", tab.locator(".tip").inner_text())
    tab.get_by_role("button", name="Each link", exact=True).click()
    tab.mouse.move(rows["x"] + 216 + 60, rows["y"] + 6 + 15)
    assert re.search(r"→.*\n.*\n.* by then\n.*%", tab.locator(".tip").inner_text())


def test_a_wrong_schedule_opens_where_it_goes_wrong_and_says_why(opened):
    broken = next(b for b in (break_it(ring(4), "repeat", seed) for seed in range(20)) if b.error is not None)
    made = build_timeline(broken.trace)["mistake"]
    tab, box = opened(broken.trace)
    assert box.get_attribute("data-mistake") == f"{made['rank']},{made['chunk']},{made['step'] + 1}"
    assert box.get_attribute("data-step") == str(made["step"] + 1)
    said = tab.locator(".say").inner_text()
    assert "here it goes wrong" in said
    assert made["text"]["en"] in said
    tab.keyboard.press("Tab")
    box.press("End")
    assert box.get_attribute("data-done") == "false"
    assert "its result is wrong" in tab.locator(".say").inner_text()
    box.press("m")
    assert box.get_attribute("data-step") == str(made["step"] + 1)
    assert "result is wrong" not in tab.locator(".say").inner_text()
    _, right = opened(ring(4))
    assert right.get_attribute("data-mistake") == ""
    assert right.get_by_role("button", name="To the mistake (M)").count() == 0


def test_keys_change_chart_patterns_view_speed_and_loop(opened):
    tab, box = opened(ring())
    box.focus()
    for key, attribute, value in (
        ("g", "chart", "each"),
        ("p", "patterns", "true"),
        ("v", "view", "logical"),
        ("p", "patterns", "false"),
    ):
        tab.keyboard.press(key)
        expect(box).to_have_attribute(f"data-{attribute}", value)
    tab.keyboard.press("PageDown")
    tab.locator(".cs[data-step='2'][data-playing=false]").wait_for(timeout=20_000)
    tab.keyboard.press("]")
    tab.keyboard.press("]")
    tab.keyboard.press("l")
    tab.wait_for_timeout(700)
    assert box.get_attribute("data-step") == "2"
    assert box.get_attribute("data-playing") == "true"


def test_without_colours_the_picture_is_grey_and_still_distinguishes_classes(opened):
    topology = cs.machine("dgx-a100", nodes=2)
    tab, box = opened(cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "256MiB"))
    seek(tab, 0.31)
    coloured = """at => { const c = document.querySelector(at), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const hue = q => Math.max(d[q], d[q + 1], d[q + 2]) - Math.min(d[q], d[q + 1], d[q + 2]);
        let n = 0; for (let q = 0; q < d.length; q += 4) if (d[q + 3] > 200 && hue(q) > 60) n++; return n; }"""
    stage = ".stage canvas"
    assert tab.evaluate(coloured, stage) > 3000
    box.press("p")
    tab.wait_for_timeout(200)
    assert tab.evaluate(coloured, stage) < 900, "only text keeps a hue"
    tab.emulate_media(media="screen")
    box.press("p")
    tab.wait_for_timeout(100)
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate(coloured, stage) < 900
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.evaluate(coloured, stage) > 3000


def test_no_canvas_is_cleared_for_paper_as_that_would_hide_the_canvas_below_it(opened):
    tab, _ = opened(ring(4))
    drawn = """() => {
      const draws = { clearRect: 0, fillText: 0 };
      for (const name in draws) {
        const draw = CanvasRenderingContext2D.prototype[name];
        CanvasRenderingContext2D.prototype[name] = function (...at) {
          draws[name] += this.canvas.isConnected;
          return draw.apply(this, at);
        };
      }
      dispatchEvent(new Event("beforeprint"));
      return draws;
    }"""
    draws = tab.evaluate(drawn)
    assert draws["clearRect"] == 0
    assert draws["fillText"] > 20


def test_more_than_64_ranks_are_folded_and_it_says_so(opened):
    tab, _ = opened(ring(80))
    seek(tab, 0.3)
    grid = tab.locator(".right canvas").bounding_box()
    tab.mouse.move(grid["x"] + 120, grid["y"] + 90)
    assert re.search(
        r"ranks \d+ to \d+\nchunk \d+–\d+\n.*% of the contributions on average", tab.locator(".tip").inner_text()
    )


def test_the_text_of_the_schedule_follows_the_step_that_runs(opened):
    tab, _ = opened(ring(12))
    tab.get_by_role("button", name="Schedule as text").click()
    words = tab.locator(".words")
    words.evaluate("e => { e.style.width = '420px'; }")
    for share, column in ((0.02, "1"), (0.97, "22")):
        seek(tab, share)
        now = words.locator("td.now").first
        assert now.evaluate("e => e.closest('table').rows[0].cells[e.cellIndex].textContent") == column
        assert now.evaluate(
            "e => { const b = e.closest('.words'); return e.offsetLeft >= b.scrollLeft && e.offsetLeft < "
            "b.scrollLeft + b.clientWidth; }"
        )


def test_reduced_motion_stands_still_within_a_step_and_presenter_mode_is_large(opened):
    tab, box = opened(ring(4), reduced_motion="reduce")
    tab.clock.install(time=0)  # a second of the page's clock, which only this test moves
    tab.clock.pause_at("1970-01-02")
    box.focus()
    tab.keyboard.press(" ")
    shown = set()
    for _ in range(60):
        tab.clock.run_for(17)
        shown.add(box.get_attribute("data-t"))
    assert 1 < len(shown) <= 6, "three pictures a step, not sixty a second"
    tab.set_viewport_size({"width": 1366, "height": 768})
    tab.evaluate("player.present(true)")
    expect(tab.locator(".cs.present.low .say")).to_have_css("font-size", "32px")


def test_keys_go_on_working_after_a_click_and_all_buttons_are_in_sight_on_a_small_projector(opened):
    tab, _ = opened(ring(4))
    tab.get_by_role("button", name="Use", exact=True).click()
    tab.keyboard.press("v")
    tab.locator(".cs[data-view=logical]").wait_for(timeout=20_000)
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.evaluate("player.present(true)")
    tab.locator(".cs.present.tight").wait_for(timeout=20_000)
    buttons = tab.locator(".tr button:visible")
    assert buttons.count() >= 14
    assert max(right(b) for b in buttons.all()) <= 1280


def right(element):
    at = element.bounding_box()
    return at["x"] + at["width"]


def test_a_finger_scrubs_and_touches_a_chunk(opened):
    tab, box = opened(ring(4), has_touch=True)
    scrub = tab.locator(".scrub canvas").bounding_box()
    tab.touchscreen.tap(scrub["x"] + 216 + 0.5 * (scrub["width"] - 216 - 424), scrub["y"] + 15)
    tab.wait_for_timeout(200)
    assert 0.3 < float(box.get_attribute("data-t")) / tab.evaluate("player.model.total") < 0.7
    grid = tab.locator(".right canvas").bounding_box()
    tab.touchscreen.tap(grid["x"] + 34 + 18, grid["y"] + 24 + 18)
    assert "chunk 0" in tab.locator(".tip").inner_text()


def test_a_notebook_widget_plays_reports_and_obeys(opened):
    """What anywidget does with the module: the default export, called without an argument, returns `render`."""
    module = json.dumps(read_bundle("player")).replace("</", "<\\/")
    data = json.dumps(encode(build_timeline(ring(4)))).replace("</", "<\\/")
    html = f"""<!doctype html><body><div id="out"></div><script type="module">
      const {{ default: make, ...named }} = await import(URL.createObjectURL(new Blob([{module}], {{ type: "text/javascript" }})));
      const values = {{ timeline: {data}, language: "en", theme: null, view: null, t: null, state: {{}} }}, heard = new Map();
      globalThis.model = {{ get: k => values[k], on: (k, f) => heard.set(k, f),
        off: k => heard.delete(k), save_changes() {{ globalThis.saved = values.state; }},
        set(k, v) {{ values[k] = v; heard.get("change:" + k)?.(); }} }};
      globalThis.named = Object.keys(named);
      globalThis.clear = make().render({{ model, el: document.getElementById("out") }});
    </script></body>"""
    tab, box = opened(None, html=html)
    assert tab.evaluate("named") == []
    box.get_by_role("button", name="Play").click()
    tab.wait_for_timeout(400)
    box.get_by_role("button", name="Pause").click()
    tab.wait_for_timeout(200)
    assert tab.evaluate("saved.t") > 0
    tab.evaluate("model.set('t', 0.0002); model.set('language', 'zh'); model.set('view', 'logical')")
    tab.wait_for_timeout(200)
    assert (box.get_attribute("data-t"), box.get_attribute("data-lang"), box.get_attribute("data-view")) == (
        "0.0002",
        "zh",
        "logical",
    )
    tab.evaluate("clear()")
    assert tab.locator(".cs").count() == 0


def test_another_run_under_the_same_mount_begins_at_the_moment_that_comes_with_it(opened):
    """What Streamlit does with the module: the default export, called again with other data."""
    module = json.dumps(read_bundle("player")).replace("</", "<\\/")
    runs = json.dumps([encode(build_timeline(ring(n))) for n in (4, 8)]).replace("</", "<\\/")
    html = f"""<!doctype html><body><div id="out"></div><script type="module">
      const {{ default: mount }} = await import(URL.createObjectURL(new Blob([{module}], {{ type: "text/javascript" }})));
      const runs = {runs}, parentElement = document.getElementById("out");
      const given = (n, t) => ({{ id: String(n), timeline: runs[n], language: "en", t }});
      globalThis.show = (n, t) => {{ mount({{ data: given(n, t), parentElement, setStateValue() {{}} }}); }};
      show(0, null);
    </script></body>"""
    tab, box = opened(None, html=html)
    tab.evaluate("show(1, 0.0002)")
    tab.locator('.cs[data-transfers="112"][data-t="0.0002"]').wait_for(timeout=20_000)
    tab.evaluate("show(0, null)")
    tab.locator('.cs[data-transfers="24"]').wait_for(timeout=20_000)
    assert float(box.get_attribute("data-t")) > 0, "the same share of the run"


def test_a_number_of_chunks_says_over_which_channels_it_counts(opened):
    """A rank of 8 x DGX A100 sends a chunk on each of 4 channels: three stay inside, one leaves through its card."""
    place = cs.machine("dgx-a100", nodes=8)
    tab, box = opened(cs.simulate(cs.schedule("allreduce_ring", topology=place, channels=4), place, "256MiB"))
    assert "chunks are counted over all 4 channels" in box.locator(".crumbs").inner_text()
    tab.evaluate("player.set({ node: 0 })")
    tab.evaluate("player.seek(player.model.step1[12] - 1e-9)")
    assert "chunks are counted over all 4 channels" in box.locator(".crumbs").inner_text()
    tab.wait_for_timeout(300)
    said = set()
    stage = box.locator(".stage canvas").last.bounding_box()
    for across in range(20, int(stage["width"]), 12):
        for down in range(0, 60, 12):
            tab.mouse.move(stage["x"] + across, stage["y"] + 0.62 * stage["height"] + down)
            tip = box.locator(".tip").inner_text() if box.locator(".tip").is_visible() else ""
            if " chunks, " in tip:
                said.add(tip)
        if said:
            break
    (tip,) = list(said)[:1]
    assert re.match(r"\d chunks, \d → \d\n", tip)
    count = int(tip[0])
    assert f"one on each of {count} of the 4 channels" in tip
    assert f"{count} MiB in all" in tip.replace("\N{NO-BREAK SPACE}", " ")


COUNT = """
const count = { base: 0, live: 0 };
for (const name of ["stroke", "fill", "fillText"]) {
  const before = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function (...given) {
    const at = [...document.querySelectorAll(".stage canvas")].indexOf(this.canvas);
    if (at >= 0) count[at ? "live" : "base"]++;
    return before.apply(this, given);
  };
}
window.drawnIn = async (share) => {
  Object.assign(count, { base: 0, live: 0 });
  player.seek(player.model.total * share);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return { ...count };
};
"""


@pytest.mark.parametrize("algorithm", ["allreduce_ring", "allreduce_halving_doubling", "alltoall_direct"])
def test_a_frame_within_a_step_of_64_ranks_draws_tokens_and_no_ways_anew(opened, algorithm):
    """A frame has 17 ms; each of the ways between ranks is four strokes, each token no more than a dozen."""
    place = cs.topology.switch(64)
    run = cs.simulate(cs.schedule(algorithm, topology=place), place, "256MiB")
    tab, _ = opened(run)
    tab.evaluate("player.set({ view: 'logical' })")
    tab.locator(".cs[data-view=logical]").wait_for()
    tab.evaluate(COUNT)
    step = run.schedule.steps // 2
    begin, end = (float(moments[step]) / run.time for moments in (run.timing.step_start, run.timing.step_end))
    tab.evaluate("drawnIn(1)")
    first = tab.evaluate(f"drawnIn({begin + 0.3 * (end - begin)})")
    again = tab.evaluate(f"drawnIn({begin + 0.35 * (end - begin)})")
    assert 64 < first["base"] < 3000
    assert again["base"] == 0
    assert again["live"] <= 12 * 64 * (1 if algorithm == "allreduce_ring" else 2)


@pytest.mark.parametrize(("width", "height"), sample([(1366, 768), (1920, 1080)], 1))
@pytest.mark.parametrize("view", ["physical", "logical"])
def test_presenter_mode_fills_a_projector_and_nothing_is_cut_off(opened, width, height, view):
    """Eight nodes in a row are wide and low: what the picture leaves goes to the rows over time, or to the picture."""
    place = cs.machine("dgx-a100", nodes=8)
    tab, box = opened(cs.simulate(cs.schedule("allreduce_ring", topology=place, channels=1), place, "64MiB"))
    tab.set_viewport_size({"width": width, "height": height})
    tab.evaluate(f"player.set({{ view: '{view}' }})")
    tab.evaluate("player.present(true)")
    tab.locator(".cs.present").wait_for()
    tab.wait_for_timeout(400)
    ends = [part.bounding_box() for part in tab.locator(":is(.stage, .tr, .scrub, .rows)").all() if part.is_visible()]
    bottom = max(at["y"] + at["height"] for at in ends)
    assert 0.93 * height < bottom <= height
    assert max(at["x"] + at["width"] for at in ends) <= width
    assert tab.locator(".stage").bounding_box()["height"] > 0.4 * height
    assert box.evaluate("e => e.scrollHeight - e.clientHeight") <= 0
    # A step with many sentences: the first stays large and the others are smaller, below it; none is cut.
    sentence = (
        "Each of the other ranks sends one 64 MiB chunk that holds 1 of 8 contributions to rank 0, which adds all."
    )
    tab.evaluate(f"player.model.tl.steps.text.en[0] = '{sentence} 7 chunks share one cable: it takes 18.8 ms.'")
    tab.evaluate("player.set({ theme: 'dark' })")
    expect(tab.locator(".say")).to_contain_text("18.8 ms")
    expect(tab.locator(".say")).to_have_css("font-size", "32px")
    assert tab.locator(".say").evaluate("e => e.scrollHeight - e.clientHeight") <= 4

"""Each chapter of the story against the engine: what its text says and what its picture writes, at several settings."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import collsim as cs
from collsim.units import parse_bytes, parse_time
from collsim.viz.story.story_document import ALGORITHMS, CARDS_NBYTES, encode_story

ROOT = Path(__file__).parents[2]
MIB = 2**20
#: N, K, bandwidth (B/s) and latency (s) of the first chapters; ranks and K of the one on latency; channels.
SETTINGS = [
    {"n": 4, "size": 16 * MIB, "rate": 25e9, "alpha": 2e-6, "many": 8, "small": MIB, "channels": 1},
    {"n": 8, "size": 256 * MIB, "rate": 25e9, "alpha": 2e-6, "many": 64, "small": MIB, "channels": 8},
    {"n": 16, "size": 64 * MIB, "rate": 100e9, "alpha": 20e-6, "many": 32, "small": 16 * MIB, "channels": 4},
]
PLACEHOLDER = re.compile(r"\{(\w+)\}")


@pytest.fixture(scope="module")
def story():
    return json.loads(encode_story())


@pytest.fixture(scope="module")
def answer(story):
    """What the modules of the page say and draw."""
    asked = json.dumps({"story": story, "settings": SETTINGS})
    script = [str(ROOT / "tests" / "js" / "story_said.mjs")]
    done = subprocess.run(["node", *script], input=asked, capture_output=True, text=True, check=True, encoding="utf-8")
    return json.loads(done.stdout)


def run(name, n, nbytes, rate, alpha):
    """A run on a switch; a path crosses two cables, each with half of the latency."""
    algorithm, options = ALGORITHMS[name]
    network = cs.topology.switch(n, bandwidth=rate, alpha=alpha / 2)
    return cs.simulate(cs.schedule(algorithm, ranks=n, **options), network, nbytes)


def measure(setting, story):
    """What the engine says, by the name that stands between braces: seconds, bytes, shares of one, and counts."""
    n, size, rate, alpha = (setting[name] for name in ("n", "size", "rate", "alpha"))
    far, more, many, small = story["start"]["far"], story["start"]["more"], setting["many"], setting["small"]
    server, ring = run("server", n, size, rate, alpha), run("ring", n, size, rate, alpha)
    latency, halving = run("ring", many, small, rate, alpha), run("halving", many, small, rate, alpha)
    # A message of no length takes what starting takes.
    starting = latency.steps.shape[0] * alpha
    sent, sent_far = int(ring.sent_bytes[0]), int(run("ring", far, size, rate, alpha).sent_bytes[0])
    machine = cs.machine("dgx-a100", nodes=2)
    cards = {
        channels: cs.simulate(
            cs.schedule("allreduce_ring", topology=machine, channels=channels), machine, CARDS_NBYTES
        ).time
        for channels in {1, setting["channels"]}
    }
    busiest = server.link_bytes.max()
    return {
        "serverTime": server.time,
        "serverBytes": busiest,
        "otherBytes": sorted({int(b) for b in server.link_bytes if 0 < b < busiest} or {int(busiest)})[0],
        "moreTime": run("server", more, size, rate, alpha).time,
        "ringTime": ring.time,
        "faster": server.time / ring.time,
        "piece": size / n,
        "sent": sent,
        "sentFar": sent_far,
        "grows": sent_far / sent - 1,
        "most": 2 * size,
        "steps": latency.steps.shape[0],
        "starting": starting,
        "sending": latency.time - starting,
        "time": latency.time,
        "idle": starting / latency.time,
        "hsteps": halving.steps.shape[0],
        "halving": halving.time,
        "oneTime": cards[1],
        "cardsTime": cards[setting["channels"]],
        "cardsFaster": cards[1] / cards[setting["channels"]],
        "cards": setting["channels"],
        "cardsIdle": 8 - setting["channels"],
    }


def read(text):
    """A text of the page as a number: seconds, bytes, a share or a count."""
    text = text.replace("\u00a0", " ")
    if text.endswith("%"):
        return float(text[:-1]) / 100
    if text.endswith("s") and text[-2] in " µmn":
        return parse_time(text.replace(" ", ""))
    if text.endswith("B"):
        number, unit = text.split()
        return float(number) * parse_bytes(f"1{unit}")
    return float(text)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_every_number_of_every_chapter_is_what_the_engine_says(story, answer, number):
    said, expected = answer["answers"][number]["said"], measure(SETTINGS[number], story)
    for name, value in expected.items():
        assert read(said[name]) == pytest.approx(value, rel=6e-3, abs=6e-3 if "%" in said[name] else 0), name


def test_every_chapter_has_numbers_that_were_compared(story, answer):
    """Those of training are held by tests/viz/test_story.py."""
    compared = set(measure(SETTINGS[0], story)) | {"n", "less", "size", "rate", "far", "many", "beta", "saves", "rest"}
    for key, sentences in answer["chapters"]:
        names = {name for sentence in sentences for name in PLACEHOLDER.findall(sentence)}
        assert names or key == "alpha-beta", key
        if key != "training":
            assert names <= compared | {"adding"}, key


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_the_server_s_picture_has_what_has_arrived_by_then(story, answer, number):
    setting, drawn = SETTINGS[number], answer["answers"][number]["drawn"]["server"]
    trace = run("server", setting["n"], setting["size"], setting["rate"], setting["alpha"])
    assert len(set(trace.finish[trace.schedule.transfers["step"] == 0])) == 1, "all gradients arrive at the same moment"
    for moment in drawn:
        share = moment["share"]
        here, whole = (read(f"{part} ms") for part in drawn_clock(moment["texts"]))
        assert whole == pytest.approx(trace.time, rel=6e-3)
        assert here == pytest.approx(share * trace.time, rel=6e-3)
        done = 2 * share if share <= 0.5 else 2 * share - 1
        assert any(f"{100 * done:.3g}\u00a0%" in text for text in moment["texts"]), moment


def drawn_clock(texts):
    """The two times of `19.3 / 64.4 ms`, in ms."""
    (clock,) = [text.replace("\u00a0", " ") for text in texts if " / " in text]
    now, whole = re.fullmatch(r"([\d.]+) / ([\d.]+) ms", clock).groups()
    return now, whole


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_the_ring_s_picture_is_at_the_step_that_runs_then(answer, number):
    setting, drawn = SETTINGS[number], answer["answers"][number]["drawn"]["ring"]
    trace = run("ring", setting["n"], setting["size"], setting["rate"], setting["alpha"])
    starts = trace.steps["start"].to_numpy()
    for moment in drawn:
        step = int((starts <= min(moment["share"], 1 - 1e-9) * trace.time * (1 + 1e-9)).sum())
        assert f"step {step} of {len(starts)}" in moment["texts"]
        adds = step <= setting["n"] - 1
        verb = "adds a piece" if adds else "keeps a copy"
        assert any(verb in text for text in moment["texts"]), moment


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_the_picture_of_the_hot_link_has_what_each_cable_has_carried_by_then(answer, number):
    setting, drawn = SETTINGS[number], answer["answers"][number]["drawn"]["hot-link"]
    trace = run("server", setting["n"], setting["size"], setting["rate"], setting["alpha"])
    sends = trace.schedule.transfers
    for moment in drawn:
        passed = np.clip((moment["share"] * trace.time - trace.start) / (trace.finish - trace.start), 0, 1)
        carried = setting["size"] * passed
        to_server = [carried[sends["dst"] == 0].sum(), carried[(sends["src"] == 1)].sum()]
        name, hot, _, other = moment["texts"][:4]
        assert name == "GPU 0"
        assert [read(hot), read(other)] == pytest.approx(to_server, rel=6e-3)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_the_pictures_that_compare_write_bytes_and_times_of_the_engine(story, answer, number):
    setting, drawn = SETTINGS[number], answer["answers"][number]["drawn"]
    rate, alpha, ranks = setting["rate"], setting["alpha"], story["ranks"]

    def numbers(key):
        return {float(text) for text in drawn[key][-1]["texts"] if re.fullmatch(r"[\d.]+", text)}

    for n in ranks:
        sent = int(run("ring", n, setting["size"], rate, alpha).sent_bytes[0])
        assert float(f"{sent / MIB:.3g}") in numbers("volume"), n
    times = [run("ring", n, setting["small"], rate, alpha).time for n in ranks]
    unit = 1e3 if max(times) >= 1e-3 else 1e6
    assert {float(f"{unit * time:.3g}") for time in times} <= numbers("alpha-beta")
    machine = cs.machine("dgx-a100", nodes=2)
    written = [
        read(text)
        for text in drawn["cards"][-1]["texts"]
        if text.endswith("s") and text[0].isdigit() and "card" not in text
    ]
    plans = [cs.schedule("allreduce_ring", topology=machine, channels=channels) for channels in (1, 2, 4, 8)]
    assert written == pytest.approx([cs.simulate(plan, machine, CARDS_NBYTES).time for plan in plans], rel=6e-3)

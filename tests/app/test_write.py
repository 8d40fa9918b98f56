"""Write your own: right code is told so, wrong code is pointed at, hostile code does no harm; never a traceback."""

import json
import re
from dataclasses import replace

import pytest
from catalogs import pair_page_texts
from sampling import sample
from streamlit.testing.v1 import AppTest
from test_pages import address, messages

from collsim.app.pages.write import consent, drafts
from collsim.app.pages.write.trial import run_code, try_code
from collsim.app.scenario.address_parameters import pack_text
from collsim.app.scenario.choice import list_played_collectives
from collsim.app.shell import results
from collsim.app.texts import say
from collsim.locale import LANGUAGES
from collsim.sandbox import Isolation, detect_isolation
from collsim.sandbox.allowlist import LONGEST, Code, Forbidden, check_code
from collsim.sandbox.learner_tables import FunctionRequest

WRITE = pair_page_texts("write")

HEAD = "import numpy as np\nimport collsim as cs\n"


def write() -> None:
    """The app on this page; code put into the session is as if it had been typed."""
    from dataclasses import replace

    import streamlit as st

    from collsim.app.main import main
    from collsim.app.shell.address import get_remembered, remember

    if (typed := st.session_state.pop("typed", None)) is not None:
        remember("write", replace(get_remembered("write"), code=typed))
    main(first="write")


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A page waits for the worker that tries the code, so that a test sees what came of it."""
    monkeypatch.setattr(results, "GLANCE", 60.0)


def opened(**query):
    at = AppTest.from_function(write, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    return at.run()


def typed(at, code):
    at.session_state["typed"] = code
    at.run()
    assert not at.exception
    return words(at)


def words(at):
    html = " ".join(e.proto.body for e in at.get("html") if "<style>" not in e.proto.body)
    return " ".join(re.sub("<.*?>", " ", html).split())  # a space between two words, never a non-breaking one


def sent(at, name):
    found = [json.loads(e.proto.json) for e in at.get("bidi_component") if e.proto.component_name.endswith(name)]
    return found[0] if found else None


@pytest.mark.parametrize("name", sample(drafts.STARTERS, 5))
def test_every_starting_point_opens_and_is_judged_in_both_languages(name):
    at = opened(start=name, lang="en")
    wrong, verdict = name in ("short", "double"), "write.right"
    if wrong:
        verdict = "write.wrong"
    elif name.startswith("skeleton"):
        verdict = "write.begin"
    for language in (0, 1):
        assert not at.exception
        assert messages(at) == []
        assert WRITE[verdict][language].split("{")[0] in words(at)
        at.segmented_control(key="w_language").set_value("zh").run()
    assert sent(at, "collsim_player")["timeline"]["schema"] == "collsim.timeline/1"
    assert (sent(at, "collsim_player")["timeline"]["mistake"] is not None) == wrong


def test_a_mistake_is_told_with_rank_chunk_and_step_and_the_player_stands_there():
    at = opened(start="double")
    assert "look at rank 0, chunk 0, step 4" in words(at)  # three steps add; the fourth adds again
    assert "2·r0 + r1 + r2 + r3" in words(at)
    at_fault = sent(at, "collsim_player")["timeline"]["mistake"]
    assert (at_fault["rank"], at_fault["chunk"], at_fault["step"]) == (0, 0, 3)
    assert sum('class="bad"' in e.proto.body for e in at.get("html")) == 1


def test_right_code_shows_its_time_next_to_the_bound():
    at = opened(place="switch", ranks="4", nbytes="64MiB")
    # 6 steps of 16 MiB over 25 GB/s and two cables of 1 us: 6 * (671.09 + 2) us
    assert "4.04 ms" in words(at)
    assert "1.5 of its buffer" in words(at)
    assert "2, 3, 5, 6, 7, 8" in words(at)


def test_code_that_is_right_for_some_ranks_only_says_for_which_it_is_not():
    code = (
        HEAD
        + "def mine(n):\n    yield cs.reduce(np.array([1, 2, 3]), 0, chunk=0)\n    yield cs.copy(0, np.array([1, 2, "
        "3]), chunk=0)\n"
    )
    made = try_code(code, "allreduce", 4)
    assert made.passed
    assert made.failed == 2
    assert "dst" in str(made.error) or "src" in str(made.error)


def test_code_that_a_limit_stops_for_some_ranks_is_not_called_wrong_for_them():
    loop = "    while n == 3:\n        yield cs.copy(0, 1, chunk=0)\n    for"
    endless = drafts.STARTERS["ring"][1].replace("    for", loop, 1)
    at = opened(ranks="4", nbytes="1MiB")
    shown = typed(at, endless)
    assert (
        "With 3 ranks it stopped before the end: my_allreduce(3) yields more than 2,000 steps and has not ended"
        in shown
    )
    assert "not right" not in shown
    shown = typed(opened(ranks="3", nbytes="1MiB"), endless)
    assert "It stopped before the end." in shown
    assert "more than 2,000 steps" in shown


HOSTILE = {
    "empty": "",
    "syntax": "def f(n:\n",
    "tabs": "def f(n):\n\tyield 1\n        yield 2\n",
    "null": "x = '\0'",
    "no function": "x = 1",
    "no argument": "def f():\n    yield 1",
    "os": "import os\ndef f(n):\n    os.system('echo hello')",
    "from os": "from os import system\ndef f(n):\n    system('ls')",
    "dunder import": "def f(n):\n    __import__('os').system('ls')",
    "open": "def f(n):\n    open('/etc/passwd').read()",
    "eval": "def f(n):\n    eval('1')",
    "class walk": "def f(n):\n    yield ().__class__.__base__.__subclasses__()",
    "numpy file": "import numpy as np\ndef f(n):\n    np.save('x', np.arange(3))",
    "numpy inside": "import numpy as np\ndef f(n):\n    np.lib.npyio.os.system('ls')",
    "numpy renamed": "import numpy as np\nx = np\ndef f(n):\n    x.save('a', 1)",
    "numpy looped": "import numpy as np\ndef f(n):\n    for m in [np]:\n        m.save('a', 1)",
    "numpy shadowed": "import numpy as np\nimport collsim as np\ndef f(n):\n    np.save('a', 1)",
    "collsim inside": "import collsim as cs\ndef f(n):\n    cs.load_topology('/etc/passwd')",
    "format": "def f(n):\n    yield '{0.__class__}'.format(n)",
    "frame": "def f(n):\n    g = (x for x in [1])\n    yield g.gi_frame",
    "globals": "def f(n):\n    yield globals()",
    "global": "def f(n):\n    global x\n    x = 1\n    yield x",
    "try": "def f(n):\n    try:\n        yield 1\n    except:\n        pass",
    "deep": "x = " + "-" * 9000 + "1",
    "deeper": "x = 1" + ".a" * 5000,
    "long": "#" * (LONGEST + 1),
    "html": "def f(n):\n    raise ValueError('<script>alert(1)</script>')\n    yield 1",
    "markdown": "def f(n):\n    return '**bold** {why} $x$'",
    "number": "def f(n):\n    return 7",
    "itself": HEAD + "def f(n):\n    return f(n)",
    "division": "def f(n):\n    yield n // 0",
    "rank out of range": HEAD + "def f(n):\n    yield cs.copy(0, n, chunk=0)",
    "to itself": HEAD + "def f(n):\n    yield cs.copy(0, 0, chunk=0)",
    "chunk far away": HEAD + "def f(n):\n    yield cs.copy(0, 1, chunk=2000000000)",
    "two copies": HEAD + "def f(n):\n    yield cs.copy(np.array([0, 1]), 2, chunk=0)",
    "no steps": "def f(n):\n    return\n    yield",
    "memory": "def f(n):\n    yield [0] * 10 ** 11",
    "steps": HEAD + "def f(n):\n    while True:\n        yield cs.copy(0, 1, chunk=0)",
    "transfers": HEAD + "def f(n):\n    yield cs.copy(np.zeros(10 ** 6, int), 1, chunk=np.arange(10 ** 6))",
    "repeat": HEAD + "def f(n):\n    yield cs.steps.repeat(cs.copy(0, 1, chunk=0), 10 ** 12, 1, 1)",
    "prints": HEAD
    + "def f(n):\n    for k in range(10 ** 4):\n        print('<b>x</b>' * 100)\n    yield cs.copy(0, 1, chunk=0)",
}


@pytest.fixture(scope="module", params=sample(["en", "zh"], 1))
def app(request):
    return opened(lang=request.param)


@pytest.mark.parametrize("name", sample(HOSTILE, 14))
def test_hostile_code_gets_a_sentence_and_never_a_traceback(app, name):
    said = typed(app, HOSTILE[name])
    assert "Traceback" not in said
    assert WRITE["write.right"][0].split("{")[0] not in said
    assert not any("<script>" in e.proto.body or "<b>x" in e.proto.body for e in app.get("html"))
    assert messages(app) == []


@pytest.mark.parametrize(
    "code", sample(["def f(n):\n    x = 10 ** 10 ** 10\n    yield x", "def f(n):\n    while True:\n        pass"], 1)
)
def test_code_that_never_ends_is_ended(code):
    made = try_code(code, "allreduce", 4)
    assert not made.passed
    assert "did not end within" in str(made.error)
    assert "没有结束" in made.describe("zh")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_what_holds_the_process_here(language):
    said = WRITE[f"write.isolation.{detect_isolation().name.lower()}"][language == "zh"]
    assert any(said in one.value for one in opened(lang=language).markdown)


@pytest.mark.skipif(detect_isolation() is Isolation.NONE, reason="this system isolates nothing")
def test_code_that_got_past_the_lists_writes_nowhere(tmp_path):
    outside = tmp_path / "outside"
    for path in (str(outside), "inside", "/tmp/inside"):
        lines = [
            "import collsim as cs",
            "def f(n):",
            f"    open({path!r}, 'w').write('x')",
            "    yield cs.copy(0, 1, chunk=0)",
        ]
        assert "PermissionError" in str(run_code(Code("\n".join(lines), "f"), FunctionRequest("allreduce", (2,))).error)
    assert not outside.exists()


# ---- code from a link


def fresh(text):
    """Code that nobody has run yet, in an address."""
    return pack_text(drafts.STARTERS["naive"][1] + f"# {text}\n")


def button(at, key):
    return next((one for one in at.button if one.key == key), None)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_code_from_a_link_is_shown_and_runs_only_after_a_click_that_says_what_it_is(language, monkeypatch):
    def never(*_, **__):
        raise AssertionError("it ran")

    with monkeypatch.context() as patched:
        patched.setattr("collsim.app.pages.write.write.get_latest", never)
        at = opened(code=fresh("shown"), lang=language)
        assert not at.exception
        assert WRITE["write.link"][language == "zh"] in words(at)
        assert "# shown" in sent(at, "collsim_editor")["code"]
        typed(at, drafts.unpack_code(fresh("changed by hand")))
        assert button(at, "write_run_link").label == WRITE["write.link.run"][language == "zh"]
    button(at, "write_run_link").click().run()
    assert WRITE["write.right"][language == "zh"].split("{")[0] in words(at)
    assert button(at, "write_run_link") is None


def test_a_second_link_in_the_same_tab_asks_again_and_code_that_ran_here_does_not():
    at = opened(code=fresh("first"))
    button(at, "write_run_link").click().run()
    at.query_params["code"] = fresh("second")
    at.run()
    assert button(at, "write_run_link") is not None
    at.query_params["code"] = fresh("first")
    at.run()
    assert button(at, "write_run_link") is None
    assert WRITE["write.right"][0].split("{")[0] in words(at)


def test_a_starting_point_in_a_link_is_ours_and_runs():
    assert button(opened(code=pack_text(drafts.STARTERS["naive"][1])), "write_run_link") is None


# ---- no isolation


@pytest.fixture
def bare(monkeypatch):
    """A system that cannot isolate a process."""
    monkeypatch.setattr(consent, "detect_isolation", lambda: Isolation.NONE)
    monkeypatch.setattr(consent, "_AGREED", type(consent._AGREED)())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_allow_unsandboxed_a_server_for_others_runs_nothing(bare, monkeypatch, language):
    consent._AGREED.set()
    monkeypatch.setattr(consent, "listens_on_loopback", lambda: False)
    at = opened(start="naive", lang=language)
    assert WRITE["write.unsandboxed.open"][language == "zh"] in words(at)
    assert button(at, "write_agree") is None
    assert WRITE["write.right"][language == "zh"].split("{")[0] not in words(at)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_allow_unsandboxed_somebody_at_this_computer_agrees_once(bare, monkeypatch, language):
    monkeypatch.setattr(consent, "listens_on_loopback", lambda: True)
    at = opened(start="naive", lang=language)
    assert WRITE["write.unsandboxed.ask"][language == "zh"] in words(at)
    assert WRITE["write.right"][language == "zh"].split("{")[0] not in words(at)
    button(at, "write_agree").click().run()
    assert WRITE["write.right"][language == "zh"].split("{")[0] in words(at)
    assert button(opened(start="double", lang=language), "write_agree") is None


def test_what_is_refused_names_its_line():
    with pytest.raises(Forbidden) as refused:
        check_code("import numpy as np\n\ndef f(n):\n    yield np.fromfile('x')\n")
    assert refused.value.line == 4
    assert refused.value.key == "write.attribute"


@pytest.mark.parametrize("name", drafts.STARTERS)
def test_ordinary_code_is_allowed_and_fits_in_an_address(name):
    code = drafts.STARTERS[name][1] + "\n# 注释\nhelp_me = [k for k in range(3) if k % 2]\n"
    assert check_code(code).function.startswith("my_")
    draft, complaints = drafts.ADDRESS.read({"code": pack_text(code)})
    assert complaints == []
    assert draft.code == code


def test_the_address_holds_the_state_and_bombs_do_not_go_off():
    at = opened(ranks="5", place="dgx-a100", start="naive")
    assert {"ranks": "5", "place": "dgx-a100", "start": "naive"}.items() <= address(at).items()
    typed(at, drafts.STARTERS["naive"][1].replace("one after", "one  after"))
    assert address(at)["code"]
    assert drafts.ADDRESS.read(address(at))[0].code.count("one  after") == 1
    assert drafts.ADDRESS.read({"code": pack_text("#" * 10**7)})[1]


@pytest.mark.parametrize(
    "query",
    [
        {"code": "!!!"},
        {"code": "AAAA"},
        {"start": "<script>"},
        {"ranks": "1"},
        {"ranks": "99999"},
        {"place": "torus"},
        {"nbytes": "64M"},
    ],
)
def test_a_hostile_address_gets_one_sentence_and_a_page(query):
    at = opened(**query)
    assert not at.exception
    assert len(messages(at)) == 1
    assert not any("<script>" in e.proto.body for e in at.get("html"))
    assert sent(at, "collsim_player")


def test_a_starting_point_brings_its_collective_and_the_page_other_places():
    at = opened()
    start = next(box for box in at.sidebar.selectbox if str(box.key).startswith("w_write_start_"))
    start.set_value("broadcast").run()
    assert not at.exception
    assert at.sidebar.selectbox(key="w_collective").value == "broadcast"
    assert WRITE["write.right"][0].split("{")[0] in words(at)
    for place in ("hypercube", "pcie-8gpu", "line"):
        at.sidebar.selectbox(key="w_where").set_value(place).run()
        assert not at.exception


@pytest.mark.parametrize(
    "ending",
    [
        "cs.reduce(r, r, chunk=0)",
        "cs.reduce(r, r + 1, chunk=0)",
        "cs.copy(r, 0 * r, chunk=0)",
        "cs.copy(r, r, chunk=r / 2)",
    ],
)
def test_common_mistakes_are_told_in_both_languages(ending):
    made = try_code(HEAD + f"def f(n):\n    r = np.arange(n)\n    yield {ending}\n", "allreduce", 4)
    assert not made.passed
    assert made.describe("en").isascii()
    assert re.search("[\u4e00-\u9fff]", made.describe("zh"))
    assert not re.search(r"\b(does not exist|itself|must be|same slot)\b", made.describe("zh"))


def test_while_code_is_broken_the_last_picture_stays():
    at = opened(start="naive")
    before = sent(at, "collsim_player")["id"]
    assert WRITE["write.kept"][0] in typed(at, "def f(n:")
    assert sent(at, "collsim_player")["id"] == before


def test_a_chunk_that_nothing_writes_is_named_without_a_step():
    made = try_code(HEAD + "def f(n):\n    yield cs.copy(0, 1, chunk=1)\n", "allreduce", 4)
    assert (made.rank, made.chunk, made.step) == (0, 0, None)
    assert "look at rank 0, chunk 0." in typed(opened(), HEAD + "def f(n):\n    yield cs.copy(0, 1, chunk=1)\n")


@pytest.mark.parametrize("code", ["x" + ".foo" * 2900, "def f(n):\n    yield x" + ".foo" * 2900])
def test_a_name_of_thousands_of_parts_is_refused_in_a_sentence(code):
    with pytest.raises(Forbidden) as refused:
        check_code(code)
    assert refused.value.key in ("write.attribute", "write.deep")


@pytest.mark.parametrize("collective", list_played_collectives())
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_collective_opens_with_its_task_and_a_start_that_is_no_error(collective, language):
    at = opened(lang=language)
    at.selectbox(key="w_collective").set_value(collective).run()
    assert not at.exception
    assert say(language, f"write.task.{collective}") in words(at)
    assert messages(at) == []
    assert not any("--cs-full" in e.proto.body for e in at.get("html") if "<style>" not in e.proto.body)
    assert sent(at, "collsim_player")["timeline"]["mistake"] is None
    if collective != "allreduce":
        assert say(language, "write.begin") in words(at)


def test_code_of_ones_own_stays_when_another_collective_is_chosen():
    at = opened(code=pack_text(drafts.STARTERS["naive"][1] + "# mine\n"))
    at.selectbox(key="w_collective").set_value("broadcast").run()
    assert not at.exception
    assert "# mine" in drafts.unpack_code(address(at)["code"])


def test_an_address_with_a_collective_alone_opens_its_starting_point_and_no_mistake():
    for collective in ("broadcast", "reduce_scatter"):
        draft, complaints = drafts.ADDRESS.read({"collective": collective})
        assert (draft.collective, complaints) == (collective, [])
        assert drafts.STARTERS[draft.starter][0] == collective
        again, _ = drafts.ADDRESS.read(drafts.ADDRESS.write(draft))
        assert (again.code, again.collective) == (draft.code, collective)
    ring = replace(drafts.Draft(), collective="broadcast")  # somebody asked for the ring in its place
    again, _ = drafts.ADDRESS.read(drafts.ADDRESS.write(ring))
    assert (again.code, again.collective) == (ring.code, "broadcast")

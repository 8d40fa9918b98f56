"""A third language is one more folder: everything is rendered in a made-up one, whose texts are their own keys."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import collsim

ENGLISH = Path(collsim.__file__).parent / "locale" / "en"

RENDER = """
import warnings
import matplotlib
matplotlib.use("Agg")
warnings.simplefilter("ignore")
import collsim as cs
from collsim.analysis.run_facts import RunFacts
from collsim.lessons.chapters import SECTIONS
from collsim.locale import LANGUAGES
from collsim.viz.pictures import plots
from collsim.viz.sentences.time_sentences import describe_bottleneck
from collsim.viz.sentences.narration import narrate
from collsim.viz.timeline.timeline_document import build_timeline

assert LANGUAGES == ("en", "zh", "xx")
small = cs.simulate(cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4), "1MiB")
step = cs.training_step("gpt2", cs.machine("dgx-a100", nodes=2), parallel=cs.ddp(), micro_batch=8)
print(SECTIONS["ring"][0].title[2])
print(SECTIONS["ring"][1].fill_texts().question.record()["text"]["xx"])
print(cs.teach.questions(small, language="xx")[0])
print(cs.teach.questions(step, language="xx")[0])
print(cs.exercise("ring-allreduce", "xx"))
print(cs.exercise("small-bubble", "xx").check(4))
print(cs.teach.break_it(small, "lose", language="xx"))
print(narrate(RunFacts(small))[0][2])
print(describe_bottleneck(RunFacts(small))["text"]["xx"])
print(build_timeline(small)["steps"]["text"]["xx"][0])
print(step.explain(language="xx"))
print(step.what_if(network=2).explain(language="xx"))
print(plots.gantt(small, language="xx").get_title(loc="left"))
print(cs.algorithms()["allreduce_ring"].summary[2])
print(cs.CollsimError("no such thing").text("xx"))
"""

APP = """
from streamlit.testing.v1 import AppTest
from collsim.app import pages

for page in pages.load():
    at = AppTest.from_string(f"from collsim.app.main import main\\nmain(first={page!r})", default_timeout=120)
    at.query_params.update({"lang": "xx", "mode": "full", "machine": "no-such-machine"})
    at.run()
    assert not at.exception, (page, at.exception)
    print(page, sum("[" in element.proto.body for element in at.get("html")))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the language xx, in which every text is its key in brackets."""
    home = tmp_path_factory.mktemp("locale")
    for file in ENGLISH.rglob("*.json"):
        target = home / "xx" / file.relative_to(ENGLISH)
        target.parent.mkdir(parents=True, exist_ok=True)
        keys = json.loads(file.read_text(encoding="utf-8"))
        target.write_text(json.dumps({key: f"[{key}]" for key in keys}), encoding="utf-8")
    return home


def run(home, program):
    environment = {**os.environ, "COLLSIM_LOCALE": str(home), "COLLSIM_PROGRESS": str(home / "progress.json")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_sentences_lessons_questions_and_exercises_are_in_a_language_that_is_only_a_folder(home):
    text = run(home, RENDER)
    for key in ("ring.lesson", "ring.ask", "ring-allreduce.title", "answer.not_yet", "breaking.step_lost"):
        assert f"[{key}]" in text, text
    for key in ("narration.sentence", "causes.busy", "plots.title_who_sends_when", "allreduce_ring.summary"):
        assert f"[{key}]" in text, text
    assert "[step_explanation." in text
    assert "no such thing" in text


@pytest.mark.slow
def test_pages_of_the_app_are_drawn_in_it(home):
    counts = dict(line.split() for line in run(home, APP).splitlines() if not line.startswith("["))
    assert all(int(count) > 0 for count in counts.values()), counts
    assert len(counts) > 10, "the pages of the menu"


def test_a_folder_of_languages_that_is_none_is_left_out_with_a_warning(tmp_path):
    program = "import warnings\nwith warnings.catch_warnings(record=True) as caught:\n    warnings.simplefilter('always')\n    import collsim.locale\nprint(collsim.locale.LANGUAGES, caught[0].message)"
    assert run(tmp_path / "none", program).startswith("('en', 'zh') COLLSIM_LOCALE=")

"""What the package adds is there and works. Install it first: `pip install -e . pytest`."""

import os
import subprocess
import sys
from pathlib import Path

import collsim_example

import collsim as cs
from collsim.lessons.chapters import LESSONS


def test_the_algorithm_keeps_its_promise_for_every_number_of_ranks():
    for ranks in range(2, 17):
        cs.verify(cs.schedule("broadcast_one_by_one", ranks=ranks))


def test_the_machine_takes_as_long_as_its_cables_say():
    trace = cs.simulate(cs.schedule("broadcast_one_by_one", ranks=2), cs.machine("example-pair"), "300MB")
    assert abs(trace.time - 1e-3) < 2e-6  # 300 MB over 300 GB/s, and the latency of the cable


def test_the_format_writes_a_line_for_each_transfer(tmp_path):
    cs.save(cs.schedule("broadcast_one_by_one", ranks=3), tmp_path / "x.arrows")
    assert (tmp_path / "x.arrows").read_text() == "0 -> 1: chunk 0\n0 -> 2: chunk 0\n"


def test_the_lesson_has_its_numbers_in_both_languages():
    (lesson,) = (lesson for lesson in LESSONS.values() if lesson.sections[0].key == "one-by-one")
    telling = lesson.sections[0].fill_texts()
    assert lesson.title == ("One after the other", "逐个发送")
    assert [choice.text for choice in telling.question.choices] == [("3", "3"), ("7", "7")]
    assert str(cs.format_time(telling.trace.time)) in telling.before[0][0]


def test_the_language_is_used_and_what_it_lacks_stays_english():
    code = (
        "from collsim.locale import LANGUAGES, translate\n"
        "print(LANGUAGES, *(translate('eo', 'app', key) for key in ('page.train', 'page.race')))"
    )
    languages = Path(collsim_example.__file__).parent / "languages"
    environment = {**os.environ, "COLLSIM_LOCALE": str(languages), "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "('en', 'zh', 'eo') Trejni Race\n"

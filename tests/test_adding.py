"""Adding is one file: the smallest of each kind, as CONTRIBUTING.md has them, goes into a copy, and all doors know it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from collsim.lessons.chapters import LESSONS

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```(?:python|toml)\n# (collsim/\S+)\n(.*?)```|`(collsim/\S+)`:\n\n```json\n(.*?)```", re.DOTALL)
NUMBER = max(LESSONS) + 1
#: Tests that iterate over the registries, and the names of what is added in the names of its tests.
TESTS = ("algorithms/test_every_algorithm.py", "algorithms/test_docs.py", "topology/test_machines.py")
TESTS += ("topology/test_documentation.py", "io/test_formats.py", "teach/test_exercises.py")
TESTS += ("lessons/test_chapters.py", "algorithms/test_diagrams.py")
NAMED = "paired_ring or two-a100 or reduce-chain or [chain] or current or golden or those_of_the_catalogue"

#: Looks at the copy through the command line and the app, and prints what it sees.
LOOK = """
import json, re, sys
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner
from collsim.app.main import PAGES
from collsim.cli import app

def said(*words):
    result = CliRunner().invoke(app, words)
    return result.output if not result.exit_code else f"exit {result.exit_code}: {result.output}"

def page(name, tab="", **query):
    at = AppTest.from_string(f"from collsim.app.main import main\\nmain(first={name!r})", default_timeout=60)
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    if tab:  # of the row below the picture; what is closed is not drawn
        at.session_state["w_tables"] = tab
        at.run()
    assert not at.exception, at.exception
    return {"words": re.sub("<.*?>", " ", " ".join(e.proto.body for e in at.get("html"))),
            "choices": [str(o) for box in at.selectbox for o in box.options], "buttons": [b.label for b in at.button]}

print(json.dumps({
    "menu": list(PAGES),
    "hello": [page("hello", lang=language)["words"] for language in ("en", "zh")],
    "lesson": page("lessons", lesson=sys.argv[1]),
    "explore": page("explore", tab="Files", algorithm="allreduce_paired_ring", machine="two-a100", nodes="1", nbytes="1MiB"),
    "lists": {what: said("list", what, "--json") for what in ("algorithms", "machines", "formats")},
    "verify": said("verify", "allreduce_paired_ring", "--ranks", "1:9"),
    "verified": said("verify", "allreduce_paired_ring", "--ranks", "1:9", "--json"),
}))
"""


def files():
    """The blocks of CONTRIBUTING.md by path."""
    found = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    return {(path or data).replace("NN", f"{NUMBER:02}"): text or words for path, text, data, words in found}


def called(home, *command):
    """Run Python in the copy, which it imports instead of this tree."""
    paths = f"{home}{os.pathsep}{home / 'docs'}"  # a script of docs/ imports its neighbours
    settings = {**os.environ, "PYTHONPATH": paths, "COLLSIM_PROGRESS": str(home / "progress.json")}
    settings["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # a third of the time of a short run
    made = subprocess.run([sys.executable, *command], cwd=home, env=settings, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout[-4000:] + made.stderr[-4000:]
    return made.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the tree with one more of each, and everything generated anew from it."""
    home = tmp_path_factory.mktemp("copy")
    for folder in ("collsim", "docs", "tests", "notebooks"):
        shutil.copytree(ROOT / folder, home / folder, ignore=shutil.ignore_patterns("*.png", "*.xml.gz"))
    shutil.copy2(ROOT / "pyproject.toml", home)
    for path, text in files().items():
        assert not (home / path).exists(), path
        (home / path).write_text(text, encoding="utf-8")
    run = "import runpy, sys\nfor name in sys.argv[1:]:\n    runpy.run_path(name, run_name='__main__')"
    called(home, "-c", run, *generators())
    return home


def generators():
    """What `make docs` runs, without what does not read a registry: studies, licences, pictures, outputs of commands,
    installations, published measurements."""
    recipe = re.search(r"^docs:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    scripts = re.findall(r"^\t\$\(PYTHON\) (\S+\.py)$", recipe, re.MULTILINE)
    others = "studies|licences|numbers|screens|output_schemas|gallery|film|install"
    return [path for path in scripts if not re.search(others, path)]


@pytest.fixture(scope="module")
def new_algorithm_seen(copy):
    return json.loads(called(copy, "-c", LOOK, str(NUMBER)).splitlines()[-1])


def test_there_is_one_file_of_each_kind_and_a_page_has_its_words():
    rooms = sorted(str(Path(path).parent) for path in files())
    assert rooms == [
        "collsim/algorithms",
        "collsim/app/pages",
        "collsim/io",
        "collsim/lessons/chapters",
        *(f"collsim/locale/en/{package}" for package in ("algorithms", "app", "exercises", "lessons", "machines")),
        *(f"collsim/locale/zh/{package}" for package in ("algorithms", "app", "exercises", "lessons", "machines")),
        "collsim/teach/exercises/tasks",
        "collsim/topology/machines",
    ]


def test_they_are_written_as_the_project_writes(copy):
    paths = [str(copy / path) for path in files() if path.endswith(".py")]
    called(copy, "-m", "ruff", "check", *paths)
    called(copy, "-m", "ruff", "format", "--check", *paths)


def test_the_documents_that_are_generated_have_them(copy):
    def page(name):
        return (copy / "docs" / name).read_text(encoding="utf-8")

    assert "### allreduce_paired_ring" in page("algorithms.md")
    assert "| `two-a100` | 2 A100 with a bridge." in page("machines.md")
    assert "| `two-a100` | 2 块 A100，由 NVLink 桥连接。" in page("machines.zh.md")
    assert "| `arrows` | `.arrows` | schedule |" in page("formats.md")
    assert f"| {NUMBER} | [A chain]" in page("teaching.md")
    assert f"| {NUMBER} | [链]" in page("teaching.zh.md")
    assert "allreduce_paired_ring(4)" in (copy / "tests" / "algorithms" / "diagrams.txt").read_text()


def test_the_command_line_lists_them(new_algorithm_seen):
    names = {what: {row["name"] for row in json.loads(rows)} for what, rows in new_algorithm_seen["lists"].items()}
    assert "allreduce_paired_ring" in names["algorithms"]
    assert "two-a100" in names["machines"]
    assert "arrows" in names["formats"]


def test_verify_leaves_out_what_the_algorithm_refuses_and_says_so(new_algorithm_seen):
    assert new_algorithm_seen["verify"] == (
        "allreduce_paired_ring: correct for n = 2, 4, 6, 8; it does not take 1, 3, 5, 7, 9\n"
    )
    assert json.loads(new_algorithm_seen["verified"]) == {
        "algorithm": "allreduce_paired_ring",
        "checked": [2, 4, 6, 8],
        "left_out": [1, 3, 5, 7, 9],
        "failed": {},
    }


def test_the_app_has_the_page_the_lesson_and_the_choices(new_algorithm_seen):
    assert "hello" in new_algorithm_seen["menu"]
    assert "Hello" in new_algorithm_seen["hello"][0]
    assert "一个页面就是一个文件" in new_algorithm_seen["hello"][1]
    assert f"Lesson {NUMBER} of {NUMBER}" in new_algorithm_seen["lesson"]["words"]
    # The words that point at a rank of the picture have an element of their own.
    assert "A chain of 8 ranks takes" in " ".join(new_algorithm_seen["lesson"]["words"].split())
    assert "A chain" in new_algorithm_seen["lesson"]["buttons"]
    for name in ("paired ring", "Two A100", "a line per transfer"):
        assert [choice for choice in new_algorithm_seen["explore"]["choices"] if name in choice], name


def test_the_tests_of_the_registries_take_them_and_pass(copy):
    tests = [f"tests/{name}" for name in TESTS]
    said = called(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "-k", NAMED, *tests)
    passed = [line for line in said.splitlines() if line.startswith("PASSED")]
    for name in ("allreduce_paired_ring", "two-a100", "reduce-chain", "[chain]", "is_current", "golden", "catalogue"):
        assert [line for line in passed if name in line], name

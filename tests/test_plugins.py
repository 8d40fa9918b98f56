"""Packages that add algorithms, machines and formats: an example is installed and works; a broken one is named in a
warning and breaks nothing; code of strangers and a server that is open to a room see none."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from collsim import plugins
from collsim.app.server import startup
from collsim.errors import CollsimError

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the example in it, as pip puts it there; nothing is fetched."""
    place = tmp_path_factory.mktemp("plugin") / "site-packages"
    quiet = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *quiet, "--target", place, EXAMPLE], check=True, cwd=place.parent
    )
    return place


def run_fresh_python(code, *places, **more):
    """What a fresh Python with these packages prints: stdout and stderr."""
    path = os.pathsep.join(map(str, (*places, ROOT)))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", **more},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def package(place, group, value, code="", name="broken"):
    """A package without a build: its metadata and one module."""
    info = place / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nthing = {value}\n")
    (place / f"{name}.py").write_text(code)
    return place


# ---- the example ---------------------------------------------------------------------------------------------------


def test_what_a_package_adds_is_listed_and_works(installed, tmp_path):
    code = """
import sys, json, collsim as cs
before = 'collsim_example' in sys.modules
schedule = cs.schedule('broadcast_one_by_one', ranks=2)
cs.verify(schedule)
machine = cs.machine('example-pair')
trace = cs.simulate(schedule, machine, '300MB')
cs.save(schedule, 'out.arrows')
print(json.dumps([before, 'broadcast_one_by_one' in cs.algorithms('broadcast'), 'example-pair' in cs.machines(),
    'example-arrows' in cs.io.formats(), round(trace.time * 1e3, 3), open('out.arrows').read()]))
"""
    out, err = run_fresh_python(f"import os; os.chdir({str(tmp_path)!r})\n{code}", installed)
    assert err == ""
    # 300 MB over twelve links of NVLink 3, 300 GB/s one way: a millisecond, and the latency of the cable
    assert json.loads(out) == [False, True, True, True, pytest.approx(1.0, abs=2e-3), "0 -> 1: chunk 0\n"]


@pytest.mark.slow
def test_the_tests_of_the_template_pass_with_the_installed_package(installed):
    """The package runs them itself, in a Python that has it installed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", EXAMPLE, EXAMPLE / "tests"]
    path = os.pathsep.join(map(str, (installed, ROOT)))
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(".....")


@pytest.mark.parametrize("page", ["plugin.md", "plugin.zh.md"])
def test_the_page_shows_the_files_of_the_template(page):
    text = (ROOT / "docs" / "howto" / page).read_text(encoding="utf-8")
    shown = re.findall(
        r"^`(collsim_example/[\w./]+|pyproject\.toml|tests/\w+\.py)`[^\n]*\n\n```\w*\n(.*?)^```$", text, re.M | re.S
    )
    names = {path.relative_to(EXAMPLE).as_posix() for path in EXAMPLE.rglob("*.*") if "__pycache__" not in path.parts}
    assert {name for name, _ in shown} == names - {"collsim_example/__init__.py", "tests/test_example.py"}
    for name, block in shown:
        assert block == (EXAMPLE / name).read_text(encoding="utf-8"), name


@pytest.mark.slow
def test_a_lesson_without_texts_or_with_a_taken_key_is_left_out(tmp_path):
    head = "from collsim.lessons.lesson import Lesson, Section\n"
    places = [
        package(
            tmp_path / "a",
            "collsim.lessons",
            "noTexts:thing",
            head + "thing = Lesson((Section('no', dict, 0),))",
            "noTexts",
        ),
        package(
            tmp_path / "b",
            "collsim.lessons",
            "twice:thing",
            head + "thing = Lesson((Section('ring', dict, 0),))",
            "twice",
        ),
        package(tmp_path / "c", "collsim.lessons", "number:thing", "thing = 3", "number"),
    ]
    usual, _ = run_fresh_python("from collsim.lessons.chapters import LESSONS; print(list(LESSONS))")
    out, err = run_fresh_python("from collsim.lessons.chapters import LESSONS; print(list(LESSONS))", *places)
    assert out == usual
    for words in ("no.lesson", "ring: taken already", "3 is no Lesson"):
        assert words in err, err


def test_the_command_line_knows_them_too(installed):
    code = "from collsim.cli import app; app(['run', 'broadcast_one_by_one', '--machine', 'example-pair', '--json'])"
    out, err = run_fresh_python(code, installed)
    assert json.loads(out)["algorithm"] == "broadcast_one_by_one"
    assert err == ""


def test_another_process_of_a_sweep_finds_them(installed):
    code = """
import collsim as cs, pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
with ProcessPoolExecutor(1, mp_context=get_context('spawn')) as pool:
    print(pool.submit(repr, cs.registry.get_algorithm('broadcast_one_by_one')).result())
"""
    code = "if __name__ == '__main__':\n" + "\n".join("    " + line for line in code.strip().splitlines())
    assert "broadcast_one_by_one" in run_fresh_python(code, installed)[0]


def test_nothing_of_others_is_imported_for_what_the_package_itself_has(installed):
    code = """
import sys, collsim as cs
cs.simulate(cs.schedule('allreduce_ring', ranks=4), cs.topology.switch(4), '1MiB')
print('collsim_example' in sys.modules)
cs.algorithms()
print('collsim_example' in sys.modules)
"""
    assert run_fresh_python(code, installed)[0].split() == ["False", "True"]


def test_a_switch_leaves_them_out(installed):
    code = "import collsim as cs; print('example-pair' in cs.machines(), 'broadcast_one_by_one' in cs.algorithms())"
    assert run_fresh_python(code, installed)[0] == "True True"
    assert run_fresh_python(code, installed, COLLSIM_PLUGINS="0")[0] == "False False"


# ---- broken ones ---------------------------------------------------------------------------------------------------

LIST = """
import collsim as cs
print([*cs.algorithms(), *cs.machines(), *cs.io.formats()])
cs.verify(cs.schedule('allreduce_ring', ranks=4))
"""
OVERRIDES = """
import collsim as cs

@cs.algorithm("allreduce")
def a_new_one(n):
    yield cs.copy(0, 1, chunk=0)

@cs.algorithm("allreduce")
def allreduce_ring(n):
    yield cs.copy(0, 1, chunk=0)
"""
HALF = OVERRIDES.partition('@cs.algorithm("allreduce")\ndef allreduce_ring')[0] + "1 / 0\n"


BROKEN = [
    ("collsim.algorithms", "broken", "1 / 0", "ZeroDivisionError: division by zero"),
    ("collsim.algorithms", "broken", "import sys; sys.exit(3)", "SystemExit: 3"),
    ("collsim.algorithms", "broken", "def (", "SyntaxError"),
    ("collsim.algorithms", "nowhere", "", "No module named 'nowhere'"),
    ("collsim.algorithms", "broken:missing", "", "no attribute 'missing'"),
    ("collsim.algorithms", "broken:thing", "thing = 3", "3 is no algorithm"),
    ("collsim.algorithms", "broken", OVERRIDES, "allreduce_ring: taken already"),
    ("collsim.algorithms", "broken", HALF, "ZeroDivisionError"),
    ("collsim.machines", "broken:thing", "thing = ['dgx']", "'dgx' is no Machine"),
    ("collsim.machines", "broken:thing", "import collsim as cs\nthing = cs.machines()['dgx-a100'].__class__", "no Machine"),
    ("collsim.algorithms", "broken", "class E(Exception):\n    def __str__(self):\n        1 / 0\nraise E", "left out: E"),
    ("collsim.algorithms", "broken", "raise ValueError('two\\nlines')", "ValueError: two lines"),
    ("collsim.formats", "broken:thing", "thing = {}", "{} is no Format"),
    ("collsim.formats", "broken", "import collsim.io as e\ne.register(e.Format('json', (), 'schedule', ''))", "json: taken"),
]  # fmt: skip


@pytest.fixture(scope="module")
def broken(tmp_path_factory, installed):
    """What a Python says that has every broken package and, behind them, the example."""
    top = tmp_path_factory.mktemp("broken")
    places = [
        package(top / str(k), group, value.replace("broken", f"broken{k}"), code, f"broken{k}")
        for k, (group, value, code, _) in enumerate(BROKEN)
    ]
    return run_fresh_python(LIST, *places, installed)


@pytest.fixture(scope="module")
def usual(installed):
    return run_fresh_python(LIST, installed)


@pytest.mark.parametrize(("number", "case"), list(enumerate(BROKEN)))
def test_one_that_is_broken_is_named(broken, number, case):
    (line,) = [one for one in broken[1].splitlines() if f"the package 'broken{number}'" in one and "left out" in one]
    assert f"{case[0]}: 'thing' of" in line
    assert case[3] in line


def test_broken_ones_change_nothing_and_keep_no_other_out(broken, usual):
    assert broken[0] == usual[0]
    assert usual[1] == ""
    assert "broadcast_one_by_one" in broken[0]


def test_a_package_may_ask_for_the_list_while_it_is_imported(tmp_path, installed, usual):
    code = "import collsim as cs\nassert cs.algorithms() and cs.machines()\n"
    place = package(tmp_path / "here", "collsim.algorithms", "broken", code)
    assert run_fresh_python(LIST, place, installed) == usual


def test_what_a_package_prints_stands_in_no_json_document(tmp_path):
    place = package(tmp_path / "here", "collsim.algorithms", "broken", "print('welcome')\nimport os\n")
    out, err = run_fresh_python("from collsim.cli import app; app(['list', 'algorithms', '--json'])", place)
    assert json.loads(out)
    assert "welcome" in err


def test_ctrl_c_while_packages_are_imported_loses_none(installed):
    code = """
import collsim as cs
from importlib.metadata import EntryPoint
load = EntryPoint.load
def stopped(entry):
    EntryPoint.load = load
    raise KeyboardInterrupt
for listed, name in ((cs.algorithms, 'broadcast_one_by_one'), (cs.machines, 'example-pair')):
    EntryPoint.load = stopped
    try:
        listed()
    except KeyboardInterrupt:
        print(name in listed())
"""
    assert run_fresh_python(code, installed) == ("True\nTrue", "")


#: A package that adds a machine after it asked for the list itself, with all files read once more, as a second thread
#: may read them at the same time as the first.
ASKING = """
import collsim as cs
from dataclasses import replace
from collsim.topology.machines.machine_files import read_machine
read_machine.cache_clear()
thing = replace(cs.machines()['dgx-a100'], name='mine')
"""


def test_a_package_that_reads_the_catalogue_while_it_is_imported_replaces_no_machine(tmp_path):
    place = package(tmp_path / "here", "collsim.machines", "broken:thing", ASKING)
    assert run_fresh_python("import collsim as cs; print('mine' in cs.machines())", place) == ("True", "")


def test_threads_that_ask_at_the_same_time_all_find_what_packages_add(tmp_path):
    place = package(tmp_path / "here", "collsim.machines", "broken:thing", "import time; time.sleep(0.5)" + ASKING)
    code = """
import threading, collsim as cs
threads = [threading.Thread(target=cs.machines) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print('mine' in cs.machines())
"""
    assert run_fresh_python(code, place) == ("True", "")


# ---- sandbox -------------------------------------------------------------------------------------------------------

STUDENT = """
import collsim as cs

def send_one_chunk(n):
    if "broadcast_one_by_one" in cs.algorithms():
        raise RuntimeError("a package of the server's owner was imported")
    yield cs.copy(0, 1, chunk=0)
"""


def test_the_processes_around_a_strangers_code_import_none(installed, tmp_path):
    (tmp_path / "ada.py").write_text(STUDENT)
    code = f"""
import sys; sys.path.append({str(installed)!r})
import collsim as cs
print('broadcast_one_by_one' in cs.algorithms())
frame = cs.grade({str(tmp_path)!r}, only=['send-one-chunk'], allow_unsandboxed=True)
print(frame.passed.tolist())
"""
    code = "if __name__ == '__main__':\n" + "\n".join("    " + line for line in code.strip().splitlines())
    assert run_fresh_python(code, installed)[0].split("\n") == ["True", "[True]"]


@pytest.mark.parametrize(
    ("room", "asked", "held"), [(True, None, "0"), (True, "1", "1"), (False, None, None), (True, "0", "0")]
)
def test_a_server_that_is_open_to_a_class_imports_none_unless_it_is_told_to(monkeypatch, room, asked, held):
    monkeypatch.setattr(startup, "get_join_code", lambda: object() if room else None)
    monkeypatch.setenv(plugins.SWITCH, asked or "")
    if asked is None:
        monkeypatch.delenv(plugins.SWITCH)
    startup.build_middleware(lambda path, query: "")
    assert os.environ.get(plugins.SWITCH) == held
    assert plugins.is_disabled() == (held == "0")


def test_a_registry_is_as_it_was_after_whatever_is_raised():
    registry = {"a": 1}
    with pytest.raises(KeyboardInterrupt):
        plugins.register_into(registry, lambda: registry.update(a=2, b=3) or (_ for _ in ()).throw(KeyboardInterrupt))
    assert registry == {"a": 1}
    with pytest.raises(CollsimError, match="a: taken already"):
        plugins.register_into(registry, lambda: registry.update(a=2, b=3))
    assert registry == {"a": 1}
    plugins.register_into(registry, lambda: registry.update(b=3))
    assert registry == {"a": 1, "b": 3}


def test_threads_may_import_what_reads_resources_and_what_reads_metadata_at_once():
    """Python ends one of two imports that wait for each other, unless the common part was imported before."""
    code = """
import sys
import collsim
sys.exit(not {"importlib.resources", "importlib.resources.abc"} <= sys.modules.keys())
"""
    subprocess.run([sys.executable, "-c", code], check=True)

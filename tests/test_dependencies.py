"""A core installation: whatever needs a package of an extra says which, in a sentence, and the rest works."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import files, requires
from pathlib import Path

import pytest
from every_command import COMMANDS, FILES, SERVE
from make_install import PAGES, ROW, list_extras
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from collsim.errors import dependencies
from collsim.errors.dependencies import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
#: What only extras bring, by the name under which it is imported.
OPTIONAL = (
    *("pandas", "matplotlib", "PIL", "networkx", "numba", "streamlit", "scipy", "mcp"),
    *("distributed", "dask", "google", "ortools", "anywidget", "IPython", "pyarrow", "psutil"),
)
_WITHOUT = """
import json, sys

sys.path.insert(0, {root!r})
blocked = set({blocked!r})


class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {{name.split('.')[0]!r}}", name=name.split(".")[0])


sys.meta_path.insert(0, Block())
"""
_COMMANDS = """
import contextlib, io
from functools import partial
from typer.testing import CliRunner
import collsim.site
from collsim.cli import app
from collsim.site.gallery import NETWORKS

# A part of the site needs the same packages as all of it.
collsim.site.build_site = partial(collsim.site.build_site, networks=NETWORKS[:1], only=["allreduce_ring"])
answers = {}
for name, words in json.loads(sys.stdin.read()).items():
    result = CliRunner().invoke(app, [name, *words])
    fault = result.exception
    unexpected = None if fault is None or isinstance(fault, SystemExit) else repr(fault)
    answers[name] = [result.exit_code, result.stderr, unexpected]
print(json.dumps(answers), file=sys.__stdout__)
"""
_CALLS = """
import tempfile
from pathlib import Path

import collsim as cs
from collsim import viz
from collsim.viz.pictures import plots

ring = cs.schedule("allreduce_ring", ranks=4)
machine = cs.machine("dgx-a100")
switch = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
trace = cs.simulate(ring, switch, "1MiB")
step = cs.training_step("resnet50", machine, parallel=cs.ddp(), batch=256)
folder = Path(tempfile.mkdtemp())
sysctl = folder / "sysctl.txt"
sysctl.write_text("kernel.numa_balancing = 0")
calls = {
    "links": lambda: trace.links,
    "to_frame": lambda: trace.to_frame(),
    "bottleneck": lambda: trace.bottleneck,
    "row": lambda: trace.row(),
    "compare": lambda: cs.compare("allreduce", switch, nbytes=["1MiB"]),
    "best": lambda: cs.best("allreduce", switch, nbytes="1MiB"),
    "crossover": lambda: cs.crossover("allreduce_ring", "allreduce_tree", switch),
    "sweep": lambda: cs.sweep(algorithm="allreduce_ring", topology=switch, nbytes="1MiB"),
    "best_parallel": lambda: cs.best_parallel("gpt2", machine, batch=32),
    "upgrades": lambda: cs.upgrades(step),
    "draw": lambda: switch.draw(),
    "from_networkx": lambda: cs.Topology.from_networkx(None),
    "to_networkx": lambda: switch.to_networkx(),
    "html": lambda: trace.animate(),
    "save html": lambda: trace.save(folder / "x.html"),
    "save json": lambda: trace.save(folder / "x.json"),
    "save png": lambda: trace.save(folder / "x.png"),
    "save gif": lambda: trace.save(folder / "x.gif"),
    "save svg": lambda: trace.save(folder / "x.svg"),
    "step explain": lambda: step.explain(),
    "step plot": lambda: step.plot(),
    "step memory": lambda: step.memory,
    "predict": lambda: cs.nccl.predict("allreduce", machine, "1GiB").time,
    "load": lambda: cs.load(ROOT / "examples" / "algorithm.xml"),
    "exercise": lambda: cs.exercise("send-one-chunk"),
    "models": lambda: cs.models(),
    "algorithms": lambda: str(cs.algorithms()),
    "synthesize": lambda: cs.synthesize("allgather", switch),
    "questions": lambda: cs.teach.questions(trace, seed=1, count=3),
    "diagnose": lambda: cs.diagnose(sysctl),
    "plot": lambda: plots.gantt(trace),
}
answers = {}
for name, call in calls.items():
    try:
        call()
        answers[name] = None
    except Exception as error:
        answers[name] = [isinstance(error, cs.CollsimError), str(error)]
print(json.dumps(answers))
"""


def run_without(program, *blocked, folder, words=""):
    """What a program prints in a process that cannot import some packages."""
    head = (
        _WITHOUT.format(root=str(ROOT), blocked=list(blocked))
        + f"from pathlib import Path\nROOT = Path({str(ROOT)!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", head + program], input=words, capture_output=True, text=True, timeout=300, cwd=folder
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_call_works_or_names_the_extra(tmp_path):
    answers = run_without(_CALLS, *OPTIONAL, folder=tmp_path)
    works = {name for name, answer in answers.items() if answer is None}
    for name in answers.keys() - works:
        is_own, message = answers[name]
        assert is_own, (name, message)
        assert re.search(r"pip install ['\"]collsim\[\w+\]", message), (name, message)
    assert works >= {"bottleneck", "row", "html", "save json", "step explain", "models", "algorithms", "questions"}
    assert not works & {"links", "to_frame", "compare", "sweep", "draw", "save png", "save gif", "from_networkx"}


def test_every_command_works_or_names_the_extra(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    words = {name: words for name, words in COMMANDS.items() if name not in SERVE}
    answers = run_without(_COMMANDS, *OPTIONAL, folder=tmp_path, words=json.dumps(words))
    for name, (code, message, unexpected) in answers.items():
        assert unexpected is None, (name, unexpected)
        if code != 0:
            assert re.search(r"pip install ['\"]collsim\[\w+\]", message), (name, message)
    works = {name for name, (code, *_) in answers.items() if code == 0}
    for page in PAGES:  # the page on installation names those that work
        sentence = re.search(r"^[^\n]*`list`.*?(?=\. |。)", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        assert set(re.findall(r"`([\w-]+)`", sentence[0])) == works


def test_the_page_on_installation_has_every_extra():
    for page in PAGES:
        rows = [match[2] or "" for match in ROW.finditer(page.read_text("utf-8"))]
        assert sorted(rows) == sorted(list_extras())


def list_installed(requirement, seen):
    """Names of an installed package and of all that it needs, with the extras of the requirement."""
    if (requirement.name, *requirement.extras) in seen:
        return
    seen.add((requirement.name, *requirement.extras))
    for line in requires(requirement.name) or ():
        need = Requirement(line)
        if need.marker is None or any(need.marker.evaluate({"extra": name}) for name in ("", *requirement.extras)):
            list_installed(need, seen)


def measure_installed(extra):
    """Size of the packages that an extra needs (MB), as they are installed here, without collsim and bytecode."""
    seen = set()
    list_installed(Requirement(f"collsim[{extra}]" if extra else "collsim"), seen)
    listed = [file for name in {canonicalize_name(name) for name, *_ in seen} - {"collsim"} for file in files(name)]
    return (
        sum(path.stat().st_size for file in listed if file.suffix != ".pyc" and (path := Path(file.locate())).is_file())
        / 1e6
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the page has the sizes on Linux")
@pytest.mark.slow
def test_the_sizes_on_the_page_are_those_of_the_packages():
    """The page was measured in empty folders, with collsim itself."""
    stated = {match[2] or "": float(match[0].split("|")[-2]) for match in ROW.finditer(PAGES[0].read_text("utf-8"))}
    for extra in ("", "table", "plot", "graph", "app", "mcp", "synthesis"):
        assert stated[extra] - stated[""] == pytest.approx(
            measure_installed(extra) - measure_installed(""), rel=0.1, abs=3
        ), extra
    assert measure_installed("") < stated[""] < measure_installed("") + 20
    assert stated[""] < 100, "the core is small"


def test_the_extras_that_errors_name_bring_the_package():
    """By its name on the index."""
    for package, extra in EXTRAS.items():
        name = {"PIL": "pillow"}.get(package, package)
        assert any(re.match(rf"{name}\b", line) for line in PROJECT["optional-dependencies"][extra]), package


def test_the_core_has_no_large_package_and_the_app_has_all():
    core = {re.split(r"[<>=\[]", line)[0] for line in PROJECT["dependencies"]}
    assert core == {"numpy", "ml_dtypes", "typer", "rich", "tqdm", "pyyaml", "defusedxml", "platformdirs"}
    assert set(EXTRAS.values()) | {"fast"} <= set(
        re.search(r"collsim\[(.*)\]", PROJECT["optional-dependencies"]["app"][0])[1].split(",")
    )


def test_an_unknown_name_is_no_dependency():
    with pytest.raises(AttributeError, match="no attribute 'numpyy'"):
        _ = dependencies.numpyy

"""The names that people use, and what importing them costs."""

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from collections import Counter
from functools import cached_property

import pytest

import collsim as cs
from collsim.collective import get_collective


def test_everything_promised_is_there():
    for name in cs.__all__:
        assert getattr(cs, name) is not None, name


def test_the_package_shows_its_public_names_and_nothing_else():
    assert dir(cs) == sorted(cs.__all__)


def test_import_is_light():
    """Pictures, tables and compilers are loaded when they are used, not before."""
    heavy = "matplotlib numba pandas streamlit networkx PIL"
    code = f"import collsim, sys; print([m for m in {heavy.split()!r} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


#: Functions at the top that have the name of the package or module behind them.
FUNCTIONS_BEFORE_MODULES = ("algorithms", "replay", "schedule", "simulate", "sweep", "verify")
#: Packages whose names are public, beside those at the top.
NAMESPACES = (
    "analysis",
    "diagnosis",
    "inference",
    "io",
    "lab",
    "nccl",
    "programs",
    "purchases",
    "simulate",
    "steps",
    "sweep",
    "synthesis",
    "teach",
    "topology",
    "train",
    "viz",
)
#: Names that outside code calls at the top, wherever they live: `../shared/design.md` and the README promise them.
PROMISED = """
    Topology algorithm algorithms best best_parallel compare context copy crossover data_parallel ddp exercise expert
    fsdp grade load load_topology lower_bound machine machines model parameter_server pipeline reduce replay
    run_for_real save schedule simulate size_range sweep synthesize tensor training_step verify zero
    CollsimError FormatError ScheduleError TopologyError topology nccl
""".split()  # noqa: SIM905 (one word a line is forty lines)


def list_modules():
    skipped = ("collsim.__main__", "collsim.app.entry.", "collsim.lab.rank_worker", "collsim.lab.ranks.by_mpi")
    found = [module.name for module in pkgutil.walk_packages(cs.__path__, "collsim.")]
    return [
        name for name in found if not name.startswith(skipped) and ".hanging." not in name and ".fixed." not in name
    ]


def test_every_module_is_reached_by_its_dotted_name():
    """In a process of its own, where no other test has imported modules in an order that hides a fault."""
    code = """
import importlib, sys
names = sys.argv[1:]
for name in names:
    importlib.import_module(name)
wrong = []
for name in names:
    value = sys.modules["collsim"]
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    if value is not sys.modules[name]:
        wrong.append(name)
print(*wrong)
"""
    names = list_modules()
    assert len(names) > 600
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(f"collsim.{name}" for name in FUNCTIONS_BEFORE_MODULES)


@pytest.mark.parametrize("name", FUNCTIONS_BEFORE_MODULES)
def test_a_function_named_like_its_module_has_everything_of_the_module(name):
    function, module = getattr(cs, name), importlib.import_module(f"collsim.{name}")
    assert inspect.isfunction(function)
    for part, value in vars(module).items():
        if not part.startswith("__"):
            assert getattr(function, part) is value, part


def test_modules_behind_functions_are_imported_as_all_others():
    import collsim.simulate.run
    import collsim.sweep.plan

    assert collsim.simulate.run.simulate is cs.simulate
    assert callable(collsim.sweep.plan.read_plan)
    assert inspect.ismodule(collsim.simulate.lockstep)


def test_every_public_name_lives_in_one_namespace():
    homes = Counter(cs.__all__)
    for namespace in NAMESPACES:
        module = importlib.import_module(f"collsim.{namespace}")
        for name in module.__all__:
            assert getattr(module, name) is not None, f"{namespace}.{name}"
        homes.update(module.__all__)
    assert [name for name, count in homes.items() if count > 1] == []
    assert len(cs.__all__) <= 52


def test_what_is_promised_at_the_top_is_there_also_where_it_lives_in_a_package():
    for name in PROMISED:
        assert getattr(cs, name) is not None, name
    short = [(name, package) for package, names in cs._LATE_NAMES.items() for name in names if name not in cs.__all__]
    assert len(short) > 10
    for name, package in short:
        module = importlib.import_module(f"collsim.{package}")
        assert getattr(cs, name) is getattr(module, name)
        assert name in module.__all__


def test_completion_shows_the_public_names_of_a_namespace_and_nothing_else():
    for namespace in (
        "analysis",
        "diagnosis",
        "io",
        "lab",
        "nccl",
        "programs",
        "synthesis",
        "teach",
        "topology",
        "train",
    ):
        module = importlib.import_module(f"collsim.{namespace}")
        assert dir(module) == sorted(module.__all__), namespace


def test_the_example_of_the_package_docstring():
    s = cs.schedule("allreduce_ring", ranks=8)
    cs.verify(s)
    t = cs.simulate(s, cs.topology.switch(8, bandwidth="25GB/s", alpha="1us"), nbytes="64MiB")
    # 14 steps, each 8 MiB through two cables: 8 MiB / 25 GB/s + 2 us
    assert t.time == pytest.approx(14 * (8 * 2**20 / 25e9 + 2e-6), rel=1e-9)


def test_everything_public_says_what_it_is():
    for name in cs.__all__:
        thing = getattr(cs, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for part, value in vars(thing).items():
                if not part.startswith("_") and (
                    inspect.isfunction(value) or isinstance(value, property | cached_property)
                ):
                    assert inspect.getdoc(value), f"{name}.{part}"


def test_what_people_hold_can_be_hashed_and_travels_to_another_process():
    s = cs.schedule("broadcast_chain", ranks=4, chunks=3)
    topo = cs.topology.ring(4)
    for thing in (s, topo, cs.simulate(s, topo, 64), cs.algorithms()["allreduce_ring"], get_collective("allreduce")):
        assert isinstance(hash(thing), int)
        assert repr(pickle.loads(pickle.dumps(thing))) == repr(thing)
    assert pickle.loads(pickle.dumps(cs.algorithms()["allreduce_ring"])) is cs.algorithms()["allreduce_ring"]


def test_what_a_run_says_cannot_be_changed_by_accident():
    s = cs.schedule("allreduce_ring", ranks=4)
    t = cs.simulate(s, cs.topology.ring(4), 64)
    for array in (
        s.transfers,
        t.link_bytes,
        t.link_busy,
        t.sent_bytes,
        t.received_bytes,
        t.start,
        t.finish,
        t.topology.endpoint_device,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    table = t.links
    table["bytes"] = 0
    assert t.links["bytes"].sum() == 4 * 6 * 16


def test_an_algorithm_shows_how_to_call_it():
    assert repr(cs.algorithms()["allreduce_tree"]) == "<Algorithm allreduce_tree(n, root=0, chunks=1) for allreduce>"

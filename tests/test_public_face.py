"""The names that people use, and what importing them costs."""

import inspect
import pickle
import subprocess
import sys
from functools import cached_property

import pytest

import collsim as cs


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


def test_functions_named_like_their_module_do_not_hide_it():
    import collsim.replay
    import collsim.schedule
    import collsim.simulate.run
    import collsim.sweep.plan

    assert collsim.simulate.run.simulate is cs.simulate
    assert collsim.replay.replay is cs.replay
    assert collsim.schedule.Schedule is cs.Schedule
    assert callable(collsim.sweep.plan.read_plan)
    assert inspect.ismodule(collsim.simulate.lockstep)
    assert all(callable(f) for f in (cs.schedule, cs.simulate, cs.replay, cs.verify, cs.algorithms, cs.sweep))


def test_the_strategies_of_a_step_are_those_of_its_package():
    for name in ("ddp", "zero", "fsdp", "tensor", "context", "expert", "pipeline", "data_parallel", "parameter_server"):
        assert getattr(cs, name) is getattr(cs.train, name)


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
    for thing in (s, topo, cs.simulate(s, topo, 64), cs.algorithms()["allreduce_ring"], cs.collective("allreduce")):
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

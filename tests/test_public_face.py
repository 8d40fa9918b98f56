"""The names that people use, and what importing them costs."""

import subprocess
import sys

import pytest

import collsim as cs


def test_everything_promised_is_there():
    for name in cs.__all__:
        assert getattr(cs, name) is not None, name


def test_import_is_light():
    """Pictures, tables and compilers are loaded when they are used, not before."""
    heavy = "matplotlib numba pandas streamlit networkx PIL"
    code = f"import collsim, sys; print([m for m in {heavy.split()!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_submodules_do_not_hide_the_functions_of_the_same_name():
    import collsim.replay
    import collsim.schedule
    import collsim.simulate
    import collsim.sweep
    import collsim.verify  # noqa: F401

    assert all(callable(f) for f in (cs.schedule, cs.simulate, cs.replay, cs.verify, cs.algorithms, cs.sweep))


def test_the_example_of_the_package_docstring():
    s = cs.schedule("allreduce_ring", ranks=8)
    cs.verify(s)
    t = cs.simulate(s, cs.topology.switch(8, bandwidth="25GB/s", alpha="1us"), nbytes="64MiB")
    # 14 steps, each 8 MiB through two cables: 8 MiB / 25 GB/s + 2 us
    assert t.time == pytest.approx(14 * (8 * 2**20 / 25e9 + 2e-6), rel=1e-9)

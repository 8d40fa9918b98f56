"""The core needs numpy alone: what compiles, draws and prints makes it faster or nicer, and changes no number."""

import json
import subprocess
import sys

import numpy as np

#: What a process without them must not need: compilers, tables, pictures, command line, files of other tools.
OPTIONAL = (
    *("numba", "pandas", "matplotlib", "typer", "rich", "PIL", "scipy"),
    *("networkx", "tqdm", "yaml", "ml_dtypes", "platformdirs", "defusedxml"),
)

_PROGRAM = """
import json, sys

blocked = set(sys.argv[1:])


class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Block())
import numpy as np

import collsim as cs

figures = {}
machine = cs.machine("dgx-a100", nodes=2)
networks = {"dgx-a100": machine, "torus": cs.topology.torus([4, 4], bandwidth="25GB/s", alpha="1us")}
for name in ("allreduce_ring", "allreduce_tree", "alltoall_direct", "allgather_bruck", "reduce_scatter_recursive_halving"):
    schedule = cs.schedule(name, ranks=16)
    cs.verify(schedule)
    for network, topology in networks.items():
        for engine in ("lockstep", "event"):
            trace = cs.simulate(schedule, topology, nbytes="1MiB", engine=engine)
            bound = cs.lower_bound(trace.schedule.collective, topology, nbytes="1MiB")
            figures[f"{name} {network} {engine}"] = [trace.time, trace.busbw, int(trace.link_bytes.sum()), bound.time]
prediction = cs.nccl.predict("allreduce", machine, "64MiB")
figures["predict"] = [prediction.time, prediction.low, prediction.high]
figures["replay"] = cs.replay(cs.schedule("allreduce_ring", ranks=4), np.arange(16.0).reshape(4, 4)).tolist()
for parallel in (cs.ddp(), cs.tensor(8) * cs.zero(1), cs.fsdp()):
    step = cs.training_step("gpt2", machine, parallel=parallel, batch=32)
    figures[parallel.label] = [step.time, step.exposed, step.memory.max()]
print(json.dumps({"figures": figures, "loaded": sorted(blocked & {name.split(".")[0] for name in sys.modules})}))
"""


def run_core(*blocked):
    """What the core says in a process of its own, in which some packages cannot be imported."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *blocked], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_the_core_runs_with_numpy_alone_and_says_the_same():
    alone, usual = run_core(*OPTIONAL), run_core()
    assert alone["loaded"] == []
    assert alone["figures"].keys() == usual["figures"].keys()
    assert len(usual["figures"]) == 25
    for name, values in usual["figures"].items():
        np.testing.assert_allclose(alone["figures"][name], values, rtol=1e-12, err_msg=name)


def test_a_blocked_package_is_missed_by_what_needs_it():
    """The check would pass if nothing were blocked: a table needs pandas."""
    program = _PROGRAM.partition("networks =")[0] + "cs.compare('allreduce', machine, nbytes=['1MiB'])"
    done = subprocess.run([sys.executable, "-c", program, "pandas"], capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert (
        'CollsimError: this needs the package pandas, which is not installed: pip install "collsim[table]"'
        in done.stderr
    )


def test_the_import_loads_none_of_them():
    program = "import sys, collsim; print(*sorted(set(sys.argv[1:]) & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program, *OPTIONAL], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "")

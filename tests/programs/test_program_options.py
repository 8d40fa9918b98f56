"""Options of torch.distributed, mpi4py, threads and queues: each changes what it changes there, or ends the run."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from collsim import rank_engine
from collsim.package_data import read_toml
from collsim.rank_engine import torch_dialect
from collsim.rank_engine.engine import Engine, RunMode
from collsim.rank_engine.mpi_dialect import build_mpi_modules
from collsim.rank_engine.torch_dialect import TorchDistributed

FOLDER = Path(rank_engine.__file__).parent
PATHS = [
    FOLDER / name
    for name in (
        "torch_dialect.py", "mpi_dialect.py", "process_dialect.py", "execute.py", "stand_ins/mesh_groups.py",
        "stand_ins/tensors.py", "stand_ins/torch_functions.py",
    )
]  # fmt: skip
#: Options that change no numbers and no messages here, each with a reason in its docstring.
WITHOUT_EFFECT = {
    "timeout", "pg_options", "group_desc", "device_id", "init_method", "store", "group_name", "backend_override",
    "device", "use_batch", "fallback_rank", "non_blocking", "memory_format", "stable", "sorted", "info", "reorder",
    "name", "context", "debug", "loop_factory", "flush", "daemon", "start_method", "method", "force", "group",
    "types", "globals_", "locals_", "level", "memo", "index", "type", "count", "mode", "global_rank", "requires_grad",
    "ready", "return_scalar",
}  # fmt: skip
FUNCTIONS = [
    pytest.param(node, id=f"{path.stem} {node.lineno} {node.name}")
    for path in PATHS
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.FunctionDef)
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_option_is_ignored(function):
    """Each is read or is one of those without effect; nothing takes any option and forgets it."""
    read = {node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    arguments = function.args
    names = {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument is not None}
    if function.name in ("__exit__", "_choose_source", "enter", "operation_of"):
        return
    assert names - {"self", "cls"} - read - WITHOUT_EFFECT == set()


ROWS = read_toml(torch_dialect.__file__, "torch_dialect.toml")
METHODS = [
    name for name, value in vars(TorchDistributed).items() if not name.startswith("_") and inspect.isfunction(value)
]


def list_parameters(function, *, drop=("self",)):
    return [
        (parameter.name, parameter.kind)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in drop and not parameter.name.startswith("_")
    ]


@pytest.mark.parametrize("name", METHODS)
def test_parameters_are_those_of_torch_in_its_order(name):
    dist = pytest.importorskip("torch.distributed", reason="torch is an extra")
    if name == "make_mesh":
        return
    ours = getattr(TorchDistributed, name)
    if name in ROWS:
        ours = eval(f"lambda {ROWS[name]['parameters']}: None")
    assert list_parameters(ours) == list_parameters(getattr(dist, name))


def test_parameters_are_those_of_mpi4py_in_its_order():
    mpi4py = pytest.importorskip("mpi4py", reason="mpi4py is an extra")
    theirs = {}
    for node in ast.parse((Path(mpi4py.__file__).parent / "MPI.pyi").read_text()).body:
        if isinstance(node, ast.ClassDef):
            bases = [theirs.get(base.id, {}) for base in node.bases if isinstance(base, ast.Name)]
            theirs[node.name] = {name: names for base in bases for name, names in base.items()}
            for function in node.body:
                if isinstance(function, ast.FunctionDef):
                    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
                    theirs[node.name][function.name] = names
    module = build_mpi_modules(Engine(1, RunMode(), frozenset()), 0)["mpi4py.MPI"]
    for ours, name in (("Comm", "Intracomm"), ("Status", "Status"), ("Request", "Request"), ("Group", "Group")):
        kind = getattr(module, ours)
        for word, names in theirs[name].items():
            function = inspect.getattr_static(kind, word, None)
            if isinstance(function, staticmethod):
                function = function.__func__
            if word.startswith("_") or not inspect.isfunction(function):
                continue
            parameters = [name for name, _ in list_parameters(function)]
            if parameters == ["args", "kwargs"]:  # of the table of collectives, whose documentation has it
                text = function.__doc__.partition("(")[2].partition(")")[0]
                parameters = list(inspect.signature(eval(f"lambda {text}: None")).parameters)
            assert parameters == names, word


# ---- torch.distributed

TORCH = "import torch\nimport torch.distributed as dist\nrank, size = dist.get_rank(), dist.get_world_size()\n"
#: Programs of four ranks, and what gloo of torch 2.13 gave.
GLOO_RUNS = {
    "a group in its own order": (
        "g = dist.new_group([2, 0, 1], sort_ranks=False)\nx = torch.ones(1) * rank\n"
        "if rank < 3:\n    dist.broadcast(x, group_src=0, group=g)\n"
        "result = [dist.get_rank(g), x.item()]\n",
        [[1, 2.0], [2, 2.0], [0, 2.0], [-1, 3.0]],
    ),
    "groups that only their members make": (
        "g = dist.new_group([0, 1] if rank < 2 else [2, 3], use_local_synchronization=True)\nx = torch.ones(1) * rank\n"
        "dist.all_reduce(x, group=g)\nresult = [x.item(), dist.new_group([0], use_local_synchronization=True) is None]\n",
        [[1.0, False], [1.0, True], [5.0, True], [5.0, True]],
    ),
    "groups of a group": (
        "half = dist.new_group([0, 1])\nresult = None\nif rank < 2:\n    g, all_groups = dist.new_subgroups(1, half)\n"
        "    result = [dist.get_process_group_ranks(g), len(all_groups)]\n",
        [[[0], 2], [[1], 2], None, None],
    ),
    "several tensors": (
        "x = [torch.ones(2), torch.ones(2, 1) * rank]\ndist.all_reduce_coalesced(x)\n"
        "future = dist.all_reduce_coalesced(x, async_op=True)\nfuture.wait()\nresult = [part.tolist() for part in x]\n",
        [[[16.0, 16.0], [[24.0], [24.0]]]] * 4,
    ),
    "a mesh": (
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "m = init_device_mesh('cpu', (2, 2), mesh_dim_names=('dp', 'tp'))\nx, y = torch.ones(1) * rank, torch.ones(1) * rank\n"
        "dist.all_reduce(x, group=m.get_group('tp'))\ndist.all_reduce(y, group=m['dp'].get_group())\n"
        "groups = [dist.get_process_group_ranks(g) for g in m.get_all_groups()]\n"
        "result = [x.item(), y.item(), m.get_local_rank('tp'), list(m.get_coordinate()), list(m.shape), m.size(0), groups]\n",
        [
            [1.0, 2.0, 0, [0, 0], [2, 2], 2, [[0, 2], [0, 1]]],
            [1.0, 4.0, 1, [0, 1], [2, 2], 2, [[1, 3], [0, 1]]],
            [5.0, 2.0, 0, [1, 0], [2, 2], 2, [[0, 2], [2, 3]]],
            [5.0, 4.0, 1, [1, 1], [2, 2], 2, [[1, 3], [2, 3]]],
        ],
    ),
    "weights that are shared out": (
        "x = torch.ones(1, requires_grad=True)\ny = torch.full((1,), float(rank), requires_grad=True)\n"
        "dist.all_reduce(x)\ndist.broadcast(y, 2)\nresult = [x.item(), y.item()]\n",
        [[4.0, 2.0]] * 4,
    ),
}


@pytest.mark.parametrize("name", GLOO_RUNS)
def test_an_option_of_torch_gives_what_gloo_gave(name, run_program):
    source, results = GLOO_RUNS[name]
    run = run_program(TORCH + source, 4, expect=lambda rank: results[rank])
    assert run.verdict == "right", run
    assert list(run.results) == results


@pytest.mark.slow
def test_the_results_are_those_of_gloo(tmp_path):
    pytest.importorskip("torch", reason="torch is an extra")
    (tmp_path / "job.py").write_text(JOB)
    for name, (source, results) in GLOO_RUNS.items():
        (tmp_path / "program.py").write_text(TORCH + source)
        output = subprocess.run(
            [sys.executable, str(tmp_path / "job.py"), str(tmp_path / "program.py")],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        assert sorted(output.stdout.splitlines()) == sorted(
            json.dumps([rank, result]) for rank, result in enumerate(results)
        ), name


JOB = """
import json, multiprocessing, os, sys, tempfile, warnings
import torch.distributed as dist

def run(rank, store, source):
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=4)
    space = {}
    exec(source, space)
    os.write(1, (json.dumps([rank, space["result"]]) + "\\n").encode())
    dist.barrier()
    os._exit(0)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        args = [(rank, folder + "/store", open(sys.argv[1]).read()) for rank in range(4)]
        ranks = [multiprocessing.Process(target=run, args=arguments) for arguments in args]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
"""

#: What ends in an error in torch as well, of two ranks.
REFUSED_BY_TORCH = {
    "dist.new_group([0], backend='foo')": "known are",
    "dist.init_process_group('gloo', rank=1 - rank, world_size=2)": "this is rank",
    "dist.init_process_group('gloo')\ndist.init_process_group('gloo')": "twice",
    "dist.new_subgroups_by_enumeration([[0, 1], [1]])": "both subgroup",
    "import numpy as np\ndist.all_reduce(np.ones(1))": "wants a tensor",
    "dist.all_reduce_coalesced([torch.ones(1), torch.ones(1, dtype=torch.int64)])": "different types",
    "dist.all_reduce(torch.ones(1), op=dist.ReduceOp.PREMUL_SUM)": "unknown word",
    "dist.init_device_mesh('cpu', (3,))": "needs as many ranks",
}


@pytest.mark.parametrize("source", REFUSED_BY_TORCH)
def test_what_torch_refuses_is_refused(source, run_program):
    run = run_program(TORCH + source + "\n", 2)
    assert (run.verdict, REFUSED_BY_TORCH[source] in str(run)) == ("error", True), run


# ---- mpi4py

MPI = "from mpi4py import MPI\nimport numpy as np\ncomm = MPI.COMM_WORLD\nrank, size = comm.rank, comm.size\nother = 1 - rank\n"
#: Programs of two ranks, and what MPICH 5.0.2 under mpi4py 4.1.2 gave.
MPICH_RUNS = {
    "another type than that of the array": (
        "b = np.zeros(2)\ncomm.Allreduce([np.ones(2), MPI.FLOAT], [b, MPI.FLOAT])\nresult = b.tolist()\n",
        [[256.0, 256.0]] * 2,
    ),
    "columns one after another": (
        "a, b = np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((2, 3))\n"
        "comm.Sendrecv(a, other, recvbuf=b)\nresult = b.tolist()\n",
        [[[0.0, 3.0, 1.0], [4.0, 2.0, 5.0]]] * 2,
    ),
    "a function as reduction": (
        "result = [comm.allreduce(str(rank), op=lambda a, b: a + b), comm.allreduce(rank, op=max)]\n", [["01", 1]] * 2,
    ),
    "statuses of all": (
        "r = [comm.irecv(source=other, tag=k) for k in (3, 4)]\nfor k in (3, 4): comm.send(k, other, tag=k)\n"
        "st = [MPI.Status(), MPI.Status()]\nMPI.Request.waitall(r, st)\nresult = [[s.source, s.tag] for s in st]\n",
        [[[1, 3], [1, 4]], [[0, 3], [0, 4]]],
    ),
    "status of a test": (
        "r, st, done = comm.irecv(source=other, tag=3), MPI.Status(), False\ncomm.send(1, other, tag=3)\n"
        "while not done: done, message = r.test(st)\nresult = [message, st.tag, st.source]\n",
        [[1, 3, 1], [1, 3, 0]],
    ),
    "a large object and room for it": (
        "comm.isend(np.ones(10_000), other)\nresult = [comm.irecv(1 << 20, source=other).wait().size, comm.Dup(None).size]\n",
        [[10_000, 2]] * 2,
    ),
}  # fmt: skip
MPICH_ERRORS = {
    "comm.isend(np.ones(10_000), other)\ncomm.irecv(source=other).wait()\n": "truncated",
    "comm.isend(np.ones(100), other)\ncomm.recv(bytearray(10), source=other)\n": "truncated",
    "r = comm.Isend(np.ones(2), other)\ncomm.recv(source=other)\n": "lower case",
    "r = comm.Isend(np.arange(6.0).reshape(2, 3)[:, 0], other)\n": "not contiguous",
    "r = comm.Isend([np.ones(4), 9, MPI.DOUBLE], other)\n": "count is 9",
    "comm.send(1, other, tag=MPI.ANY_TAG)\n": "ANY_TAG",
    "comm.Allreduce(np.ones(1), np.ones(1), op=lambda a, b: a)\n": "no reduction",
}


@pytest.mark.parametrize("name", MPICH_RUNS)
def test_an_option_of_mpi4py_gives_what_mpich_gave(name, run_program):
    source, results = MPICH_RUNS[name]
    assert list(run_program(MPI + source, 2).results) == results


@pytest.mark.parametrize("source", MPICH_ERRORS)
def test_what_ends_in_an_error_with_mpich_ends_in_one_here(source, run_program):
    run = run_program(MPI + source, 2)
    assert (run.verdict, MPICH_ERRORS[source] in str(run)) == ("error", True), run


# ---- threads, queues, coroutines

HEAD = "import asyncio, queue, threading\nfrom multiprocessing import Pipe, Process\n"
#: What Python 3.11 prints, and how these programs end there.
PYTHON_RUNS = {
    "an empty queue": (
        "q = queue.Queue()\ntry:\n    q.get(timeout=1)\nexcept queue.Empty:\n    print('empty')\n"
        "try:\n    q.get_nowait()\nexcept queue.Empty:\n    print('empty')\n",
        "empty\nempty\n",
    ),
    "a full queue": (
        "q = queue.Queue(1)\nq.put(1)\nfor call in (lambda: q.put(2, False), lambda: q.put(2, timeout=0.1)):\n"
        "    try:\n        call()\n    except queue.Full:\n        print('full', q.qsize(), q.full())\n",
        "full 1 True\nfull 1 True\n",
    ),
    "a worker that is a daemon": (
        "q, done = queue.Queue(), []\ndef work():\n    while True:\n        done.append(q.get())\n        q.task_done()\n"
        "threading.Thread(target=work, daemon=True).start()\nfor k in range(3): q.put(k)\nq.join()\nprint(done)\n",
        "[0, 1, 2]\n",
    ),
    "a class of threads": (
        "class Worker(threading.Thread):\n    def __init__(self, k):\n        super().__init__()\n        self.k = k\n"
        "    def run(self):\n        self.result = self.k ** 2\n"
        "ws = [Worker(k) for k in range(3)]\nfor w in ws: w.start()\nfor w in ws: w.join()\nprint([w.result for w in ws])\n",
        "[0, 1, 4]\n",
    ),
    "waits that end": (
        "e, l, c = threading.Event(), threading.Lock(), threading.Condition()\nl.acquire()\n"
        "with c: print(e.wait(1), l.acquire(timeout=2), c.wait(3), c.wait_for(lambda: False, 1))\n"
        "t = threading.Thread(target=e.wait)\nt.start()\nt.join(1)\nprint(t.is_alive())\ne.set()\nt.join(1)\nprint(t.is_alive())\n",
        "False False False False\nTrue\nFalse\n",
    ),
    "a broken barrier": (
        "b = threading.Barrier(2)\ntry:\n    b.wait(1)\nexcept threading.BrokenBarrierError:\n    print(b.broken)\n", "True\n",
    ),
    "what a barrier calls": (
        "b = threading.Barrier(2, action=lambda: print('all'))\nt = threading.Thread(target=b.wait)\nt.start()\nb.wait()\nt.join()\n",
        "all\n",
    ),
    "exceptions of coroutines": (
        "async def fail(k):\n    await asyncio.sleep(0)\n    if k: raise ValueError(k)\n    return 'good'\n"
        "async def main():\n    t = asyncio.create_task(fail(0), name='a')\n"
        "    print(await asyncio.gather(t, fail(1), return_exceptions=True))\n"
        "    try:\n        await asyncio.create_task(fail(2))\n    except ValueError as error:\n        print(error, await t)\n"
        "    print(await asyncio.sleep(1, 'slept'))\nasyncio.run(main())\n",
        "['good', ValueError(1)]\n2 good\nslept\n",
    ),
    "a pipe of one direction": (
        "a, b = Pipe(duplex=False)\ntry:\n    a.send(1)\nexcept OSError as error:\n    print(error)\nprint(a.poll(1))\nb.send(1)\n"
        "print(a.poll(1), a.recv())\n",
        "connection is read-only\nFalse\nTrue 1\n",
    ),
    "locks that nobody holds": (
        "for lock in (threading.Lock(), threading.RLock(), threading.BoundedSemaphore()):\n    try:\n        lock.release()\n"
        "    except (RuntimeError, ValueError) as error:\n        print(error)\n",
        "release unlocked lock\ncannot release un-acquired lock\nSemaphore released too many times\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PYTHON_RUNS)
def test_an_option_of_python_does_what_it_does_there(name, run_program, capsys):
    source, printed = PYTHON_RUNS[name]
    run = run_program(HEAD + source)
    assert (run.verdict, "".join(run.printed)) == ("ends", printed), run
    exec(compile(HEAD + source, "program", "exec"), {"__name__": "program"})
    assert capsys.readouterr().out == printed


def test_a_loop_that_tries_again_for_ever_hangs(run_program):
    run = run_program(
        HEAD + "q = queue.Queue()\nwhile True:\n    try:\n        q.get(timeout=1)\n    except queue.Empty: pass\n"
    )
    assert (run.verdict, run.waits[0].call) == ("hangs", "get")

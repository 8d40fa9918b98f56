"""What programs are written with besides messages: each runs as Python runs it, or says what to use instead."""

import pytest

import collsim as cs

HEAD = "import torch\nimport torch.distributed as dist\n"


def results(source, ranks=2, **options):
    run = cs.program(source, ranks, **options)
    assert run.verdict == "ends", str(run)
    return list(run.results)


def test_classes_have_properties_inheritance_and_methods_that_wait():
    source = f"""{HEAD}
class Ring:
    def __init__(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
    @property
    def right(self):
        return (self.rank + 1) % self.size
    @staticmethod
    def receive(source):
        t = torch.zeros(1)
        dist.recv(t, source)
        return t.item()
    @classmethod
    def build(cls):
        return cls()
    def __call__(self, value):
        request = dist.isend(torch.tensor([value]), self.right)
        got = self.receive((self.rank - 1) % self.size)
        request.wait()
        return got
class Louder(Ring):
    def __call__(self, value):
        return 10 * super().__call__(value)
    def __repr__(self):
        return f"ring of {{len(str(self.size))}}"
def run(rank, size):
    ring = Louder.build()
    return [ring(float(rank)), repr(ring)]
"""
    assert results(source) == [[10.0, "ring of 1"], [0.0, "ring of 1"]]


def test_decorators_closures_partials_and_context_managers_may_communicate():
    source = f"""{HEAD}
import contextlib, functools, time
def logged(log):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            log.append(function.__name__)
            return function(*args, **kwargs)
        return wrapper
    return decorate
LOG = []
@logged(LOG)
def add(tensor, op):
    dist.all_reduce(tensor, op=op)
    return tensor
class Section:
    def __enter__(self):
        dist.barrier()
        return self
    def __exit__(self, kind, error, trace):
        dist.barrier()
        return kind is ValueError
@contextlib.contextmanager
def timer():
    start = time.time()
    yield start
    LOG.append("timed")
def run(rank, size):
    most = functools.partial(add, op=dist.ReduceOp.MAX)
    with Section() as section, timer():
        total = most(torch.tensor([float(rank)]))
        raise ValueError("swallowed")
    return [total.item(), LOG, isinstance(section, Section), sorted([3, 1, 2], key=lambda x: -x)]
"""
    assert results(source) == [[1.0, ["add"], True, [3, 2, 1]]] * 2


def test_own_generators_and_comprehensions_of_every_kind_run():
    source = """
from dataclasses import dataclass, field
@dataclass
class Node:
    rank: int
    inbox: list = field(default_factory=list)
def blocks(values, size):
    for start in range(0, len(values), size):
        yield values[start : start + size]
def main():
    nodes = [Node(k) for k in range(3)]
    nodes[1].inbox.append(len(nodes))
    found = [n for v in range(4) if (n := abs(v - 2)) > 0]
    pairs = (lambda xs: [str(x) for x in xs])([1, 2])
    return [[sum(b) for b in blocks(list(range(6)), 2)], nodes[1].inbox, found, pairs]
"""
    assert results(source, 1) == [[[1, 5, 9], [3], [2, 1, 1], ["1", "2"]]]


@pytest.mark.parametrize(
    ("body", "construct"),
    [
        ("def f():\n    dist.barrier()\n    yield 1\ndef run(rank, size):\n    return list(f())", 3),
        ("class A:\n    def __len__(self):\n        dist.barrier()\n        return 1\ndef run(rank):\n    len(A())", 4),
    ],
)
def test_what_cannot_wait_says_where_and_what_to_do(body, construct):
    run = cs.program(f"{HEAD}{body}", 2)
    assert run.verdict == "error"
    assert f"line {construct + 1}" in str(run)
    assert "call it in a function of its own" in str(run)


def test_launchers_become_the_ranks_that_run_already():
    spawn = f"""{HEAD}
import argparse, os
import torch.multiprocessing as mp
def worker(gpu, args, scale):
    dist.init_process_group("gloo", rank=gpu, world_size=args.world)
    t = torch.ones(1) * scale
    dist.all_reduce(t)
    return t.item()
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--world", type=int, default=2)
    args = parser.parse_args()
    mp.spawn(worker, args=(args, 3), nprocs=args.world)
"""
    assert results(spawn) == [6.0, 6.0]
    assert "run it with ranks=2" in str(cs.program(spawn, 4))
    processes = spawn.replace(
        "    mp.spawn(worker, args=(args, 3), nprocs=args.world)\n",
        "    started = [mp.Process(target=worker, args=(r, args, 3)) for r in range(2)]\n"
        "    [p.start() for p in started]\n    [p.join() for p in started]\n",
    )
    assert results(processes) == [6.0, 6.0]
    torchrun = f"""import os
{HEAD}
t = torch.tensor([int(os.environ["RANK"])])
dist.all_reduce(t)
result = t.item()
"""
    assert results(torchrun, 3) == [3, 3, 3]


def test_sys_exit_ends_a_rank():
    source = "import sys\nfrom mpi4py import MPI\nif MPI.COMM_WORLD.rank:\n    sys.exit()\nresult = 1\n"
    assert results(source) == [1, None]
    assert cs.program(source.replace("exit()", "exit(2)"), 2).verdict == "error"


PIPE = """
from multiprocessing import Pipe, Process
import numpy as np
SIZE = 8
def node(rank, left, right, out):
    data = np.full(SIZE, float(rank))
    right.send(data)
    got = left.recv()
    out.send((data + got)[0])
if __name__ == "__main__":
    a, b = Pipe()
    ends = [Pipe() for _ in range(2)]
    started = [Process(target=node, args=(r, (a, b)[r], (a, b)[r], ends[r][1])) for r in range(2)]
    [p.start() for p in started]
    result = [end[0].recv() for end in ends]
    [p.join() for p in started]
"""


def test_a_pipe_holds_64_kib():
    assert [float(value) for value in results(PIPE)[0]] == [1.0, 1.0]
    full = cs.program(PIPE.replace("SIZE = 8", "SIZE = 1_000_000"), 2)
    assert full.verdict == "hangs"
    assert {wait.line for wait in full.waits} >= {7}


def test_a_queue_that_several_threads_fill_is_a_race():
    source = """
import threading, queue
q = queue.Queue()
def work(k):
    q.put(k)
ts = [threading.Thread(target=work, args=(k,)) for k in range(3)]
for t in ts: t.start()
result = [q.get() for _ in range(3)]
"""
    assert cs.program(source, 3).verdict == "race"
    assert cs.program(source + "result = sorted(result)\n", 3).verdict == "ends"
    assert cs.program(source.replace("for _ in range(3)", "for _ in range(4)"), 3).verdict == "hangs"


def test_locks_barriers_and_events_make_threads_wait():
    source = """
import threading
lock, barrier, go = threading.Lock(), threading.Barrier(3), threading.Event()
total = [0]
def work(k):
    go.wait()
    with lock:
        total[0] += k
    barrier.wait()
ts = [threading.Thread(target=work, args=(k,)) for k in range(3)]
for t in ts: t.start()
go.set()
for t in ts: t.join()
result = total
"""
    assert results(source) == [[3]]
    assert cs.program(source.replace("Barrier(3)", "Barrier(4)"), 2).verdict == "hangs"
    assert cs.program(source.replace("go.set()", ""), 2).verdict == "hangs"


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("from torchvision import models", "collsim read-script"),
        ("from torch.distributed.fsdp import FullyShardedDataParallel", "reduce_scatter the gradients"),
        ("from concurrent.futures import ThreadPoolExecutor", "threading.Thread"),
        ("from multiprocessing import Pool", "multiprocessing.Process"),
        ("from mpi4py import MPI; MPI.Win.Create(None)", "use Send and Recv"),
        ("from mpi4py import MPI; MPI.DOUBLE.Create_vector(1, 1, 1)", "send a copy"),
    ],
)
def test_what_is_not_simulated_is_named_with_what_to_use(line, instead):
    run = cs.program(f"x = 1\n{line}\n", 2)
    assert run.verdict == "error"
    assert "line 2" in str(run)
    assert instead in str(run)


def test_tensors_are_as_real_torch_has_them():
    """The expected values are those of torch 2.13.0 for the same program."""
    source = f"""{HEAD}
def run(rank, size):
    t = torch.arange(10.0)
    m = t.view(2, 5)
    m[0, :] += 1
    t.narrow(0, 2, 3).mul_(2)
    t.data /= 2
    half = torch.tensor([1, 2, 3]) / 2
    i = torch.where(t > 2, t, torch.zeros_like(t))
    total = i.sum()
    dist.all_reduce(total)
    return [t.tolist(), m.size(0), tuple(m.size()), m.sum(dim=0).tolist(), half.tolist(), half.dtype == torch.float32,
            total.item(), torch.Tensor([1, 2]).tolist(), f"{{total:.1f}}", m.t().is_contiguous()]
"""
    row = [0.5, 1.0, 3.0, 4.0, 5.0, 2.5, 3.0, 3.5, 4.0, 4.5]
    expected = [row, 2, [2, 5], [3.0, 4.0, 6.5, 8.0, 9.5], [0.5, 1.0, 1.5], True, 59.0, [1.0, 2.0], "59.0", False]
    assert results(source) == [expected] * 2
    run = cs.program(f"{HEAD}def run(rank):\n    torch.zeros(2, 3).t().view(6)\n", 1)
    assert "use .reshape" in str(run)


def test_objects_of_own_classes_are_sent():
    source = """
from collections import namedtuple
from dataclasses import dataclass
from mpi4py import MPI
@dataclass
class Task:
    number: int
Pair = namedtuple("Pair", "a b")
comm = MPI.COMM_WORLD
comm.send(Task(comm.rank + 5), 1 - comm.rank)
task = comm.recv(source=1 - comm.rank)
result = [task.number, [pair.b for pair in comm.allgather(Pair(0, task.number))]]
"""
    assert results(source) == [[6, [6, 5]], [5, [6, 5]]]


def test_more_words_of_tensors_are_as_real_torch_has_them():
    """The expected values are those of torch 2.13.0 for the same program."""
    source = f"""{HEAD}
def run(rank, size):
    x, y = torch.arange(12).float().view(2, 3, 2), torch.tensor([3.0, -1.0, 2.0])
    ones = torch.zeros(2, 2)
    ones.flatten().add_(1)
    largest, where = x.max(dim=1)
    ordered, positions = torch.sort(y, descending=True)
    return [tuple(x.transpose(0, 1).shape), x.transpose(0, 1)[1, 0].tolist(), x.permute(2, 0, 1)[1].tolist(),
            x.flatten(1)[1].tolist(), ones.tolist(), round(x.std().item(), 4), x.var(dim=2)[0].tolist(),
            largest.tolist(), where.tolist(), ordered.tolist(), positions.tolist(), y.topk(1).indices.tolist(),
            torch.relu(y).tolist(), y.pow(2).neg_().tolist(), y.clamp(min=0).tolist(), (y > 0).any().item(),
            torch.max(y, torch.ones(3)).tolist(), round(torch.softmax(y, dim=0)[0].item(), 4),
            torch.bmm(x, x.transpose(1, 2))[0].tolist(), x.mean(dim=(0, 1)).tolist(), y.cumsum(dim=0).tolist()]
"""
    expected = [
        *([3, 2, 2], [2.0, 3.0], [[1.0, 3.0, 5.0], [7.0, 9.0, 11.0]], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]),
        *([[1.0, 1.0], [1.0, 1.0]], 3.6056, [0.5, 0.5, 0.5], [[4.0, 5.0], [10.0, 11.0]], [[2, 2], [2, 2]]),
        *([3.0, 2.0, -1.0], [0, 2, 1], [0], [3.0, 0.0, 2.0], [-9.0, -1.0, -4.0], [3.0, 0.0, 2.0], True),
        *(
            [3.0, 1.0, 2.0],
            0.7214,
            [[1.0, 3.0, 5.0], [3.0, 13.0, 23.0], [5.0, 23.0, 41.0]],
            [5.0, 6.0],
            [3.0, 2.0, 4.0],
        ),
    ]
    assert results(source, 1) == [expected]


def test_an_array_whose_first_text_is_in_an_f_string_is_written():
    source = "import numpy as np\nfrom mpi4py import MPI\nresult = f'{np.arange(3)} {np.arange(2.0)!r}'\n"
    assert results(source, 1) == ["[0 1 2] array([0., 1.])"]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("().__class__.__subclasses__()", "__subclasses__"),
        ("(lambda: 1).__globals__", "__globals__"),
        ("(i for i in []).gi_frame", "gi_frame"),
        ("__import__('os')", "__import__"),
        ("getattr((), '__cla' 'ss__'), getattr(int, '__subcla' 'sses__')", "__subclasses__"),
        ("np.vectorize(getattr)([1], ['__reduce__'])", "__reduce__"),
        ("operator.attrgetter('a.__globals__')", "__globals__"),
        ("operator.methodcaller('__getattribute__', 'a')", "__getattribute__"),
    ],
)
def test_names_that_lead_into_python_itself_are_refused_with_their_line(statement, name):
    try:
        told = str(cs.program(f"import operator\nimport numpy as np\nx = {statement}\n", 2))
    except cs.CollsimError as error:
        told = str(error)
    assert "line 3" in told
    assert f"{name} leads into Python itself" in told
    match_pattern = "match 1:\n    case int(__mro__=x):\n        print(x)\n"
    with pytest.raises(cs.CollsimError, match="line 2: __mro__"):
        cs.program(match_pattern, 2)


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "GeneratorExit", "BaseException", "Own"])
def test_what_is_no_exception_ends_its_rank(kind):
    source = f"import torch.distributed as dist\nclass Own(BaseException): pass\nif dist.get_rank() == 1:\n    raise {kind}\n"
    run = cs.program(source, 2)
    assert (run.verdict, run.errors[0].rank, run.errors[0].kind, run.errors[0].line) == ("error", 1, kind, 4)


def test_sys_exit_and_missing_arguments_and_broken_sources_have_no_line_0():
    run = cs.program("import sys\nimport torch.distributed as dist\ndef leave():\n    sys.exit(3)\nleave()\n", 2)
    assert str(run) == "error: Rank 0 ends in RuntimeError in line 4: the program ends with sys.exit(3)"
    run = cs.program("def run(rank, weights, bias):\n    return rank\n", 2)
    assert run.explanation().startswith("No rank begins: run() wants weights, which no rank has;")
    with pytest.raises(cs.CollsimError, match=r"^the program is not Python: source code string cannot contain null"):
        cs.program("x = 1\0", 2)


def test_words_of_common_modules_are_there():
    source = """
import re, traceback
from tqdm import tqdm, trange
def run(rank):
    try:
        1 / 0
    except ZeroDivisionError:
        traceback.print_exc()
    return [sum(tqdm(range(4), desc="epoch")), len(list(trange(3))), re.sub(r"\\d+", "n", "rank 12")]
"""
    assert results(source, 1) == [[6, 3, "rank n"]]


def test_variables_of_the_module_may_be_annotated_in_blocks_and_without_a_value():
    source = f"""{HEAD}
scale: float
if True:
    steps: int = 2
else:
    steps: int = 3
try:
    width: int = 4
except ValueError:
    reason: str = "none"
match steps:
    case 2:
        depth: int = 5
def run(rank, size):
    try:
        return scale
    except NameError:
        return [steps, width, depth]
"""
    assert results(source) == [[2, 4, 5]] * 2

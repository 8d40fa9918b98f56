"""Right schedules, written out as programs, come back as the same schedules; and what makes none says why."""

import random

import numpy as np
import pytest
from sampling import sample

import collsim as cs
from collsim.rank_engine.provenance import make_contents
from collsim.schedule import freeze

from .test_program_timing import RING, WHOLE

HEAD = "import torch\nimport torch.distributed as dist\n"
LIBRARY = [
    name
    for name in cs.algorithms()
    if name.startswith(("allreduce_", "broadcast_", "reduce_"))
    and not name.startswith("reduce_scatter")
    and cs.schedule(name, ranks=4).endpoints == 4  # a program runs on ranks: no switch that adds, and no server
]


def write_program(schedule):
    """A program of torch.distributed in which every rank does its transfers, step after step."""
    steps = [[] for _ in range(schedule.steps)]
    for row in schedule.transfers:
        steps[row["step"]].append((int(row["src"]), int(row["dst"]), int(row["chunk"]), bool(row["reduce"])))
    return f"""{HEAD}
STEPS = {steps}

def {schedule.collective}(tensor):
    rank, parts = dist.get_rank(), tensor.tensor_split({schedule.chunks})
    for transfers in STEPS:
        works, arrivals = [], []
        for src, dst, chunk, adds in transfers:
            if src == rank:
                works.append(dist.isend(parts[chunk].clone(), dst))
            if dst == rank:
                fresh = torch.empty_like(parts[chunk])
                arrivals.append((fresh, chunk, adds))
                works.append(dist.irecv(fresh, src))
        for work in works:
            work.wait()
        for fresh, chunk, adds in arrivals:
            if adds:
                parts[chunk].add_(fresh)
            else:
                parts[chunk].copy_(fresh)
"""


def list_rows(schedule):
    names = ("step", "src", "dst", "chunk", "into", "reduce")
    return sorted(tuple(int(row[name]) for name in names) for row in schedule.transfers)


def draw_schedule(rng):
    """A right schedule: each chunk is summed along a random tree and spread along another, in random order."""
    ranks, chunks = rng.randint(2, 7), rng.randint(1, 6)
    collective = rng.choice(["allreduce", "allreduce", "broadcast", "reduce"])
    pending = []  # of each chunk its transfers, and which of these must come before
    for chunk in range(chunks):
        root = rng.randrange(ranks) if collective == "allreduce" else 0
        before = []
        if collective != "broadcast":
            order = [root, *rng.sample([r for r in range(ranks) if r != root], ranks - 1)]
            parents = {order[k]: order[rng.randrange(k)] for k in range(1, ranks)}
            before = [(rank, parents[rank], chunk, True) for rank in reversed(order[1:])]
        if collective != "reduce":
            order = [root, *rng.sample([r for r in range(ranks) if r != root], ranks - 1)]
            before += [(order[rng.randrange(k)], order[k], chunk, False) for k in range(1, ranks)]
        pending.append(before)
    busy, rows = [0] * ranks, []
    while any(pending):
        src, dst, chunk, adds = rng.choice([queue for queue in pending if queue]).pop(0)
        step = max(busy[src], busy[dst])
        busy[src] = busy[dst] = step + 1
        rows.append((step, src, dst, chunk, adds))
    steps = [
        [(cs.reduce if adds else cs.copy)(src, dst, chunk=chunk) for step, src, dst, chunk, adds in rows if step == k]
        for k in range(max(busy))
    ]
    return freeze("drawn", collective, ranks, steps, chunks=chunks)


@pytest.mark.parametrize("seed", sample(range(10), 4))
def test_ten_drawn_schedules_come_back(run_program, seed):
    rng = random.Random(seed)
    for _ in range(10):
        schedule = draw_schedule(rng)
        cs.verify(schedule)
        run = run_program(write_program(schedule), schedule.ranks, schedule.collective, nbytes=4 * 3 * schedule.chunks)
        assert run.verdict == "right", run
        back = run.schedule
        assert isinstance(back, cs.Schedule), (back, schedule)
        if back.chunks == schedule.chunks:
            assert list_rows(back) == list_rows(schedule)
        else:  # chunks that always travel together are one
            assert list_rows(back) == list_rows(merge_chunks(schedule, back.chunks))


def merge_chunks(schedule, chunks):
    """The schedule with neighbouring chunks as one, which must have travelled together."""
    per = schedule.chunks // chunks
    rows = [row for row in list_rows(schedule) if row[3] % per == 0]
    steps = [
        [(cs.reduce if adds else cs.copy)(s, d, chunk=c // per) for k, s, d, c, _, adds in rows if k == step]
        for step in range(schedule.steps)
    ]
    merged = freeze("merged", schedule.collective, schedule.ranks, steps, chunks=chunks)
    assert len(merged) * per == len(schedule)
    return merged


@pytest.mark.parametrize("name", sample(LIBRARY, 10))
def test_an_algorithm_of_the_library_comes_back(run_program, name):
    done = 0
    for ranks in (3, 4, 5, 8):
        try:
            schedule = cs.schedule(name, ranks=ranks)
        except cs.CollsimError:
            continue
        if schedule.slots > schedule.chunks or has_idle_steps(schedule):
            continue
        run = run_program(write_program(schedule), ranks, schedule.collective, nbytes=4 * 4 * schedule.chunks)
        assert isinstance(run.schedule, cs.Schedule), (name, ranks, run.schedule)
        assert list_rows(run.schedule) == list_rows(schedule)
        done += 1
    assert done


def has_idle_steps(schedule):
    """Whether a transfer could begin in an earlier step as far as its ranks are concerned: a program has no steps."""
    busy = [0] * schedule.ranks
    for step in range(schedule.steps):
        rows = schedule.transfers[schedule.transfers["step"] == step]
        if any(max(busy[row["src"]], busy[row["dst"]]) < step for row in rows):
            return True
        for row in rows:
            busy[row["src"]] = busy[row["dst"]] = step + 1
    return False


def test_a_buffer_that_is_passed_on_goes_through_scratch_slots(run_program):
    run = run_program(WHOLE, 4, "allreduce", nbytes="1MiB")
    schedule = run.schedule
    assert (schedule.chunks, schedule.steps) == (1, 3)
    away = schedule.transfers[schedule.transfers["src"] != schedule.transfers["dst"]]
    assert np.bincount(away["step"]).tolist() == [4, 4, 4]
    assert run.trace.time == pytest.approx(run.time)


def test_the_trace_of_a_ring_is_that_of_the_library(run_program):
    run = run_program(RING, 5, "allreduce", nbytes="5KiB", late={1: 1e-3})
    assert list_rows(run.schedule) == list_rows(cs.schedule("allreduce_ring", ranks=5))
    library = cs.simulate(cs.schedule("allreduce_ring", ranks=5), run.topology, "5KiB", engine="event", late={1: 1e-3})
    assert run.trace.time == pytest.approx(library.time)
    assert run.trace.time == pytest.approx(run.time)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (HEAD + "def allreduce(tensor):\n    dist.all_reduce(tensor)\n", "line 4 calls all_reduce"),
        (
            RING.replace("parts[out], (rank", "parts[out] * 1.0, (rank")
            .replace("parts[out] * 1.0", "parts[out] * 2")
            .replace("parts[into] += fresh", "parts[into] += fresh / 2")
            .replace("parts[into][:] = fresh", "parts[into][:] = fresh / 2"),
            "right schedule|no sum",
        ),
        (
            HEAD + "def allreduce(tensor):\n    rank, n = dist.get_rank(), dist.get_world_size()\n"
            "    work = dist.isend(tensor * (2 if float(tensor[0]) > 1 else 2), 1 - rank)\n    x = tensor * 0\n"
            "    dist.recv(x, 1 - rank)\n    work.wait()\n    tensor += x / 2\n",
            "no sum",
        ),
    ],
)
def test_messages_that_make_no_schedule_say_why(run_program, source, reason):
    run = run_program(source, 2, "allreduce")
    assert run.verdict == "right"
    assert any(part in str(run.schedule) for part in reason.split("|")), run.schedule
    assert run.trace.time == pytest.approx(run.time) or not len(run.messages)


def test_parts_without_elements_are_named_as_what_makes_no_schedule(run_program):
    run = run_program(RING.replace("chunk(n)", "tensor_split(n)"), 4, "allreduce", nbytes="8B")
    assert run.verdict == "right"
    assert "line 10 sends an array without elements" in str(run.schedule)


def test_a_number_that_decides_who_sends_makes_no_schedule(run_program):
    source = HEAD + "def allreduce(tensor):\n    rank = dist.get_rank()\n    x = torch.zeros_like(tensor)\n"
    source += "    works = [dist.isend(tensor.clone(), 1 - rank)]\n    dist.recv(x, 1 - rank)\n    works[0].wait()\n"
    source += (
        "    if float(tensor[1] + x[1]) == 6.0:\n        pass\n    else:\n        work = dist.isend(x, 1 - rank)\n"
    )
    source += "        dist.recv(torch.zeros_like(x), 1 - rank)\n        work.wait()\n    tensor += x\n"
    run = run_program(source, 2, "allreduce")
    assert (run.verdict, "depends on the numbers" in str(run.schedule)) == ("right", True)


def test_a_multiple_of_a_number_does_not_pass_for_another_element(run_program):
    """Inputs are `1 + 128 * position` here, and 129 of the first number look like one of the second."""
    source = HEAD + "def allreduce(tensor):\n    other = 1 - dist.get_rank()\n    for part, times in "
    source += "((tensor[:1], 129), (tensor[1:], 1)):\n        x = torch.zeros_like(part)\n"
    source += "        work = dist.isend(part * times, other)\n        dist.recv(x, other)\n        work.wait()\n"
    source += "        part += x / times\n"
    run = run_program(source, 2, "allreduce", nbytes="4KiB")
    assert (run.verdict, "line 7 sends numbers that are no sums" in str(run.schedule)) == ("right", True), run.schedule


def test_contents_distinguish_ranks():
    contents = make_contents(64)
    assert len(set(contents)) == 64
    assert max(contents) * 64 < 2**53


def test_without_a_collective_there_is_none(run_program):
    assert "collective=" in str(run_program(RING, 2).schedule)
    assert run_program(RING, 2).trace.time > 0

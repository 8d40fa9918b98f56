"""Times of programs: against closed forms, against `simulate` of the same schedule, and what late ranks change."""

from dataclasses import replace

import pytest

import collsim as cs
from collsim.programs.program_timing import require_events, time_events

TORCH = "import torch\nimport torch.distributed as dist\n"
WHOLE = (
    TORCH
    + """
def allreduce(send, recv):
    rank, size = dist.get_rank(), dist.get_world_size()
    outgoing, incoming, total = send.clone(), send.clone(), send.clone()
    for _ in range(size - 1):
        work = dist.isend(outgoing, (rank + 1) % size)
        dist.recv(incoming, (rank - 1) % size)
        total += incoming
        work.wait()
        outgoing, incoming = incoming, outgoing
    recv[:] = total
"""
)
RING = (
    TORCH
    + """
def allreduce(tensor):
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = list(tensor.chunk(n))
    for step in range(2 * (n - 1)):
        out, into = (rank - step) % n, (rank - step - 1) % n
        fresh = torch.empty_like(parts[into])
        work = dist.isend(parts[out], (rank + 1) % n)
        dist.recv(fresh, (rank - 1) % n)
        work.wait()
        if step < n - 1:
            parts[into] += fresh
        else:
            parts[into][:] = fresh
"""
)
SWAP = (
    "from mpi4py import MPI\nimport numpy as np\ndef run(comm, count):\n    x, y = np.zeros(count), np.zeros(count)\n"
)
SWAP += "    comm.Send(x, dest=1 - comm.rank) if comm.rank == 0 else comm.Recv(y, source=0)\n"
ALPHA, RATE = 50e-6, 1.25e9  # of a message between two computers of the plain network


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_a_ring_takes_what_alpha_and_beta_say(run_program, ranks):
    nbytes = ranks * 4_000
    run = run_program(RING, ranks, "allreduce", nbytes=nbytes)
    assert run.verdict == "right"
    assert run.time == pytest.approx(2 * (ranks - 1) * (ALPHA + nbytes / ranks / RATE))
    whole = run_program(WHOLE, ranks, "allreduce", nbytes=nbytes)
    assert whole.time == pytest.approx((ranks - 1) * (ALPHA + nbytes / RATE))


def test_a_ring_takes_as_long_as_its_schedule_on_a_machine(run_program):
    machine = cs.machine("dgx-a100")
    run = run_program(RING, 8, "allreduce", nbytes="8KiB", machine=machine)
    assert run.time == pytest.approx(cs.simulate(cs.schedule("allreduce_ring", ranks=8), machine, "8KiB").time)


def test_a_late_rank_makes_the_others_wait(run_program):
    run = run_program(WHOLE, 4, "allreduce", nbytes=4_000, late={2: 300e-6})
    on_time = run_program(WHOLE, 4, "allreduce", nbytes=4_000)
    assert run.time == pytest.approx(on_time.time + 300e-6)
    first = run.messages.iloc[1]  # from rank 1 to rank 2
    assert (first.src, first.dst, first.posted) == (1, 2, 0.0)
    assert first.matched == pytest.approx(300e-6)
    assert first.arrived == pytest.approx(300e-6 + ALPHA + 4_000 / RATE)
    span = next(span for span in run.timeline.spans if span.rank == 3)
    assert (span.call, span.line, span.peer, span.begin) == ("recv", 9, 2, 0.0)
    assert span.end == pytest.approx(first.arrived)


def test_a_small_message_does_not_wait_for_its_receiver(run_program):
    late = {1: 1e-3}
    small = run_program(SWAP, 2, arguments={"count": 100}, late=late)
    large = run_program(SWAP, 2, arguments={"count": 10_000}, late=late)
    assert small.timeline.ends == pytest.approx((0.0, 1e-3))
    assert small.messages.arrived[0] == pytest.approx(ALPHA + 800 / RATE)
    assert large.timeline.ends == pytest.approx([1e-3 + ALPHA + 80_000 / RATE] * 2)
    strict = run_program(SWAP, 2, arguments={"count": 100}, late=late, eager_limit=0)
    assert strict.timeline.ends[0] == pytest.approx(1e-3 + ALPHA + 800 / RATE)


def test_messages_to_one_rank_share_its_cable(run_program):
    source = (
        TORCH + "def run(rank, size):\n    x = torch.zeros(1000)\n    if rank:\n        dist.send(x, 0)\n    else:\n"
    )
    source += "        works = [dist.irecv(torch.zeros(1000), src) for src in range(1, size)]\n"
    source += "        for work in works:\n            work.wait()\n"
    assert run_program(source, 4).time == pytest.approx(ALPHA + 3 * 4_000 / RATE)


def test_a_collective_waits_for_the_last_member_and_takes_its_algorithm_s_time(run_program):
    source = TORCH + "def run(rank, size):\n    dist.all_reduce(torch.ones(1000))\n"
    ring = cs.simulate(
        cs.schedule("allreduce_ring", ranks=4), cs.topology.switch(4, bandwidth="10Gbit/s", alpha="25us"), 4_000
    ).time
    assert run_program(source, 4).time == pytest.approx(ring)
    assert run_program(source, 4, late={3: 0.5}).time == pytest.approx(0.5 + ring)


def test_sleep_takes_time_and_a_hang_keeps_the_moment_when_nothing_moves(run_program):
    source = "import time\n" + TORCH + "def run(rank, size):\n    time.sleep(0.25 * rank)\n    dist.barrier()\n"
    assert run_program(source, 3).time == pytest.approx(0.5, abs=1e-3)
    hang = run_program(source.replace("dist.barrier()", "dist.send(torch.ones(1), 1 - rank)"), 2)
    assert (hang.verdict, hang.time) == ("hangs", 0.25)
    assert [(span.rank, span.begin, span.end) for span in hang.timeline.spans] == [(0, 0.0, None), (1, 0.25, None)]
    assert hang.messages.arrived.isna().all()


@pytest.mark.parametrize("ranks", [16, pytest.param(64, marks=pytest.mark.slow)])
def test_many_ranks_are_timed(run_program, ranks):
    run = run_program(RING, ranks, "allreduce", nbytes="64KiB")
    assert len(run.messages) == 2 * (ranks - 1) * ranks
    assert run.time == pytest.approx(2 * (ranks - 1) * (ALPHA + 65_536 / ranks / RATE))


def test_events_that_contradict_one_another_are_refused(run_program):
    execution = run_program(RING, 2, "allreduce").execution
    events, groups = execution.events, execution.groups
    require_events(events, groups, 2)
    changes = [{"rank": 2}, {"rank": -1}, {"other": 10**9}, {"other": 0}, {"peer": 7}, {"peer": -1}, {"nbytes": -5}]
    network = cs.topology.switch(2, bandwidth="1GB/s", alpha="1us")
    for change in [*changes, {"kind": "collective"}, {"kind": "wait", "other": 5}]:
        bad = (events[0]._replace(**change), *events[1:])
        with pytest.raises(cs.CollsimError, match="contradict"):
            time_events(bad, groups, 2, network, {})
    with pytest.raises(cs.CollsimError, match="contradict"):
        time_events(events, ((0, 0),), 2, network, {})


def test_a_late_rank_that_is_none_and_a_machine_that_is_too_small_are_refused():
    with pytest.raises(cs.CollsimError, match="late=9 is no rank"):
        cs.program(RING, 2, late={9: "1us"})
    with pytest.raises(cs.CollsimError, match=r"late\[0\]"):
        cs.program(RING, 2, late={0: "soon"})
    with pytest.raises(cs.TopologyError):
        cs.program(RING, 4, machine=cs.topology.ring(3))
    assert cs.program(RING, 4, "allreduce", machine="dgx-a100", late={1: "1ms"}).time > 1e-3


def test_the_comparison_with_the_library_has_two_parts_that_add_up(run_program):
    machine = cs.topology.switch(4, bandwidth="1.25GB/s", alpha="25us")
    run = run_program(WHOLE, 4, "allreduce", nbytes="1MiB", machine=machine)
    comparison = run.library_comparison
    ring = cs.simulate(cs.schedule("allreduce_ring", ranks=4), machine, "1MiB", engine="event").time
    assert comparison.library_time == pytest.approx(ring)
    assert comparison.time == run.time
    parts = comparison.bytes_difference + comparison.latency_difference
    assert parts == pytest.approx(run.time - ring)
    assert comparison.bytes_difference == pytest.approx(1.5 * 2**20 / 1.25e9)  # 3 buffers in place of 1.5
    assert comparison.latency_difference == pytest.approx(-3 * 50e-6)  # 3 messages in place of 6
    assert (comparison.sent, comparison.library_sent) == (3 * 2**20, 1.5 * 2**20)
    assert "1.71 times" in comparison.sentence.text()
    assert run_program(RING, 4, "allreduce", nbytes="1MiB", machine=machine).library_comparison.bytes_difference < 1e-9
    assert run_program(WHOLE, 4, machine=machine).library_comparison is None


def test_a_ring_that_is_the_librarys_takes_as_long_and_no_rounding_is_shown(run_program):
    comparison = run_program(RING, 4, "allreduce", nbytes="1MiB").library_comparison
    assert str(comparison.sentence).startswith("It takes as long as allreduce_ring of the library")
    slower = replace(comparison, time=2 * comparison.time)
    assert "2 times as long" in str(slower.sentence)
    assert "bytes (+0 ns:" in str(slower.sentence)

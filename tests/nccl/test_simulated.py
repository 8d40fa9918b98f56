"""The simulation behind a prediction."""

import pytest

from collsim import topology, verify
from collsim.nccl.simulated import schedule_of, trace

GIB = 2**30


@pytest.mark.parametrize(
    ("collective", "name", "nodes"),
    [
        ("allreduce", "dgx-a100", 1),
        ("allreduce", "dgx-h100", 1),
        ("allreduce", "dgx-h100", 2),
        ("allgather", "dgx-a100", 2),
        ("reduce_scatter", "dgx-1v", 1),
        ("broadcast", "dgx-a100", 1),
        ("reduce", "dgx-a100", 1),
        ("alltoall", "dgx-a100", 1),
        ("sendrecv", "dgx-a100", 2),
    ],
)
def test_links_alone_are_never_slower_than_what_is_predicted(collective, name, nodes):
    machine = topology.machine(name, nodes)
    prediction, run = trace(collective, machine, "1GiB")
    verify(schedule_of(prediction, machine))
    assert 0.2 * prediction.time < run.time < 1.3 * prediction.time


def test_the_simulated_ring_moves_what_the_model_counts():
    """2 x 7/8 GiB out of each of 8 GPUs over 300 GB/s of NVLink."""
    _, run = trace("allreduce", topology.machine("dgx-a100"), GIB, NCCL_ALGO="Ring")
    assert run.sent_bytes.max() == pytest.approx(2 * 7 / 8 * GIB, rel=1e-3)
    assert run.time == pytest.approx(2 * 7 / 8 * GIB / 300e9, rel=0.05)


def test_nvls_beats_the_ring_in_the_simulation_too():
    machine = topology.machine("dgx-h100")
    assert trace("allreduce", machine, GIB)[1].time < 0.85 * trace("allreduce", machine, GIB, NCCL_ALGO="Ring")[1].time


def test_without_p2p_the_simulation_loads_host_memory():
    _, direct = trace("allreduce", topology.machine("dgx-a100"), GIB)
    _, staged = trace("allreduce", topology.machine("dgx-a100", p2p=False), GIB)
    assert staged.time > 5 * direct.time

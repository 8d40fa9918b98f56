"""Which GPUs take part where only their number is given: one rule for every interface."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.topology.parts.rank_selection import describe_ranks, select_ranks
from collsim.viz.timeline.timeline_document import build_timeline

NBYTES = "100MB"
PLACEMENTS = ("node", "round-robin")


def two_nodes(placement="node"):
    return cs.machine("dgx-h100", nodes=2, nic="tcp-10", nics=1, placement=placement)


def run_command(*words):
    done = CliRunner().invoke(app, [*words, "--machine", "dgx-h100", "--nodes", "2", "--nic", "tcp-10", "--nics", "1"])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("nodes", "count", "chosen", "words", "chinese"),
    [
        (2, 1, [0], "1 rank: GPU 0 of node 0", "1 个 rank：节点 0 的 GPU 0"),
        (2, 2, [0, 8], "2 ranks: GPU 0 of each node", "2 个 rank：每个节点的 GPU 0"),
        (2, 3, [0, 1, 8], "3 ranks: GPUs 0-1 of node 0, GPU 0 of node 1", "3 个 rank：节点 0 的 GPU 0-1、节点 1 的 GPU 0"),
        (2, 8, [0, 1, 2, 3, 8, 9, 10, 11], "8 ranks: GPUs 0-3 of each node", "8 个 rank：每个节点的 GPU 0-3"),
        (8, 5, [0, 8, 16, 24, 32], "5 ranks on 5 of 8 nodes", "5 个 rank，分布在 8 个节点中的 5 个上"),
        (1, 4, [0, 1, 2, 3], "4 ranks: GPUs 0-3 of node 0", "4 个 rank：节点 0 的 GPU 0-3"),
    ],
)  # fmt: skip
def test_ranks_are_dealt_evenly_to_nodes_and_are_their_first_gpus(nodes, count, chosen, words, chinese):
    machine = cs.machine("dgx-h100", nodes=nodes)
    ranks = select_ranks(machine, count)
    assert ranks.tolist() == chosen
    assert str(describe_ranks(machine, ranks)) == words
    assert describe_ranks(machine, ranks).text("zh") == chinese


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_placement_of_ranks_does_not_change_which_gpus_take_part(placement):
    machine = two_nodes(placement)
    for count in (2, 3, 6, 16):
        gpus = machine.endpoint_device[select_ranks(machine, count)]
        plain = two_nodes().endpoint_device[select_ranks(two_nodes(), count)]
        assert sorted(gpus) == sorted(plain)


def test_a_network_without_nodes_gives_its_first_ranks():
    network = cs.topology.switch(8)
    assert select_ranks(network, 3).tolist() == [0, 1, 2]
    assert str(describe_ranks(network, select_ranks(network, 3))) == "ranks 0-2"


@pytest.mark.parametrize("count", [0, 17])
def test_more_ranks_than_there_are_and_none_are_refused(count):
    with pytest.raises(cs.TopologyError, match=f"ranks={count}: .* give 1 to 16"):
        select_ranks(two_nodes(), count)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_simulate_bounds_and_training_use_one_gpu_of_each_node(placement):
    """Ten gigabits a second carry 100 MB in 80 ms; NVLink would do it in 0.2 ms."""
    machine = two_nodes(placement)
    ring = cs.schedule("allreduce_ring", ranks=2, topology=machine)
    for engine in ("lockstep", "event"):
        trace = cs.simulate(ring, machine, NBYTES, engine=engine)
        assert trace.time == pytest.approx(0.08, rel=0.01)
        assert trace.gap == pytest.approx(1, rel=0.01)
    assert cs.lower_bound("allreduce", machine, NBYTES, ranks=2).bandwidth == pytest.approx(0.08, rel=1e-9)
    step = cs.training_step("resnet50", machine, parallel=cs.ddp(), ranks=2, batch=64, compute="57ms")
    assert step.request.ranks == tuple(select_ranks(machine, 2))
    assert step.communication > 0.08
    assert "2 ranks: GPU 0 of each node" in str(step)


def test_predict_and_simulate_mean_the_same_ranks():
    machine = two_nodes()
    predicted = cs.nccl.predict("allreduce", machine, NBYTES, ranks=2)
    simulated = cs.simulate(cs.schedule("allreduce_ring", ranks=2, topology=machine), machine, NBYTES)
    assert predicted.time == pytest.approx(simulated.time, rel=0.6)
    for answer in (predicted, simulated):
        assert str(answer).count("2 ranks: GPU 0 of each node") == 1
    second = cs.simulate(cs.schedule("allreduce_ring", ranks=2), machine, NBYTES, ranks=[9, 11])
    assert "2 ranks: GPUs 1, 3 of node 1" in str(second)
    few = cs.simulate(cs.schedule("allreduce_ring", ranks=4), "switch(8)", NBYTES)
    assert "ranks 0-3" in str(few)
    everyone = cs.nccl.predict("allreduce", machine, NBYTES)
    assert "ranks:" not in str(everyone)


def test_ranks_that_are_named_are_those():
    machine = two_nodes()
    pair = cs.simulate(cs.schedule("allreduce_ring", ranks=2), machine, NBYTES, ranks=[0, 1])
    alone = cs.machine("dgx-h100")
    assert pair.time == cs.simulate(cs.schedule("allreduce_ring", ranks=2), alone, NBYTES, ranks=[0, 1]).time
    assert pair.bound.time == pytest.approx(pair.time, rel=0.05)
    assert cs.training_step("resnet50", machine, parallel=cs.ddp(), ranks=range(2), batch=64).time < 0.1


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, [0, 1], [0, 8], [0, 2, 5]])
def test_every_interface_takes_a_number_of_ranks_and_a_list_of_them(ranks):
    """A number is the list that `select_ranks` makes of it, wherever it is given."""
    machine = two_nodes()
    listed = ranks if isinstance(ranks, list) else select_ranks(machine, ranks).tolist()
    ring = cs.schedule("allreduce_ring", ranks=len(listed))
    for ask in (
        lambda r: cs.nccl.predict("allreduce", machine, NBYTES, ranks=r),
        lambda r: cs.nccl.predict_and_simulate("allreduce", machine, NBYTES, ranks=r)[1],
        lambda r: cs.simulate(ring, machine, NBYTES, ranks=r),
        lambda r: cs.lower_bound("allreduce", machine, NBYTES, ranks=r),
        lambda r: cs.training_step("resnet18", machine, parallel=cs.ddp(), micro_batch=8, ranks=r),
    ):
        assert ask(ranks).time == ask(listed).time
    prediction = cs.nccl.predict("allreduce", machine, NBYTES, ranks=ranks)
    assert prediction.used_ranks == str(describe_ranks(machine, np.array(listed)))
    has_network = len({rank // 8 for rank in listed}) > 1
    assert (prediction.time > 10e-3) == has_network


def test_nodes_that_give_different_gpus_take_the_time_of_the_slowest():
    """NCCL takes the least channels and rates of all nodes (src/init.cc)."""
    machine = two_nodes()

    def predict(ranks):
        return cs.nccl.predict("allreduce", machine, NBYTES, ranks=ranks)

    mixed, first, other = (predict(ranks) for ranks in ([0, 1, 2, 13, 14], [0, 1, 2, 8, 9, 10], [5, 6, 13, 14]))
    assert mixed.time == max(first.time, other.time)
    assert (mixed.facts.ranks, mixed.used_ranks) == (5, "5 ranks: GPUs 0-2 of node 0, GPUs 5-6 of node 1")
    assert mixed.busbw == pytest.approx(mixed.algbw * 2 * 4 / 5)
    assert any("nodes give different GPUs" in note for note in mixed.notes)
    _, trace = cs.nccl.predict_and_simulate("allreduce", machine, NBYTES, ranks=[0, 1, 2, 13, 14])
    assert trace.topology.endpoint_device[:5].tolist() == machine.endpoint_device[[0, 1, 2, 13, 14]].tolist()
    with pytest.raises(cs.CollsimError, match=r"put 1 ranks on one node and 5 on another.*ranks=6 deals them evenly"):
        predict([0, 1, 2, 3, 4, 8])


def test_named_ranks_are_predicted_on_their_own_links():
    """GPUs 0 and 4 of a DGX-1V have two NVLinks between them, GPUs 0 and 1 one."""
    machine = cs.machine("dgx-1v")
    near, far = (cs.nccl.predict("allreduce", machine, "1GiB", ranks=pair) for pair in ([0, 1], [0, 4]))
    assert near.time == pytest.approx(2 * far.time, rel=0.1)
    with pytest.raises(cs.CollsimError, match="no machine as it was built"):
        cs.nccl.predict("allreduce", machine.scaled("nvlink", 0.5), NBYTES, ranks=[0, 4])
    with pytest.raises(cs.CollsimError, match="must be different ranks of"):
        cs.nccl.predict("allreduce", machine, NBYTES, ranks=[True, 2])
    with pytest.raises(cs.CollsimError, match="must be 2 ranks of"):
        cs.simulate(cs.schedule("allreduce_ring", ranks=2), machine, NBYTES, ranks=[True, 2])
    with pytest.raises(cs.CollsimError, match=r"\[True, 2\] must be ranks of"):
        cs.lower_bound("allreduce", machine, NBYTES, ranks=[True, 2])
    with pytest.raises(cs.CollsimError, match="must be ranks of"):
        cs.lower_bound("allreduce", machine, NBYTES, ranks=[0, 99])


@pytest.mark.parametrize(
    "ask",
    [
        lambda machine: cs.nccl.predict("allreduce", machine, NBYTES, ranks=[0, 0]),
        lambda machine: cs.training_step("resnet50", machine, parallel=cs.ddp(), batch=64, ranks=[0, 0]),
    ],
)
def test_two_ranks_on_one_gpu_are_answered_with_what_each_library_does(ask):
    with pytest.raises(cs.CollsimError) as refusal:
        ask(cs.machine("dgx-a100"))
    for language in ("en", "zh"):
        answer = refusal.value.text(language)
        words = "Duplicate GPU detected", "NCCL_MULTI_RANK_GPU_ENABLE=1", "2.30", "Gloo", "MPI", "[0, 0]"
        assert all(word in answer for word in words), answer


def run_on(ranks, algorithm="allreduce_ring", machine="dgx-a100", **options):
    return cs.simulate(cs.schedule(algorithm, ranks=len(ranks)), machine, "64MiB", ranks=ranks, **options)


@pytest.mark.parametrize("engine", ["lockstep", "event"])
def test_ranks_on_one_gpu_copy_in_its_memory_which_all_copies_share(engine):
    """A ring of n ranks sends 2(n-1)/n of the buffer from each; a copy reads and writes, at the data sheet's 2,039 GB/s."""
    for n in (2, 4):
        trace = run_on([0] * n, engine=engine)
        copied = n * (2 * (n - 1) / n) * 2**26
        assert trace.time == pytest.approx(2 * copied / 2.039e12 + 2 * (n - 1) * 0.7e-6, rel=1e-6)
        assert trace.bound.time <= trace.time
    assert run_on([0, 0], machine=cs.machine("dgx-a100", rates="effective")).time > run_on([0, 0]).time


@pytest.mark.parametrize("engine", ["lockstep", "event"])
def test_ranks_on_one_gpu_share_its_links(engine):
    apart, shared = run_on([0, 1, 2, 3], engine=engine), run_on([0, 0, 1, 1], engine=engine)
    # Of four transfers of a step two stay on a GPU, and one leaves each: a GPU sends as much as a rank alone does.
    assert shared.time == pytest.approx(apart.time, rel=1e-3)
    every = run_on([0, 0, 1, 1], "alltoall_direct", engine=engine)
    spread = run_on([0, 1, 2, 3], "alltoall_direct", engine=engine)
    # Each of the two ranks sends two of its four blocks to the other GPU: four blocks leave, where three leave a rank.
    assert every.time == pytest.approx(spread.time * 4 / 3, rel=0.02)
    two_nodes = cs.machine("dgx-a100", nodes=2)
    assert run_on([0, 0, 8, 8], machine=two_nodes).bottleneck.kind != "gpu_memory"


def test_a_run_with_ranks_on_one_gpu_says_what_libraries_do_and_draws_both():
    trace = run_on([0, 0])
    said = trace.explain()
    assert all(word in said for word in ("node0/gpu0", "Duplicate GPU detected", "2.30", "Gloo", "MPI"))
    assert "Duplicate" not in run_on([0, 1]).explain()
    assert trace.bottleneck.kind == "gpu_memory"
    document = build_timeline(trace)
    assert "0, 1" in document["devices"]["label"]
    assert "GPU memory" in json.dumps(document)
    with pytest.raises(cs.TopologyError, match="how fast the memory of ring"):
        run_on([0, 0], machine=cs.topology.ring(4))
    printed = CliRunner().invoke(app, ["run", "allreduce_ring", "--machine", "dgx-a100", "--ranks", "0,0"]).output
    assert "2 ranks: GPUs 0, 0 of node 0" in printed
    assert "Duplicate GPU detected" in printed


def test_the_command_line_says_which_ranks_it_took():
    """`--gpus-per-node 1` builds nodes of one GPU; `--ranks 2` takes one GPU of each node."""
    said = "2 ranks: GPU 0 of each node"
    assert said in run_command("run", "allreduce_ring", "--ranks", "2", "--nbytes", NBYTES)
    assert said in run_command("train", "resnet50", "--ranks", "2", "--batch", "64", "--compute", "57ms")
    assert said in run_command("predict", "allreduce", "--ranks", "2", "--nbytes", "100MB:100MB:2")
    by_count = json.loads(run_command("run", "allreduce_ring", "--ranks", "2", "--nbytes", NBYTES, "--json"))
    per_node = json.loads(run_command("run", "allreduce_ring", "--gpus-per-node", "1", "--nbytes", NBYTES, "--json"))
    assert by_count["time"] == pytest.approx(per_node["time"], rel=0.01)
    assert np.isclose(by_count["time"], 0.08, rtol=0.01)

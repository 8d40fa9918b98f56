"""DataParallel and parameter servers: what they send, when, and who waits."""

import pytest

import collsim as cs

RESNET = cs.model("resnet50")
P = RESNET.nbytes
BOX = cs.machine("dgx-a100")


def sent(trace, kinds, rank=0):
    """Bytes that a rank sends in collectives of some kinds, of parameters and gradients only."""
    from collsim.train.workload.collective_model import CollectiveModel
    from collsim.train.workload.group_link_sharing import count_sent_bytes

    network = CollectiveModel(trace.topology)
    total = 0
    for i in trace.step.collectives:
        task = trace.step.tasks[i]
        if (
            task.kind in kinds
            and task.name.startswith(("parameters", "gradients "))
            and task.name != "gradients of outputs"
        ):
            group = trace.step.get_ranks(task)
            total += count_sent_bytes(network.build_schedule(group, task), task.nbytes)[group.index(rank)]
    return total


def test_without_nccl_gpu_0_sends_the_parameters_to_each_other_gpu_and_takes_in_as_much():
    """7 P = 715,596,896 bytes; a rank of DDP sends 1.75 P = 178,899,224 (rounded to whole elements of every bucket)."""
    t = cs.training_step(RESNET, BOX, parallel=cs.data_parallel(nccl=False), batch=8 * 32)
    assert sent(t, ("broadcast",)) == 7 * P == 715_596_896
    assert sum(sent(t, ("reduce",), rank) for rank in range(1, 8)) == 7 * P
    ddp = cs.training_step(RESNET, BOX, parallel=cs.ddp(broadcast_buffers=False), batch=8 * 32, collectives="links")
    assert ddp.sent_bytes[0] == pytest.approx(178_899_224, rel=1e-6)


def test_with_nccl_it_sends_no_more_than_ddp_but_at_worse_moments():
    """Broadcast P and reduce P against 2·P·7/8; nothing runs beside computing."""
    dp = cs.training_step(RESNET, BOX, parallel=cs.data_parallel(), batch=8 * 32)
    tasks = dp.tasks
    for kind, name in (("broadcast", "parameters"), ("reduce", "gradients")):
        own = tasks[(tasks.kind == kind) & tasks.name.str.startswith(name)]
        assert own.nbytes.sum() == P
    assert dp.overlapped == 0
    ddp = cs.training_step(RESNET, BOX, parallel=cs.ddp(), batch=8 * 32)
    assert dp.time > ddp.time
    assert dp.exposed > 5 * ddp.exposed


def test_threads_of_one_process_launch_the_forward_pass_one_after_another():
    """Where GPUs wait for the host, eight threads under one lock take eight times as long as one; the backward pass is
    C++."""
    one, eight = (
        cs.training_step(RESNET, BOX, parallel=cs.data_parallel(), micro_batch=1, ranks=n).tasks for n in (1, 8)
    )
    spent = [t[t.lanes == (0,)].groupby("kind").time.sum() for t in (one, eight)]
    assert spent[1]["forward"] == pytest.approx(8 * spent[0]["forward"], rel=0.02)
    assert spent[1]["backward"] == pytest.approx(spent[0]["backward"], rel=1e-9)


def test_its_parts_come_one_after_another():
    t = cs.training_step(RESNET, BOX, parallel=cs.data_parallel(), batch=8 * 32)
    tasks = t.tasks
    first = tasks.groupby("kind").begin.min()
    last = tasks.groupby("kind").end.max()
    assert last["broadcast"] <= first["forward"]
    assert last["forward"] <= first["gather"] < first["backward"]
    assert last["backward"] <= first["reduce"]
    assert last["reduce"] <= first["optimizer"]
    assert tasks[tasks.kind == "optimizer"].ranks.tolist() == [(0,)]
    assert t.bubble > 0  # all others wait for GPU 0's optimizer
    assert t.computing + t.exposed + t.bubble == pytest.approx(t.time, rel=1e-9)


def test_every_microbatch_broadcasts_and_reduces():
    once = cs.training_step(RESNET, BOX, parallel=cs.data_parallel(), batch=8 * 32)
    twice = once.what_if(accumulate=2)
    assert (twice.tasks.kind == "broadcast").sum() == 2 * (once.tasks.kind == "broadcast").sum()
    assert twice.exposed == pytest.approx(2 * once.exposed, rel=1e-9)


def test_data_parallel_stays_on_one_node():
    with pytest.raises(cs.CollsimError, match="one node"):
        cs.training_step(RESNET, cs.machine("dgx-a100", nodes=2), parallel=cs.data_parallel(), batch=16)
    one = cs.training_step(
        RESNET, cs.machine("dgx-a100", nodes=2), parallel=cs.data_parallel(), batch=8, ranks=range(8)
    )
    assert one.step.ranks == 8


def test_one_gpu_is_no_hub():
    t = cs.training_step(RESNET, BOX, parallel=cs.data_parallel(), batch=8, ranks=[3])
    assert t.step.lanes == ((3,),)


# ---- parameter servers -----------------------------------------------------------------------------------------------

FREE = [(0, 0)] * len(RESNET.layers)


def net(n):
    return cs.topology.switch(n, bandwidth="1GB/s", alpha=0)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_one_server_takes_as_long_as_all_workers_bytes_through_its_cable(n):
    """n·P in and n·P out; the ring needs 2·P·(n − 1)/n through every cable."""
    t = cs.training_step(RESNET, net(n), parallel=cs.parameter_server(), batch=n, compute=FREE)
    assert t.time == pytest.approx(2 * n * P / 1e9, rel=1e-6)
    ring = cs.training_step(RESNET, net(n), parallel=cs.ddp(broadcast_buffers=False), batch=n, compute=FREE)
    assert ring.time == pytest.approx(2 * (n - 1) / n * P / 1e9, rel=1e-4)


@pytest.mark.parametrize("servers", [2, 4, 8])
def test_shards_divide_the_servers_load_until_the_workers_cables_are_full(servers):
    """max(1, n/k) · 2P on hosts of their own; on all ranks the ring's volume."""
    t = cs.training_step(RESNET, net(8), parallel=cs.parameter_server(servers), batch=8, compute=FREE)
    assert t.time == pytest.approx(2 * max(1, 8 / servers) * P / 1e9, rel=1e-5)
    everywhere = cs.training_step(RESNET, net(8), parallel=cs.parameter_server(8, on="rank"), batch=8, compute=FREE)
    assert everywhere.time == pytest.approx(2 * 7 / 8 * P / 1e9, rel=1e-4)


def test_asynchronous_workers_are_bound_by_themselves_or_by_the_servers_and_are_stale():
    """A worker alone needs compute + 2P; the server n · 2P for all of them."""
    slow = cs.training_step(
        RESNET, net(8), parallel=cs.parameter_server(synchronous=False), batch=8, compute="10ms", interference=0
    )
    assert slow.time == pytest.approx(16 * P / 1e9, rel=1e-6)
    assert slow.exposed > 0.5 * slow.time
    assert slow.bubble == 0
    fast = slow.what_if(compute="10s")
    assert fast.time < slow.what_if(compute="10s", synchronous=True).time
    assert fast.staleness == 7
    assert "7 other updates" in fast.explain()
    assert "7 次" in fast.explain("zh")
    assert slow.what_if(synchronous=True).staleness == 0


@pytest.mark.parametrize(
    "options", [{"servers": 0}, {"on": "moon"}, {"bucket": 0}, {"synchronous": "no"}, {"servers": 9, "on": "rank"}]
)
def test_impossible_servers_get_a_sentence(options):
    with pytest.raises(cs.CollsimError):
        cs.training_step(RESNET, net(8), parallel=cs.parameter_server(**options), batch=8, compute=FREE)


def test_on_a_plain_network_the_weights_go_down_a_chain_and_back_as_with_nccl():
    """B6 of the known answers: GPU 0 sends P, the last GPU nothing, and a piece of 10 MiB takes (6 + pieces)(2 α + piece
    / B): its time and not seven times it."""
    net = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
    t = cs.training_step(RESNET, net, parallel=cs.data_parallel(), micro_batch=4, compute="100ms")
    assert sent(t, ("broadcast",), 0) == P
    assert sent(t, ("broadcast",), 7) == 0
    task = next(i for i, task in enumerate(t.step.tasks) if task.name == "parameters 0")
    nbytes = t.step.tasks[task].nbytes
    pieces = min(32, -(-nbytes // 2**19))
    assert t.end[task] - t.begin[task] == pytest.approx((6 + pieces) * (2e-6 + nbytes / pieces / 25e9), rel=1e-3)

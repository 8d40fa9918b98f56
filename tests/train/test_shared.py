"""Steps on the event engine: the same as one collective at a time where nothing is shared, and slower where something
is."""

import numpy as np
import pytest
from sampling import sample

import collsim as cs
from collsim.train import Layer
from collsim.train.timing.link_contention import LinkContention
from collsim.train.timing.shared_timing import _SharedRun
from collsim.train.workload.collective_model import CollectiveModel
from collsim.train.workload.step_graph import StepTask

MACHINES = [
    cs.topology.switch(4, bandwidth="25GB/s", alpha="1us"),
    cs.topology.ring(6, bandwidth="10GB/s", alpha="2us"),
    cs.topology.fully_connected(4, bandwidth="5GB/s", alpha="5us"),
    cs.machine("dgx-a100"),
    cs.machine("dgx-1v"),
    cs.machine("dgx-a100", nodes=2),
    cs.machine("aws-p4d", nodes=2),
    cs.machine("pcie-8gpu"),
]


def random_case(seed):
    """A model, a network, a way of splitting and how long layers take; nothing shares a link."""
    rng = np.random.default_rng(seed)
    many = int(rng.integers(1, 7))
    layers = [
        Layer(
            f"l{i}",
            tuple(int(n) for n in rng.integers(0, 3_000_000, rng.integers(0, 4))),
            activations=float(rng.integers(0, 1000)),
            outputs=float(rng.integers(1, 1000)),
            buffers=(int(rng.integers(1, 5000)),) if rng.random() < 0.3 else (),
        )
        for i in range(many)
    ]
    topology = MACHINES[rng.integers(len(MACHINES))]
    one_node = topology.facts.nodes == 1
    ways = [
        cs.ddp(bucket=int(rng.integers(1, 2**24)), overlap=bool(rng.random() < 0.8), view=bool(rng.random() < 0.5)),
        cs.ddp(hook="fp16", find_unused=bool(rng.random() < 0.5), accumulate=int(rng.integers(1, 3))),
        cs.parameter_server(int(rng.integers(1, 4)), on="rank" if topology.shape == "ring" else "host"),
        *([cs.data_parallel(bool(rng.random() < 0.5))] if one_node else []),
    ]
    compute = [(float(a), float(b)) for a, b in rng.exponential(2e-3, (many, 2))]
    asked = {"parallel": ways[rng.integers(len(ways))], "compute": compute, "micro_batch": int(rng.integers(1, 5))}
    asked["interference"] = float(rng.choice([0.0, 0.15, 1.0]))
    return cs.train.Model("random", tuple(layers), input_bytes=600), topology, asked


@pytest.mark.parametrize("block", sample(range(8), 3))
def test_shared_equals_alone_where_nothing_is_shared(block):
    """120 random cases, 15 in each block."""
    for seed in range(15 * block, 15 * block + 15):
        model, topology, asked = random_case(seed)
        alone = cs.training_step(model, topology, **asked)
        shared = alone.what_if(network="shared")
        assert shared.time == pytest.approx(alone.time, rel=1e-9), (seed, topology.name, asked)
        assert shared.begin == pytest.approx(alone.begin, rel=1e-9, abs=1e-12), seed
        assert shared.exposed == pytest.approx(alone.exposed, rel=1e-7, abs=1e-10), seed


def test_two_jobs_that_share_cards_slow_each_other_and_the_link_is_named():
    """On p4d each network card serves two GPUs: even GPUs are one job, odd GPUs the other."""
    p4d = cs.machine("aws-p4d", nodes=2)
    one, two = (
        cs.training_step("resnet18", p4d, parallel=cs.ddp(), micro_batch=4, ranks=range(k, 16, 2)) for k in (0, 1)
    )
    both = cs.train.time_concurrent_steps([one, two])
    assert (both.slowdown > 1.02).all()
    assert both[0].time > one.time
    assert both.shared_link is not None
    name = p4d.link_name(both.shared_link)
    assert "nic" in name
    assert name in both.explain()
    assert name in both.explain("zh")
    assert list(both.to_frame().slowdown) == pytest.approx(list(both.slowdown))


def test_two_jobs_on_nodes_of_their_own_do_not_meet():
    a100 = cs.machine("dgx-a100", nodes=2)
    jobs = [
        cs.training_step("resnet18", a100, parallel=cs.ddp(), micro_batch=32, ranks=range(8 * k, 8 * k + 8))
        for k in (0, 1)
    ]
    both = cs.train.time_concurrent_steps(jobs)
    assert both.slowdown == pytest.approx([1, 1], rel=1e-9)
    assert both.shared_link is None
    assert "share no link" in both.explain()


def test_background_traffic_slows_a_step_and_only_on_a_shared_network():
    net = cs.topology.switch(4, bandwidth="1GB/s", alpha="1us")
    asked = {"parallel": cs.ddp(), "micro_batch": 4, "compute": "10ms", "interference": 0.0}
    quiet = cs.training_step("resnet18", net, network="shared", **asked)
    busy = cs.training_step("resnet18", net, network="shared", background=[(0, 1, "10GB")], **asked)
    assert busy.time > 1.3 * quiet.time
    assert busy.explain() != quiet.explain()


def test_a_shared_run_counts_the_bytes_on_every_link():
    """A ring of 4 sends 1.5 P from each rank, over one cable up and one down; buffers come on top (a chain: P
    from 3 ranks)."""
    net = cs.topology.switch(4, bandwidth="1GB/s", alpha="1us")
    t = cs.training_step("vgg16", net, network="shared", parallel=cs.ddp(), micro_batch=1, compute="10ms")
    assert t.link_bytes.sum() == pytest.approx(2 * 4 * 1.5 * t.step.model.nbytes, rel=1e-6)
    assert sum(t.sent_bytes.values()) * 2 == pytest.approx(t.link_bytes.sum(), rel=1e-6)


def test_what_cannot_run_together_gets_a_sentence():
    a100 = cs.machine("dgx-a100")
    t = cs.training_step("resnet18", a100, parallel=cs.ddp(), micro_batch=8)
    other = cs.training_step("resnet18", "dgx-1v", parallel=cs.ddp(), micro_batch=8)
    for steps in ([t], [t, t], [t, other], [t, "ddp"], t, None, 5):
        with pytest.raises(cs.CollsimError):
            cs.train.time_concurrent_steps(steps)
    with pytest.raises(cs.CollsimError, match="asynchronous"):
        cs.training_step(
            "resnet18", a100, parallel=cs.parameter_server(synchronous=False), micro_batch=8, network="shared"
        )


# ---- what is written out --------------------------------------------------------------------------------------------


def random_product(seed):
    """A product of ways on machines whose GPUs share cards, or do not."""
    rng = np.random.default_rng(seed)
    box = cs.machine(str(rng.choice(["dgx-a100", "aws-p4d", "dgx-h100", "dgx-1v"])), nodes=int(rng.choice([1, 2, 4])))
    t = int(rng.choice([1, 2, 4]))
    p = min(int(rng.choice([1, 2, 4])), box.ranks // t)
    ways = [cs.tensor(t, sequence=bool(rng.random() < 0.5))] * (t > 1)
    ways += [cs.pipeline(p, interleave=int(rng.choice([1, 2])) if p > 1 else 1)] * (p > 1)
    ways += [rng.choice([cs.ddp(), cs.zero(1), cs.zero(2), *([cs.fsdp()] if p == 1 else [])])]
    product = ways[0]
    for way in ways[1:]:
        product = product * way
    model = cs.train.transformer(256, 8, 8, seq=128, vocab=1024)
    asked = {"parallel": product, "batch": box.ranks // (t * p) * 4, "micro_batch": 1, "dtype": "float16"}
    asked |= {"interference": float(rng.choice([0.0, 0.15])), "recompute": str(rng.choice(["none", "full"]))}
    return model, box, asked


@pytest.mark.parametrize("block", sample(range(2), 1))
@pytest.mark.slow
def test_what_meets_nothing_takes_as_long_as_when_it_is_written_out(block, monkeypatch):
    """24 random products of ways, each run again with every collective on the event engine."""
    every, write, met = LinkContention.find_permanent, _SharedRun.expand, []
    monkeypatch.setattr(_SharedRun, "expand", lambda self, places: met.append(len(places)) or write(self, places))
    for seed in range(12 * block, 12 * block + 12):
        model, box, asked = random_product(seed)
        few = cs.training_step(model, box, network="shared", **asked)
        count = len(met)  # of the first run: the second writes out all
        monkeypatch.setattr(LinkContention, "find_permanent", lambda self, background: set(self.collectives))
        whole = cs.training_step(model, box, network="shared", **asked)
        monkeypatch.setattr(LinkContention, "find_permanent", every)
        assert few.begin == pytest.approx(whole.begin, rel=1e-9, abs=1e-12), (seed, box.name, asked)
        assert few.end == pytest.approx(whole.end, rel=1e-9, abs=1e-12), (seed, box.name, asked)
        del met[count:]
    assert any(met), "nothing met in any of them: the comparison says nothing"


def test_a_shared_step_of_a_thousand_gpus_writes_out_the_few_that_meet(monkeypatch):
    """GPT-3 over 1,024 GPUs has 12,084 collectives of 64 GPUs each; only gradients at the end meet the last of what
    the pipeline sends."""
    written = []
    write = _SharedRun.expand
    monkeypatch.setattr(
        _SharedRun, "expand", lambda self, places: written.append(write(self, places) or len(self.expanded))
    )
    split = cs.tensor(8) * cs.pipeline(16) * cs.ddp()
    asked = {"parallel": split, "batch": 1536, "micro_batch": 1, "dtype": "bfloat16", "recompute": "full"}
    shared = cs.training_step("gpt3-175b", cs.machine("dgx-a100", nodes=128), network="shared", **asked)
    assert 0 < written[-1] < 100
    assert len(shared.step.collectives) > 10_000
    assert 1 < shared.time / shared.what_if(network="alone").time < 1.01


def test_more_than_memory_holds_is_refused_before_it_is_tried():
    with cs.limits.within("64KiB"), pytest.raises(cs.CollsimError, match="collectives that meet on a link would take"):
        cs.training_step("resnet18", "aws-p4d", parallel=cs.ddp(), micro_batch=4, network="shared", eager=True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dgx-a100", {"nics": 4}),
        ("dgx-a100", {"nic": "tcp-100"}),
        ("dgx-1v", {}),
        ("dgx-1v", {"gdr": False}),
        ("rtx4090-8gpu", {}),
    ],
)
@pytest.mark.parametrize("collectives", ["nccl", "links"])
def test_groups_that_share_links_take_as_long_alone_as_together(name, options, collectives):
    """Eight data-parallel groups over the cards of two nodes: one rule, whether steps share the network or not."""
    machine = cs.machine(name, nodes=2, **options)
    split = {"parallel": cs.tensor(8) * cs.ddp(), "micro_batch": 2, "collectives": collectives}
    alone, shared = (cs.training_step("gpt2", machine, network=network, **split) for network in ("alone", "shared"))
    spans = [(step.tasks.end - step.tasks.begin)[step.tasks.kind == "allreduce"] for step in (alone, shared)]
    assert spans[0].to_list() == pytest.approx(spans[1].to_list(), rel=0.05)
    assert alone.time <= shared.time * (1 + 1e-9)


def test_a_card_carries_the_bytes_of_all_groups():
    """Eight groups over one card of 100 Gbit/s, whose CPU moves no more for eight groups than for one; four cards for
    eight groups are two groups a card."""
    for options, times in (({"nic": "tcp-100"}, 8), ({"nics": 4}, 2), ({}, 1)):
        machine = cs.machine("dgx-a100", nodes=2, **options)
        network = CollectiveModel(machine)
        groups = tuple((gpu, gpu + 8) for gpu in range(8))
        task = StepTask("bucket", "allreduce", (0,), nbytes=2**30)
        by_itself, together = network.time_group(groups[0], task), network.time_groups(groups, task)
        assert together / by_itself == pytest.approx(times, rel=0.01)


def test_what_was_timed_before_changes_no_time():
    """An empty buffer loads no link; a larger one of the same groups must still find the links that they share."""
    groups = tuple((rank, rank + 8) for rank in range(8))
    fresh, used = CollectiveModel(cs.topology.ring(16)), CollectiveModel(cs.topology.ring(16))
    used.time_groups(groups, StepTask("empty", "allreduce", (0,), nbytes=0))
    task = StepTask("bucket", "allreduce", (0,), nbytes=2**20)
    assert used.time_groups(groups, task) == fresh.time_groups(groups, task) > fresh.time_group(groups[0], task)

"""Uneven routing to experts, capacities, and what computes while tokens travel: figures worked by hand."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import collsim as cs
from collsim.train import Model
from collsim.train.link_traffic import count_rank_bytes
from collsim.train.parallel.split_builder import find_partnered_passes
from collsim.train.step_export import build_record
from collsim.train.workload.expert_load import ExpertRouting, _find_choice_weights, parse_imbalance

#: Bytes of a GPU's tokens: 4,096 of 1,024 elements of 16 bits.
TOKENS = 4096 * 1024 * 2


def mixture(experts=8, top_k=2):
    """Two blocks of a mixture of experts."""
    layers = cs.train.transformer(1024, 2, 8, seq=4096, ffn=2048, experts=experts, top_k=top_k, flash=True).layers[1:-2]
    return Model("moe", layers, 4096)


def step_of(split, ranks=4, model=None, **more):
    """A step on a switch, without the computing of other layers deciding."""
    usual = {"dtype": "float16", "compute": "A100", "memory": "100TB", "batch": 2 * ranks, "micro_batch": 1}
    return cs.training_step(model or mixture(), cs.topology.switch(ranks), parallel=split, **usual | more)


# ---- loads ----------------------------------------------------------------------------------------------------------


def test_words_of_imbalance_are_dealt_to_gpus_in_turn():
    """Zipf over 4 experts on 2 GPUs: 1 + 1/3 against 1/2 + 1/4; one hot of four: 4 + 1 against 1 + 1."""
    load = ExpertRouting("zipf").find_load(4, 1, 2)
    assert load.gpu_loads == pytest.approx(np.array([4 / 3, 3 / 4]) * 2 / (25 / 12))
    assert ExpertRouting("hot").find_load(4, 1, 2).gpu_loads == pytest.approx((10 / 7, 4 / 7))
    assert ExpertRouting(1.0).find_load(4, 1, 2).gpu_loads == load.gpu_loads
    assert ExpertRouting(0.0).find_load(4, 1, 2).gpu_loads == (1, 1)


def test_counts_are_of_experts_or_of_gpus_and_neighbours_share_a_gpu():
    """5 + 1 of 8 tokens on the first GPU: 1.5 times the mean."""
    assert ExpertRouting((5.0, 1.0, 1.0, 1.0)).find_load(4, 1, 2).gpu_loads == (1.5, 0.5)
    assert ExpertRouting((6.0, 2.0)).find_load(4, 1, 2).gpu_loads == (1.5, 0.5)
    with pytest.raises(cs.CollsimError, match="3 counts; the layer has 4 experts on 2 GPUs"):
        ExpertRouting((1.0, 1.0, 1.0)).find_load(4, 1, 2)


def test_an_expert_has_each_token_at_most_once():
    """Of 100 : 1 : 1 : 1 with two experts a token, half of all assignments at most go to one: 1/2 and 1/6 each."""
    shares = ExpertRouting((100.0, 1.0, 1.0, 1.0)).find_load(4, 2, 4).shares
    assert shares.ravel() == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])


def test_a_capacity_drops_what_is_beyond_it():
    """16 tokens go 8, 4, 2, 2 to four experts; the mean is 4. At 1.25 an expert takes 5: 3 of 16 are dropped. At 1 it
    takes 4: 4 of 16; at 2 none. Padded buffers hold the capacity on every GPU."""
    for factor, taken, dropped in ((1.25, (5, 4, 2, 2), 3), (1.0, (4, 4, 2, 2), 4), (2.0, (8, 4, 2, 2), 0)):
        load = ExpertRouting((8.0, 4.0, 2.0, 2.0), factor).find_load(4, 1, 2)
        assert load.dropped == pytest.approx(dropped / 16)
        assert load.gpu_loads == pytest.approx((sum(taken[:2]) / 8, sum(taken[2:]) / 8))
        padded = ExpertRouting((8.0, 4.0, 2.0, 2.0), factor, padded=True).find_load(4, 1, 2)
        assert (padded.dropped, padded.gpu_loads) == (pytest.approx(dropped / 16), pytest.approx((factor, factor)))


def test_how_many_nodes_a_token_reaches_is_the_mean_over_all_choices():
    """Six experts in three nodes, three a token, all sets of three by the product of some weights: the shares that
    these give are put in, and each node must be reached as often as in the enumeration."""
    weights = np.array([5.0, 1.0, 2.0, 1.0, 0.5, 0.5])
    sets = list(combinations(range(6), 3))
    chances = np.array([weights[list(chosen)].prod() for chosen in sets])
    chances /= chances.sum()
    shares, reached, taken = np.zeros(6), np.zeros(3), np.zeros(3)
    for chosen, chance in zip(sets, chances, strict=True):
        shares[list(chosen)] += chance / 3
        reached[sorted({expert // 2 for expert in chosen})] += chance
        # every tenth token is dropped at expert 0, and no other
        taken[sorted({expert // 2 for expert in chosen if expert})] += chance / 10
        taken[sorted({expert // 2 for expert in chosen})] += chance * 9 / 10
    load = ExpertRouting(tuple(shares)).find_load(6, 3, 3)
    assert load.count_reached(3) == pytest.approx(reached, abs=1e-6)
    factor = float(shares[0] * 6 * 9 / 10)  # expert 0 takes nine tenths of its tokens
    assert factor > shares[1:].max() * 6
    limited = ExpertRouting(tuple(shares), factor).find_load(6, 3, 3)
    assert limited.count_reached(3) == pytest.approx(taken, abs=1e-6)


@pytest.mark.parametrize(("nodes", "held", "top_k", "most"), [(8, 32, 8, 4), (8, 8, 8, 4), (8, 20, 6, 3)])
def test_group_limited_routing_reaches_as_many_nodes_as_drawn_scores_do(nodes, held, top_k, most):
    """DeepSeek-V3, section 2.1.2: the nodes with the largest sums of their best top_k / max_nodes scores, and there the
    best experts. The formula is of sets that are as likely as without the limit, 1 to 2 % below."""
    scores = 1 / (1 + np.exp(-np.random.default_rng(0).normal(size=(5_000, nodes, held))))
    sums = np.sort(scores, axis=2)[:, :, -(top_k // most) :].sum(axis=2)
    allowed = np.argsort(-sums, axis=1)[:, :most]
    is_allowed = np.zeros((len(scores), nodes), bool)
    np.put_along_axis(is_allowed, allowed, True, axis=1)
    chosen = np.argpartition(-np.where(is_allowed[:, :, None], scores, -1).reshape(len(scores), -1), top_k)[:, :top_k]
    drawn = np.mean([len(set(row)) for row in (chosen // held).tolist()])
    load = ExpertRouting(nodes=nodes, max_nodes=most).find_load(nodes * held, top_k, nodes)
    assert 0.98 * drawn <= sum(load.count_reached(nodes)) <= drawn <= most


def test_the_limit_of_nodes_is_a_sum_over_the_sets_that_keep_it():
    weights = (5.0, 1.0, 2.0, 1.0, 0.5, 0.5)
    load = ExpertRouting(weights, nodes=3, max_nodes=2).find_load(6, 3, 3)
    free = ExpertRouting(weights).find_load(6, 3, 3)
    odds = _find_choice_weights(tuple(free.shares.ravel().tolist()), 3)
    sets = [s for s in combinations(range(6), 3) if len({expert // 2 for expert in s}) <= 2]
    chances = np.array([odds[list(s)].prod() for s in sets])
    reached = [chances[[node in {e // 2 for e in s} for s in sets]].sum() / chances.sum() for node in range(3)]
    assert load.count_reached(3) == pytest.approx(reached)


def test_a_limit_of_nodes_needs_nodes_and_enough_experts_on_them():
    assert cs.expert(16, per_node=8, max_nodes=2).max_nodes == 0, "all nodes are no limit"
    assert cs.expert(64, per_node=8, max_nodes=4).label == "expert(64, per_node=8, max_nodes=4)"
    with pytest.raises(cs.CollsimError, match="per_node=8"):
        cs.expert(64, max_nodes=4)
    with pytest.raises(cs.CollsimError, match="8 nodes have 1 experts each"):
        ExpertRouting(nodes=8, max_nodes=1).find_load(8, 2, 8)


# ---- in a step ------------------------------------------------------------------------------------------------------


def test_all_gpus_wait_for_the_busiest():
    """Experts of the first of four GPUs compute 2.5 times the mean: so many FLOPs and activations of their layers, and
    the largest message of an alltoallv decides how long it takes."""
    even, hot = (step_of(cs.expert(4, imbalance=counts) * cs.zero(1)) for counts in ("even", (5, 1, 1, 1)))
    layers = even.step.model.layers
    of_experts = [i for i, layer in enumerate(layers) if layer.experts]

    def sum_flops(trace, numbers):
        return sum(work.flops for task in trace.step.tasks for work in task.layer_work if work.layer in numbers)

    assert sum_flops(hot, of_experts) == pytest.approx(2.5 * sum_flops(even, of_experts))
    others = [i for i, layer in enumerate(layers) if not layer.experts]
    assert sum_flops(hot, others) == sum_flops(even, others)
    assert hot.memory.max() > even.memory.max()
    # On the switch the busiest port carries 3 · 5/8 · 2 of a GPU's tokens, in place of 2 · 3/4: 2.5 times as many.
    seconds = {
        trace: {task.kind: (trace.end - trace.begin)[i] / task.repeats for i, task in enumerate(trace.step.tasks)}
        for trace in (even, hot)
    }
    assert seconds[hot]["alltoallv"] == pytest.approx(2.5 * seconds[even]["alltoall"], rel=0.02)
    assert "compute 2.5 times the mean" in hot.explain()
    assert "2.5 倍" in hot.explain("zh")


def test_bytes_of_a_card_follow_the_counts():
    """A GPU sends 2 copies of its tokens by the shares 5/8, 1/8, 1/8, 1/8, but not its own; what it computed goes back
    to the three others. Four times two directions and layers, and twice, for two microbatches."""
    split = cs.expert(4, imbalance=(5, 1, 1, 1)) * cs.zero(1)
    trace = step_of(split)
    dense = step_of(split.with_options(imbalance="even"))
    sent, usual = (count_rank_bytes(step.step, step.topology, step.request) for step in (trace, dense))
    # first: 3/8 there, 3 · 5/8 back; others: 7/8 there, 3/8 back
    copies = 2 * TOKENS * (2 * 2 * 2)
    there_and_back = np.array([3 / 8 + 15 / 8, 7 / 8 + 3 / 8, 7 / 8 + 3 / 8, 7 / 8 + 3 / 8])
    rest = usual[0] - copies * 3 / 4 * 2  # of gradients and weights
    assert [sent[rank] - rest for rank in range(4)] == pytest.approx(copies * there_and_back, rel=1e-3)


def test_on_a_machine_an_uneven_dispatch_takes_as_long_as_an_even_one_of_its_busiest():
    """NCCL's alltoall with 1/2 · 8 = 4 times as many bytes for the first GPU is one of 4 times the size."""
    counts = (7.0, *[1.0] * 7)
    names = {"machine": "dgx-h100", "batch": 16, "micro_batch": 1, "dtype": "bfloat16", "memory": "1TB"}
    trace = cs.training_step(mixture(), parallel=cs.expert(8, imbalance=counts) * cs.zero(1), **names)
    number = next(i for i, task in enumerate(trace.step.tasks) if task.kind == "alltoallv")
    task = trace.step.tasks[number]
    expected = cs.nccl.predict("alltoall", cs.machine("dgx-h100"), round(4 * task.nbytes / 8))
    assert (trace.end - trace.begin)[number] == pytest.approx(task.repeats * expected.time, rel=1e-3)
    schedule = trace.step.build_schedule(number, cs.machine("dgx-h100"))
    assert schedule.collective == "alltoallv"
    cs.verify(schedule)


def test_padded_buffers_are_as_large_on_every_gpu():
    """Messages and matrices of 1.5 times the mean, whatever the routing; memory of the buffers with them."""
    full = step_of(cs.expert(4, imbalance="zipf", capacity_factor=1.5, padded=True) * cs.zero(1))
    sent = [task for task in full.step.tasks if task.stream == "expert"]
    assert {(task.kind, task.nbytes) for task in sent} == {("alltoall", 3 * TOKENS)}
    cut = step_of(cs.expert(4, imbalance="zipf", capacity_factor=1.5) * cs.zero(1))
    even = step_of(cs.expert(4) * cs.zero(1))
    assert even.memory.max() < full.memory.max()
    assert "filled up to 1.5 times the mean" in full.explain()
    dropped = ExpertRouting("zipf", 1.5).find_load(8, 2, 4).dropped
    assert 0 < dropped < 0.5
    for trace in (full, cut):
        assert f"drops {100 * dropped:.3g} %" in trace.explain()


def test_a_token_goes_once_to_the_busiest_node():
    """Two nodes of two GPUs, one expert each, two a token; nine of twelve tokens' choices hold expert 0: the bytes over
    cards follow how often a node is reached, and inside the busiest node how often a GPU is."""
    split = cs.expert(4, per_node=2, imbalance=(5, 3, 2, 2)) * cs.zero(1)
    step = step_of(split, model=mixture(experts=4)).step
    reached = ExpertRouting((5.0, 3.0, 2.0, 2.0)).find_load(4, 2, 4).count_reached(2)
    sent = {task.name: task for task in step.tasks if task.stream == "expert"}
    assert sent["expert rails"].nbytes == round(TOKENS * sum(reached) * 2)
    # what the first node's two GPUs receive of all four GPUs' tokens: 5/6 and 1/2 of each; two such messages a pair
    assert sent["expert nodes"].nbytes == pytest.approx(TOKENS * (5 / 6 + 1 / 2) * 2 * 2, rel=1e-6)
    assert {task.kind for task in sent.values()} == {"alltoallv"}


# ---- overlap --------------------------------------------------------------------------------------------------------


def test_first_forward_and_last_backward_pass_have_no_partner():
    """1F1B on two ranks, three microbatches: F0 F1 B0 F2 B1 B2 and F0 B0 F1 B1 F2 B2."""
    orders = cs.pipeline(2).build_orders(3)
    partnered = Counter((rank, action.kind, action.microbatch) for rank, action in find_partnered_passes(orders))
    first = {(0, "F", 1), (0, "B", 0), (0, "F", 2), (0, "B", 1)}
    last = {(1, "B", 0), (1, "F", 1), (1, "B", 1), (1, "F", 2)}
    assert set(partnered) == first | last


def exposed_and_sent(trace):
    """s of the first lane's dispatches that nothing hides, and of all of them."""
    spent = trace.end - trace.begin
    sent = sum(spent[i] for i, task in enumerate(trace.step.tasks) if task.stream == "expert" and 0 in task.lanes)
    return trace.exposed, sent


def test_another_microbatch_hides_dispatches():
    """8 microbatches, no pipeline: of 16 passes the first forward and the last backward have no partner. Where
    computing takes longer all others are hidden: two of 16 equal passes remain."""
    options = {"batch": 32, "compute": "V100"}
    plain, hidden = (step_of(cs.expert(4, overlap_with=word) * cs.ddp(), **options) for word in ("nothing", "batch"))
    exposed, sent = exposed_and_sent(plain)
    rest = exposed - sent  # of gradients
    left, _ = exposed_and_sent(hidden)
    assert left - rest == pytest.approx(sent / 8, rel=0.05)
    assert hidden.time < plain.time
    alone = step_of(cs.expert(4, overlap_with="batch") * cs.ddp(), batch=4)
    assert alone.time == pytest.approx(step_of(cs.expert(4) * cs.ddp(), batch=4).time)


def test_experts_hide_three_of_four_parts():
    """Where experts compute longer than tokens travel, a quarter of the bytes remains; where they do not, the excess
    does, too."""
    for bandwidth, share in (("1000GB/s", 1 / 4), ("100MB/s", 1.0)):
        switch = cs.topology.switch(4, bandwidth=bandwidth, alpha="0us")
        options = {"dtype": "float16", "compute": "V100", "memory": "100TB", "batch": 4, "interference": 0}
        traces = [
            cs.training_step(mixture(), switch, parallel=cs.expert(4, overlap_with=word) * cs.zero(1), **options)
            for word in ("nothing", "experts")
        ]
        sent = exposed_and_sent(traces[0])[1]
        saved = traces[0].time - traces[1].time
        if share < 1:
            assert saved == pytest.approx(sent * (1 - share), rel=0.02)
        else:  # experts are hidden behind tokens instead
            assert 0 < saved < sent / 10


def test_shared_experts_hide_what_they_take():
    """DeepSeek's shared expert computes while tokens travel; a mixture without one is refused."""
    arguments = {"machine": cs.machine("dgx-h100", nodes=4), "batch": 32, "micro_batch": 1, "dtype": "bfloat16"}
    arguments |= {"memory": "100TB"}
    plain, beside = (
        cs.training_step("deepseek-v3", parallel=cs.expert(32, per_node=8, overlap_with=word) * cs.zero(1), **arguments)
        for word in ("nothing", "shared")
    )
    shared = [i for i, layer in enumerate(plain.step.model.layers) if ".shared." in layer.name]
    hiding = [task for task in beside.step.tasks if {work.layer for work in task.layer_work} <= set(shared)]
    took = sum(
        float((beside.end - beside.begin)[i])
        for i, task in enumerate(beside.step.tasks)
        if task.layer_work and task in hiding
    )
    assert took > 0
    # Computing is slower while a card sends, so a little less is saved than the shared expert takes.
    assert 0.7 * took < plain.time - beside.time < took
    with pytest.raises(cs.CollsimError, match="no expert that all tokens go through"):
        step_of(cs.expert(4, overlap_with="shared") * cs.zero(1))


# ---- words ----------------------------------------------------------------------------------------------------------


def test_a_label_is_read_again():
    """Counts as a short text, a word, an exponent."""
    for imbalance in ("zipf", 1.2, (3, 1, 1, 1), "3,1,1,1"):
        split = cs.expert(4, imbalance=imbalance, capacity_factor=1.25, overlap_with="batch")
        assert cs.train.parse_strategy(split.label) == split
    assert cs.expert(4, imbalance=(3, 1, 1, 1)).label == "expert(4, imbalance='3,1,1,1')"
    assert parse_imbalance("1.5") == 1.5


def test_a_word_needs_no_quotes_in_a_split():
    """A shell takes them away."""
    assert cs.train.parse_strategy("expert(4, imbalance=hot)") == cs.expert(4, imbalance="hot")
    with pytest.raises(cs.CollsimError, match="imbalance='nope' must be even, zipf, hot"):
        cs.train.parse_strategy("expert(4, imbalance=nope)")


def test_a_step_says_what_is_dropped_wherever_it_is_asked():
    """Of eight experts, two for a token, the hot one is chosen 4 times in 11, and takes one in 8."""
    step = step_of("expert(4, imbalance=hot, capacity_factor=1) * ddp()")
    dropped = 4 / 11 - 1 / 8
    assert step.expert_load.dropped == pytest.approx(dropped)
    assert build_record(step)["experts"] == {"busiest": step.expert_load.busiest, "dropped": step.expert_load.dropped}
    assert f"drops {100 * dropped:.3g} %" in str(step.explain())
    assert not step.expert_load.is_padded
    assert step_of(cs.ddp()).expert_load is None


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"imbalance": "zip"}, "imbalance=.*zip.* must be even, zipf, hot"),
        ({"imbalance": -1}, "imbalance=-1 must be"),
        ({"imbalance": (0, 0)}, "must be"),
        ({"imbalance": True}, "must be"),
        ({"capacity_factor": -1}, "capacity_factor=-1 must be"),
        ({"capacity_factor": float("nan")}, "capacity_factor=nan must be"),
        ({"padded": True}, "give capacity_factor"),
        ({"overlap_with": "everything"}, "overlap_with"),
    ],
)
def test_what_no_routing_is_gets_a_sentence(options, match):
    """Each with its value."""
    with pytest.raises(cs.CollsimError, match=match):
        cs.expert(4, **options)


def test_megatron_has_options_for_capacity_and_overlap():
    """Those of megatron/training/arguments.py."""
    split = cs.expert(2, capacity_factor=1.5, padded=True, overlap_with="batch")
    assert split.list_megatron_options() == [
        "--expert-model-parallel-size 2",
        "--moe-expert-capacity-factor 1.5",
        "--moe-pad-expert-input-to-capacity",
        "--overlap-moe-expert-parallel-comm",
    ]
    assert cs.expert(2, overlap_with="experts").find_missing_megatron_options() == {"overlap_with='experts'": True}

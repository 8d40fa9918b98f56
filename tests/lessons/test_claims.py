"""What lessons 14 to 17 say in words, held against runs and against graph theory that is not ours."""

from importlib import import_module
from math import comb

import networkx as nx
import pytest

import collsim as cs
from collsim.lessons.chapters import SECTIONS

sharding, splits, trees = (
    import_module(f"collsim.lessons.chapters.{name}") for name in ("14_sharding", "16_splits", "17_how_good")
)


def fill_section(key):
    return SECTIONS[key][1].fill_texts()


def test_an_a100_has_too_little_memory_for_the_model_under_ddp():
    assert "more than an A100 can store" in fill_section("sharding").before[0][0]
    with pytest.raises(cs.CollsimError, match="does not fit"):
        cs.training_step("llama2-7b", "dgx-a100", parallel=cs.ddp(), micro_batch=1, dtype="bfloat16")


def test_without_prefetch_the_level_is_lower_by_one_block():
    on, off = (sharding._simulate_step(way).memory.peak()["gathered"] for way in (cs.fsdp(), cs.fsdp(prefetch=False)))
    block = sharding._simulate_gather().nbytes
    assert on - off == pytest.approx(block)


def test_hybrid_sharding_gathers_over_nvlink_alone():
    hybrid = sharding._simulate_slow_network(cs.fsdp(replicate=4))
    tasks = [task for task in hybrid.step.tasks if task.kind == "allgather"]
    nodes = [{rank // 8 for rank in hybrid.step.get_ranks(task)} for task in tasks]
    assert nodes
    assert all(len(one) == 1 for one in nodes)


def test_layers_send_most_and_the_pipeline_least_and_layers_wait_for_all_of_it():
    assert "the split that sends most" in fill_section("placement").after[0][0]
    rows = splits._simulate_step(splits._INSIDE).count_crossing_bytes()
    first = rows[rows["lane"] == 0].groupby("strategy").nbytes.sum()
    assert first["tensor"] > first["data"] > first["pipeline"]
    inside, across = (splits._simulate_step(order) for order in (splits._INSIDE, splits._ACROSS))
    assert across.exposed > 3 * inside.exposed


def test_the_narrowest_cut_is_the_minimum_cut_of_the_graph():
    """The smallest maximum flow from rank 0 to any other, by networkx."""
    graph = nx.Graph(trees._CABLES)
    nx.set_edge_attributes(graph, 25e9, "capacity")
    least = min(nx.maximum_flow_value(graph, 0, rank) for rank in (1, 2, 3))
    said = fill_section("cut")
    assert said.trace.bound.cut.bandwidth == least
    assert said.question.choices[1].text[0] == cs.format_time(said.trace.nbytes / least)


def test_the_two_trees_span_all_ranks_and_share_no_direction_of_a_cable_and_the_wrong_ones_do():
    def drawn(text):
        return [tuple(map(int, hop.split(" → "))) for hop in text.split(", ")]

    said = fill_section("packing")
    first = [edge[:2] for edge in trees._FIRST]
    choices = [drawn(one.text[0]) for one in said.question.choices]
    for tree in (first, *choices):
        assert nx.is_arborescence(nx.DiGraph(tree))
        assert set(nx.DiGraph(tree)) == {0, 1, 2, 3}
    assert [bool(set(tree) & set(first)) for tree in choices] == [True, False, True]


def test_with_p_pieces_two_trees_take_p_and_one_steps_of_half_a_buffer_over_p():
    for pieces in (1, 4, 32):
        run = trees._simulate_trees((trees._FIRST, trees._SECOND), pieces)
        assert run.time == pytest.approx((pieces + 1) * (1e-6 + 2**26 / (2 * pieces) / 25e9), rel=1e-3)
        cs.verify(run.schedule)


def test_experts_beyond_a_node_take_longer_and_a_node_holds_more():
    experts = import_module("collsim.lessons.chapters.19_experts")
    inside, across = (experts._simulate_step(share) for share in (8, 16))
    assert across.time > 1.3 * inside.time
    assert across.memory.max() < inside.memory.max()
    told = fill_section("dispatch")
    assert set(told.trace.sent_bytes) == {told.trace.nbytes * 7 // 8}
    rows = across.count_crossing_bytes()
    cards = rows[(rows.lane == 0) & (rows.strategy == "expert") & (rows.link == "infiniband")]
    assert cards.nbytes.sum() > rows[(rows.lane == 0) & (rows.strategy == "expert")].nbytes.sum() / 2


def test_a_card_sends_a_token_once_to_a_node_and_not_once_for_each_expert():
    """Qwen3 30B: 8 of 128 experts, 64 on each of two nodes; a copy is an eighth of what a GPU has."""
    experts, told = import_module("collsim.lessons.chapters.19_experts"), fill_section("once")
    copy = experts._count_dispatch_bytes() / 8
    visits = 1 - comb(64, 8) / comb(128, 8)
    assert experts._count_card_bytes(told.trace) == pytest.approx(copy * visits, rel=1e-4)
    plain = experts._simulate_uneven_dispatch(2, "even")
    assert experts._count_card_bytes(plain) == pytest.approx(4 * copy, rel=1e-4)
    assert told.trace.time < plain.time / 2


def test_a_popular_expert_slows_what_experts_do_and_not_the_rest_and_a_capacity_drops():
    experts = import_module("collsim.lessons.chapters.19_experts")
    even, _, uneven, limited = experts._ROUTINGS
    load = uneven.find_load(cs.model("qwen3-30b-a3b"))
    ratio = experts._simulate_split(uneven).time / experts._simulate_split(even).time
    assert 1.1 < ratio < load.busiest - 0.2
    assert limited.find_load(cs.model("qwen3-30b-a3b")).dropped > 0.1
    assert experts._simulate_split(limited).time < experts._simulate_split(even).time


def test_another_microbatch_hides_more_than_parts_do_and_some_waiting_remains():
    experts = import_module("collsim.lessons.chapters.19_experts")
    plain, parts, batch, once = (experts._simulate_split(split).exposed for split in experts._OVERLAPS)
    assert plain > parts > batch > once > 0
    told = fill_section("hide")
    direct = experts._simulate_uneven_dispatch(2, "even")
    assert told.trace.time < direct.time / 2

"""Comparisons that stand in docs and notebooks as words, each held against a run: more, less, the same, on every rank."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from test_teaching import GUIDES, links

import collsim as cs
from collsim.collective import get_collective

ROOT = Path(__file__).parents[2]
SWITCH = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")


def on_switch(name, nbytes="64MiB", **options):
    return cs.simulate(cs.schedule(name, ranks=8, **options), SWITCH, nbytes)


def written(name, *sentences):
    """The text of a document or of both notebooks of a number, in which these sentences stand."""
    paths = (
        [ROOT / name]
        if "." in name
        else [*ROOT.glob(f"notebooks/{name}-*.ipynb"), *ROOT.glob(f"notebooks/zh/{name}-*")]
    )
    texts = [path.read_text(encoding="utf-8") for path in paths]
    if "." not in name:
        texts = ["\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"]) for text in texts]
    for sentence in sentences:
        assert any(sentence in " ".join(text.split()) for text in texts), f"{name} has no {sentence!r} any more"


def test_every_port_sends_and_receives_at_once_in_a_ring_on_a_switch():
    written("docs/teaching.md", "Every port already sends and receives at once")
    assert set(on_switch("allreduce_ring").link_bytes) == {14 * 8 * 2**20}


def test_a_second_ring_uses_the_other_direction_of_a_ring_network():
    written(
        "docs/teaching.md",
        "A second, opposite ring is needed to use the other direction of the cables on a ring network.",
    )
    network = cs.topology.ring(8, bandwidth="25GB/s", alpha="1us")
    loaded = [
        int((cs.simulate(cs.schedule(name, ranks=8), network, "64MiB").link_bytes > 0).sum())
        for name in ("allreduce_ring", "allreduce_ring_bidirectional")
    ]
    assert loaded == [8, 16]


def test_fewer_steps_are_better_for_a_kibibyte_only():
    written("docs/teaching.md", "Yes for 1 KiB. Change the size to 64 MiB and look again.")
    few, many = (
        {n: on_switch(name, n) for n in ("1KiB", "64MiB")}
        for name in ("allreduce_recursive_doubling", "allreduce_ring")
    )
    assert few["1KiB"].schedule.steps < many["1KiB"].schedule.steps
    assert few["1KiB"].time < many["1KiB"].time
    assert few["64MiB"].time > many["64MiB"].time


@pytest.mark.parametrize("language", GUIDES)
def test_the_send_that_the_guide_loses_is_missed_by_every_rank_and_the_player_opens_where_nothing_arrives(language):
    (url,) = {u for u in links(language) if "break=lose" in u}
    seed = int(re.search(r"break=lose-(\d+)", url)[1])
    made = cs.teach.break_it(on_switch("allreduce_ring"), "lose", seed)
    data = np.arange(8 * 64).reshape(8, 64)
    wrong = cs.replay(made.trace.schedule, data) != data.sum(axis=0)
    assert wrong.any(axis=1).all(), "the sum is wrong on every rank"
    assert f"step {made.error.step + 1}" in made.what
    assert f"to rank {made.error.rank} " in made.what


def test_on_one_switch_a_cut_cable_cuts_a_rank_off():
    written("docs/teaching.md", "On one switch a rank would be cut off.")
    assert cs.teach.break_it(on_switch("allreduce_ring"), "cut").trace is None


def test_busbw_is_a_fixed_factor_and_not_what_a_link_carried():
    written("docs/teaching.md", "It is algbw times a fixed factor.")
    for name in ("allreduce_ring", "allreduce_parameter_server", "allreduce_tree"):
        run = on_switch(name)
        assert run.busbw == pytest.approx(run.algbw * 14 / 8)
    server = on_switch("allreduce_parameter_server")
    assert server.busbw < server.link_bytes.max() / server.time, "its hot link carried more than busbw says"


def test_with_a_server_a_worker_sends_less_than_in_a_ring():
    written("02", "sends its 64MiB once and receives 64MiB once, which is less than a ring's share")
    server, ring = on_switch("allreduce_parameter_server"), on_switch("allreduce_ring")
    assert set(server.sent_bytes[1:]) == set(server.received_bytes[1:]) == {2**26}
    assert (server.sent_bytes[1:] < ring.sent_bytes[1:]).all()


def test_a_kibibyte_is_latency_and_64_mebibytes_are_bytes():
    written("04", "nearly all of it latency", "nearly all of it bytes")
    latency = 14 * 2e-6  # steps of two cables of 1 us
    assert latency / on_switch("allreduce_ring", "1KiB").time > 0.99
    assert latency / on_switch("allreduce_ring").time < 0.01


def test_a_double_tree_comes_close_to_the_ring_and_one_tree_does_not():
    written("04", "the double tree", "holds for one tree, not for two")
    ring, one, two = (
        on_switch(n, **o).time
        for n, o in (
            ("allreduce_ring", {}),
            ("allreduce_tree", {"chunks": 64}),
            ("allreduce_double_binary_tree", {"chunks": 64}),
        )
    )
    assert ring < two < 1.25 * ring
    assert one > 1.75 * ring


def test_a_pattern_keeps_a_ring_in_as_many_rows_as_the_design_says():
    written("docs/design.md", "A ring of 1,024 ranks is 2,048 rows in memory instead of 2,095,104")
    ring = cs.schedule("allreduce_ring", ranks=1024)
    assert (sum(map(len, ring.patterns)), len(ring)) == (2048, 2095104)
    written("docs/performance.md", "33.5 million rows of 4,096 ranks are 98,304")
    pieces = cs.schedule("allreduce_halving_doubling", ranks=4096)
    assert sum(map(len, pieces.patterns)) == 98304
    assert round(len(pieces) / 1e6, 1) == 33.5
    # each of 2 log2 n steps has a row for each rank; each rank moves every chunk but its own, twice
    assert len(pieces) == 2 * 4096 * 4095
    written("docs/design.md", "42 million instead of 2.2 × 10¹²")
    assert round(2 * 20 * 2**20 / 1e6) == 42
    assert round(2 * 2**20 * (2**20 - 1) / 1e12, 1) == 2.2


def test_eight_bytes_over_sixteen_ranks_leave_most_chunks_empty():
    written("docs/design.md", "8 bytes over 16 ranks leave most chunks empty")
    sizes = get_collective("allreduce").chunk_sizes(2, 16, 16)  # two floats
    assert (sizes == 0).sum() == 14


def test_the_first_page_crosses_two_dgx_a100_as_the_readme_says():
    written("README.md", "The first page shows 256 MiB crossing two DGX A100")
    from collsim.app.scenario.choice import Choice

    first = Choice()
    assert (first.nbytes, first.machine, first.nodes) == ("256MiB", "dgx-a100", 2)


def test_where_the_switch_reduces_busbw_is_beyond_the_link():
    written("08", "busbw, a fixed factor on the time, can exceed the speed of the link")
    box = cs.machine("dgx-h100")
    t = cs.simulate(cs.schedule("allreduce_nvls", topology=box, chunks=64), box, "256MiB")
    nvlink = max(hop.bandwidth for hop in box.route(0, 1))
    assert t.busbw > nvlink
    assert t.sent_bytes[:8].max() == pytest.approx((1 + 1 / 8) * t.nbytes)  # its buffer, and its share of the sums


def test_broadcast_and_reduce_of_nccl_are_chains():
    written("08", "Broadcast and reduce in NCCL are pipelined chains, not trees")
    for collective in ("broadcast", "reduce"):
        for nodes in (1, 4):
            box = cs.machine("dgx-h100", nodes=nodes)
            found = {cs.nccl.predict(collective, box, size).algorithm for size in ("1KiB", "1MiB", "1GiB")}
            assert found == {"Ring"}
            ran = next(
                part for part in cs.nccl.predict_and_simulate(collective, box, "1MiB") if isinstance(part, cs.Trace)
            )
            sent = ran.schedule.transfers
            peers = {(int(t["channel"]), int(t["src"])): set() for t in sent}
            for t in sent:
                peers[int(t["channel"]), int(t["src"])].add(int(t["dst"]))
            assert {len(goals) for goals in peers.values()} == {1}  # one to send to: no rank has two children


def test_small_sizes_are_won_by_few_steps_and_large_ones_by_few_bytes():
    written("09", "small sizes are won by few steps, large ones by few bytes")
    names = [f"allreduce_{name}" for name in ("ring", "tree", "halving_doubling", "parameter_server")]
    box = cs.machine("dgx-a100")

    def ran(nbytes):
        traces = {name: cs.simulate(cs.schedule(name, topology=box), box, nbytes) for name in names}
        return traces, min(traces, key=lambda name: traces[name].time)

    small, first = ran("1KiB")
    assert small[first].schedule.steps == min(t.schedule.steps for t in small.values())
    large, first = ran("256MiB")
    busiest = {name: int(t.sent_bytes.max()) for name, t in large.items()}
    assert busiest[first] == min(busiest.values())


def test_a_cut_ring_pays_latency_alone():
    written("09", "the cables are full duplex, so the way back was free; only latency is added")
    plan = cs.schedule("allreduce_ring", ranks=8)
    ring, line = (make(8, bandwidth="25GB/s", alpha="1us") for make in (cs.topology.ring, cs.topology.line))
    more = {n: cs.simulate(plan, line, n).time - cs.simulate(plan, ring, n).time for n in ("0B", "64MiB")}
    assert more["64MiB"] == pytest.approx(more["0B"])
    assert more["0B"] == pytest.approx(14 * 6e-6)  # 14 steps, each over seven cables instead of one


def test_what_the_notebook_on_rounding_says_of_types():
    written(
        "10",
        "Between 2048 and 4096 float16 counts in twos",
        "bfloat16 keeps fewer digits than float16 and a larger range",
    )
    import ml_dtypes

    assert (np.spacing(np.float16(2048)), np.spacing(np.float16(4094))) == (2, 2)
    half, brain = np.finfo(np.float16), ml_dtypes.finfo(ml_dtypes.bfloat16)
    assert brain.nmant < half.nmant
    assert float(brain.max) > float(half.max)


def test_recursive_doubling_gives_all_ranks_the_same_bits_only_where_addition_commutes():
    written("10", "Recursive doubling does, but only because a + b equals b + a.")
    data = np.random.default_rng(0).standard_normal((8, 4096)).astype(np.float16)
    plan = cs.schedule("allreduce_recursive_doubling", ranks=8)
    out = cs.replay(plan, data)
    assert (out.view(np.uint16) == out[0].view(np.uint16)).all()
    last = plan.transfers[plan.transfers["step"] == 2]
    assert {(int(t["src"]), int(t["dst"])) for t in last} == {
        (r, r ^ 4) for r in range(8)
    }  # both add, each its own first

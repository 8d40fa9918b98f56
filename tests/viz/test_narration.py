"""Sentences say what happens, with numbers that follow from the schedule; in English and Chinese."""

import dataclasses
import re

import numpy as np
import pytest
from sampling import cross

import collsim as cs
from collsim import registry
from collsim.analysis.endpoint_names import name_endpoint, name_ranks
from collsim.analysis.run_facts import RunFacts
from collsim.app.pages.program.program_drafts import EXAMPLES
from collsim.errors import CollsimError
from collsim.topology import machine
from collsim.viz.sentences.narration import narrate
from collsim.viz.sentences.time_sentences import describe_bottleneck
from collsim.viz.timeline.schedule_phases import list_phases


def narrate_run(name, topology, nbytes="64MiB", **options):
    return narrate(RunFacts(cs.simulate(cs.schedule(name, topology=topology, **options), topology, nbytes)))


def test_ring_of_four_by_hand():
    """64 MiB over 4 ranks: chunks of 16 MiB; 16 MiB ÷ 25 GB/s + 1 µs = 672 µs. Contributions grow 1, 2, 3; then
    finished chunks 2, 3, 4."""
    english = [en for en, _ in narrate_run("allreduce_ring", cs.topology.ring(4, bandwidth="25GB/s", alpha="1us"))]
    assert english == [
        *(
            f"Every rank sends one 16 MiB chunk that holds {k} of 4 contributions to the next rank, which adds "
            f"its own and has {has}. Each arrives after 672 µs."
            for k, has in ((1, "2"), (2, "3"), (3, "all 4"))
        ),
        *(
            f"Every rank sends one finished 16 MiB chunk to the next rank; every rank has {have} finished chunks "
            f"then. Each arrives after 672 µs."
            for have in ("2 of 4", "3 of 4", "all 4")
        ),
    ]


def test_ring_of_four_in_chinese():
    chinese = [zh for _, zh in narrate_run("allreduce_ring", cs.topology.ring(4, bandwidth="25GB/s", alpha="1us"))]
    assert chinese[0] == (
        "每个 rank 向下一个 rank 发送一个 16 MiB 的 chunk，其中已累加 4 份贡献中的 1 份；对方加上自己的一份，"
        "变成 2 份。各需 672 µs。"
    )
    assert (
        chinese[-1]
        == "每个 rank 向下一个 rank 发送一个 16 MiB 的已完成 chunk；此后每个 rank 有全部 4 个已完成的 chunk。"
        "各需 672 µs。"
    )


def test_two_kinds_of_link_are_distinguished():
    """The mock's step 9: NVLink 16 MiB ÷ 300 GB/s + 1.4 µs = 57.3 µs; InfiniBand 16 MiB ÷ 25 GB/s + 3.2 µs = 674 µs."""
    en, zh = narrate_run("allreduce_ring", machine("dgx-a100", nodes=2), "256MiB", channels=1)[8]
    assert en.endswith("NVLink delivers in 57.3 µs, InfiniBand (7 → 8 and 15 → 0) in 674 µs.")
    assert "holds 9 of 16 contributions" in en
    assert "InfiniBand（7 → 8 和 15 → 0）需要 674 µs" in zh


def test_incast_is_told():
    """8 × 64 MiB through one cable of 25 GB/s: 512 MiB ÷ 25 GB/s = 21.5 ms."""
    push, pull = narrate_run("allreduce_parameter_server", cs.topology.switch(8), server="helper")
    assert push[0] == (
        "Every rank sends one 64 MiB chunk that holds 1 of 8 contributions to the server, which adds them up "
        "and has all 8. 8 chunks share one cable (switch → server): 512 MiB through it takes 21.5 ms."
    )
    assert "8 个 chunk 共用一条线缆（交换机 → 服务器）" in push[1]
    assert pull[0].startswith(
        "The server sends one finished 64 MiB chunk to every rank; all 8 ranks have the sum then."
    )


def test_chunks_queue_only_where_they_are_served_one_by_one():
    switch, plan = cs.topology.switch(8), cs.schedule("allreduce_parameter_server", ranks=8, server="helper")
    for sharing, words in (("fair", "8 chunks share one cable"), ("fifo", "8 chunks queue for one cable")):
        trace = cs.simulate(plan, switch, "64MiB", engine="event", sharing=sharing)
        assert words in narrate(RunFacts(trace))[0][0], sharing


def test_a_queue_is_told_with_what_the_cable_itself_needs():
    """7 × 256 MiB ÷ 25 GB/s = 75.2 ms on the server's cable; the first hop, stored and forwarded, is no part of that.
    Without contention nothing waits, and the bytes would need 7 × 2 of the 4 cable times that the run takes."""
    place = cs.topology.switch(8, bandwidth="25GB/s", alpha="1us")
    plan = cs.schedule("allreduce_parameter_server", topology=place)
    fifo, free = (cs.simulate(plan, place, "256MiB", engine="event", sharing=sharing) for sharing in ("fifo", "none"))
    assert "1.75 GiB through it takes 75.2 ms." in narrate(RunFacts(fifo))[0][0]
    assert "share" not in narrate(RunFacts(free))[0][0]
    assert "共用" not in narrate(RunFacts(free))[0][1]
    assert (
        describe_bottleneck(RunFacts(free))["text"]["en"]
        == "The cable rank 0 → switch, each way: its bytes would need 350 % of the run."
    )


def test_exchange_of_halves():
    first = narrate_run("allreduce_halving_doubling", cs.topology.switch(8))[1][0]
    assert first.startswith(
        "Every rank exchanges 2 chunks of 8 MiB each that hold 2 of 8 contributions with the rank 2 away; each "
        "adds its own 2 and has 4."
    )


@pytest.mark.parametrize(("name", "ranks"), cross(cs.algorithms(), [2, 3, 5, 8]))
def test_every_step_of_every_algorithm_has_both_languages(name, ranks):
    try:
        sentences = narrate_run(name, cs.topology.switch(ranks))
    except CollsimError as error:
        pytest.skip(str(error))
    for en, zh in sentences:
        assert re.match(r"[A-Z0-9]", en), en
        assert en.endswith("."), en
        assert not re.search(r"\b(None|nan|inf)\b|  |\{|\.\.", en), en
        assert zh.endswith("。"), zh
        assert re.search(r"[一-鿿]", zh), zh
        assert not re.search(r"[一-鿿][A-Za-z]|[A-Za-z][一-鿿]|。。", zh), zh
        assert "!" not in en


def test_sizes_that_differ_are_given_as_a_range():
    en, _ = narrate_run("allreduce_ring", cs.topology.ring(3), nbytes=32)[0]
    assert "one chunk of 8 to 12 B" in en


def test_nothing_to_do():
    assert narrate_run("allreduce_ring", cs.topology.switch(1)) == []


def find_phases(schedule):
    network = cs.topology.switch(schedule.ranks, reduces=True)
    return list_phases(RunFacts(cs.simulate(schedule, network, "1MiB")))


@pytest.mark.parametrize(
    ("name", "options", "names"),
    [
        ("allreduce_ring", {}, ["reduce-scatter", "allgather"]),
        ("allreduce_halving_doubling", {}, ["reduce-scatter", "allgather"]),
        ("allreduce_tree", {}, ["reduce", "broadcast"]),
        ("allreduce_tree", {"chunks": 8}, ["reduce", "reduce + broadcast", "broadcast"]),
        ("allreduce_parameter_server", {}, ["push", "pull"]),
        ("allreduce_sharded_parameter_server", {}, ["push", "pull"]),
        ("broadcast_binomial", {}, ["broadcast"]),
        ("allgather_bruck", {}, ["allgather"]),
        ("reduce_scatter_ring", {}, ["reduce-scatter"]),
    ],
)
def test_phases(name, options, names):
    found = find_phases(cs.schedule(name, ranks=8, **options))
    assert [p.label[0] for p in found] == names
    assert found[0].first == 0


def _one_sum(n):
    """Everybody to rank 0, and back: whoever does not say what his parts are called is named by his flags."""
    others = np.arange(1, n)
    for other in others:
        yield cs.reduce(other, 0, chunk=0)
    yield cs.copy(0, others, chunk=0)


@pytest.mark.parametrize(
    ("declared", "names"), [({}, ["reduce", "broadcast"]), ({"phases": ("up", "down")}, ["up", "down"])]
)
def test_phases_are_called_what_the_algorithm_declares(declared, names):
    made = cs.algorithm("allreduce", name="mine", **declared)(_one_sum)
    try:
        assert [p.label[0] for p in find_phases(made(4))] == names
        by_hand = dataclasses.replace(made(4), name="server tree")  # a name says nothing
        assert [p.label[0] for p in find_phases(by_hand)] == ["reduce", "broadcast"]
    finally:
        del registry._REGISTRY["mine"]


def test_a_program_that_passes_blocks_on_before_it_adds_broadcasts_nothing():
    run = cs.program(EXAMPLES["ring"][1], 4, "allreduce")
    assert [p.label[0] for p in find_phases(run.schedule)] == ["copy", "reduce + copy", "reduce"]


@pytest.mark.parametrize(("on", "noun"), [("host", "server"), ("switch", "reducing switch")])
def test_helpers_are_called_what_they_are_declared_to_be_and_not_by_a_name(on, noun):
    helped = dataclasses.replace(cs.schedule("allreduce_nvls", ranks=4), name="mine", helpers_on=on)
    assert name_endpoint(helped, 4)[0] == f"the {noun}"
    assert name_ranks(helped, [0, 4])[0] == f"ranks 0 and the {noun}"


def test_phases_of_a_composition():
    both = cs.schedule("reduce_scatter_ring", ranks=4) + cs.schedule("allgather_ring", ranks=4)
    assert [(p.label[0], p.first, p.last) for p in find_phases(both)] == [("reduce-scatter", 0, 2), ("allgather", 3, 5)]


def test_bottleneck_is_latency_where_bytes_hardly_matter():
    topology = cs.topology.switch(8)
    found = describe_bottleneck(RunFacts(cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, 8)))
    assert found["text"]["en"].startswith("Latency: ")
    assert found["text"]["zh"].startswith("延迟：")
    assert describe_bottleneck(RunFacts(cs.simulate(cs.schedule("allreduce_ring", ranks=1), topology, 8))) is None


def test_bottleneck_of_a_server_names_its_cable():
    topology = cs.topology.switch(8)
    schedule = cs.schedule("allreduce_parameter_server", topology=topology, server="helper")
    found = describe_bottleneck(RunFacts(cs.simulate(schedule, topology, "64MiB")))
    assert found["short"] == {"en": "The cable server → switch, each way", "zh": "线缆 服务器 → 交换机（双向）"}
    assert found["more"]["en"] == "Doubling only it saves 50 %; doubling all others saves nothing."


# ---- what the sentences say, against the transfers of that step

_SUBJECT = r"(?P<who>Rank \d+|Ranks [\d, and]+?|\d+ ranks|[Ee]very rank|Each of the other ranks|[Tt]he reducing switch|[Tt]he server)"
_COUNT = r"(?:finished )?(?P<some>one|\d+ to \d+|\d+)(?: finished)?"
_SENDS = re.compile(
    rf"{_SUBJECT} (?:each )?(?P<verb>sends?|exchanges?) {_COUNT} (?P<size>[^;.]*?)"
    r"(?: that holds? [\d to]+ of \d+ contributions)? (?P<whom>(?:to|with) [a-z0-9][^;.(]*?|\([^)]*\))(?=, which|;|\.)"
)
_GOES = re.compile(r"(one|\d+)[^→]*? goe?s? (\d+) → (\d+)", re.IGNORECASE)


def _numbers(text):
    return {int(word) for word in re.findall(r"\d+", text)}


def _named_senders(who, n, src):
    """Whom a subject names; None where it gives only their number."""
    if who.lower() == "every rank":
        return set(range(n))
    if re.match(r"\d+ ranks", who):
        assert len(set(src)) == int(who.split()[0])
        return None
    return None if who.startswith("Each of") else _numbers(who) or {n}


def _receivers_are_those(whom, n, sent):
    """`sent`: for each sender its receivers."""
    receivers = set().union(*sent.values())
    if re.fullmatch(r"to ranks? [\d, and]+", whom):
        return receivers == _numbers(whom)
    if whom == "to every rank":
        return receivers == set(range(n))
    if whom == "to every other rank" or whom == "to each of the other ranks":
        return all(to == set(range(n)) - {a} for a, to in sent.items())
    if match := re.fullmatch(r"to (\d+) (?:other )?ranks", whom):
        return len(receivers) == int(match[1]) or {len(to) for to in sent.values()} == {int(match[1])}
    if match := re.fullmatch(r"to the rank (\d+) (after|before) it", whom):
        step = int(match[1]) * (1 if match[2] == "after" else -1)
        return all(to == {(a + step) % n} for a, to in sent.items())
    known = {
        "to the next rank": lambda a, to: to == {(a + 1) % n},
        "to the rank before it": lambda a, to: to == {(a - 1) % n},
        "to its two neighbours": lambda a, to: to == {(a + 1) % n, (a - 1) % n},
        "with a neighbour": lambda a, to: to <= {a + 1, a - 1} and a in sent[next(iter(to))],
        "with its partner": lambda a, to: len(to) == 1 and sent[next(iter(to))] == {a},
    }
    if whom in known:
        return all(known[whom](a, to) for a, to in sent.items())
    return True


def _agrees(said, n, rows):
    """Whether a clause on `rows` of the table says who sends how many chunks to whom."""
    src, dst = rows["src"].tolist(), rows["dst"].tolist()
    senders = _named_senders(said["who"], n, src)
    each = {}
    for pair in zip(src, dst, strict=True):
        each[pair] = each.get(pair, 0) + 1
    sent = {a: {b for other, b in each if other == a} for a in src}
    low, _, high = said["some"].replace("one", "1").partition(" to ")
    counts = set(each.values())
    if "one per channel" in said["size"] or said["whom"] in ("to its parent", "to one other rank each"):
        counts = {src.count(a) for a in src}
    right = (min(counts), max(counts)) == (int(low), int(high or low))
    return right and (senders is None or senders == set(src)) and _receivers_are_those(said["whom"], n, sent)


@pytest.mark.parametrize("channels", [None, 1])
@pytest.mark.parametrize(
    "place", [machine("dgx-a100", nodes=2), cs.topology.ring(6)], ids=["2 x DGX A100", "ring of 6"]
)
def test_who_sends_how_many_chunks_to_whom_is_what_the_step_does(place, channels):
    clauses = pairs = 0
    for name, entry in cs.algorithms().items():
        options = {"channels": channels} if channels and "channels" in entry.options else {}
        try:
            schedule = cs.schedule(name, topology=place, **options)
            sentences = narrate(RunFacts(cs.simulate(schedule, place, "64MiB")))
        except CollsimError:
            continue
        n, table = schedule.ranks, schedule.transfers
        for k, (english, _) in enumerate(sentences):
            rows = table[(table["step"] == k) & (table["src"] != table["dst"])]
            said = list(_SENDS.finditer(english))
            adds = [rows[rows["reduce"]], rows[~rows["reduce"]]]
            parts = [part for part in adds if len(part)] if len(said) > 1 else [rows]
            for clause, part in zip(said, parts, strict=False):
                clauses += 1
                assert _agrees(clause, n, part), f"{name}, step {k + 1}: {english}"
            for some, a, b in _GOES.findall(english):
                pairs += 1
                here = int(((rows["src"] == int(a)) & (rows["dst"] == int(b))).sum())
                assert here == (1 if some.lower() == "one" else int(some)), f"{name}, step {k + 1}: {english}"
    assert clauses > 60
    assert pairs > (5 if channels is None and n == 16 else -1)


def test_a_rank_that_sends_more_to_one_than_to_another_is_told_so():
    """8 rings over 2 nodes leave node 0 through one card each: from rank 0, seven go on inside and one goes out."""
    en, zh = narrate_run("broadcast_chain", machine("dgx-a100", nodes=2))[0]
    assert en.startswith("7 chunks of 8 MiB each go 0 → 1 and one 8 MiB chunk goes 0 → 9.")
    assert zh.startswith("0 → 1 传输 7 个 8 MiB 的 chunk，0 → 9 传输一个 8 MiB 的 chunk。")


@pytest.mark.parametrize(
    ("name", "nic", "flows"),
    [
        ("allreduce_parameter_server", "tcp-10", 15),
        ("alltoall_direct", "tcp-10", 15),
        ("allreduce_ring", "tcp-10", 0),
        ("gather_flat", "tcp-10", 0),
        ("allreduce_parameter_server", "ib-hdr", 0),
    ],
)
def test_many_tcp_flows_into_one_port_may_wait_for_a_timer(name, nic, flows):
    """15 flows of 14.6 KB at a time overflow 64 KB; a root that takes one after the other, a ring and RDMA do not."""
    nodes = machine("dgx-a100", nodes=16, gpus=1, nic=nic)
    trace = cs.simulate(cs.schedule(name, ranks=16), nodes, "64MiB")
    english, chinese = narrate(RunFacts(trace))[0]
    assert (f"Over TCP {flows} flows into one port can overflow" in english) == bool(flows)
    assert ("waits 200 ms for its timer" in english) == ("200 ms" in chinese) == bool(flows)

"""What is written for other tools: read back by their grammar, with the numbers that were meant."""

import gzip
import itertools
import json
import sys
from collections import defaultdict
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from goal_reader import read_goal

import collsim as cs
from collsim.io import load, save

SIZE = 2**20


def schedules():
    names = [
        "allreduce_ring",
        "allreduce_tree",
        "allreduce_parameter_server",
        "allreduce_recursive_doubling",
        "allgather_ring",
        "broadcast_binomial",
    ]
    return [cs.schedule(name, ranks=4) for name in names if name in cs.algorithms()]


def trace(engine="lockstep", n=4):
    return cs.simulate(cs.schedule("allreduce_ring", ranks=n), cs.topology.switch(n), SIZE, engine=engine)


# ---- Chrome trace ------------------------------------------------------------


def events(path):
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


@pytest.mark.parametrize("name", ["a.trace.json", "a.trace.json.gz"])
def test_a_trace_has_a_slice_at_both_ends_of_every_transfer(name, tmp_path):
    t = trace()
    save(t, tmp_path / name)
    found = events(tmp_path / name)
    slices = [e for e in found if e["ph"] == "X"]
    assert len(slices) == 2 * len(t.schedule)
    assert {e["pid"] for e in slices} == {0, 1, 2, 3}
    assert max(e["ts"] + e["dur"] for e in slices) == pytest.approx(t.time * 1e6)
    assert sum(e["args"]["bytes"] for e in slices) == 2 * t.sent_bytes.sum()
    processes = {e["pid"]: e["args"]["name"] for e in found if e["ph"] == "M" and e["name"] == "process_name"}
    assert processes == {0: "rank 0", 1: "rank 1", 2: "rank 2", 3: "rank 3", 4: "links (GB/s)"}


@pytest.mark.parametrize(
    "algorithm", ["allreduce_ring", "allreduce_parameter_server", "allreduce_tree", "allreduce_direct_two_shot"]
)
def test_slices_of_a_thread_never_cut_each_other_and_flows_land_in_slices(algorithm, tmp_path):
    s = cs.schedule(algorithm, ranks=5)
    save(cs.simulate(s, cs.topology.switch(5, helpers=s.endpoints - 5), 12345), tmp_path / "a.trace.json")
    found = events(tmp_path / "a.trace.json")
    threads = defaultdict(list)
    for e in found:
        assert e["ph"] in "MXsfC"
        assert e.get("ts", 0) >= 0
        if e["ph"] == "X":
            threads[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for spans in threads.values():
        spans.sort()
        assert all(b >= a_end - 1e-5 for (_, a_end), (b, _) in itertools.pairwise(spans))
    ends = defaultdict(dict)
    for e in found:
        if e["ph"] in "sf":
            assert any(a <= e["ts"] <= b for a, b in threads[e["pid"], e["tid"]])
            ends[e["id"]][e["ph"]] = e["ts"]
    assert all(end["s"] <= end["f"] for end in ends.values())
    assert len(ends) == int((s.transfers["src"] != s.transfers["dst"]).sum())


def test_counters_show_the_bytes_that_each_link_carried(tmp_path):
    t = trace()
    save(t, tmp_path / "a.trace.json")
    total = defaultdict(float)
    last = {}
    for e in events(tmp_path / "a.trace.json"):
        if e["ph"] == "C":
            if e["name"] in last:
                then, rate = last[e["name"]]
                assert e["ts"] >= then
                total[e["name"]] += rate * 1e9 * (e["ts"] - then) * 1e-6
            last[e["name"]] = e["ts"], e["args"]["GB/s"]
    links = t.links.set_index("link")["bytes"]
    assert len(total) == len(links)
    for name, moved in total.items():
        assert moved == pytest.approx(links[name], rel=1e-4)
    assert all(rate == 0 for _, rate in last.values())


def test_a_trace_that_is_too_large_is_refused(tmp_path):
    with pytest.raises(cs.CollsimError, match="limit=10"):
        save(trace(), tmp_path / "a.trace.json", limit=10)
    assert not list(tmp_path.iterdir())


# ---- GOAL ------------------------------------------------------------


def run_goal(tasks):
    """Run the tasks in any order that their dependencies allow; returns bytes sent by each rank."""
    done, sent = set(), defaultdict(int)
    mail = defaultdict(list)
    waiting = list(tasks)
    while waiting:
        left = []
        for t in waiting:
            if any((t.rank, r) not in done for r in t.requires) or (
                t.kind == "recv" and not mail[t.peer, t.rank, t.tag]
            ):
                left.append(t)
            else:
                if t.kind == "recv":
                    assert mail[t.peer, t.rank, t.tag].pop(0) == t.amount
                elif t.kind == "send":
                    mail[t.rank, t.peer, t.tag].append(t.amount)
                    sent[t.rank] += t.amount
                done.add((t.rank, t.label))
        assert len(left) < len(waiting), "deadlock"
        waiting = left
    return sent


@pytest.mark.parametrize("schedule", schedules(), ids=lambda s: s.name)
@pytest.mark.parametrize("rate", [None, 1e10])
def test_goal_runs_and_sends_the_bytes_of_the_schedule(schedule, rate, tmp_path):
    save(schedule, tmp_path / "a.goal", nbytes=SIZE, **({"reduce_rate": rate} if rate else {}))
    tasks = read_goal(tmp_path / "a.goal")
    sent = run_goal(tasks)
    t = cs.simulate(schedule, cs.topology.switch(4, helpers=schedule.endpoints - 4), SIZE)
    assert [sent[r] for r in range(schedule.endpoints)] == t.sent_bytes.tolist()
    if rate:
        adds = int(schedule.transfers["reduce"].sum())
        assert sum(x.kind == "calc" and x.amount > 0 for x in tasks) == adds


def test_what_goal_sends_on_waits_for_what_brought_it(tmp_path):
    """In a chain every rank but the first receives before it sends."""
    save(cs.schedule("broadcast_chain", ranks=4), tmp_path / "a.goal", nbytes="64B")
    tasks = {(t.rank, t.kind): t for t in read_goal(tmp_path / "a.goal")}
    for r in (1, 2):
        assert tasks[r, "send"].requires == (tasks[r, "recv"].label,)
    assert tasks[0, "send"].requires == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rank 0 {\n}", "line 1: expected 'num_ranks N'"),
        ("num_ranks 2\nrank 5 {\n}", "rank=5"),
        (
            "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}",
            "rank 0 sends 1 messages to 1 with tag 0, which receives 0",
        ),
        ("num_ranks 2\nrank 0 {\nl1: calc 5\nl1 requires l9\n}", "no task 'l9'"),
        ("num_ranks 2\nrank 0 {\nl1: calc 5\nl1: calc 5\n}", "line 4: label 'l1' is there twice"),
        ("num_ranks 2\nrank 0 {\nl1: jump 5\n}", "line 3: 'l1: jump 5'"),
        ("num_ranks 2\nrank 0 {", "ends inside a rank"),
        ("/* nothing */", "no 'num_ranks N'"),
    ],
)
def test_damaged_goal_is_refused_with_its_line(text, words, tmp_path):
    (tmp_path / "a.goal").write_text(text)
    with pytest.raises(cs.FormatError, match=words):
        read_goal(tmp_path / "a.goal")


# ---- Chakra ------------------------------------------------------------


@pytest.mark.parametrize("schedule", schedules(), ids=lambda s: s.name)
def test_chakra_traces_match_end_to_end(schedule, tmp_path):
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    from collsim.io.chakra import COMP, RECV, SEND, read_chakra

    save(schedule, tmp_path / "a.et", nbytes=SIZE)
    nodes = [read_chakra(tmp_path / f"a.{r}.et") for r in range(schedule.endpoints)]
    sent, received = defaultdict(list), defaultdict(list)
    for r, own in enumerate(nodes):
        assert [n["id"] for n in own] == list(range(len(own)))
        for n in own:
            assert all(d < n["id"] for d in n["data_deps"])
            if n["type"] == SEND:
                assert n["comm_src"] == r
                sent[r, n["comm_dst"], n["comm_tag"]].append(n["comm_size"])
            elif n["type"] == RECV:
                assert n["comm_dst"] == r
                received[n["comm_src"], r, n["comm_tag"]].append(n["comm_size"])
    assert sent == received
    adds = sum(n["type"] == COMP for own in nodes for n in own)
    assert adds == int(schedule.transfers["reduce"].sum())
    assert (
        sum(map(sum, sent.values()))
        == cs.simulate(schedule, cs.topology.switch(4, helpers=schedule.endpoints - 4), SIZE).sent_bytes.sum()
    )


def test_chakra_says_which_package_it_needs(tmp_path, monkeypatch):
    from collsim.io import chakra

    chakra._build_message_classes.cache_clear()
    monkeypatch.setitem(sys.modules, "google.protobuf.descriptor_pb2", None)
    with pytest.raises(cs.CollsimError, match="protobuf"):
        save(schedules()[0], tmp_path / "a.et", nbytes=SIZE)
    chakra._build_message_classes.cache_clear()


def test_a_chakra_file_that_is_cut_is_refused(tmp_path):
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    from collsim.io.chakra import read_chakra

    save(schedules()[0], tmp_path / "a.et", nbytes=SIZE)
    data = (tmp_path / "a.0.et").read_bytes()
    for end in (0, 1, len(data) - 1, len(data) // 2):
        (tmp_path / "b.et").write_bytes(data[:end])
        if end != len(data) // 2:
            with pytest.raises(cs.FormatError):
                read_chakra(tmp_path / "b.et")
    (tmp_path / "b.et").write_bytes(b"\xff" * 50)
    with pytest.raises(cs.FormatError):
        read_chakra(tmp_path / "b.et")


# ---- networks ------------------------------------------------------------


@pytest.mark.parametrize(
    "topology",
    [
        cs.topology.ring(8, bandwidth="50GB/s", alpha="2us"),
        cs.topology.switch(6),
        cs.topology.fully_connected(5),
        cs.topology.torus(2, 4, 3),
        cs.topology.hypercube(8),
    ],
    ids=lambda t: t.shape,
)
def test_astra_sim_networks_come_back_with_the_same_times(topology, tmp_path):
    save(topology, tmp_path / "a.astra.yaml")
    back = load(tmp_path / "a.astra.yaml")
    n = topology.ranks
    pairs = np.argwhere(~np.eye(n, dtype=bool)).T
    assert (back.routes(*pairs).hops == topology.routes(*pairs).hops).all()
    s = cs.schedule("allreduce_ring", ranks=n)
    assert cs.simulate(s, back, SIZE).time == pytest.approx(cs.simulate(s, topology, SIZE).time, rel=1e-9)


def test_an_astra_sim_network_of_several_dimensions_comes_back_also_when_its_rates_changed(tmp_path):
    text = (
        "topology: [Ring, FullyConnected, Switch]\nnpus_count: [4, 3, 2]\nbandwidth: [200.0, 100.0, "
        "50.0]\nlatency: [50.0, 500.0, 2000.0]\n"
    )
    (tmp_path / "a.astra.yaml").write_text(text)
    network = load(tmp_path / "a.astra.yaml")
    for one in (network, network.scaled(kind="cable", by=2)):
        save(one, tmp_path / "b.astra.yaml")
        back = load(tmp_path / "b.astra.yaml")
        for name in ("src", "dst", "alpha"):
            assert (getattr(back.links, name) == getattr(network.links, name)).all()
        assert back.links.bandwidth == pytest.approx(one.links.bandwidth)
    with pytest.raises(cs.CollsimError, match="ASTRA-sim has no words"):
        save(network.without_link("gpu0", "gpu1"), tmp_path / "c.astra.yaml")


@pytest.mark.parametrize(
    "topology", [cs.topology.line(4), cs.topology.fat_tree(4), cs.topology.ring(4).with_link(0, 1, bandwidth="half")]
)
def test_networks_that_astra_sim_cannot_say_are_refused(topology, tmp_path):
    with pytest.raises(cs.CollsimError, match="ASTRA-sim"):
        save(topology, tmp_path / "a.astra.yaml")
    assert not list(tmp_path.iterdir())


def test_our_yaml_comes_back(tmp_path):
    topology = cs.topology.torus(2, 4)
    save(topology, tmp_path / "a.yaml")
    back = load(tmp_path / "a.yaml")
    s = cs.schedule("allreduce_ring", ranks=8)
    assert cs.simulate(s, back, SIZE).time == pytest.approx(cs.simulate(s, topology, SIZE).time)


def test_a_simgrid_platform_has_our_links_and_routes(tmp_path):
    topology = cs.topology.torus(2, 3)
    save(topology, tmp_path / "a.platform.xml")
    zone = ElementTree.parse(tmp_path / "a.platform.xml").getroot().find("zone")
    links = {e.get("id"): e for e in zone.findall("link")}
    assert len(zone.findall("host")) == 6
    assert len(links) == len(topology.links)
    assert {e.get("bandwidth") for e in links.values()} == {"25000000000Bps"}
    assert {float(e.get("latency").removesuffix("s")) for e in links.values()} == {1e-6}
    routes = zone.findall("route")
    assert len(routes) == 6 * 5
    for route in routes:
        a, b = (int(route.get(k).removeprefix("rank")) for k in ("src", "dst"))
        ours = topology.routes([a], [b])[0]
        assert [int(c.get("id").split(":")[0]) for c in route] == ours.tolist()


# ---- pictures and pages ------------------------------------------------------------


def test_dot_has_an_edge_per_transfer(tmp_path):
    schedule = cs.schedule("allreduce_tree", ranks=4)
    save(schedule, tmp_path / "a.dot")
    text = (tmp_path / "a.dot").read_text()
    assert text.count("constraint=false") == len(schedule)
    assert text.count('label="+') == int(schedule.transfers["reduce"].sum())
    assert text.count("{") == text.count("}")
    with pytest.raises(cs.CollsimError, match="a picture takes"):
        save(cs.schedule("allreduce_ring", ranks=128), tmp_path / "b.dot")


def table():
    return pd.DataFrame(
        {
            "algorithm": ["allreduce_ring", "a|b_c"],
            "nbytes": [2**20, 2**30],
            "time": [4.7e-5, None],
            "busbw": [2e10, 1e9],
            "error": [None, None],
        }
    )


def test_a_markdown_table_has_units_and_escapes(tmp_path):
    save(table(), tmp_path / "a.md")
    lines = (tmp_path / "a.md").read_text().splitlines()
    assert lines[0] == "| algorithm | nbytes | time | busbw |"
    assert lines[1] == "|---|---:|---:|---:|"
    assert lines[2] == "| allreduce_ring | 1 MiB | 47 µs | 20 GB/s |"
    assert lines[3].startswith("| a\\|b_c | 1 GiB |  |")


def test_a_latex_table_has_units_and_escapes(tmp_path):
    save(table(), tmp_path / "a.tex", columns=["algorithm", "time"], caption="50% of it")
    text = (tmp_path / "a.tex").read_text()
    assert r"allreduce\_ring & 47~\textmu{}s \\" in text
    assert r"\caption{50\% of it}" in text
    assert text.count(r"\begin") == text.count(r"\end") == 2
    with pytest.raises(cs.CollsimError, match="no column 'tiem'"):
        save(table(), tmp_path / "a.tex", columns=["tiem"])


@pytest.mark.parametrize("name", ["a.html", "a.json", "a.png", "a.trace.json", "a.trace.json.gz"])
def test_one_entry_point_for_every_file_of_a_trace(tmp_path, name):
    mine, other = tmp_path / name, tmp_path / f"b{name[1:]}"
    assert trace().save(mine) == mine
    save(trace(), other)
    written = [
        gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes() for path in (mine, other)
    ]
    assert written[0] == written[1]
    assert (b"traceEvents" in written[0]) == (".trace.json" in name)


def test_a_picture_takes_the_name_of_its_format_and_its_options(tmp_path):
    save(trace(), tmp_path / "a.svg", format="svg", language="zh")
    assert (tmp_path / "a.svg").read_text().count("<svg") == 1
    with pytest.raises(cs.CollsimError, match="has no option 'title'"):
        save(trace(), tmp_path / "b.html", title="x")
    assert not (tmp_path / "b.html").exists()

"""The timeline is what docs/timeline.md says, for every algorithm, and its bytes are the Trace's bytes."""

import gc
import itertools
import json
import weakref

import numpy as np
import pytest
from sampling import cross

import collsim as cs
from collsim.errors import CollsimError, FormatError
from collsim.topology import machine
from collsim.topology.spec import parse_topology
from collsim.viz.pictures.machine_picture import compute_shares
from collsim.viz.timeline.timeline_document import (
    SCHEMA,
    build_encoded_timeline,
    build_timeline,
    decode,
    dump_json,
    encode,
)
from collsim.viz.timeline.timeline_types import (
    LinkRow,
    LogicalView,
    Timeline,
    TimelineCause,
    TimelineDevices,
    TimelineFigures,
    TimelineLinks,
    TimelineMeta,
    TimelinePanel,
    TimelinePhase,
    TimelineRoutes,
    TimelineStage,
    TimelineSteps,
    TimelineTransfers,
)

KINDS = {"gpu", "cpu", "memory", "pcie", "nvswitch", "nic", "switch", "host"}


def run(name, topology, nbytes="1MiB", **options):
    schedule = cs.schedule(name, topology=topology, **options)
    return cs.simulate(schedule, topology, nbytes)


def is_text(value):
    return isinstance(value, dict) and set(value) == {"en", "zh"} and all(isinstance(v, str) for v in value.values())


def test_boxes_of_whole_nodes_hold_every_rank_once():
    made = build_timeline(run("allreduce_ring", machine("dgx-a100", nodes=8), channels=1))
    held = made["devices"]["holds"]
    assert len(held) == len(made["devices"]["kind"])
    assert [ranks for ranks in held if ranks] == [list(range(8 * node, 8 * node + 8)) for node in range(8)]
    assert {kind for kind, ranks in zip(made["devices"]["kind"], held, strict=True) if ranks} == {"host"}
    assert "holds" not in build_timeline(run("allreduce_ring", machine("dgx-a100", nodes=2), channels=1))["devices"]


def columns(table, names):
    lengths = {len(table[name]) for name in names}
    assert len(lengths) == 1, {name: len(table[name]) for name in names}
    return lengths.pop()


def check(made, trace):
    """Every rule of the contract that a machine can check."""
    assert made["schema"] == SCHEMA
    json.loads(dump_json(made))
    meta, s = made["meta"], trace.schedule
    assert (meta["ranks"], meta["endpoints"], meta["slots"]) == (s.ranks, s.endpoints, s.slots)
    assert is_text(meta["title"])
    devices = columns(made["devices"], ("name", "label", "kind", "panel", "endpoint", "x", "y", "w", "h"))
    assert set(made["devices"]["kind"]) <= KINDS
    links = columns(made["links"], ("src", "dst", "kind", "label", "alpha", "bandwidth", "path", "row"))
    inside = sum(len(group["links"]["src"]) * len(group["nodes"]) for group in made.get("inside", []))
    outside = links - inside  # those in nodes that can be opened come last, without ends and ways
    ends = made["links"]["src"][:outside] + made["links"]["dst"][:outside]
    assert all(0 <= d < devices for d in ends)
    assert all(len(path) >= 4 and len(path) % 2 == 0 for path in made["links"]["path"][:outside])
    assert set(made["links"]["src"][outside:]) <= {-1}
    check_rows(made, links)
    check_moves(made, trace, links)
    for phase in made["phases"]:
        assert is_text(phase["label"])
        assert 0 <= phase["first"] <= phase["last"] < s.steps
    assert (
        [p["first"] for p in made["phases"]] == [0, *(p["last"] + 1 for p in made["phases"][:-1])]
        if s.steps
        else not made["phases"]
    )
    assert len(made["logical"]["x"]) == len(made["logical"]["y"]) == s.endpoints
    assert all(0 <= v <= 1 for v in made["logical"]["x"] + made["logical"]["y"])


def check_rows(made, links):
    seen = [link for row in made["rows"] for link in row["links"]]
    assert len(seen) == len(set(seen))
    for number, row in enumerate(made["rows"]):
        assert is_text(row["label"])
        assert is_text(row["note"])
        assert row["links"]
        assert all(made["links"]["row"][link] == number for link in row["links"])
    used = {link for link, b in enumerate(made["figures"]["link_bytes"]) if b}
    assert used <= set(seen)
    assert len(made["figures"]["link_bytes"]) == links


def check_moves(made, trace, links):
    t, routes = made["transfers"], made["routes"]
    count = columns(t, ("step", "src", "dst", "chunk", "into", "reduce", "channel", "bytes", "t0", "t1", "route"))
    assert count == len(trace.schedule)
    assert t["t0"] == sorted(t["t0"])
    assert all(a <= b for a, b in zip(t["t0"], t["t1"], strict=True))
    assert max(t["t1"], default=0) == pytest.approx(trace.time, rel=1e-6, abs=1e-11)
    own = np.zeros(links)
    for route, nbytes in zip(t["route"], t["bytes"], strict=True):
        for link in routes["link"][routes["start"][route] : routes["start"][route + 1]]:
            own[link] += nbytes
    assert own.tolist() == made["figures"]["link_bytes"], (
        "what transfers carry over their routes is what the links carried"
    )
    assert (
        len(made["steps"]["text"]["en"])
        == len(made["steps"]["text"]["zh"])
        == trace.schedule.steps
        == len(made["steps"]["t0"])
    )
    assert all(made["steps"]["text"]["en"])
    assert all(made["steps"]["text"]["zh"])


@pytest.mark.parametrize(("name", "ranks"), cross(cs.algorithms(), [1, 2, 3, 4, 8]))
def test_contract_holds_for_every_algorithm(name, ranks):
    try:
        trace = run(name, cs.topology.switch(ranks))
    except CollsimError as error:
        pytest.skip(str(error))
    made = build_timeline(trace)
    check(made, trace)
    assert sum(made["figures"]["link_bytes"]) == trace.link_bytes.sum()


@pytest.mark.parametrize(
    "topology",
    [
        cs.topology.ring(8),
        cs.topology.line(5),
        cs.topology.star(6),
        cs.topology.fully_connected(6),
        cs.topology.tree(7),
        cs.topology.torus(2, 4),
        cs.topology.mesh(3, 3),
        cs.topology.hypercube(8),
        cs.topology.fat_tree(4),
        machine("dgx-a100", nodes=2),
        machine("dgx-1v"),
        machine("pcie-8gpu", p2p=False),
        machine("dgx-h100", nodes=4, gdr=False),
        machine("dgx-a100", nodes=12),
    ],
    ids=lambda t: t.name,
)
def test_contract_holds_on_every_kind_of_topology(topology):
    trace = run("allreduce_ring", topology)
    made = build_timeline(trace)
    check(made, trace)
    assert made["figures"]["bound"] == pytest.approx(trace.bound.time)


def test_link_bytes_are_those_of_the_trace_link_by_link():
    trace = run("allreduce_ring", machine("dgx-a100", nodes=2), "256MiB")
    made = build_timeline(trace)
    names = made["devices"]["name"]
    drawn = {
        (names[a], names[b]): n
        for a, b, n in zip(made["links"]["src"], made["links"]["dst"], made["figures"]["link_bytes"], strict=True)
    }
    frame = trace.links
    for src, dst, nbytes in zip(frame["src"], frame["dst"], frame["bytes"], strict=True):
        assert drawn.get((src, dst), 0) == nbytes, (src, dst)


def test_many_nodes_become_boxes_and_no_byte_between_them_is_lost():
    trace = run("allreduce_ring", machine("dgx-a100", nodes=12))
    made = build_timeline(trace)
    assert made["devices"]["kind"].count("host") == 12
    assert "gpu" not in made["devices"]["kind"]
    between = np.isin([trace.topology.links.kind(i) for i in range(len(trace.topology.links))], ["infiniband"])
    carried, kinds = made["figures"]["link_bytes"], made["links"]["kind"]
    assert (
        sum(b for b, kind in zip(carried, kinds, strict=True) if kind == "infiniband")
        == trace.link_bytes[between].sum()
    )
    assert sum(carried) == trace.link_bytes.sum()


def test_rows_of_the_first_picture():
    """256 MiB ring over two DGX A100: two InfiniBand lines of 99.5 %, PCIe 79 %, NVLink 8.3 % (the arithmetic is in the
    mock's notes)."""
    made = build_timeline(run("allreduce_ring", machine("dgx-a100", nodes=2), "256MiB", channels=1))
    told = [(row["label"]["en"], row["note"]["en"], row["hot"]) for row in made["rows"]]
    assert told[0] == ("IB node 0 → node 1", "7 → 8", True)
    assert told[1] == ("IB node 1 → node 0", "15 → 0", True)
    assert told[2][0] == "PCIe to the NICs"
    assert told[3][0] == "NVLink"
    assert [e["label"] for e in made["key"]] == ["IB HDR", "PCIe 4.0 ×16", "NVLink 3 ×12"]
    assert made["bottleneck"]["text"]["en"] == "InfiniBand between the nodes: busy 99.5 % of the run."
    assert made["bottleneck"]["more"]["en"].startswith("Doubling it saves 21 % (then PCIe is the limit).")
    assert "8 channels save 87" in made["bottleneck"]["more"]["en"]
    assert made["rows"][0]["label"]["zh"] == "IB 节点 0 → 节点 1"


def test_a_reducing_switch_is_no_node():
    """The InfiniBand switch that reduces stands in no node: its links have no node's number, and none below 0."""
    made = build_timeline(run("allreduce_sharp", machine("dgx-h100", nodes=2)))
    assert all("-1" not in row["label"]["en"] for row in made["rows"])
    assert any(row["label"]["en"].startswith("InfiniBand") for row in made["rows"])


def test_state_of_each_kind_of_collective():
    sw = cs.topology.switch(4)
    assert build_timeline(run("allreduce_ring", sw))["state"] == {
        "initial": "all",
        "root": 0,
        "goal": 4,
        "wanted": "all",
    }
    assert build_timeline(run("allgather_ring", sw))["state"] == {
        "initial": "own",
        "root": 0,
        "goal": 1,
        "wanted": "all",
    }
    assert build_timeline(run("reduce_scatter_ring", sw))["state"]["wanted"] == "own"
    assert build_timeline(run("broadcast_binomial", sw, root=2))["state"]["root"] == 2
    peer = build_timeline(run("alltoall_direct", sw))["state"]
    assert isinstance(peer["wanted"], list)
    assert all(len(cell) == 2 for cell in peer["wanted"])


def test_small_timelines_go_as_they_are_and_large_ones_packed():
    small = build_timeline(run("allreduce_ring", cs.topology.switch(4)))
    assert encode(small) is small
    large = build_timeline(run("allreduce_ring", cs.topology.switch(64)))
    packed = encode(large)
    assert set(packed) == {"schema", "z"}
    assert len(packed["z"]) < 200_000
    assert decode(packed) == json.loads(dump_json(large))
    assert encode(large) == packed, "the same bytes every time"


@pytest.mark.parametrize(
    "wrong", ["[1]", "{", '{"schema":"collsim.timeline/2"}', '{"schema":"collsim.timeline/1","z":"!!!"}', "{}"]
)
def test_what_is_no_timeline_is_refused(wrong):
    with pytest.raises(FormatError, match="timeline"):
        decode(wrong)


def test_too_many_transfers_say_what_to_choose_instead():
    trace = run("allreduce_ring", cs.topology.ring(512), "1GiB")
    with pytest.raises(CollsimError, match=r"523,264 transfers.*at most 200,000.*fewer than 512 ranks"):
        build_timeline(trace)
    assert "<iframe" not in trace._repr_html_(), "a notebook then shows the figures alone"


def test_fewer_ranks_than_the_topology_has():
    topology = machine("dgx-a100", nodes=2)
    schedule = cs.schedule("allreduce_ring", ranks=4)
    trace = cs.simulate(schedule, topology, "1MiB")
    made = build_timeline(trace)
    check(made, trace)
    assert sorted(e for e in made["devices"]["endpoint"] if e >= 0) == [0, 1, 2, 3]


def test_the_server_is_on_the_stage_with_its_number():
    topology = machine("dgx-a100", nodes=2)
    trace = cs.simulate(cs.schedule("allreduce_parameter_server", ranks=4, server="helper"), topology, "1MiB")
    made = build_timeline(trace)
    check(made, trace)
    at = made["devices"]["endpoint"].index(4)
    assert made["devices"]["label"][at] == {"en": "server", "zh": "服务器"}


def test_one_rank_has_nothing_to_do_and_still_a_timeline():
    made = build_timeline(run("allreduce_ring", cs.topology.switch(1)))
    assert made["transfers"]["t0"] == []
    assert made["bottleneck"] is None
    assert made["rows"] == []
    assert made["routes"] == {"start": [0], "link": []}


@pytest.mark.parametrize("options", [{}, {"sharing": "fifo"}, {"sharing": "none"}])
@pytest.mark.parametrize("name", ["allreduce_ring", "allreduce_parameter_server", "allreduce_tree"])
def test_runs_without_a_barrier(name, options):
    topology = cs.topology.switch(6)
    trace = cs.simulate(cs.schedule(name, topology=topology), topology, "1MiB", engine="event", **options)
    made = build_timeline(trace)
    check(made, trace)
    assert made["meta"]["engine"] == "event"
    assert made["meta"]["sharing"] == options.get("sharing", "fair")


def test_store_and_forward_gives_every_hop_its_own_time():
    """Six ranks push 1 MiB each to one: on the last cable they go one after another, each 1 MiB ÷ 25 GB/s = 41.9 µs."""
    topology = cs.topology.switch(6)
    trace = cs.simulate(
        cs.schedule("allreduce_parameter_server", topology=topology), topology, "1MiB", engine="event", sharing="fifo"
    )
    made = build_timeline(trace)
    t, hops = made["transfers"], made["hops"]
    assert len(hops["t0"]) == len(hops["t1"]) == 2 * len(t["t0"])
    pushes = [i for i, adds in enumerate(t["reduce"]) if adds]
    last = sorted((hops["t0"][2 * i + 1], hops["t1"][2 * i + 1]) for i in pushes)
    assert all(end - begin == pytest.approx(2**20 / 25e9, rel=1e-6) for begin, end in last)
    assert all(b[0] >= a[1] - 1e-11 for a, b in itertools.pairwise(last)), "one at a time"


def crossed(made):
    """Bytes over each link of the picture, from the stretches at one rate."""
    total, routes, flows = np.zeros(len(made["links"]["src"])), made["routes"], made["flows"]
    for route, nbytes in zip(flows["route"], flows["bytes"], strict=True):
        for link in routes["link"][routes["start"][route] : routes["start"][route + 1]]:
            total[link] += nbytes
    return total


@pytest.mark.parametrize("sharing", ["fair", "fifo", "none"])
@pytest.mark.parametrize("name", ["allreduce_ring", "allreduce_parameter_server"])
def test_cables_show_the_rates_of_the_run_and_what_others_carry(name, sharing):
    """Rank 1 three times slower, and 1 MB from rank 2 to rank 5 beside: no cable carries more than it can at any
    moment, and at the end each has carried what the host counted."""
    topology = cs.topology.switch(6)
    trouble = {"slow": {1: 3}, "background": [(2, 5, "1MB")]}
    trace = cs.simulate(
        cs.schedule(name, topology=topology), topology, "1MiB", engine="event", sharing=sharing, **trouble
    )
    made = build_timeline(trace)
    links = made["links"]
    rate = dict(zip([made["devices"]["name"][a] for a in links["src"]], links["bandwidth"], strict=True))
    assert rate["gpu1"] == pytest.approx(rate["gpu0"] / 3)
    assert crossed(made) == pytest.approx(made["figures"]["link_bytes"], abs=1)
    assert (
        sum(made["figures"]["link_bytes"]) == trace.link_bytes.sum() + trace.other_bytes.sum() > trace.link_bytes.sum()
    )
    flows, routes = made["flows"], made["routes"]
    if sharing == "none":
        return
    for link, most in enumerate(links["bandwidth"]):
        on = [
            i
            for i, r in enumerate(flows["route"])
            if link in routes["link"][routes["start"][r] : routes["start"][r + 1]]
        ]
        for t in (flows["t0"][i] for i in on):
            now = [i for i in on if flows["t0"][i] <= t < flows["t1"][i] - 1e-10]
            assert sum(flows["bytes"][i] / (flows["t1"][i] - flows["t0"][i]) for i in now) <= most * (1 + 1e-3)


def test_a_run_launched_later_is_played_from_0_and_judged_from_its_launch():
    """1 MB of others at 0 s is over when the run begins; of 1 MB at 1 s the run's cables carry all."""
    topology = cs.topology.switch(6)
    others = [(2, 5, "1MB"), (2, 5, "1MB", "1s")]
    s = cs.schedule("allreduce_ring", topology=topology)
    made, now = (
        build_timeline(cs.simulate(s, topology, "1MiB", engine="event", **o))
        for o in ({"background": others, "begin": "1s"}, {"background": others[:1]})
    )
    assert made["meta"]["time"] == pytest.approx(1 + now["meta"]["time"], abs=1e-9)
    assert min(made["transfers"]["t0"]) == 1
    assert made["figures"]["duration"] == pytest.approx(now["figures"]["time"])
    assert crossed(made) == pytest.approx(made["figures"]["link_bytes"], abs=1)
    assert compute_shares(made) == pytest.approx(compute_shares(now), rel=1e-6)
    assert made["rows"] == now["rows"]


def test_a_run_stored_and_forwarded_alone_needs_no_rates_next_to_its_hops():
    topology = cs.topology.switch(4)
    made = build_timeline(
        cs.simulate(cs.schedule("allreduce_tree", topology=topology), topology, "1MiB", engine="event", sharing="fifo")
    )
    assert "hops" in made
    assert "flows" not in made


@pytest.mark.parametrize(
    ("name", "options", "topology"),
    [
        ("allreduce_ring", {}, "ring(48)"),  # long columns of few values: packed
        ("allreduce_ring", {}, "ring(4)"),  # short ones
        ("alltoall_direct", {}, "switch(40, bandwidth=1GB/s)"),
    ],
)
@pytest.mark.parametrize("engine", ["lockstep", "event"])
def test_what_is_sent_from_columns_is_the_timeline(name, options, topology, engine):
    place = parse_topology(topology, cs.topology.NETWORKS)
    trace = cs.simulate(cs.schedule(name, topology=place, **options), place, 1_000_003, engine=engine)
    made = build_timeline(trace)
    assert decode(build_encoded_timeline(trace)) == made == json.loads(json.dumps(made))


NESTED = {
    "meta": TimelineMeta,
    "stage": TimelineStage,
    "devices": TimelineDevices,
    "links": TimelineLinks,
    "routes": TimelineRoutes,
    "transfers": TimelineTransfers,
    "steps": TimelineSteps,
    "logical": LogicalView,
    "figures": TimelineFigures,
    "bottleneck": TimelineCause,
}
LISTED = {"panels": TimelinePanel, "rows": LinkRow, "phases": TimelinePhase}


@pytest.mark.parametrize("machine", ["dgx-a100", "pcie-8gpu"])
def test_the_timeline_has_the_keys_of_its_type(machine):
    topology = cs.machine(machine, nodes=2)
    document = build_timeline(cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "1MiB"))
    typed = [(document, Timeline)]
    typed += [(document[name], kind) for name, kind in NESTED.items()]
    typed += [(entry, kind) for name, kind in LISTED.items() for entry in document[name]]
    for entry, kind in typed:
        assert kind.__required_keys__ <= entry.keys() <= kind.__required_keys__ | kind.__optional_keys__, kind


def test_a_timeline_does_not_keep_the_run():
    trace = cs.simulate(cs.schedule("allreduce_ring", 4), cs.topology.switch(4), "1MiB")
    build_timeline(trace)
    reference = weakref.ref(trace)
    del trace
    gc.collect()
    assert reference() is None

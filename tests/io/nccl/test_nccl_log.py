"""NCCL's log: what a job does, rebuilt as schedules that verify."""

import time
import tracemalloc

import pytest

import collsim as cs
from collsim.io import convert, load
from collsim.io.nccl.nccl_log import parse_nccl_log
from collsim.io.nccl.nccl_log_facts import read_log_facts

PREFIX = "somehost:4711:4712 [0] NCCL INFO "


def log(rings, trees=(), more=()):
    """Lines as NCCL prints them: rings from rank 0, trees from every rank."""
    n = len(rings[0]) if rings else len(trees[0])
    lines = ["somehost:4711:4711 [0] NCCL INFO NCCL version 2.21.5+cuda12.4"]
    lines += [
        f"[1,0]<stdout>:{PREFIX}comm 0x55d2 rank {r} nRanks {n} nNodes 2 localRanks {n // 2} localRank 0 MNNVL 0"
        for r in range(n)
    ]
    for c, order in enumerate(rings):
        lines.append(f"{PREFIX}Channel {c:02d}/{len(rings):02d} :  " + "".join(f"{r:4d}" for r in order))
    for r in range(n):
        texts = []
        for c, parent in enumerate(trees):
            below = [x for x in range(n) if parent[x] == r]
            texts.append(f"[{c}] {'/'.join(map(str, (below + [-1] * 3)[:3]))}->{r}->{parent[r]}")
        if texts:
            lines.append(f"{PREFIX}Trees {' '.join(texts)}")
    return "\n".join([*lines, *(PREFIX + m for m in more)]) + "\n"


HEAP = (-1, 0, 0, 1, 1, 2, 2, 3)
CHAIN = (-1, 0, 1, 2, 3, 4, 5, 6)
LOG = log([range(8), [0, 7, 6, 5, 4, 3, 2, 1]], [HEAP, CHAIN], ["Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read"])


def read(tmp_path, text):
    (tmp_path / "nccl.log").write_text(text)
    return load(tmp_path / "nccl.log")


@pytest.mark.parametrize("collective", ["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce"])
def test_rings_become_schedules_that_follow_them(tmp_path, collective):
    job = read(tmp_path, LOG)
    assert (job.ranks, job.nodes, job.version) == (8, 2, "2.21.5+cuda12.4")
    schedule = job.schedule(collective, root=3 if collective in ("broadcast", "reduce") else 0)
    cs.verify(schedule)
    t = schedule.transfers
    for channel, order in job.rings.items():
        after = dict(zip(order, order[1:] + order[:1], strict=True))
        rows = t[t["channel"] == channel]
        assert len(rows)
        assert all(after[int(r["src"])] == r["dst"] for r in rows)


def test_a_ring_allreduce_costs_what_nccl_claims(tmp_path):
    """2(n - 1) steps and 2(n - 1)/n of the buffer per rank, over two channels."""
    job = read(tmp_path, LOG)
    schedule = job.schedule("allreduce")
    assert schedule.steps == 14
    trace = cs.simulate(schedule, cs.topology.switch(8), 8 * 2**20)
    assert set(trace.sent_bytes[:8]) == {2 * 7 * 2**20}


@pytest.mark.parametrize("pieces", [1, 4])
def test_trees_go_up_and_down(tmp_path, pieces):
    job = read(tmp_path, LOG)
    schedule = job.schedule("allreduce", "tree", pieces=pieces)
    cs.verify(schedule)
    for c, parent in enumerate((HEAP, CHAIN)):
        rows = schedule.transfers[schedule.transfers["channel"] == c]
        up, down = rows[rows["reduce"]], rows[~rows["reduce"]]
        assert {(int(r["src"]), int(r["dst"])) for r in up} == {(r, p) for r, p in enumerate(parent) if p >= 0}
        assert {(int(r["dst"]), int(r["src"])) for r in down} == {(r, p) for r, p in enumerate(parent) if p >= 0}


def test_a_ring_whose_line_was_cut_comes_from_its_neighbours(tmp_path):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    near = [f"Ring 00 : {order[k - 1]} -> {order[k]} -> {order[(k + 1) % 8]}" for k in range(8)]
    text = log([[0, 2, 4]], more=near).replace("   0   2   4", "   0   2   4 ...")
    assert read(tmp_path, text).rings == {0: tuple(order)}


def test_a_ring_that_does_not_close_is_refused(tmp_path):
    near = ["Ring 00 : 3 -> 0 -> 1", "Ring 00 : 0 -> 1 -> 2", "Ring 00 : 1 -> 2 -> 1", "Ring 00 : 2 -> 3 -> 0"]
    with pytest.raises(cs.FormatError, match=r"nccl\.log, ring of channel 0: visits"):
        read(tmp_path, "\n".join(PREFIX + line for line in near))


def test_a_tree_with_two_roots_or_a_circle_is_refused(tmp_path):
    for parent in ((-1, -1, 0, 1), (-1, 2, 3, 1)):
        with pytest.raises(cs.FormatError, match=r"nccl\.log, tree of channel 0: is not a tree"):
            read(tmp_path, log([], [parent]).replace("nRanks", "nranks"))


@pytest.mark.parametrize(
    "cut", ["rank 0 nRanks 1", "rank 0 nRanks 16 nNodes 1", "rank 0 nRanks 16 nNodes 2 localRanks 1"]
)
def test_a_number_that_the_end_of_a_log_cuts_is_not_read(tmp_path, cut):
    """A job that is killed leaves half of a line: `nRanks 1` may be the first digit of 16."""
    whole = log([range(4)])
    damaged = f"{whole}{PREFIX}comm 0x55d3 {cut}"
    assert read(tmp_path, damaged) == read(tmp_path, whole)
    facts = [
        [value for _, kind, value in read_log_facts(text.splitlines()) if kind == "nccl.ranks"]
        for text in (damaged, whole)
    ]
    assert facts[0] == facts[1]


def test_of_several_communicators_the_largest_is_taken(tmp_path):
    text = log([[0, 1]]) + log([range(4)], more=[]) + log([[0, 1]])
    assert read(tmp_path, text).rings == {0: (0, 1, 2, 3)}


def test_transports_are_kept(tmp_path):
    more = [
        "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
        "Channel 01/0 : 3[7] -> 4[0] [send] via NET/IB/0/GDRDMA",
        "Channel 01 : 4[1b000] -> 5[43000] via SHM/direct/direct",
    ]
    job = read(tmp_path, log([range(8)], more=more))
    assert job.transports == {(0, 0, 1): "P2P/CUMEM/read", (1, 3, 4): "NET/IB/0/GDRDMA", (1, 4, 5): "SHM/direct/direct"}
    assert "transports: NET/IB/GDRDMA, P2P, SHM" in str(job)


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        (("NET/Socket/0", "NET/Socket/1"), "NET/Socket"),
        (("NET/IB/0", "NET/IB/1"), "NET/IB"),
        (("NET/IB/0/GDRDMA", "NET/IB/1"), "NET/IB (1 of 2 channels), NET/IB/GDRDMA (1 of 2 channels)"),
    ],
)
def test_sockets_rdma_and_gpudirect_on_some_channels_are_told_apart(routes, words, tmp_path):
    more = [f"Channel 0{channel}/0 : 1[1] -> 2[0] [send] via {route}" for channel, route in enumerate(routes)]
    assert str(read(tmp_path, log([range(4), range(4)], more=more))).splitlines()[0].endswith(f"transports: {words}")


@pytest.mark.parametrize("bus", ["85000", "c000", "65536", "110000"])
def test_a_bus_id_of_digits_is_no_rank(bus, tmp_path):
    rings = [f"Ring 0 : {(r - 1) % 4} -> {r} -> {(r + 1) % 4} comm 0x7f nRanks 04 busId {bus}" for r in range(4)]
    trees = [
        f"Trees [0] {r + 1 if r < 3 else -1}/-1/-1->{r}->{r - 1} comm 0x7f nRanks 04 busId {bus}" for r in range(4)
    ]
    job = read(tmp_path, "".join(f"n1:1:{number} [0] NCCL INFO {line}\n" for number, line in enumerate(rings + trees)))
    assert (job.rings, job.trees) == ({0: (0, 1, 2, 3)}, {0: (-1, 0, 1, 2)})


@pytest.mark.parametrize(
    "line", ["Ring 0 : 0 -> 70000 -> 1", "Trees [0] 70000/-1/-1->0->-1", "Channel 00/01 :    0   70000"]
)
def test_ranks_beyond_the_limit_are_refused(line, tmp_path):
    with pytest.raises(cs.FormatError, match="beyond 65535"):
        read(tmp_path, f"n1:1:2 [0] NCCL INFO {line}\n")


def test_a_log_converts_into_the_schedule_of_its_job(tmp_path):
    (tmp_path / "nccl.log").write_text(LOG)
    convert(tmp_path / "nccl.log", tmp_path / "a.xml")
    cs.verify(load(tmp_path / "a.xml"))


def test_what_a_log_does_not_hold_is_said(tmp_path):
    job = read(tmp_path, log([range(4)]))
    with pytest.raises(cs.CollsimError, match="the log has no trees; log them with NCCL_DEBUG=INFO"):
        job.schedule("allreduce", "tree")
    with pytest.raises(cs.CollsimError, match="NCCL has no ring for alltoall"):
        job.schedule("alltoall")
    (tmp_path / "b.log").write_text("somehost:1:1 [0] NCCL INFO Bootstrap : Using eth0\n")
    with pytest.raises(cs.FormatError, match="no rings or trees"):
        load(tmp_path / "b.log", format="nccl-log")


def of_groups(groups, named):
    """Every rank of every group says line after line at the same time as all others, as in a job that makes them all at
    once."""
    spoken = []
    for number, (ring, hosts) in enumerate(groups):
        n = len(ring)
        for r, host in enumerate(hosts):
            who = f"node{host // 8}:{100 + host}:{1000 * number + host} [{host % 8}] NCCL INFO "
            parent = ring[ring.index(r) - 1] if r != ring[0] else -1
            below = ring[ring.index(r) + 1] if r != ring[-1] else -1
            begins = [
                f"ncclCommInitRankConfig comm 0x5{number}{r} rank {r} nranks {n} cudaDev 0 busId 1000 commId "
                f"0xab{number} - Init START"
            ]
            rings = (
                [f"Channel {c:02d}/02 : {' '.join(map(str, ring))}" for c in range(2)]
                if r == 0
                else ["nothing to say"] * 2
            )
            trees = [f"Trees [0] {below}/-1/-1->{r}->{parent} [1] {below}/-1/-1->{r}->{parent}"]
            via = [f"Channel 00/0 : {r}[0] -> {ring[(ring.index(r) + 1) % n]}[1] via P2P/CUMEM"]
            spoken.append([who + text for text in [*(begins if named else ["Setting affinity"]), *rings, *trees, *via]])
    return "\n".join(line for moment in zip(*spoken, strict=True) for line in moment)


def test_communicators_that_begin_at_once_are_kept_separate(tmp_path):
    """A world of 16, two groups of 8 with other rings, eight pairs; their lines alternate."""
    world, group = list(range(16)), [0, 3, 1, 2, 7, 6, 5, 4]
    groups = [(world, range(16)), (group, range(8)), (group, range(8, 16)), *(([0, 1], [r, r + 8]) for r in range(8))]
    job = read(tmp_path, of_groups(groups[::-1], named=True))
    chain = tuple(range(-1, 15))
    assert (job.ranks, job.rings, job.trees) == (16, {0: tuple(world), 1: tuple(world)}, {0: chain, 1: chain})
    assert len(job.transports) == 16
    cs.verify(job.schedule("allreduce", "tree"))
    job = read(tmp_path, of_groups([*groups[1:2], ([0, 1, 2], range(8, 11))], named=True))
    assert job.rings == {0: tuple(group), 1: tuple(group)}


def test_a_log_whose_rings_come_late_is_still_a_log(tmp_path):
    chatter = "".join(f"{PREFIX}Setting affinity for GPU {k % 8} to ffff,ffffffff\n" for k in range(40_000))
    (tmp_path / "train.txt").write_text(chatter + LOG)
    assert (tmp_path / "train.txt").stat().st_size > 2**21
    assert load(tmp_path / "train.txt").ranks == 8


def test_a_log_is_read_without_a_copy_of_its_lines():
    calls = "".join(f"{PREFIX}AllReduce: opCount {k:x} count {4096 + k} datatype 7 op 0\n" for k in range(60_000))
    text = LOG + calls
    tracemalloc.start()
    assert parse_nccl_log(text, "train.log").ranks == 8
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(text)


def test_of_many_communicators_without_names_the_largest_is_kept():
    ring = f"{PREFIX}Channel 00/01 : " + " ".join(map(str, range(400))) + "\n"
    text = ring.replace(" 399", "") * 3_000
    assert parse_nccl_log(text + ring + text, "train.log").ranks == 400
    tracemalloc.start()
    assert parse_nccl_log(text, "train.log").ranks == 399
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(text)


def test_a_file_of_empty_lines_is_refused_at_once(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("\n" * 2**20)
    begin = time.process_time()
    with pytest.raises(cs.FormatError, match="does not look like"):
        load(path)
    assert time.process_time() - begin < 20

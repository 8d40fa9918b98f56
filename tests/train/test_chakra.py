"""A step as Chakra traces: read by a decoder of protobuf's wire format that knows nothing of ours, and replayed as
ASTRA-sim replays them: a node starts when all it waits for have ended, a collective when all of its group are there, a
message when both ends are."""

import heapq
import json
import struct
from collections import defaultdict

import pytest
from sampling import sample

import collsim as cs

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

COMP, SEND, RECV, COLLECTIVE = 4, 5, 6, 7
#: Fields of Node and AttributeProto (mlcommons/chakra schema/protobuf/et_def.proto).
NODE = {1: "id", 2: "name", 3: "type", 5: "data_deps", 6: "start", 7: "duration", 10: "attr"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def fields(data):
    """(number, value) of a message: integers, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack("<d", data[at : at + 8])[0], at + 8
        else:
            assert key & 7 == 2, key & 7
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        yield key >> 3, value


def node(data):
    found = {"data_deps": [], "id": 0, "start": 0, "duration": 0}
    for number, value in fields(data):
        name = NODE[number]
        if name == "attr":
            attribute = dict(fields(value))
            key = attribute.pop(1).decode()
            found[key] = next(iter(attribute.values()), 0)
        elif name == "data_deps":  # packed
            at = 0
            while at < len(value):
                one, at = varint(value, at)
                found["data_deps"].append(one)
        else:
            found[name] = value
    return found


def nodes(path):
    """The nodes of a trace: each message behind its length, the first of them metadata."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        length, at = varint(data, at)
        found.append(data[at : at + length])
        at += length
    return [node(message) for message in found[1:]]


def replayed(files, groups=None, took=lambda n: n["duration"]):
    """When every node of every file ends, in microseconds."""
    ends, ready = {}, {}
    met = defaultdict(dict)  # what meets: a collective or a message -> GPU: when it is there
    left = {(r, n["id"]): n for r, own in enumerate(files) for n in own}
    counts = defaultdict(int)
    while left:
        before = len(left) + len(ready)
        for key in [k for k in left if all((k[0], d) in ends for d in left[k]["data_deps"])]:
            n = left.pop(key)
            start = max((ends[key[0], d] for d in n["data_deps"]), default=0)
            if n["type"] == COMP:
                ends[key] = start + took(n)
                continue
            name = n.get("pg_name", b"").decode()
            group = (name,) if n["type"] == COLLECTIVE else (n.get("comm_src", 0), n.get("comm_dst", 0), n["comm_tag"])
            size = 2 if n["type"] != COLLECTIVE else len(groups[name]) if name else len(files)
            what = *group, counts[key[0], n["type"], *group]  # the first that is sent is the first that is received
            counts[key[0], n["type"], *group] += 1
            ready[key] = what
            met[what][key] = start, n
            if len(met[what]) == size:
                begin = max(s for s, _ in met[what].values())
                assert len({n["comm_size"] for _, n in met[what].values()}) == 1, what
                for other, (_, its) in met[what].items():
                    ends[other] = begin + (took(its) if its["type"] == COLLECTIVE else 0)
                    del ready[other]
        assert len(left) + len(ready) < before, "nothing can go on"
    return ends


def saved(trace, place):
    trace.save(place / "step.et")
    files = []
    while (path := place / f"step.{len(files)}.et").exists():
        files.append(nodes(path))
    return files


def step(parallel, machine=None, **rest):
    machine = machine or cs.machine("dgx-a100", nodes=2)
    return cs.training_step("resnet18", machine, parallel=parallel, micro_batch=32, **rest)


@pytest.mark.parametrize(
    "parallel", [cs.ddp(), cs.ddp(accumulate=2, find_unused=True), cs.ddp(overlap=False, hook="fp16")]
)
def test_a_replay_of_ddp_takes_as_long_as_the_step(parallel, tmp_path):
    trace = step(parallel)
    files = saved(trace, tmp_path)
    assert len(files) == 16
    assert all(len(own) == len(trace.step.tasks) for own in files)
    # every task's begin and end is rounded to a whole microsecond, so sums along a chain never drift
    assert max(replayed(files).values()) == pytest.approx(1e6 * trace.time, abs=1)


def test_computing_says_its_operations_and_its_bytes_and_allreduces_theirs(tmp_path):
    trace = step(cs.ddp())
    own = saved(trace, tmp_path)[3]
    assert sum(n.get("num_ops", 0) for n in own) * 16 == pytest.approx(trace.step.flops, rel=1e-9)
    assert all(n["is_cpu_op"] == 0 for n in own)
    reduces = [n["comm_size"] for n in own if n["type"] == COLLECTIVE and n["comm_type"] == 0]
    assert reduces == cs.ddp().list_bucket_bytes(cs.model("resnet18"))


@pytest.mark.parametrize("parallel", [cs.ddp(), cs.data_parallel(), cs.parameter_server(2)])
def test_the_roofline_of_astra_sim_gives_every_node_the_time_of_its_bytes_or_of_its_operations(parallel, tmp_path):
    """Workload.cc, issue_comp: operations over min(bandwidth * operations / bytes, peak); without operations that is 0
    over 0, and nodes without bytes are passed over."""
    peak, bandwidth = 300e12, 2e12
    for own in saved(step(parallel, cs.machine("dgx-a100")), tmp_path):
        for n in own:
            if n["type"] == COMP:
                rate = min(bandwidth * n["num_ops"] / n["tensor_size"], peak)
                longest = max(n["num_ops"] / peak, n["tensor_size"] / bandwidth)
                assert n["num_ops"] / rate == pytest.approx(longest), n


@pytest.mark.parametrize("parallel", [cs.data_parallel(), cs.data_parallel(False), cs.parameter_server(2)])
def test_what_astra_sim_has_no_collective_for_is_messages_that_meet(parallel, tmp_path):
    trace = step(parallel, cs.machine("dgx-a100"))
    files = saved(trace, tmp_path)
    assert len(files) == 8 + (2 if isinstance(parallel, type(cs.parameter_server())) else 0)
    sent = sum(n["comm_size"] for own in files for n in own if n["type"] == SEND)
    whole = [
        i
        for i in trace.step.collectives
        if trace.step.tasks[i].kind in ("broadcast",) and parallel == cs.data_parallel()
    ]
    plans = [(trace.step.build_schedule(i, trace.topology), trace.step.tasks[i].nbytes) for i in trace.step.collectives]
    kept = [pair for i, pair in zip(trace.step.collectives, plans, strict=True) if i not in whole]
    assert sent == sum(
        cs.simulate(plan, cs.topology.switch(8, helpers=plan.endpoints - 8), size).sent_bytes.sum()
        for plan, size in kept
    )
    ends = replayed(files)  # every message finds its other end
    computing = sum(n["duration"] for n in files[0] if n["type"] == COMP)
    assert max(ends.values()) >= computing


def test_gpus_that_are_a_part_of_a_machine_are_numbered_from_zero(tmp_path):
    trace = step(cs.ddp(), ranks=[0, 1, 8, 9])
    assert len(saved(trace, tmp_path)) == 4
    assert not (tmp_path / "step.groups.json").exists()


def test_a_group_of_some_gpus_is_named_in_a_second_file(tmp_path):
    from dataclasses import replace

    from collsim.train.workload.step_graph import StepTasks

    trace = step(cs.ddp(), cs.machine("dgx-a100"))
    tasks = tuple(replace(t, ranks=(0, 1, 2, 3)) if t.bucket == 0 and not t.is_compute else t for t in trace.step.tasks)
    some = replace(trace, step=replace(trace.step, tasks=StepTasks(tasks)))
    files = saved(some, tmp_path)
    assert json.loads((tmp_path / "step.groups.json").read_text()) == {"1": [0, 1, 2, 3]}
    assert [sum(n.get("pg_name") == b"1" for n in own) for own in files] == [1] * 4 + [0] * 4


def test_a_step_that_is_split_in_three_ways_has_every_group_and_every_hop(tmp_path):
    model = cs.train.transformer(256, 4, 4, seq=64)
    way = cs.tensor(2) * cs.pipeline(2) * cs.ddp()
    trace = cs.training_step(model, cs.machine("dgx-a100"), parallel=way, batch=64, micro_batch=4)
    files = saved(trace, tmp_path)
    groups = json.loads((tmp_path / "step.groups.json").read_text())
    tensors = [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert all(group in groups.values() for group in [*tensors, [0, 2], [1, 3], [4, 6], [5, 7]])
    # of every microbatch and in both directions GPU r of the first stage meets GPU r + 4 of the second
    hops = {(n.get("comm_src", 0), n.get("comm_dst", 0)) for own in files for n in own if n["type"] == SEND}
    assert hops == {(r, r + 4) for r in range(4)} | {(r + 4, r) for r in range(4)}
    end = max(replayed(files, groups).values())
    assert 0.8 * 1e6 * trace.time < end <= 1e6 * trace.time + 1  # hops take no time in this replay


class AstraSim:
    """Its rules of who may begin: a GPU computes one node at a time, and has one collective or message of its own under
    way at a time; what it receives needs no place; of nodes that may begin the lowest number does
    (workload/HardwareResource.cc, Workload.cc)."""

    def __init__(self, files, groups):
        self.files, self.groups, self.now, self.queue, self.busy = files, groups, 0.0, [], set()
        self.left = [{n["id"]: set(n["data_deps"]) for n in own} for own in files]
        self.met, self.counts = defaultdict(list), defaultdict(int)

    def begin(self, gpu):
        for number in sorted(i for i, deps in self.left[gpu].items() if not deps):
            n = self.files[gpu][number]
            place = gpu, "compute" if n["type"] == COMP else "network"
            if n["type"] != RECV and place in self.busy:
                continue
            del self.left[gpu][number]
            self.busy |= {place} if n["type"] != RECV else set()
            if n["type"] == COMP:
                heapq.heappush(self.queue, (self.now + n["duration"], gpu, number))
            else:
                self.meet(gpu, number, n)

    def meet(self, gpu, number, n):
        name = n.get("pg_name", b"").decode()
        what = (name,) if n["type"] == COLLECTIVE else (n.get("comm_src", 0), n.get("comm_dst", 0), n["comm_tag"])
        key = *what, self.counts[gpu, n["type"], what]
        self.counts[gpu, n["type"], what] += 1
        self.met[key].append((gpu, number))
        size = 2 if n["type"] != COLLECTIVE else len(self.groups[name]) if name else len(self.files)
        if len(self.met[key]) == size:
            for end, its in self.met[key]:
                heapq.heappush(self.queue, (self.now + n["duration"], end, its))

    def run(self):
        """Nodes that never end."""
        for gpu in range(len(self.files)):
            self.begin(gpu)
        ended = 0
        while self.queue:
            self.now, gpu, number = heapq.heappop(self.queue)
            kind = self.files[gpu][number]["type"]
            self.busy -= {(gpu, "compute" if kind == COMP else "network")} if kind != RECV else set()
            for deps in self.left[gpu].values():
                deps.discard(number)
            ended += 1
            self.begin(gpu)
        return sum(map(len, self.files)) - ended


@pytest.mark.parametrize(
    "parallel",
    sample(
        [
            cs.fsdp(replicate=2),
            cs.zero(2),
            cs.context(2) * cs.fsdp(),
            cs.tensor(2, sequence=True) * cs.pipeline(2, interleave=2) * cs.zero(1),
            cs.tensor(2) * cs.pipeline(4, schedule="zbv") * cs.ddp(),
        ],
        1,
    ),
    ids=lambda way: way.label,
)
def test_where_a_gpu_has_one_collective_at_a_time_as_in_astra_sim_none_waits_for_another_for_ever(parallel, tmp_path):
    model = cs.train.transformer(256, 8, 4, seq=64)
    trace = cs.training_step(model, cs.machine("dgx-a100"), parallel=parallel, batch=64, micro_batch=1)
    files = saved(trace, tmp_path)
    place = tmp_path / "step.groups.json"
    replay = AstraSim(files, json.loads(place.read_text()) if place.exists() else {})
    assert replay.run() == 0
    assert replay.now > 0.8e6 * trace.time
    files[1][next(n["id"] for n in files[1] if n["type"] == COLLECTIVE)]["data_deps"] = [len(files[1]) - 1]
    assert AstraSim(files, replay.groups).run() > 0


def test_asynchronous_workers_are_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(cs.CollsimError, match="wait for nobody"):
        step(cs.parameter_server(synchronous=False), cs.machine("dgx-a100")).save(tmp_path / "step.et")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("flops", "compute"), [(1e25, "A100"), (1e9, "1e17s")])
def test_numbers_beyond_64_bits_are_a_sentence(tmp_path, flops, compute):
    model = cs.train.Model("large", (cs.train.Layer("a", (10,), flops=flops),))
    t = cs.training_step(model, cs.topology.switch(2), parallel=cs.ddp(), micro_batch=1, compute=compute)
    with pytest.raises(cs.CollsimError, match=r"a forward: .*more than a Chakra trace has room for"):
        t.save(tmp_path / "x.et")
    assert not list(tmp_path.iterdir())

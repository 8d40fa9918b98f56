"""Algorithms synthesized by SCCL and msccl-tools: conditions say which collective, sends become copies and
reductions."""

import json

import pytest

import collsim as cs
from collsim.io import load

N = 4


def algorithm(chunks, steps, pieces=1, word="msccl_type", ranks=N):
    """The file that msccl-tools would write; `chunks` are (pre, post, address)."""
    return {
        word: "algorithm",
        "name": "made(n=4)-steps",
        "instance": {word: "instance", "steps": len(steps), "extra_rounds": 0, "chunks": pieces, "pipeline": None},
        "input_map": {},
        "output_map": {},
        "steps": [{word: "step", "rounds": 1, "sends": sends} for sends in steps],
        "collective": {
            word: "collective",
            "name": "anything at all",
            "nodes": ranks,
            "chunks": [{word: "chunk", "pre": list(a), "post": list(b), "addr": at} for a, b, at in chunks],
            "triggers": {},
        },
        "topology": {word: "topology", "name": "ring", "switches": [], "links": [[0] * ranks] * ranks},
    }


ALL = range(N)
RING_GATHER = [[[(r - s) % N, r, (r + 1) % N] for r in ALL] for s in range(N - 1)]
RING_SCATTER = [[[(r - s - 1) % N, r, (r + 1) % N] for r in ALL] for s in range(N - 1)]
PARTS = [([r], [a], a) for a in ALL for r in ALL]  # rank r's contribution to the sum that rank a wants

CASES = {
    "allgather": (algorithm([([c], ALL, c) for c in ALL], RING_GATHER), 12),
    "reduce_scatter": (algorithm(PARTS, RING_SCATTER), 12),
    "allreduce": (
        algorithm([([r], ALL, a) for a in ALL for r in ALL], [*RING_SCATTER, *RING_GATHER]),
        24,
    ),
    "broadcast": (algorithm([([2], ALL, 0)], [[[0, 2, 0]], [[0, 2, 1], [0, 0, 3]]]), 3),
    "reduce": (algorithm([([r], [2], 0) for r in ALL], [[[0, 1, 2], [0, 3, 0]], [[0, 0, 2]]]), 3),
    "gather": (algorithm([([c], [1], c) for c in ALL], [[[c, c, 1] for c in ALL if c != 1]]), 3),
    "scatter": (algorithm([([1], [c], c) for c in ALL], [[[3, 1, 0]], [[3, 0, 3], [0, 1, 0], [2, 1, 2]]]), 4),
    # chunk c goes from rank c % n to rank c // n, as msccl-tools numbers them; 0 -> 2 by way of 1
    "alltoall": (
        algorithm(
            [([c % N], [c // N], c) for c in range(N * N)],
            [[[c, c % N, 1 if c == 8 else c // N] for c in range(N * N) if c % N != c // N], [[8, 1, 2]]],
        ),
        13 + N,
    ),
}


def read(tmp_path, data):
    (tmp_path / "x.msccl.json").write_text(json.dumps(data))
    return load(tmp_path / "x.msccl.json")


@pytest.mark.parametrize("name", CASES)
def test_the_collective_follows_from_its_conditions_and_the_schedule_verifies(tmp_path, name):
    data, transfers = CASES[name]
    schedule = read(tmp_path, data)
    assert (schedule.collective, schedule.ranks, len(schedule)) == (name, N, transfers)
    cs.verify(schedule)
    for engine in ("lockstep", "event"):
        assert cs.simulate(schedule, cs.topology.switch(N), "1MiB", engine=engine).time > 0


def test_a_root_other_than_the_first_is_found(tmp_path):
    assert [read(tmp_path, CASES[name][0]).root for name in ("broadcast", "reduce", "gather", "scatter")] == [
        2,
        2,
        1,
        1,
    ]


def test_a_chunk_cut_into_pieces_has_an_address_for_each(tmp_path):
    # msccl-tools numbers the pieces of address a: a * pieces, a * pieces + 1 ...
    steps = [[[2 * c + i, r, to] for c, r, to in step for i in (0, 1)] for step in RING_GATHER]
    schedule = read(tmp_path, algorithm([([c], ALL, c) for c in ALL], steps, pieces=2))
    cs.verify(schedule)
    assert (schedule.chunks, len(schedule)) == (8, 24)


def test_the_words_of_sccl_and_the_longer_sends_of_taccl_are_understood(tmp_path):
    steps = [[[a, src, dst, 3 * i, 1.5] for a, src, dst in step] for i, step in enumerate(RING_GATHER)]
    cs.verify(read(tmp_path, algorithm([([c], ALL, c) for c in ALL], steps, word="sccl_type")))


def test_a_send_of_what_is_there_already_moves_nothing(tmp_path):
    twice = [*RING_GATHER, [[0, 1, 2]]]
    assert len(read(tmp_path, algorithm([([c], ALL, c) for c in ALL], twice))) == 12


def test_an_algorithm_that_does_not_finish_is_read_and_found_wrong(tmp_path):
    schedule = read(tmp_path, algorithm([([c], ALL, c) for c in ALL], RING_GATHER[:-1]))
    with pytest.raises(cs.ScheduleError, match="rank"):
        cs.verify(schedule)


def changed(**what):
    data = json.loads(json.dumps(CASES["allgather"][0]))
    for path, value in what.items():
        place = data
        *keys, last = path.split("__")
        for key in keys:
            place = place[int(key) if key.isdigit() else key]
        place[int(last) if last.isdigit() else last] = value
    return data


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (changed(msccl_type="topology"), "found 'topology'"),
        (changed(collective__nodes=10**9), "nodes=1000000000 is out of range"),
        (changed(collective__nodes="four"), "is not a whole number"),
        (changed(collective__chunks=[]), "expected 0, 1, 2"),
        (changed(collective__chunks__1__addr=9), "without gaps"),
        (changed(collective__chunks__1__pre=[0, 1]), "address 1: each chunk must start on one rank"),
        (changed(collective__chunks__1__post=[0, 1]), "no collective that is known"),
        (changed(instance__chunks=-1), "chunks=-1 is out of range"),
        (changed(steps__0__sends__0=[0, 0]), "step 0: send .* expected \\[address, src, dst\\]"),
        (changed(steps__0__sends__0=[99, 0, 1]), "address=99 is out of range"),
        (changed(steps__0__sends__0=[0, 0, 7]), "dst=7 is out of range"),
        (changed(steps__0__sends__0=[2, 0, 1]), "step 0, send of address 2 from 0 to 1: rank 0 holds nothing"),
        (changed(steps__0__sends="many"), "step 0, sends: expected a list"),
        (changed(steps=None), "steps: expected a list"),
        (
            algorithm([([r], [2], 0) for r in ALL], [[[0, 0, 1], [0, 0, 3]], [[0, 1, 2]], [[0, 3, 2]]]),
            "step 2, send of address 0 from 3 to 2: ranks \\[0\\] would count twice",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path, data, sentence):
    with pytest.raises(cs.FormatError, match=sentence):
        read(tmp_path, data)

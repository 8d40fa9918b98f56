"""Traces of PyTorch's profiler: collectives with their sizes, what of them was hidden, and what damage leaves."""

import gzip
import json
import random

import numpy as np
import pytest
from tool_outputs import write_profiler_trace

import collsim as cs
from collsim.io import torch_profiler
from collsim.io.torch_profiler import parse_profiler_trace, read_profiler_trace


def kernel(begin, duration, collective="", elements=(0, 0), ranks=8, dtype="Float", pid=0, **more):
    """A kernel that computes, or a collective of NCCL."""
    args = {"External id": 3, **more}
    if collective:
        args |= {"Collective name": collective, "In msg nelems": elements[0], "Out msg nelems": elements[1]}
        args |= {"Group size": ranks, "dtype": dtype, "Process Group Name": "0"}
    name = "ncclDevKernel_Generic(args)" if collective else "void gemm()"
    return {"ph": "X", "cat": "kernel", "name": name, "pid": pid, "ts": begin, "dur": duration, "args": args}


def write(path, events, **head):
    path.write_text(json.dumps({"schemaVersion": 1, **head, "traceEvents": events}))
    return path


def test_a_trace_is_a_table_of_its_collectives(tmp_path):
    path = tmp_path / "rank0.json.gz"
    path.write_bytes(gzip.compress(write_profiler_trace(ranks=4, calls=3, nbytes=2**20, seconds=1e-3).encode()))
    (row,) = cs.load(path).to_dict("records")
    assert (row["collective"], row["ranks"], row["nbytes"], row["dtype"]) == ("allreduce", 4, 2**20, "BFloat16")
    assert (row["calls"], row["time"], row["hidden"]) == (3, pytest.approx(1e-3), pytest.approx(0.25))
    assert row["busbw"] == pytest.approx(1.5 * 2**20 / 1e-3)
    trace = read_profiler_trace(path)
    assert (trace.rank, trace.ranks, trace.nccl_version, trace.damage) == (0, 4, "2.27.5", None)
    assert trace.gpus == ("NVIDIA H100 80GB HBM3",) * 8


def test_sizes_are_those_of_nccl_tests(tmp_path):
    events = [
        kernel(0, 10, "_allgather_base", (100, 800)),
        kernel(20, 11, "_reduce_scatter_base", (800, 100), dtype="BFloat16"),
        kernel(40, 12, "all_to_allv", (64, 64), **{"In split size": "[]", "Out split size": "[]"}),
        kernel(60, 13, "all_to_allv", (64, 60), **{"In split size": "[8, 56]", "Out split size": "[20, 40]"}),
        kernel(80, 14, "barrier", (1, 1)),
        kernel(100, 15, "allreduce", (50, 50), ranks=2),
        kernel(120, 25, "allreduce", (50, 50), ranks=2),
    ]
    table = cs.load(write(tmp_path / "trace.json", events))
    rows = [tuple(row) for row in table[["collective", "ranks", "nbytes", "calls"]].to_numpy().tolist()]
    assert rows == [
        ("allreduce", 2, 200, 2),
        ("alltoall", 8, 256, 1),
        ("reduce_scatter", 8, 1600, 1),
        ("allgather", 8, 3200, 1),
    ]
    assert table["table"].tolist() == [0, 1, 2, 3]
    assert table["time"].tolist() == pytest.approx([15e-6, 12e-6, 11e-6, 10e-6])
    assert table["mean_time"][0] == pytest.approx(20e-6)


def test_hidden_is_the_time_in_which_the_same_gpu_computed(tmp_path):
    draw = np.random.default_rng(3)
    events, busy = [], {0: set(), 1: set()}
    for _ in range(60):
        begin, length, gpu = (int(draw.integers(*ends)) for ends in ((0, 900), (1, 40), (0, 2)))
        events.append(kernel(begin, length, pid=gpu))
        busy[gpu] |= set(range(begin, begin + length))
    expected = []
    for begin in range(0, 900, 30):
        events.append(kernel(begin, 50, "allreduce", (8, 8), pid=begin // 30 % 2))
        expected.append(len(busy[begin // 30 % 2] & set(range(begin, begin + 50))))
    trace = read_profiler_trace(write(tmp_path / "trace.json", events))
    assert [call.hidden for call in trace.calls] == pytest.approx([ticks * 1e-6 for ticks in expected])
    spans = {gpu: {t for k in range(gpu, 30, 2) for t in range(30 * k, 30 * k + 50)} for gpu in (0, 1)}
    assert trace.seconds == pytest.approx(sum(map(len, spans.values())) * 1e-6)
    assert trace.hidden == pytest.approx(sum(len(spans[gpu] & busy[gpu]) for gpu in (0, 1)) * 1e-6)


def test_facts_of_the_job_may_stand_behind_the_events(tmp_path):
    text = json.dumps({"schemaVersion": 1, "traceEvents": [kernel(0, 5, "allreduce", (8, 8))]})
    (tmp_path / "trace.json").write_text(text[:-1] + ', "distributedInfo": {"rank": 5, "world_size": 8}}')
    trace = read_profiler_trace(tmp_path / "trace.json")
    assert (trace.rank, trace.ranks) == (5, 8)


# ---- damage


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_pieces_may_be_cut_anywhere(piece):
    text = write_profiler_trace(calls=2)
    whole = parse_profiler_trace((text,), "trace.json")
    assert parse_profiler_trace((text[k : k + piece] for k in range(0, len(text), piece)), "trace.json") == whole
    assert len(whole.calls) == 2


def test_of_a_trace_that_was_cut_the_whole_events_are_read(tmp_path):
    text = write_profiler_trace(calls=6)
    cut = text[: text.rindex("ncclDevKernel") + 40]
    (tmp_path / "trace.json").write_text(cut)
    trace = read_profiler_trace(tmp_path / "trace.json")
    assert len(trace.calls) == 5
    assert trace.damage is not None
    zipped = gzip.compress(text.encode())
    (tmp_path / "trace.json.gz").write_bytes(zipped[: len(zipped) - 20])
    trace = read_profiler_trace(tmp_path / "trace.json.gz")
    assert trace.calls
    assert trace.damage is not None


def test_a_damaged_event_costs_no_other(tmp_path):
    text = write_profiler_trace(calls=6)
    begin = text.index('"Collective name"')
    trace = parse_profiler_trace((text[:begin] + "\x00{[" + text[begin + 3 :],), "trace.json")
    assert len(trace.calls) == 5
    assert trace.damage is not None


@pytest.mark.parametrize(
    "change", [("dur", -5), ("dur", "x"), ("dur", 1e300), ("ts", None), ("ts", float("nan")), ("dur", 0)]
)
def test_a_time_that_is_none_is_left_out(tmp_path, change):
    events = [kernel(0, 5, "allreduce", (8, 8)), kernel(10, 5, "allreduce", (8, 8)) | dict([change])]
    assert len(read_profiler_trace(write(tmp_path / "trace.json", events)).calls) == 1


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"traceEvents": 3}',
        '{"traceEvents": []}',
        '{"traceEvents": [[], 1, {}, {"cat": "kernel"}]}',
        "{" * 5_000,
        "",
    ],
)
def test_what_has_no_collectives_is_refused(tmp_path, text):
    (tmp_path / "trace.json").write_text(text)
    with pytest.raises(cs.FormatError, match=r"trace\.json"):
        cs.load(tmp_path / "trace.json", format="torch-profiler")


def test_bombs_end_soon(tmp_path, monkeypatch):
    nested = '{"traceEvents": [' + '{"ph":' * 200_000
    assert parse_profiler_trace((nested,), "trace.json").calls == ()
    many = json.dumps({"traceEvents": [kernel(k, 1, "allreduce", (8, 8), pid=k) for k in range(1_000)]})
    assert len(parse_profiler_trace((many,), "trace.json").calls) == torch_profiler._MAX_GPUS
    monkeypatch.setattr(torch_profiler, "_MAX_BYTES", 2**21)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b'{"traceEvents": [' + b" " * 2**24))
    assert read_profiler_trace(tmp_path / "bomb.json.gz").damage is not None
    monkeypatch.setattr(torch_profiler, "_MAX_CALLS", 3)
    with pytest.raises(cs.FormatError, match="3"):
        parse_profiler_trace((write_profiler_trace(calls=6),), "trace.json")


def test_damage_anywhere_raises_nothing_but_a_format_error(tmp_path):
    draw, text = random.Random(5), write_profiler_trace(calls=2)
    for _ in range(200):
        begin = draw.randrange(len(text))
        word = draw.choice(["", "9" * 400, "-1", "NaN", '"', "]", "}", "{" * 2_000, "\\u", "Ω", "1e999"])
        damaged = text[:begin] + word + text[begin + draw.randrange(40) :]
        try:
            parse_profiler_trace((damaged,), "trace.json")
        except cs.FormatError:
            assert begin < text.index("traceEvents") + 40

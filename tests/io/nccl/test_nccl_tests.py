"""nccl-tests' tables: every dialect is read, and what a simulation prints is what nccl-tests would print."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest

import collsim as cs
from collsim.io import load, save
from collsim.io.nccl.nccl_tests import number

TEXT = """# nccl-tests version 2.19.6 nccl-headers=22307 nccl-library=22307
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  12345 on  someone device  0 [0000:1b:00] NVIDIA A100-SXM4-80GB
#  Rank  1 Group  0 Pid  12345 on  someone device  1 [0000:43:00] NVIDIA A100-SXM4-80GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    13.12    0.00    0.00       0    12.95    0.00    0.00       0
someone:12345:12345 [0] NCCL INFO AllReduce: opCount 5 sendbuff 0x7f count 262144 datatype 7 op 0 root 0 comm 0x5 [nranks=2] stream 0x5
   134217728      33554432     float     sum      -1    932.1  144.00  144.00       0    930.0  144.32  144.32     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 72.08
#
# Collective test concluded: all_reduce_perf
"""

JSON = {
    "version": 3,
    "args": ["./build/all_gather_perf", "-b", "8"],
    "config": {"devices": [{"rank": 0}, {"rank": 1}]},
    "results": [
        {
            "size": 1048576,
            "count": 131072,
            "type": "float",
            "redop": "none",
            "root": "-1",
            "out_of_place": {"time": 20.5, "alg_bw": 51.15, "bus_bw": 25.57, "nwrong": "0"},
            "in_place": {"time": 20.1, "alg_bw": 52.17, "bus_bw": 26.08, "nwrong": "N/A"},
        }
    ],
}


def read(tmp_path, text, **options):
    (tmp_path / "a.txt").write_text(text)
    return load(tmp_path / "a.txt", **options)


def test_a_table_is_read_in_si_units_with_its_test_and_ranks(tmp_path):
    table = read(tmp_path, TEXT)
    assert list(table["nbytes"]) == [8, 134217728]
    assert set(table["collective"]) == {"allreduce"}
    assert set(table["ranks"]) == {2}
    assert set(table["dtype"]) == {"float32"}
    assert list(table["time"]) == pytest.approx([13.12e-6, 932.1e-6])
    assert table["busbw"][1] == pytest.approx(144e9)
    assert table["in_place_wrong"][0] == 0
    assert pd.isna(table["in_place_wrong"][1])


@pytest.mark.parametrize(
    ("line", "time", "in_place"),
    [
        (
            "1024 256 float sum 12.3 0.08 0.16 2e-07 12.1 0.08 0.16 0e+00",
            12.3e-6,
            12.1e-6,
        ),  # no root, an error magnitude
        ("1024 256 float 12.3 0.08 0.16 0e+00 12.1 0.08 0.16 0e+00", 12.3e-6, 12.1e-6),  # neither redop nor root
        ("1024 256 float sum -1 12.3 0.08 0.16 0", 12.3e-6, None),  # one half
        ("1024 256 float sum -1 12.3 0.08 0.16 0 11 14 13 2 12.1 0.08 0.16 0 11 14 13 2", 12.3e-6, 12.1e-6),  # -I
        (
            "[1,0]<stdout>:  1024 256 float sum -1 12.3 0.08 0.16 N/A 12.1 0.08 0.16 N/A",
            12.3e-6,
            12.1e-6,
        ),  # mpirun --tag-output
        (
            "[prterun-node1-7@1,0]<stdout>: 1024 256 float sum -1 12.3 0.08 0.16 0 12.1 0.08 0.16 0",
            12.3e-6,
            12.1e-6,
        ),  # Open MPI 5
        ("worker-0 | 1024 256 float sum -1 12.3 0.08 0.16 0 12.1 0.08 0.16 0", 12.3e-6, 12.1e-6),  # docker compose
        (
            "2025-03-01T10:00:00.123456789Z 1024 256 float sum -1 12.3 0.08 0.16 0 12.1 0.08 0.16 0",
            12.3e-6,
            12.1e-6,
        ),  # kubectl --timestamps
        ("[2025-03-01 10:00:00,123] node1: 1024 256 float sum -1 12.3 0.08 0.16 0 12.1 0.08 0.16 0", 12.3e-6, 12.1e-6),
        ("0: 1024 256 float sum -1 12.3 0.08 0.16 0 12.1 0.08 0.16 0", 12.3e-6, 12.1e-6),  # srun --label
        ("1024 256 float sum -1 12.3 0.08 0.16 0 12.1 0.08 0.16 0 2026-11-21 04:10:00", 12.3e-6, 12.1e-6),  # -S
        ("1024 256 bfloat16 none 0 1.2e+07 0.08 0.16 0 1.3e+07 0.08 0.16 0", 12.0, 13.0),
    ],
)
def test_the_dialects_of_older_and_newer_versions_are_read(tmp_path, line, time, in_place):
    table = read(tmp_path, f"# Using devices\n{line}\n", format="nccl-tests")
    assert len(table) == 1
    assert table["time"][0] == pytest.approx(time)
    assert in_place is None or table["in_place_time"][0] == pytest.approx(in_place)


def test_several_tables_in_one_log_are_distinguished(tmp_path):
    table = read(tmp_path, TEXT + TEXT.replace("all_reduce_perf", "alltoall_perf").replace("sum", "none"))
    assert list(table["table"]) == [0, 0, 1, 1]
    assert list(table["collective"]) == ["allreduce", "allreduce", "alltoall", "alltoall"]


def test_a_log_that_does_not_name_its_test_is_told_it(tmp_path):
    text = TEXT.replace("all_reduce_perf", "something").replace("sum", "none")
    assert set(read(tmp_path, text)["collective"]) == {None}  # no operator: allgather and alltoall print the same
    assert set(read(tmp_path, text, collective="broadcast", ranks=16)["collective"]) == {"broadcast"}


#: nccl-tests doc/PERFORMANCE.md: busbw is algbw times 2(n-1)/n, (n-1)/n or 1; roots are -1 where there is none.
@pytest.mark.parametrize(
    ("redop", "root", "busbw", "ranks", "collective"),
    [
        ("sum", "-1", "175.00", 8, "allreduce"),
        ("sum", "-1", "100.00", 2, "allreduce"),
        ("sum", "-1", "87.50", 8, "reduce_scatter"),
        ("sum", "0", "100.00", 8, "reduce"),
        ("none", "0", "100.00", 8, "broadcast"),
        ("none", "-1", "87.50", 8, None),
        ("sum", "-1", "100.00", 8, None),
    ],
)
def test_columns_and_bandwidths_tell_the_collective(tmp_path, redop, root, busbw, ranks, collective):
    devices = "\n".join(f"#  Rank  {i} Group  0 Pid 1 on node1 device  {i} [0x00] A100" for i in range(ranks))
    row = f"1073741824 268435456 float {redop} {root} 10737.0 100.00 {busbw} 0 10737.0 100.00 {busbw} 0"
    table = read(tmp_path, f"# Using devices\n{devices}\n{row}\n", format="nccl-tests")
    assert list(table["collective"]) == [collective]


def test_devices_are_counted_where_a_page_has_eaten_the_hash(tmp_path):
    """The form of NVIDIA/nccl issue 583."""
    devices = "\n".join(
        f"   Rank  {i} Pid 182121{i} on node1 device  {i} [0x00] NVIDIA A100-SXM4-40GB" for i in range(8)
    )
    row = "1073741824 268435456 float sum -1 8138.9 131.93 230.87 0 8120.7 132.22 231.39 0"
    assert list(read(tmp_path, f" Using devices\n{devices}\n{row}\n", format="nccl-tests")["ranks"]) == [8]


def test_a_last_column_of_iterations_is_passed_over(tmp_path):
    """The form of NVIDIA/nccl issue 757: `#iters` behind the two halves."""
    row = "8 2 float sum -1 29.79 0.00 0.00 0 32.46 0.00 0.00 0 20"
    table = read(tmp_path, f"# Using devices\n{row}\n", format="nccl-tests")
    assert (table["time"][0], table["in_place_time"][0]) == (pytest.approx(29.79e-6), pytest.approx(32.46e-6))


@pytest.mark.parametrize("bad", ["-12.3", "nan", "1e40", "abc"])
def test_a_time_that_is_none_is_refused_with_its_line(tmp_path, bad):
    with pytest.raises(cs.FormatError, match=r"a\.txt, line 12: time="):
        read(tmp_path, TEXT.replace("13.12", bad))


def test_a_log_without_a_table_is_refused(tmp_path):
    with pytest.raises(cs.FormatError, match="no row of an nccl-tests table"):
        read(tmp_path, "# nThread 1 nGpus 2\n# Out of bounds values : 0 OK\n")


def test_json_is_read_like_text(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(JSON))
    table = load(tmp_path / "a.json")
    assert table["collective"][0] == "allgather"
    assert table["ranks"][0] == 2
    assert table["in_place_time"][0] == pytest.approx(20.1e-6)
    (tmp_path / "a.json").write_text(json.dumps({**JSON, "version": 99}))
    with pytest.raises(cs.FormatError, match="version 99"):
        load(tmp_path / "a.json")


def test_numbers_are_printed_as_nccl_tests_does():
    """Two decimals where they fit, then one, then none, then an exponent (common.cu getFloatStr)."""
    assert [number(x, 7) for x in (4.728, 143.97, 18001.3, 123456.7, 1234567.8, 12345678.9)] == [
        "   4.73",
        " 143.97",
        "18001.3",
        " 123457",
        "1234568",
        "1.2e+07",
    ]
    assert [number(x, 6) for x in (0.0, 469.76, 1234.5, 12345.6, 123456.0, 1234567.0)] == [
        "  0.00",
        "469.76",
        "1234.5",
        " 12346",
        "123456",
        " 1e+06",
    ]


def sweep():
    return cs.sweep(
        collective="allreduce",
        algorithm=["allreduce_ring"],
        topology=[cs.topology.switch(8)],
        nbytes=[1000, 2**20, 2**30],
    )


def test_a_simulated_sweep_is_printed_in_the_columns_of_all_reduce_perf(tmp_path):
    table = sweep()
    save(table, tmp_path / "a.txt")
    text = (tmp_path / "a.txt").read_text()
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert "# Collective test starting: all_reduce_perf" in text
    assert all(len(line) == 12 + 2 + 12 + 2 + 8 + 2 + 6 + 2 + 6 + 2 * (2 + 7 + 3 * (2 + 6)) for line in rows)
    assert rows[1].split()[:5] == ["1048576", "262144", "float", "sum", "-1"]
    back = load(tmp_path / "a.txt")
    assert list(back["time"]) == pytest.approx(list(table["time"]), rel=1e-3)
    assert list(back["busbw"]) == pytest.approx(list(table["busbw"]), rel=0.05)
    assert set(back["ranks"]) == {8}


def test_json_of_a_sweep_comes_back(tmp_path):
    table = sweep()
    save(table, tmp_path / "a.json")
    back = load(tmp_path / "a.json")
    assert list(back["time"]) == pytest.approx(list(table["time"]))
    assert list(back["busbw"]) == pytest.approx(list(table["busbw"]))


def test_a_log_that_was_read_can_be_written_again(tmp_path):
    table = read(tmp_path, TEXT)
    save(table, tmp_path / "b.txt")
    back = load(tmp_path / "b.txt")
    for column in ("nbytes", "count", "time", "algbw", "busbw", "in_place_time"):
        assert list(back[column]) == pytest.approx(list(table[column])), column


def test_a_sweep_over_algorithms_makes_a_table_each(tmp_path):
    table = cs.sweep(
        collective="allreduce",
        algorithm=["allreduce_ring", "allreduce_tree"],
        topology=[cs.topology.switch(4)],
        nbytes=[2**20],
    )
    save(table, tmp_path / "a.txt")
    assert list(load(tmp_path / "a.txt")["table"]) == [0, 1]
    with pytest.raises(cs.CollsimError, match="holds one table, this one has 2"):
        save(table, tmp_path / "a.json")


def test_alltoall_has_no_in_place_check(tmp_path):
    table = pd.DataFrame({"collective": ["alltoall"], "ranks": [4], "nbytes": [2**20], "time": [1e-4]})
    save(table, tmp_path / "a.txt")
    row = next(
        line for line in (tmp_path / "a.txt").read_text().splitlines() if line and not line.startswith("#")
    ).split()
    assert (row[8], row[12]) == ("0", "N/A")
    assert row[1] == str(2**20 // 4 // 4)  # count is per peer


def test_a_table_that_is_none_of_nccl_tests_is_refused(tmp_path):
    with pytest.raises(cs.CollsimError, match="needs the columns"):
        save(pd.DataFrame({"a": [1]}), tmp_path / "a.txt")
    with pytest.raises(cs.CollsimError, match="no test for scan"):
        save(pd.DataFrame({"collective": ["scan"], "ranks": [4], "nbytes": [8], "time": [1e-4]}), tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())


DATA = Path(os.environ.get("COLLSIM_DATA", Path(__file__).parents[4] / "shared" / "data"))
MEASURED = DATA / "measured" / "measured.csv"


@pytest.mark.skipif(not MEASURED.exists(), reason=f"no published measurements in {DATA}; set COLLSIM_DATA")
def test_published_tables_survive_being_printed_and_read(tmp_path):
    """Times keep three digits, the print precision of nccl-tests (0.005 us near zero)."""
    given = pd.read_csv(MEASURED, keep_default_na=False)
    given = given[(given["time_us"] != "") & (given["collective"] == "allreduce")].head(400)
    table = pd.DataFrame(
        {"collective": "allreduce", "ranks": given["ranks"].astype(int), "nbytes": given["size_bytes"].astype(int)}
    )
    table["time"] = given["time_us"].astype(float) * 1e-6
    table["table"] = pd.factorize(given["case_id"])[0]
    save(table, tmp_path / "a.txt")
    back = load(tmp_path / "a.txt")
    assert list(back["nbytes"] - back["nbytes"] % 4) == list(table["nbytes"] - table["nbytes"] % 4)
    assert list(back["time"]) == pytest.approx(list(table["time"]), rel=2e-3, abs=6e-9)
    assert list(back["table"]) == list(table["table"])


@pytest.mark.parametrize(
    "text", ["We ran all_reduce_perf, and the busbw was bad.\n", "#!/bin/bash\nmpirun ./all_reduce_perf -b 8 -e 8G\n"]
)
def test_a_text_that_mentions_a_test_is_no_table(text, tmp_path):
    (tmp_path / "notes.txt").write_text(text)
    with pytest.raises(cs.FormatError, match="does not look like"):
        cs.load(tmp_path / "notes.txt")

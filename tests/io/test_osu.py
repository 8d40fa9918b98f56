"""OSU micro-benchmarks: every version's table is read, sizes become nccl-tests', and what is damaged is named."""

import contextlib
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tool_outputs import IMB

import collsim as cs
from collsim.io import load
from collsim.io.osu import TESTS, read_osu

PLAIN = """
# OSU MPI Allreduce Latency Test v5.6.3
# Size       Avg Latency(us)
4                       1.98
1048576               170.16
"""
FULL = """mpirun: warning about something
# OSU MPI-CUDA Allgather Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
[1678205653.808236] [node:903  :0]   ucc_coll.c:255  UCC_COLL INFO  coll_init
1                       2.81              1.89              3.73        1000
1048576               104.30            104.26            104.33         100
"""
PAIRS = """# OSU MPI Latency Test v5.9
# Size          Latency (us)
0                       1.60
4194304               380.12

# OSU MPI Bandwidth Test v5.9
# Size      Bandwidth (MB/s)
4194304             12171.33

# OSU MPI Bi-Directional Bandwidth Test v5.9
# Size      Bandwidth (MB/s)
4194304             23000.00

# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 1 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
4194304             26903.29           6414.24
"""


def read(tmp_path, text, **options):
    (tmp_path / "a.txt").write_text(text)
    return load(tmp_path / "a.txt", **options)


def test_tables_of_imb_have_their_processes(tmp_path):
    text = re.sub(r"(# Benchmarking .*|# #processes .*)", r"\1 ", IMB)  # a blank ends these lines in IMB
    table = read(tmp_path, text, ranks=2)
    assert table["test"].tolist() == ["PingPong"] * 2 + ["Allgather"] * 4
    assert table["collective"].tolist() == ["sendrecv"] * 2 + ["allgather"] * 4
    assert table["table"].tolist() == [0, 0, 1, 1, 2, 2]
    assert table["ranks"].tolist() == [2, 2, 4, 4, 8, 8]
    assert table["nbytes"].tolist() == [0, 2**22, 4, 4 * 2**20, 8, 8 * 2**20]
    row = table.iloc[5]
    times = [row[name] for name in ("time", "min_time", "max_time", "iterations")]
    assert times == pytest.approx([405.30e-6, 404.26e-6, 406.33e-6, 20])
    assert row["busbw"] == pytest.approx(7 / 8 * 8 * 2**20 / 405.30e-6)
    assert table["time"].iloc[1] == pytest.approx(380.12e-6)


def test_a_table_is_found_by_its_title_and_read_in_seconds(tmp_path):
    table = read(tmp_path, PLAIN, ranks=16)
    assert list(table["nbytes"]) == [4, 2**20]
    assert set(table["collective"]) == {"allreduce"}
    assert table["time"].iloc[1] == pytest.approx(170.16e-6)
    assert table["busbw"].iloc[1] == pytest.approx(2**20 / 170.16e-6 * 2 * 15 / 16)
    assert table["min_time"].isna().all()


def test_the_size_of_an_allgather_is_of_one_rank_and_becomes_nccl_tests(tmp_path):
    table = read(tmp_path, FULL, ranks=8)
    assert list(table["block"]) == [1, 2**20]
    assert list(table["nbytes"]) == [8, 8 * 2**20]
    last = table.iloc[-1]
    assert (last["min_time"], last["max_time"], last["iterations"]) == (
        pytest.approx(104.26e-6),
        pytest.approx(104.33e-6),
        100,
    )


def test_without_ranks_sizes_stay_as_printed_and_there_is_no_busbw(tmp_path):
    table = read(tmp_path, FULL)
    assert list(table["nbytes"]) == [1, 2**20]
    assert table["busbw"].isna().all()


def test_latency_and_bandwidth_of_pairs_are_distinguished(tmp_path):
    table = read(tmp_path, PAIRS)
    assert list(table["table"]) == [0, 0, 1, 2, 3]
    assert set(table["collective"]) == {"sendrecv"}
    assert table["time"].iloc[0] == pytest.approx(1.6e-6)
    assert list(table["algbw"].iloc[2:]) == [12171.33e6, 23e9, 26903.29e6]
    assert table["time"].iloc[2:].isna().all()


def test_a_title_that_lost_its_hash_and_one_in_other_words_are_read(tmp_path):
    table = read(
        tmp_path,
        PLAIN.replace("# ", "")
        + "\n# OSU MPI All-to-All Personalized Exchange Latency Test v7.3\n"
        + FULL.split("\n", 3)[3],
    )
    assert list(dict.fromkeys(table["collective"])) == ["allreduce", "alltoall"]


def test_what_the_title_does_not_say_can_be_said(tmp_path):
    text = PLAIN.split("\n", 2)[2]
    (tmp_path / "a.txt").write_text(text)
    table = load(tmp_path / "a.txt", format="osu", collective="allreduce", ranks=4)
    assert set(table["collective"]) == {"allreduce"}
    assert list(load(tmp_path / "a.txt", format="osu")["collective"]) == [None, None]


def test_an_nccl_tests_log_is_not_taken_for_one(tmp_path):
    text = "# nThread 1 nGpus 2\n# out-of-place\n 1024 256 float sum -1 13.1 0.08 0.08 0 12.9 0.08 0.08 0\n"
    assert "dtype" in read(tmp_path, text)
    assert "block" in read(tmp_path, FULL)


def test_every_title_leads_to_a_collective_that_there_is():
    assert set(TESTS.values()) <= set(cs.collectives())


BAD = [
    ("", "no row of an OSU or IMB table"),
    (PLAIN.split("4  ")[0], "no row of an OSU or IMB table"),
    (
        FULL.replace("104.30            104.26            104.33         100", "104.30"),
        "line 7: 2 values, but the table has 5 columns",
    ),
    (PLAIN.replace("1.98", "-1.98"), "line 4: time='-1.98' is not a number from 0"),
    (PLAIN.replace("1.98", "1.98e99"), "line 4: time='1.98e99'"),
    (PLAIN.replace("Avg Latency(us)", "Overall"), "line 3: a line of columns without a latency"),
    (PLAIN.replace("1048576", "9" * 19), "line 5: size="),
]


@pytest.mark.parametrize(("text", "words"), BAD, ids=range(len(BAD)))
def test_a_damaged_file_names_the_line(text, words, tmp_path):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(cs.FormatError, match=r"a\.txt.*" + words.replace("(", r"\(")):
        load(tmp_path / "a.txt", format="osu")


@pytest.mark.parametrize("options", [{"collective": "allredcue"}, {"ranks": 0}, {"ranks": "many"}])
def test_wrong_options_are_sentences(options, tmp_path):
    (tmp_path / "a.txt").write_text(PLAIN)
    with pytest.raises(cs.CollsimError):
        load(tmp_path / "a.txt", **options)


def test_long_lines_and_bytes_that_are_no_text_end_quickly(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("# OSU " + " " * 2_000_000 + "\n" + PLAIN)
    begun = time.process_time()
    assert len(load(path, format="osu")) == 2
    assert time.process_time() - begun < 5
    path.write_bytes(PLAIN.encode() + b"\xff\x00")
    with pytest.raises(cs.FormatError, match="not UTF-8"):
        load(path, format="osu")


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="# OSUMPIaltencyTsBdwh()0123456789.\n\tSizev-", max_size=300))
def test_any_text_is_a_table_or_a_sentence(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("osu") / "a.txt"
    path.write_text(PLAIN + text)
    with contextlib.suppress(cs.FormatError):
        assert np.isfinite(read_osu(path, ranks=4)["nbytes"].astype(float)).all()

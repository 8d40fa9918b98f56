"""Outputs of tools in their own forms are recognized, read and used; what is recognized and not read is named."""

import gzip
import random

import pytest
from stated_causes import A100, BOX, H100, PAIR, VIA_P2P, info, log, table
from tool_outputs import (
    BROKEN_MESH,
    DS_BENCH,
    HALF_PAIRS,
    MESH,
    NPU_SMI,
    OSU_NCCL,
    OUTPUTS,
    PAIRS,
    TORCH_BENCH,
    TREE_LINES,
    write_amd_smi,
    write_ethtool,
    write_inspector,
    write_nvbandwidth,
    write_nvbandwidth_json,
    write_peer_test,
    write_perfquery,
    write_profiler_trace,
    write_rdma_statistic,
    write_rocm_smi,
    write_tree,
)

import collsim as cs
from collsim.diagnosis.evidence_pieces import read_evidence
from collsim.diagnosis.readers.gpu_bandwidth import HostLink, PairLatency, PairMatrix, PairRow
from collsim.diagnosis.readers.gpu_tools import LinkKinds
from collsim.diagnosis.readers.network_tools import CardPort, PortCounter
from collsim.diagnosis.readers.timed_calls import LateRank
from collsim.io.chakra import COLLECTIVE, ChakraTrace
from collsim.topology.files.unread import find_unread_format

#: Names of tools in a diagnosis, where they are not those of `OUTPUTS`.
TOOLS = {
    "nvbandwidth -j": "nvbandwidth",
    "rocm-smi --showtopo": "rocm-smi, amd-smi",
    "amd-smi topology": "rocm-smi, amd-smi",
    "npu-smi info -t topo": "npu-smi",
    "DeepSpeed ds_bench": "PyTorch benchmark",
    "all_reduce_bench.py": "PyTorch benchmark",
    "ethtool -S": "counters of cards",
    "rdma statistic": "counters of cards",
    "perfquery": "counters of cards",
    "ibv_devinfo": "ibstat",
    "OSU (NCCL)": "OSU, IMB",
    "OSU (MPI)": "OSU, IMB",
    "IMB": "OSU, IMB",
    "tree in NCCL's log": "NCCL log",
}
NOT_EVIDENCE = ("MSCCL++ plan", "GOAL")
GIB = 2**30
H100_BOX = cs.machine("dgx-h100")


def read_values(text, kind):
    return [fact.value for fact in read_evidence({"text": text}).select(kind)]


def name_causes(*texts):
    return [cause.key for cause in cs.diagnose({f"text{number}": text for number, text in enumerate(texts)}).causes]


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name not in NOT_EVIDENCE])
def test_an_output_is_recognized_by_its_tool_and_no_other(name):
    tools = {*cs.diagnose({"text": OUTPUTS[name]}).pieces[0].tools} - {"names of GPUs"}
    assert tools == {TOOLS.get(name, name)}


@pytest.mark.parametrize("name", NOT_EVIDENCE)
def test_what_is_no_evidence_is_named_with_what_to_give_instead(name):
    diagnosis = cs.diagnose({"text": OUTPUTS[name]})
    assert diagnosis.pieces[0].tools == ()
    unread = find_unread_format(OUTPUTS[name])
    assert [note for note in diagnosis.list_notes() if str(unread.tool) in note and str(unread.advice) in note]


def test_schedules_are_named_as_such(tmp_path):
    schedule = cs.schedule("allreduce_ring", ranks=4)
    for name in ("ring.xml", "ring.csv", "ring.json"):
        (note,) = cs.diagnose(cs.save(schedule, tmp_path / name)).list_notes()
        assert name in note
        assert "schedule" in note


def test_half_an_output_is_said_to_be_incomplete():
    (note,) = cs.diagnose({"nv.txt": "nvbandwidth Version: v0.8\n"}).list_notes()
    assert "nvbandwidth" in note
    assert "complete" in note


# ---- between GPUs


@pytest.mark.parametrize("write", [write_nvbandwidth, write_nvbandwidth_json])
def test_nvbandwidth_gives_rates_of_pairs_and_of_links_to_the_host(write):
    text = write(PAIRS, [55.3, 55.2, 55.1, 27.6])
    assert read_values(text, "gpu.pairs") == [PairMatrix(True, pytest.approx(393), 12)]
    rows = read_values(text, "gpu.pair_row")
    assert [(row.gpu, row.median) for row in rows] == [(0, 392), (1, 393), (2, 393), (3, 394)]
    links = read_values(text, "gpu.host_link")
    assert links == [HostLink("host_to_device", gpu, rate) for gpu, rate in enumerate((55.3, 55.2, 55.1, 27.6))]
    assert {"NVIDIA H100 80GB HBM3"} == {*read_values(text, "gpu.name")}


def test_latencies_of_nvbandwidth_are_in_microseconds():
    waits = [[None if a == b else 1450.0 for b in range(4)] for a in range(4)]
    assert read_values(write_nvbandwidth(PAIRS, [55.0] * 4, latency=waits), "gpu.pair_latency") == [
        PairLatency(True, pytest.approx(1.45))
    ]


def test_a_matrix_of_another_test_is_no_matrix_of_pairs():
    text = write_nvbandwidth(PAIRS, [55.0] * 4).replace("device_to_device_memcpy_read", "all_to_one_write")
    assert read_values(text, "gpu.pair_row") == []


def test_a_gpu_that_reaches_less_than_the_others_has_lost_links():
    assert name_causes(write_nvbandwidth(HALF_PAIRS, [55.0] * 4)) == ["nvlink_lost"]
    assert name_causes(write_nvbandwidth(PAIRS, [55.0] * 4)) == []
    over_pcie = [[cell and cell / 16 for cell in row] for row in HALF_PAIRS]  # sockets differ there by design
    assert name_causes(write_nvbandwidth(over_pcie, [24.0] * 4)) == []


def test_a_link_to_the_host_at_half_the_rate_of_its_neighbours_is_a_cause():
    assert name_causes(write_nvbandwidth(PAIRS, [55.0, 55.1, 27.4, 55.2])) == ["pcie_link"]
    assert name_causes(write_nvbandwidth(PAIRS, [55.0, 50.1, 47.4, 55.2])) == []


def test_the_peer_test_gives_rates_latencies_and_refusals():
    text = write_peer_test(48.0, 22.0, latency_enabled=2.1, latency_disabled=13.2)
    assert read_values(text, "gpu.pairs") == [PairMatrix(False, 22.0, 12), PairMatrix(True, 48.0, 12)]
    assert read_values(text, "gpu.pair_latency") == [PairLatency(False, 13.2), PairLatency(True, 2.1)]
    assert read_values(text, "gpu.peers_refused") == []
    refused = write_peer_test(22.0, 22.0, can_access=False)
    assert len(read_values(refused, "gpu.peers_refused")) == 12
    assert name_causes(refused) == ["p2p_refused"]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        (write_peer_test(48.0, 22.0), False),
        (write_peer_test(10.0, 22.0), True),
        (write_peer_test(22.5, 22.0, latency_enabled=49_000.0), True),
    ],
)
def test_peers_that_are_slower_or_later_than_staging_are_asked_about(text, asks):
    diagnosis = cs.diagnose({"p2p.txt": text})
    assert [question.key for question in diagnosis.questions] == ["slow_peers"] * asks
    assert diagnosis.causes == ()


@pytest.mark.parametrize("write", [write_rocm_smi, write_amd_smi])
def test_kinds_of_links_between_amd_gpus(write):
    assert read_values(write(MESH), "gpu.link_kinds") == [LinkKinds(gpu, ("XGMI",) * 3) for gpu in range(4)]
    assert name_causes(write(MESH)) == []
    assert name_causes(write(BROKEN_MESH)) == ["xgmi_lost"]
    two_hives = [["0" if a == b else "XGMI" if a // 2 == b // 2 else "PCIE" for b in range(4)] for a in range(4)]
    assert name_causes(write(two_hives)) == []


def test_amd_gpus_that_may_not_access_one_another():
    assert "p2p_refused" in name_causes(write_amd_smi(MESH, access="DISABLED"))


def test_npus_have_kinds_and_no_prediction():
    assert read_values(NPU_SMI, "npu.link_kinds")[0] == LinkKinds(0, ("HCCS",) * 3)
    assert any("NPU" in note for note in cs.diagnose({"npu.txt": NPU_SMI}).list_notes())


# ---- tables of times


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("hccl_test", [(8192, 38.79e-6), (2**27, 1560.24e-6), (2**30, 11805.6e-6)]),
        ("nccom-test", [(65536, 79.2e-6), (2**30, 51135.8e-6)]),
        ("DeepSpeed ds_bench", [(2**20, 81.245e-6), (2**30, 8.345e-3)]),
        ("all_reduce_bench.py", [(2**28, 2**28 / 240.35e9), (2**30, 2**30 / 260.41e9)]),
        ("OSU (NCCL)", [(2**20, 48.1e-6), (2**30, 4210.5e-6)]),
        ("NCCL Inspector", [(2**30, 4200e-6)]),
    ],
)
def test_times_of_a_table(name, rows):
    times = read_values(OUTPUTS[name], "run.time")
    assert [(time.nbytes, time.seconds) for time in times] == [(size, pytest.approx(t)) for size, t in rows]


def test_collectives_and_ranks_of_a_table():
    assert {(time.collective, time.ranks) for time in read_values(DS_BENCH, "run.time")} == {("allreduce", 8)}
    assert {(time.collective, time.ranks) for time in read_values(TORCH_BENCH, "run.time")} == {("allreduce", 8)}
    command = "$ nccom-test -r 32 -d bf16 allg\n" + OUTPUTS["nccom-test"]
    assert {(time.collective, time.ranks) for time in read_values(command, "run.time")} == {("allgather", 32)}


@pytest.mark.parametrize("text", [TORCH_BENCH, OSU_NCCL, write_inspector(ranks=8)])
def test_a_table_of_another_tool_is_compared_with_the_prediction(text):
    diagnosis = cs.diagnose({"bench.txt": text, "names.txt": f"GPU 0: {H100} (UUID: a)", "nccl.log": log(VIA_P2P)})
    assert diagnosis.verdict == "healthy"
    assert diagnosis.cost.nbytes == 2**30
    assert diagnosis.cost.measured == pytest.approx(2 * 7 / 8 * 2**30 / 4.2e-3, rel=0.03)


def test_what_nccl_did_not_run_is_compared_with_nothing():
    diagnosis = cs.diagnose({"osu.txt": OUTPUTS["OSU (MPI)"], "names.txt": f"GPU 0: {H100} (UUID: a)"})
    assert diagnosis.cost is None
    assert any("OSU" in note for note in diagnosis.list_notes())


def test_sizes_that_osu_counts_per_rank_need_the_ranks():
    text = OSU_NCCL.replace("Allreduce", "Allgather")
    names = f"GPU 0: {H100} (UUID: a)"
    assert cs.diagnose({"osu.txt": text, "names.txt": names}).cost is None
    assert cs.diagnose({"osu.txt": text, "names.txt": names, "nccl.log": log()}).cost.nbytes == 8 * 2**30


def test_json_of_nccl_tests_gives_times_gpus_and_variables(tmp_path):
    printed = table(H100_BOX, H100)
    (tmp_path / "run.txt").write_text(printed)
    path = cs.save(cs.load(tmp_path / "run.txt"), tmp_path / "run.json", format="nccl-tests-json")
    text = path.read_text().replace("simulated", H100).replace('"env": {}', '"env": {\n"NCCL_DEBUG": "INFO"\n}')
    times = read_values(text, "run.time")
    assert [time.nbytes for time in times] == [2**24, 2**27, 2**30]
    assert {(time.collective, time.ranks) for time in times} == {("allreduce", 8)}
    assert read_values(text, "nccl.variable") == [("NCCL_DEBUG", "INFO")]
    assert cs.diagnose({"run.json": text}).verdict == "healthy"


def test_the_rank_that_all_wait_for_is_named_and_its_time_is_that_of_the_collective():
    text = write_inspector(last_rank=2)
    assert read_values(text, "job.late_rank") == [LateRank(2, "gpu-07", 1.0, pytest.approx(1.6))]
    assert [time.seconds for time in read_values(text, "run.time")] == [pytest.approx(4.2e-3)]
    assert read_values(write_inspector(), "job.late_rank") == []


def write_traces(folder, ranks=8, **options):
    for rank in range(ranks):
        text = write_profiler_trace(rank, ranks, **options)
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(text.encode()))


def test_traces_of_all_ranks_are_compared_with_the_prediction(tmp_path):
    write_traces(tmp_path, nbytes=2**28, seconds=1.17e-3)
    diagnosis = cs.diagnose(tmp_path)
    assert {piece.tools for piece in diagnosis.pieces} == {("PyTorch profiler",)}
    assert (diagnosis.job.ranks, diagnosis.job.nodes, diagnosis.machine.ranks) == (8, 1, 8)
    assert diagnosis.job.run.settings == (("version", "2.27.5"),)
    assert (diagnosis.job.run.nbytes, diagnosis.job.run.times) == ((2**28,), (pytest.approx(1.17e-3),))
    assert diagnosis.verdict == "healthy"
    assert any("25 %" in note for note in diagnosis.list_notes())


def test_the_rank_that_is_late_in_all_traces_is_named(tmp_path):
    write_traces(tmp_path, last_rank=5, seconds=1.17e-3)
    diagnosis = cs.diagnose(tmp_path, anonymize=True)
    assert [cause.key for cause in diagnosis.causes] == ["late_rank"]
    (fact,) = diagnosis.causes[0].evidence
    assert (fact.value.rank, fact.value.waiting) == (5, pytest.approx(1.6, rel=1e-3))
    assert "rank=5" in fact.quote()
    assert diagnosis.job.run.times == (pytest.approx(1.17e-3),)


def test_the_trace_of_one_rank_is_no_measurement_but_says_what_was_hidden():
    diagnosis = cs.diagnose({"trace.json": write_profiler_trace(computing=0.5)})
    assert diagnosis.job.run is None
    assert any("50 %" in note for note in diagnosis.list_notes("zh"))
    damaged = write_profiler_trace()[:-3_000]
    assert len(cs.diagnose({"trace.json": damaged}).list_notes()) == len(diagnosis.list_notes()) + 1


def test_a_trace_without_nccl_is_said_to_be_none(tmp_path):
    path = tmp_path / "rank0.json"
    path.write_text(write_profiler_trace().replace("ncclDevKernel", "kernel").replace("Collective name", "x"))
    note = cs.diagnose(path).list_notes()[-1]
    assert "rank0.json" in note
    with pytest.raises(cs.FormatError, match="entries"):
        cs.programs.load_hang(path)


def test_groups_of_other_sizes_are_other_tables(tmp_path):
    write_traces(tmp_path, ranks=4, seconds=1.5e-3, nbytes=2**28)
    for rank in range(2):
        (tmp_path / f"pair{rank}.json").write_text(write_profiler_trace(rank, 2, seconds=9e-4, nbytes=2**28))
    diagnosis = cs.diagnose(tmp_path)
    assert (diagnosis.job.run.facts.ranks, diagnosis.job.run.times) == (4, (pytest.approx(1.5e-3),))
    assert any("allreduce, 2" in note for note in diagnosis.list_notes())


def test_inspector_may_write_a_file_for_each_rank():
    lines = write_inspector(last_rank=2).splitlines()
    by_rank = {f"rank{rank}.log": "\n".join(lines[rank::4]) for rank in range(4)}
    assert [cause.key for cause in cs.diagnose(by_rank).causes] == ["late_rank"]
    assert cs.diagnose({"rank0.log": by_rank["rank0.log"]}).job.run is None


def test_a_second_measurement_is_not_passed_over_in_silence():
    texts = {"before.txt": table(BOX, A100), "after.txt": table(BOX, A100, slower=2)}
    notes = cs.diagnose({**texts, "machine.yaml": cs.machine("dgx-a100").to_yaml()}).list_notes()
    assert any("after.txt" in note for note in notes)
    notes = cs.diagnose({"before.txt": texts["before.txt"]}).list_notes()
    assert not any("before.txt" in note for note in notes)


# ---- cards


def test_ports_of_ibv_devinfo():
    assert read_values(OUTPUTS["ibv_devinfo"], "card.port") == [CardPort("mlx5_0", 400.0, "Active", "InfiniBand")]


def test_counters_have_their_card():
    assert PortCounter("eth2", "rx_discards_phy", 7) in read_values(write_ethtool(discards=7), "card.counter")
    assert PortCounter("mlx5_0/1", "out_of_sequence", 9) in read_values(write_rdma_statistic(9), "card.counter")
    assert PortCounter("lid 7 port 1", "SymbolErrorCounter", 5) in read_values(write_perfquery(5), "card.counter")


def test_counters_are_evidence_where_they_grow():
    slow = table(PAIR, A100, ("n1", "n2"), slower=2.5)
    texts = {"before.txt": write_ethtool(5), "after.txt": write_ethtool(70_000), "run.txt": slow}
    assert [cause.key for cause in cs.diagnose(texts).causes] == ["congestion"]
    texts["after.txt"] = texts["before.txt"]
    assert "congestion" not in [cause.key for cause in cs.diagnose(texts).causes]
    nodes = {"n1/eth.txt": write_ethtool(5), "n2/eth.txt": write_ethtool(70_000), "run.txt": slow}
    once = cs.diagnose(nodes)
    assert "congestion" not in [cause.key for cause in once.causes]
    assert "counters" in once.missing
    assert "counters" not in cs.diagnose({"eth.txt": write_ethtool(0)}).missing


# ---- machines


def test_the_tree_of_a_log_is_a_machine():
    machine = cs.diagnose({"nccl.log": write_tree()}).machine
    assert machine.ranks == 2
    kinds = {(link.kind, link.label) for link in machine.links}
    assert {("nvlink", "NVLink 3 ×12"), ("pcie", "PCIe 4.0 ×16"), ("upi", "xGMI-2 ×4")} <= kinds
    assert len([device for device in machine.devices if "nic" in device.name]) == 2


def test_a_gpu_with_fewer_links_in_the_tree_has_lost_some():
    head, _, tail = TREE_LINES.rpartition("NVL[240.0]")
    broken = write_tree(lines=f"{head}NVL[200.0]{tail}")
    diagnosis = cs.diagnose({"nccl.log": broken})
    assert [cause.key for cause in diagnosis.causes] == ["nvlink_lost"]
    assert "GPU/0-87000" in diagnosis.causes[0].evidence[0].text
    assert cs.diagnose({"nccl.log": write_tree()}).causes == ()


def test_files_of_machines_are_recognized_and_used():
    yaml = cs.machine("dgx-a100").to_yaml()
    diagnosis = cs.diagnose({"machine.yaml": yaml, "run.txt": table(BOX, A100)})
    assert diagnosis.pieces[0].tools == ("topology file",)
    assert diagnosis.verdict == "healthy"


# ---- damage


@pytest.mark.parametrize("name", OUTPUTS)
def test_damaged_outputs_are_read_or_passed_over(name):
    draw = random.Random(name)
    lines = OUTPUTS[name].splitlines()
    for _ in range(12):
        damaged = list(lines)
        for _ in range(draw.randrange(1, 6)):
            place = draw.randrange(len(damaged))
            line = damaged[place]
            cut = draw.randrange(len(line) + 1)
            other = draw.choice(lines)
            word = draw.choice(["9" * 400, "-1", "nan", "\t", "0x", "{" * 200, "Ω", other])
            damaged[place] = draw.choice([line[:cut], line[:cut] + word + line[cut:], word, other])
        diagnosis = cs.diagnose({"text": "\n".join(damaged)}, anonymize=True)
        diagnosis.report("zh", "html")
        diagnosis.to_json()


def test_lines_of_a_log_between_the_rows_of_a_tool_do_not_end_its_table():
    rows = write_nvbandwidth(PAIRS, [55.0] * 4).splitlines()
    mixed = "\n".join(line for row in rows for line in (row, info("Connected all trees")))
    assert len(read_values(mixed, "gpu.pair_row")) == 4
    assert read_values(mixed, "gpu.pair_row")[0] == PairRow("device_to_device_memcpy_read_ce", 0, 392)


# ---- files that are no text


def test_collectives_of_a_chakra_trace_are_read_and_the_shortest_is_its_time(tmp_path):
    pytest.importorskip("google.protobuf")
    trace = ChakraTrace(1)
    for nbytes, duration in ((2**28, 1500), (2**28, 1040), (GIB, 4200)):
        trace.add(0, COLLECTIVE, "nccl:all_reduce", comm_type=0, comm_size=nbytes, duration_micros=duration)
    trace.write(tmp_path / "job.et")
    (tmp_path / "names.txt").write_text(f"GPU 0: {H100} (UUID: a)")
    (tmp_path / "nccl.log").write_text(log(VIA_P2P))
    diagnosis = cs.diagnose(tmp_path)
    assert ("Chakra trace",) in [piece.tools for piece in diagnosis.pieces]
    assert (diagnosis.job.run.nbytes, diagnosis.job.run.times) == ((2**28, GIB), (1040e-6, 4200e-6))
    assert diagnosis.verdict == "healthy"


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path):
    (tmp_path / "core").write_bytes(b"\x00\xff\xfe" * 100)
    with pytest.raises(cs.FormatError, match="core"):
        cs.diagnose(tmp_path / "core")
    (tmp_path / "nccl.log").write_text(log(info("NCCL_P2P_LEVEL set by environment to LOC")))
    diagnosis = cs.diagnose(tmp_path)
    assert [cause.key for cause in diagnosis.causes] == ["p2p_disabled"]
    assert any("core" in note for note in diagnosis.list_notes())

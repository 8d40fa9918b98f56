"""nvidia-smi topo -m: what is on the screen is what the topology says."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import collsim as cs
from collsim.topology import FormatWarning, load_topology, parse_topology_text

DATA = Path(os.environ.get("COLLSIM_DATA", Path(__file__).parents[3].parent / "shared" / "data")) / "topo-m"

# Two sockets, each with a PIX pair and a lone GPU on another bridge, and a card beside the first pair. Invented.
TWO_SOCKETS = """
$ nvidia-smi topo -m
\x1b[4m        GPU0    GPU1    GPU2    GPU3    GPU4    GPU5    NIC0    CPU Affinity    NUMA Affinity\x1b[0m
GPU0     X      PIX     NODE    SYS     SYS     SYS     PXB     0-15    0
GPU1    PIX      X      NODE    SYS     SYS     SYS     PXB     0-15    0
GPU2    NODE    NODE     X      SYS     SYS     SYS     NODE    0-15    0
GPU3    SYS     SYS     SYS      X      PIX     NODE    SYS     16-31   1
GPU4    SYS     SYS     SYS     PIX      X      NODE    SYS     16-31   1
GPU5    SYS     SYS     SYS     NODE    NODE     X      SYS     16-31   1
NIC0    PXB     PXB     NODE    SYS     SYS     SYS      X

Legend:

  X    = Self
  PIX  = Connection traversing at most a single PCIe bridge

NIC Legend:

  NIC0: mlx5_0
"""


def quiet(read, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return read(*args, **options)


def words(topology):
    """nvidia-smi's word of every pair of ranks, out of the explanation."""
    found = {}
    for a in range(topology.ranks):
        for b in range(topology.ranks):
            if a != b:
                found[a, b] = re.search(r": (\S+) in nvidia-smi", topology.explain(a, b))[1]
    return found


def matrix(text):
    rows = {}
    for line in text.splitlines():
        match = re.match(r"\s*GPU(\d+)\s+(.*)", line)
        if match and " X " in f" {match[2]} ".replace("\t", " "):
            cells = match[2].split()
            rows.update(
                {
                    (int(match[1]), b): cell
                    for b, cell in enumerate(cells)
                    if re.fullmatch(r"NV\d+|PIX|PXB|PHB|NODE|SYS", cell)
                }
            )
    return rows


def test_the_tree_is_put_together_from_the_words():
    topology = quiet(parse_topology_text, TWO_SOCKETS)
    assert [h.dst for h in topology.route(0, 1)] == ["node0/pcie1", "node0/gpu1"]
    assert "node0/memory0" in [h.dst for h in topology.route(0, 2)]
    assert "node0/memory1" in [h.dst for h in topology.route(0, 3)]
    two = quiet(parse_topology_text, TWO_SOCKETS, nodes=2)
    assert "node0/pcie0" in [h.dst for h in two.route(0, 6)]  # PXB: through the switch above both
    assert "GPUDirect RDMA" in two.explain(0, 6)
    assert "no GPUDirect RDMA" in two.explain(2, 6)


def test_the_words_come_out_as_they_went_in():
    found = words(quiet(parse_topology_text, TWO_SOCKETS))
    assert found == {pair: word for pair, word in matrix(TWO_SOCKETS).items() if pair in found}


@pytest.mark.filterwarnings("ignore::collsim.topology.FormatWarning")
def test_what_is_not_understood_or_assumed_is_a_note_and_a_warning():
    with pytest.warns(FormatWarning, match="line 2 was not understood: '\\$ nvidia-smi topo -m'"):
        topology = parse_topology_text(TWO_SOCKETS)
    notes = " ".join(topology.facts.notes)
    assert "PCIe is not in the text" in notes
    assert "host memory (204.8 GB/s) is not in the text" in notes
    assert "the link between sockets is not in the text: assumed that of ice-lake, 67.2 GB/s; set cpu=" in notes
    assert "mlx5_0 is not in the text: assumed ib-hdr" in notes


def test_a_paste_cut_before_the_rows_of_the_cards_is_a_note():
    text = "\tGPU0\tGPU1\tmlx5_0\nGPU0\t X \tPIX\tPXB\nGPU1\tPIX\t X \tPXB\n"
    cut, full = (quiet(parse_topology_text, t) for t in (text, text + "mlx5_0\tPXB\tPXB\t X \n"))
    note = "the header has mlx5_0, but there is no row for it; was the text cut?"
    assert note in cut.facts.notes
    assert note not in full.facts.notes


def test_the_gpu_and_pcie_can_be_said():
    topology = quiet(parse_topology_text, TWO_SOCKETS, gpu="NVIDIA H100 80GB", pcie=5)
    assert topology.route(0, 1)[0].label == "PCIe 5.0 ×16"
    assert not any("PCIe is not in the text" in note for note in topology.facts.notes)


def table(cells):
    n = len(cells)
    head = "\t" + "\t".join(f"GPU{i}" for i in range(n)) + "\tCPU Affinity\tNUMA Affinity"
    return "\n".join([head, *(f"GPU{i}\t" + "\t".join(row) + "\t0-7\t0" for i, row in enumerate(cells))])


def uniform(n, word):
    return table([[" X " if i == j else word for j in range(n)] for i in range(n)])


def test_nv12_between_eight_gpus_is_an_nvswitch_of_300_GB_per_second():
    topology = quiet(parse_topology_text, uniform(8, "NV12"))
    assert [(h.dst, h.bandwidth) for h in topology.route(0, 7)] == [("node0/nvswitch", 300e9), ("node0/gpu7", 300e9)]


def test_nv12_between_four_gpus_is_a_switch_because_no_gpu_has_36_links():
    assert quiet(parse_topology_text, uniform(4, "NV12")).route(0, 3)[0].dst == "node0/nvswitch"


def test_prose_before_the_matrix_is_noted_and_quoted_lines_are_read():
    topology = quiet(
        parse_topology_text, "GPU0 is slow, see:\n" + "\n".join("> " + line for line in uniform(2, "PIX").splitlines())
    )
    assert topology.ranks == 2
    assert "line 1 was not understood: 'GPU0 is slow, see:'" in topology.facts.notes


def test_nv4_between_four_gpus_is_a_mesh_of_cables():
    topology = quiet(parse_topology_text, uniform(4, "NV4"))
    assert [(h.dst, h.bandwidth) for h in topology.route(0, 3)] == [("node0/gpu3", 100e9)]  # A100, 4 links of 25


def test_nv4_in_pairs_is_the_bridge_of_graphics_cards():
    rows = [
        ["X", "NV4", "PHB", "PHB"],
        ["NV4", "X", "PHB", "PHB"],
        ["PHB", "PHB", "X", "NV4"],
        ["PHB", "PHB", "NV4", "X"],
    ]
    topology = quiet(parse_topology_text, table(rows))
    assert topology.route(0, 1)[0].bandwidth == 56.25e9
    assert "node0/memory0" in [h.dst for h in topology.route(1, 2)]
    assert topology.route(1, 2)[0].label == "PCIe 4.0 ×16"
    assert not any("assumed V100" in note for note in topology.facts.notes)
    assert (
        quiet(parse_topology_text, table(rows), gpu="NVIDIA A30").route(0, 1)[0].bandwidth == 100e9
    )  # its links are 25 GB/s
    said = quiet(parse_topology_text, table(rows), gpu="NVIDIA GeForce RTX 3090", p2p="sys")
    assert said.route(0, 1)[0].bandwidth == 56.25e9
    assert "the driver allows no P2P over PCIe" in said.explain(1, 2)


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("NVIDIA L40S", "PCIe 4.0 ×16"),
        ("Tesla T4", "PCIe 3.0 ×16"),
        ("A10G", "PCIe 4.0 ×16"),
        ("H20", "PCIe 5.0 ×16"),
        ("GB300", "PCIe 6.0 ×16"),
    ],
)
def test_many_a_gpu_is_known_by_its_name(said, label):
    assert quiet(parse_topology_text, uniform(2, "PIX"), gpu=said).route(0, 1)[0].label == label


def test_a_pair_of_few_links_may_be_the_bridge_of_graphics_cards():
    """NVIDIA/nccl issue 557: NV3 of an RTX 3090 is 42 GB/s, of a V100 75; the command line says what was taken."""
    pair = quiet(parse_topology_text, table([["X", "NV3"], ["NV3", "X"]]))
    (assumed,) = [each for each in pair.facts.assumptions if each.option == "gpu"]
    assert assumed.value == "V100"
    assert assumed.others[0] == "RTX 3090"
    prediction = cs.nccl.predict("allreduce", pair, "1GiB")
    assert any(
        "assumed V100" in note and "gpu=RTX 3090 it takes 1.8 times as long" in note for note in prediction.notes
    )
    bridge = quiet(parse_topology_text, table([["X", "NV3"], ["NV3", "X"]]), gpu="RTX 3090")
    assert prediction.time < cs.nccl.predict("allreduce", bridge, "1GiB").time < prediction.high


def test_a_gpu_without_nvlink_cannot_have_printed_nv():
    with pytest.raises(cs.TopologyError, match="gpu='L4' has no NVLink, but the text has NV#"):
        quiet(parse_topology_text, uniform(2, "NV4"), gpu="L4")
    with pytest.raises(cs.TopologyError, match="gpu='V10O': unknown GPU 'V10O'; did you mean 'V100'"):
        quiet(parse_topology_text, uniform(2, "PIX"), gpu="V10O")
    with pytest.raises(cs.CollsimError, match="pcie='fast'"):
        quiet(parse_topology_text, uniform(2, "PIX"), pcie="fast")


def test_soc_is_the_old_word_for_sys():
    rows = [["X", "SOC"], ["SOC", "X"]]
    assert words(quiet(parse_topology_text, table(rows).replace("0-7\t0", ""))) == {(0, 1): "SYS", (1, 0): "SYS"}


def test_one_gpu_is_a_machine_too():
    assert quiet(parse_topology_text, uniform(1, "-")).ranks == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (uniform(4, "PIX").replace("GPU2\tPIX", "GPU2\tPIXX"), "line 4: GPU2 to GPU0 is 'PIXX'"),
        ("\n".join(uniform(4, "PIX").splitlines()[:3]), "header has GPU2, but there is no row"),
        ("\n".join(uniform(4, "PIX").splitlines()[1:]), "no header line"),
        (uniform(4, "PIX").replace("\tPIX\t0-7", "", 1), "line 2: GPU0 to GPU3 is '0'"),
        (uniform(2, "PIX") + "\nGPU0\t X \tPIX", "a second row for GPU0; the first is line 2"),
        (uniform(2, "PIX").replace("GPU1\tPIX\t X ", "GPU1\t X \tPIX"), "X belongs on the diagonal"),
        ("", "is empty"),
        ("hello", "is not a topology"),
    ],
)
def test_damaged_text_is_refused_with_its_line(text, says):
    with pytest.raises(cs.FormatError, match=says):
        quiet(parse_topology_text, text)


PAIR = {(0, 1): "NV2", (1, 0): "NV2", (0, 2): "SYS", (2, 0): "SYS", (1, 2): "SYS", (2, 1): "SYS"}
PAIR_ROWS = "GPU0\t X \tNV2\tSYS\t0-7\t0\nGPU1\tNV2\t X \tSYS\t0-7\t0\nGPU2\tSYS\tSYS\t X \t8-15\t1\n"
HEAD = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n"


# Forms that pastes in issues and manuals have; the texts are our own.
@pytest.mark.parametrize(
    "text",
    [
        HEAD + PAIR_ROWS,
        HEAD.lstrip() + PAIR_ROWS,
        "\x1b[4m" + HEAD.strip("\n") + "\x1b[0m\n" + PAIR_ROWS,
        "\t[4m" + HEAD.strip() + "[0m\n" + PAIR_ROWS,
        (HEAD + PAIR_ROWS).replace("\n", "\r\n"),
        (HEAD + PAIR_ROWS).expandtabs(8),
        "GPU0GPU1GPU2CPUAffinity\n" + PAIR_ROWS,
        HEAD.replace("CPU Affinity", "CPU  Affinity").replace("NUMA Affinity", "NUMA Affinity\tGPU NUMA ID") + PAIR_ROWS,
        HEAD.replace("\tCPU Affinity\tNUMA Affinity", "") + re.sub(r"\t\d+-\d+\t\d", "", PAIR_ROWS),
        HEAD.replace("\tNUMA Affinity", "") + re.sub(r"\t(\d)\n", "\n", PAIR_ROWS),
        HEAD.replace("CPU Affinity\tNUMA Affinity", "CPU Aff") + PAIR_ROWS,
        "user@host-17:~$ nvidia-smi topo -mp\n" + HEAD + PAIR_ROWS + "user@host-17:~$\n",
        HEAD + PAIR_ROWS + "\n  NV#  = Connection traversing a bonded set of # NVLinks\n",
        HEAD + PAIR_ROWS.replace("SYS\t X", "SYSX").replace("SYSSYSX", "SYS SYS X").replace("SYSX", "SYS X"),
        HEAD + PAIR_ROWS.replace("GPU2\tSYS\tSYS", "GPU2\tSYSSYS"),
        HEAD + PAIR_ROWS.replace("SYS", "SOC"),
        "| | GPU0 | GPU1 | GPU2 | CPU Affinity |\n|---|---|---|---|---|\n"
        + re.sub(r"\t", " | ", re.sub(r"\t\d\n", " |\n", "| " + PAIR_ROWS)).replace("\nGPU", "\n| GPU"),
        " * " + HEAD.strip() + "\n * " + PAIR_ROWS.strip().replace("\n", "\n * ") + "\n",
        HEAD + PAIR_ROWS + "\n" + HEAD + PAIR_ROWS,
        HEAD + PAIR_ROWS + "\n \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tGNS\n GPU1\tOK\tX\tGNS\n GPU2\tGNS\tGNS\tX\n",
        HEAD + PAIR_ROWS.replace("0-7\t0", "N/A\t0\t\tN/A").replace("8-15\t1", "N/A\t1\t\tN/A"),
    ],
    ids=[
        "tabs", "no indent", "underlined", "escape lost", "Windows", "spaces", "tabs eaten", "GPU NUMA ID", "matrix "
            "only", "CPU only",
        "header cut",
        "prompts", "legend without a title", "X close", "cells run together", "SOC", "Markdown",
        "comment", "twice", "and topo -p2p", "N/A",
    ],
)  # fmt: skip
def test_forms_seen_in_the_wild_say_the_same(text):
    assert words(quiet(parse_topology_text, text)) == PAIR


def test_a_second_matrix_and_stretches_of_other_text_are_one_note_each():
    notes = quiet(
        parse_topology_text, "driver 580\ncuda 13\n\n" + HEAD + PAIR_ROWS + "done\n" + HEAD + PAIR_ROWS
    ).facts.notes
    assert "lines 1 to 2 were not understood: 'driver 580' ..." in notes
    assert "line 8 was not understood: 'done'" in notes
    assert "line 9: a second matrix begins here; it is left out, with what follows it" in notes


def test_cards_have_any_name():
    names = ["NIC0", "mlx5_bond_0", "rdmap79s0", "ibp26s0", "bnxt_re3", "cxi0", "mlx4_0"]
    head = "\tGPU0\t" + "\t".join(names) + "\tCPU Affinity\n"
    rows = ["GPU0\t X \t" + "\t".join(["PIX"] * 7) + "\t0-7"]
    rows += [f"{n}\tPIX\t" + "\t".join(" X " if m == n else "PIX" for m in names) for n in names]
    topology = quiet(parse_topology_text, head + "\n".join(rows) + "\n\nNIC Legend:\n\n  NIC0: mlx5_bond_1\n")
    assert sum(name.startswith("node0/nic") for name in topology.devices.name) == 7
    assert any("mlx5_bond_1, mlx5_bond_0" in note for note in topology.facts.notes)


def test_an_old_driver_means_an_old_gpu():
    text = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV1\tSOC\nGPU1\tNV1\t X \tSOC\nGPU2\tSOC\tSOC\t X \n"
    assert quiet(parse_topology_text, text).route(0, 1)[0].label == "NVLink 1 ×1"
    assert quiet(parse_topology_text, text.replace("SOC", "SYS")).route(0, 1)[0].label == "NVLink 2 ×1"


def test_the_switch_on_a_board_of_two_gpus_is_one_switch():
    text = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPSB\t0-7\nGPU1\tPSB\t X \t0-7\n"
    assert words(quiet(parse_topology_text, text)) == {(0, 1): "PIX", (1, 0): "PIX"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "====== ROCm System Management Interface ======\n=== Weight between two GPUs ===\n       GPU0   "
            "GPU1\nGPU0   0      15\n",
            "this is the output of rocm-smi",
        ),
        ("\tGPU0\tGPU1\nGPU0\t X \tOK\nGPU1\tOK\t X \n", "this is nvidia-smi topo -p2p's"),
    ],
)
def test_other_tools_are_called_by_their_name(text, says):
    with pytest.raises(cs.FormatError, match=says):
        quiet(parse_topology_text, text)


def test_a_file_that_a_windows_shell_wrote_is_read(tmp_path):
    path = tmp_path / "topo.txt"
    path.write_text(HEAD + PAIR_ROWS, encoding="utf-16")
    assert words(quiet(load_topology, path)) == PAIR


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(cs.FormatError, match=r"no file '.*no\.txt'"):
        load_topology(tmp_path / "no.txt")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00GPU0")
    with pytest.raises(cs.FormatError, match="is not UTF-16"):
        load_topology(tmp_path / "binary.txt")


def test_a_file_without_an_end_is_refused():
    """The size of a device is 0, and to read all of it would fill the memory."""
    code = """
import resource
import collsim as cs
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2)
try:
    cs.load_topology("/dev/zero")
except cs.FormatError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("zero: larger than 10 MiB")


@pytest.mark.skipif(not DATA.is_dir(), reason="the published samples are not beside the repository")
@pytest.mark.parametrize("path", sorted(DATA.glob("*.txt")) if DATA.is_dir() else [], ids=lambda p: p.stem)
def test_published_matrices_come_out_as_they_went_in(path):
    topology = quiet(load_topology, path)
    expected = matrix(path.read_text())
    found = words(topology)
    assert found == {pair: word for pair, word in expected.items() if pair in found}
    for (a, b), word in found.items():
        direct = topology.route(a, b)
        assert any(h.dst.startswith("node0/memory") for h in direct) == (
            word in ("PHB", "NODE", "SYS") and "NVB" not in topology.explain(a, b)
        )


def test_gpus_that_see_all_cards_alike_hang_on_one_switch():
    """DGX A100: NV12 hides that two GPUs share a switch, but both are PXB to the same card."""
    head = "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\n"
    rows = [
        f"GPU{g}\t" + "\t".join("X" if g == h else "NV12" for h in range(4)) + ("\tPXB\tSYS" if g < 2 else "\tSYS\tPXB")
        for g in range(4)
    ]
    rows += ["NIC0\tPXB\tPXB\tSYS\tSYS\tX\tSYS", "NIC1\tSYS\tSYS\tPXB\tPXB\tSYS\tX"]
    topology = quiet(parse_topology_text, head + "\n".join(rows), p2p=False)
    hops = [topology.route(a, b)[0].dst for a, b in ((0, 1), (1, 0), (2, 3))]
    assert hops[0] == hops[1] != hops[2]
    assert any("the same words to all cards are put on one switch" in note for note in topology.facts.notes)


def test_gpus_with_fewer_links_than_others_are_named():
    """nvidia-smi leaves out what is down: one of the links between GPU 0 and GPU 1 of four GPUs joined all to all."""
    rows = ["X NV1 NV2 NV2", "NV1 X NV2 NV2", "NV2 NV2 X NV2", "NV2 NV2 NV2 X"]
    lines = [f"GPU{i} {row}" for i, row in enumerate(rows)]
    uneven = "GPU0 GPU1 GPU2 GPU3\n" + "\n".join(lines)
    notes = " ".join(quiet(parse_topology_text, uneven).facts.notes)
    assert "GPU0 5, GPU1 5 of the 6 NVLinks that others show" in notes
    assert "that others show" not in " ".join(quiet(parse_topology_text, uneven.replace("NV1", "NV2")).facts.notes)

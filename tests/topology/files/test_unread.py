"""Outputs of other tools are called by their name, with what to give instead, by every function that reads files."""

import re
import time

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.io import load
from collsim.topology.files import parse_topology_text
from collsim.topology.files.unread import find_unread_format, list_unread_formats

OUTPUTS = {
    "nvbandwidth": "nvbandwidth Version: v0.6\nRunning host_to_device_memcpy_ce.\nSUM host_to_device_memcpy_ce 55.6\n",
    "p2pBandwidthLatencyTest": "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D  0   1\n  0  900  40\n",
    "amd-smi topology": "HOPS TABLE:\n             0000:05:00.0 0000:26:00.0\n0000:05:00.0 0   1\n0000:26:00.0 1   0\n",
    "rocm-smi": "=== Hops between two GPUs ===\n       GPU0   GPU1\nGPU0   0   1\nGPU1   1   0\n",
    "npu-smi": "        NPU0    NPU1\nNPU0    X       SIO\nNPU1    SIO     X\n",
    "MSCCL++": '{"name": "a", "gpus": [], "num_threads_per_block": 512, "buffer_alignment": 16}',
    "GOAL": "// made by Schedgen\n/* two\n ranks */\nnum_ranks 3\nrank 0 {\nl1: send 8b to 1 tag 0\n}\n",
    "Inspector": '{"header": {"id": "0x1"}, "metadata": {"inspector_output_format_version": "v4.0"}}',
    "Flight Recorder": '{"version": "2.4", "pg_config": {"0": {"ranks": "[0, 1]"}}, "entries": []}',
    "nvlink": "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n",
    "lspci": "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16\n",
    "perftest": "                    RDMA_Read BW Test\n #bytes #iterations BW peak[Gb/sec]\n 65536 5000 92.1 92.0 0.17\n",
    "ibstat": "CA 'mlx5_3'\n\tCA type: MT4123\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n",
    "ibv_devinfo": "hca_id: mlx5_0\n\ttransport:\tInfiniBand (0)\n\tfw_ver:\t20.31\n",
    "hccl_test": "data_size(Bytes):  | aveg_time(us): | alg_bandwidth(GB/s): | check_result:\n8192 | 58.3 | 0.14 | success\n",
    "ds_bench": "---- Performance of all_reduce on 8 devices ---------\nSize (Bytes)  Description  Duration\n",
    "nvidia-smi": "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n",
}
DOES_NOT_READ = "which collsim does not read; |which only cs.diagnose reads, "


@pytest.mark.parametrize("command", ["run", "show", "verify"])
def test_the_command_line_names_a_file_that_stands_for_an_algorithm(command, tmp_path):
    file = tmp_path / "x.goal"
    file.write_text(OUTPUTS["GOAL"])
    result = CliRunner().invoke(app, [command, str(file)])
    assert result.exit_code == 2
    assert "a GOAL schedule, which collsim does not read" in result.output
    assert "unknown algorithm" not in result.output


@pytest.mark.parametrize("tool", OUTPUTS)
@pytest.mark.parametrize("suffix", [".txt", ".log", ".json", ".dat", ".goal"])
def test_load_names_the_tool_and_a_way_out(tool, suffix, tmp_path):
    file = tmp_path / f"output{suffix}"
    file.write_text(OUTPUTS[tool])
    with pytest.raises(cs.FormatError, match=DOES_NOT_READ) as caught:
        load(file)
    assert tool in str(caught.value)
    assert re.search("collsim 不读取|只有 cs.diagnose", caught.value.text("zh"))


@pytest.mark.parametrize("tool", OUTPUTS)
def test_load_topology_names_the_tool_and_a_way_out(tool):
    with pytest.raises(cs.FormatError, match=DOES_NOT_READ) as caught:
        parse_topology_text(OUTPUTS[tool])
    assert tool in str(caught.value)


def test_every_entry_has_an_example():
    named = {str(find_unread_format(text).tool) for text in OUTPUTS.values()}
    assert named == {str(entry.tool) for entry in list_unread_formats()}


def test_a_matrix_after_the_output_of_another_tool_is_read():
    text = OUTPUTS["nvlink"] + "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV12\t0-31\nGPU1\tNV12\t X \t0-31\n"
    with pytest.warns(cs.topology.files.FormatWarning):
        assert parse_topology_text(text).ranks == 2


def test_a_table_of_nccl_tests_in_the_output_of_another_tool_is_read(tmp_path):
    file = tmp_path / "job.log"
    row = "     1048576        262144     float     sum      -1    100.0   10.49   18.35      0    100.0   10.49   18.35      0"
    file.write_text(f"GPU 0: NVIDIA A100 (UUID: GPU-1)\n# nThread 1 nGpus 8\n{row}\n")
    assert load(file).nbytes.tolist() == [2**20]


def test_our_own_yaml_may_mention_other_tools():
    text = "collsim: 1\nname: as in ibv_devinfo\n# hca_id: mlx5_0\nhca_id: x\n"
    with pytest.raises(cs.FormatError, match="unknown key 'hca_id'"):
        parse_topology_text(text)


@pytest.mark.parametrize("text", ["\n", " ", "\t\n", "-", "NPU0 ", "//", "/*", "HCCS x "], ids=repr)
def test_recognition_takes_no_longer_for_hostile_text(text):
    begin = time.process_time()
    find_unread_format(text * (2**20 // len(text)))
    assert time.process_time() - begin < 5

"""Files that leave NVLink out: completed from the catalogue with a sentence, or refused with a way out."""

import warnings

import pytest
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.errors import CollsimError
from collsim.topology import FormatWarning, parse_topology_text
from collsim.topology.files.boards import find_board, find_board_by_bus, find_module

#: Bus ids of the GPUs in Azure/azhpc-images topology/ndv5-topo.xml, and of aws/aws-ofi-nccl topology/p4d-24xl-topo.xml.
NDV5 = [f"{domain:04x}:00:00.0" for domain in (1, 2, 3, 8, 9, 10, 11, 12)]
P4D = [f"0000:{bus}:1{slot}.0" for bus in ("10", "20", "90", "a0") for slot in "cd"]
OTHER = [f"0000:{i + 16:02x}:00.0" for i in range(8)]
DEVICE = '<pci busid="{bus}" class="0x030200" {more} link_speed="32 GT/s" link_width="16">{inside}</pci>'
CPU = '<cpu numaid="{numa}" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">{devices}</cpu>'


def xml(buses, more="", inside=""):
    """GPUs of two sockets on root ports."""
    devices = [DEVICE.format(bus=b, more=more, inside=inside.replace("#", str(i))) for i, b in enumerate(buses)]
    half = len(buses) // 2
    cpus = [CPU.format(numa=i, devices="".join(part)) for i, part in enumerate((devices[:half], devices[half:]))]
    return f'<system version="1">{"".join(cpus)}</system>'


def read(text, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FormatWarning)
        topology = parse_topology_text(text, "file", **options)
    return topology, " ".join(str(warning.message) for warning in caught)


def rate(topology, **options):
    return cs.nccl.predict("allreduce", topology, "4GiB", **options).busbw / 1e9


def test_a_file_of_a_cloud_is_completed_by_the_bus_ids_of_its_gpus():
    """NVIDIA/nccl-tests issue 86: such files hold only processors and PCIe, NCCL adds NVLink itself; 8 H100 455 to 480
    GB/s (issue 212), 8 A100 230 (issue 175)."""
    for buses, name, measured in ((NDV5, "azure-ndv5", 467), (P4D, "aws-p4d", 230)):
        topology, notes = read(xml(buses))
        assert f"NVLinks as in {name}" in notes
        assert rate(topology) == pytest.approx(measured, rel=0.05)


def test_pci_device_ids_tell_the_module():
    """0x2335 is the H200 SXM of pci-ids.ucw.cz; a ring of 8 has 365 GB/s (stas00/ml-engineering network)."""
    topology, notes = read(xml(OTHER, 'vendor="0x10de" device="0x2335"'))
    assert "NVLinks as in hgx-h200" in notes
    assert rate(topology, NCCL_ALGO="Ring") == pytest.approx(365, rel=0.05)
    assert find_module(["0x2331"]) == ""  # an H100 PCIe, which may have a bridge or none
    assert find_module(["0x2335", "0x20b0"]) == ""


def test_what_nothing_tells_is_refused_with_the_way_out():
    with pytest.raises(CollsimError, match=r"say gpu='H100' .* or nvlink='none' for PCIe alone"):
        read(xml(OTHER))
    completed, notes = read(xml(OTHER), gpu="H100")
    assert "NVLinks as in " in notes
    assert rate(completed) > 400
    alone, notes = read(xml(OTHER), gpu="H100", nvlink="none")
    assert "NVLinks as in" not in notes
    assert rate(alone) < 60
    assert read(xml(OTHER), gpu="L40")[0].ranks == 8  # has no NVLink
    with pytest.raises(CollsimError, match="value of nvlink 'some'"):
        read(xml(OTHER), nvlink="some")


def test_a_file_that_nccl_wrote_is_taken_at_its_word():
    assert "NVLinks as in" not in read(xml(OTHER, inside='<gpu dev="#" sm="90" rank="#" gdr="1"/>'))[1]


def matrix(option):
    rows = [["", *(f"GPU{i}" for i in range(8)), "CPU Affinity"]]
    for i in range(8):
        words = ["SYS"] * 8
        words[i // 4 * 4 : i // 4 * 4 + 4] = ["NODE"] * 4
        words[i] = " X "
        rows.append([f"GPU{i}", *words, str(i // 4)])
    return "\n".join([f"$ nvidia-smi topo {option}", *("\t".join(row) for row in rows)])


def test_topo_mp_hides_nvlink():
    """deepseek-ai/DeepEP issue 60: eight H800, about 200 GB/s."""
    with pytest.raises(CollsimError, match="topo -mp hides NVLink"):
        read(matrix("-mp"))
    topology, notes = read(matrix("-mp"), gpu="H800")
    assert "NVLinks as in hgx-h800" in notes
    assert rate(topology) == pytest.approx(200, rel=0.1)
    assert rate(read(matrix("-mp"), gpu="H800", nvlink="none")[0]) < 60
    assert rate(read(matrix("-m"), gpu="A100")[0]) < 60  # cards, for all that -m says
    assert rate(read(matrix("-m"), gpu="A100", nvlink="board")[0]) > 200


def test_a_board_is_of_the_catalogue_or_the_usual_one():
    assert find_board("H20", 8).machine is None
    assert find_board("V100", 16).label == "dgx-2"
    assert find_board("A100", 3) is None
    assert find_board("L40", 8) is None
    assert find_board_by_bus(NDV5[:7]) is None


NIC = '<pci busid="0000:08:00.0" class="0x020000" link_speed="16 GT/s" link_width="16"><nic>{nets}</nic></pci>'
NET = '<net name="{name}" dev="{i}" speed="100000" port="1" guid="{i}" maxconn="1" gdr="{gdr}"/>'


def with_card(names, gdr=1):
    """Two A100 PCIe and a card with these ports."""
    nets = "".join(NET.format(name=name, i=i, gdr=gdr) for i, name in enumerate(names))
    gpus = "".join(
        DEVICE.format(bus=OTHER[i], more='device="0x20b5"', inside=f'<gpu dev="{i}" sm="80" rank="{i}" gdr="{gdr}"/>')
        for i in range(2)
    )
    return f'<system version="1">{CPU.format(numa=0, devices=gpus + NIC.format(nets=nets))}</system>'


def test_a_card_of_two_ports_has_the_rate_of_both():
    """NVIDIA/nccl issues 749 and 452: ports are aggregated without bonding (maintainer)."""
    one, two = (read(with_card(names), nodes=2)[0] for names in (["mlx5_0"], ["mlx5_0", "mlx5_1"]))
    assert [cs.nccl.read_facts(topology).nic_rate for topology in (one, two)] == [12.5e9, 25e9]


def test_an_interface_of_the_system_is_used_over_sockets():
    """NVIDIA/nccl pull request 2202: the network of a GB10 in a file of NCCL's is a tunnel."""
    topology, notes = read(with_card(["vpn0"], gdr=0), nodes=2)
    assert "vpn0: interfaces of the system, which NCCL uses over TCP sockets" in notes
    assert cs.nccl.read_facts(topology).net == "tcp"
    assert cs.nccl.read_facts(read(with_card(["mlx5_0"]), nodes=2)[0]).net == "ib"


def test_the_command_line_takes_the_option(tmp_path):
    path = tmp_path / "cloud.xml"
    path.write_text(xml(OTHER))
    options = ["predict", "allreduce", "--topology-file", str(path), "--gpu", "H100", "--nbytes", "1GiB", "--json"]
    fast, slow = (CliRunner().invoke(app, [*options, *more]) for more in ([], ["--nvlink", "none"]))
    assert '"NVLS"' in fast.stdout
    assert slow.exit_code == 0
    assert '"NVLS"' not in slow.stdout

"""NCCL topology XML, read as NCCL reads it, and hostile XML refused."""

import os
import tracemalloc
import warnings
from pathlib import Path

import pytest

import collsim as cs
from collsim.topology import FormatWarning, load_topology, parse_topology_text

DATA = Path(os.environ.get("COLLSIM_DATA", Path(__file__).parents[3].parent / "shared" / "data")) / "nccl-topo-xml"


def pci(bus, inside="", kind="0x030200", speed="32.0 GT/s PCIe", chip=""):
    return f'<pci busid="{bus}" class="{kind}" {chip} link_speed="{speed}" link_width="16">{inside}</pci>'


def gpu(rank, inside="", sm=90):
    return f'<gpu dev="{rank}" sm="{sm}" rank="{rank}" gdr="1">{inside}</gpu>'


def cpu(numa, inside, vendor="AuthenticAMD", model="17"):
    return f'<cpu numaid="{numa}" arch="x86_64" vendor="{vendor}" familyid="175" modelid="{model}">{inside}</cpu>'


def system(*cpus):
    return f'<?xml version="1.0"?>\n<system version="1">{"".join(cpus)}</system>'


SWITCH = (
    '<nvlink target="0000:a0:00.0" count="9" tclass="0x068000"/><nvlink target="0000:a1:00.0" count="9" '
    'tclass="0x068000"/>'
)
CARD = '<nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0xa1" maxconn="131072" gdr="1"/></nic>'
TWO = system(
    cpu(
        0, pci("0000:10:00.0", pci("0000:12:00.0", gpu(0, SWITCH)) + pci("0000:14:00.0", CARD, "0x020700"), "0x060400")
    ),
    cpu(1, pci("0000:90:00.0", gpu(1, SWITCH))),
)


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        return parse_topology_text(*args, **options)


def test_all_nvswitches_are_one_and_its_links_add_up():
    hops = quiet(TWO).route(0, 1)
    assert [(h.dst, h.bandwidth) for h in hops] == [("node0/nvswitch", 450e9), ("node0/gpu1", 450e9)]
    assert quiet(TWO, rates="effective").route(0, 1)[0].bandwidth == pytest.approx(18 * 20.6e9)  # what NCCL plans with


def test_the_card_has_the_rate_of_its_port():
    hops = quiet(TWO, nodes=2).route(0, 2)
    assert [h.dst for h in hops][:3] == ["node0/pcie0", "node0/nic0", "fabric/switch0"]
    assert hops[2].bandwidth == 50e9


def test_without_nvlink_the_other_socket_is_reached_through_host_memory():
    text = system(cpu(0, pci("0:1", gpu(0))), cpu(1, pci("0:2", gpu(1)) + pci("0:3", gpu(2))))
    hops = quiet(text).route(0, 1)
    assert [h.dst for h in hops] == ["node0/cpu0", "node0/cpu1", "node0/memory1", "node0/cpu1", "node0/gpu1"]
    assert quiet(text, rates="effective").route(0, 1)[1].bandwidth == 16e9  # NCCL's figure for AMD


def test_two_gpus_on_amd_processors_use_p2p_across_sockets_as_nccl_allows():
    text = system(cpu(0, pci("0:1", gpu(0))), cpu(1, pci("0:2", gpu(1))))
    assert [h.dst for h in quiet(text).route(0, 1)] == ["node0/cpu0", "node0/cpu1", "node0/gpu1"]
    intel = text.replace("AuthenticAMD", "GenuineIntel")
    assert "node0/memory1" in [h.dst for h in quiet(intel).route(0, 1)]


@pytest.mark.parametrize(("model", "rate"), [("79", 6e9), ("85", 10e9), ("106", 10e9), ("143", 22e9), ("207", 40e9)])
def test_the_link_between_intel_sockets_is_that_of_its_generation(model, rate):
    text = system(*(cpu(n, pci(f"0:{n}", gpu(n)), "GenuineIntel", model) for n in range(2)))
    assert quiet(text, p2p="sys", rates="effective").route(0, 1)[1].bandwidth == rate


def test_ranks_follow_the_rank_attribute_not_the_order_of_the_file():
    text = system(cpu(0, pci("0:1", gpu(1)) + pci("0:2", gpu(0), speed="8.0 GT/s PCIe")))
    assert quiet(text).route(0, 1)[0].label == "PCIe 3.0 ×16"


def test_a_gpu_without_a_rank_is_not_in_the_communicator_and_this_is_said():
    text = system(cpu(0, pci("0:1", gpu(0)) + pci("0:2", '<gpu dev="1" sm="90"/>')))
    topology = quiet(text)
    assert topology.ranks == 1
    assert "GPU 0:2 has no rank" in " ".join(topology.facts.notes)


def test_cascaded_broadcom_switches_are_one():
    chip = 'vendor="0x1000" device="0xc030"'
    inner = pci("0:3", pci("0:1", gpu(0)) + pci("0:2", gpu(1)), "0x060400", chip=chip)
    one = quiet(system(cpu(0, pci("0:4", inner, "0x060400", chip=chip))))
    assert "PIX" in one.explain(0, 1)
    assert sum(name.startswith("node0/pcie") for name in one.devices.name) == 1


def test_grace_and_its_gpu_have_the_rate_of_the_file():
    topology = quiet(system(cpu(0, pci("0:1", gpu(0, '<c2c bw="44712" count="10"/>')))))
    rates = {c.kind: c.bandwidth for c in topology.links.cables}
    assert rates["c2c"] == pytest.approx(447.12e9)  # bw * count / 1000 GB/s


def test_nvlinks_to_a_power_processor_go_to_its_socket():
    links = '<nvlink target="0000:{}:00.0" count="3" tclass="0x068001"/>'
    gpus = "".join(pci(f"0:{g}", gpu(g, links.format(g), sm=70)) for g in range(2))
    topology = quiet(system(cpu(0, gpus)).replace('arch="x86_64" vendor="AuthenticAMD"', 'arch="ppc64"'))
    assert [(h.dst, h.bandwidth) for h in topology.route(0, 1)] == [("node0/cpu0", 75e9), ("node0/gpu1", 75e9)]


def test_nvlinks_of_a_gpu_whose_sm_is_not_said_are_an_assumption():
    topology = quiet(TWO.replace(' sm="90"', ""))
    assert "gpu0 has NVLinks but no sm: taken for an A100, sm 80" in topology.facts.notes
    assert topology.route(0, 1)[0].label == "NVLink 3 ×18"


def test_xgmi_joins_gpus_directly():
    bus = ["0:1", "0:2"]
    both = "".join(
        pci(bus[r], gpu(r, f'<xgmi target="{bus[1 - r]}" count="1" tclass="0x038000"/>'), "0x038000") for r in range(2)
    )
    topology = quiet(system(cpu(0, both)))
    assert [(h.dst, h.kind) for h in topology.route(0, 1)] == [("node0/gpu1", "xgmi")]


@pytest.mark.filterwarnings("ignore::collsim.topology.FormatWarning")
@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda t: t.replace("<gpu dev", "<quantum/><gpu dev", 1), "<quantum> is not understood"),
        (lambda t: t.replace('gdr="1"', 'gdr="1" flux="3"', 1), "attribute 'flux' of <gpu> is not understood"),
        (lambda t: t.replace("32.0 GT/s PCIe", "warp 9"), "link_speed 'warp 9' is unknown, gen 3"),
        (lambda t: t.replace('dev="0" speed', "speed", 1), "has no dev, so NCCL ignores it"),
    ],
)
def test_what_is_not_understood_is_reported(change, note):
    with pytest.warns(FormatWarning, match=note):
        parse_topology_text(change(TWO))


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaa">'
    + "".join(
        f'<!ENTITY {x} "{"&" + y + ";" * 1}{("&" + y + ";") * 9}">' for x, y in zip("bcdefgh", "abcdefg", strict=True)
    )
    + "]><system>&h;</system>"
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOMB, "a document type or entity is not accepted"),
        ('<!DOCTYPE s SYSTEM "file:///etc/passwd"><system/>', "a document type or entity"),
        ('<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><system>&x;</system>', "a document type or entity"),
        ("<system>" + "<pci>" * 500 + "</pci>" * 500 + "</system>", "element <.*>: nested 65 deep"),
        ("<system>" + "<cpu/>" * 30_000 + "</system>", "more than 20,000"),
        ("<system><cpu></system>", "not well-formed"),
        ("<graphs version='1'/>", "rings and trees and no machine"),
        ("<system version='1'/>", "no <cpu> in it"),
        (system(cpu(0, "")), "no GPU in it"),
    ],
    ids=["billion laughs", "doctype", "entity", "deep", "many", "broken", "another file", "empty", "no gpu"],
)
def test_hostile_and_foreign_xml_is_refused(text, says):
    with pytest.raises(cs.FormatError, match=says):
        quiet(text)


ONE = system(cpu(0, pci("0:1", gpu(0)) + pci("0:2", gpu(1))))
LINKED = system(cpu(0, pci("0:1", gpu(0, '<nvlink target="0:2" count="2" tclass="0x030200"/>')) + pci("0:2", gpu(1))))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ONE.replace('"0:2"', '"0:1"'), "two GPUs have busid '0:1'"),
        (ONE.replace('busid="0:2" ', ""), "a GPU has no busid"),
        (ONE.replace('rank="1"', 'rank="0"'), "rank 0 is there twice, GPU 0:1 and GPU 0:2"),
        (ONE.replace('rank="1"', 'rank="-1"'), "rank='-1'; expected a whole number"),
        (ONE.replace('rank="1"', 'rank="nan"'), "rank='nan'; expected a whole number"),
        (ONE.replace(' rank="0"', "").replace(' rank="1"', ""), "no GPU in it"),
        (system(cpu(0, CARD)), "it lists network cards only"),
        ("<system>" + "<cpu>" * 65 + "</cpu>" * 65 + "</system>", "element <.*>: nested 65 deep"),
        ("<system version='1'><cpu numaid='0'><pci busid='\x00'/></cpu></system>", "not well-formed"),
    ],
)
def test_files_that_do_not_say_which_gpu_is_which_are_refused(text, says):
    with pytest.raises(cs.FormatError, match=says):
        quiet(text)


@pytest.mark.parametrize(
    ("text", "note", "rate"),
    [
        (LINKED.replace('count="2"', 'count="-2"'), "<nvlink count='-2'> is not a whole number", 25e9),
        (LINKED.replace('count="2"', 'count="nan"'), "<nvlink count='nan'> is not a whole number", 25e9),
        (LINKED.replace('count="2"', 'count="1e300"'), "<nvlink count='1e300'> is not a whole number", 25e9),
        (LINKED.replace('count="2"', 'count="99999999999999999999"'), "is not a whole number from 1 to 512", 25e9),
        (
            LINKED.replace('target="0:2"', 'target="0:9"'),
            "nvlink to 0:9, which is not a GPU of the communicator, is left out",
            None,
        ),
        (LINKED.replace('target="0:2"', 'target="0:1"'), "nvlink to itself is left out", None),
        (LINKED.replace('target="0:2"', 'target="0:2 "'), "", 50e9),
        (
            ONE.replace('link_width="16"', 'link_width="-4"', 1),
            "<pci link_width='-4'> is not a whole number from 1 to 64",
            None,
        ),
        (
            ONE.replace('link_width="16"', 'link_width="4096"', 1),
            "<pci link_width='4096'> is not a whole number from 1 to 64",
            None,
        ),
    ],
)
def test_absurd_numbers_and_targets_are_reported_and_not_used(text, note, rate):
    topology = quiet(text)
    assert note in " ".join(topology.facts.notes)
    direct = [h.bandwidth for h in topology.route(0, 1) if h.kind == "nvlink"]
    assert direct == ([] if rate is None else [rate])


@pytest.mark.parametrize(
    ("speed", "rate", "note"),
    [
        ("0", 1.25e9, "speed='0'"),
        ("-1", 1.25e9, "speed='-1'"),
        ("inf", 1.25e9, "speed='inf'"),
        ("200000000", 25e9, "taken for kbit/s"),
    ],
)
def test_the_rate_of_a_port_is_one_that_a_card_can_have(speed, rate, note):
    topology = quiet(TWO.replace('speed="400000"', f'speed="{speed}"'), nodes=2)
    assert {h.bandwidth for h in topology.route(0, 2) if h.kind == "infiniband"} == {rate}
    assert note in " ".join(topology.facts.notes)


def test_parts_of_one_gpu_share_its_slot():
    """mlopart (NCCL 2.30): two <gpu> in one PCI device; invented."""
    text = system(
        cpu(0, pci("0:1", gpu(0).replace("sm=", 'mlopart="0" sm=') + gpu(1).replace("sm=", 'mlopart="1" sm=')))
    )
    topology = quiet(text)
    assert topology.ranks == 2
    assert "PCI device 0:1 has 2 <gpu> elements; they share its slot" in topology.facts.notes
    assert [h.dst for h in topology.route(0, 1)] == ["node0/pcie0", "node0/gpu1"]


def test_accelerators_of_class_0x12_are_gpus_where_no_gpu_is_named():
    text = system(cpu(0, pci("0:1", "", "0x120000") + pci("0:2", "", "0x120000") + pci("0:3", "", "0x020000")))
    topology = quiet(text)
    assert topology.ranks == 2
    assert "nic" in " ".join(topology.devices.name)


@pytest.mark.parametrize(
    ("gcn", "nominal", "rccl"), [("906", 46e9, 24e9), ("910", 50e9, 36e9), ("gfx90a", 50e9, 36e9), ("942", 64e9, 48e9)]
)
def test_xgmi_has_the_rate_of_its_generation(gcn, nominal, rccl):
    text = LINKED.replace("nvlink", "xgmi").replace("sm=", f'gcn="{gcn}" sm=')
    assert quiet(text).route(0, 1)[0].bandwidth == 2 * nominal
    assert quiet(text, rates="effective").route(0, 1)[0].bandwidth == 2 * rccl


def test_what_lies_where_it_does_not_belong_is_reported():
    text = system(cpu(0, pci("0:1", gpu(0) + "<nic/>") + "<gpu/>" + pci("0:5", "<c2c/>") + pci("0:7", "")) + "<pci/>")
    notes = " ".join(quiet(text).facts.notes)
    assert "<nic> in GPU 0:1 is left out" in notes
    assert "<gpu> right under a <cpu> is left out" in notes
    assert "<c2c> right under a <pci> is left out" in notes
    assert "PCI device 0:7 of class" in notes
    assert "<pci> outside of a <cpu> is left out" in notes


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<pci/>" * 300_000, "more than 20,000"),
        ("<pci " + " ".join(f'a{i}="1"' for i in range(50_000)) + "/>", "more than 64 attributes"),
        (f'<pci busid="{"a" * 2_000_000}"/>', "or one longer than 1,000"),
        (f"<{'a' * 1_000_000}/>", ""),
        ("x" * 2_000_000, ""),
        ('<pci busid="0:9" class="0x01"/>' * 3_000, ""),
    ],
    ids=["elements", "attributes", "long value", "long name", "text", "notes"],
)
def test_hostile_sizes_are_refused_or_reported_in_a_few_short_sentences(body, says):
    text = system(cpu(0, pci("0:1", gpu(0)) + body))
    tracemalloc.start()
    try:
        if says:
            with pytest.raises(cs.FormatError, match=says) as refused:
                quiet(text)
            assert len(str(refused.value)) < 500
        else:
            notes = quiet(text).facts.notes
            assert all(len(note) < 500 for note in notes)
            assert len(notes) <= 101
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings_with_their_mark_are_read(tmp_path, encoding):
    path = tmp_path / "topo.xml"
    path.write_text(ONE, encoding=encoding)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        assert load_topology(path).ranks == 2


@pytest.mark.parametrize("data", [b"\xff\xfe<\x00s", b"<system>\xe9</system>", b"\x00\x00\xfe\xff\x00\x00\x00<"])
def test_bytes_that_are_no_text_are_refused(tmp_path, data):
    path = tmp_path / "topo.xml"
    path.write_bytes(data)
    with pytest.raises(cs.FormatError):
        load_topology(path)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.xml"
    with path.open("wb") as file:
        file.truncate(11 * 2**20)
    with pytest.raises(cs.FormatError, match="larger than 10 MiB"):
        load_topology(path)


@pytest.mark.skipif(not DATA.is_dir(), reason="the published samples are not beside the repository")
@pytest.mark.parametrize(
    ("name", "ranks", "numa"), [("azure-ndv4-a100", 8, 4), ("rccl-3p-pcie", 3, 2), ("rccl-8p6l-xgmi", 8, 2)]
)
def test_published_files_have_their_gpus_and_numa_nodes(name, ranks, numa):
    with pytest.warns(FormatWarning) if name.startswith("azure") else warnings.catch_warnings():
        topology = load_topology(DATA / f"{name}.xml")
    assert topology.ranks == ranks
    assert sum("memory" in device for device in topology.devices.name) == numa
    cs.simulate(cs.schedule("allreduce_ring", topology=topology), topology, "1MiB")

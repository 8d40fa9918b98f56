"""GPUs by name: rows of a data file, from data sheets; of an unknown one the nearest, with a word."""

import warnings

import pytest

import collsim as cs
from collsim.errors import TopologyError
from collsim.nccl.machine.machine_facts import GA102_LINK_GBPS, NVLINK_GBPS
from collsim.topology.cables import GA102_SM, build_xgmi, load_nics
from collsim.topology.parts.gpus import GPUS, find_gpu_name, find_model, find_nearest_model

PAIR = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t{word}\t0-31\t0\nGPU1\t{word}\t X \t0-31\t0\n"


def pair(word, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cs.topology.parse_topology_text(PAIR.format(word=word), **options)


@pytest.mark.parametrize(
    "name",
    [
        "L20",
        "RTX 3060",
        "RTX 3070",
        "RTX 3080",
        "RTX 4080",
        "RTX 5080",
        "RTX 5090",
        "GTX 1080 Ti",
        "Titan RTX",
        "RTX 8000",
        "P40",
        "A2",
        "A16",
        "5880 Ada",
        "GB10",
        "MI210",
        "MI250X",
        "MI325X",
        "MI350X",
        "MI355X",
        "H20",
        "L4",
        "T4",
    ],
)
def test_gpus_of_data_sheets_are_known(name):
    model = find_model(f"NVIDIA {name}")
    assert model is not None
    assert model.name in name
    assert model.source
    assert model.card in load_nics()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"),
        ("NVIDIA GeForce RTX 2080 SUPER", "RTX 2080"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA L40S", "L40"),
        ("GB200", "GB200"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("GeForce RTX4090", "RTX 4090"),
        ("NVIDIA RTX 6000 Ada Generation", "6000 Ada"),
    ],
)
def test_the_longest_name_in_a_text_counts(text, name):
    assert find_model(text).name == name


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("RTX 4070 Ti SUPER", "RTX 4090"),
        ("RTX A2000", "A10"),
        ("H300", "H100"),
        ("GTX 1660 Ti", "RTX 2080"),
        ("RTX 6090", "RTX 5090"),
        ("Rubin R200", "B300"),
        ("L60", "L40"),
        ("Tesla P4", "P40"),
        ("Quadro P5000", "P40"),
        ("RTX 2000 Ada", "6000 Ada"),
        ("T1000", "T4"),
        ("Radeon PRO W7900", "MI210"),
        ("Jetson AGX Thor", "GB10"),
    ],
)
def test_of_an_unknown_gpu_the_nearest_is_taken_with_a_word(text, nearest):
    assert find_model(text) is None
    assert find_nearest_model(text).name == nearest
    with pytest.warns(UserWarning, match=f"taken for {nearest}, the nearest"):
        assert find_gpu_name(text) == nearest


def test_a_gpu_without_a_near_one_is_refused():
    for name in ("Banana", "Gaudi 3", "Arc B580", "Ascend 910B", "V10O"):
        with pytest.raises(TopologyError, match=name):
            find_gpu_name(name)


def test_the_interval_of_an_unknown_gpu_is_wide():
    known, unknown = (cs.nccl.predict("allreduce", pair("PHB", gpu=gpu), "1GiB") for gpu in ("RTX 4090", "RTX 4070"))
    assert unknown.time == pytest.approx(known.time, rel=0.01)
    assert unknown.high / unknown.low > known.high / known.low
    assert any("RTX 4070 is in no table of GPUs" in note for note in unknown.notes)


def test_a_gpu_of_another_pcie_generation_than_its_machine_leaves_the_slots_open():
    """A RTX 5090 in the catalogue's box for RTX 4090: its slots may be PCIe 4 or 5, unless they are said."""
    open_slots, old, new = (cs.machine("rtx4090-8gpu", gpu="RTX 5090", pcie=pcie) for pcie in (None, 4, 5))
    (assumed,) = open_slots.facts.assumptions
    assert (assumed.option, assumed.others) == ("pcie", (5,))
    assert old.facts.assumptions == new.facts.assumptions == cs.machine("rtx4090-8gpu").facts.assumptions == ()
    predicted, as_old, as_new = (cs.nccl.predict("allreduce", machine, "1GiB") for machine in (open_slots, old, new))
    assert predicted.time == as_old.time
    assert predicted.low < as_new.time < as_old.low
    assert any("set pcie=... if that is wrong; with pcie=5 it takes 0." in note for note in predicted.notes)


def test_a_bridge_with_missing_contacts_has_three_links():
    """NVIDIA/nccl issue 557: NV3 between two cards with GA102 is 3 x 14.06 GB/s."""
    prediction = cs.nccl.predict("allreduce", pair("NV3", gpu="RTX 3090"), "1GiB")
    assert prediction.facts.link_rate == pytest.approx(3 * 14.0625e9)
    assert prediction.busbw < 3 * 14.0625e9


@pytest.mark.parametrize(
    ("name", "both_ways"),
    [
        ("P100", 160),
        ("V100", 300),
        ("RTX 2080", 50),
        ("RTX 2080 Ti", 100),
        ("Titan RTX", 100),
        ("A100", 600),
        ("A800", 400),
        ("A30", 200),
        ("A40", 112.5),
        ("RTX 3090", 112.5),
        ("H100", 900),
        ("H800", 400),
        ("H20", 900),
        ("B200", 1800),
        ("GB300", 1800),
    ],
)
def test_links_add_up_to_the_rate_of_the_data_sheet(name, both_ways):
    """GB/s in both directions together, as NVIDIA's data sheets give them."""
    model = GPUS[name]
    link = GA102_LINK_GBPS if model.sm == GA102_SM else NVLINK_GBPS[model.nvlink]
    assert 2 * model.links * link == both_ways


@pytest.mark.parametrize(
    ("name", "gcn", "both_ways"), [("MI300", "942", 896), ("MI355", "950", 1075.2), ("MI210", "90a", 300)]
)
def test_links_of_amd_add_up_to_the_rate_of_the_data_sheet(name, gcn, both_ways):
    assert 2 * build_xgmi(GPUS[name].links, gcn).nominal == pytest.approx(both_ways * 1e9)


def test_gpus_of_eight_lanes_have_half_of_the_slot():
    """NVIDIA A2 data sheet: PCIe 4.0 x8."""
    connections = pair("PHB", gpu="A2").facts.machine.connections
    assert {cable.bandwidth for a, b, cable in connections if "gpu" in a + b} == {15.75e9}


def test_every_row_has_a_slot_and_a_card():
    assert all(model.card in load_nics() and 3 <= model.pcie <= 6 and model.source for model in GPUS.values())


def test_the_power_of_a_gpu_has_a_source():
    for model in GPUS.values():
        is_known = model.module_watts is not None or model.card_watts is not None
        assert is_known == bool(model.power_source), model.name
        assert "not looked up" not in model.power_source, model.name  # what nobody has read is left out
        for watts in filter(None, (model.module_watts, model.card_watts)):
            assert f"{watts:g} W" in model.power_source or model.power_source.startswith("as "), model.name

"""The pictures of a diagnosed job: which links are used and possible, what is lit, and that no text of it is markup."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import collsim as cs
from collsim.diagnosis import list_studied_cases
from collsim.locale import LANGUAGES
from collsim.nccl import compare_run
from collsim.viz.diagnosis.fleet_picture import draw_fleet_picture
from collsim.viz.diagnosis.job_chart import describe_job_chart
from collsim.viz.diagnosis.job_links import describe_links, find_job_links, find_parts
from collsim.viz.diagnosis.job_picture import draw_job_picture

CASES = list_studied_cases()
SVG = "{http://www.w3.org/2000/svg}"


def diagnose(key):
    return cs.diagnose(CASES[key].texts)


def kinds(machine, chosen):
    links = machine.links
    return {links.cables[cable].kind for cable in np.unique(links.cable[chosen]).tolist()}


def test_without_p2p_data_take_pcie_and_memory_and_could_take_nvlink_alone():
    diagnosis = diagnose("p2p_disabled")
    links = find_job_links(diagnosis.machine, diagnosis.used)
    assert links.is_staged
    assert kinds(diagnosis.machine, links.possible) == {"nvlink"}
    assert {"pcie", "memory"} <= kinds(diagnosis.machine, links.used)
    assert "nvlink" not in kinds(diagnosis.machine, links.used)
    rows = describe_links(diagnosis.machine, links)
    assert sum(row["used"] for row in rows) == links.used.sum()
    assert sum(row["possible"] for row in rows) == links.possible.sum()


def test_one_card_is_used_of_eight_and_without_gpudirect_memory_is_crossed():
    diagnosis = diagnose("cards_left_out")
    links = find_job_links(diagnosis.machine, diagnosis.used)
    names = diagnosis.machine.devices.name
    ends = {str(names[d]) for d in diagnosis.machine.links.dst[links.used].tolist()}
    assert {name for name in ends if "nic" in name} == {"node0/nic0", "node1/nic0"}
    could = {str(names[d]) for d in diagnosis.machine.links.dst[links.possible].tolist()}
    assert len([name for name in could if "nic" in name]) == 16
    parts = {str(names[d]) for d in find_parts(diagnosis.causes[0], diagnosis.machine)}
    assert parts == {f"node0/nic{k}" for k in range(1, 8)}
    staged = diagnose("gdr_module")
    links = find_job_links(staged.machine, staged.used)
    assert "memory" in kinds(staged.machine, links.used)
    assert "memory" not in kinds(staged.machine, links.possible)


def test_the_gpu_with_lost_links_is_lit_and_a_cause_of_the_whole_job_is_on_the_plate():
    diagnosis = diagnose("nvlink_lost")
    (part,) = find_parts(diagnosis.causes[0], diagnosis.machine)
    assert diagnosis.machine.devices.name[part] == "node0/gpu3"
    root = ElementTree.fromstring(draw_job_picture(diagnosis))
    lit = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}rect[@class='at']") is not None]
    assert [group.find(f"{SVG}text").text for group in lit] == ["3"]
    root = ElementTree.fromstring(draw_job_picture(diagnose("p2p_disabled")))
    assert root.find(f".//{SVG}rect[@class='at']") is None
    assert root.find(f".//{SVG}g[@class='used plate lit']").get("data-findings") == "1"


@pytest.mark.parametrize("width", [544, 338])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("key", CASES)
def test_every_case_is_drawn_with_its_finding_and_no_letter_is_small(key, language, width):
    diagnosis = diagnose(key)
    picture = draw_job_picture(diagnosis, language, width)
    assert bool(picture) == (diagnosis.machine is not None)
    if not picture:
        return
    root = ElementTree.fromstring(picture)
    _, _, wide, tall = map(float, root.get("viewBox").split())
    for text in root.iter(f"{SVG}text"):
        assert float(text.get("font-size")) >= 12
        assert 0 <= float(text.get("x")) <= wide
        assert 0 <= float(text.get("y")) <= tall
    numbers = {group.get("data-findings") for group in root.iter(f"{SVG}g") if group.get("class") == "finding"}
    assert numbers == {str(k) for k in range(1, len(diagnosis.causes) + 1)}


def test_the_chart_has_a_rate_for_each_size_and_says_the_figures_of_the_cost():
    diagnosis = diagnose("p2p_disabled")
    table = compare_run(diagnosis.job.run)
    chart = describe_job_chart(table)
    assert len(chart["measured"]) == len(chart["sizes"]) == len(table)
    assert json.loads(json.dumps(chart, allow_nan=False)) == chart
    said = " ".join(label["words"] for label in chart["labels"])
    assert cs.format_bandwidth(diagnosis.cost.possible) in said
    assert cs.format_bandwidth(diagnosis.cost.measured) in said


def test_names_of_evidence_are_no_markup_in_pictures():
    hostile = "h:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via <b>&x/direct\n"
    picture = draw_job_picture(cs.diagnose({**CASES["nvlink_lost"].texts, "x": hostile}))
    assert "&lt;b&gt;" in picture
    ElementTree.fromstring(picture)
    assert "<b>" not in picture
    texts = {
        f"<i>n{k}/a.txt": f"| NVIDIA-SMI 570.1 Driver Version: 5{70 + k // 3}.1 CUDA Version: 12.8 |" for k in range(4)
    }
    drawn = draw_fleet_picture(cs.diagnosis.compare_nodes(texts))
    assert "<i>" not in drawn
    assert len(re.findall('class="odd"', drawn)) == 1

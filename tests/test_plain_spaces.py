"""Text has plain spaces, so that it can be searched, compared and copied; HTML and pictures bind numbers to units."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from spaces import odd_spaces

import collsim as cs
from collsim.collective import get_collective
from collsim.display.markup import bind_units, escape_text
from collsim.simulate import expected_cost, simulate_flows

ROOT = Path(__file__).parents[1]
#: Where such a character is the subject: the border to HTML and to LaTeX, and what others write.
ABOUT = {
    "collsim/files.py",
    "collsim/display/markup.py",
    "collsim/io/page_tables.py",
    "collsim/io/torch_profiler.py",
    "collsim/rank_engine/pasted_source.py",
    "collsim/sandbox/frames.py",
    "collsim/teach/quiz/question.py",
    "collsim/topology/files/topo_m.py",
}
#: How a source names a space that is none: escapes of Python and JavaScript, entities of HTML.
ESCAPES = re.compile(
    r"\\N\{(?:[A-Z-]+ )*SPACE\}|\\u00a0|\\xa0|\\u20[0-2][0-9a-f]|\\u2060|\\ufeff|&nbsp;|&#160;|&thinsp;", re.I
)


def texts():
    """Every document, notebook, example and Python file under version control."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.ipynb", "*.yaml", "*.yml", "*.toml", "*.csv"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return listed.splitlines()


def test_odd_spaces_are_seen():
    assert odd_spaces("4.73\N{NO-BREAK SPACE}ms, 1\N{NARROW NO-BREAK SPACE}s, 2\N{THIN SPACE}x")
    assert not odd_spaces("4.73 ms\n\t带宽，µs")


def test_no_text_of_the_project_has_an_odd_space():
    assert {path for path in texts() if odd_spaces((ROOT / path).read_text(encoding="utf-8"))} == set()


def test_the_package_writes_odd_spaces_nowhere_but_at_the_border():
    sources = [path for path in texts() if path.startswith("collsim/") and path.endswith(".py")]
    named = {path for path in sources if ESCAPES.search((ROOT / path).read_text(encoding="utf-8"))}
    assert named == ABOUT


def test_quantities_compare_with_what_people_type():
    assert cs.format_time(1e-3) == "1 ms"
    assert cs.format_bytes(2**20) == "1 MiB"
    assert cs.format_bandwidth(25e9) == "25 GB/s"


def shown_objects():
    """One object of each kind that people print."""
    machine = cs.machine("dgx-a100", nodes=2)
    plain = cs.topology.switch(4, bandwidth="25GB/s", alpha="1us")
    ring = cs.schedule("allreduce_ring", ranks=4)
    trace = cs.simulate(ring, plain, "64MiB")
    event = cs.simulate(cs.schedule("allreduce_ring", topology=machine), machine, "64MiB", engine="event")
    box = cs.machine("dgx-a100")
    step = cs.training_step("resnet50", box, parallel=cs.train.ddp(), batch=256)
    halves = [
        cs.training_step("resnet50", box, parallel=cs.train.ddp(), batch=128, ranks=ranks, network="shared")
        for ranks in (range(4), range(4, 8))
    ]
    return {
        "machine": machine,
        "way": machine.explain(0, 8),
        "network": plain,
        "links of a network": plain.links,
        "devices": plain.devices,
        "facts": machine.facts,
        "schedule": ring,
        "collective": get_collective("allreduce"),
        "trace": trace,
        "event trace": event,
        "why": event.explain(),
        "bound": trace.bound,
        "bottleneck": trace.bottleneck,
        "bottleneck of events": event.bottleneck,
        "links of a run": trace.links,
        "row": trace.row(),
        "frame": trace.to_frame(),
        "what would close the gap": trace.close_gap(effort="low"),
        "comparison": cs.compare("allreduce", plain, nbytes="1MiB"),
        "crossover": cs.crossover("allreduce_ring", "allreduce_tree", plain),
        "critical path": cs.analysis.critical_path(event),
        "sensitivity": cs.analysis.sensitivity(event),
        "cost": expected_cost(ring, plain, "64MiB"),
        "prediction": cs.nccl.predict("allreduce", machine, "64MiB"),
        "model": cs.model("resnet50"),
        "step of training": step,
        "why a step": step.explain(),
        "memory": step.memory,
        "what if": step.what_if(network=2),
        "script": step.script(),
        "strategy": cs.train.fsdp(),
        "steps together": cs.train.time_concurrent_steps(halves),
        "flows": simulate_flows(plain, [0, 2], [1, 1], "1MiB"),
        "questions": list(cs.teach.questions(trace)),
        "questions about a step": list(cs.teach.questions(step)),
        "exercise": cs.exercise("send-one-chunk"),
        "broken": cs.teach.break_it(trace, "lose"),
        "algorithm": cs.algorithms()["allreduce_ring"],
        "error": error_of(lambda: cs.topology.switch(4, bandwidth="25G")),
    }


def error_of(call):
    with pytest.raises(cs.CollsimError) as caught:
        call()
    return caught.value


@pytest.fixture(scope="module")
def objects():
    return shown_objects()


def test_whatever_is_printed_has_plain_spaces(objects):
    for name, value in objects.items():
        for text in (str(value), repr(value), f"{value}" if not isinstance(value, np.ndarray) else ""):
            assert odd_spaces(text) == set(), f"{name}: {text[:400]!r}"
    assert any(" ms" in str(value) for value in objects.values())


def test_what_is_shown_in_a_notebook_binds_numbers_to_their_units(objects):
    assert "\N{NO-BREAK SPACE}ms" in objects["trace"]._repr_html_()


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("4.73 ms", "4.73~ms"),
        ("37.6 µs and 1 s, 25 GB/s of 200 Gbit/s", "37.6~µs and 1~s, 25~GB/s of 200~Gbit/s"),
        ("带宽 16 MiB的 99.5 %。", "带宽 16~MiB的 99.5~%。"),
        ("1.98 times slower, 3 × A100, 2 倍", "1.98~times slower, 3~× A100, 2~倍"),
        ("saves 21 % (then PCIe), busy 87 % of it", "saves 21~% (then PCIe), busy 87~% of it"),
        (
            "k = 2 % n; x = [8 for s in range(4)]; 1 switch, 8 bytes",
            "k = 2 % n; x = [8 for s in range(4)]; 1 switch, 8 bytes",
        ),
    ],
)
def test_numbers_are_bound_to_units_and_nothing_else_is(text, bound):
    bound = bound.replace("~", "\N{NO-BREAK SPACE}")
    assert bind_units(text) == bound
    assert bind_units(bound) == bound
    assert escape_text(f"<{text}>") == f"&lt;{bound}&gt;"
    assert json.loads(bind_units(json.dumps([text], ensure_ascii=False))) == [bound]

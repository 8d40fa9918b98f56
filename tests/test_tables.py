"""docs/tables.md has every column of every frame that collsim returns, with its unit."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from sampling import keep_fast

import collsim as cs
from collsim.simulate import simulate_flows
from collsim.sweep import close_gap

ROOT = Path(__file__).parents[1]
PAGE, CHINESE = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("tables.md", "tables.zh.md"))
#: Functions that return frames and are not for users, or another name for one that is on the page.
INSIDE = {
    "_Columns.to_frame": "Links.to_frame and Devices.to_frame",
    "Store.build_frame": "cs.sweep",
    "add_cost_columns": "cs.sweep with prices",
    "ConcurrentTrace.links": "as Trace.links",
    "Catalog.to_frame": "columns differ: what exists, by name",
    "Schedule.to_frame": "the columns of Schedule.transfers",
    "read_nccl_tests": "cs.load",
    "tabulate_collectives": "ProgramRun.collectives",
    "parse_nccl_tests": "cs.load",
    "read_whole_table": "cs.load",
    "read_nccl_tests_json": "cs.load",
    "parse_nccl_tests_document": "cs.load",
    "read_osu": "cs.load",
    "read_torch_profiler": "cs.load",
    "count_crossing_bytes": "StepTrace.count_crossing_bytes",
    "build_frame": "cs.best_parallel",
    "compare_splits": "cs.compare",
    "select_fastest": "cs.compare",
    "rank_algorithms": "cs.compare",
    "sort_table": "any table in another order",
    "compare_steps": "RealTrace.comparison",
    "summarize": "one column for each exercise that was handed in",
    "evaluate_measurement_value": "of one run of the published measurements",
    "compare_run": "of one run of the published measurements",
    "compare_published_runs": "of the published measurements",
    "Accuracy.summarize_bands": "the report on measurements, docs/accuracy.md",
    "Accuracy.summarize_kinds": "the report on measurements, docs/accuracy.md",
    "Accuracy.sort_by_error": "the report on measurements, docs/accuracy.md",
    "Accuracy.summarize_effects": "the report on measurements, docs/accuracy.md",
}


def rows(text):
    """column -> unit, of the tables in a part of the page."""
    found = {}
    for cells in re.findall(r"^\| (`.+?) \| (.*?) ?\| (.*?) ?\|$", text, re.MULTILINE):
        found |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[1])
    return found


def sections(page):
    """What stands under each heading of a table, by its name."""
    parts = [part.partition("\n") for part in re.split(r"^### ", page, flags=re.MULTILINE)[1:]]
    return {name: text.split("\n## ")[0] for name, _, text in parts}


SECTIONS = sections(PAGE)
COMMON = rows(PAGE.split("\n## Runs")[0])


def list_columns(section, sections=SECTIONS):
    """The columns of a table, in order: the names in its first paragraph, after the colon."""
    paragraph = sections[section].strip().split("\n\n")[0]
    return re.findall(r"`(\w+)`", re.split(r": |：", paragraph)[-1])


@cache
def run():
    two = cs.machine("dgx-a100", nodes=2)
    return cs.simulate(cs.schedule("allreduce_ring", topology=two), two, "1MiB")


@cache
def step(**options):
    return cs.training_step("resnet18", "dgx-a100", parallel=cs.ddp(), batch=64, **options)


@cache
def routings():
    network = cs.machine("dgx-h100", nodes=4, gpus=2, fabric="rail", unit=2)
    return cs.analysis.compare_routing(cs.schedule("allreduce_ring", ranks=8), network, "1MiB", seeds=2)


def both_steps():
    halves = [
        cs.training_step("resnet18", cs.machine("dgx-a100"), parallel=cs.ddp(), batch=32, ranks=ranks, network="shared")
        for ranks in (range(4), range(4, 8))
    ]
    return cs.train.time_concurrent_steps(halves).to_frame()


SEND_ONE = """from mpi4py import MPI
if MPI.COMM_WORLD.rank:
    MPI.COMM_WORLD.send(1, dest=0)
else:
    MPI.COMM_WORLD.recv(source=1)
"""


def fleet(folder):
    """Files of three nodes, one of them with a slow port."""
    for node, rate in (("n1", 400), ("n2", 400), ("n3", 200)):
        (folder / node).mkdir()
        text = f"CA 'mlx5_0'\n\tState: Active\n\tRate: {rate}\n\tLink layer: InfiniBand\n"
        (folder / node / "ibstat.txt").write_text(text)
    return folder


def graded(folder):
    (folder / "ada.py").write_text("import collsim as cs\ndef send_one_chunk(n):\n    yield cs.copy(0, 1, chunk=0)\n")
    return cs.grade(folder, only=["send-one-chunk"], allow_unsandboxed=True)


SWITCH = cs.topology.switch(4)
TINY = cs.train.Model("tiny", (cs.train.Layer("only", (64,)),))
FRAMES = {
    "Topology.to_frame": lambda _: SWITCH.to_frame(),
    "Links.to_frame": lambda _: SWITCH.links.to_frame(),
    "Devices.to_frame": lambda _: SWITCH.devices.to_frame(),
    "Trace.to_frame": lambda _: run().to_frame(),
    "Trace.links": lambda _: run().links,
    "Trace.steps": lambda _: run().steps,
    "ConcurrentTrace.to_frame": lambda _: cs.simulate([cs.schedule("allreduce_ring", ranks=4)] * 2, SWITCH, "1MiB", engine="event").to_frame(),
    "ProgramRun.messages": lambda _: cs.program(SEND_ONE, 2).messages,
    "ProgramRun.collectives": lambda _: cs.program("import torch.distributed as dist\ndist.init_process_group('gloo')\ndist.barrier()", 2).collectives,
    "FlowTrace.to_frame": lambda _: simulate_flows(SWITCH, [0], [1], [1024]).to_frame(),
    "CriticalPath.to_frame": lambda _: cs.analysis.critical_path(run()).to_frame(),
    "RealTrace.comparison": lambda _: cs.run_for_real(cs.schedule("allreduce_ring", ranks=2), "1KiB", alpha="1ms", repeat=1).comparison,
    "RealStep.comparison": lambda _: cs.lab.training_step_for_real(TINY, 2, parallel=cs.ddp(), compute="5ms", alpha="1ms", repeat=1).comparison,
    "SynthesisRace.to_frame": lambda _: close_gap("allgather", cs.topology.ring(4), "1MiB").to_frame(),
    "cs.sweep": lambda _: cs.sweep("allreduce", ["allreduce_ring", "nccl"], ["dgx-a100"], ["1MiB"]),
    "cs.sweep of training steps": lambda _: cs.sweep(model="resnet18", topology=["dgx-a100"], batch=64),
    "cs.sweep with prices": lambda _: cs.sweep(
        model="resnet18", topology=["dgx-a100"], batch=64, prices={"nic": 1}
    ),
    "cs.compare of algorithms": lambda _: cs.compare("allreduce", SWITCH, "1MiB", algorithm=["allreduce_ring"]),
    "cs.compare of strategies": lambda _: cs.compare(cs.model("resnet18"), cs.machine("dgx-a100"), batch=64),
    "Comparison.frame": lambda _: cs.analysis.compare_runs(run(), run()).frame,
    "Comparison.links": lambda _: cs.analysis.compare_runs(run(), run()).links,
    "Comparison.kinds": lambda _: cs.analysis.compare_runs(run(), run()).kinds,
    "cs.analysis.sensitivity": lambda _: cs.analysis.sensitivity(run()),
    "RoutingTimes.to_frame": lambda _: routings()["ecmp"].to_frame(),
    "cs.analysis.compare_routing": lambda _: routings().to_frame(),
    "Best.tried": lambda _: cs.best("broadcast", SWITCH, "1MiB", algorithm=["broadcast_chain"]).tried,
    "cs.analysis.cheapest": lambda _: cs.analysis.cheapest({"a": 1.0}, {"a": SWITCH}, "allreduce", "1MiB", within="1s"),
    "StepTrace.tasks": lambda _: step().tasks,
    "TrainingStep.to_frame": lambda _: step().step.to_frame(),
    "StepTrace.count_crossing_bytes": lambda _: step().count_crossing_bytes(),
    "StepTrace.split_exposed": lambda _: step().split_exposed(),
    "Memory.to_frame": lambda _: step().memory.to_frame(),
    "StepComparison.frame": lambda _: cs.train.compare_steps(step(), step().what_if(bucket="1MiB")).frame,
    "StepComparison.parts": lambda _: cs.train.compare_steps(step(), step().what_if(bucket="1MiB")).parts,
    "ConcurrentSteps.to_frame": lambda _: both_steps(),
    "cs.best_parallel": lambda _: cs.best_parallel("gpt2", cs.machine("dgx-a100"), batch=32, top=1),
    "cs.train.measure_scaling": lambda _: cs.train.measure_scaling("resnet18", "dgx-a100", parallel=cs.ddp(), nodes=[1, 2], batch=64),
    "cs.train.time_faults": lambda _: cs.train.time_faults(step()),
    "Model.to_frame": lambda _: cs.model("resnet18").to_frame(),
    "InferenceTimes.to_frame": lambda _: cs.inference.time_inference("llama3-8b", "dgx-a100", tensor=2).to_frame(),
    "cs.load of an nccl-tests log": lambda _: cs.load(ROOT / "examples" / "all_reduce_perf.txt"),
    "Calibration.residuals": lambda _: cs.analysis.calibrate(ROOT / "examples" / "all_reduce_perf.txt", cs.machine("dgx-a100")).residuals,
    "cs.nccl.predict_choices": lambda _: cs.nccl.predict_choices("allreduce", cs.machine("dgx-h100"), ["1MiB"], [1]),
    "FleetDiagnosis.to_frame": lambda folder: cs.diagnosis.compare_nodes(fleet(folder)).to_frame(),
    "Upgrades.to_frame": lambda _: cs.upgrades(cs.training_step("resnet18", cs.machine("pcie-8gpu", nodes=2, nic="roce-25"), parallel=cs.ddp(), batch=512)).to_frame(),
    "cs.purchases.tabulate_costs": lambda _: cs.purchases.tabulate_costs(cs.purchases.estimate_costs(step(), watts=400)),
    "cs.purchases.tabulate_goodput": lambda _: cs.purchases.tabulate_goodput([cs.purchases.estimate_goodput(step())]),
    "cs.grade": graded,
}  # fmt: skip


def test_every_table_of_the_page_is_made_here():
    assert list(SECTIONS) == list(FRAMES)


@pytest.mark.parametrize(
    "name", keep_fast(FRAMES, [name for name in FRAMES if name not in ("Upgrades.to_frame", "cs.best_parallel")])
)
def test_a_table_has_the_columns_that_the_page_lists_in_their_order(name, tmp_path):
    assert list(FRAMES[name](tmp_path).columns) == list_columns(name)


@pytest.mark.parametrize("name", FRAMES)
def test_every_column_of_a_table_has_its_unit_and_its_meaning(name):
    missing = [column for column in list_columns(name) if column not in COMMON and column not in rows(SECTIONS[name])]
    known_elsewhere = rows(SECTIONS["StepTrace.tasks"]) if "as in `StepTrace.tasks`" in SECTIONS[name] else {}
    assert [column for column in missing if column not in known_elsewhere] == []


def test_no_column_is_explained_that_no_table_has():
    used = {column for name in FRAMES for column in list_columns(name)}
    assert set(COMMON) - used - {"duration", "nodes"} == set()
    for name in FRAMES:
        assert set(rows(SECTIONS[name])) - set(list_columns(name)) == set(), name


def test_times_bandwidths_and_bytes_have_their_units():
    assert {COMMON[name] for name in ("time", "start", "finish", "alone", "bound", "busy")} == {"s"}
    assert {COMMON[name] for name in ("algbw", "busbw", "bandwidth")} == {"B/s"}
    assert {COMMON[name] for name in ("bytes", "nbytes", "memory", "other")} == {"B"}


def test_the_chinese_page_has_the_same_columns_in_the_same_order_and_in_the_same_units():
    """Units but for those that are words: samples, a count, part of 1."""
    chinese = sections(CHINESE)
    for english, other in zip(SECTIONS, chinese, strict=True):
        assert list_columns(other, chinese) == list_columns(english), other
        assert list(rows(chinese[other])) == list(rows(SECTIONS[english])), other
    ours, theirs = (
        {column: unit for column, unit in rows(page).items() if unit in ("s", "B", "B/s", "1/s", "")}
        for page in (PAGE, CHINESE)
    )
    assert theirs == ours
    assert len(ours) > 50


def returning_frames():
    """Public functions and methods of collsim that say they return a frame: `sweep`, `Trace.to_frame`."""
    for path in (ROOT / "collsim").rglob("*.py"):
        if path.relative_to(ROOT / "collsim").parts[0] in ("app", "cli"):
            continue
        text = path.read_text(encoding="utf-8")
        if "DataFrame" not in text:
            continue
        body = ast.parse(text).body
        owned = [(f"{part.name}.", one) for part in body if isinstance(part, ast.ClassDef) for one in part.body]
        for owner, one in [*(("", part) for part in body), *owned]:
            public = isinstance(one, ast.FunctionDef) and not one.name.startswith("_")
            if public and one.returns is not None and ast.unparse(one.returns).strip("'") == "pd.DataFrame":
                yield owner + one.name


def test_every_function_that_returns_a_frame_is_on_the_page_or_named_here():
    found = set(returning_frames())
    on_page = {re.sub(r"^(cs\.)?((analysis|nccl|purchases|train)\.)?", "", name).split(" ")[0] for name in SECTIONS}
    assert len(found) > 30
    assert found - on_page - set(INSIDE) == set()
    assert set(INSIDE) - found == set()

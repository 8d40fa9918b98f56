"""The JSON Schema of plans says what the reader says: every example validates, what the reader refuses fails."""

import json
import re
from pathlib import Path

import jsonschema
import make_schema
import pytest
import yaml
from typer.testing import CliRunner

import collsim as cs
from collsim.cli import app
from collsim.sweep import read_plan
from collsim.sweep.scenario import list_scenarios
from collsim.sweep.schema import build_plan_schema
from collsim.sweep.step_sweep import list_steps
from collsim.units import SIZE

ROOT = Path(__file__).parents[2]
VALIDATOR = jsonschema.Draft202012Validator(build_plan_schema())
#: Every plan that the documentation shows, and those in `examples/`.
EXAMPLES = [
    text
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for text in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if re.search(r"^topology:", text, re.MULTILINE)
] + [path.read_text("utf-8") for path in (ROOT / "examples").rglob("*.yaml")]
EXAMPLES += re.findall(r"```yaml\n(.*?)```", (ROOT / "collsim" / "sweep" / "plan.py").read_text("utf-8"), re.DOTALL)


def read(text, tmp_path):
    """All that `sweep` does with a plan before it simulates. Raises CollsimError."""
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    plan = read_plan(path)
    plan.pop("prices", None)  # of the columns of the table, not of what is run
    if "model" in plan:
        models, topology, parallel = plan.pop("model"), plan.pop("topology"), plan.pop("parallel", None)
        return list_steps(models, topology, parallel, plan, None)
    usual = {"collective": "allreduce", "algorithm": None, "order": None, "nbytes": "64MiB", "dtype": "float32"}
    return list_scenarios(**(usual | {"engine": "lockstep"} | plan), where=None)


def test_the_schema_is_one_and_the_file_that_is_shipped_is_current():
    jsonschema.Draft202012Validator.check_schema(build_plan_schema())
    assert make_schema.FILE.read_text("utf-8") == make_schema.text(), "run make docs"


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_plan_validates_and_is_read(text, tmp_path):
    assert len(EXAMPLES) >= 5
    VALIDATOR.validate(yaml.safe_load(text))
    assert read(text, tmp_path)


GOOD = [
    "topology: switch(8)\n",
    "topology: dgx-a100\nnbytes: [1024, 2KiB, '1KiB:1MiB:4', '1KB:2KB', 1.5KiB]\n",
    f"topology: switch(8)\nnbytes: [{2**60}, {'9' * 14 + '.' + '0' * 30}, '{'0' * 26}1024', 1e003, '1:2:1.{'9' * 28}']\n",
    "topology: [ring(4), 'torus(2, 4)', {network: 'switch(8, bandwidth=25GB/s)'}]\norder: [given, reversed, 'random:7']\n",
    "topology: switch(4)\norder: [3, 2, 1, 0]\n",
    "topology: switch(4)\norder: [[3, 2, 1, 0], given]\nengine: {name: event, sharing: fair}\n",
    "collective: [allreduce, broadcast]\ntopology: switch(4)\nengine: [lockstep, event]\ndtype: [float16, int8]\n",
    "topology: {machine: dgx-a100, nodes: [2, 4], fabric: leaf-spine, nodes_per_leaf: 2, oversubscription: [1, 2]}\n",
    "topology: {machine: dgx-a100, scaled: {nvlink: 2}, without_link: [[gpu0, nvswitch]]}\nalgorithm: nccl\n",
    "algorithm: [{name: nccl, NCCL_PROTO: [LL, Simple]}, allreduce_ring]\ntopology: dgx-a100\n",
    "model: resnet50\ntopology: dgx-a100\nbatch: 256\n",
    "model: resnet50\ntopology: dgx-a100\nbatch: 256\nprices: {nic: 2400, nic=roce-100: 99.5}\n",
    "topology: dgx-a100\nprices: {nvlink=board: 60000}\n",
    "model: gpt2\nparallel: ['tensor(2) * zero(1)', ddp]\ntopology: dgx-a100\nbatch: 16\nrecompute: [none, full]\n",
    "model: [resnet50]\nparallel: [{name: ddp, bucket: [1MiB, 25MiB]}, {name: zero, stage: [1, 2]}]\ntopology: dgx-a100\nmicro_batch: [8, 16]\n",
]
BAD = [
    "topology: dgx-a100\nprices: {nick: 3}\n",
    "topology: dgx-a100\nprices: {nic: 0}\n",
    "topology: dgx-a100\nprices: [nic, 3]\n",
    "collective: allreduce\n",
    "[topology, switch(8)]\n",
    "just words\n",
    "topology:\n",
    "topology: []\n",
    "topology: 3\n",
    "topology: swich(8)\n",
    "topology: dgx-a10\n",
    "topology: {machine: dgx-a10}\n",
    "topology: {machine: dgx-a100, nods: 2}\n",
    "topology: {nodes: 2}\n",
    "topology: {machine: dgx-a100, nodes: 2, fabric: spine-leaf}\n",
    "topology: {network: switch(8), nodes: 2}\n",
    "topology: switch(8)\ntopolgy: ring(4)\n",
    "topology: switch(8)\nbatch: 256\n",
    "topology: switch(8)\ncollective: allreduc\n",
    "topology: switch(8)\nalgorithm: allreduce_rin\n",
    "topology: switch(8)\nalgorithm: [{chunks: 2}]\n",
    "topology: switch(8)\nalgorithm: [{name: 3}]\n",
    "topology: switch(8)\nalgorithm: 3\n",
    "topology: switch(8)\nnbytes: 64M\n",
    "topology: switch(8)\nnbytes: -1\n",
    "topology: switch(8)\nnbytes: []\n",
    "topology: switch(8)\nnbytes: 1KiB:1MiB:4:4\n",
    f"topology: switch(8)\nnbytes: '{'1' * 5000}'\n",
    f"topology: switch(8)\nnbytes: '{'0' * 31}'\n",
    f"topology: switch(8)\nnbytes: 1.{'0' * 31}KiB\n",
    "topology: switch(8)\nnbytes: 1e0003KiB\n",
    f"topology: switch(8)\nnbytes: 1KiB:{'9' * 31}\n",
    f"topology: switch(8)\nnbytes: '1KiB:1MiB:2.{'0' * 29}'\n",
    f"topology: switch(8)\nnbytes: {2**60 + 1}\n",
    "topology: switch(8)\ndtype: float33\n",
    "topology: switch(8)\nengine: lockstepp\n",
    "topology: switch(8)\nengine: {sharing: fair}\n",
    "topology: switch(8)\norder: shuffled\n",
    "topology: switch(8)\norder: 'random:x'\n",
    "model: resnet5\ntopology: dgx-a100\nbatch: 256\n",
    "model: resnet50\nparallel: ddpp\ntopology: dgx-a100\nbatch: 256\n",
    "model: resnet50\nparallel: {name: ddp, buckets: 1MiB}\ntopology: dgx-a100\nbatch: 256\n",
    "model: resnet50\nparallel: zero\ntopology: dgx-a100\nbatch: 256\n",
    "model: resnet50\nnbytes: 1MiB\ntopology: dgx-a100\nbatch: 256\n",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_the_reader_takes_validates(text, tmp_path):
    assert VALIDATOR.is_valid(yaml.safe_load(text)), list(VALIDATOR.iter_errors(yaml.safe_load(text)))
    if "without_link" not in text:  # the links that it names are for the machine to judge
        assert read(text, tmp_path)


@pytest.mark.parametrize("text", BAD)
def test_what_the_reader_refuses_does_not_validate(text, tmp_path):
    with pytest.raises(cs.CollsimError):
        read(text, tmp_path)
    assert not VALIDATOR.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("text", ["64MiB", "1 GB", "1.5KiB", "8", " 8 B ", "1e3", "2kbit", "1_000", ".5KiB", "1e3 B"])
def test_the_form_of_a_size_is_that_of_its_reader(text):
    assert re.fullmatch(SIZE, text)
    assert cs.units.parse_bytes(text) > 0


@pytest.mark.parametrize("text", ["64M", "64MiBs", "MiB", "", "1 2", "64mb", "0x10", "-1", "1GB/s"])
def test_what_is_no_size_has_another_form(text):
    assert not re.fullmatch(SIZE, text)
    with pytest.raises(cs.CollsimError):
        cs.units.parse_bytes(text)


def test_the_command_prints_the_schema_with_what_is_registered_now():
    printed = json.loads(CliRunner().invoke(app, ["plan-schema"]).stdout)
    assert printed == build_plan_schema()
    assert "allreduce_ring" in json.dumps(printed)

    def steps_of(n):
        yield cs.copy(0, 1, chunk=0)

    with cs.registered(cs.algorithm("broadcast", name="broadcast_of_a_test")(steps_of)):
        assert "broadcast_of_a_test" in CliRunner().invoke(app, ["plan-schema"]).stdout
    assert "broadcast_of_a_test" not in CliRunner().invoke(app, ["plan-schema"]).stdout

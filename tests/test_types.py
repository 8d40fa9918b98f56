"""What a type checker tells a user of the package: mistakes in a script are found before it runs."""

import importlib
import inspect
import re
import subprocess
import sys

import pytest

SCRIPT = """\
import collsim as cs

two = cs.machine("dgx-a100", nodes=2)
ring = cs.schedule("allreduce_ring", topology=two)
trace = cs.simulate(ring, two, nbytes="64MiB", engine="event", jitter="1us", sharing="fair")
print(trace.time, trace.busbw, cs.train.ddp(), cs.ddp(), cs.load("x.json"), cs.exercise("ring-allreduce").name)
several = cs.simulate([ring, ring], two, ["1MiB", 2**20])
print(cs.compare("allreduce", two, "1MiB", engine="event")["time"], cs.compare("resnet50", two, batch=256)["time"])
print(cs.sweep("allreduce", topology=[two], nbytes=cs.size_range("1KiB:1MiB:4"), engine=["lockstep", "event"]))
print(cs.sweep(model="resnet50", topology=two, batch=[256, 512], network=["alone", "shared"])["time"])
step = cs.training_step("resnet50", two, parallel=cs.ddp(bucket="1MiB"), batch=256, optimizer="sgd")
print(step.time, cs.best_parallel("gpt2", two, batch=64)["time"], cs.program("import numpy", ranks=2).verdict)
cs.simulate(ring, two, nbytes=[3.4])  # wrong: a list of sizes for one schedule
cs.simulate(ring, two, nbytes="1MiB", engine="evnt")  # wrong: no such engine
cs.simulate(two, two, nbytes="1MiB")  # wrong: a topology where a schedule belongs
cs.simulate(ring, two, nbytes="1MiB", engine="event", sharing="fare")  # wrong: no such sharing
cs.simulate(ring, two, nbytes="1MiB", jiter="1us")  # wrong: no such option
cs.topology.ring(8, bandwidth=object())  # wrong: no bandwidth
cs.lower_bound("allreduce", two, nbytes=None)  # wrong: no size
cs.compare("allreduce", two, "1MiB", engine="evnt")  # wrong: no such engine
cs.compare("resnet50", two, batch=256, network="sharde")  # wrong: no such network
cs.compare(trace, trace)  # wrong: two runs are compared by cs.analysis.compare_runs
cs.sweep("allreduce", topology=two, engine=["lockstep", "evnt"])  # wrong: no such engine
cs.sweep(model="resnet50", topology=two, bach=256)  # wrong: no such option
cs.best("allreduce", two, "1MiB", engine="evnt")  # wrong: no such engine
cs.program("import numpy", collective="alreduce")  # wrong: no such collective
cs.training_step("resnet50", two, parallel=cs.ddp(), batch=256, optimizer="adm")  # wrong: no such optimizer
cs.training_step("resnet50", two, parallel=cs.ddp(), bach=256)  # wrong: no such option
cs.training_step("resnet50", two, parallel=two, batch=256)  # wrong: a topology where a strategy belongs
cs.machine("dgx-a100", nodes="2")  # wrong: a text where a number belongs
"""


@pytest.mark.slow
def test_a_type_checker_finds_each_mistake_of_a_script_and_nothing_else(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        str(tmp_path),
        str(script),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {int(line) for line in re.findall(r"script\.py:(\d+): error:", done.stdout)}
    planted = {number for number, line in enumerate(SCRIPT.splitlines(), 1) if "# wrong:" in line}
    assert len(planted) == 18
    assert found == planted, done.stdout + done.stderr


#: Packages whose names people use, "" for those at the top.
NAMESPACES = (
    "", "analysis", "diagnosis", "io", "lab", "limits", "nccl", "programs", "simulate", "steps", "sweep", "synthesis",
    "teach", "topology", "train", "viz",
)  # fmt: skip
#: Parameters whose values differ in type, so that nothing narrower is true: the options of an algorithm by name, and
#: the row of a scenario whose values a filter compares.
OF_ANY_TYPE = {("Schedule.__init__", "options"), ("sweep", "where")}


def list_public_functions():
    """Public functions, and methods of public classes, by name."""
    functions = {}
    for namespace in NAMESPACES:
        module = importlib.import_module(f"collsim.{namespace}".rstrip("."))
        for name in getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]:
            thing = getattr(module, name)
            if inspect.isclass(thing) and thing.__module__.startswith("collsim."):
                for part, value in vars(thing).items():
                    method = getattr(value, "__func__", value)
                    if inspect.isfunction(method) and (part == "__init__" or not part.startswith("_")):
                        functions[f"{name}.{part}"] = method
            elif inspect.isfunction(thing) and thing.__module__.startswith("collsim."):
                functions[name] = thing
    return functions


def test_no_public_parameter_is_of_any_type():
    functions = list_public_functions()
    assert len(functions) > 300
    found = {
        (name, parameter.name)
        for name, function in functions.items()
        for parameter in inspect.signature(inspect.unwrap(function)).parameters.values()
        if re.search(r"\bAny\b", str(parameter.annotation))
    }
    assert found == OF_ANY_TYPE
